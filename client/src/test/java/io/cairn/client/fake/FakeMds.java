package io.cairn.client.fake;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.AppendRecall;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.AwaitAppendReply;
import io.cairn.common.proto.AwaitAppendRequest;
import io.cairn.common.proto.AwaitLockReply;
import io.cairn.common.proto.AwaitLockRequest;
import io.cairn.common.proto.CancelLockReply;
import io.cairn.common.proto.CancelLockRequest;
import io.cairn.common.proto.CloseForReadingReply;
import io.cairn.common.proto.CloseForReadingRequest;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.DelegationRecall;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledReply;
import io.cairn.common.proto.ReadRecalledRequest;
import io.cairn.common.proto.ReclaimOpensReply;
import io.cairn.common.proto.ReclaimOpensRequest;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.proto.ReturnDelegationsReply;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.SizesToldReply;
import io.cairn.common.proto.SizesToldRequest;
import io.cairn.common.proto.StatFsReply;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.proto.WaitTruncatedReply;
import io.cairn.common.proto.WaitTruncatedRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.rpc.TestRelay;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Predicate;

/** One member of a fake MDS; all members share the cluster's namespace. */
public final class FakeMds implements AutoCloseable {
    private final FakeCluster cluster;
    private final FakeEndpoint endpoint;
    private final List<MutateRequest> received = new CopyOnWriteArrayList<>();
    private final List<Long> openedWith = new CopyOnWriteArrayList<>();
    private final List<RpcPeer> clients = new CopyOnWriteArrayList<>();
    private final Map<Long, RpcPeer> sessions = new ConcurrentHashMap<>();
    private final List<Runnable> late = new CopyOnWriteArrayList<>();
    private final List<RpcRequest> inLine = new ArrayList<>();
    private final List<RpcRequest> waitForLocks = new ArrayList<>();
    private final AtomicInteger recalls = new AtomicInteger();
    private final ScheduledExecutorService timer =
            Executors.newSingleThreadScheduledExecutor(
                    Thread.ofPlatform().daemon().name("fake-mds").factory());
    private volatile Function<Method, Fault> faults = method -> Fault.NONE;
    private volatile Predicate<MutateRequest> refused = batch -> false;
    private volatile int expiryMillis = 60_000;
    private volatile boolean answersShort;
    private volatile int leaseMicros;
    private final List<ReadRecalledRequest> acknowledged = new CopyOnWriteArrayList<>();
    private final List<Long> sizesTold = new CopyOnWriteArrayList<>();
    private final AtomicInteger notYet = new AtomicInteger();

    FakeMds(FakeCluster cluster, RpcLoops loops) throws IOException {
        this.cluster = cluster;
        endpoint = new FakeEndpoint(cluster, loops, Role.ROLE_MDS, this::handle);
        // Recalls may get lost with their connections.
        var _ = timer.scheduleWithFixedDelay(this::serveLine, 50, 50, TimeUnit.MILLISECONDS);
    }

    public String address() {
        return endpoint.address();
    }

    /** Clients that are configured from now on connect through the relay. */
    public TestRelay relay() throws IOException {
        return endpoint.relay();
    }

    /** Decides about each request before it is looked at. */
    public void faults(Function<Method, Fault> decide) {
        faults = decide;
    }

    /** MutateRequests in the order of arrival, repeated ones included. */
    public List<MutateRequest> received() {
        return received;
    }

    /** So many times a client that waits for a truncation is told to ask again. */
    public void truncatesLate(int times) {
        notYet.set(times);
    }

    /** Requests held, and those whose answers are late. */
    public int held() {
        return endpoint.held() + late.size();
    }

    /** Sends the late answers, then handles the requests held, in the order of arrival. */
    public void letGo() {
        List<Runnable> answers = List.copyOf(late);
        late.clear();
        answers.forEach(Runnable::run);
        serveHeld();
    }

    /** Handles the requests held, in the order of arrival; late answers stay late. */
    public void serveHeld() {
        endpoint.takeHeld().forEach(this::serve);
    }

    public void cutConnections() {
        endpoint.cutConnections();
    }

    /** Batches of mutations that are refused for ever, whatever else happens. */
    public void refuse(Predicate<MutateRequest> test) {
        refused = test;
    }

    private boolean refuses(RpcRequest request, Method method) {
        return method == Method.MUTATE
                && refused.test(Heads.parse(MutateRequest.parser(), request.head()));
    }

    private void handle(RpcRequest request) {
        Method method = Method.forNumber(request.method());
        if (method == Method.MUTATE) {
            received.add(Heads.parse(MutateRequest.parser(), request.head()));
        }
        if (method == Method.SIZES_TOLD) {
            sizesTold.add(Heads.parse(SizesToldRequest.parser(), request.head()).getNumber());
        }
        if (method == Method.READ_RECALLED) {
            acknowledged.add(Heads.parse(ReadRecalledRequest.parser(), request.head()));
        }
        switch (refuses(request, method) ? Fault.REFUSE : faults.apply(method)) {
            case CUT_BEFORE -> FakeEndpoint.cut(request);
            case CUT_AFTER -> {
                try {
                    var _ = answer(request, method);
                } catch (FsException e) {
                    // nobody hears of it
                }
                FakeEndpoint.cut(request);
            }
            case RETRY -> request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "test"));
            case HOLD -> endpoint.hold(request);
            case LATE -> {
                MessageLite now = answer(request, method);
                late.add(() -> request.reply(now));
            }
            case REFUSE -> request.fail(RpcStatus.fail(Errno.EINVAL, "not like that"));
            default -> serve(request);
        }
    }

    private void serve(RpcRequest request) {
        Method method = Method.forNumber(request.method());
        if (cluster.leader() != this) {
            FakeMds leader = cluster.leader();
            String named = leader == null || !cluster.redirects() ? "" : leader.address();
            request.fail(RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, named));
            return;
        }
        if (method == Method.AWAIT_LOCK || method == Method.CANCEL_LOCK) {
            lockRequest(request, method);
            return;
        }
        if (method == Method.AWAIT_APPEND) {
            synchronized (inLine) {
                inLine.add(request);
            }
            serveLine();
            return;
        }
        try {
            long has =
                    method == Method.OPEN_SESSION
                            ? Heads.parse(OpenSessionRequest.parser(), request.head()).getMapEpoch()
                            : 0;
            request.reply(answer(request, method));
            sendMissed(request.peer(), has);
        } catch (FsException e) {
            boolean session =
                    method == Method.MUTATE
                            || method == Method.RENEW_SESSION
                            || method == Method.WAIT_TRUNCATED
                            || e.errno() == Errno.ESTALE;
            Advice advice =
                    e.errno() == Errno.EAGAIN
                            ? Advice.RETRY
                            : session ? Advice.FENCED : Advice.GIVE_UP;
            request.fail(RpcStatus.fail(e.errno(), advice, String.valueOf(e.getMessage())));
        }
    }

    /** Whether answers to batches lack a result, as no server's may. */
    public void answerShort(boolean on) {
        answersShort = on;
    }

    /** How long sessions opened from now on live without being renewed, as clients are told. */
    public void expiry(int millis) {
        expiryMillis = millis;
    }

    /** Who waits here would do so in vain. */
    void leaderChanged() {
        if (cluster.leader() != this) {
            List<RpcRequest> waiting;
            synchronized (inLine) {
                waiting = new ArrayList<>(inLine);
                waiting.addAll(waitForLocks);
                inLine.clear();
                waitForLocks.clear();
            }
            waiting.forEach(this::serve);
        }
    }

    private void lockRequest(RpcRequest request, Method method) {
        if (method == Method.AWAIT_LOCK) {
            synchronized (inLine) {
                waitForLocks.add(request);
            }
            serveLocks();
            return;
        }
        long ticket = Heads.parse(CancelLockRequest.parser(), request.head()).getTicket();
        List<RpcRequest> cancelled = new ArrayList<>();
        synchronized (inLine) {
            for (RpcRequest waiting : waitForLocks) {
                if (awaited(waiting).getTicket() == ticket) {
                    cancelled.add(waiting);
                }
            }
            waitForLocks.removeAll(cancelled);
        }
        cancelled.forEach(r -> r.reply(AwaitLockReply.getDefaultInstance()));
        request.reply(CancelLockReply.getDefaultInstance());
    }

    private static AwaitLockRequest awaited(RpcRequest request) {
        return Heads.parse(AwaitLockRequest.parser(), request.head().duplicate());
    }

    private void serveLocks() {
        List<RpcRequest> turns = new ArrayList<>();
        synchronized (inLine) {
            for (RpcRequest waiting : waitForLocks) {
                if (cluster.names().isFree(awaited(waiting).getLock())) {
                    turns.add(waiting);
                }
            }
            waitForLocks.removeAll(turns);
        }
        turns.forEach(r -> r.reply(AwaitLockReply.newBuilder().setTurn(true).build()));
    }

    /** Calls that wait for locks. */
    public int waitForLocks() {
        synchronized (inLine) {
            return waitForLocks.size();
        }
    }

    /** As the leader: in the order of their coming; who has the right is asked to return it. */
    private void serveLine() {
        List<RpcRequest> turns = new ArrayList<>();
        synchronized (inLine) {
            Set<Long> seen = new HashSet<>();
            for (Iterator<RpcRequest> i = inLine.iterator(); i.hasNext(); ) {
                RpcRequest request = i.next();
                var wanted = Heads.parse(AwaitAppendRequest.parser(), request.head().duplicate());
                long holder = cluster.names().appender(wanted.getInode());
                if (!seen.add(wanted.getInode())) {
                    continue;
                }
                if (holder == 0 || holder == wanted.getSession()) {
                    i.remove();
                    turns.add(request);
                } else {
                    recall(holder, wanted.getInode());
                }
            }
        }
        turns.forEach(r -> r.reply(AwaitAppendReply.newBuilder().setTurn(true).build()));
    }

    /** Asks a session to return the right to append. */
    public void recall(long session, long inode) {
        RpcPeer peer = sessions.get(session);
        if (peer != null) {
            recalls.incrementAndGet();
            peer.push(
                    Method.APPEND_RECALL_VALUE, AppendRecall.newBuilder().setInode(inode).build());
        }
    }

    /** Asks a session to return files that are delegated to it. */
    public void recallDelegations(long session, Long... inodes) {
        peer(session)
                .push(
                        Method.DELEGATION_RECALL_VALUE,
                        DelegationRecall.newBuilder()
                                .setSession(session)
                                .addAllInodes(List.of(inodes))
                                .build());
    }

    /** Asks a session to publish what it wrote. */
    public void tellSizes(long session, long number, long inode) {
        peer(session)
                .push(
                        Method.TELL_SIZES_VALUE,
                        TellSizes.newBuilder()
                                .setSession(session)
                                .setNumber(number)
                                .addInodes(inode)
                                .build());
    }

    /** The numbers of such questions that were answered, in the order of arrival. */
    public List<Long> sizesTold() {
        return sizesTold;
    }

    private RpcPeer peer(long session) {
        RpcPeer peer = sessions.get(session);
        if (peer == null) {
            throw new AssertionError("session " + session + " is on no connection");
        }
        return peer;
    }

    /** How long leases are from now on; nothing is recalled but by {@link #recall(ReadRecall)}. */
    public void leases(int micros) {
        leaseMicros = micros;
    }

    /** Has leases forgotten, whether or not the session has any. */
    public void recall(ReadRecall recall) {
        RpcPeer peer = sessions.get(recall.getSession());
        if (peer != null) {
            peer.push(Method.READ_RECALL_VALUE, recall);
        }
    }

    /** Acknowledgements of recalls, in the order of arrival. */
    public List<ReadRecalledRequest> acknowledged() {
        return acknowledged;
    }

    /** What a session is told that may want leases. */
    private Attr leased(Attr attr, long session, boolean name) {
        return session == 0
                ? attr
                : attr.toBuilder()
                        .setAttrLeaseMicros(leaseMicros)
                        .setNameLeaseMicros(name ? leaseMicros : 0)
                        .setNoXattrs(true)
                        .build();
    }

    /** What is made has leases too, also if they are not wanted: that is not said here. */
    private MutateReply leased(MutateReply reply, long session) {
        MutateReply.Builder leased = reply.toBuilder();
        leased.getResultsBuilderList().stream()
                .filter(MutationResult.Builder::hasAttr)
                .forEach(result -> result.setAttr(leased(result.getAttr(), session, true)));
        return leased.build();
    }

    private LookupReply lookup(LookupRequest lookup) {
        long session = lookup.getLeaseSession();
        try {
            Attr attr = cluster.names().lookup(lookup.getParent(), lookup.getName().toStringUtf8());
            return LookupReply.newBuilder()
                    .setAttr(leased(attr, session, true))
                    .setOpened(cluster.names().reads().openFound(lookup, attr))
                    .build();
        } catch (FsException e) {
            if (session == 0 || e.errno() != Errno.ENOENT) {
                throw e;
            }
            return LookupReply.newBuilder().setMissingLeaseMicros(leaseMicros).build();
        }
    }

    private ReadDirReply list(ReadDirRequest list) {
        ReadDirReply.Builder reply = cluster.names().readDir(list.getInode()).toBuilder();
        reply.getEntriesBuilderList()
                .forEach(e -> e.setAttr(leased(e.getAttr(), list.getLeaseSession(), true)));
        return reply.build();
    }

    /** Rights asked back. */
    public int recalls() {
        return recalls.get();
    }

    /** Sessions that wait for the right to append. */
    public int inLine() {
        synchronized (inLine) {
            return inLine.size();
        }
    }

    /** Behind the answer to who has a map of a session before. */
    private void sendMissed(RpcPeer peer, long has) {
        MapUpdate present = cluster.fullMap();
        if (has > 0 && has < present.getEpoch()) {
            peer.push(Method.MAP_PUSH_VALUE, present.toBuilder().setBaseEpoch(has).build());
        }
    }

    /** Map epochs that clients said to have when they opened sessions, in order. */
    public List<Long> openedWith() {
        return openedWith;
    }

    private MessageLite answer(RpcRequest request, Method method) {
        FakeNamespace names = cluster.names();
        return switch (method) {
            case OPEN_SESSION -> {
                clients.add(request.peer());
                var open = Heads.parse(OpenSessionRequest.parser(), request.head());
                openedWith.add(open.getMapEpoch());
                long opened = names.openSession(open.getClientUuid());
                OpenSessionReply.Builder reply =
                        OpenSessionReply.newBuilder()
                                .setSession(opened)
                                .setReclaims(
                                        open.getReclaims() && names.reads().sessionOpened(opened))
                                .setDelegates(
                                        open.getDelegates()
                                                && names.delegations().sessionOpened(opened))
                                .setTerm(names.reads().term())
                                .setRenewIntervalMillis(200)
                                .setExpiryMillis(expiryMillis)
                                .setDelegationMillis(expiryMillis)
                                .setFeatureLevel(7);
                yield open.getMapEpoch() > 0
                        ? reply.build()
                        : reply.setMap(cluster.fullMap()).build();
            }
            case RENEW_SESSION -> {
                var renew = Heads.parse(RenewSessionRequest.parser(), request.head());
                if (!names.knows(renew.getSession())) {
                    throw new FsException(Errno.ESTALE, "session is not open");
                }
                clients.add(request.peer());
                sessions.put(renew.getSession(), request.peer());
                if (renew.getMapEpoch() < cluster.fullMap().getEpoch()) {
                    request.peer().push(Method.MAP_PUSH_VALUE, cluster.fullMap());
                }
                yield RenewSessionReply.newBuilder()
                        .setReclaim(names.reads().isAwaited(renew.getSession()))
                        .setTerm(names.reads().term())
                        .build();
            }
            case CLOSE_SESSION -> {
                var close = Heads.parse(CloseSessionRequest.parser(), request.head());
                if (close.getEvict()) {
                    cluster.evict(close.getSession());
                } else {
                    names.endSession(close.getSession());
                }
                yield CloseSessionReply.getDefaultInstance();
            }
            case OPEN_FOR_READING ->
                    OpenForReadingReply.newBuilder()
                            .setAttr(
                                    names.reads()
                                            .open(
                                                    Heads.parse(
                                                            OpenForReadingRequest.parser(),
                                                            request.head())))
                            .build();
            case CLOSE_FOR_READING -> {
                names.reads().close(Heads.parse(CloseForReadingRequest.parser(), request.head()));
                yield CloseForReadingReply.getDefaultInstance();
            }
            case RECLAIM_OPENS -> {
                names.reads().reclaim(Heads.parse(ReclaimOpensRequest.parser(), request.head()));
                yield ReclaimOpensReply.getDefaultInstance();
            }
            case MUTATE -> {
                var mutate = Heads.parse(MutateRequest.parser(), request.head());
                sessions.put(mutate.getSession(), request.peer());
                MutateReply reply = names.mutate(mutate);
                if (reply == null) {
                    throw new FsException(Errno.EAGAIN, "a number is missing");
                }
                reply = names.delegations().delegated(mutate, reply);
                serveLine();
                serveLocks();
                if (answersShort) {
                    yield MutateReply.getDefaultInstance();
                }
                if (leaseMicros > 0) {
                    yield leased(reply, mutate.getSession());
                }
                for (int i = 0; i < reply.getResultsCount(); i++) {
                    if (reply.getResults(i).getErrno() == Errno.EAGAIN.number()
                            && mutate.getMutations(i).hasSetAttr()) {
                        // The truncator catches up behind the refusal.
                        cluster.chunks()
                                .settleTruncations(mutate.getMutations(i).getSetAttr().getInode());
                    }
                }
                yield reply;
            }
            case RETURN_DELEGATIONS -> {
                names.delegations()
                        .giveBack(Heads.parse(ReturnDelegationsRequest.parser(), request.head()));
                yield ReturnDelegationsReply.getDefaultInstance();
            }
            case GET_ATTR -> {
                var get = Heads.parse(GetAttrRequest.parser(), request.head());
                Attr attr = names.attr(get.getInode());
                yield GetAttrReply.newBuilder()
                        .setAttr(leased(attr, get.getLeaseSession(), false))
                        .build();
            }
            case LOOKUP -> lookup(Heads.parse(LookupRequest.parser(), request.head()));
            case READ_DIR -> list(Heads.parse(ReadDirRequest.parser(), request.head()));
            case READ_RECALLED -> ReadRecalledReply.getDefaultInstance();
            case SIZES_TOLD -> SizesToldReply.getDefaultInstance();
            case WAIT_TRUNCATED -> {
                var wait = Heads.parse(WaitTruncatedRequest.parser(), request.head());
                if (!names.knows(wait.getSession())) {
                    throw new FsException(Errno.ESTALE, "session is not open");
                }
                boolean applied = notYet.getAndUpdate(n -> Math.max(0, n - 1)) == 0;
                if (applied) {
                    cluster.chunks().settleTruncations(wait.getInode());
                }
                yield WaitTruncatedReply.newBuilder().setApplied(applied).build();
            }
            case STAT_FS -> StatFsReply.newBuilder().setCapacityBytes(1 << 30).build();
            default -> throw new FsException(Errno.ENOSYS, String.valueOf(method));
        };
    }

    /** Sends the map to every client that opened or renewed here. */
    void push(MapUpdate map) {
        for (RpcPeer peer : clients) {
            if (peer.connected()) {
                peer.push(Method.MAP_PUSH_VALUE, map);
            }
        }
    }

    @Override
    public void close() {
        timer.shutdownNow();
        synchronized (inLine) {
            inLine.addAll(waitForLocks);
            inLine.forEach(r -> r.fail(RpcStatus.fail(Errno.EIO, "the server ends")));
            inLine.clear();
            waitForLocks.clear();
        }
        endpoint.close();
    }
}
