package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.proto.Hello;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * When half a message is one: a connection fed by hand, with a clock that moves when told to. The
 * limit is that of {@link RpcOptions#DEFAULT}, 5 s.
 */
class StalledConnectionTest {
    private static final byte[] SMALL = frame(100);
    private static final byte[] LARGE = frame(200_000);

    private final EmbeddedChannel channel = new EmbeddedChannel();
    private final Probe probe;

    StalledConnectionTest() {
        channel.freezeTime();
        probe = new Probe(channel);
        channel.pipeline().addLast(probe);
        feed(RawFrame.hello(Handshake.local(Hello.getDefaultInstance())).bytes());
    }

    @AfterEach
    void close() {
        channel.finishAndReleaseAll();
    }

    /** What a server does, without one. */
    private static final class Probe extends Connection {
        int messages;
        int pauseAfter = Integer.MAX_VALUE;
        @Nullable String ended;

        Probe(EmbeddedChannel channel) {
            super(
                    channel,
                    new InetSocketAddress(InetAddress.getLoopbackAddress(), 1),
                    RpcOptions.DEFAULT);
        }

        @Override
        String describe() {
            return "probe";
        }

        @Override
        void hello(Hello hello) {
            greeted(new RpcTraffic(null, "server", "client"));
        }

        @Override
        void message(byte[] header, ByteBuf head, ByteBuf payload) {
            head.release();
            payload.release();
            if (++messages == pauseAfter) {
                pauseReading();
            }
        }

        @Override
        void closed(String reason) {
            ended = reason;
        }
    }

    private static byte[] frame(int payload) {
        RawFrame frame = RawFrame.of(FrameFormat.KIND_REQUEST);
        frame.payload = new byte[payload];
        return frame.bytes();
    }

    private void feed(byte[]... parts) {
        var all = new ByteArrayOutputStream();
        for (byte[] part : parts) {
            all.writeBytes(part);
        }
        channel.writeInbound(Unpooled.wrappedBuffer(all.toByteArray()));
    }

    private void pass(long millis) {
        for (long passed = 0; passed < millis; passed += 100) {
            channel.advanceTimeBy(100, TimeUnit.MILLISECONDS);
            channel.runScheduledPendingTasks();
            channel.runPendingTasks();
        }
    }

    private void resume() {
        probe.resumeReading();
        channel.runPendingTasks();
    }

    @Test
    void halfAMessageMayStandStillOnlySoLong() {
        feed(SMALL, Arrays.copyOf(SMALL, 50));
        pass(4_900);
        assertThat(probe.ended).isNull();
        pass(200);
        assertThat(probe.ended).contains("half a message received");
    }

    @Test
    void aConnectionThatRestsBetweenMessagesLives() {
        feed(SMALL);
        pass(60_000);
        feed(Arrays.copyOf(LARGE, 100_000));
        pass(4_000);
        feed(Arrays.copyOfRange(LARGE, 100_000, LARGE.length));
        pass(60_000);
        assertThat(probe.ended).isNull();
        assertThat(probe.messages).isEqualTo(2);
    }

    @Test
    void wholeMessagesKeptWhileReadingIsPausedAreNotHalfOnes() {
        probe.pauseAfter = 1;
        feed(SMALL, SMALL, SMALL);
        assertThat(probe.messages).isEqualTo(1);
        pass(1_000);
        resume();
        assertThat(probe.messages).isEqualTo(3);
        pass(60_000);
        assertThat(probe.ended).isNull();
    }

    @Test
    void aPauseOfThisSideIsNotThePeersStandingStill() {
        probe.pauseAfter = 1;
        feed(SMALL, Arrays.copyOf(SMALL, 50));
        pass(60_000);
        assertThat(probe.ended).isNull();
        pass(4_900); // just before the next check
        resume();
        pass(4_000);
        assertThat(probe.ended).isNull();
        pass(6_000);
        assertThat(probe.ended).contains("half a message received");
    }

    @Test
    void halfAMessageBehindOnesDeliveredLateHasItsWholeTime() {
        probe.pauseAfter = 1;
        feed(SMALL, SMALL, Arrays.copyOf(SMALL, 50));
        pass(4_900);
        resume();
        assertThat(probe.messages).isEqualTo(2);
        pass(4_800);
        assertThat(probe.ended).isNull();
        feed(Arrays.copyOfRange(SMALL, 50, SMALL.length));
        pass(60_000);
        assertThat(probe.ended).isNull();
        assertThat(probe.messages).isEqualTo(3);
    }
}
