package io.cairn.common.rpc;

/**
 * Something a server sends through a connection from whatever thread: an answer or a pushed
 * message.
 */
abstract class Outbound extends HandoffQueue.Node<Outbound> {
    /** On the connection's loop. Releases what it holds when the connection is closed. */
    abstract void writeTo(ServerConnection connection);

    /** The loop has ended: releases what it holds. */
    abstract void discard();
}
