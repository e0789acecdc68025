package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.ByteArrayOutputStream;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The receiver fed by hand: every way a stream can be cut. */
class FrameReceiverTest implements FrameReceiver.Sink {
    private static final int MAX_BODY = 1 << 20;

    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    private final FrameReceiver receiver = new FrameReceiver(allocator, MAX_BODY, this);
    private final List<byte[]> bodies = new ArrayList<>();
    private final Queue<ByteBuf> kept = new ArrayDeque<>();
    private final List<String> violations = new ArrayList<>();
    private int keep;

    @Override
    public void frame(byte[] header, ByteBuf head, ByteBuf payload) {
        byte[] body = new byte[head.readableBytes() + payload.readableBytes()];
        int headLength = head.readableBytes();
        head.readBytes(body, 0, headLength).release();
        payload.getBytes(0, body, headLength, body.length - headLength);
        bodies.add(body);
        // Some handlers hold on to their payloads: those bytes must not be written over.
        kept.add(payload);
        while (kept.size() > keep) {
            kept.remove().release();
        }
    }

    @Override
    public void violation(String reason) {
        violations.add(reason);
    }

    @AfterEach
    void nothingIsLost() {
        kept.forEach(ByteBuf::release);
        receiver.close();
        assertThat(allocator.metric().usedDirectMemory()).isZero();
        assertThat(allocator.metric().usedHeapMemory()).isZero();
    }

    private void feed(byte[] bytes) {
        receiver.received(Unpooled.wrappedBuffer(bytes));
    }

    /** As the socket does: into the buffer the receiver offers. */
    private int feedInPlace(byte[] bytes, int from, int max) {
        ByteBuf to = receiver.readBuffer();
        int n = Math.min(Math.min(max, bytes.length - from), to.writableBytes());
        to.writeBytes(bytes, from, n);
        receiver.received(to);
        return n;
    }

    private static byte[] frame(byte[] head, byte[] payload) {
        RawFrame frame = RawFrame.of(1);
        frame.head = head;
        frame.payload = payload;
        return frame.bytes();
    }

    @Test
    void whoIsIdleHoldsNoMemoryUnlessAFrameIsNotThereOrNotDoneWith() {
        byte[] frame = frame(new byte[] {1}, new byte[] {2, 3});
        keep = 1;
        feedInPlace(frame, 0, frame.length);
        assertThat(receiver.releaseIfIdle()).as("its payload is kept").isFalse();
        kept.remove().release();
        assertThat(receiver.releaseIfIdle()).isTrue();
        assertThat(allocator.metric().usedDirectMemory()).isZero();

        feedInPlace(frame, 0, 17);
        assertThat(receiver.releaseIfIdle()).as("half a header").isFalse();
        feedInPlace(frame, 17, frame.length);
        kept.remove().release();
        assertThat(receiver.releaseIfIdle()).isTrue();
        assertThat(bodies).hasSize(2).last().isEqualTo(new byte[] {1, 2, 3});
        assertThat(violations).isEmpty();
    }

    @Test
    void everySplitOfTwoFrames() {
        byte[] one = frame(new byte[] {1, 2, 3}, new byte[] {4, 5});
        byte[] both = Arrays.copyOf(one, 2 * one.length);
        System.arraycopy(one, 0, both, one.length, one.length);
        for (int split = 0; split <= both.length; split++) {
            bodies.clear();
            feed(Arrays.copyOf(both, split));
            assertThat(bodies).hasSize(split / one.length);
            assertThat(receiver.midFrame()).isEqualTo(split % one.length != 0);
            feed(Arrays.copyOfRange(both, split, both.length));
            assertThat(bodies).hasSize(2);
            assertThat(receiver.midFrame()).isFalse();
        }
        assertThat(bodies).allMatch(b -> Arrays.equals(b, new byte[] {1, 2, 3, 4, 5}));
    }

    @Test
    void randomStreamsReadInPlaceWithPayloadsHeld() {
        Random random = TestSeed.random("FrameReceiverTest");
        keep = 5;
        for (int round = 0; round < 60; round++) {
            var stream = new ByteArrayOutputStream();
            List<byte[]> expected = new ArrayList<>();
            for (int i = 0; i < 30; i++) {
                byte[] head = new byte[random.nextInt(3) == 0 ? 0 : random.nextInt(3000)];
                byte[] payload = new byte[random.nextInt(1 << random.nextInt(1, 18))];
                random.nextBytes(head);
                random.nextBytes(payload);
                stream.writeBytes(frame(head, payload));
                byte[] body = Arrays.copyOf(head, head.length + payload.length);
                System.arraycopy(payload, 0, body, head.length, payload.length);
                expected.add(body);
            }
            byte[] bytes = stream.toByteArray();
            bodies.clear();
            for (int at = 0; at < bytes.length; ) {
                at += feedInPlace(bytes, at, 1 + random.nextInt(1 << random.nextInt(1, 18)));
            }
            assertThat(bodies).hasSameSizeAs(expected);
            for (int i = 0; i < expected.size(); i++) {
                assertThat(Arrays.equals(bodies.get(i), expected.get(i))).isTrue();
            }
            assertThat(violations).isEmpty();
            assertThat(receiver.midFrame()).isFalse();
        }
    }

    @Test
    void largeFrameGetsABufferOfItsOwnSize() {
        byte[] bytes = frame(new byte[0], new byte[MAX_BODY]);
        feedInPlace(bytes, 0, 100);
        assertThat(receiver.pendingBodyBytes()).isEqualTo(60);
        ByteBuf to = receiver.readBuffer();
        assertThat(to.writableBytes()).isEqualTo(MAX_BODY - 60);
        to.writeBytes(bytes, 100, MAX_BODY - 60);
        receiver.received(to);
        assertThat(bodies).hasSize(1);
    }

    @Test
    void idleConnectionReusesItsChunk() {
        byte[] small = frame(new byte[10], new byte[100]);
        feed(small);
        long used = allocator.metric().usedDirectMemory();
        for (int i = 0; i < 10_000; i++) {
            feed(small);
        }
        assertThat(allocator.metric().usedDirectMemory()).isEqualTo(used);
    }

    @Test
    void nothingIsDeliveredAfterAViolation() {
        byte[] good = frame(new byte[10], new byte[100]);
        byte[] bad = frame(new byte[10], new byte[100]);
        bad[39] ^= 1;
        var stream = new ByteArrayOutputStream();
        stream.writeBytes(good);
        stream.writeBytes(bad);
        stream.writeBytes(good);
        feed(stream.toByteArray());
        feed(good);
        assertThat(bodies).hasSize(1);
        assertThat(violations).containsExactly("header checksum is wrong");
    }

    @Test
    void pausedReceiverKeepsWhatComesUntilItIsResumed() {
        byte[] small = frame(new byte[10], new byte[100]);
        feed(small);
        receiver.pause();
        for (int i = 0; i < 1000; i++) {
            feed(small);
        }
        assertThat(bodies).hasSize(1);
        receiver.resume();
        assertThat(bodies).hasSize(1001);
        feed(small);
        assertThat(bodies).hasSize(1002);
    }

    @Test
    void closingWithinAFrame() {
        feed(Arrays.copyOf(frame(new byte[10], new byte[200_000]), 100_000));
        receiver.close();
        feed(new byte[1000]);
        assertThat(violations).isEmpty();
    }
}
