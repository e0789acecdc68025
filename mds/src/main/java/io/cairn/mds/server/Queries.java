package io.cairn.mds.server;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.GetXattrReply;
import io.cairn.common.proto.GetXattrRequest;
import io.cairn.common.proto.ListLocksRequest;
import io.cairn.common.proto.ListXattrReply;
import io.cairn.common.proto.ListXattrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadLinkReply;
import io.cairn.common.proto.ReadLinkRequest;
import io.cairn.common.proto.StatFsRequest;
import io.cairn.common.proto.TestLockRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.lease.Delegations;
import io.cairn.mds.lease.LeasedReplies;
import io.cairn.mds.lease.WaitingAnswer;
import io.cairn.mds.lease.WriterSizes;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.NamespaceReader;
import io.cairn.mds.session.ReadOpenRequests;
import io.netty.buffer.ByteBuf;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Answers reads of the namespace. Any thread: listings have their own, the rest is answered on the
 * event loop it arrives on. The lease is looked at after the data was fetched, so an answer is
 * never older than the last moment at which nobody else could have led. State that cannot be read
 * is the caller's to end the process over.
 */
final class Queries {
    /** A listing's answer at most, and what a client gets that names no limit. */
    private static final int MAX_LISTING_BYTES = 1 << 20;

    private final Leadership leadership;
    private final NamespaceReader namespace;
    private final LockQueries locks;
    private final Status status;
    private final LongPredicate gone;
    private final LeasedReplies leases;
    private final Delegations delegations;
    private final WriterSizes sizes;
    private final ReadOpenRequests opens;
    private Delegations.Rereads rereads = (method, request, startNanos, work) -> work.run();
    private final MdsMeters metrics;

    /**
     * @param gone whether an inode that may still be there is gone for clients
     */
    Queries(
            Leadership leadership,
            NamespaceReader namespace,
            LockQueries locks,
            Status status,
            LongPredicate gone,
            LeasedReplies leases,
            Delegations delegations,
            WriterSizes sizes,
            ReadOpenRequests opens,
            MdsMeters metrics) {
        this.opens = opens;
        this.sizes = sizes;
        this.gone = gone;
        this.leadership = leadership;
        this.namespace = namespace;
        this.locks = locks;
        this.status = status;
        this.leases = leases;
        this.delegations = delegations;
        this.metrics = metrics;
    }

    /** Once, before the first query. */
    void rereadBy(Delegations.Rereads where) {
        rereads = where;
    }

    /** Answers it, now or when nobody may believe any more what the answer contradicts. */
    void handle(Method method, RpcRequest request, long startNanos) {
        Query query = new Query(method, request, startNanos);
        query.parse();
        ask(query, true);
    }

    /**
     * @param first whether it was not read before: only then it may open what it finds. Later its
     *     session may have opened and closed the file since, with greater numbers
     */
    private void ask(Query query, boolean first) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            query.refuse(refusal);
            return;
        }
        RpcRequest request = query.request;
        long since = leases.begin();
        delegations.reading(query.look);
        query.read();
        ReadOpenRequests.@Nullable Found opened = first ? query.open() : null;
        if (delegations.waits(query.asked, query.reply, request.peer(), query.look, query)
                || sizes.waits(query.asked, query.reply, request.peer(), query.look, query)) {
            if (opened != null) {
                opened.takeBack(); // it is read anew, and may find something else
            }
            return;
        }
        if (!leases.waits(query.asked, query.reply, request.peer(), query)) {
            query.lend(since);
            query.send();
        }
    }

    /** One query and what it is answered with. */
    private final class Query implements WaitingAnswer, Delegations.Question {
        private final Method method;
        private final RpcRequest request;
        private final long startNanos;
        private final Delegations.Look look = new Delegations.Look();
        private @Nullable MessageLite asked;
        private @Nullable MessageLite reply;
        private RpcStatus failure = RpcStatus.OK;

        Query(Method method, RpcRequest request, long startNanos) {
            this.method = method;
            this.request = request;
            this.startNanos = startNanos;
        }

        void parse() {
            try {
                asked = parsed(method, request.head());
            } catch (FsException e) {
                failure = refused(e);
            }
        }

        void read() {
            if (asked == null) {
                return;
            }
            try {
                reply = answer(asked);
            } catch (FsException e) {
                reply = null;
                failure = refused(e);
            }
        }

        /** Opens what it has found, if it is to. */
        ReadOpenRequests.@Nullable Found open() {
            if (!(asked instanceof LookupRequest lookup) || !(reply instanceof LookupReply found)) {
                return null;
            }
            ReadOpenRequests.@Nullable Found opened = opens.open(lookup, found.getAttr());
            if (opened != null) {
                reply =
                        LookupReply.newBuilder()
                                .setAttr(opened.attr())
                                .setOpened(lookup.getOpenNumber())
                                .build();
            }
            return opened;
        }

        private static RpcStatus refused(FsException why) {
            return RpcStatus.fail(why.errno(), String.valueOf(why.getMessage()));
        }

        @Override
        public void again() {
            rereads.run(method, request, startNanos, () -> ask(this, false));
        }

        void lend(long since) {
            if (asked != null && reply != null) {
                reply = leases.lent(asked, reply, request.peer(), since);
            }
        }

        @Override
        public void send() {
            @Nullable RpcStatus refusal = leadership.refusal();
            if (refusal != null) {
                refuse(refusal);
            } else if (reply == null) {
                refuse(failure);
            } else {
                request.reply(reply);
                metrics.request(method, startNanos, true);
            }
        }

        @Override
        public void refuse(RpcStatus status) {
            request.fail(status);
            metrics.request(method, startNanos, false);
        }
    }

    private static MessageLite parsed(Method method, ByteBuf head) {
        return switch (method) {
            case LOOKUP -> Heads.parse(LookupRequest.parser(), head);
            case GET_ATTR -> Heads.parse(GetAttrRequest.parser(), head);
            case READ_DIR -> Heads.parse(ReadDirRequest.parser(), head);
            case READ_LINK -> Heads.parse(ReadLinkRequest.parser(), head);
            case GET_XATTR -> Heads.parse(GetXattrRequest.parser(), head);
            case LIST_XATTR -> Heads.parse(ListXattrRequest.parser(), head);
            case STAT_FS -> StatFsRequest.getDefaultInstance();
            case TEST_LOCK -> Heads.parse(TestLockRequest.parser(), head);
            case LIST_LOCKS -> Heads.parse(ListLocksRequest.parser(), head);
            default -> throw new IllegalArgumentException(method + " is no query");
        };
    }

    private MessageLite answer(MessageLite asked) {
        return switch (asked) {
            case LookupRequest r -> lookup(r);
            case GetAttrRequest r ->
                    GetAttrReply.newBuilder()
                            .setAttr(namespace.getAttr(there(r.getInode())))
                            .build();
            case ReadDirRequest r -> {
                int max = r.getMaxBytes() <= 0 ? MAX_LISTING_BYTES : r.getMaxBytes();
                yield namespace.readDir(
                        r.getInode(),
                        r.getCursor(),
                        Math.min(max, MAX_LISTING_BYTES),
                        r.getWithAttributes());
            }
            case ReadLinkRequest r ->
                    ReadLinkReply.newBuilder().setTarget(namespace.readLink(r.getInode())).build();
            case GetXattrRequest r ->
                    GetXattrReply.newBuilder()
                            .setValue(namespace.getXattr(there(r.getInode()), r.getName()))
                            .build();
            case ListXattrRequest r ->
                    ListXattrReply.newBuilder()
                            .addAllNames(namespace.listXattr(there(r.getInode())))
                            .build();
            case TestLockRequest r -> locks.test(r);
            case ListLocksRequest r -> locks.list(r);
            default -> status.space();
        };
    }

    private LookupReply lookup(LookupRequest asked) {
        if (asked.getLeaseSession() == 0) {
            Attr found = namespace.lookup(asked.getParent(), asked.getName());
            return LookupReply.newBuilder().setAttr(found).build();
        }
        @Nullable Attr found = namespace.find(asked.getParent(), asked.getName());
        return found == null
                ? LookupReply.getDefaultInstance()
                : LookupReply.newBuilder().setAttr(found).build();
    }

    private long there(long inode) {
        if (gone.test(inode)) {
            throw new FsException(Errno.ENOENT, "inode " + inode);
        }
        return inode;
    }
}
