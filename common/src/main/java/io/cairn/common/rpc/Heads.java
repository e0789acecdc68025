package io.cairn.common.rpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;
import org.jspecify.annotations.Nullable;

/** Protobuf heads of control methods. Stateless. */
public final class Heads {
    private Heads() {}

    /** Receives the reply of a control method; the rules of {@link RpcCallback} hold. */
    @FunctionalInterface
    public interface Reply<T> {
        /**
         * @param reply null exactly when the call failed
         */
        void done(RpcStatus status, @Nullable T reply);
    }

    /**
     * Parses all readable bytes; the buffer's indices stay. Nothing of the message refers to the
     * buffer afterwards.
     *
     * @throws FsException EPROTO when it is not such a message
     */
    public static <T extends MessageLite> T parse(Parser<T> parser, ByteBuf head) {
        try {
            return parser.parseFrom(head.nioBuffer());
        } catch (InvalidProtocolBufferException e) {
            throw new FsException(Errno.EPROTO, "malformed message: " + e.getMessage());
        }
    }

    /** A callback that parses the reply; a malformed one makes the call fail with EPROTO. */
    public static <T extends MessageLite> RpcCallback reply(Parser<T> parser, Reply<T> then) {
        return (status, head, payload) -> {
            if (!status.ok()) {
                then.done(status, null);
                return;
            }
            T reply;
            try {
                reply = parse(parser, head);
            } catch (FsException e) {
                then.done(RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())), null);
                return;
            }
            then.done(status, reply);
        };
    }
}
