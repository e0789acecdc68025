package io.cairn.dataserver.mdslink;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.config.HostPort;
import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.HeartbeatRequest;
import io.cairn.common.proto.JoinPgReply;
import io.cairn.common.proto.JoinPgRequest;
import io.cairn.common.proto.MemberSilentReply;
import io.cairn.common.proto.MemberSilentRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.LeaderFinder;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoop;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.Lease;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps this server registered with the leader of the metadata service and its lease renewed, and
 * finds the leader again when it changes. Everything on one loop, except {@link #start}, {@link
 * #registerAgain}, {@link #needMap}, {@link #askToJoin}, {@link #memberSilent}, {@link #question}
 * and {@link #stop}.
 */
public final class MdsLink {
    private static final Logger LOG = LoggerFactory.getLogger(MdsLink.class);

    private static final long CALL_NANOS = 3_000_000_000L;
    private static final int ROUNDS_BEFORE_WARNING = 3;

    /** A heartbeat brings a newer map as a push; after this long it is asked for. */
    private static final long MAP_PATIENCE_NANOS = 200_000_000L;

    private final RpcLoop loop;
    private final RpcClient client;
    private final LeaderFinder members;
    private final long heartbeatNanos;
    private final Lease lease;
    private final Reporter reporter;
    private long leaseMillis;
    private boolean registering;
    private boolean beating;
    private boolean mapWanted;

    /** Who waits for a registration with what there is now. */
    private final List<CompletableFuture<Void>> awaited = new ArrayList<>();

    /** No heartbeat, or first registration, before this: the one before was not answered. */
    private long notBeforeNanos = System.nanoTime();

    private volatile boolean stopped;

    /** What the server says, and what it does with the answers. Called on the loop. */
    public interface Reporter {
        /** A heartbeat was answered. */
        void answered(HeartbeatReply reply);

        RegisterServerRequest request();

        /**
         * Throws when this server cannot be part of that cluster.
         *
         * @return false if the map that the answer goes by is not here: what {@link #request} says
         *     next asks for it
         */
        boolean registered(RegisterServerReply reply) throws DataServerException;

        /** It cannot be part of the cluster, for good. */
        void failed(DataServerException cause);

        HeartbeatRequest heartbeat();

        /** Epoch of the map this server has. */
        long mapEpoch();

        /** Addresses of the metadata service by the map this server has. */
        List<String> metadataServers();

        /** Epoch of the oldest map that a loop serves by. */
        long appliedEpoch();
    }

    public MdsLink(
            RpcLoop loop,
            RpcClient client,
            List<HostPort> members,
            Duration heartbeat,
            Lease lease,
            Reporter reporter) {
        this.loop = loop;
        this.client = client;
        this.members = finder(members);
        heartbeatNanos = heartbeat.toNanos();
        this.lease = lease;
        this.reporter = reporter;
    }

    /** Names are looked up at each connection: what a name stands for may change. */
    static LeaderFinder finder(List<HostPort> members) {
        return new LeaderFinder(members.stream().map(RpcAddress::of).toList());
    }

    public void start() {
        loop.execute(this::tick);
        // A server that no longer calls is marked down, and nothing but this would bring it back.
        loop.every(heartbeatNanos, "The heartbeat to the metadata service", this::tick);
    }

    private void tick() {
        if (stopped || System.nanoTime() - notBeforeNanos < 0) {
            return;
        }
        if (leaseMillis == 0) {
            register();
        } else {
            heartbeat();
        }
    }

    private void tickAfter(long pauseNanos) {
        notBeforeNanos = System.nanoTime() + pauseNanos;
        loop.after(pauseNanos, this::tick);
    }

    public void stop() {
        stopped = true;
    }

    /** A request or a member showed that a newer map exists: a heartbeat brings it. Any thread. */
    public void needMap() {
        if (!stopped) {
            loop.execute(() -> {
                if (leaseMillis != 0 && !mapWanted) {
                    heartbeat();
                    awaitMap();
                }
            });
        }
    }

    /** Any thread. See {@link io.cairn.dataserver.pg.Membership}. */
    public void askToJoin(int pg, long pgEpoch, int disk) {
        tell(
                Method.JOIN_PG,
                JoinPgRequest.newBuilder().setPg(pg).setPgEpoch(pgEpoch).setDisk(disk).build(),
                JoinPgReply.parser());
    }

    /** Any thread. See {@link io.cairn.dataserver.pg.Membership}. */
    public void memberSilent(int pg, long pgEpoch, int disk) {
        tell(
                Method.MEMBER_SILENT,
                MemberSilentRequest.newBuilder()
                        .setPg(pg)
                        .setPgEpoch(pgEpoch)
                        .setDisk(disk)
                        .build(),
                MemberSilentReply.parser());
    }

    /** Asks the leader, once. Any thread. */
    public <T extends MessageLite> CompletableFuture<T> question(
            Method method, MessageLite request, Parser<T> parser) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        loop.execute(() -> {
            if (stopped) {
                answer.completeExceptionally(new CancellationException("the data server stops"));
                return;
            }
            ask(
                    members.current(),
                    method,
                    request,
                    CALL_NANOS,
                    parser,
                    (status, reply) -> {
                        if (reply != null) {
                            answer.complete(reply);
                        } else {
                            answer.completeExceptionally(status.toException());
                        }
                    },
                    () -> answer.completeExceptionally(new CancellationException("not sent")));
        });
        return answer;
    }

    /** Once: the map shows what came of it. */
    private <T extends MessageLite> void tell(Method method, MessageLite said, Parser<T> parser) {
        if (stopped) {
            return;
        }
        loop.execute(() ->
                ask(
                        members.current(),
                        method,
                        said,
                        CALL_NANOS,
                        parser,
                        (status, reply) -> {
                            if (reply == null) {
                                LOG.debug("{} was not heard: {}", method, status);
                            }
                        },
                        () -> {}));
    }

    /**
     * Asks the member that leads, or may lead; the answer comes on the loop.
     *
     * @param unsent called where this throws: there is no answer to wait for
     */
    private <T extends MessageLite> void ask(
            InetSocketAddress member,
            Method method,
            MessageLite request,
            long patienceNanos,
            Parser<T> parser,
            Heads.Reply<T> then,
            Runnable unsent) {
        try {
            client.channel(member, loop)
                    .call(
                            method.getNumber(),
                            request,
                            System.nanoTime() + patienceNanos,
                            Heads.reply(
                                    parser,
                                    (status, reply) -> onLoop(() -> then.done(status, reply))));
        } catch (RuntimeException | Error e) {
            unsent.run();
            throw e;
        }
    }

    // ---- registration -------------------------------------------------------------------------

    /**
     * There is more to register. Any thread.
     *
     * @return completes when the metadata service knows it; never, if that is never reached
     */
    public CompletableFuture<Void> registerAgain() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        loop.execute(() -> {
            awaited.add(done);
            register();
        });
        return done;
    }

    private void register() {
        if (stopped || registering) {
            return;
        }
        RegisterServerRequest request = reporter.request();
        List<CompletableFuture<Void>> waiting = List.copyOf(awaited);
        InetSocketAddress member = members.current();
        registering = true;
        ask(
                member,
                Method.REGISTER_SERVER,
                request,
                CALL_NANOS,
                RegisterServerReply.parser(),
                (status, reply) -> registerDone(member, status, reply, waiting),
                () -> registering = false);
    }

    private void registerDone(
            InetSocketAddress member,
            RpcStatus status,
            @Nullable RegisterServerReply reply,
            List<CompletableFuture<Void>> waiting) {
        registering = false;
        if (stopped) {
            return;
        }
        if (reply == null) {
            long pause = failed("register with", member, status);
            if (leaseMillis == 0) {
                tickAfter(pause);
            } else {
                loop.after(pause, this::register);
            }
            return;
        }
        found(member);
        boolean first = leaseMillis == 0;
        try {
            if (!reporter.registered(reply)) {
                register();
                return;
            }
            leaseMillis = reply.getLeaseMillis();
            members.learn(reporter.metadataServers());
        } catch (DataServerException e) {
            stopped = true;
            reporter.failed(e);
            return;
        }
        if (first) {
            heartbeat(); // there is no lease before it is answered
        }
        awaited.removeAll(waiting);
        waiting.forEach(w -> w.complete(null));
        if (!awaited.isEmpty()) {
            register();
        }
    }

    // ---- heartbeats ---------------------------------------------------------------------------

    /** A member that does not answer leaves time to try two others while the lease lasts. */
    private long heartbeatPatienceNanos() {
        long third = Duration.ofMillis(leaseMillis).toNanos() / 3;
        return Math.clamp(third, Math.min(heartbeatNanos, CALL_NANOS), CALL_NANOS);
    }

    private void heartbeat() {
        if (beating) {
            return;
        }
        long sent = lease.now();
        HeartbeatRequest request = reporter.heartbeat();
        InetSocketAddress member = members.current();
        beating = true;
        ask(
                member,
                Method.HEARTBEAT,
                request,
                heartbeatPatienceNanos(),
                HeartbeatReply.parser(),
                (status, reply) -> heartbeatDone(sent, member, status, reply),
                () -> beating = false);
    }

    private void heartbeatDone(
            long sent, InetSocketAddress member, RpcStatus status, @Nullable HeartbeatReply reply) {
        beating = false;
        if (stopped) {
            return;
        }
        if (reply == null) {
            tickAfter(Math.min(heartbeatNanos, failed("reach", member, status)));
            return;
        }
        found(member);
        reporter.answered(reply);
        if (reply.getRegisterAgain()) {
            LOG.warn("The metadata service does not know this server's start; registering again");
            register();
        } else {
            lease.renewed(sent, leaseMillis, reply.getMapEpoch());
            lease.applied(reporter.appliedEpoch());
            members.learn(reporter.metadataServers());
            if (reply.getMapEpoch() > reporter.mapEpoch()) {
                awaitMap();
            }
        }
    }

    // ---- map ----------------------------------------------------------------------------------

    /**
     * Registering again with the same incarnation changes nothing and brings what is missing of the
     * map.
     */
    private void awaitMap() {
        if (stopped || mapWanted || leaseMillis == 0) {
            return;
        }
        mapWanted = true;
        long epoch = reporter.mapEpoch();
        loop.after(
                MAP_PATIENCE_NANOS,
                () -> {
                    mapWanted = false;
                    if (reporter.mapEpoch() == epoch) {
                        register();
                    }
                });
    }

    // ---- leader -------------------------------------------------------------------------------

    private void found(InetSocketAddress member) {
        if (members.rounds() >= ROUNDS_BEFORE_WARNING) {
            LOG.info("The metadata service is reached again");
        }
        members.found(member);
        members.served();
    }

    /** Returns the nanoseconds to wait before the next attempt. */
    private long failed(String what, InetSocketAddress member, RpcStatus status) {
        int before = members.rounds();
        long pause = members.failed(member, status);
        if (before < ROUNDS_BEFORE_WARNING && members.rounds() == ROUNDS_BEFORE_WARNING) {
            LOG.warn(
                    "Cannot {} the metadata service at {} ({}); trying on",
                    what,
                    members,
                    members.lastFailure());
        }
        return pause;
    }

    private void onLoop(Runnable task) {
        if (loop.inLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }
}
