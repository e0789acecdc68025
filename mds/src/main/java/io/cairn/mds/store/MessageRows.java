package io.cairn.mds.store;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Parser;

/** Rows whose value is a protobuf message. Stateless. */
public final class MessageRows {
    private MessageRows() {}

    /**
     * @param what for the message: {@code "a stored session"}
     * @throws CorruptStateException when the value is no such message
     */
    public static <M> M parse(Parser<M> parser, byte[] value, String what) {
        try {
            return parser.parseFrom(value);
        } catch (InvalidProtocolBufferException e) {
            throw new CorruptStateException(what + " is damaged", e);
        }
    }
}
