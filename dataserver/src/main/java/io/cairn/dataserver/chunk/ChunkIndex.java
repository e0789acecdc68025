package io.cairn.dataserver.chunk;

import io.cairn.common.rocks.PrefixIterator;
import io.cairn.common.rocks.RocksDatabase;
import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.SummaryFormat.Summary;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.DiskCalls.Kind;
import io.cairn.dataserver.disk.DiskCalls.Part;
import io.cairn.dataserver.disk.FatalHandler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.ReadTier;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;
import org.rocksdb.WriteBatch;

/**
 * The chunk index of one disk: what the flusher has taken out of the WAL. RocksDB without a log of
 * its own: what is in its memory is also in our WAL until {@link #flush} returned. Read by any
 * thread, changed by the flusher, and by scrubs, whose rows nothing else has. Throws
 * IndexDamagedException when something cannot be read.
 */
public final class ChunkIndex implements AutoCloseable {
    /**
     * Block groups of a small chunk are passed one by one, which costs less than looking past them.
     */
    private static final int FEW_GROUPS = 3;

    private final RocksDatabase database;
    private final RocksDB db;
    private final DiskCalls calls;

    /** Only what needs no device. */
    private final ReadOptions inMemory = new ReadOptions().setReadTier(ReadTier.BLOCK_CACHE_TIER);

    private final PromptReads prompt = new PromptReads();
    private final ContentSummary summary = new ContentSummary(this);

    private ChunkIndex(RocksDatabase database, DiskCalls calls) {
        this.database = database;
        this.calls = calls;
        this.db = database.db();
    }

    /** Opens the index of a disk, or makes an empty one. */
    public static ChunkIndex open(
            Path directory,
            UUID disk,
            IndexDatabases databases,
            DiskCalls calls,
            FatalHandler fatal)
            throws IOException {
        return new ChunkIndex(databases.open(directory, "chunks-" + disk, fatal), calls);
    }

    /**
     * One chunk, consistent in itself.
     *
     * @param head null if the chunk does not exist
     * @param groups by number; missing ones have only absent blocks
     */
    public record Stored(@Nullable ChunkHead head, Map<Integer, BlockGroup> groups) {
        public int length() {
            return head == null ? 0 : head.lengthBytes();
        }

        public long truncateSequence() {
            return ChunkHead.truncateSequence(head);
        }

        /** The group's state to look at; an empty one if there is none. */
        public BlockGroup group(int number) {
            BlockGroup g = groups.get(number);
            return g == null ? new BlockGroup() : g;
        }
    }

    /** The chunk's head and the groups of its blocks [firstBlock, lastBlock]. */
    public Stored read(int pg, long inode, int chunk, int firstBlock, int lastBlock) {
        return calls.call(
                Part.INDEX, Kind.READ, () -> readNow(pg, inode, chunk, firstBlock, lastBlock));
    }

    /**
     * As {@link #read}, for a caller that others wait for: throws IndexDamagedException if there is
     * no answer for a while, see {@link PromptReads}.
     */
    public Stored readPromptly(int pg, long inode, int chunk, int firstBlock, int lastBlock) {
        return prompt.read(() -> read(pg, inode, chunk, firstBlock, lastBlock));
    }

    private Stored readNow(int pg, long inode, int chunk, int firstBlock, int lastBlock) {
        byte[] prefix = ChunkKeys.chunkHead(pg, inode, chunk);
        try (PrefixIterator it = rows(prefix)) {
            if (!it.isValid() || !Arrays.equals(it.key(), prefix)) {
                return new Stored(null, Map.of());
            }
            ChunkHead head = ChunkHeadFormat.decode(it.value());
            Map<Integer, BlockGroup> groups = new HashMap<>();
            int first = firstBlock / ChunkKeys.GROUP_BLOCKS;
            int last = lastBlock / ChunkKeys.GROUP_BLOCKS;
            if (first == 0) {
                it.next();
            } else {
                it.seek(ChunkKeys.group(pg, inode, chunk, first));
            }
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                if (ChunkKeys.groupOf(key) > last) {
                    break;
                }
                groups.put(ChunkKeys.groupOf(key), BlockGroupFormat.decode(it.value()));
            }
            return new Stored(head, groups);
        }
    }

    /** Everything of a chunk. */
    public Stored readAll(int pg, long inode, int chunk) {
        return read(pg, inode, chunk, 0, Integer.MAX_VALUE);
    }

    /** Null if the chunk does not exist. */
    public @Nullable ChunkHead head(int pg, long inode, int chunk) {
        byte[] head = get(ChunkKeys.chunkHead(pg, inode, chunk));
        return head == null ? null : ChunkHeadFormat.decode(head);
    }

    /** As {@link #head}, for a caller that others wait for, see {@link #readPromptly}. */
    public @Nullable ChunkHead headPromptly(int pg, long inode, int chunk) {
        byte[] head = getPromptly(ChunkKeys.chunkHead(pg, inode, chunk));
        return head == null ? null : ChunkHeadFormat.decode(head);
    }

    /** The newest truncation applied to the inode as a whole, 0 if none. */
    public long inodeTruncateSequence(int pg, long inode) {
        return inodeTruncateSequence(get(ChunkKeys.inodeHead(pg, inode)));
    }

    /** The same for a caller that others wait for, see {@link #readPromptly}. */
    public long inodeTruncateSequencePromptly(int pg, long inode) {
        return inodeTruncateSequence(getPromptly(ChunkKeys.inodeHead(pg, inode)));
    }

    private static long inodeTruncateSequence(byte @Nullable [] head) {
        return head == null ? 0 : InodeHeadFormat.decode(head);
    }

    /** Told of a head; false ends the visit. */
    public interface Heads {
        /**
         * @param chunk below 0 for the inode as a whole
         */
        boolean head(long inode, int chunk);
    }

    /**
     * The inode heads and chunk heads of a PG in the order of keys, without reading the groups.
     *
     * @param chunk of the first one to be told of; below 0 for the inode as a whole
     */
    public void heads(int pg, long inode, int chunk, Heads heads) {
        byte[] from =
                chunk < 0 ? ChunkKeys.inodeHead(pg, inode) : ChunkKeys.chunkHead(pg, inode, chunk);
        try (PrefixIterator it =
                database.rows(
                        null,
                        ChunkKeys.pg(pg),
                        from,
                        e -> new IndexDamagedException("cannot read", e))) {
            byte @Nullable [] behind = null;
            int passed = 0;
            while (it.isValid()) {
                byte[] key = it.key();
                if (ChunkKeys.isGroup(key)) {
                    if (behind == null || ++passed < FEW_GROUPS) {
                        it.next();
                    } else {
                        it.seek(behind);
                    }
                    continue;
                }
                boolean ofChunk = ChunkKeys.isChunkHead(key);
                if (!heads.head(ChunkKeys.inodeOf(key), ofChunk ? ChunkKeys.chunkOf(key) : -1)) {
                    return;
                }
                if (ofChunk) {
                    behind = ChunkKeys.behindGroups(key);
                    passed = 0;
                }
                it.next();
            }
        }
    }

    /** Numbers of the chunks an inode has in a PG. */
    public List<Integer> chunks(int pg, long inode) {
        List<Integer> chunks = new ArrayList<>();
        try (PrefixIterator it = rows(ChunkKeys.inode(pg, inode))) {
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                if (ChunkKeys.isChunkHead(key)) {
                    chunks.add(ChunkKeys.chunkOf(key));
                }
            }
        }
        return chunks;
    }

    /** Null in an index that was just made. */
    public @Nullable DiskState diskState() {
        byte[] value = get(ChunkKeys.diskState());
        return value == null ? null : DiskStateFormat.decode(value);
    }

    boolean hasPgState(int pg) {
        return get(ChunkKeys.pgState(pg)) != null;
    }

    public List<PgLogState> pgStates() {
        List<PgLogState> states = new ArrayList<>();
        try (PrefixIterator it = rows(ChunkKeys.pgStates())) {
            for (; it.isValid(); it.next()) {
                states.add(PgStateFormat.decode(ChunkKeys.pgOf(it.key()), it.value()));
            }
        }
        return states;
    }

    /**
     * What a start needs to know of the content: by its summary, or, where there is none that can
     * be believed, by reading all of it, once. Before the first update.
     *
     * @param blocks of the data file
     * @throws IllegalStateException if the content names a block twice, or one outside
     */
    public IndexContent openContent(long blocks) {
        return summary.open(blocks);
    }

    /**
     * Reads the whole content and compares it with its summary, which the next start believes. Not
     * beside an update.
     *
     * @param blocks of the data file
     * @return a line for each difference; empty if they agree
     * @throws IllegalStateException if the content names a block twice, or one outside
     */
    public List<String> summaryDifferences(long blocks) {
        return summary.differences(blocks);
    }

    /** The next start reads the whole content, and makes the summary anew. Returns when durable. */
    public void forgetSummary() {
        try (Update update = new Update()) {
            update.removeSummary();
            write(update);
        }
        flush();
    }

    /** Null if it was never noted. */
    public @Nullable ScrubStamps scrubStamps(int pg) {
        byte[] value = get(ChunkKeys.scrubs(pg));
        return value == null ? null : ScrubStampsFormat.decode(value);
    }

    /** What the last scrub of the PG found, for the administrator. */
    public List<String> findings(int pg) {
        byte[] value = get(ChunkKeys.findings(pg));
        return value == null ? List.of() : FindingsFormat.decode(value);
    }

    /** The blocks in quarantine, and why each is. */
    public Map<BadBlock, String> quarantined() {
        Map<BadBlock, String> quarantined = new LinkedHashMap<>();
        try (PrefixIterator it = rows(ChunkKeys.quarantine())) {
            for (; it.isValid(); it.next()) {
                quarantined.put(ChunkKeys.badBlock(it.key()), QuarantineFormat.decode(it.value()));
            }
        }
        return quarantined;
    }

    /** Told of everything the index knows, in the order of keys. */
    public interface Visitor {
        void inodeHead(int pg, long inode, long truncateSequence);

        void chunkHead(int pg, long inode, int chunk, ChunkHead head);

        void group(int pg, long inode, int chunk, int group, BlockGroup blocks);
    }

    public void visit(Visitor visitor) {
        try (PrefixIterator it = rows(ChunkKeys.content())) {
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                int pg = ChunkKeys.pgOf(key);
                long inode = ChunkKeys.inodeOf(key);
                if (ChunkKeys.isInodeHead(key)) {
                    visitor.inodeHead(pg, inode, InodeHeadFormat.decode(it.value()));
                } else if (ChunkKeys.isChunkHead(key)) {
                    visitor.chunkHead(
                            pg, inode, ChunkKeys.chunkOf(key), ChunkHeadFormat.decode(it.value()));
                } else if (ChunkKeys.isGroup(key)) {
                    visitor.group(
                            pg,
                            inode,
                            ChunkKeys.chunkOf(key),
                            ChunkKeys.groupOf(key),
                            BlockGroupFormat.decode(it.value()));
                } else {
                    throw new IndexDamagedException("key of " + key.length + " bytes");
                }
            }
        }
    }

    /** Collects changes that become visible together. Close it after use. */
    public static final class Update implements AutoCloseable {
        private final WriteBatch batch = new WriteBatch();
        private final BlockChanges blocks = new BlockChanges();
        private final Set<Long> truncated = new HashSet<>();

        public void putHead(int pg, long inode, int chunk, ChunkHead head) {
            if (head.truncateSequence() > 0) {
                truncated.add(inode);
            }
            put(ChunkKeys.chunkHead(pg, inode, chunk), ChunkHeadFormat.encode(head));
        }

        public void removeHead(int pg, long inode, int chunk) {
            remove(ChunkKeys.chunkHead(pg, inode, chunk));
        }

        /**
         * @param before what the index has of it; an empty one if it has none
         */
        public void putGroup(
                int pg, long inode, int chunk, int group, BlockGroup before, BlockGroup after) {
            blocks.add(before, after);
            byte[] key = ChunkKeys.group(pg, inode, chunk, group);
            if (after.isEmpty()) {
                remove(key);
            } else {
                put(key, BlockGroupFormat.encode(after));
            }
        }

        /**
         * Removes a row of a chunk of the PG.
         *
         * @param freed told of the blocks that it names
         */
        void removeRow(int pg, byte[] key, byte[] value, LongConsumer freed) {
            if (!ChunkKeys.isGroup(key)) {
                remove(key);
                return;
            }
            BlockGroup group = BlockGroupFormat.decode(value);
            putGroup(
                    pg,
                    ChunkKeys.inodeOf(key),
                    ChunkKeys.chunkOf(key),
                    ChunkKeys.groupOf(key),
                    group,
                    new BlockGroup());
            for (int i = 0; i < ChunkKeys.GROUP_BLOCKS; i++) {
                if (group.stored(i)) {
                    freed.accept(group.location(i));
                }
            }
        }

        public void putInodeHead(int pg, long inode, long truncateSequence) {
            truncated.add(inode);
            put(ChunkKeys.inodeHead(pg, inode), InodeHeadFormat.encode(truncateSequence));
        }

        public void removeInodeHead(int pg, long inode) {
            remove(ChunkKeys.inodeHead(pg, inode));
        }

        public void putPgState(PgLogState state) {
            put(ChunkKeys.pgState(state.pg()), PgStateFormat.encode(state));
        }

        public void putScrubStamps(int pg, ScrubStamps stamps) {
            put(ChunkKeys.scrubs(pg), ScrubStampsFormat.encode(stamps));
        }

        /** Nothing is known of scrubs of the PG any more. */
        public void removeScrubs(int pg) {
            remove(ChunkKeys.scrubs(pg));
            remove(ChunkKeys.findings(pg));
        }

        public void putFindings(int pg, List<String> texts) {
            if (texts.isEmpty()) {
                remove(ChunkKeys.findings(pg));
            } else {
                put(ChunkKeys.findings(pg), FindingsFormat.encode(texts));
            }
        }

        public void putQuarantined(BadBlock block, String why) {
            put(ChunkKeys.quarantined(block), QuarantineFormat.encode(why));
        }

        public void removeQuarantined(BadBlock block) {
            remove(ChunkKeys.quarantined(block));
        }

        public void putDiskState(DiskState state) {
            put(ChunkKeys.diskState(), DiskStateFormat.encode(state));
        }

        /** Of a new index, which has no content. */
        public void putEmptySummary() {
            put(ChunkKeys.summary(), SummaryFormat.encode(Summary.EMPTY));
        }

        void removeSummary() {
            try {
                batch.deleteRange(ChunkKeys.summary(), ChunkKeys.behindSummary());
            } catch (RocksDBException e) {
                throw new IllegalStateException("filling an index batch", e);
            }
        }

        /** Blocks that groups name now, and those they do not name any more. */
        BlockChanges blocks() {
            return blocks;
        }

        /** Inodes with a truncate sequence. */
        Set<Long> truncated() {
            return truncated;
        }

        void put(byte[] key, byte[] value) {
            try {
                batch.put(key, value);
            } catch (RocksDBException e) {
                throw new IllegalStateException("filling an index batch", e);
            }
        }

        void remove(byte[] key) {
            try {
                batch.delete(key);
            } catch (RocksDBException e) {
                throw new IllegalStateException("filling an index batch", e);
            }
        }

        @Override
        public void close() {
            batch.close();
        }
    }

    /**
     * Makes the changes, and with them the summary's, visible; durable only after {@link #flush}.
     * If it throws, the disk has failed.
     */
    public void apply(Update update) {
        summary.addTo(update);
        write(update);
    }

    /** As it is. */
    void write(Update update) {
        try {
            calls.run(Part.INDEX, Kind.WRITE, () -> database.write(update.batch));
        } catch (RocksDBException e) {
            throw new IndexDamagedException("cannot write", e);
        }
    }

    /** Returns when everything applied is durable. */
    public void flush() {
        try {
            calls.run(Part.INDEX, Kind.SYNC, database::flush);
        } catch (RocksDBException e) {
            throw new IndexDamagedException("cannot flush", e);
        }
    }

    /** For what an administrator asks of it. */
    public RocksDatabase database() {
        return database;
    }

    @Override
    public void close() {
        prompt.close();
        database.close();
        inMemory.close();
    }

    byte @Nullable [] get(byte[] key) {
        try {
            return fromDevice(key);
        } catch (RocksDBException e) {
            throw new IndexDamagedException("cannot read", e);
        }
    }

    /** What is in memory costs no other thread. */
    private byte @Nullable [] getPromptly(byte[] key) {
        try {
            return db.get(inMemory, key);
        } catch (RocksDBException e) {
            if (e.getStatus() != null && e.getStatus().getCode() == Status.Code.Incomplete) {
                return prompt.read(() -> Optional.ofNullable(get(key))).orElse(null);
            }
            throw new IndexDamagedException("cannot read", e);
        }
    }

    private byte @Nullable [] fromDevice(byte[] key) throws RocksDBException {
        byte[][] found = new byte[1][];
        calls.run(Part.INDEX, Kind.READ, () -> found[0] = db.get(key));
        return found[0];
    }

    PrefixIterator rows(byte[] prefix) {
        return rows(prefix, prefix);
    }

    /** Beginning with the first row at or above the key. */
    PrefixIterator rows(byte[] prefix, byte[] from) {
        return database.rows(null, prefix, from, e -> new IndexDamagedException("cannot read", e));
    }
}
