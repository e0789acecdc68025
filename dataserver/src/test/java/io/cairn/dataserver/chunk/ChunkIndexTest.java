package io.cairn.dataserver.chunk;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rocks.DeletedRows;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ChunkIndexTest {
    @TempDir Path dir;

    /** Deleting files must not make it slow to find the others. */
    @Test
    void deletedInodesAreNotWalkedOver() throws Exception {
        try (RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(16));
                ChunkIndex index = open(memory)) {
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

    private ChunkIndex open(RocksMemory memory) throws Exception {
        return ChunkIndex.open(
                dir.resolve("index"),
                UUID.randomUUID(),
                new IndexDatabases(RocksConfig.defaults(), memory, Meters.unpublished()),
                (problem, e) -> {});
    }

    private static void add(ChunkIndex index, int pg, long inode) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            BlockGroup group = new BlockGroup();
            group.set(0, 77, 0, 1);
            update.putHead(pg, inode, 0, new ChunkHead(1, 1, 0, 4096));
            update.putGroup(pg, inode, 0, 0, group);
            index.apply(update);
        }
    }

    private static void remove(ChunkIndex index, int pg, long inode) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.removeHead(pg, inode, 0);
            update.putGroup(pg, inode, 0, 0, new BlockGroup());
            index.apply(update);
        }
    }
}
