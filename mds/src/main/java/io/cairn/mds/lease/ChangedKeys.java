package io.cairn.mds.lease;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * By which entry a key was changed last, roughly: keys that share a slot count as changed together.
 * Written by the applying thread before an entry is shown, so that whoever has read the state
 * before it cannot lend what it changes. Any thread reads.
 */
final class ChangedKeys {
    private static final int SLOTS = 1 << 15;

    private final AtomicLongArray changed = new AtomicLongArray(SLOTS);

    /** Index of the last entry whose effect every reader sees. */
    private volatile long shown;

    void changing(long key, long index) {
        changed.set(slot(key), index);
    }

    void shown(long index) {
        shown = index;
    }

    /** What is read from now on is at least as new as this entry. */
    long shown() {
        return shown;
    }

    /** Whether no later entry has changed the key, or is about to. */
    boolean unchangedSince(long key, long index) {
        return changed.get(slot(key)) <= index;
    }

    static int slot(long key, int slots) {
        long mixed = key * 0x9e3779b97f4a7c15L;
        return (int) (mixed >>> 32) & (slots - 1);
    }

    private static int slot(long key) {
        return slot(key, SLOTS);
    }
}
