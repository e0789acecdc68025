package io.cairn.dataserver.chunk;

import io.cairn.common.rocks.PrefixIterator;
import io.cairn.dataserver.chunk.ChunkIndex.Update;
import io.cairn.dataserver.chunk.DiskStateFormat.DiskState;
import io.cairn.dataserver.chunk.SummaryFormat.Summary;
import io.cairn.dataserver.disk.BlockAllocator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a start needs of the content of an index, kept beside it: which blocks it names, and which
 * inodes may have a truncate sequence. It changes in the same batch as the content, so after a
 * crash both are as of the same moment. A row has the digest of all the others: what is damaged,
 * missing or of another time is found at the start, which then reads the whole content and writes
 * the summary anew. For the flusher, and before it for who opens the disk.
 *
 * <p>A region of the summary is one of {@link BlockAllocator}. Of the inodes none is taken back
 * before the summary is made anew.
 */
final class ContentSummary {
    /** Rows written in one batch when the summary is made anew: half a MiB. */
    private static final int ROWS_AT_ONCE = 1024;

    private final ChunkIndex index;
    private final TruncatedInodes recorded = new TruncatedInodes();

    /** Null before it was opened. */
    private @Nullable Summary summary;

    ContentSummary(ChunkIndex index) {
        this.index = index;
    }

    /** Reads the summary; where it cannot be believed, the content, and makes the summary anew. */
    IndexContent open(long blocks) {
        byte[] row = index.get(ChunkKeys.summary());
        if (row == null) {
            return readAll(blocks, "it has no summary yet");
        }
        try {
            return believed(row, blocks);
        } catch (IndexDamagedException | IllegalStateException e) {
            return readAll(blocks, String.valueOf(e.getMessage()));
        }
    }

    private IndexContent readAll(long blocks, String why) {
        ContentReader all = new ContentReader(blocks);
        index.visit(all);
        makeAnew(all.allocator(), all.truncated());
        return new IndexContent(all.allocator(), all.truncated(), why);
    }

    /**
     * @param row the first one, of the digests
     * @throws IndexDamagedException if it cannot be, as if a block is used twice
     * @throws IllegalStateException likewise
     */
    private IndexContent believed(byte[] row, long blocks) {
        Summary said = SummaryFormat.decode(row);
        BlockAllocator allocator = new BlockAllocator(blocks);
        TruncatedInodes truncated = new TruncatedInodes();
        PageSum used = sum(ChunkKeys.regions(), allocator::markUsed);
        PageSum inodes = sum(ChunkKeys.filterPages(), truncated::addPage);
        if (!new Summary(used, inodes).equals(said)) {
            throw new IndexDamagedException("rows of the summary are missing or stale");
        }
        begin(said, truncated);
        return new IndexContent(allocator, truncated, null);
    }

    private interface PageVisitor {
        void page(int number, long[] bits);
    }

    private PageSum sum(byte[] kind, PageVisitor visitor) {
        PageSum sum = PageSum.EMPTY;
        try (PrefixIterator it = index.rows(kind)) {
            for (; it.isValid(); it.next()) {
                byte[] key = it.key();
                if (!ChunkKeys.isPage(key)) {
                    throw new IndexDamagedException("key of " + key.length + " bytes");
                }
                int number = ChunkKeys.pageOf(key);
                byte[] value = it.value();
                long[] bits = BitPageFormat.decode(value);
                visitor.page(number, bits);
                sum = sum.with(number, bits, value);
            }
        }
        return sum;
    }

    private void begin(Summary now, TruncatedInodes truncated) {
        summary = now;
        for (int page = 0; page < TruncatedInodes.pages(); page++) {
            recorded.addPage(page, truncated.page(page));
        }
    }

    /** Without its first row, which is written last, nothing of it is believed. */
    private void makeAnew(BlockAllocator allocator, TruncatedInodes truncated) {
        try (Update update = new Update()) {
            update.removeSummary();
            index.write(update);
        }
        PageSum used = PageSum.EMPTY;
        for (int from = 0; from < allocator.regions(); from += ROWS_AT_ONCE) {
            try (Update update = new Update()) {
                int to = Math.min(from + ROWS_AT_ONCE, allocator.regions());
                for (int region = from; region < to; region++) {
                    long[] bits = named(allocator, region);
                    used = put(update, ChunkKeys.region(region), region, bits, used);
                }
                index.write(update);
            }
        }
        PageSum inodes = PageSum.EMPTY;
        try (Update update = new Update()) {
            for (int page = 0; page < TruncatedInodes.pages(); page++) {
                long[] bits = truncated.page(page);
                inodes = put(update, ChunkKeys.filterPage(page), page, bits, inodes);
            }
            Summary made = new Summary(used, inodes);
            update.put(ChunkKeys.summary(), SummaryFormat.encode(made));
            DiskState state = index.diskState();
            if (state != null) {
                update.putDiskState(state); // refused by releases that would not keep the summary
            }
            index.write(update);
            begin(made, truncated);
        }
        index.flush();
    }

    /** The blocks of a region that the index names: the superblock is none of them. */
    private static long[] named(BlockAllocator allocator, int region) {
        long[] bits = allocator.used(region);
        if (region == 0) {
            bits[0] &= ~1L;
        }
        return bits;
    }

    private static PageSum put(Update update, byte[] key, int number, long[] bits, PageSum sum) {
        if (isEmpty(bits)) {
            return sum;
        }
        byte[] encoded = BitPageFormat.encode(bits);
        update.put(key, encoded);
        return sum.with(number, bits, encoded);
    }

    /**
     * Adds to an update what it changes of the summary. It must be written then, or the disk has
     * failed.
     *
     * @throws IndexDamagedException if the summary says otherwise of a block: it will not be
     *     believed again, and the next start makes it anew
     */
    void addTo(Update update) {
        if (update.blocks().regions().isEmpty() && update.truncated().isEmpty()) {
            return;
        }
        Summary before = summary;
        if (before == null) {
            throw new IllegalStateException("the summary of the index was not opened");
        }
        PageSum used = before.blocks();
        for (Map.Entry<Integer, BlockChanges.Change> e : update.blocks().regions().entrySet()) {
            used = change(update, e.getKey(), e.getValue(), used);
        }
        Summary now = new Summary(used, addTruncated(update, before.truncated()));
        if (!now.equals(before)) {
            update.put(ChunkKeys.summary(), SummaryFormat.encode(now));
            summary = now;
        }
    }

    private PageSum change(Update update, int region, BlockChanges.Change change, PageSum sum) {
        byte[] key = ChunkKeys.region(region);
        byte[] row = index.get(key);
        long[] before = row == null ? new long[BitPageFormat.WORDS] : BitPageFormat.decode(row);
        long[] after = new long[BitPageFormat.WORDS];
        for (int i = 0; i < BitPageFormat.WORDS; i++) {
            long added = change.added()[i];
            long removed = change.removed()[i];
            if ((before[i] & added) != 0 || (before[i] & removed) != removed) {
                throw disbelieved(region);
            }
            after[i] = before[i] & ~removed | added;
        }
        return replace(update, key, region, before, after, sum);
    }

    private PageSum addTruncated(Update update, PageSum sum) {
        Map<Integer, long[]> before = new HashMap<>();
        for (long inode : update.truncated()) {
            if (!recorded.mayBe(inode)) {
                before.computeIfAbsent(TruncatedInodes.pageOf(inode), recorded::page);
                recorded.add(inode);
            }
        }
        PageSum now = sum;
        for (Map.Entry<Integer, long[]> e : before.entrySet()) {
            int page = e.getKey();
            byte[] key = ChunkKeys.filterPage(page);
            now = replace(update, key, page, e.getValue(), recorded.page(page), now);
        }
        return now;
    }

    private static PageSum replace(
            Update update, byte[] key, int number, long[] before, long[] after, PageSum sum) {
        PageSum without =
                isEmpty(before) ? sum : sum.without(number, before, BitPageFormat.encode(before));
        if (isEmpty(after)) {
            update.remove(key);
        }
        return put(update, key, number, after, without);
    }

    private IndexDamagedException disbelieved(int region) {
        try (Update update = new Update()) {
            update.removeSummary();
            index.write(update);
        }
        index.flush();
        return new IndexDamagedException(
                "the summary of the index does not agree with its content in region "
                        + region
                        + ": restart the data server, which reads the whole index then");
    }

    /** Compares the summary with the content. What does not agree; empty if all does. */
    List<String> differences(long blocks) {
        ContentReader all = new ContentReader(blocks);
        index.visit(all);
        byte[] row = index.get(ChunkKeys.summary());
        if (row == null) {
            return List.of("there is no summary");
        }
        IndexContent said;
        try {
            said = new ContentSummary(index).believed(row, blocks);
        } catch (IndexDamagedException | IllegalStateException e) {
            return List.of("the summary is not believed: " + e.getMessage());
        }
        List<String> differences = new ArrayList<>();
        for (int region = 0; region < all.allocator().regions(); region++) {
            if (!Arrays.equals(all.allocator().used(region), said.allocator().used(region))) {
                differences.add("region " + region + " has other blocks in use");
            }
        }
        for (int page = 0; page < TruncatedInodes.pages(); page++) {
            long[] there = all.truncated().page(page);
            long[] here = said.truncated().page(page);
            for (int i = 0; i < there.length; i++) {
                if ((there[i] & ~here[i]) != 0) {
                    differences.add("page " + page + " of the filter lacks truncated inodes");
                    break;
                }
            }
        }
        return differences;
    }

    private static boolean isEmpty(long[] bits) {
        return Arrays.stream(bits).allMatch(w -> w == 0);
    }
}
