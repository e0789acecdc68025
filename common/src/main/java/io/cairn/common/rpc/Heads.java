package io.cairn.common.rpc;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.netty.buffer.ByteBuf;

/** Protobuf heads of control methods. Stateless. */
public final class Heads {
    private Heads() {}

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
}
