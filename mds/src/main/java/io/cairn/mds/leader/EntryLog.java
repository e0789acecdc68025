package io.cairn.mds.leader;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.time.WallClock;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.raft.LogUnavailableException;
import io.cairn.mds.raft.MetaLog;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;

/**
 * The log as the server's parts use it: stamps entries with the leader's clock and reads the
 * answers. Any thread; what one thread submits is committed in that order.
 */
public final class EntryLog {
    private volatile @Nullable MetaLog log;

    /** Once the log runs; entries submitted before fail. */
    public void attach(MetaLog log) {
        this.log = log;
    }

    /** Null until the log runs. */
    public @Nullable MetaLog log() {
        return log;
    }

    /**
     * Fails with {@link LogUnavailableException}: then the entry may have been committed or may yet
     * be. Completes on the applying thread, or where leadership is lost on a thread that holds
     * Raft's own locks: what follows a failure must not submit again there. Fails with
     * IllegalArgumentException for an entry larger than {@link MetaLog#MAX_ENTRY_BYTES}.
     */
    public CompletableFuture<ApplyReply> submit(LogEntry.Builder entry) {
        @Nullable MetaLog present = log;
        if (present == null) {
            return CompletableFuture.failedFuture(new IllegalStateException("no log yet"));
        }
        return present.submit(entry.setTime(WallClock.now()).build().toByteString())
                .thenApply(EntryLog::parse);
    }

    private static ApplyReply parse(ByteString reply) {
        try {
            return ApplyReply.parseFrom(reply);
        } catch (InvalidProtocolBufferException e) {
            throw new CompletionException(e);
        }
    }
}
