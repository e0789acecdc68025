package io.cairn.mds.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;
import org.apache.ratis.thirdparty.io.netty.buffer.ByteBuf;
import org.apache.ratis.thirdparty.io.netty.buffer.Unpooled;
import org.apache.ratis.thirdparty.io.netty.channel.embedded.EmbeddedChannel;
import org.apache.ratis.thirdparty.io.netty.handler.codec.TooLongFrameException;
import org.junit.jupiter.api.Test;

/** The frames of the Raft port. */
final class NettyPortTest {
    private final EmbeddedChannel channel = new EmbeddedChannel(new NettyPort.BoundedFrames());

    @Test
    void framesAreFoundWhereverTheirBytesAreCut() {
        byte[] stream = {2, 10, 11, 0, (byte) 0x81, 0, 12};
        for (int cut = 0; cut <= stream.length; cut++) {
            channel.writeInbound(
                    Unpooled.copiedBuffer(stream, 0, cut),
                    Unpooled.copiedBuffer(stream, cut, stream.length - cut));
            assertThat(frames()).containsExactly(List.of(10, 11), List.of(), List.of(12));
        }
    }

    @Test
    void aFrameBeyondTheBoundIsNotWaitedFor() {
        byte[] most = varint(NettyPort.MAX_FRAME_BYTES);
        channel.writeInbound(Unpooled.wrappedBuffer(most));
        assertThat(frames()).isEmpty();
        for (byte[] length :
                new byte[][] {
                    varint(NettyPort.MAX_FRAME_BYTES + 1),
                    {-1, -1, -1, -1, 7},
                    {-1, -1, -1, -1, 15},
                    {(byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80, (byte) 0x80, 1}
                }) {
            EmbeddedChannel fresh = new EmbeddedChannel(new NettyPort.BoundedFrames());
            assertThatThrownBy(() -> fresh.writeInbound(Unpooled.wrappedBuffer(length)))
                    .isInstanceOf(TooLongFrameException.class);
        }
    }

    private List<List<Integer>> frames() {
        List<List<Integer>> frames = new ArrayList<>();
        for (ByteBuf frame = channel.readInbound(); frame != null; frame = channel.readInbound()) {
            List<Integer> bytes = new ArrayList<>();
            frame.forEachByte(b -> bytes.add((int) b));
            frame.release();
            frames.add(bytes);
        }
        return frames;
    }

    private static byte[] varint(int length) {
        ByteBuf out = Unpooled.buffer();
        for (int rest = length; ; rest >>>= 7) {
            out.writeByte(rest > 0x7f ? rest & 0x7f | 0x80 : rest);
            if (rest <= 0x7f) {
                break;
            }
        }
        byte[] bytes = new byte[out.readableBytes()];
        out.readBytes(bytes);
        return bytes;
    }
}
