package io.cairn.client.ahead;

import io.netty.buffer.ByteBuf;

/** What there is of a range that is read. */
public sealed interface Found {
    /**
     * All of it.
     *
     * @param data the receiver's
     */
    record Bytes(ByteBuf data) implements Found {}

    /**
     * All of it, when this piece has come; then it is looked for again.
     *
     * @param piece the first of those that are in flight
     */
    record InFlight(Piece piece) implements Found {}

    /** Not all of it: its reader asks the data servers. */
    record Nothing() implements Found {}

    /** The only one. */
    Nothing NOTHING = new Nothing();
}
