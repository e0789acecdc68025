package io.cairn.mds.raft;

import java.io.IOException;

/**
 * A member refuses to start with the contents of its directory. The message says what to do; trying
 * again does not help.
 */
public final class MemberRefusedException extends IOException {
    private static final long serialVersionUID = 1;

    public MemberRefusedException(String message) {
        super(message);
    }
}
