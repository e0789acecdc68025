package io.cairn.dataserver.mdslink;

import io.cairn.common.proto.HeartbeatReply;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.RegisterServerReply;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoop;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.Lease;
import io.cairn.dataserver.pg.Messages;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps this server registered with the leader of the metadata service and its lease renewed, and
 * finds the leader again when it changes. Everything on one loop, except {@link #start}, {@link
 * #needMap} and {@link #stop}.
 */
public final class MdsLink {
    private static final Logger LOG = LoggerFactory.getLogger(MdsLink.class);

    private static final long CALL_NANOS = 3_000_000_000L;
    private static final long RETRY_MILLIS = 200;

    /** A heartbeat brings a newer map as a push; after this long it is asked for. */
    private static final long MAP_PATIENCE_MILLIS = 200;

    private final RpcLoop loop;
    private final RpcClient client;
    private final List<InetSocketAddress> members;
    private final long heartbeatMillis;
    private final Lease lease;
    private final ServerRegistration registration;
    private @Nullable InetSocketAddress leader;
    private int next;
    private int failures;
    private long leaseMillis;
    private boolean registering;
    private boolean mapWanted;
    private volatile boolean stopped;

    public MdsLink(
            RpcLoop loop,
            RpcClient client,
            List<InetSocketAddress> members,
            Duration heartbeat,
            Lease lease,
            ServerRegistration registration) {
        this.loop = loop;
        this.client = client;
        this.members = List.copyOf(members);
        heartbeatMillis = heartbeat.toMillis();
        this.lease = lease;
        this.registration = registration;
    }

    public void start() {
        loop.execute(this::register);
    }

    public void stop() {
        stopped = true;
    }

    /** Somebody knows a newer map. */
    public void needMap() {
        if (!stopped) {
            loop.execute(this::awaitMap);
        }
    }

    private RpcChannel channel() {
        InetSocketAddress address = leader;
        if (address == null) {
            address = members.get(Math.floorMod(next, members.size()));
        }
        return client.channel(address, loop);
    }

    // ---- registration -------------------------------------------------------------------------

    private void register() {
        if (stopped || registering) {
            return;
        }
        registering = true;
        channel()
                .call(
                        Method.REGISTER_SERVER_VALUE,
                        registration.request(),
                        System.nanoTime() + CALL_NANOS,
                        (status, head, payload) -> {
                            RegisterServerReply reply =
                                    status.ok()
                                            ? Messages.parse(RegisterServerReply.parser(), head)
                                            : null;
                            onLoop(() -> registerDone(status, reply));
                        });
    }

    private void registerDone(RpcStatus status, @Nullable RegisterServerReply reply) {
        registering = false;
        if (stopped) {
            return;
        }
        if (reply == null) {
            lookElsewhere("register", status);
            after(retryMillis(status), this::register);
            return;
        }
        found();
        boolean first = leaseMillis == 0;
        leaseMillis = reply.getLeaseMillis();
        try {
            registration.registered(reply);
        } catch (DataServerException e) {
            stopped = true;
            registration.failed(e);
            return;
        }
        if (first) {
            heartbeat();
        }
    }

    // ---- heartbeats ---------------------------------------------------------------------------

    private void heartbeat() {
        if (stopped) {
            return;
        }
        long sent = lease.now();
        channel()
                .call(
                        Method.HEARTBEAT_VALUE,
                        registration.heartbeat(),
                        System.nanoTime() + CALL_NANOS,
                        (status, head, payload) -> {
                            HeartbeatReply reply =
                                    status.ok()
                                            ? Messages.parse(HeartbeatReply.parser(), head)
                                            : null;
                            onLoop(() -> heartbeatDone(sent, status, reply));
                        });
    }

    private void heartbeatDone(long sent, RpcStatus status, @Nullable HeartbeatReply reply) {
        if (stopped) {
            return;
        }
        if (reply == null) {
            lookElsewhere("reach", status);
            after(Math.min(heartbeatMillis, retryMillis(status)), this::heartbeat);
            return;
        }
        found();
        if (reply.getRegisterAgain()) {
            LOG.warn("The metadata service does not know this server's start; registering again");
            register();
        } else {
            lease.renewed(sent, leaseMillis);
            if (reply.getMapEpoch() > registration.mapEpoch()) {
                awaitMap();
            }
        }
        after(heartbeatMillis, this::heartbeat);
    }

    // ---- map ----------------------------------------------------------------------------------

    /** Registering again with the same incarnation changes nothing and brings the whole map. */
    private void awaitMap() {
        if (stopped || mapWanted || leaseMillis == 0) {
            return;
        }
        mapWanted = true;
        long epoch = registration.mapEpoch();
        after(
                MAP_PATIENCE_MILLIS,
                () -> {
                    mapWanted = false;
                    if (registration.mapEpoch() == epoch) {
                        register();
                    }
                });
    }

    // ---- leader -------------------------------------------------------------------------------

    private void lookElsewhere(String what, RpcStatus status) {
        failures++;
        leader = null;
        if (status.advice() == Advice.NOT_LEADER && !status.detail().isEmpty()) {
            try {
                leader = RpcAddress.parse(status.detail());
            } catch (IllegalArgumentException e) {
                LOG.warn("A member names '{}' as leader, which is no address", status.detail());
            }
        }
        if (leader == null) {
            next++;
        }
        if (failures == members.size() * 3) {
            LOG.warn(
                    "Cannot {} the metadata service at {} ({}); trying on",
                    what,
                    members,
                    status.detail());
        }
    }

    /** A named leader is tried at once, unless the members keep pointing at each other. */
    private long retryMillis(RpcStatus status) {
        boolean named = status.advice() == Advice.NOT_LEADER && leader != null;
        return named && failures <= members.size() ? 1 : RETRY_MILLIS;
    }

    private void found() {
        if (failures >= members.size() * 3) {
            LOG.info("The metadata service is reached again");
        }
        failures = 0;
    }

    private void after(long millis, Runnable task) {
        loop.after(TimeUnit.MILLISECONDS.toNanos(millis), task);
    }

    private void onLoop(Runnable task) {
        if (loop.inLoop()) {
            task.run();
        } else {
            loop.execute(task);
        }
    }
}
