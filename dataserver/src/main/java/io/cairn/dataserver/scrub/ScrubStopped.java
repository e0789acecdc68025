package io.cairn.dataserver.scrub;

/** A scrub cannot go on now, for a reason that may pass: it says nothing of the data. */
final class ScrubStopped extends Exception {
    private static final long serialVersionUID = 1;

    ScrubStopped(String why) {
        super(why);
    }
}
