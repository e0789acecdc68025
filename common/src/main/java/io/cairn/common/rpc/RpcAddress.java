package io.cairn.common.rpc;

import io.cairn.common.config.HostPort;
import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import org.jspecify.annotations.Nullable;

/** Addresses as they stand in configuration files and in the cluster map: host:port. */
public final class RpcAddress {
    private RpcAddress() {}

    /**
     * Never asks a name server: a host name stays unresolved until a connection is made.
     *
     * @param text host:port, IPv6 addresses in brackets
     * @throws IllegalArgumentException naming what is wrong with it
     */
    public static InetSocketAddress parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon <= 0) {
            throw new IllegalArgumentException("address '" + text + "' is not host:port");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            throw new IllegalArgumentException(
                    "address '" + text + "': an IPv6 address must stand in brackets");
        }
        int port = port(text, text.substring(colon + 1));
        byte @Nullable [] literal = NetUtil.createByteArrayFromIpAddressString(host);
        if (literal == null) {
            if (host.isEmpty() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '[')) {
                throw new IllegalArgumentException("address '" + text + "' has a bad host name");
            }
            return InetSocketAddress.createUnresolved(host, port);
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(literal), port);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("address '" + text + "' is not valid", e);
        }
    }

    /** As {@link #parse}: an address from a configuration, its host name not looked up. */
    public static InetSocketAddress of(HostPort address) {
        return parse(address.toString());
    }

    private static int port(String text, String digits) {
        try {
            int port = Integer.parseInt(digits);
            if (port >= 0 && port <= 65535) {
                return port;
            }
        } catch (NumberFormatException e) {
            // reported below
        }
        throw new IllegalArgumentException("address '" + text + "' has a bad port");
    }

    /** The form {@link #parse} reads. */
    public static String format(InetSocketAddress address) {
        String host =
                address.isUnresolved()
                        ? address.getHostString()
                        : address.getAddress().getHostAddress();
        return host.indexOf(':') >= 0
                ? "[" + host + "]:" + address.getPort()
                : host + ":" + address.getPort();
    }
}
