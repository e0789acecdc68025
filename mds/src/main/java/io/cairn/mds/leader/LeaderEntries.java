package io.cairn.mds.leader;

import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.LogEntry;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Entries without which a leader cannot begin or go on. Each is logged again until it is committed
 * or the term is over. The control thread only.
 */
public final class LeaderEntries {
    private static final Logger LOG = LoggerFactory.getLogger(LeaderEntries.class);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Leadership leadership;
    private final EntryLog entries;
    private final Control control;

    public LeaderEntries(Leadership leadership, EntryLog entries, Control control) {
        this.leadership = leadership;
        this.entries = entries;
        this.control = control;
    }

    /**
     * Logs the entry.
     *
     * @param what the entry is, for the log of the server: {@code "the settings of the group"}
     * @param done whether the entry has had its effect; the reply is null where the entry is not
     *     certainly committed
     * @param then called once, and only while this member still leads in that term
     */
    public void commit(
            Leadership.Term term,
            LogEntry entry,
            String what,
            Predicate<@Nullable ApplyReply> done,
            Runnable then) {
        var _ =
                entries.submit(entry.toBuilder())
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (!term.equals(leadership.term())) {
                                        return;
                                    }
                                    @Nullable ApplyReply committed = failure == null ? reply : null;
                                    if (done.test(committed)) {
                                        then.run();
                                        return;
                                    }
                                    LOG.warn(
                                            "{} could not be logged yet: {}",
                                            what,
                                            committed == null ? "no commit" : committed.getDetail(),
                                            failure);
                                    var _ =
                                            control.after(
                                                    RETRY_NANOS,
                                                    () -> again(term, entry, what, done, then));
                                },
                                control);
    }

    private void again(
            Leadership.Term term,
            LogEntry entry,
            String what,
            Predicate<@Nullable ApplyReply> done,
            Runnable then) {
        if (term.equals(leadership.term())) {
            commit(term, entry, what, done, then);
        }
    }
}
