package io.cairn.client.fake;

import com.google.protobuf.ByteString;
import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.Config;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A cluster in memory: MDS members, data servers, one pool. Close clients first. */
public final class FakeCluster implements AutoCloseable {
    private static final int POOL = 1;
    private static final int PGS = 16;

    private final RpcLoops loops = new RpcLoops(2, "fake");
    private final ByteString id =
            ByteString.copyFrom(new byte[16])
                    .substring(1)
                    .concat(ByteString.copyFrom(new byte[] {7}));
    private final FakeNamespace names;
    private final FakeChunks chunks;
    private final List<FakeMds> mds = new ArrayList<>();
    private final List<FakeDataServer> data = new ArrayList<>();
    private final Map<Long, Long> refused = new HashMap<>();
    private int rotation;
    private long epoch = 1;
    private volatile @Nullable FakeMds leader;
    private volatile boolean redirects = true;

    /** Chunks of 64 KiB in one stripe, one MDS, two data servers. */
    public FakeCluster() throws IOException {
        this(1, 2, layout(1 << 16, 1, 1 << 16));
    }

    public FakeCluster(int members, int servers, FileLayout layout) throws IOException {
        names = new FakeNamespace(layout);
        chunks = new FakeChunks(names);
        for (int i = 0; i < members; i++) {
            mds.add(new FakeMds(this, loops));
        }
        for (int i = 0; i < servers; i++) {
            data.add(new FakeDataServer(this, loops));
        }
        leader = mds.getFirst();
    }

    public static FileLayout layout(int unit, int count, int chunk) {
        return FileLayout.newBuilder()
                .setPool(POOL)
                .setStripeUnit(unit)
                .setStripeCount(count)
                .setChunkSize(chunk)
                .build();
    }

    /** For a client of this cluster; more keys may be given, one per line. */
    public ClientConfig config(String... lines) {
        return config(mds, lines);
    }

    /** For a client that is told of this member only. */
    public ClientConfig configOf(FakeMds member) {
        return config(List.of(member));
    }

    private static ClientConfig config(List<FakeMds> members, String... lines) {
        String addresses = String.join("\", \"", members.stream().map(FakeMds::address).toList());
        return Config.parse(
                "client.toml",
                "mds = [\"" + addresses + "\"]\n" + String.join("\n", lines) + "\n",
                ClientConfig.class);
    }

    public ByteString id() {
        return id;
    }

    public FakeNamespace names() {
        return names;
    }

    public FakeChunks chunks() {
        return chunks;
    }

    public FakeMds mds(int member) {
        return mds.get(member);
    }

    public FakeDataServer data(int server) {
        return data.get(server);
    }

    public List<FakeDataServer> data() {
        return data;
    }

    @Nullable FakeMds leader() {
        return leader;
    }

    /** Null: there is none. */
    public void leader(@Nullable FakeMds member) {
        leader = member;
        names.reads().leaderChanged();
        names.delegations().leaderChanged();
        mds.forEach(FakeMds::leaderChanged);
    }

    boolean redirects() {
        return redirects;
    }

    /** Whether members name the leader. */
    public void redirects(boolean say) {
        redirects = say;
    }

    synchronized MapUpdate fullMap() {
        MapUpdate.Builder map =
                MapUpdate.newBuilder()
                        .setClusterId(id)
                        .setEpoch(epoch)
                        .addPools(
                                Pool.newBuilder()
                                        .setId(POOL)
                                        .setName("default")
                                        .setSize(1)
                                        .setMinSize(1)
                                        .setPgCount(PGS))
                        .addAllRefusedSessions(refused.keySet());
        for (int i = 0; i < data.size(); i++) {
            map.addServers(
                    Server.newBuilder()
                            .setId(i + 1)
                            .setAddress(data.get(i).address())
                            .setUuid(ByteString.copyFrom(new byte[16]))
                            .setIncarnation(ByteString.copyFrom(new byte[16]))
                            .setUp(true));
            map.addDisks(
                    Disk.newBuilder()
                            .setId(i + 1)
                            .setServer(i + 1)
                            .setUuid(ByteString.copyFrom(new byte[16]))
                            .setCapacityBytes(1L << 30));
        }
        for (int i = 0; i < PGS; i++) {
            map.addPgs(placement(i));
        }
        for (int i = 0; i < mds.size(); i++) {
            map.addMds(MdsMember.newBuilder().setId(i + 1).setAddress(mds.get(i).address()));
        }
        return map.build();
    }

    private PlacementGroup placement(int index) {
        int disk = primary(index) + 1;
        return PlacementGroup.newBuilder()
                .setPg(POOL << 16 | index)
                .setEpoch(epoch)
                .addReplicas(disk)
                .addInSync(disk)
                .build();
    }

    private int primary(int index) {
        return (index + rotation) % data.size();
    }

    /** Moves every PG to the next server; clients are told only when they ask. */
    public synchronized void movePrimaries() {
        rotation++;
        epoch++;
    }

    /** As an eviction: the data servers refuse the session, the MDS forgets it. */
    public synchronized void evict(long session) {
        refused.putIfAbsent(session, ++epoch);
        names.endSession(session);
    }

    /** All sessions there are. */
    public void evictAll() {
        names.sessionIds().forEach(this::evict);
    }

    public synchronized boolean refuses(long session) {
        return refused.containsKey(session);
    }

    synchronized RpcStatus refusal(FakeDataServer server, DataOp op) {
        Long since = refused.get(op.session());
        if (since != null) {
            if (op.mapEpoch() > since) {
                chunks.violation("under map " + op.mapEpoch() + ", refused by " + since, op);
            }
            return RpcStatus.fail(Errno.ESTALE, Advice.FENCED, "session is refused");
        }
        if (op.mapEpoch() < epoch || data.get(primary(op.pg() & 0xffff)) != server) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_MAP, "map is at " + epoch);
        }
        return RpcStatus.OK;
    }

    @Override
    public void close() {
        mds.forEach(FakeMds::close);
        data.forEach(FakeDataServer::close);
        loops.close();
    }
}
