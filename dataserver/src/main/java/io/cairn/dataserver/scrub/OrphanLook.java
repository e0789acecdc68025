package io.cairn.dataserver.scrub;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.dataserver.store.ContentHead;
import io.cairn.dataserver.store.ContentHead.Key;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A look at a placement group (PG) for data that belongs to no file, beside a scrub, which gives it
 * the heads that the primary has. The metadata service is asked of their inodes, many at a time.
 *
 * <p>Between the list and the question a file may have been deleted, and all it had: so what is
 * said to be nobody's is looked at again, and counts only if it is still there. Where the metadata
 * service does not answer, the look is given up and the scrub goes on: nothing is reported, and
 * what is known stays as it is. Used by the scrub's thread.
 */
final class OrphanLook {
    private static final Logger LOG = LoggerFactory.getLogger(OrphanLook.class);

    /** Inodes asked of at once. */
    private static final int BATCH = 1024;

    /** Orphans that are named in a report; of the others, how many there are. */
    static final int MAX_LISTED = 4096;

    private static final long ANSWER_SECONDS = 10;
    private static final long PATIENCE_NANOS = 30_000_000_000L;

    /** It has too much to do, or another member leads by now; or nobody answers at all. */
    private static final Set<Errno> PASSING =
            EnumSet.of(Errno.EAGAIN, Errno.ETIMEDOUT, Errno.EHOSTUNREACH);

    private final ScrubGroup group;
    private final InodeOwners owners;
    private final long mapEpoch;
    private final List<Content> asked = new ArrayList<>();
    private final List<FoundOrphan> found = new ArrayList<>();
    private @Nullable Content current;
    private @Nullable String givenUp;
    private long inodes;
    private long bytes;
    private long unlisted;
    private long unlistedBytes;

    /** What the PG has of an inode. */
    private static final class Content {
        private final long inode;
        private int chunks;
        private long bytes;

        Content(long inode) {
            this.inode = inode;
        }

        void add(ContentHead head) {
            chunks += head.key().chunk() >= 0 ? 1 : 0;
            bytes += head.lengthBytes();
        }
    }

    /** Of the epoch that the group is scrubbed in. */
    OrphanLook(ScrubGroup group, InodeOwners owners) {
        this.group = group;
        this.owners = owners;
        this.mapEpoch = owners.mapEpoch();
    }

    /** What the primary has, in order and without a gap to what was seen before. */
    void seen(Iterable<ContentHead> heads) throws ScrubStopped, InterruptedException {
        for (ContentHead head : heads) {
            Content now = current;
            if (now == null || now.inode != head.key().inode()) {
                ended(now);
                now = new Content(head.key().inode());
                current = now;
            }
            now.add(head);
        }
    }

    private void ended(@Nullable Content content) throws ScrubStopped, InterruptedException {
        if (content == null) {
            return;
        }
        inodes++;
        bytes += content.bytes;
        asked.add(content);
        if (asked.size() >= BATCH) {
            ask();
        }
    }

    /**
     * The PG was seen to its end: the metadata service is told. Returns how many inodes have data
     * and no file; -1 where that is not known.
     */
    long finish() throws ScrubStopped, InterruptedException {
        ended(current);
        current = null;
        ask();
        if (givenUp == null) {
            group.lastSequence(); // still the primary of the same epoch: all that was seen is of it
            ReportOrphansRequest report =
                    ReportOrphansRequest.newBuilder()
                            .setPg(group.pg())
                            .setMapEpoch(mapEpoch)
                            .setInodes(inodes)
                            .setBytes(bytes)
                            .addAllFound(found)
                            .setUnlisted(unlisted)
                            .setUnlistedBytes(unlistedBytes)
                            .build();
            var _ = answer(() -> owners.report(report));
        }
        if (givenUp != null) {
            LOG.info(
                    "Placement group {}: whether all of its data belongs to files is not known: {}",
                    Integer.toHexString(group.pg()),
                    givenUp);
            return -1;
        }
        return found.size() + unlisted;
    }

    private void ask() throws ScrubStopped, InterruptedException {
        if (givenUp != null || asked.isEmpty()) {
            asked.clear();
            return;
        }
        CheckInodesRequest.Builder request =
                CheckInodesRequest.newBuilder().setPg(group.pg()).setMapEpoch(mapEpoch);
        asked.forEach(content -> request.addInodes(content.inode));
        CheckInodesRequest question = request.build();
        CheckInodesReply reply = answer(() -> owners.check(question));
        if (reply != null) {
            for (int place : reply.getOrphansList()) {
                if (place >= 0 && place < asked.size()) {
                    orphan(asked.get(place).inode);
                }
            }
        }
        asked.clear();
    }

    /** Nobody's: is it still there? */
    private void orphan(long inode) throws ScrubStopped {
        Content now = new Content(inode);
        boolean there = false;
        Key after = new Key(inode, Key.INODE - 1);
        List<ContentHead> page;
        do {
            page = group.heads(after, GroupScrub.PAGE_HEADS);
            for (ContentHead head : page) {
                if (head.key().inode() != inode) {
                    page = List.of();
                    break;
                }
                there = true;
                now.add(head);
                after = head.key();
            }
        } while (page.size() == GroupScrub.PAGE_HEADS);
        if (!there) {
            return;
        }
        if (found.size() < MAX_LISTED) {
            found.add(
                    FoundOrphan.newBuilder()
                            .setInode(inode)
                            .setChunks(now.chunks)
                            .setBytes(now.bytes)
                            .build());
        } else {
            unlisted++;
            unlistedBytes += now.bytes;
        }
    }

    /** Null where none came: then the look is given up. */
    private <T> @Nullable T answer(Supplier<CompletableFuture<T>> question)
            throws InterruptedException {
        long end = System.nanoTime() + PATIENCE_NANOS;
        while (true) {
            boolean passes = true;
            String why;
            try {
                return question.get().get(ANSWER_SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                Throwable cause = e.getCause() == null ? e : e.getCause();
                why = String.valueOf(cause.getMessage());
                passes = cause instanceof FsException f && PASSING.contains(f.errno());
            } catch (TimeoutException e) {
                why = "the metadata service does not answer";
            }
            if (!passes || System.nanoTime() - end >= 0) {
                givenUp = why;
                return null;
            }
            ScrubGroup.pause();
        }
    }
}
