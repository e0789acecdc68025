package io.cairn.client.meta;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What a member of the metadata service is asked to find out whether it leads: to open a session,
 * or to renew the one that is open.
 *
 * <p>A session that ended though the MDS still serves it is evicted at the client's own wish before
 * the next one is opened: only then can no request of it that is still in flight be executed after
 * those of the next.
 *
 * <p>Any thread; guarded by the session's lock, answers arrive outside of it.
 */
final class SessionOpening {
    private final MetaOptions options;
    private final MetaEvents events;
    private final SessionCalls calls;
    private final MdsSession session;
    private final MdsLeader leader;
    private final CompletableFuture<Void> opened = new CompletableFuture<>();

    /** Of the session, or of the next one: opening is idempotent by it. */
    private ByteString uuid = Uuids.random();

    /** The one that ended last, to be evicted before another is opened; 0: none. */
    private long toEvict;

    SessionOpening(
            MetaOptions options,
            MetaEvents events,
            SessionCalls calls,
            MdsSession session,
            MdsLeader leader) {
        this.options = options;
        this.events = events;
        this.calls = calls;
        this.session = session;
        this.leader = leader;
    }

    /** Completes when the first session is open. */
    CompletableFuture<Void> opened() {
        return opened;
    }

    /**
     * What is opened from now on is another session. Under the lock.
     *
     * @param evict the session before it, if the MDS may still take that for open, else 0
     */
    void another(long evict) {
        uuid = Uuids.random();
        toEvict = evict;
    }

    /** Under the lock, while the leader is looked for. */
    void ask(long era, RpcChannel member) {
        if (toEvict != 0) {
            evict(era, member, toEvict);
        } else if (session.id() == 0) {
            open(era, member);
        } else {
            renew(era, member, session.id());
        }
    }

    // ---- the session before

    private void evict(long era, RpcChannel member, long evicting) {
        calls.call(
                member,
                Method.CLOSE_SESSION,
                CloseSessionRequest.newBuilder().setSession(evicting).setEvict(true).build(),
                CloseSessionReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> evictedByWish(era, evicting, status));
    }

    /** Also where the leader does not know it any more: then it was evicted before. */
    private void evictedByWish(long era, long evicting, RpcStatus status) {
        if (!status.ok() && !MdsSession.fatal(status)) {
            notFound(era, status);
            return;
        }
        synchronized (calls.lock) {
            if (toEvict == evicting) {
                toEvict = 0;
            }
            leader.search(era);
        }
    }

    // ---- a new session

    private void open(long era, RpcChannel member) {
        long sentNanos = session.renewals().nowNanos();
        OpenSessionRequest request =
                OpenSessionRequest.newBuilder()
                        .setClientUuid(uuid)
                        .setDescription(options.description())
                        .setReclaims(true)
                        .setDelegates(true)
                        .setMapEpoch(session.renewals().mapEpoch())
                        .build();
        calls.call(
                member,
                Method.OPEN_SESSION,
                request,
                OpenSessionReply.parser(),
                calls.attemptDeadline(),
                (status, reply) -> sessionOpened(era, sentNanos, member, status, reply));
    }

    private void sessionOpened(
            long era,
            long sentNanos,
            RpcChannel from,
            RpcStatus status,
            @Nullable OpenSessionReply reply) {
        if (reply == null) {
            notFound(era, status);
            return;
        }
        synchronized (calls.lock) {
            if (!leader.isSearchedIn(era) || session.id() != 0) {
                return;
            }
            session.opened(reply.getSession(), reply.getReclaims(), reply.getDelegates());
        }
        events.sessionOpened(
                reply.getSession(),
                reply.hasMap() ? reply.getMap() : null,
                reply.getFeatureLevel());
        if (reply.hasMap()) {
            leader.learnMembers(
                    reply.getMap().getMdsList().stream().map(MdsMember::getAddress).toList());
        }
        long interval = Math.max(50, reply.getRenewIntervalMillis());
        session.renewals().every(reply.getSession(), interval);
        session.connected(era, from, reply.getTerm());
        session.renewals().opened(sentNanos, reply.getExpiryMillis(), reply.getDelegationMillis());
        opened.complete(null);
    }

    // ---- the session that is open

    private void renew(long era, RpcChannel member, long asked) {
        long sentNanos = session.renewals().nowNanos();
        calls.call(
                member,
                Method.RENEW_SESSION,
                session.renewals().request(),
                RenewSessionReply.parser(),
                calls.searchDeadline(),
                (status, reply) -> sessionFound(era, asked, sentNanos, member, status, reply));
    }

    private void sessionFound(
            long era,
            long asked,
            long sentNanos,
            RpcChannel from,
            RpcStatus status,
            @Nullable RenewSessionReply reply) {
        if (reply != null) {
            session.connected(era, from, reply.getTerm());
            session.renewals().renewed(asked, sentNanos);
        } else if (MdsSession.fatal(status)) {
            session.evicted(asked, status.detail());
        } else {
            notFound(era, status);
        }
    }

    /** A wrong cluster or version at the first attempt: to go on asking is of no use. */
    private void notFound(long era, RpcStatus status) {
        FsException refused = null;
        synchronized (calls.lock) {
            if (leader.notFound(era, status)
                    && session.id() == 0
                    && !opened.isDone()
                    && leader.rounds() > 0
                    && status.errno() == Errno.EPROTO) {
                refused = status.toException();
            }
        }
        if (refused != null) {
            opened.completeExceptionally(refused);
        }
    }
}
