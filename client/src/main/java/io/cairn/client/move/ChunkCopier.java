package io.cairn.client.move;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataClient;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.InodeChanges;
import io.cairn.client.data.MapHolder;
import io.cairn.client.meta.MetaClient;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.layout.PgHash;
import io.cairn.common.layout.Striping;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.ByteRun;
import io.cairn.common.proto.ChunkChanges;
import io.cairn.common.proto.InodeChangesReply;
import io.cairn.common.proto.Pool;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Copies the blocks of files from one pool into another one, those first that are there, then those
 * that changed since. Holes stay holes. Any thread.
 */
final class ChunkCopier {
    private static final int PIECE_BYTES = 1 << 20;

    private final DataClient data;
    private final MapHolder map;
    private final InodeChanges changes;
    private final MovePace pace;
    private final LongConsumer copied;

    /**
     * @param copied told of bytes that were copied; on threads of the client
     */
    ChunkCopier(
            DataClient data,
            MapHolder map,
            InodeChanges changes,
            MovePace pace,
            LongConsumer copied) {
        this.data = data;
        this.map = map;
        this.changes = changes;
        this.pace = pace;
        this.copied = copied;
    }

    Passes begin(MovedFile file, DataSession session) {
        return new Passes(file, session);
    }

    /** The passes over one file. One thread. */
    final class Passes {
        private final MovedFile file;
        private final DataSession session;

        /** Of the old pool, as those who answered know it: the map here may be older. */
        private int pgCount;

        /** By placement group, up to where its history is copied. */
        private final Map<Integer, Long> positions = new HashMap<>();

        private final AtomicReference<@Nullable FsException> failure = new AtomicReference<>();
        private final List<CompletableFuture<Void>> inFlight = new ArrayList<>();

        private Passes(MovedFile file, DataSession session) {
            this.file = file;
            this.session = session;
        }

        /**
         * Returns when all that was changed before it began, and after the last pass, is copied.
         */
        void copyChanges() {
            // A group that is split meanwhile leaves a part of its chunks to another one. What is
            // copied of these as the other group has them comes after what the first one had.
            Set<Integer> asked = new HashSet<>();
            do {
                Set<Integer> groups = groups();
                groups.removeAll(asked);
                try {
                    groups.forEach(this::copyChanges);
                } finally {
                    inFlight.forEach(CompletableFuture::join); // none fails
                    inFlight.clear();
                }
                check();
                asked.addAll(groups);
            } while (!asked.containsAll(groups()));
        }

        private void check() {
            FsException failed = failure.get();
            if (failed != null) {
                throw failed;
            }
        }

        /** Those that may have chunks of the file, by the old pool. */
        private Set<Integer> groups() {
            ClusterMap present = map.current();
            @Nullable Pool pool = present.pool(file.oldPool());
            if (pool == null) {
                throw new FsException(
                        Errno.ENOENT, "pool " + file.oldPool() + " is not in the cluster map");
            }
            Striping striping = file.striping();
            long chunks = file.ceiling() <= 0 ? 0 : striping.chunkCount(file.ceiling());
            int count = Math.max(pgCount, pool.getPgCount());
            Set<Integer> groups = new TreeSet<>();
            if (chunks > count) {
                for (int i = 0; i < count; i++) {
                    groups.add(PgHash.pg(pool.getId(), i));
                }
            } else {
                int base = ClusterMap.baseOf(pool);
                LongStream.range(0, chunks)
                        .forEach(c ->
                                groups.add(PgHash.pg(pool.getId(), file.inode(), c, base, count)));
            }
            return groups;
        }

        private void copyChanges(int pg) {
            long since = positions.getOrDefault(pg, 0L);
            long position = -1;
            int after = -1;
            InodeChangesReply page;
            do {
                page = FileMove.await(changes.ask(session, pg, file.inode(), after, since));
                pgCount = Math.max(pgCount, page.getPgCount());
                position = position < 0 ? page.getPosition() : position;
                after = page.getUpToChunk();
                for (ChunkChanges chunk : page.getChunksList()) {
                    for (ByteRun run : chunk.getRunsList()) {
                        copy(chunk.getChunk(), run);
                    }
                }
            } while (!page.getLast());
            positions.put(pg, position);
        }

        private void copy(int chunk, ByteRun run) {
            int end = run.getOffset() + run.getLength();
            for (int at = run.getOffset(); at < end; ) {
                int length = Math.min(end - at, PIECE_BYTES - at % PIECE_BYTES);
                check();
                pace.begin(length);
                CompletableFuture<Void> done = new CompletableFuture<>();
                inFlight.add(done);
                new Piece(file, session, chunk, at, length, failure, done).read();
                at += length;
            }
            if (inFlight.size() > 4096) {
                inFlight.removeIf(CompletableFuture::isDone);
            }
        }
    }

    /** Read, and written as it was read; again if the file was cut in between. */
    private final class Piece {
        private final MovedFile file;
        private final DataSession session;
        private final int chunk;
        private final int offset;
        private final int length;
        private final AtomicReference<@Nullable FsException> failure;
        private final CompletableFuture<Void> done;

        Piece(
                MovedFile file,
                DataSession session,
                int chunk,
                int offset,
                int length,
                AtomicReference<@Nullable FsException> failure,
                CompletableFuture<Void> done) {
            this.file = file;
            this.session = session;
            this.chunk = chunk;
            this.offset = offset;
            this.length = length;
            this.failure = failure;
            this.done = done;
        }

        void read() {
            try {
                MovedFile.Known known = file.known();
                data.read(
                        session,
                        known.source(),
                        chunk,
                        offset,
                        length,
                        MetaClient.never(),
                        (problem, bytes, sequence) -> {
                            if (problem == null) {
                                write(known, bytes);
                            } else {
                                failed(problem);
                            }
                        });
            } catch (RuntimeException | OutOfMemoryError e) {
                failed(Async.notStarted(e));
            }
        }

        /**
         * @param read missing bytes are zeros, there too
         */
        private void write(MovedFile.Known known, ByteBuf read) {
            int bytes = read.readableBytes();
            if (bytes == 0) {
                over(null);
                return;
            }
            @Nullable ByteBuf content = null;
            try {
                content = PooledByteBufAllocator.DEFAULT.directBuffer(bytes, bytes);
                content.writeBytes(read, read.readerIndex(), bytes);
                ByteBuf taken = content;
                content = null;
                data.write(
                        session,
                        known.copy(),
                        chunk,
                        offset,
                        taken,
                        MetaClient.never(),
                        (problem, nothing, sequence) -> {
                            if (problem == null) {
                                copied.accept(bytes);
                                over(null);
                            } else {
                                failed(problem);
                            }
                        });
            } catch (RuntimeException | OutOfMemoryError e) {
                if (content != null) {
                    content.release();
                }
                failed(Async.notStarted(e));
            }
        }

        private void failed(FsException problem) {
            if (problem.errno() == Errno.ESTALE && session.ended() == null) {
                read(); // the attributes are new
            } else {
                over(problem);
            }
        }

        private void over(@Nullable FsException problem) {
            if (problem != null) {
                failure.compareAndSet(null, problem);
            }
            pace.end();
            Async.finish(done);
        }
    }
}
