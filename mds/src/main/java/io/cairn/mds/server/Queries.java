package io.cairn.mds.server;

import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
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
import io.cairn.common.proto.TestLockRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.namespace.NamespaceReader;
import io.netty.buffer.ByteBuf;
import java.util.function.LongPredicate;
import org.jspecify.annotations.Nullable;

/**
 * Answers reads of the namespace, on the event loop they arrive on. The lease is looked at after
 * the data was fetched, so an answer is never older than the last moment at which nobody else could
 * have led. State that cannot be read is the caller's to end the process over.
 */
final class Queries {
    /** A listing's answer at most, and what a client gets that names no limit. */
    private static final int MAX_LISTING_BYTES = 1 << 20;

    private final Leadership leadership;
    private final NamespaceReader namespace;
    private final LockQueries locks;
    private final Status status;
    private final LongPredicate gone;

    /**
     * @param gone whether an inode that may still be there is gone for clients
     */
    Queries(
            Leadership leadership,
            NamespaceReader namespace,
            LockQueries locks,
            Status status,
            LongPredicate gone) {
        this.gone = gone;
        this.leadership = leadership;
        this.namespace = namespace;
        this.locks = locks;
        this.status = status;
    }

    /** Whether it was answered with success. */
    boolean handle(Method method, RpcRequest request) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        @Nullable MessageLite reply = null;
        RpcStatus failure = RpcStatus.OK;
        try {
            reply = read(method, request.head());
        } catch (FsException e) {
            failure = RpcStatus.fail(e.errno(), String.valueOf(e.getMessage()));
        }
        refusal = leadership.refusal();
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        if (reply == null) {
            request.fail(failure);
            return false;
        }
        request.reply(reply);
        return true;
    }

    private MessageLite read(Method method, ByteBuf head) {
        return switch (method) {
            case LOOKUP -> {
                LookupRequest r = Heads.parse(LookupRequest.parser(), head);
                yield LookupReply.newBuilder()
                        .setAttr(namespace.lookup(r.getParent(), r.getName()))
                        .build();
            }
            case GET_ATTR ->
                    GetAttrReply.newBuilder()
                            .setAttr(
                                    namespace.getAttr(
                                            there(
                                                    Heads.parse(GetAttrRequest.parser(), head)
                                                            .getInode())))
                            .build();
            case READ_DIR -> {
                ReadDirRequest r = Heads.parse(ReadDirRequest.parser(), head);
                int max = r.getMaxBytes() <= 0 ? MAX_LISTING_BYTES : r.getMaxBytes();
                yield namespace.readDir(
                        r.getInode(),
                        r.getCursor(),
                        Math.min(max, MAX_LISTING_BYTES),
                        r.getWithAttributes());
            }
            case READ_LINK ->
                    ReadLinkReply.newBuilder()
                            .setTarget(
                                    namespace.readLink(
                                            Heads.parse(ReadLinkRequest.parser(), head).getInode()))
                            .build();
            case GET_XATTR -> {
                GetXattrRequest r = Heads.parse(GetXattrRequest.parser(), head);
                yield GetXattrReply.newBuilder()
                        .setValue(namespace.getXattr(there(r.getInode()), r.getName()))
                        .build();
            }
            case LIST_XATTR ->
                    ListXattrReply.newBuilder()
                            .addAllNames(
                                    namespace.listXattr(
                                            there(
                                                    Heads.parse(ListXattrRequest.parser(), head)
                                                            .getInode())))
                            .build();
            case STAT_FS -> status.space();
            case TEST_LOCK -> locks.test(Heads.parse(TestLockRequest.parser(), head));
            case LIST_LOCKS -> locks.list(Heads.parse(ListLocksRequest.parser(), head));
            default -> throw new IllegalArgumentException(method + " is no query");
        };
    }

    private long there(long inode) {
        if (gone.test(inode)) {
            throw new FsException(Errno.ENOENT, "inode " + inode);
        }
        return inode;
    }
}
