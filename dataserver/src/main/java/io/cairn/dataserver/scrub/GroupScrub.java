package io.cairn.dataserver.scrub;

import io.cairn.dataserver.store.ChunkCheck;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One scrub of one placement group, beside its writes. Light: the heads of all that primary and
 * members have are compared, page by page. Deep: besides, each member reads each chunk and verifies
 * its blocks, and the digests of equal chunks are compared. Used by the scrub's thread.
 *
 * <p>When heads are a difference: what the primary has is looked at before and after what the
 * member has, and the member had all operations by then that the primary had at the first look. If
 * the primary's head is the same both times, no operation on the chunk came between, so that the
 * member has neither fewer nor more: its head must be equal. Else it is looked at again.
 */
final class GroupScrub {
    static final int PAGE_HEADS = 1024;

    /** More of them in one group are one fault, of which these are enough. */
    private static final int MAX_DIFFERENCES = 1000;

    private static final int LOOKS = 10;

    private final ScrubGroup group;
    private final boolean deep;
    private final ScrubTally tally;
    private final OrphanLook orphans;
    private final BooleanSupplier goOn;

    /**
     * @param orphans looks for data that belongs to no file meanwhile
     * @param goOn asked now and then: the scrub is stopped if not
     */
    GroupScrub(
            ScrubGroup group,
            boolean deep,
            ScrubTally tally,
            OrphanLook orphans,
            BooleanSupplier goOn) {
        this.group = group;
        this.deep = deep;
        this.tally = tally;
        this.orphans = orphans;
        this.goOn = goOn;
    }

    /** Throws ScrubStopped if it did not come to the end. */
    void run() throws ScrubStopped, InterruptedException {
        @Nullable Key after = Key.FIRST;
        while (after != null && tally.differences() < MAX_DIFFERENCES) {
            after = page(after);
        }
        if (after == null) { // else it was not seen to its end
            tally.orphans(orphans.finish());
        }
    }

    /** Returns where the next page begins; null if this was the last one. */
    private @Nullable Key page(Key after) throws ScrubStopped, InterruptedException {
        checkGoOn();
        List<List<ContentHead>> given = new ArrayList<>();
        given.add(group.heads(after, PAGE_HEADS));
        long sequence = group.lastSequence();
        for (int member : group.others()) {
            given.add(group.heads(member, after, PAGE_HEADS, sequence));
        }
        HeadLists lists = new HeadLists(given, PAGE_HEADS);
        for (int i = 0; i < group.others().size(); i++) {
            for (Key key : lists.different(i + 1)) {
                compareHeads(group.others().get(i), key);
            }
        }
        List<Key> chunks = lists.keys().stream().filter(k -> k.chunk() >= 0).toList();
        if (deep) {
            for (Key chunk : chunks) {
                checkGoOn();
                compareContent(chunk);
            }
        }
        tally.compared(chunks.size());
        orphans.seen(lists.first());
        return lists.end();
    }

    private void checkGoOn() throws ScrubStopped {
        if (!goOn.getAsBoolean()) {
            throw new ScrubStopped("'noscrub' is on");
        }
    }

    // ---- heads --------------------------------------------------------------------------------

    private void compareHeads(int member, Key key) throws ScrubStopped, InterruptedException {
        for (int i = 0; i < LOOKS; i++) {
            ContentHead before = own(key);
            Key behind = before(key);
            ContentHead there = only(key, group.heads(member, behind, 1, group.lastSequence()));
            if (Objects.equals(before, there)) {
                return;
            }
            if (Objects.equals(before, own(key))) {
                group.lastSequence(); // still the primary of the same epoch
                tally.differs(
                        new ScrubDifference(group.pg(), group.disk(), member, before, there, key));
                return;
            }
            ScrubGroup.pause();
        }
        tally.skip();
    }

    private @Nullable ContentHead own(Key key) throws ScrubStopped {
        return only(key, group.heads(before(key), 1));
    }

    private static Key before(Key key) {
        return new Key(key.inode(), key.chunk() - 1);
    }

    private static @Nullable ContentHead only(Key key, List<ContentHead> heads) {
        return heads.isEmpty() || !heads.getFirst().key().equals(key) ? null : heads.getFirst();
    }

    // ---- content ------------------------------------------------------------------------------

    /** What differs is read a second time before it counts. */
    private void compareContent(Key key) throws ScrubStopped, InterruptedException {
        List<Integer> members = new ArrayList<>(List.of(group.disk()));
        members.addAll(group.others());
        List<Integer> different = List.of();
        for (int i = 0; i < LOOKS; i++) {
            List<ChunkCheck> checks = check(members, key);
            if (i == 0) {
                tally.read(checks.getFirst().head().lengthBytes());
                checks.forEach(c -> tally.bad(c.badBlocks().size()));
            }
            if (checks.stream().anyMatch(c -> !c.isComparable() && c.badBlocks().isEmpty())) {
                ScrubGroup.pause();
                continue; // it is being written
            }
            List<Integer> now = different(members, checks);
            if (now.isEmpty()) {
                return;
            }
            if (now.equals(different)) {
                ContentHead head = checks.getFirst().head();
                for (int member : now) {
                    tally.differs(
                            new ScrubDifference(group.pg(), group.disk(), member, head, head, key));
                }
                return;
            }
            different = now;
        }
        tally.skip();
    }

    private List<ChunkCheck> check(List<Integer> members, Key key)
            throws ScrubStopped, InterruptedException {
        List<CompletableFuture<ChunkCheck>> asked =
                members.stream().map(m -> group.check(m, key)).toList();
        List<ChunkCheck> checks = new ArrayList<>();
        for (CompletableFuture<ChunkCheck> check : asked) {
            checks.add(ScrubGroup.checked(check));
        }
        return checks;
    }

    /** Those that have what the primary has, by its head, and not its content. */
    private static List<Integer> different(List<Integer> members, List<ChunkCheck> checks) {
        ChunkCheck own = checks.getFirst();
        List<Integer> different = new ArrayList<>();
        for (int i = 1; i < checks.size(); i++) {
            ChunkCheck theirs = checks.get(i);
            if (own.isComparable()
                    && theirs.isComparable()
                    && own.head().equals(theirs.head())
                    && own.digest() != theirs.digest()) {
                different.add(members.get(i));
            }
        }
        return different;
    }
}
