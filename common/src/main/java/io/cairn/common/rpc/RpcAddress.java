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
        HostPort address;
        try {
            address = HostPort.parse(text);
        } catch (IllegalArgumentException e) {
            throw new IllegalArgumentException("address '" + text + "': " + e.getMessage(), e);
        }
        return of(address);
    }

    /** As {@link #parse}: an address from a configuration, its host name not looked up. */
    public static InetSocketAddress of(HostPort address) {
        byte @Nullable [] literal = NetUtil.createByteArrayFromIpAddressString(address.host());
        if (literal == null) {
            return InetSocketAddress.createUnresolved(address.host(), address.port());
        }
        try {
            return new InetSocketAddress(InetAddress.getByAddress(literal), address.port());
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("address '" + address + "' is not valid", e);
        }
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
