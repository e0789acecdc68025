package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Hello;
import java.net.InetSocketAddress;

/** The other end of a connection a server accepted, as it introduced itself. Any thread. */
public interface RpcPeer {
    /** What the peer said in its handshake. */
    Hello hello();

    InetSocketAddress address();

    /** Sends a one-way message; lost without notice when the connection is gone. */
    void push(int method, MessageLite head);

    /** As {@link #push(int, MessageLite)}, of what many peers are sent. */
    void push(Broadcast message);

    /** False once the connection is closed. */
    boolean connected();

    /** Runs once when the connection closes, at once if it is closed already. */
    void onClose(Runnable action);

    /** Closes the connection; the reason is logged on this side. */
    void close(String reason);
}
