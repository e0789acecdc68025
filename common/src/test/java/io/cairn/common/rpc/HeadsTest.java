package io.cairn.common.rpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Hello;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class HeadsTest {
    private static final Hello HELLO = Hello.newBuilder().setId(7).build();

    private record Done(RpcStatus status, @Nullable Hello reply) {}

    private static Done replied(RpcStatus status, ByteBuf head) {
        List<Done> done = new ArrayList<>();
        Heads.reply(Hello.parser(), (s, reply) -> done.add(new Done(s, reply)))
                .done(status, head, Unpooled.EMPTY_BUFFER);
        assertThat(done).hasSize(1);
        return done.getFirst();
    }

    /** A field of two bytes of which the second is missing. */
    private static ByteBuf malformed() {
        return Unpooled.wrappedBuffer(new byte[] {0x08});
    }

    @Test
    void aReplyIsParsedAndTheBufferStaysAsItWas() {
        ByteBuf head = Unpooled.wrappedBuffer(HELLO.toByteArray());
        assertThat(replied(RpcStatus.OK, head)).isEqualTo(new Done(RpcStatus.OK, HELLO));
        assertThat(head.readableBytes()).isEqualTo(HELLO.getSerializedSize());
    }

    @Test
    void aFailureHasNoReply() {
        RpcStatus late = RpcStatus.fail(Errno.ETIMEDOUT, Advice.RETRY, "late");
        assertThat(replied(late, Unpooled.EMPTY_BUFFER)).isEqualTo(new Done(late, null));
    }

    @Test
    void aMalformedReplyIsAFailure() {
        Done done = replied(RpcStatus.OK, malformed());
        assertThat(done.reply()).isNull();
        assertThat(done.status().errno()).isEqualTo(Errno.EPROTO);
        assertThat(done.status().advice()).isEqualTo(Advice.GIVE_UP);
        assertThatThrownBy(() -> Heads.parse(Hello.parser(), malformed()))
                .isInstanceOfSatisfying(
                        FsException.class, e -> assertThat(e.errno()).isEqualTo(Errno.EPROTO));
    }

    @Test
    void whatTheReceiverThrowsIsNotTakenForAMalformedReply() {
        List<RpcStatus> done = new ArrayList<>();
        RpcCallback callback =
                Heads.reply(
                        Hello.parser(),
                        (status, reply) -> {
                            done.add(status);
                            throw new FsException(Errno.EIO, "the receiver's own");
                        });
        assertThatThrownBy(() ->
                        callback.done(
                                RpcStatus.OK,
                                Unpooled.wrappedBuffer(HELLO.toByteArray()),
                                Unpooled.EMPTY_BUFFER))
                .hasMessageContaining("the receiver's own");
        assertThat(done).containsExactly(RpcStatus.OK);
    }
}
