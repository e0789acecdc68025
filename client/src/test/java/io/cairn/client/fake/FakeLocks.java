package io.cairn.client.fake;

import io.cairn.common.proto.FileLock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Locks of files by their bytes, of which only the first few are told apart. */
final class FakeLocks {
    private static final int BYTES = 64;

    private record Owner(long inode, long session, boolean flock, long number) {
        static Owner of(FileLock lock) {
            return new Owner(lock.getInode(), lock.getSession(), lock.getFlock(), lock.getOwner());
        }
    }

    /** 0: none, 1: shared, 2: exclusive; the last one stands for the rest of the file. */
    private final Map<Owner, int[]> held = new HashMap<>();

    private static int last(FileLock lock) {
        return (int) Math.min(lock.getEnd(), BYTES - 1);
    }

    boolean isFree(FileLock wanted) {
        for (Map.Entry<Owner, int[]> other : held.entrySet()) {
            Owner owner = other.getKey();
            if (owner.equals(Owner.of(wanted))
                    || owner.inode() != wanted.getInode()
                    || owner.flock() != wanted.getFlock()) {
                continue;
            }
            for (int i = (int) wanted.getStart(); i <= last(wanted); i++) {
                if (other.getValue()[i] == 2
                        || (other.getValue()[i] == 1 && wanted.getExclusive())) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Returns what the owner had of the range. */
    List<FileLock> set(FileLock lock, boolean unlock) {
        int[] bytes = held.computeIfAbsent(Owner.of(lock), o -> new int[BYTES]);
        List<FileLock> before = segments(lock, bytes, (int) lock.getStart(), last(lock));
        for (int i = (int) lock.getStart(); i <= last(lock); i++) {
            bytes[i] = unlock ? 0 : lock.getExclusive() ? 2 : 1;
        }
        return before;
    }

    private static List<FileLock> segments(FileLock like, int[] bytes, int from, int to) {
        List<FileLock> found = new ArrayList<>();
        for (int i = from; i <= to; i++) {
            int first = i;
            while (i < to && bytes[i + 1] == bytes[first]) {
                i++;
            }
            if (bytes[first] != 0) {
                found.add(
                        like.toBuilder()
                                .setExclusive(bytes[first] == 2)
                                .setStart(first)
                                .setEnd(i == BYTES - 1 ? Long.MAX_VALUE : i)
                                .build());
            }
        }
        return found;
    }

    void ended(long session, long inode) {
        held.keySet().removeIf(o -> o.session() == session && (inode == 0 || o.inode() == inode));
    }

    /** All of a file, as owner, mode and bytes: "7 shared 0-9". */
    List<String> of(long inode) {
        List<String> all = new ArrayList<>();
        held.forEach((owner, bytes) -> {
            FileLock like = FileLock.newBuilder().setOwner(owner.number()).build();
            if (owner.inode() == inode) {
                for (FileLock lock : segments(like, bytes, 0, BYTES - 1)) {
                    all.add(
                            "%d %s %d-%s"
                                    .formatted(
                                            owner.number(),
                                            lock.getExclusive() ? "exclusive" : "shared",
                                            lock.getStart(),
                                            lock.getEnd() == Long.MAX_VALUE
                                                    ? "end"
                                                    : lock.getEnd()));
                }
            }
        });
        all.sort(null);
        return all;
    }
}
