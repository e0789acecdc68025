package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * The seeded driver: three replicas of one PG over a network that drops, delays, duplicates and
 * reorders, nodes that crash and lose what was not synced, and clients that retry with the same
 * number. One run is one seed; everything in it happens in one thread in simulated time.
 *
 * <p>Checked throughout: an operation reported committed is durable on every member and is the same
 * everywhere for ever. Checked at the end by {@link History}: nothing acknowledged is lost, nothing
 * executed twice, each chunk is a linearizable register, the replicas are identical.
 */
final class ReplicationSim {
    /** Ways to break the environment, to prove that the checks see it. */
    enum Fault {
        NONE,
        /** Disks say durable at once. */
        DURABLE_AT_APPEND,
        /** The primary believes its backups have what it has only sent. */
        ACKNOWLEDGED_WHEN_SENT,
        /** A retry has another number. */
        RETRY_RENUMBERED,
        /** A read is shown without asking whether it may be. */
        READ_UNCOMMITTED
    }

    static final int PG = 0x10007;
    private static final int NODES = 3;
    private static final int CHUNKS = 3;
    private static final int CLIENTS = 4;
    private static final int OPS_PER_CLIENT = 30;
    private static final long RENUMBER = 1_000_000;
    private static final long MILLI = 1_000_000;
    private static final long CHAOS_NANOS = 4_000 * MILLI;
    private static final long LIMIT_NANOS = 60_000 * MILLI;
    private static final PgLimits LIMITS =
            new PgLimits(64, 1 << 20, 1024, 100 * MILLI, 25 * MILLI, 1500 * MILLI, 3000 * MILLI);

    private final Random random;
    private final Fault fault;
    private final History history = new History();
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<Node> nodes = new ArrayList<>();
    private final List<Client> clients = new ArrayList<>();
    private final Map<Long, String> committed = new HashMap<>();
    private final double dropRate;
    private final double duplicateRate;
    private final long maxDelay;
    private long now;
    private long order;
    private long mdsEpoch;
    private boolean chaos = true;

    private record Event(long time, long order, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event o) {
            return time != o.time ? Long.compare(time, o.time) : Long.compare(order, o.order);
        }
    }

    ReplicationSim(long seed, Fault fault) {
        random = new Random(seed);
        this.fault = fault;
        dropRate = random.nextInt(3) * 0.05;
        duplicateRate = random.nextInt(3) * 0.05;
        maxDelay = MILLI * (1 + random.nextInt(20));
    }

    void run() {
        for (int i = 0; i < NODES; i++) {
            nodes.add(new Node(i + 1));
        }
        nodes.forEach(Node::start);
        for (int i = 0; i < CLIENTS; i++) {
            Client client = new Client(i + 1);
            clients.add(client);
            client.issue();
        }
        scheduleCrash();
        schedule(CHAOS_NANOS, this::heal);
        while (!finished()) {
            Event e = events.poll();
            if (e == null || e.time > LIMIT_NANOS) {
                throw new AssertionError("not quiet after " + now / MILLI + " ms: " + describe());
            }
            now = e.time;
            e.action.run();
        }
        history.check(nodes.get(0).store);
        for (Node node : nodes) {
            for (long s = 1; s <= nodes.get(0).store.size(); s++) {
                if (!identity(node.store.get(s)).equals(identity(nodes.get(0).store.get(s)))) {
                    throw new AssertionError("replicas differ at " + s + ": " + describe());
                }
            }
        }
    }

    private boolean finished() {
        if (chaos || clients.stream().anyMatch(c -> c.finished < OPS_PER_CLIENT)) {
            return false;
        }
        int size = nodes.get(0).store.size();
        return nodes.stream()
                .allMatch(n ->
                        n.replica != null && n.store.size() == size && n.store.committed() == size);
    }

    private void heal() {
        chaos = false;
        nodes.stream().filter(n -> n.replica == null).forEach(Node::start);
    }

    private void scheduleCrash() {
        schedule(
                MILLI * random.nextInt(1500),
                () -> {
                    if (chaos) {
                        boolean all = random.nextInt(8) == 0;
                        Node victim = nodes.get(random.nextInt(NODES));
                        for (Node node : nodes) {
                            if ((all || node == victim) && node.replica != null) {
                                node.crash();
                                schedule(MILLI * random.nextInt(400), node::start);
                            }
                        }
                        scheduleCrash();
                    }
                });
    }

    private void schedule(long delay, Runnable action) {
        events.add(new Event(now + delay, order++, action));
    }

    private boolean chance(double rate) {
        return chaos && random.nextDouble() < rate;
    }

    /** Delivers now and then never, now and then twice; returns false when it will not arrive. */
    private boolean deliver(Runnable action) {
        if (chance(dropRate)) {
            return false;
        }
        schedule(random.nextLong(maxDelay), action);
        if (chance(duplicateRate)) {
            schedule(random.nextLong(maxDelay * 4), action);
        }
        return true;
    }

    private String describe() {
        StringBuilder text = new StringBuilder("epoch " + mdsEpoch);
        for (Node n : nodes) {
            text.append(
                    "; disk %d: %s, last %d, synced %d, committed %d"
                            .formatted(
                                    n.disk,
                                    n.replica == null
                                            ? "down"
                                            : n.replica.state() + " " + n.replica.epoch(),
                                    n.store.size(),
                                    n.store.synced(),
                                    n.store.committed()));
        }
        return text.toString();
    }

    static String identity(PgLogEntry e) {
        return "(%d, %d) %s %d/%d"
                .formatted(
                        e.epoch(), e.sequence(), e.op().type(), e.op().session(), e.op().number());
    }

    private void checkCommitted(long from, long to, SimStore store) {
        for (long s = from + 1; s <= to; s++) {
            String identity = identity(store.get(s));
            String before = committed.putIfAbsent(s, identity);
            if (before != null && !before.equals(identity)) {
                throw new AssertionError("committed " + before + " and then " + identity);
            }
            for (Node n : nodes) {
                if (n.store.synced() < s || !identity(n.store.get(s)).equals(identity)) {
                    throw new AssertionError(
                            "%s committed but not durable on disk %d; %s"
                                    .formatted(identity, n.disk, describe()));
                }
            }
        }
    }

    /** One data server with one disk and one PG. */
    private final class Node implements PgOutputs {
        final int disk;
        final SimStore store = new SimStore(PG);
        private final SpaceLedger ledger = new SpaceLedger(0, 1 << 30);
        @Nullable PgReplica replica;
        private int incarnation;

        Node(int disk) {
            this.disk = disk;
        }

        void start() {
            if (replica != null) {
                return;
            }
            incarnation++;
            replica = new PgReplica(PG, disk, LIMITS, this, ledger);
            int mine = incarnation;
            register(mine);
            tick(mine);
        }

        private void register(int mine) {
            later(
                    mine,
                    random.nextLong(20 * MILLI),
                    () -> {
                        mdsEpoch++;
                        long epoch = mdsEpoch;
                        for (Node n : nodes) {
                            n.pushMap(epoch);
                        }
                    });
        }

        private void pushMap(long epoch) {
            int mine = incarnation;
            // A server that has not registered has no map.
            schedule(random.nextLong(30 * MILLI), () -> ifAlive(mine, r -> map(r, epoch)));
        }

        private void map(PgReplica r, long epoch) {
            r.onMap(epoch, epoch, PgMembers.allInSync(1, 2, 3));
        }

        private void tick(int mine) {
            later(
                    mine,
                    (5 + random.nextInt(10)) * MILLI,
                    () -> {
                        ifAlive(mine, r -> r.tick(now));
                        tick(mine);
                    });
        }

        void crash() {
            replica = null;
            store.crash(random);
        }

        private void later(int mine, long delay, Runnable action) {
            schedule(delay, () -> ifAlive(mine, r -> action.run()));
        }

        private void ifAlive(int mine, java.util.function.Consumer<PgReplica> action) {
            if (replica != null && incarnation == mine) {
                action.accept(replica);
            }
        }

        /** Calls a method of another node; the answer finds only the incarnation that asked. */
        private void call(
                int to,
                long epoch,
                java.util.function.BiConsumer<
                                PgReplica,
                                java.util.function.Consumer<java.util.function.Consumer<PgReplica>>>
                        method) {
            int mine = incarnation;
            Node target = nodes.get(to - 1);
            schedule(
                    200 * MILLI,
                    () -> {
                        if (chance(0.3)) {
                            ifAlive(mine, r -> r.onPeerLost(to, epoch));
                        }
                    });
            boolean sent =
                    deliver(() -> {
                        if (target.replica != null) {
                            method.accept(
                                    target.replica, reply -> deliver(() -> ifAlive(mine, reply)));
                        }
                    });
            if (!sent) {
                later(mine, 50 * MILLI, () -> ifAlive(mine, r -> r.onPeerLost(to, epoch)));
            }
        }

        @Override
        public void append(PgLogEntry entry) {
            store.append(entry);
            int mine = incarnation;
            if (fault == Fault.DURABLE_AT_APPEND) {
                later(mine, 0, () -> ifAlive(mine, r -> durable(r, List.of(entry))));
            }
            later(
                    mine,
                    random.nextLong(10 * MILLI),
                    () -> {
                        List<PgLogEntry> synced = store.sync(store.size());
                        later(
                                mine,
                                random.nextLong(MILLI),
                                () -> ifAlive(mine, r -> durable(r, synced)));
                    });
        }

        /** Now and then a disk has no room. */
        @Override
        public boolean appendIfRoom(PgLogEntry entry) {
            if (chance(0.05)) {
                return false;
            }
            append(entry);
            return true;
        }

        @Override
        public boolean overwrites(DataOp op) {
            return false;
        }

        @Override
        public boolean isFlushing() {
            return false;
        }

        private static void durable(PgReplica r, List<PgLogEntry> entries) {
            entries.forEach(e -> r.onDurable(e.epoch(), e.sequence()));
        }

        @Override
        public void commit(long sequence) {
            checkCommitted(store.committed(), sequence, store);
            store.commit(sequence);
        }

        @Override
        public void dropTail(long kept) {
            int mine = incarnation;
            later(
                    mine,
                    random.nextLong(10 * MILLI),
                    () -> {
                        store.dropTail(kept);
                        ifAlive(mine, r -> r.onTailDropped(kept));
                    });
        }

        @Override
        public void readEntries(long after) {
            int mine = incarnation;
            later(
                    mine,
                    random.nextLong(10 * MILLI),
                    () -> ifAlive(mine, r -> r.onEntries(store.after(after))));
        }

        @Override
        public PgLogState logState() {
            return store.state();
        }

        @Override
        public long truncateSequence(long inode, int chunk) {
            return 0;
        }

        @Override
        public DiskSpace space() {
            return Ops.space(1L << 40);
        }

        @Override
        public void sendPrepare(Prepare p) {
            int to = p.targetDisk();
            int mine = incarnation;
            if (fault == Fault.ACKNOWLEDGED_WHEN_SENT) {
                long sequence = p.entry().sequence();
                later(
                        mine,
                        0,
                        () ->
                                ifAlive(
                                        mine,
                                        r ->
                                                r.onPrepareReply(
                                                        to,
                                                        p.pgEpoch(),
                                                        sequence,
                                                        Ops.space(1L << 40))));
            }
            call(
                    to,
                    p.pgEpoch(),
                    (r, reply) ->
                            r.onPrepare(
                                    p,
                                    new PrepareAnswer() {
                                        @Override
                                        public void appended() {}

                                        @Override
                                        public void durable(long e, long s, DiskSpace free) {
                                            reply.accept(me -> me.onPrepareReply(to, e, s, free));
                                        }

                                        @Override
                                        public void gap(long e, long have, DiskSpace free) {
                                            reply.accept(me -> me.onPrepareGap(to, e, have));
                                        }

                                        @Override
                                        public void refuse(RpcStatus status) {
                                            reply.accept(me -> me.onPeerLost(to, p.pgEpoch()));
                                        }
                                    }));
        }

        @Override
        public void sendQuery(int to, long epoch) {
            call(
                    to,
                    epoch,
                    (r, reply) ->
                            r.onQuery(
                                    epoch,
                                    new PeerAnswer() {
                                        @Override
                                        public void history(long e, PgHistory h, DiskSpace free) {
                                            reply.accept(me -> me.onPeerHistory(to, e, h, free));
                                        }

                                        @Override
                                        public void refuse(RpcStatus status) {
                                            reply.accept(me -> me.onPeerLost(to, epoch));
                                        }
                                    }));
        }

        @Override
        public void sendFetch(int to, long epoch, long after) {
            call(
                    to,
                    epoch,
                    (r, reply) -> {
                        if (r.admitFetch(epoch) == null) {
                            List<PgLogEntry> all = nodes.get(to - 1).store.after(after);
                            List<PgLogEntry> some = all.subList(0, Math.min(3, all.size()));
                            reply.accept(me -> me.onFetched(to, epoch, some));
                        }
                    });
        }

        @Override
        public void sendCommit(int to, long epoch, long sequence) {
            call(
                    to,
                    epoch,
                    (r, reply) -> {
                        if (r.onCommit(epoch, sequence) == null) {
                            reply.accept(p -> p.onPeerAlive(to, epoch));
                        } else {
                            reply.accept(p -> p.onPeerRefused(to, epoch));
                        }
                    });
        }

        @Override
        public RecoveryOutputs recovery() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void needMap() {
            if (mdsEpoch > 0) {
                pushMap(mdsEpoch);
            }
        }

        @Override
        public void memberSilent(int disk, long pgEpoch) {}

        @Override
        public boolean isPoolFull() {
            return false;
        }

        @Override
        public boolean leaseValid() {
            return true;
        }

        @Override
        public void stateChanged(PgState state, String reason) {
            if (state == PgState.DAMAGED) {
                throw new AssertionError("disk " + disk + " is damaged: " + reason);
            }
        }
    }

    /** A session with a few operations at a time, repeated until they are answered. */
    private final class Client {
        private final long session;
        private final List<History.Op> open = new ArrayList<>();
        private long lastNumber;
        private int issued;
        int finished;

        Client(long session) {
            this.session = session;
        }

        void issue() {
            while (issued < OPS_PER_CLIENT && open.size() < 3) {
                boolean write = random.nextInt(3) != 0;
                long number = write ? ++lastNumber : 0;
                History.Op op = history.begin(session, number, random.nextInt(CHUNKS), now);
                issued++;
                open.add(op);
                send(op, 0);
            }
        }

        private long ackedBelow() {
            return open.stream()
                    .filter(History.Op::write)
                    .mapToLong(o -> o.number)
                    .min()
                    .orElse(lastNumber + 1);
        }

        private void send(History.Op op, int attempt) {
            if (op.end != 0) {
                return;
            }
            schedule((60 + random.nextInt(200)) * MILLI, () -> send(op, attempt + 1));
            long number =
                    fault == Fault.RETRY_RENUMBERED ? op.number + attempt * RENUMBER : op.number;
            DataOp.Range range = new DataOp.Range(99, op.chunk, 0, 8);
            DataOp.Caller caller = new DataOp.Caller(session, number, ackedBelow());
            DataOp.Known known = DataOp.Known.map(1);
            DataOp request =
                    op.write()
                            ? DataOp.write(PG, range, caller, known, new int[1])
                            : DataOp.read(PG, range, caller, known);
            deliver(() -> serve(op, request));
        }

        private void serve(History.Op op, DataOp request) {
            Node node = nodes.get(0);
            PgReplica r = node.replica;
            if (r == null) {
                return;
            }
            if (op.write()) {
                r.onOperation(request, Unpooled.EMPTY_BUFFER, answer(op, 0));
            } else if (r.admitRead(request) == null) {
                int mine = node.incarnation;
                long admitted = r.epoch();
                node.later(
                        mine,
                        random.nextLong(3 * MILLI),
                        () -> {
                            long seen = node.store.newestWrite(op.chunk);
                            OpAnswer shown = answer(op, seen);
                            if (fault == Fault.READ_UNCOMMITTED) {
                                shown.done();
                            } else {
                                node.later(
                                        mine,
                                        random.nextLong(MILLI),
                                        () ->
                                                node.ifAlive(
                                                        mine,
                                                        me ->
                                                                me.onReadDone(
                                                                        admitted, request, shown)));
                            }
                        });
            }
        }

        private OpAnswer answer(History.Op op, long seen) {
            String value = seen == 0 ? "" : identity(nodes.get(0).store.get(seen));
            return new OpAnswer() {
                @Override
                public void done() {
                    deliver(() -> finish(op, seen, value));
                }

                @Override
                public void fail(RpcStatus status) {
                    if (status.errno() == Errno.EINVAL) {
                        deliver(() -> history.refused(op));
                    }
                }
            };
        }

        private void finish(History.Op op, long seen, String value) {
            if (op.end == 0) {
                history.end(op, now, seen, value);
                open.remove(op);
                finished++;
                issue();
            }
        }
    }
}
