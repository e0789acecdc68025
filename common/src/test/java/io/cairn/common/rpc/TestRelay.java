package io.cairn.common.rpc;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * Stands between clients and a server and can make the connections that there are dead: their bytes
 * vanish in a direction, or both, and neither end is told, while new ones work. Any thread.
 */
public final class TestRelay implements AutoCloseable {
    private final InetSocketAddress server;
    private final ServerSocket listener;
    private final List<Pair> pairs = new CopyOnWriteArrayList<>();

    /** One connection of a client, and that of the relay to the server. */
    private static final class Pair {
        final Socket client;
        final Socket server;
        volatile boolean answersVanish;
        volatile boolean requestsVanish;

        Pair(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        void requests() {
            try (client;
                    InputStream from = client.getInputStream();
                    OutputStream to = server.getOutputStream()) {
                byte[] buffer = new byte[1 << 16];
                for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                    if (!requestsVanish) {
                        to.write(buffer, 0, n);
                    }
                }
            } catch (IOException e) {
                // One end has gone: so does the other.
            } finally {
                close();
            }
        }

        void answers() {
            try (InputStream from = server.getInputStream();
                    OutputStream to = client.getOutputStream()) {
                byte[] buffer = new byte[1 << 16];
                for (int n = from.read(buffer); n >= 0; n = from.read(buffer)) {
                    if (!answersVanish) {
                        to.write(buffer, 0, n);
                    }
                }
            } catch (IOException e) {
                // As above.
            } finally {
                close();
            }
        }

        void close() {
            try (client;
                    server) {
                // Both, whatever the first one says.
            } catch (IOException e) {
                // It is closed.
            }
        }
    }

    /** Listens on a port of its own. */
    public TestRelay(InetSocketAddress server) throws IOException {
        this.server = server;
        listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().name("test-relay").start(this::accept);
    }

    public InetSocketAddress address() {
        return (InetSocketAddress) listener.getLocalSocketAddress();
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket client = listener.accept();
                Pair pair = new Pair(client, new Socket(server.getAddress(), server.getPort()));
                pairs.add(pair);
                Thread.ofVirtual().name("test-relay-requests").start(pair::requests);
                Thread.ofVirtual().name("test-relay-answers").start(pair::answers);
            } catch (IOException e) {
                // Closed, or the server takes nobody.
            }
        }
    }

    /** Connections made so far. */
    public int connections() {
        return pairs.size();
    }

    /** The server goes on to hear those that there are, who hear nothing of it any more. */
    public void swallowAnswers() {
        pairs.forEach(pair -> pair.answersVanish = true);
    }

    /** Nobody hears anything on those that there are. */
    public void swallow() {
        pairs.forEach(pair -> {
            pair.answersVanish = true;
            pair.requestsVanish = true;
        });
    }

    @Override
    public void close() {
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        pairs.forEach(Pair::close);
    }
}
