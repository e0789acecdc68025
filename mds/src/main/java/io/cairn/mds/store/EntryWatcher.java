package io.cairn.mds.store;

/**
 * Sees every entry that is applied here, before and after readers see its effect. The applying
 * thread, which must not be kept.
 */
public interface EntryWatcher {
    /** Nobody watches. */
    EntryWatcher NONE =
            new EntryWatcher() {
                @Override
                public boolean wantsReads() {
                    return false;
                }

                @Override
                public void showing(long index, long session, EntryKeys entry) {}

                @Override
                public void shown(long index) {}
            };

    /** Before an entry is executed: whether what it reads is to be noted. */
    boolean wantsReads();

    /**
     * Nobody has seen the entry's effect yet, and everybody may as soon as this returns.
     *
     * @param session whose mutations it holds; 0: none
     */
    void showing(long index, long session, EntryKeys entry);

    /** Nobody sees the state before the entry any more. */
    void shown(long index);
}
