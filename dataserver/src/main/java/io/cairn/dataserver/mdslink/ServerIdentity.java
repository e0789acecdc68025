package io.cairn.dataserver.mdslink;

import com.google.protobuf.ByteString;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.dataserver.disk.IdentityDirectory;
import io.cairn.dataserver.ground.DataServerException;

/**
 * Who this server is: the ids in its state directory, the id of this start, and the number that the
 * metadata service gave it. Every connection begins with it. Any thread.
 */
public final class ServerIdentity {
    private final IdentityDirectory state;
    private final ByteString incarnation = Uuids.random();
    private volatile int serverId;

    public ServerIdentity(IdentityDirectory state) {
        this.state = state;
    }

    /** To other data servers and to clients. */
    public Hello hello() {
        return mdsHello().toBuilder().setClusterId(state.clusterId()).build();
    }

    /**
     * Without the cluster id, so that the other side's can be judged here, with a clear message.
     */
    public Hello mdsHello() {
        return Hello.newBuilder()
                .setRole(Role.ROLE_DATA_SERVER)
                .setId(serverId)
                .setIncarnation(incarnation)
                .build();
    }

    /**
     * Judges what the metadata service says of itself.
     *
     * @throws DataServerException if it is of another cluster than this server
     */
    public void check(Hello mds) throws DataServerException {
        if (!mds.getClusterId().isEmpty() && !state.clusterId().isEmpty()) {
            ClusterIdentity.join(state, mds.getClusterId());
        }
    }

    /** Throws DataServerException if this server belongs to another cluster. */
    void join(ByteString cluster) throws DataServerException {
        ClusterIdentity.join(state, cluster);
    }

    void registered(int id) {
        serverId = id;
    }

    ByteString serverUuid() {
        return state.serverUuid();
    }

    /** Random, of this start of the server. */
    public ByteString incarnation() {
        return incarnation;
    }

    /** Given by the metadata service at registration; 0 before. */
    public int serverId() {
        return serverId;
    }
}
