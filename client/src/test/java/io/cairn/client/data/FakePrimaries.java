package io.cairn.client.data;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.client.base.Channels;
import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.layout.PgHash;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcCallback;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Three data servers with a disk each, whose requests go to the test, and the map that says which
 * of them is the primary of each PG: the first of all at the beginning. Any thread.
 */
final class FakePrimaries {
    static final int POOL = 1;

    /** Those the pool is made with. */
    static final int PGS = 8;

    /** As many as it may have by {@link #split}. */
    static final int MAX_PGS = 32;

    static final int SERVERS = 3;

    private final MapHolder map = new MapHolder();
    private final int[] primaries = new int[MAX_PGS];
    private final int[] backups = new int[MAX_PGS];
    private final int[] incarnations = new int[SERVERS + 1];
    private final boolean[] down = new boolean[SERVERS + 1];
    private final Consumer<Sent> requests;
    private int pgs = PGS;
    private long epoch;

    /** One request; to be answered at most once. The number in a write's payload says which. */
    record Sent(int server, DataOp op, int content, RpcCallback callback) {
        /** As if it was executed; what is read has the server's number in each byte. */
        void answer() {
            if (op.type() == DataOpType.WRITE) {
                callback.done(RpcStatus.OK, Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
                return;
            }
            ByteBuf data = Unpooled.directBuffer(op.length());
            for (int i = 0; i < op.length(); i++) {
                data.writeByte(server);
            }
            var reply =
                    new ReadReply(op.length(), op.length(), BlockCrc.compute(data, op.offset()));
            ByteBuf head = Unpooled.directBuffer(ReadReplyFormat.encodedLength(reply));
            ReadReplyFormat.encode(reply, head);
            callback.done(RpcStatus.OK, head, data);
            head.release();
            data.release();
        }

        void refuse(Advice advice) {
            fail(RpcStatus.fail(Errno.EAGAIN, advice, "test"));
        }

        /** As a channel does whose connection is lost. */
        void lose() {
            fail(RpcStatus.fail(Errno.EHOSTUNREACH, Advice.RETRY, "test"));
        }

        void fail(RpcStatus status) {
            callback.done(status, Unpooled.EMPTY_BUFFER, Unpooled.EMPTY_BUFFER);
        }
    }

    /**
     * @param requests told of each on the thread that sends it
     */
    FakePrimaries(Consumer<Sent> requests) {
        this.requests = requests;
        Arrays.fill(primaries, 1);
        Arrays.fill(backups, 2);
        push();
    }

    MapHolder map() {
        return map;
    }

    Channels channels() {
        return address -> new Channel(address.getPort());
    }

    private final class Channel implements RpcChannel {
        private final int server;

        Channel(int server) {
            this.server = server;
        }

        @Override
        public void call(int method, MessageLite head, long deadline, RpcCallback callback) {
            throw new AssertionError("a control method");
        }

        @Override
        public void call(
                int method, ByteBuf head, ByteBuf payload, long deadline, RpcCallback callback) {
            DataOp op = DataOpFormat.decode(head);
            int content = op.type() == DataOpType.WRITE ? payload.getInt(0) : 0;
            head.release();
            payload.release();
            requests.accept(new Sent(server, op, content, callback));
        }

        @Override
        public void send(int method, MessageLite head) {}

        @Override
        public boolean connected() {
            return true;
        }
    }

    // ---- changes, which the client sees with the next push

    synchronized void primary(int pg, int server) {
        primaries[PgHash.indexOf(pg)] = server;
    }

    synchronized void allPrimaries(int server) {
        Arrays.fill(primaries, server);
    }

    /** 0: there is none. */
    synchronized int primaryOf(int pg) {
        return primaries[PgHash.indexOf(pg)];
    }

    synchronized int pgs() {
        return pgs;
    }

    synchronized int pgOf(long inode, int chunk) {
        return PgHash.pg(POOL, inode, chunk, PGS, pgs);
    }

    /** One PG more; returns the one it is made of. */
    synchronized int split() {
        int parent = PgHash.parent(pgs, PGS);
        primaries[pgs] = primaries[parent];
        backups[pgs] = backups[parent];
        pgs++;
        return PgHash.pg(POOL, parent);
    }

    /** The last one goes back into the one that it was made of, which is returned. */
    synchronized int merge() {
        pgs--;
        return PgHash.pg(POOL, PgHash.parent(pgs, PGS));
    }

    synchronized void backup(int pg, int server) {
        backups[PgHash.indexOf(pg)] = server;
    }

    synchronized void restart(int server) {
        incarnations[server]++;
    }

    synchronized void down(int server, boolean isDown) {
        down[server] = isDown;
    }

    void push() {
        MapUpdate update;
        synchronized (this) {
            update = full();
        }
        if (!map.apply(update)) {
            throw new AssertionError("not applied");
        }
    }

    private MapUpdate full() {
        ByteString uuid = ByteString.copyFrom(new byte[16]);
        var full =
                MapUpdate.newBuilder()
                        .setClusterId(uuid)
                        .setEpoch(++epoch)
                        .addPools(
                                Pool.newBuilder()
                                        .setId(POOL)
                                        .setName("default")
                                        .setSize(2)
                                        .setMinSize(1)
                                        .setPgBase(PGS)
                                        .setPgCount(pgs));
        for (int id = 1; id <= SERVERS; id++) {
            byte[] incarnation = new byte[16];
            incarnation[0] = (byte) incarnations[id];
            incarnation[1] = (byte) (incarnations[id] >> 8);
            full.addServers(
                    Server.newBuilder()
                            .setId(id)
                            .setAddress("127.0.0.1:" + id)
                            .setUuid(uuid)
                            .setIncarnation(ByteString.copyFrom(incarnation))
                            .setUp(!down[id]));
            full.addDisks(
                    Disk.newBuilder()
                            .setId(id)
                            .setServer(id)
                            .setUuid(uuid)
                            .setCapacityBytes(1L << 30));
        }
        for (int i = 0; i < pgs; i++) {
            var pg = PlacementGroup.newBuilder().setPg(PgHash.pg(POOL, i)).setEpoch(epoch);
            for (int disk : new int[] {primaries[i], backups[i]}) {
                if (primaries[i] != 0 && !pg.getReplicasList().contains(disk)) {
                    pg.addReplicas(disk).addInSync(disk);
                }
            }
            full.addPgs(pg);
        }
        return full.build();
    }
}
