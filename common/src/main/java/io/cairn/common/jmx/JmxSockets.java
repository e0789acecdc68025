package io.cairn.common.jmx;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.rmi.server.RMIServerSocketFactory;
import java.util.ArrayList;
import java.util.List;
import javax.net.ServerSocketFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.jspecify.annotations.Nullable;

/**
 * Listens on one address only, with or without TLS. The registry and the connector have the same
 * one, so that RMI lets them share a port. Any thread.
 */
final class JmxSockets implements RMIServerSocketFactory, AutoCloseable {
    private static final int BACKLOG = 16;

    private final InetAddress address;
    private final @Nullable SSLContext tls;
    private final boolean clientAuth;
    private final List<ServerSocket> listening = new ArrayList<>();

    JmxSockets(InetAddress address, @Nullable SSLContext tls, boolean clientAuth) {
        this.address = address;
        this.tls = tls;
        this.clientAuth = clientAuth;
    }

    @Override
    public synchronized ServerSocket createServerSocket(int port) throws IOException {
        ServerSocketFactory factory =
                tls == null ? ServerSocketFactory.getDefault() : tls.getServerSocketFactory();
        ServerSocket socket = factory.createServerSocket(port, BACKLOG, address);
        if (socket instanceof SSLServerSocket secure) {
            secure.setNeedClientAuth(clientAuth);
        }
        listening.add(socket);
        return socket;
    }

    /** The port of the one socket that there is. */
    synchronized int port() {
        if (listening.size() != 1) {
            throw new IllegalStateException(listening.size() + " sockets for JMX");
        }
        return listening.getFirst().getLocalPort();
    }

    @Override
    public synchronized void close() throws IOException {
        for (ServerSocket socket : listening) {
            socket.close();
        }
    }
}
