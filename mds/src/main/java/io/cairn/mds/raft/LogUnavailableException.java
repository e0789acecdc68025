package io.cairn.mds.raft;

/**
 * An entry was not, or not certainly, committed: this member does not lead, or stopped leading
 * while the entry was in flight. Carries no stack trace: it is an answer, not a defect.
 */
public final class LogUnavailableException extends Exception {
    private static final long serialVersionUID = 1;

    private final boolean overloaded;

    LogUnavailableException(String detail, boolean overloaded) {
        super(detail, null, false, false);
        this.overloaded = overloaded;
    }

    /** This member may lead, but too many entries are in flight: try again here, later. */
    public boolean overloaded() {
        return overloaded;
    }
}
