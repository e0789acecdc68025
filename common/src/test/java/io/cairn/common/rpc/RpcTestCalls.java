package io.cairn.common.rpc;

import com.google.protobuf.MessageLite;
import io.cairn.common.proto.GetAttrRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Calls as tests make them: blocking, with everything copied out of the network's buffers. */
public final class RpcTestCalls {
    private RpcTestCalls() {}

    /** What came back. */
    public record Outcome(RpcStatus status, byte[] head, byte[] payload) {}

    public static long in(Duration time) {
        return System.nanoTime() + time.toNanos();
    }

    public static CompletableFuture<Outcome> start(
            RpcChannel channel, int method, MessageLite head, Duration deadline) {
        var result = new CompletableFuture<Outcome>();
        channel.call(method, head, in(deadline), completing(result));
        return result;
    }

    public static CompletableFuture<Outcome> start(
            RpcChannel channel, int method, byte[] head, byte[] payload, Duration deadline) {
        var result = new CompletableFuture<Outcome>();
        channel.call(
                method,
                Unpooled.wrappedBuffer(head),
                payload.length == 0 ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(payload),
                in(deadline),
                completing(result));
        return result;
    }

    public static Outcome await(CompletableFuture<Outcome> call) {
        try {
            return call.get(30, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw new AssertionError("no callback within 30 s", e);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    /** A call with a ten-second deadline, waited for. */
    public static Outcome call(RpcChannel channel, int method, byte[] head, byte[] payload) {
        return await(start(channel, method, head, payload, Duration.ofSeconds(10)));
    }

    public static Outcome call(RpcChannel channel, int method, MessageLite head) {
        return await(start(channel, method, head, Duration.ofSeconds(10)));
    }

    public static GetAttrRequest message(long number) {
        return GetAttrRequest.newBuilder().setInode(number).build();
    }

    private static RpcCallback completing(CompletableFuture<Outcome> result) {
        return (status, head, payload) -> {
            if (!result.complete(new Outcome(status, bytes(head), bytes(payload)))) {
                throw new AssertionError("callback called twice");
            }
        };
    }

    public static byte[] bytes(ByteBuf buffer) {
        return ByteBufUtil.getBytes(buffer);
    }
}
