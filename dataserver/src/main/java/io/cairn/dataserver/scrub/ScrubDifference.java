package io.cairn.dataserver.scrub;

import io.cairn.dataserver.store.ContentHead;
import org.jspecify.annotations.Nullable;

/**
 * Two replicas of a PG that are both complete do not have the same of a chunk, or of an inode as a
 * whole.
 *
 * @param primary disk of the primary
 * @param member the other disk
 * @param here what the primary has; null if it has nothing
 * @param there what the other one has; null if it has nothing. Of equal heads the content differs.
 */
record ScrubDifference(
        int pg,
        int primary,
        int member,
        @Nullable ContentHead here,
        @Nullable ContentHead there,
        ContentHead.Key key) {

    /** Whether what both have is the same but for its bytes. */
    boolean isOfContent() {
        return here != null && here.equals(there);
    }

    /** Whether the member lacks what the history says it has: then the primary is right. */
    boolean isLack() {
        return here != null
                && !here.equals(there)
                && (there == null
                        || there.version().sequence() <= here.version().sequence()
                                && there.truncateSequence() <= here.truncateSequence());
    }

    /** For the administrator. */
    String text() {
        return "placement group %x: %s %s"
                .formatted(
                        pg,
                        key.chunk() < 0
                                ? "inode %x as a whole".formatted(key.inode())
                                : "chunk %d of inode %x".formatted(key.chunk(), key.inode()),
                        what());
    }

    private String what() {
        if (there == null) {
            return "is on disk %d, and missing on disk %d".formatted(primary, member);
        }
        if (here == null) {
            return "is on disk %d, and not on the primary's disk %d".formatted(member, primary);
        }
        if (isOfContent()) {
            return "has other content on disk %d than on disk %d, each with right checksums"
                    .formatted(member, primary);
        }
        return "is %s on disk %d, and %s on disk %d"
                .formatted(state(there), member, state(here), primary);
    }

    private static String state(ContentHead head) {
        return head.key().chunk() < 0
                ? "cut by truncation %d".formatted(head.truncateSequence())
                : "%d bytes as of operation %d.%d, truncation %d"
                        .formatted(
                                head.lengthBytes(),
                                head.version().epoch(),
                                head.version().sequence(),
                                head.truncateSequence());
    }
}
