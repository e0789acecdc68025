package io.cairn.client.inode;

import io.cairn.common.proto.FileLock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Which owners of this client have locks on a file, or may have, and by which handles they took
 * them. Which ranges, the MDS knows. Guarded by the monitor of the {@link InodeState} that it
 * belongs to.
 *
 * <p>It tells what is to be unlocked: when a process closes a descriptor, all its ranges; when a
 * handle is released, what was taken by it. A handle's release is heard of late, and not at all
 * while others have the open file too; so ranges whose owner has locked by other handles since
 * stay.
 */
final class HeldLocks {
    /** Who has a lock: a process or an open file, by the number that the kernel gave it. */
    record Owner(boolean flock, long number) {
        static Owner of(FileLock lock) {
            return new Owner(lock.getFlock(), lock.getOwner());
        }
    }

    /** What an owner has, or asks for. */
    static final class Claim {
        private final Set<OpenHandle> handles = new HashSet<>();
        private boolean held;
        private int asked;
    }

    /** Unlocks that are to be queued; completes when all are. */
    private static final class Unlocks {
        private final CompletableFuture<Void> queued = new CompletableFuture<>();
        private int left;
    }

    private final Map<Owner, Claim> claims = new HashMap<>();
    private final Map<Owner, Unlocks> unlocks = new HashMap<>();

    /** A mutation for a lock is queued. */
    Claim asked(Owner owner, OpenHandle by) {
        Claim claim = claims.computeIfAbsent(owner, o -> new Claim());
        claim.asked++;
        claim.handles.add(by);
        return claim;
    }

    /** It was answered. */
    void answered(Owner owner, Claim claim, boolean had) {
        claim.asked--;
        claim.held |= had;
        if (!claim.held && claim.asked == 0) {
            claims.remove(owner, claim);
        }
    }

    boolean has(Owner owner) {
        return claims.containsKey(owner);
    }

    /** False once everything of the owner was unlocked since. */
    boolean stands(Owner owner, Claim claim) {
        return claims.get(owner) == claim;
    }

    /** Everything of the owner is being unlocked, behind what it has asked for; false: nothing. */
    boolean end(Owner owner) {
        return claims.remove(owner) != null;
    }

    /** A handle is gone: owners that can have nothing any more, as they had it by this alone. */
    List<Owner> released(OpenHandle handle) {
        List<Owner> ended = new ArrayList<>();
        for (Map.Entry<Owner, Claim> entry : claims.entrySet()) {
            if (entry.getValue().handles.remove(handle) && entry.getValue().handles.isEmpty()) {
                ended.add(entry.getKey());
            }
        }
        ended.forEach(claims::remove);
        return ended;
    }

    // ---- unlocks that wait for changes of the file

    /** An unlock of the owner's is to be queued later; it may take whatever the owner has then. */
    void unlockWaits(Owner owner) {
        unlocks.computeIfAbsent(owner, o -> new Unlocks()).left++;
    }

    /** It is queued. The caller completes what is returned, without the monitor. */
    CompletableFuture<Void> unlockQueued(Owner owner) {
        @Nullable Unlocks waiting = unlocks.get(owner);
        if (waiting == null || --waiting.left > 0) {
            return new CompletableFuture<>();
        }
        unlocks.remove(owner);
        return waiting.queued;
    }

    /** Until this completes no lock is to be asked for by that number; null: now. */
    @Nullable CompletableFuture<Void> unlocking(Owner owner) {
        @Nullable Unlocks waiting = unlocks.get(owner);
        return waiting == null ? null : waiting.queued;
    }

    /** Whether unlocks are to be queued. */
    boolean isUnlocking() {
        return !unlocks.isEmpty();
    }

    /** The session has ended, and all locks with it; whether there were any. */
    boolean lost() {
        boolean any = false;
        for (@Nullable Claim claim : claims.values()) {
            any |= claim != null && claim.held;
        }
        claims.clear();
        return any;
    }
}
