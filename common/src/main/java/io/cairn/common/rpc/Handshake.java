package io.cairn.common.rpc;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Hello;
import io.cairn.common.release.Release;
import java.net.InetSocketAddress;
import java.util.HexFormat;
import org.jspecify.annotations.Nullable;

/** The rules by which both ends judge each other's Hello. Stateless. */
final class Handshake {
    /** Longest body accepted before the handshake is done. */
    static final int MAX_HELLO_BYTES = 64 << 10;

    private Handshake() {}

    /**
     * The Hello to send: with this release, and this protocol's versions unless the supplier set
     * its own.
     */
    static Hello local(Hello given) {
        if (given.getMaxVersion() != 0) {
            return given;
        }
        return given.toBuilder()
                .setMinVersion(FrameFormat.MIN_VERSION)
                .setMaxVersion(FrameFormat.MAX_VERSION)
                .setRelease(Release.CURRENT)
                .build();
    }

    /** Why the peer cannot be talked to, or null. */
    static @Nullable String refusal(
            Hello local, Hello peer, InetSocketAddress address, HelloPolicy policy) {
        if (Integer.compareUnsigned(peer.getMinVersion(), local.getMaxVersion()) > 0
                || Integer.compareUnsigned(peer.getMaxVersion(), local.getMinVersion()) < 0) {
            return "protocol version does not fit: %s speaks %s, %s speaks %s; install the same release of Cairn on both"
                    .formatted(name(local), versions(local), name(peer), versions(peer));
        }
        ByteString ours = local.getClusterId();
        ByteString theirs = peer.getClusterId();
        if (!ours.isEmpty() && !theirs.isEmpty() && !ours.equals(theirs)) {
            return "cluster id differs: %s belongs to cluster %s, %s to cluster %s"
                    .formatted(name(local), hex(ours), name(peer), hex(theirs));
        }
        return policy.refuse(peer, address);
    }

    /** Refusals are read at both ends: they name the parts, not "here" and "there". */
    private static String name(Hello hello) {
        return switch (hello.getRole()) {
            case ROLE_MDS -> "the metadata server";
            case ROLE_DATA_SERVER -> "the data server";
            case ROLE_CLIENT -> "the client";
            case ROLE_ADMIN -> "the command";
            case ROLE_UNSPECIFIED, UNRECOGNIZED -> "a peer that does not say what it is";
        };
    }

    private static String versions(Hello hello) {
        return Integer.toUnsignedString(hello.getMinVersion())
                + " to "
                + Integer.toUnsignedString(hello.getMaxVersion());
    }

    private static String hex(ByteString id) {
        return HexFormat.of().formatHex(id.substring(0, Math.min(id.size(), 16)).toByteArray());
    }
}
