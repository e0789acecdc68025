package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.sim.ClusterSim.Fault;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A client with a few operations at a time, sent again until they are answered. */
final class SimClient extends SimMachine {
    /** Between the numbers of one operation's attempts, under a fault. */
    static final long RENUMBER = 1_000_000;

    static final int BLOCK = 4096;

    static final int WRITE_BYTES = 2 * Long.BYTES;

    private static final int INODES = 3;
    private static final int BLOCKS = 2;

    private final ClusterSim cluster;
    private final int goal;
    private final List<SimHistory.Op> open = new ArrayList<>();
    private ClusterMap map = ClusterMap.EMPTY;
    private long session;
    private long lastNumber;
    private int finished;

    SimClient(ClusterSim cluster, int number, int goal) {
        super(cluster.sim, "client" + number);
        this.cluster = cluster;
        this.goal = goal;
    }

    long session() {
        return session;
    }

    boolean isFinished() {
        return finished >= goal;
    }

    @Override
    void started() {
        newSession();
        refresh();
    }

    @Override
    void crashed() {
        throw new IllegalStateException("clients do not crash here");
    }

    /** What the old one has not answered may have happened or not. */
    private void newSession() {
        session = cluster.newSession();
        lastNumber = 0;
        finished += open.size();
        open.clear();
        issueSoon();
    }

    private void refresh() {
        askMap();
        after(300 * MILLI, this::refresh);
    }

    private void askMap() {
        SimMdsMember member = cluster.mds.get(sim.random.nextInt(cluster.mds.size()));
        cluster.network.send(
                this,
                member,
                () ->
                        member.askMap(
                                update -> cluster.network.send(member, this, () -> onMap(update))));
    }

    private void onMap(MapUpdate update) {
        @Nullable ClusterMap newer = map.apply(update);
        if (newer != null) {
            map = newer;
        }
        if (map.refused(session)) {
            newSession();
        }
    }

    private void issueSoon() {
        after(sim.upTo(40 * MILLI), this::issue);
    }

    private void issue() {
        if (map.epoch() == 0) {
            issueSoon();
            return;
        }
        while (finished + open.size() < goal && open.size() < 3) {
            boolean passing = sim.random.nextInt(8) == 0;
            long inode = passing ? cluster.newInode() : 1 + sim.random.nextInt(INODES);
            int pg = map.pgOf(ClusterSim.POOL, inode, 0);
            long number = passing || sim.random.nextInt(3) != 0 ? ++lastNumber : 0;
            int block = sim.random.nextInt(BLOCKS);
            SimHistory.Op op = cluster.history.begin(session, number, pg, inode, block, sim.now());
            open.add(op);
            send(op, 0);
        }
    }

    private long ackedBelow() {
        return open.stream()
                .filter(SimHistory.Op::isWrite)
                .mapToLong(o -> o.number)
                .min()
                .orElse(lastNumber + 1);
    }

    private void send(SimHistory.Op op, int attempt) {
        if (op.end != 0 || op.session != session) {
            return;
        }
        after((60 + sim.upTo(200)) * MILLI, () -> send(op, attempt + 1));
        boolean renumbered = cluster.fault == Fault.RETRY_RENUMBERED;
        long number = renumbered ? op.number + attempt * RENUMBER : op.number;
        DataOp.Range range = new DataOp.Range(op.inode, 0, op.block * BLOCK, WRITE_BYTES);
        DataOp.Caller caller = new DataOp.Caller(session, number, ackedBelow());
        DataOp.Known known = DataOp.Known.map(map.epoch());
        int pg = map.pgOf(ClusterSim.POOL, op.inode, 0);
        SimDataServer server = cluster.serverOf(cluster.group(map, pg).getInSync(0));
        Answer answer = new Answer(op, server);
        if (op.isWrite()) {
            ByteBuf bytes = content(session, number);
            int[] crcs = BlockCrc.compute(bytes, range.offset());
            DataOp request = DataOp.write(pg, range, caller, known, crcs);
            cluster.network.send(this, server, () -> server.mutate(request, bytes, answer));
        } else {
            DataOp request = DataOp.read(pg, range, caller, known);
            cluster.network.send(this, server, () -> server.read(request, new Answer(op, server)));
        }
    }

    /** What a write writes says who wrote it. */
    static ByteBuf content(long session, long number) {
        ByteBuf bytes = Unpooled.buffer(WRITE_BYTES).writeLong(session).writeLong(number);
        return Unpooled.unreleasableBuffer(bytes);
    }

    /** One attempt's answer, on its way back. */
    private final class Answer implements SimDataServer.ReadAnswer {
        private final SimHistory.Op op;
        private final SimDataServer server;
        private @Nullable PgLogEntry write;

        Answer(SimHistory.Op op, SimDataServer server) {
            this.op = op;
            this.server = server;
        }

        @Override
        public void seen(@Nullable PgLogEntry newest) {
            write = newest;
        }

        @Override
        public void done() {
            cluster.network.send(server, SimClient.this, () -> answered(op, write));
        }

        @Override
        public void fail(RpcStatus status) {
            cluster.network.send(server, SimClient.this, () -> refused(op, status));
        }
    }

    private void answered(SimHistory.Op op, @Nullable PgLogEntry write) {
        if (op.end == 0 && op.session == session) {
            cluster.history.end(op, sim.now(), write);
            open.remove(op);
            finished++;
            if (op.inode > INODES) {
                cluster.raft.delete(op.inode);
            }
            issueSoon();
        }
    }

    private void refused(SimHistory.Op op, RpcStatus status) {
        if (status.errno() == Errno.EINVAL) {
            cluster.history.acknowledgedBefore(op);
        } else if (status.advice() == Advice.FENCED && op.session == session) {
            newSession();
        } else if (status.advice() == Advice.REFRESH_MAP) {
            askMap();
        }
    }
}
