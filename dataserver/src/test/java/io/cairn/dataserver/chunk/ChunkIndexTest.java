package io.cairn.dataserver.chunk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.DeletedRows;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.dataserver.disk.DiskCalls;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChunkIndexTest {
    private static final UUID DISK = UUID.randomUUID();
    private static final long BLOCKS = 10_000;

    @TempDir Path dir;

    /** Deleting files must not make it slow to find the others. */
    @Test
    void deletedInodesAreNotWalkedOver() throws Exception {
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(16));
                ChunkIndex index = open(memory)) {
            index.openContent(BLOCKS);
            for (int pg = 1; pg <= 3; pg++) {
                for (long inode = 1; inode <= 500; inode++) {
                    add(index, pg, inode);
                }
            }
            for (int pg = 1; pg <= 3; pg++) {
                for (long inode = 1; inode <= 500; inode++) {
                    remove(index, pg, inode);
                }
            }
            add(index, 1, 600);
            long walkedOver =
                    DeletedRows.walkedOver(
                            dir.resolve("any"),
                            () -> {
                                assertThat(index.readAll(1, 600, 0).groups()).hasSize(1);
                                assertThat(index.readAll(1, 600, 1).head()).isNull();
                                assertThat(index.chunks(1, 600)).containsExactly(0);
                                assertThat(index.chunks(1, 700)).isEmpty();
                            });
            assertThat(walkedOver).isZero();
        }
    }

    /** A block in two places: whatever is wrong, no further start goes on with that summary. */
    @Test
    void whatDoesNotAgreeWithTheSummaryEndsIt() throws Exception {
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(16))) {
            try (ChunkIndex index = open(memory)) {
                index.openContent(BLOCKS);
                add(index, 1, 5);
                assertThat(index.summaryDifferences(BLOCKS)).isEmpty();
                assertThatThrownBy(() -> add(index, 1, 5))
                        .isInstanceOf(IndexDamagedException.class)
                        .hasMessageContaining("region 0")
                        .hasMessageContaining("restart the data server");
                assertThat(index.summaryDifferences(BLOCKS)).hasSize(1);
            }
            try (ChunkIndex index = open(memory)) {
                IndexContent content = index.openContent(BLOCKS);
                assertThat(content.readBecause()).isEqualTo("it has no summary yet");
                assertThat(content.allocator().isUsed(1005)).isTrue();
            }
            try (ChunkIndex index = open(memory)) {
                IndexContent content = index.openContent(BLOCKS);
                assertThat(content.readBecause()).isNull();
                assertThat(content.allocator().isUsed(1005)).isTrue();
                assertThat(index.summaryDifferences(BLOCKS)).isEmpty();
            }
        }
    }

    private ChunkIndex open(RocksMemory memory) throws Exception {
        return ChunkIndex.open(
                dir.resolve("index"),
                DISK,
                new IndexDatabases(RocksConfig.defaults(), memory, Meters.unpublished()),
                DiskCalls.unwatched(),
                (problem, e) -> {});
    }

    private static void add(ChunkIndex index, int pg, long inode) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.putHead(pg, inode, 0, new ChunkHead(1, 1, 0, 4096));
            update.putGroup(pg, inode, 0, 0, new BlockGroup(), group(pg, inode));
            index.apply(update);
        }
    }

    private static void remove(ChunkIndex index, int pg, long inode) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.removeHead(pg, inode, 0);
            update.putGroup(pg, inode, 0, 0, group(pg, inode), new BlockGroup());
            index.apply(update);
        }
    }

    /** One block, which no other has. */
    private static BlockGroup group(int pg, long inode) {
        BlockGroup group = new BlockGroup();
        group.set(0, pg * 1000L + inode, 0, 1);
        return group;
    }
}
