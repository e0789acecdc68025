package io.cairn.sim;

import static io.cairn.sim.Simulation.MILLI;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.TruncateInode;
import io.cairn.common.data.TruncateInodeFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.layout.Striping;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.InodeChange;
import io.cairn.dataserver.store.PgLogEntry;
import io.cairn.sim.ClusterSim.Fault;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A client with a few operations at a time, sent again until they are answered. */
final class SimClient extends SimMachine {
    /** Between the numbers of one operation's attempts, under a fault. */
    static final long RENUMBER = 1_000_000;

    static final int BLOCK = 4096;

    private static final int INODES = 3;

    /** Blocks of a chunk. */
    static final int BLOCKS = 2;

    /** Chunks of a file. */
    static final int CHUNKS = 2;

    static final Striping STRIPING = new Striping(BLOCKS * BLOCK, 1, BLOCKS * BLOCK);

    private final ClusterSim cluster;
    private final int goal;
    private final List<SimHistory.Op> open = new ArrayList<>();
    private final Map<Long, SimFiles.View> views = new HashMap<>();
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
        long asking = session;
        cluster.network.send(
                this,
                member,
                () ->
                        member.askMap(update -> {
                            boolean over = cluster.raft.isOver(asking);
                            cluster.network.send(
                                    member, this, () -> onMap(update, over ? asking : 0));
                        }));
    }

    /**
     * @param over a session that is over; who has it gets no newer map for it
     */
    private void onMap(MapUpdate update, long over) {
        @Nullable ClusterMap newer = map.apply(update);
        if (newer != null) {
            map = newer;
        }
        if (map.refused(session) || session == over) {
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
            int chunk = passing ? 0 : sim.random.nextInt(CHUNKS);
            SimHistory.Op op;
            if (!passing && sim.random.nextInt(12) == 0) {
                long size = STRIPING.fileOffsetOf(chunk, Cells.anyCell(sim.random) * Cells.BYTES);
                op = SimHistory.Op.truncate(session, inode, size, sim.now());
            } else {
                long number = passing || sim.random.nextInt(3) != 0 ? ++lastNumber : 0;
                Cells cells = Cells.any(sim.random);
                op = new SimHistory.Op(session, number, inode, chunk, cells, sim.now());
            }
            cluster.history.begin(op);
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
        if (op.isTruncation()) {
            truncate(op);
            return;
        }
        boolean renumbered = cluster.fault == Fault.RETRY_RENUMBERED;
        long number = renumbered ? op.number + attempt * RENUMBER : op.number;
        DataOp.Range range =
                new DataOp.Range(op.inode, op.chunk, op.cells.offset(), op.cells.length());
        DataOp.Caller caller = new DataOp.Caller(session, number, ackedBelow());
        SimFiles.View view = views.getOrDefault(op.inode, SimFiles.View.NEW);
        DataOp.Known known =
                new DataOp.Known(map.epoch(), view.truncateSequence(), view.cuts(op.chunk));
        int pg = map.pgOf(ClusterSim.POOL, op.inode, op.chunk);
        SimDataServer server = cluster.serverOf(cluster.group(map, pg).getInSync(0));
        Answer answer = new Answer(op, server, view.truncateSequence());
        if (op.isWrite()) {
            ByteBuf bytes = op.cells.content(session, number);
            int[] crcs = BlockCrc.compute(bytes, range.offset());
            DataOp request = DataOp.write(pg, range, caller, known, crcs);
            cluster.network.send(this, server, () -> server.mutate(request, bytes, answer));
        } else {
            DataOp request = DataOp.read(pg, range, caller, known);
            cluster.network.send(this, server, () -> server.read(request, answer));
        }
    }

    /** Asks whichever may be the leader; it answers when all chunks are cut. */
    private void truncate(SimHistory.Op op) {
        SimMdsMember member = cluster.mds.get(sim.random.nextInt(cluster.mds.size()));
        Runnable reply =
                () ->
                        cluster.network.send(
                                member, this, () -> answered(op, 0, SimHistory.Seen.NOTHING));
        cluster.network.send(this, member, () -> member.truncate(op, reply));
    }

    /** What is known of the file is too old. */
    private void askFile(long inode) {
        SimMdsMember member = cluster.mds.get(sim.random.nextInt(cluster.mds.size()));
        cluster.network.send(
                this,
                member,
                () ->
                        member.askFile(
                                inode,
                                view ->
                                        cluster.network.send(
                                                member, this, () -> onFile(inode, view))));
    }

    private void onFile(long inode, SimFiles.View view) {
        if (view.truncateSequence()
                >= views.getOrDefault(inode, SimFiles.View.NEW).truncateSequence()) {
            views.put(inode, view);
        }
    }

    // ---- what is truncated ----------------------------------------------------------------------

    static ByteBuf payload(long size) {
        ByteBuf payload = Unpooled.buffer();
        TruncateInodeFormat.encode(
                new TruncateInode(
                        size, STRIPING.stripeUnit(), STRIPING.stripeCount(), STRIPING.chunkSize()),
                payload);
        return payload;
    }

    /** The cut that an operation makes. */
    static InodeChange.Truncate cut(PgLogEntry e) {
        if (InodeChange.of(e.op(), e.payload()) instanceof InodeChange.Truncate cut) {
            return cut;
        }
        throw new IllegalArgumentException(SimDisk.identity(e) + " is no truncation");
    }

    /** One attempt's answer, on its way back. */
    private final class Answer implements SimDataServer.ReadAnswer {
        private final SimHistory.Op op;
        private final SimDataServer server;
        private final long truncated;
        private SimHistory.Seen seen = SimHistory.Seen.NOTHING;

        /**
         * @param truncated newest truncation that the attempt knew
         */
        Answer(SimHistory.Op op, SimDataServer server, long truncated) {
            this.op = op;
            this.server = server;
            this.truncated = truncated;
        }

        @Override
        public void seen(SimHistory.Seen what) {
            seen = what;
        }

        @Override
        public void done() {
            cluster.network.send(server, SimClient.this, () -> answered(op, truncated, seen));
        }

        @Override
        public void fail(RpcStatus status) {
            cluster.network.send(server, SimClient.this, () -> refused(op, status));
        }
    }

    private void answered(SimHistory.Op op, long truncated, SimHistory.Seen seen) {
        if (op.end == 0 && op.session == session) {
            cluster.history.end(op, sim.now(), truncated, seen);
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
        } else if (status.advice() == Advice.REFRESH_INODE) {
            askFile(op.inode);
        }
    }
}
