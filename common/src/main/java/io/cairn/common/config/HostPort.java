package io.cairn.common.config;

import java.net.InetSocketAddress;

/**
 * A TCP address as written in configuration: {@code "127.0.0.1:7000"}, {@code
 * "mds1.example.org:7000"}, {@code "[::1]:7000"}. Port 0 lets the system choose when listening.
 */
public record HostPort(String host, int port) implements Comparable<HostPort> {
    public HostPort {
        if (host.isEmpty() || host.chars().anyMatch(c -> c <= ' ' || c == '/' || c == '[')) {
            throw new IllegalArgumentException("bad host");
        }
        if (port < 0 || port > 65535) {
            throw new IllegalArgumentException("bad port");
        }
    }

    /**
     * @throws IllegalArgumentException if the text is not an address with a port
     */
    public static HostPort parse(String text) {
        int colon = text.lastIndexOf(':');
        if (colon < 0 || !text.substring(colon + 1).matches("\\d{1,5}")) {
            throw new IllegalArgumentException("no port");
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            throw new IllegalArgumentException("IPv6 addresses stand in brackets");
        }
        return new HostPort(host, Integer.parseInt(text.substring(colon + 1)));
    }

    /** Resolves the host name; the address is unresolved when there is none. */
    public InetSocketAddress toSocketAddress() {
        return new InetSocketAddress(host, port);
    }

    @Override
    public int compareTo(HostPort other) {
        int byHost = host.compareTo(other.host);
        return byHost != 0 ? byHost : Integer.compare(port, other.port);
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
