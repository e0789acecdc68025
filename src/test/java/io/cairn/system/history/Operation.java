package io.cairn.system.history;

/**
 * One operation of one process on one object.
 *
 * @param process who asked, {@code MOUNT/NUMBER}; has one operation at a time
 * @param object what it was done to, {@code KIND/NUMBER}
 * @param argument empty where the action needs none
 * @param result empty where there is none, or none was heard of
 * @param invokedNanos of {@link System#nanoTime}, which all processes of a machine share
 * @param completedNanos likewise; {@link #NEVER} of an unknown outcome
 */
public record Operation(
        String process,
        String object,
        Action action,
        String argument,
        Outcome outcome,
        String result,
        long invokedNanos,
        long completedNanos) {
    /** Of an operation whose outcome is unknown: it may still be carried out. */
    public static final long NEVER = Long.MAX_VALUE;

    /** What is done to an object; each kind of object has some of these. */
    public enum Action {
        READ,
        WRITE,
        APPEND,
        /** As {@link #APPEND}, and durable when it has completed. */
        APPEND_SYNC,
        ADD,
        REMOVE,
        CONTAINS,
        LIST
    }

    public enum Outcome {
        /** Carried out between its two times. */
        OK,
        /** Nothing of it was or will be carried out; the result says why. */
        FAILED,
        /** It may have been carried out, may be later, or never; the result says why. */
        UNKNOWN
    }

    public boolean ok() {
        return outcome == Outcome.OK;
    }

    /** The mount through which it was done. */
    public String mount() {
        return process.substring(0, process.indexOf('/'));
    }

    /** Such as {@code block} of {@code block/3}. */
    public String kind() {
        return object.substring(0, object.indexOf('/'));
    }

    /** For people: times in seconds. */
    @Override
    public String toString() {
        return "%.6f..%s %s %s %s %s -> %s %s"
                .formatted(
                        invokedNanos / 1e9,
                        completedNanos == NEVER ? "?" : "%.6f".formatted(completedNanos / 1e9),
                        process,
                        object,
                        action,
                        argument,
                        outcome,
                        result);
    }
}
