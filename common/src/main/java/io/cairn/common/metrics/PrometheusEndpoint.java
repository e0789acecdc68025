package io.cairn.common.metrics;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.cairn.common.config.HostPort;
import io.cairn.common.errno.BindFailures;
import java.io.IOException;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/** Answers {@code GET /metrics} with the process's metrics. Thread-safe. */
public final class PrometheusEndpoint implements AutoCloseable {
    static {
        // Read by the server when it is first used: who sends half a request is dropped.
        System.getProperties().putIfAbsent("sun.net.httpserver.maxReqTime", "10");
        System.getProperties().putIfAbsent("jdk.httpserver.maxConnections", "64");
    }

    private final HttpServer server;
    private final ExecutorService executor;

    /**
     * Starts listening.
     *
     * @param address port 0 lets the system choose
     * @param scrape gives the text; called by threads of the endpoint's own
     * @throws IOException naming the address when it cannot be bound
     */
    public PrometheusEndpoint(HostPort address, Supplier<String> scrape) throws IOException {
        server = bound(address);
        executor =
                // A thread each, as a request that does not arrive whole keeps its thread waiting.
                Executors.newThreadPerTaskExecutor(
                        Thread.ofVirtual().name("cairn-metrics-", 0).factory());
        server.setExecutor(executor);
        server.createContext("/", exchange -> answer(exchange, 404, "see /metrics\n"));
        server.createContext("/metrics", exchange -> answer(exchange, 200, scrape.get()));
        server.start();
    }

    private static HttpServer bound(HostPort address) throws IOException {
        try {
            return HttpServer.create(address.toSocketAddress(), 16);
        } catch (BindException e) {
            throw BindFailures.named("the metrics address", address, e);
        }
    }

    /** Where it really listens. */
    public HostPort address() {
        InetSocketAddress bound = server.getAddress();
        return new HostPort(bound.getAddress().getHostAddress(), bound.getPort());
    }

    @Override
    public void close() {
        server.stop(0);
        executor.shutdownNow();
    }

    private static void answer(HttpExchange exchange, int status, String text) throws IOException {
        try (exchange) {
            if (!exchange.getRequestMethod().equals("GET")) {
                exchange.sendResponseHeaders(405, -1);
                return;
            }
            byte[] body = text.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders()
                    .set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }
}
