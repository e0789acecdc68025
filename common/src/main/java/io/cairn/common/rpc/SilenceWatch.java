package io.cairn.common.rpc;

import io.netty.channel.EventLoop;
import java.util.concurrent.TimeUnit;

/**
 * Tells a dead connection from a slow server. A connection can be dead for minutes before TCP says
 * so: the network was cut for some seconds and the pauses between retransmissions have grown, a
 * firewall has forgotten the connection, or the peer was powered off. Until then requests on it
 * wait for their deadlines, though the server may be well.
 *
 * <pre>
 *            request sent              nothing heard            nothing heard
 *   RESTING ──────────────> LISTENING ───────────────> PINGED ────────────────> DIALLING
 *      ^                     ^     │                     │                       │     │
 *      └─────────────────────│─────┴─ heard, none waits ─┴───────────────────────┘     │ handshake done,
 *                            └─────── heard, others wait ────────────────────────┘     │ still nothing heard
 *                                                                                      v
 *                                                                             connection replaced
 * </pre>
 *
 * <p>Anything that is received counts as heard, also the refusal with which a server of an earlier
 * release answers a ping. The server's end of the connection answers pings itself; so a server
 * whose disks hang keeps its connections however long requests wait. One that does not read,
 * because it has as many requests in work as it takes, says unasked that it lives; but those of
 * earlier releases do not: so the times double with each replacement, up to sixteenfold, until
 * something is heard. Bytes that a slow network is still delivering are waited for, but not for
 * ever.
 *
 * <p>On the loop of its connection only. By the loop's clock: it looks each half of the silence
 * allowed while something is awaited, and costs nothing in between.
 */
final class SilenceWatch {
    /** The connection it watches, and the one that may replace it. */
    interface Line {
        /** Changes with everything that is received. */
        long heard();

        /**
         * Whether the peer's host has acknowledged bytes in that time and others are on their way.
         */
        boolean delivering(long nanos);

        /** Whether a request waits for its answer. */
        boolean awaits();

        void ping();

        /**
         * Makes another connection unless that is being done; {@link SilenceWatch#dialled} when its
         * handshake is done.
         */
        void dial();

        /** Gives up the other connection, or making it, if there is one. */
        void hangUp();

        /** Whether the other connection is there, its handshake done. */
        boolean dialled();

        /** The other connection takes the place of the one that is watched. */
        void replace();
    }

    /** Looks in a row that find silence. */
    private static final int PING_AFTER = 1;

    private static final int DIAL_AFTER = 3;

    /** In which a slow network is waited for, in a row. */
    private static final int MAX_DELIVERING = 8;

    private static final int MAX_DOUBLINGS = 4;

    private final EventLoop loop;
    private final long lookNanos;
    private final Line line;
    private boolean watching;

    /** Counts the connections and rests: looks of earlier ones are void. */
    private int generation;

    private long heard;
    private int silent;
    private int delivering;
    private int doublings;

    /**
     * @param silenceNanos in which a server that is well is heard of, if it is pinged
     */
    SilenceWatch(EventLoop loop, long silenceNanos, Line line) {
        this.loop = loop;
        this.lookNanos = Math.max(1, silenceNanos / 2);
        this.line = line;
    }

    /** A request that is to be answered was sent on the connection. */
    void sent() {
        if (!watching) {
            watching = true;
            heard = line.heard();
            silent = 0;
            delivering = 0;
            lookLater();
        }
    }

    /** The connection is lost or closed. */
    void stop() {
        rest();
        line.hangUp();
    }

    /**
     * The handshake of the other connection is done. Where the server was suspended, what it owes
     * on the old one comes now as well: that is waited for.
     */
    void dialled() {
        later(lookNanos / 4, this::decide);
    }

    private void rest() {
        watching = false;
        generation++;
    }

    private void lookLater() {
        later(lookNanos << doublings, this::look);
    }

    private void later(long nanos, Runnable task) {
        int of = generation;
        var _ =
                loop.schedule(
                        () -> {
                            if (of == generation) {
                                task.run();
                            }
                        },
                        nanos,
                        TimeUnit.NANOSECONDS);
    }

    private void look() {
        if (line.heard() != heard) {
            heard = line.heard();
            silent = 0;
            delivering = 0;
            doublings = 0;
            line.hangUp();
            if (!line.awaits()) {
                rest();
                return;
            }
        } else if (line.delivering(lookNanos) && delivering < MAX_DELIVERING) {
            delivering++;
        } else {
            silent++;
            if (silent == PING_AFTER) {
                line.ping();
            } else if (silent >= DIAL_AFTER) {
                line.dial();
            }
        }
        lookLater();
    }

    private void decide() {
        if (line.heard() != heard || !line.dialled()) {
            return; // the next look sees to it
        }
        rest();
        doublings = Math.min(doublings + 1, MAX_DOUBLINGS);
        line.replace();
    }
}
