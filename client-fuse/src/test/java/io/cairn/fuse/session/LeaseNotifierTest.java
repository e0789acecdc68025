package io.cairn.fuse.session;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.fuse.posix.Posix;
import io.cairn.fuse.session.LeaseNotifier.Inode;
import io.cairn.fuse.session.LeaseNotifier.Name;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the kernel is told, over a socket that keeps messages apart. */
class LeaseNotifierTest {
    private static final int SOCK_SEQPACKET = 5;
    private static final int ENTRY = 3;
    private static final int INODE = 2;

    private final Arena arena = Arena.ofAuto();
    private final Semaphore forgotten = new Semaphore(0);
    private int kernel;
    private FuseDevice device = new FuseDevice(-1);
    private LeaseNotifier notifier = new LeaseNotifier(device);

    @BeforeEach
    void connect() {
        MemorySegment pair = arena.allocate(8, 4);
        assertThat(Posix.call("socketpair", 1, SOCK_SEQPACKET, 0, pair)).isZero();
        kernel = pair.get(JAVA_INT, 0);
        device = new FuseDevice(pair.get(JAVA_INT, 4));
        notifier = new LeaseNotifier(device);
    }

    @AfterEach
    void close() {
        notifier.close();
        device.close();
        Posix.close(kernel);
    }

    private ByteBuffer receive() {
        MemorySegment buffer = arena.allocate(512);
        long n = Posix.callLong("read", kernel, buffer, buffer.byteSize());
        assertThat(n).isGreaterThanOrEqualTo(16);
        return ByteBuffer.wrap(buffer.asSlice(0, n).toArray(JAVA_BYTE))
                .order(ByteOrder.nativeOrder());
    }

    private List<String> receive(int count) {
        List<String> said = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            ByteBuffer message = receive();
            int code = message.getInt(4);
            long node = message.getLong(16);
            String name =
                    code == ENTRY
                            ? US_ASCII.decode(message.slice(32, message.getInt(24))).toString()
                            : "";
            said.add(code + " " + node + " " + name);
        }
        return said;
    }

    private void awaitForgotten() throws InterruptedException {
        assertThat(forgotten.tryAcquire(20, TimeUnit.SECONDS)).isTrue();
    }

    private static Name name(long node, String name) {
        return new Name(node, name.getBytes(US_ASCII));
    }

    @Test
    void namesAndAttributesAreForgottenThenItIsSaidOnce() throws InterruptedException {
        notifier.forget(
                List.of(name(1, "a"), name(7, "bc")),
                List.of(new Inode(9, false), new Inode(10, true)),
                forgotten::release);
        assertThat(receive(4))
                .containsExactlyInAnyOrder(
                        ENTRY + " 1 a", ENTRY + " 7 bc", INODE + " 9 ", INODE + " 10 ");
        awaitForgotten();
        notifier.forget(List.of(), List.of(new Inode(11, false)), forgotten::release);
        assertThat(receive(1)).as("nothing was said twice").containsExactly(INODE + " 11 ");
        awaitForgotten();
        assertThat(forgotten.availablePermits()).isZero();
    }

    @Test
    void whereThereIsNothingItIsSaidAtOnce() {
        notifier.forget(List.of(), List.of(), forgotten::release);
        assertThat(forgotten.availablePermits()).isEqualTo(1);
    }

    /** The other end refuses every message: it is not said that anything was forgotten. */
    @Test
    void whatCannotBeForgottenIsNotSaidToBe() throws InterruptedException {
        Posix.call("shutdown", kernel, 2);
        notifier.forget(List.of(name(1, "a")), List.of(), forgotten::release);
        notifier.forget(List.of(), List.of(new Inode(9, false)), forgotten::release);
        assertThat(forgotten.tryAcquire(200, TimeUnit.MILLISECONDS)).isFalse();
    }
}
