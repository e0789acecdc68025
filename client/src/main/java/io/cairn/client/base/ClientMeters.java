package io.cairn.client.base;

import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.Timers;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;

/** The meters of one client, made once so that recording is cheap. Any thread. */
public final class ClientMeters {
    /** The operations of a client, one timer each. */
    public enum Op {
        LOOKUP,
        GETATTR,
        SETATTR,
        CREATE,
        OPEN,
        MKDIR,
        MKNOD,
        SYMLINK,
        LINK,
        UNLINK,
        RMDIR,
        RENAME,
        READLINK,
        READDIR,
        GETXATTR,
        LISTXATTR,
        SETXATTR,
        REMOVEXATTR,
        STATFS,
        READ,
        WRITE,
        APPEND,
        FSYNC,
        FLUSH,
        RELEASE,
        LOCK,
        UNLOCK
    }

    private final Timers<Op> operations;
    private final Counter readBytes;
    private final Counter writtenBytes;
    private final Counter readAheadFetched;
    private final Counter readAheadServed;
    private final Counter readAheadDropped;
    private final Counter dataRetries;
    private final Counter metadataRetries;
    private final Counter sessionsEnded;
    private final Counter writesLost;
    private final Counter namesAnswered;
    private final Counter namesLost;
    private final Counter checksumErrors;
    private final Counter refusedWrites;
    private final Counter appendRightsTaken;
    private final Counter appendRightsReturned;
    private final Counter lockWaits;

    /** Makes them; names and units are those of {@link ClientMeter}. */
    public ClientMeters(Meters meters) {
        operations = meters.timers(ClientMeter.OPERATION, EnumSet.allOf(Op.class));
        readBytes = meters.counter(ClientMeter.READ_BYTES);
        writtenBytes = meters.counter(ClientMeter.WRITTEN_BYTES);
        readAheadFetched = meters.counter(ClientMeter.READ_AHEAD_BYTES, "fetched");
        readAheadServed = meters.counter(ClientMeter.READ_AHEAD_BYTES, "served");
        readAheadDropped = meters.counter(ClientMeter.READ_AHEAD_BYTES, "dropped");
        dataRetries = meters.counter(ClientMeter.RETRIES, "data");
        metadataRetries = meters.counter(ClientMeter.RETRIES, "metadata");
        sessionsEnded = meters.counter(ClientMeter.SESSIONS_ENDED);
        writesLost = meters.counter(ClientMeter.WRITES_LOST);
        namesAnswered = meters.counter(ClientMeter.NAMES_ANSWERED);
        namesLost = meters.counter(ClientMeter.NAMES_LOST);
        checksumErrors = meters.counter(ClientMeter.CHECKSUM_ERRORS);
        refusedWrites = meters.counter(ClientMeter.REFUSED_WRITES);
        appendRightsTaken = meters.counter(ClientMeter.APPEND_RIGHTS, "acquired");
        lockWaits = meters.counter(ClientMeter.LOCK_WAITS);
        appendRightsReturned = meters.counter(ClientMeter.APPEND_RIGHTS, "returned");
    }

    /** Records the operation when the future completes; returns the same future. */
    public <T> CompletableFuture<T> timed(Op op, CompletableFuture<T> future) {
        long start = System.nanoTime();
        var _ = future.whenComplete((value, thrown) -> finished(op, start, thrown == null));
        return future;
    }

    /** An operation that began at that {@link System#nanoTime} is over. */
    public void finished(Op op, long startNanos, boolean succeeded) {
        operations.of(op).recordSince(startNanos, succeeded);
    }

    /** Bytes that a program was given, holes included. */
    public void read(long bytes) {
        readBytes.increment(bytes);
    }

    /** Bytes that came before their reader asked. */
    public void readAheadFetched(long bytes) {
        readAheadFetched.increment(bytes);
    }

    /** Of these, bytes that a reader was given. */
    public void readAheadServed(long bytes) {
        readAheadServed.increment(bytes);
    }

    /** Of these, bytes that no reader was given, and none will be. */
    public void readAheadDropped(long bytes) {
        readAheadDropped.increment(bytes);
    }

    /** Bytes of a write or append of a program that is durable. */
    public void written(long bytes) {
        writtenBytes.increment(bytes);
    }

    /** The cluster has ended a session; another one follows. */
    public void sessionEnded() {
        sessionsEnded.increment();
    }

    /** Of one open file, however many they are: programs are answered EIO. */
    public void writesLost() {
        writesLost.increment();
    }

    /** A name was made or removed before the MDS was asked. */
    public void nameAnswered() {
        namesAnswered.increment();
    }

    /** Such a name was not made or removed after all. */
    public void nameLost() {
        namesLost.increment();
    }

    /** A request to a data server is sent again. */
    public void dataRetried() {
        dataRetries.increment();
    }

    /** A request to the metadata service is sent again. */
    public void metadataRetried() {
        metadataRetries.increment();
    }

    /** A right to append was acquired by a request of its own. */
    public void appendRightTaken() {
        appendRightsTaken.increment();
    }

    /** A right to append was returned, because another client appends to the file too. */
    public void appendRightReturned() {
        appendRightsReturned.increment();
    }

    /** A call got its lock after it had waited for another owner's. */
    public void lockWaited() {
        lockWaits.increment();
    }

    /** A write was refused with ENOMEM: those that wait hold all that they may. */
    public void writeRefused() {
        refusedWrites.increment();
    }

    /** A block arrived with a wrong checksum. */
    public void checksumError() {
        checksumErrors.increment();
    }
}
