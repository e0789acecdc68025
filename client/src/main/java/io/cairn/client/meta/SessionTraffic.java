package io.cairn.client.meta;

import io.cairn.common.errno.FsException;

/** What is sent in a session. All methods are called under the session's lock. */
interface SessionTraffic {
    /** A leader was found: sends what has no answer yet. */
    void connected();

    /** The leader asks what is open for reading. */
    void reclaim();

    /** Whether something was sent that has no answer. */
    boolean isWaiting();

    /** The session has ended: takes out what cannot go on in the next one. */
    Unanswered ended();

    /** The client ends: takes out everything that has no answer. */
    Unanswered clear();

    /** What a session had not got an answer for when it ended. */
    interface Unanswered {
        /** How many mutations are among it. */
        int mutations();

        /** Fails all of it. Not under the lock. */
        void fail(FsException reason);
    }
}
