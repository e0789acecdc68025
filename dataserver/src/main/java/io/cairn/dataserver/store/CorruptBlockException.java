package io.cairn.dataserver.store;

/** A stored block does not match its checksum: never served, to be repaired from a replica. */
public final class CorruptBlockException extends Exception {
    private static final long serialVersionUID = 1;

    public CorruptBlockException(String where) {
        super(where);
    }
}
