package io.cairn.mds.raft;

import java.io.IOException;

/**
 * A member does not start on what lies in its directory. The message says what to do; trying again
 * is of no use.
 */
public final class MemberRefusedException extends IOException {
    private static final long serialVersionUID = 1;

    public MemberRefusedException(String message) {
        super(message);
    }
}
