package io.cairn.mds.namespace;

import io.cairn.common.proto.FileLock;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The arithmetic of locks of one file, as Linux does it: an owner's new lock replaces what it had
 * of the range, is split off from what it had beside it, and joins what touches it and is alike. A
 * lock of flock(2) is one of the whole file, and lives in a world of its own.
 *
 * <p>Stateless. Lists are as in {@code LockTable}: sorted, of one owner none overlap, and none that
 * touch are alike.
 */
public final class LockRanges {
    /** The last byte a file can have: a lock up to there is one to the end. */
    static final long MAX_END = Long.MAX_VALUE;

    private static final Comparator<FileLock> ORDER =
            Comparator.comparing(FileLock::getFlock)
                    .thenComparingLong(FileLock::getStart)
                    .thenComparingLong(FileLock::getSession)
                    .thenComparingLong(FileLock::getOwner);

    private LockRanges() {}

    public static boolean sameOwner(FileLock a, FileLock b) {
        return a.getFlock() == b.getFlock()
                && a.getSession() == b.getSession()
                && a.getOwner() == b.getOwner();
    }

    public static boolean overlap(FileLock a, FileLock b) {
        return a.getFlock() == b.getFlock()
                && a.getStart() <= b.getEnd()
                && b.getStart() <= a.getEnd();
    }

    /** Whether one keeps the other from being had. */
    public static boolean conflict(FileLock a, FileLock b) {
        return (a.getExclusive() || b.getExclusive()) && overlap(a, b) && !sameOwner(a, b);
    }

    /** The first lock that is in the way of another one, null if none is. */
    public static @Nullable FileLock inTheWay(List<FileLock> held, FileLock wanted) {
        for (FileLock lock : held) {
            if (conflict(lock, wanted)) {
                return lock;
            }
        }
        return null;
    }

    /** What the owner holds of the range, cut to it. */
    static List<FileLock> within(List<FileLock> held, FileLock range) {
        List<FileLock> found = new ArrayList<>();
        for (FileLock lock : held) {
            if (sameOwner(lock, range) && overlap(lock, range)) {
                found.add(
                        lock.toBuilder()
                                .setStart(Math.max(lock.getStart(), range.getStart()))
                                .setEnd(Math.min(lock.getEnd(), range.getEnd()))
                                .build());
            }
        }
        return found;
    }

    /** Without the owner's locks of the range. */
    static List<FileLock> without(List<FileLock> held, FileLock range) {
        List<FileLock> left = new ArrayList<>();
        for (FileLock lock : held) {
            if (!sameOwner(lock, range) || !overlap(lock, range)) {
                left.add(lock);
                continue;
            }
            if (lock.getStart() < range.getStart()) {
                left.add(lock.toBuilder().setEnd(range.getStart() - 1).build());
            }
            if (lock.getEnd() > range.getEnd()) {
                left.add(lock.toBuilder().setStart(range.getEnd() + 1).build());
            }
        }
        left.sort(ORDER);
        return left;
    }

    /** With the lock, which nothing is in the way of. */
    static List<FileLock> with(List<FileLock> held, FileLock wanted) {
        FileLock joined = wanted;
        List<FileLock> others = new ArrayList<>();
        for (FileLock lock : without(held, wanted)) {
            boolean alike = sameOwner(lock, wanted) && lock.getExclusive() == wanted.getExclusive();
            if (alike && lock.getEnd() != MAX_END && lock.getEnd() + 1 == wanted.getStart()) {
                joined = joined.toBuilder().setStart(lock.getStart()).build();
            } else if (alike
                    && wanted.getEnd() != MAX_END
                    && wanted.getEnd() + 1 == lock.getStart()) {
                joined = joined.toBuilder().setEnd(lock.getEnd()).build();
            } else {
                others.add(lock);
            }
        }
        others.add(joined);
        others.sort(ORDER);
        return others;
    }

    static int countOf(List<FileLock> held, long session) {
        int count = 0;
        for (FileLock lock : held) {
            count += lock.getSession() == session ? 1 : 0;
        }
        return count;
    }
}
