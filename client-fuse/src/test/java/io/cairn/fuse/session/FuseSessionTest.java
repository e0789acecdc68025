package io.cairn.fuse.session;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Credentials;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.memory.MemoryClient;
import io.cairn.fuse.op.OperationOptions;
import io.cairn.fuse.op.Operations;
import io.cairn.fuse.posix.Posix;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;

/**
 * The session with this test in the place of the kernel, over a socket that keeps messages apart.
 */
class FuseSessionTest {
    private static final int SOCK_SEQPACKET = 5;
    private static final int EINVAL = 22;
    private static final int ENOSYS = 38;
    private static final int EPROTO = 71;
    private static final int EAGAIN = 11;
    private static final int ESTALE = 116;
    private static final int HEADER = 40;

    /** One for all sessions: each would keep an arena of 8 MiB. */
    private final RequestBuffers buffers = new RequestBuffers(1 << 20);

    private final Arena arena = Arena.ofAuto();
    private final MemoryClient client = new MemoryClient();
    private int kernel = -1;
    private FuseSession session = newSession(1);
    private long unique = 2;

    private FuseSession newSession(long rootInode) {
        MemorySegment pair = arena.allocate(8, 4);
        assertThat(Posix.call("socketpair", 1, SOCK_SEQPACKET, 0, pair)).isZero();
        kernel = pair.get(JAVA_INT, 0);
        SessionOptions options =
                new SessionOptions(
                        2, 512, 1 << 20, 1 << 20, SessionOptions.Listing.NAMES, false, false);
        FuseSession made =
                new FuseSession(
                        new FuseDevice(pair.get(JAVA_INT, 4)),
                        buffers,
                        options,
                        new FuseMeters(Meters.unpublished()));
        OperationOptions caching =
                new OperationOptions(0, 1_000_000_000, false, false, false, false);
        made.start(new Operations(client, rootInode, made.notifier(), buffers, caching, () -> 0));
        return made;
    }

    @BeforeEach
    void hello() {
        assertThat(kernel).isNotNegative();
    }

    @AfterEach
    void hangUp() throws InterruptedException {
        Posix.call("shutdown", kernel, 2);
        Posix.close(kernel);
        assertThat(session.awaitEnd(10_000)).isTrue();
    }

    private ByteBuffer request(int opcode, long node, byte[] body) {
        return ByteBuffer.allocate(HEADER + body.length)
                .order(ByteOrder.nativeOrder())
                .putInt(HEADER + body.length)
                .putInt(opcode)
                .putLong(unique)
                .putLong(node)
                .putInt(0)
                .putInt(0)
                .putInt(0)
                .putInt(0)
                .put(body);
    }

    private void send(byte[] message) {
        assertThat(Posix.write(kernel, message)).isEqualTo(message.length);
    }

    private ByteBuffer receive() {
        MemorySegment buffer = arena.allocate(1 << 16);
        long n = Posix.callLong("read", kernel, buffer, buffer.byteSize());
        assertThat(n).isGreaterThanOrEqualTo(16);
        ByteBuffer answer =
                ByteBuffer.wrap(buffer.asSlice(0, n).toArray(JAVA_BYTE))
                        .order(ByteOrder.nativeOrder());
        assertThat(answer.getInt(0)).isEqualTo((int) n);
        return answer;
    }

    private ByteBuffer exchange(int opcode, long node, byte[] body) {
        unique += 2;
        send(request(opcode, node, body).array());
        ByteBuffer answer = receive();
        assertThat(answer.getLong(8)).isEqualTo(unique);
        return answer;
    }

    private static byte[] init(int major, int minor, int flags, int flags2) {
        return ByteBuffer.allocate(64)
                .order(ByteOrder.nativeOrder())
                .putInt(major)
                .putInt(minor)
                .putInt(131_072)
                .putInt(flags)
                .putInt(flags2)
                .array();
    }

    @Test
    void initAgreesOnVersionAndFlags() throws Exception {
        ByteBuffer answer = exchange(26, 0, init(7, 45, -1, -1));
        session.awaitInit(10_000);
        assertThat(answer.capacity()).isEqualTo(16 + 64);
        assertThat(answer.getInt(4)).isZero();
        assertThat(answer.getInt(16)).isEqualTo(7);
        assertThat(answer.getInt(20)).isEqualTo(45);
        assertThat(answer.getInt(28) & (1 << 16)).as("no write-back cache").isZero();
        assertThat(answer.getInt(28) & (1 << 30)).as("second word of flags").isNotZero();
        assertThat(answer.getShort(32)).isEqualTo((short) 512);
        assertThat(answer.getInt(36)).isEqualTo(1 << 20);
        assertThat(answer.getInt(48)).as("direct I/O may be mapped").isEqualTo(1 << 4);
    }

    @Test
    void flagsTheKernelLacksAreNotAskedFor() throws Exception {
        ByteBuffer answer = exchange(26, 0, init(7, 31, 1 << 15, 0));
        session.awaitInit(10_000);
        assertThat(answer.getInt(20)).isEqualTo(31);
        assertThat(answer.getInt(28)).isEqualTo(1 << 15);
        assertThat(answer.getInt(48)).isZero();
    }

    @Test
    void aNewSessionMakesTheKernelForgetNamesAndWhatItWasToldOfFiles() throws Exception {
        exchange(26, 0, init(7, 45, -1, -1));
        session.awaitInit(10_000);
        byte[] name = {'f'};
        long file =
                client.create(1, name, 0100644, true, Credentials.getDefaultInstance())
                        .join()
                        .inode();
        assertThat(exchange(1, 1, new byte[] {'f', 0}).getInt(4)).isZero();
        client.newSession();
        Map<Integer, ByteBuffer> said = new HashMap<>();
        for (int i = 0; i < 2; i++) {
            ByteBuffer notification = receive();
            assertThat(notification.getLong(8)).as("nobody asked").isZero();
            said.put(notification.getInt(4), notification);
        }
        assertThat(said).containsOnlyKeys(2, 8);
        ByteBuffer pages = Objects.requireNonNull(said.get(2));
        assertThat(pages.getLong(16)).isEqualTo(file);
        assertThat(pages.getLong(24)).as("all pages").isZero();
        client.newSession();
        assertThat(receive().getInt(4)).as("only names: told of no file since").isEqualTo(8);
    }

    @Test
    void newerMajorVersionIsAnsweredWithOurs() throws Exception {
        ByteBuffer answer = exchange(26, 0, init(8, 0, -1, 0));
        assertThat(answer.getInt(16)).isEqualTo(7);
        exchange(26, 0, init(7, 45, -1, 0));
        session.awaitInit(10_000);
    }

    @Test
    void tooOldKernelIsRefused() {
        assertThat(exchange(26, 0, init(7, 19, 0, 0)).getInt(4)).isEqualTo(-EPROTO);
        assertThatThrownBy(() -> session.awaitInit(10_000))
                .isInstanceOf(ExecutionException.class)
                .hasMessageContaining("7.31");
        // Only the first reader runs; hanging up must still end the session.
    }

    /**
     * A reader that goes on after the others closed the descriptor says EBADF, or takes messages
     * from whatever got its number meanwhile.
     */
    @Test
    @Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void hangingUpRightAfterInitLeavesNoReaderBehind() throws Exception {
        Logger log = (Logger) LoggerFactory.getLogger(FuseReader.class);
        ListAppender<ILoggingEvent> said = new ListAppender<>();
        said.start();
        log.addAppender(said);
        try {
            for (int round = 0; round < 200; round++) {
                exchange(26, 0, init(7, 45, -1, -1));
                hangUp();
                session = newSession(1);
            }
        } finally {
            log.detachAppender(said);
        }
        assertThat(said.list).isEmpty();
    }

    @Test
    void everyShortenedRequestIsAnsweredWithEinval() {
        exchange(26, 0, init(7, 45, -1, -1));
        for (FuseOpcode opcode : FuseOpcode.values()) {
            if (!opcode.answered() || opcode == FuseOpcode.INIT) {
                continue;
            }
            for (int length = 0; length < opcode.minimumBytes(); length++) {
                assertThat(exchange(opcode.number(), 1, new byte[length]).getInt(4))
                        .as(opcode + " of " + length + " bytes")
                        .isEqualTo(-EINVAL);
            }
        }
    }

    @Test
    void requestsThatLieAboutTheirLengthOrNamesAreRefused() {
        exchange(26, 0, init(7, 45, -1, -1));
        byte[] lie = request(FuseOpcode.LOOKUP.number(), 1, "ab\0".getBytes(US_ASCII)).array();
        ByteBuffer.wrap(lie).order(ByteOrder.nativeOrder()).putInt(0, 999);
        send(lie);
        assertThat(receive().getInt(4)).isEqualTo(-EINVAL);
        byte[] endless = "abcd".getBytes(US_ASCII);
        assertThat(exchange(FuseOpcode.LOOKUP.number(), 1, endless).getInt(4)).isEqualTo(-EINVAL);
        byte[] oneName = "\0\0\0\0\0\0\0\0abcd\0".getBytes(US_ASCII);
        assertThat(exchange(FuseOpcode.RENAME.number(), 1, oneName).getInt(4)).isEqualTo(-EINVAL);
    }

    @Test
    void unknownOpcodesAreAnsweredWithEnosys() {
        exchange(26, 0, init(7, 45, -1, -1));
        for (int opcode : new int[] {0, 7, 19, 60, 4096, -1}) {
            assertThat(exchange(opcode, 1, new byte[8]).getInt(4)).isEqualTo(-ENOSYS);
        }
        assertThat(exchange(FuseOpcode.LSEEK.number(), 1, new byte[24]).getInt(4))
                .isEqualTo(-ENOSYS);
    }

    @Test
    void interruptOfAnUnknownRequestIsAskedForAgain() {
        exchange(26, 0, init(7, 45, -1, -1));
        byte[] target = ByteBuffer.allocate(8).order(ByteOrder.nativeOrder()).putLong(40).array();
        send(request(FuseOpcode.INTERRUPT.number(), 0, target).array());
        ByteBuffer answer = receive();
        assertThat(answer.getInt(4)).isEqualTo(-EAGAIN);
        assertThat(answer.getLong(8)).isEqualTo(41);
    }

    /** Another client made the file after the kernel found the name free. */
    @Test
    void creatingWhatExistsMakesTheKernelLookAgain() {
        exchange(26, 0, init(7, 45, -1, -1));
        client.createElsewhere("a".getBytes(US_ASCII), 0600);
        byte[] body =
                ByteBuffer.allocate(18)
                        .order(ByteOrder.nativeOrder())
                        .putInt(Posix.O_CREAT | Posix.O_RDWR)
                        .putInt(0100644)
                        .putInt(0)
                        .putInt(0)
                        .put("a\0".getBytes(US_ASCII))
                        .array();
        assertThat(exchange(FuseOpcode.CREATE.number(), 1, body).getInt(4)).isEqualTo(-ESTALE);
        assertThat(client.openCount()).isZero();
    }

    @Test
    void dotAndDotDotAreLookedUpForNfs() {
        exchange(26, 0, init(7, 45, -1, -1));
        client.createElsewhere("a".getBytes(US_ASCII), 0600);
        int lookup = FuseOpcode.LOOKUP.number();
        long node = exchange(lookup, 1, "a\0".getBytes(US_ASCII)).getLong(16);
        ByteBuffer self = exchange(lookup, node, ".\0".getBytes(US_ASCII));
        assertThat(self.getLong(16)).isEqualTo(node);
        ByteBuffer up = exchange(lookup, 1, "..\0".getBytes(US_ASCII));
        assertThat(up.getLong(16)).isEqualTo(1);
    }

    /** An NFS client may have made a handle up, or have had it before the directory was moved. */
    @Test
    void nothingOutsideTheMountedDirectoryIsLookedUpByNumber() throws Exception {
        long inside = directory(1, "inside");
        long deep = directory(inside, "deep");
        long deeper = directory(deep, "deeper");
        long outside = directory(1, "outside");
        long beyond = directory(outside, "beyond");
        hangUp();
        session = newSession(inside);
        exchange(26, 0, init(7, 45, -1, -1));

        assertThat(lookedUp(1, "..")).as("the root is above itself").isEqualTo(1);
        assertThat(lookedUp(inside, ".")).as("under its own number").isEqualTo(1);
        assertThat(lookedUp(inside, "..")).isEqualTo(1);
        assertThat(lookedUp(deep, "..")).isEqualTo(1);
        assertThat(lookedUp(deeper, "..")).isEqualTo(deep);
        assertThat(lookedUp(deeper, ".")).isEqualTo(deeper);
        for (long node : new long[] {outside, beyond}) {
            assertThat(lookedUp(node, ".")).isEqualTo(-ESTALE);
            assertThat(lookedUp(node, "..")).isEqualTo(-ESTALE);
        }
        client.rename(inside, ascii("deep"), outside, ascii("deep"), 0).join();
        assertThat(lookedUp(deeper, "..")).as("moved out with its parent").isEqualTo(-ESTALE);
        client.rename(1, ascii("inside"), outside, ascii("moved"), 0).join();
        client.rename(outside, ascii("deep"), inside, ascii("deep"), 0).join();
        assertThat(lookedUp(deeper, "..")).as("the mounted one was moved").isEqualTo(deep);
        assertThat(lookedUp(1, "..")).isEqualTo(1);
    }

    private long directory(long parent, String name) {
        Credentials root = Credentials.getDefaultInstance();
        return client.mkdir(parent, ascii(name), 040755, root).join().getInode();
    }

    /** The node a name leads to, or the negative error number. */
    private long lookedUp(long node, String name) {
        ByteBuffer answer = exchange(FuseOpcode.LOOKUP.number(), node, ascii(name + "\0"));
        return answer.getInt(4) == 0 ? answer.getLong(16) : answer.getInt(4);
    }

    private static byte[] ascii(String name) {
        return name.getBytes(US_ASCII);
    }
}
