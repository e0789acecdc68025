package io.cairn.common.rpc;

import java.util.function.Consumer;

/**
 * Limits and times of the connections of a server or client.
 *
 * @param maxBodyBytes longest frame body sent or accepted
 * @param handshakeTimeoutMillis a connection must finish its handshake in this time; also how long
 *     a half-received frame may stand still
 * @param connectTimeoutMillis for the TCP connection
 * @param maxQueuedBytes bytes that may wait to be sent on one connection; beyond it a client's
 *     calls fail with EAGAIN and a server closes a peer that it pushes to
 * @param maxInFlightRequests requests and one-way messages of one connection a server works on
 *     before it stops reading
 * @param maxInFlightBytes likewise, bytes of their bodies that the server still needs
 * @param maxClientBytes bytes of large messages that all clients of a server together may have sent
 *     without the server having handed them over; what is beyond waits on its socket. Messages of
 *     other servers are not counted: they must go on, or servers would wait for each other
 * @param backOffMinMillis pause after the first failed connection attempt
 * @param backOffMaxMillis longest pause between attempts, at least backOffMinMillis
 * @param silenceMillis after about so long in which nothing came from a server, though a request
 *     waits for its answer, a client has pinged it in vain and tries another connection, see {@link
 *     SilenceWatch}
 */
public record RpcOptions(
        int maxBodyBytes,
        int handshakeTimeoutMillis,
        int connectTimeoutMillis,
        long maxQueuedBytes,
        int maxInFlightRequests,
        long maxInFlightBytes,
        long maxClientBytes,
        int backOffMinMillis,
        int backOffMaxMillis,
        int silenceMillis) {
    /** What every server and client uses unless configured otherwise. */
    public static final RpcOptions DEFAULT =
            new RpcOptions(
                    (16 << 20) + (64 << 10),
                    5_000,
                    2_000,
                    128 << 20,
                    8192,
                    64 << 20,
                    Long.MAX_VALUE,
                    5,
                    1_000,
                    1_000);

    /** Throws IllegalArgumentException for a limit or time that is too small. */
    public RpcOptions {
        if (maxBodyBytes < 1024
                || maxInFlightRequests < 1
                || maxInFlightBytes < 1
                || maxClientBytes < 1) {
            throw new IllegalArgumentException("limit too small");
        }
        if (handshakeTimeoutMillis < 1 || connectTimeoutMillis < 1) {
            throw new IllegalArgumentException("timeout must be positive");
        }
        if (backOffMinMillis < 1 || backOffMaxMillis < backOffMinMillis) {
            throw new IllegalArgumentException("back-off must be positive and min <= max");
        }
        if (silenceMillis < 1) {
            throw new IllegalArgumentException("silence must be positive");
        }
    }

    /** The same with another time for the handshake, at least 1 ms. */
    public RpcOptions withHandshakeTimeoutMillis(int millis) {
        return with(d -> d.handshakeMillis = millis);
    }

    /** The same with another limit of the bytes that wait to be sent on one connection. */
    public RpcOptions withMaxQueuedBytes(long bytes) {
        return with(d -> d.queuedBytes = bytes);
    }

    /**
     * The same with other limits of what a server works on for one connection.
     *
     * @param requests at least 1
     * @param bytes of their bodies, at least 1
     */
    public RpcOptions withMaxInFlight(int requests, long bytes) {
        return with(d -> {
            d.requests = requests;
            d.requestBytes = bytes;
        });
    }

    /** The same with another limit of what all clients may have sent, at least 1 byte. */
    public RpcOptions withMaxClientBytes(long bytes) {
        return with(d -> d.clientBytes = bytes);
    }

    /** The same with another time after which a silent connection is given up, at least 1 ms. */
    public RpcOptions withSilenceMillis(int millis) {
        return with(d -> d.silence = millis);
    }

    private RpcOptions with(Consumer<Draft> change) {
        Draft draft = new Draft();
        change.accept(draft);
        return draft.finish();
    }

    /** What may differ in others, at first as it is here. */
    private final class Draft {
        private int handshakeMillis = handshakeTimeoutMillis;
        private long queuedBytes = maxQueuedBytes;
        private int requests = maxInFlightRequests;
        private long requestBytes = maxInFlightBytes;
        private long clientBytes = maxClientBytes;
        private int silence = silenceMillis;

        RpcOptions finish() {
            return new RpcOptions(
                    maxBodyBytes,
                    handshakeMillis,
                    connectTimeoutMillis,
                    queuedBytes,
                    requests,
                    requestBytes,
                    clientBytes,
                    backOffMinMillis,
                    backOffMaxMillis,
                    silence);
        }
    }
}
