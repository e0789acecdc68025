package io.cairn.common.rpc;

import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Replaces the connection of a {@link ClientChannel} when {@link SilenceWatch} finds that it is
 * dead: by another one to the same server, which is made first and is the proof that the server is
 * well. On the channel's loop only.
 *
 * <p>What was sent through the dead connection may have been executed, or arrive late, after
 * requests that were sent through the other one. That is so with every connection that is lost:
 * whoever gets EHOSTUNREACH for a request and repeats it must be sure that neither does harm.
 */
final class Replacement implements SilenceWatch.Line {
    private final ClientChannel channel;
    private final RpcClient client;
    private final InetSocketAddress address;
    private final EventLoop loop;
    private final SilenceWatch watch;
    private @Nullable ClientConnection present;
    private @Nullable Dial dial;

    Replacement(
            ClientChannel channel, RpcClient client, InetSocketAddress address, EventLoop loop) {
        this.channel = channel;
        this.client = client;
        this.address = address;
        this.loop = loop;
        long silence = TimeUnit.MILLISECONDS.toNanos(client.options().silenceMillis());
        this.watch = new SilenceWatch(loop, silence, this);
    }

    /** A request that is to be answered was sent on the channel's connection. */
    void sent(ClientConnection on) {
        present = on;
        watch.sent();
    }

    /** The connection is lost or closed. */
    void stop() {
        watch.stop();
        present = null;
    }

    private ClientConnection present() {
        if (present == null) {
            throw new IllegalStateException("nothing was sent");
        }
        return present;
    }

    @Override
    public long heard() {
        return present().heard();
    }

    @Override
    public boolean delivering(long nanos) {
        return present().delivering(nanos);
    }

    @Override
    public boolean awaits() {
        return channel.awaitsAnswers();
    }

    @Override
    public void ping() {
        present().ping();
    }

    @Override
    public void dial() {
        if (dial == null) {
            dial = new Dial();
            client.connect(channel, dial, address, loop);
        }
    }

    @Override
    public void hangUp() {
        Dial last = dial;
        dial = null;
        if (last != null && last.made != null) {
            last.made.closeQuietly("the connection before it lives");
        }
    }

    @Override
    public boolean dialled() {
        return dial != null && dial.made != null;
    }

    @Override
    public void replace() {
        ClientConnection with = dial == null ? null : dial.made;
        if (with == null) {
            throw new IllegalStateException("there is no other connection");
        }
        dial = null;
        channel.replace(present(), with);
    }

    /** One attempt at another connection, until that belongs to the channel. */
    private final class Dial implements ClientConnection.Owner {
        private @Nullable ClientConnection made;

        @Override
        public void ready(ClientConnection connection) {
            if (dial != this) {
                connection.closeQuietly("the connection before it lives");
                return;
            }
            made = connection;
            watch.dialled();
        }

        @Override
        public void refused(String reason) {
            // Told to callers when the connection that is watched is lost too.
        }

        @Override
        public void connectFailed(String reason) {
            failed();
        }

        @Override
        public void lost(ClientConnection which, String reason) {
            failed();
        }

        private void failed() {
            if (dial == this) {
                dial = null;
            }
        }
    }
}
