package io.cairn.cli.local;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;

/** Loopback ports for a new local cluster. */
final class Ports {
    /** First port tried; a second cluster on the machine gets the next free ones. */
    static final int FIRST = 7400;

    private final Set<Integer> taken = new HashSet<>();
    private int next = FIRST;

    /** A port nobody listens on now, and not given before. */
    int free() throws IOException {
        while (next < 32_000) {
            int port = next++;
            if (taken.add(port) && isFree(port)) {
                return port;
            }
        }
        throw new IOException("no free port between " + FIRST + " and 32000 on 127.0.0.1");
    }

    static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
