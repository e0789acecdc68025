package io.cairn.mds.store;

import io.cairn.mds.store.MetaStore.EntryKey;
import java.util.List;
import java.util.Set;

/**
 * The inodes and names that an entry changes, and those that its answer may tell of. The applying
 * thread only, before the entry is committed.
 */
public interface EntryKeys {
    /** Inodes that are made, changed or removed. */
    Set<Long> changedInodes();

    /** Names that are made, lead elsewhere or are removed. */
    Set<EntryKey> changedNames();

    /** Whether clients are told something else of a changed inode than before. */
    boolean changesAttributes(long inode);

    /** What was read; empty unless the watcher has asked for it. */
    Set<Long> readInodes();

    Set<EntryKey> readNames();

    /** Whether answers of earlier entries are given once more. */
    boolean repeatsAnswers();

    /** Something was renamed from one directory into another one. */
    record Move(long from, long to) {}

    List<Move> moves();
}
