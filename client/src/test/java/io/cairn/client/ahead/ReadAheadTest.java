package io.cairn.client.ahead;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.DataView;
import io.cairn.common.layout.Striping;
import io.cairn.common.metrics.Meters;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** One handle, a clock of the test's own, and pieces that come when the test says so. */
class ReadAheadTest {
    private static final int KIB = 1 << 10;
    private static final int MIB = 1 << 20;
    private static final int READ = 128 * KIB;
    private static final long SIZE = 1L << 40;
    private static final DataView VIEW =
            new DataView(1, new Striping(4 * MIB, 1, 4 * MIB), Long.MAX_VALUE, 0, List.of(), SIZE);

    private final AtomicLong now = new AtomicLong();
    private final AheadMemory memory = new AheadMemory(64 * MIB);
    private final DataSession session = new DataSession(1);
    private final ReadAhead ahead = ahead(16 * MIB);
    private final List<Piece> fetched = new ArrayList<>();
    private final List<ByteBuf> received = new ArrayList<>();

    private ReadAhead ahead(long maxBytes) {
        return new ReadAhead(memory, new ClientMeters(Meters.unpublished()), maxBytes, now::get);
    }

    @AfterEach
    void everythingIsReleased() {
        ahead.close();
        fetched.stream().filter(piece -> !piece.settled().isDone()).forEach(Piece::failed);
        assertThat(memory.bytes()).isZero();
        assertThat(received).allMatch(data -> data.refCnt() == 1);
        received.forEach(ByteBuf::release);
    }

    /** Reads, and reads ahead. */
    private Found read(long offset, int length) {
        Found found = ahead.read(offset, length, session);
        ahead.fill(VIEW, SIZE, session, fetched::add);
        return found;
    }

    /** Each byte is the number of the 128 KiB of the file that it lies in, modulo 128. */
    private void arrive(Piece piece) {
        byte[] bytes = new byte[piece.length()];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) ((piece.from() + i) / READ % 128);
        }
        ByteBuf data = Unpooled.directBuffer(bytes.length).writeBytes(bytes);
        received.add(data);
        piece.arrived(data);
    }

    private void arriveAll() {
        fetched.stream().filter(piece -> !piece.settled().isDone()).toList().forEach(this::arrive);
    }

    private static List<Integer> bytesOf(Found found) {
        assertThat(found).isInstanceOf(Found.Bytes.class);
        ByteBuf data = ((Found.Bytes) found).data();
        byte[] bytes = new byte[data.readableBytes()];
        data.readBytes(bytes).release();
        List<Integer> numbers = new ArrayList<>();
        for (byte b : bytes) {
            if (numbers.isEmpty() || numbers.getLast() != b) {
                numbers.add((int) b);
            }
        }
        return numbers;
    }

    private void readInOrder(int first, int reads) {
        for (int i = first; i < first + reads; i++) {
            Found found = read((long) i * READ, READ);
            if (found instanceof Found.Bytes) {
                assertThat(bytesOf(found)).containsExactly(i % 128);
            }
            arriveAll();
        }
    }

    private long end() {
        return fetched.stream().mapToLong(Piece::to).max().orElse(0);
    }

    @Test
    void nothingIsReadAheadUntilReadsGoOnInOrder() {
        for (int i = 0; i < 2; i++) {
            assertThat(read((long) i * READ, READ)).isEqualTo(Found.NOTHING);
            assertThat(fetched).isEmpty();
        }
        assertThat(read(2L * READ, READ)).isEqualTo(Found.NOTHING);
        assertThat(fetched.getFirst().from()).isEqualTo(3L * READ);
        assertThat(end()).isEqualTo(6L * READ);
    }

    @Test
    void asMuchIsReadAheadAsWasReadUpToTheMaximum() {
        long before = 0;
        for (int i = 0; i < 400; i++) {
            readInOrder(i, 1);
            long read = (i + 1L) * READ;
            assertThat(end() - read).isLessThanOrEqualTo(Math.min(16 * MIB, read));
            assertThat(end()).isGreaterThanOrEqualTo(before);
            before = end();
        }
        assertThat(end() - 400L * READ).isGreaterThan(15 * MIB);
        assertThat(fetched).allMatch(piece -> piece.length() <= MIB);
        long sum = fetched.stream().mapToLong(Piece::length).sum();
        assertThat(sum).as("each byte once").isEqualTo(end() - fetched.getFirst().from());
    }

    @Test
    void everyReadAfterTheFirstOnesIsServed() {
        readInOrder(0, 3);
        for (int i = 3; i < 100; i++) {
            assertThat(bytesOf(read((long) i * READ, READ))).containsExactly(i % 128);
            arriveAll();
        }
    }

    @Test
    void readsOverSeveralPiecesAreGathered() {
        readInOrder(0, 20);
        long boundary = fetched.getLast().from();
        int number = (int) (boundary / READ);
        assertThat(bytesOf(ahead.find(boundary - READ + 5, 2 * READ - 5, session)))
                .containsExactly(number - 1, number);
    }

    @Test
    void whatIsInFlightIsWaitedFor() {
        for (int i = 0; i < 3; i++) {
            read((long) i * READ, READ);
        }
        Found found = read(3L * READ, READ);
        assertThat(found).isEqualTo(new Found.InFlight(fetched.getFirst()));
        assertThat(fetched.getFirst().settled()).isNotDone();
        arriveAll();
        assertThat(fetched.getFirst().settled()).isDone();
        assertThat(bytesOf(ahead.find(3L * READ, READ, session))).containsExactly(3);
    }

    @Test
    void whatFailsIsAskedForByItsReader() {
        for (int i = 0; i < 3; i++) {
            read((long) i * READ, READ);
        }
        fetched.forEach(Piece::failed);
        assertThat(ahead.find(3L * READ, READ, session)).isEqualTo(Found.NOTHING);
        assertThat(memory.bytes()).isZero();
    }

    @Test
    void whatDataServersDoNotHaveIsZeros() {
        for (int i = 0; i < 3; i++) {
            read((long) i * READ, READ);
        }
        fetched.forEach(piece -> piece.arrived(Unpooled.EMPTY_BUFFER));
        assertThat(bytesOf(read(3L * READ, READ))).containsExactly(0);
    }

    @Test
    void nothingBeyondTheSizeIsReadAhead() {
        long size = 10L * READ + 5;
        for (int i = 0; i < 10; i++) {
            Found found = ahead.read((long) i * READ, READ, session);
            if (found instanceof Found.Bytes) {
                bytesOf(found);
            }
            ahead.fill(VIEW, size, session, fetched::add);
            arriveAll();
        }
        assertThat(end()).isEqualTo(size);
        assertThat(bytesOf(ahead.read(10L * READ, 5, session))).containsExactly(10);
        assertThat(ahead.read(10L * READ, 6, session)).isEqualTo(Found.NOTHING);
    }

    @Test
    void readsHereAndThereReadNothingAhead() {
        for (int i = 0; i < 1000; i++) {
            read(i * 7919L * READ % SIZE, READ);
        }
        assertThat(fetched).isEmpty();
    }

    @Test
    void aSeekDropsTheOldestOfFourStreams() {
        long apart = 1L << 32;
        for (int i = 0; i < 10; i++) {
            for (int stream = 0; stream < 4; stream++) {
                Found found = read(stream * apart + (long) i * READ, READ);
                assertThat(found instanceof Found.Bytes).isEqualTo(i > 2);
                if (found instanceof Found.Bytes) {
                    bytesOf(found);
                }
                arriveAll();
            }
        }
        long held = memory.bytes();
        read(10 * apart, READ);
        assertThat(memory.bytes()).isLessThan(held).isGreaterThanOrEqualTo(held / 2);
        assertThat(ahead.find(10L * READ, READ, session)).isEqualTo(Found.NOTHING);
        assertThat(bytesOf(ahead.find(apart + 10L * READ, READ, session)))
                .containsExactly((int) ((apart / READ + 10) % 128));
    }

    @Test
    void readsThatOvertakeEachOtherAreInOrder() {
        readInOrder(0, 8);
        int missed = 0;
        for (int i = 8; i < 200; i += 4) {
            for (int j : new int[] {1, 0, 3, 2}) {
                Found found = read((long) (i + j) * READ, READ);
                if (found instanceof Found.Bytes) {
                    assertThat(bytesOf(found)).containsExactly((i + j) % 128);
                } else {
                    missed++;
                }
                arriveAll();
            }
        }
        assertThat(missed).isZero();
    }

    @Test
    void whatWasLeftOutIsDropped() {
        readInOrder(0, 64);
        for (int i = 64; i < 2000; i += 8) { // one in eight
            Found found = read((long) i * READ, READ);
            if (found instanceof Found.Bytes) {
                bytesOf(found);
            }
            arriveAll();
        }
        long read = 64L * READ + 242L * READ;
        long sum = fetched.stream().mapToLong(Piece::length).sum();
        assertThat(sum).as("not much more than was read").isLessThan(2 * read);
    }

    @Test
    void whatThisClientChangesIsDroppedAlsoInFlight() {
        readInOrder(0, 40);
        Piece last = fetched.getLast();
        ahead.drop(last.from() + 1, last.from() + 2);
        assertThat(last.isWanted()).isFalse();
        assertThat(bytesOf(read(40L * READ, READ))).containsExactly(40);
        Piece inFlight = fetched.getLast();
        ahead.drop(0, Long.MAX_VALUE);
        assertThat(inFlight.isWanted()).isFalse();
        arriveAll();
        assertThat(ahead.find(41L * READ, READ, session)).isEqualTo(Found.NOTHING);
        assertThat(memory.bytes()).isZero();
    }

    @Test
    void afterADropItBeginsSmall() {
        readInOrder(0, 100);
        ahead.drop(0, Long.MAX_VALUE);
        fetched.clear();
        readInOrder(100, 3);
        assertThat(end()).isLessThanOrEqualTo(103L * READ + 3 * READ);
    }

    @Test
    void whatIsInFlightGivesItsMemoryBackWhenItCame() {
        readInOrder(0, 2);
        read(2L * READ, READ);
        long taken = memory.bytes();
        ahead.close();
        assertThat(memory.bytes()).isEqualTo(taken).isPositive();
        arriveAll();
        assertThat(memory.bytes()).isZero();
        read(3L * READ, READ);
        assertThat(memory.bytes()).as("closed").isZero();
    }

    @Test
    void bytesThatNobodyReadForASecondAreDropped() {
        readInOrder(0, 100);
        long held = memory.bytes();
        now.addAndGet(TimeUnit.SECONDS.toNanos(1));
        ahead.tick();
        assertThat(memory.bytes()).isEqualTo(held);
        now.addAndGet(1);
        assertThat(ahead.find(100L * READ, READ, session)).isEqualTo(Found.NOTHING);
        ahead.tick();
        assertThat(memory.bytes()).isZero();
    }

    @Test
    void aReaderThatIsSlowHasASmallerWindow() {
        readInOrder(0, 200);
        assertThat(memory.bytes()).isGreaterThan(15 * MIB);
        now.addAndGet(TimeUnit.SECONDS.toNanos(2));
        readInOrder(200, 200);
        assertThat(memory.bytes()).isBetween(7L * MIB, 8L * MIB);
    }

    @Test
    void bytesOfAnotherSessionDoNotCount() {
        readInOrder(0, 10);
        assertThat(ahead.find(10L * READ, READ, new DataSession(2))).isEqualTo(Found.NOTHING);
        assertThat(bytesOf(ahead.find(10L * READ, READ, session))).containsExactly(10);
    }

    @Test
    void aReaderTakesNoMoreMemoryThanItLeaves() {
        AheadMemory small = new AheadMemory(8 * MIB);
        ReadAhead tight =
                new ReadAhead(small, new ClientMeters(Meters.unpublished()), 16 * MIB, now::get);
        for (int i = 0; i < 200; i++) {
            Found found = tight.read((long) i * READ, READ, session);
            if (found instanceof Found.Bytes) {
                bytesOf(found);
            }
            tight.fill(VIEW, SIZE, session, fetched::add);
            arriveAll();
            assertThat(small.bytes()).isLessThanOrEqualTo(5 * MIB);
        }
        assertThat(small.bytes()).isGreaterThan(2 * MIB);
        tight.close();
        assertThat(small.bytes()).isZero();
    }
}
