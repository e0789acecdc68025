package io.cairn.common.rpc;

import io.cairn.common.proto.Hello;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a peer may connect, after its protocol version and cluster id were found to fit.
 * Called on the connection's event loop; must not block.
 */
@FunctionalInterface
public interface HelloPolicy {
    /** Takes everybody. */
    HelloPolicy ACCEPT = (hello, address) -> null;

    /** Returns null to accept, or a sentence for the peer that says why not. */
    @Nullable String refuse(Hello hello, InetSocketAddress address);
}
