package io.cairn.dataserver.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp.Cut;
import io.cairn.common.seed.TestSeed;
import io.netty.buffer.ByteBufUtil;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A read looks at the overlay, then at the index. Whatever is logged and flushed between the two
 * looks, it shows the chunk as it was before or as it is after. {@code -Dcairn.test.seed} repeats
 * the random test.
 */
class ReadBesideFlushTest {
    private static final int READS = 300;
    private static final int STEPS = 3000;
    private static final int BLOCK = 4096;

    private final long seed = TestSeed.of("ReadBesideFlushTest");

    @TempDir Path directory;

    private StoreHarness h;

    @BeforeEach
    void open() throws Exception {
        h = new StoreHarness(directory, seed);
        h.open();
    }

    @AfterEach
    void close() {
        h.close();
    }

    @Test
    void aWriteIsSeenAsAWhole() throws Exception {
        write(0, 2 * BLOCK, 0);
        readAcross(
                0,
                1,
                0,
                () -> {
                    write(BLOCK, 2 * BLOCK, 0);
                    flush();
                });
    }

    @Test
    void aWriteBehindACutIsSeenAsAWhole() throws Exception {
        write(0, 2 * BLOCK, 0);
        flush();
        truncate(1, 1000);
        readAcross(
                0,
                1,
                0,
                () -> {
                    write(500, BLOCK, 1);
                    flush();
                });
    }

    @Test
    void aTruncationLeavesNothingBeyondIt() throws Exception {
        write(0, BLOCK, 0);
        flush();
        write(2 * BLOCK, BLOCK, 0);
        readAcross(
                0,
                1,
                0,
                () -> {
                    truncate(1, 1000);
                    flush();
                });
    }

    @Test
    void aCutLeavesNothingBeyondIt() throws Exception {
        write(0, BLOCK, 0);
        flush();
        write(2 * BLOCK, BLOCK, 0);
        readAcross(
                0,
                1,
                0,
                () -> {
                    write(0, 10, 1, new Cut(1, 1000));
                    flush();
                });
    }

    @Test
    void aDeletionLeavesNothing() throws Exception {
        write(0, BLOCK, 0);
        flush();
        write(2 * BLOCK, BLOCK, 0);
        readAcross(
                0,
                1,
                0,
                () -> {
                    PgLogEntry e = Ops.delete(0, h.epoch(), h.model(0).last() + 1, 1);
                    h.append(0, e, 1, 0, new byte[0], 0);
                    flush();
                });
    }

    /** The harness reads while the overlay forgets, a few at a time, what the index has. */
    @Test
    void betweenTheHalvesOfARound() {
        h.crowd();
        try {
            h.work(STEPS);
            h.compareAll();
        } catch (AssertionError e) {
            throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
        }
    }

    @Test
    void anythingAtRandom() throws Exception {
        try {
            for (int i = 0; i < READS; i++) {
                h.work(1 + h.random.nextInt(10));
                readAcross(
                        h.random.nextInt(StoreHarness.PGS),
                        1 + h.random.nextInt(StoreHarness.INODES),
                        h.random.nextInt(StoreHarness.CHUNKS),
                        () -> {
                            h.work(1 + h.random.nextInt(10));
                            flush();
                        });
            }
        } catch (AssertionError e) {
            throw new AssertionError("failed; repeat with -Dcairn.test.seed=" + seed, e);
        }
    }

    /** Reads a chunk; something happens when it has seen the overlay and not yet the index. */
    private void readAcross(int pg, long inode, int chunk, Runnable meanwhile) throws Exception {
        byte[] before = content(pg, inode, chunk);
        boolean[] done = {false};
        ChunkReader reader =
                new ChunkReader(
                        (p, i, c, first, last) -> {
                            if (!done[0]) {
                                done[0] = true;
                                meanwhile.run();
                            }
                            return h.store().index().read(p, i, c, first, last);
                        },
                        h.store().data());
        int all = h.layout.chunkSize();
        ChunkReader.Result result = reader.read(h.store().pg(pg), pg, inode, chunk, 0, all);
        byte[] got = ByteBufUtil.getBytes(result.data());
        result.data().release();

        assertThat(done[0]).isTrue();
        byte[] after = content(pg, inode, chunk);
        assertThat(Arrays.equals(got, before) || Arrays.equals(got, after))
                .as("%s is as before (%s) or after (%s)", runs(got), runs(before), runs(after))
                .isTrue();
    }

    private byte[] content(int pg, long inode, int chunk) {
        ModelPg m = h.model(pg);
        return m.replay(h.layout, m.last()).bytes(inode, chunk);
    }

    /** Each write has its own bytes. */
    private void write(int offset, int length, long truncateSequence, Cut... cuts) {
        byte[] payload = new byte[length];
        Arrays.fill(payload, (byte) (h.model(0).last() + 1));
        PgLogEntry e =
                Ops.write(
                        0,
                        h.epoch(),
                        h.model(0).last() + 1,
                        1,
                        0,
                        offset,
                        payload,
                        truncateSequence,
                        List.of(cuts));
        h.append(0, e, 1, 0, payload, 0);
    }

    private void truncate(long sequence, int size) {
        PgLogEntry e =
                Ops.truncate(0, h.epoch(), h.model(0).last() + 1, 1, sequence, size, h.layout);
        h.append(0, e, 1, 0, new byte[0], size);
    }

    private void flush() {
        h.awaitDurable();
        h.commitAll();
        h.store().flushThread().flushAll();
    }

    /** As runs of equal bytes. */
    private static String runs(byte[] bytes) {
        StringBuilder s = new StringBuilder().append(bytes.length).append(" bytes:");
        int start = 0;
        for (int i = 1; i <= bytes.length && s.length() < 200; i++) {
            if (i == bytes.length || bytes[i] != bytes[start]) {
                s.append(" %d×%d".formatted(i - start, bytes[start]));
                start = i;
            }
        }
        return s.toString();
    }
}
