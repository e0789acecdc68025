package io.cairn.dataserver.replication;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.Split;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.store.PgLogEntry;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Keeps a replica's log in memory and remembers what else it wanted done. */
final class RecordingOutputs implements PgOutputs {
    final SimStore store;
    final List<Prepare> prepares = new ArrayList<>();
    final List<String> actions = new ArrayList<>();
    long truncateSequence;
    long admissible = 1L << 40;
    boolean lease = true;

    /** Whether the own disk takes what it need not; if not, it has ended growing by then. */
    boolean room = true;

    /** Whether writes find their blocks there. */
    boolean overwrites;

    /** Whether the map says that the pool takes no new data. */
    boolean poolFull;

    boolean flushing;

    /** See {@link #splitDue}. */
    @Nullable Split split;

    boolean growing;

    /** Nothing that is wanted of it is expected. */
    RecoveryOutputs recovery =
            recovery((proxy, method, args) -> {
                if (method.isDefault()) {
                    return InvocationHandler.invokeDefault(proxy, method, args);
                }
                throw new UnsupportedOperationException(method.getName());
            });

    RecordingOutputs(SimStore store) {
        this.store = store;
    }

    /** What is wanted of recovery, by the names of its methods. */
    static RecoveryOutputs recovery(InvocationHandler wanted) {
        return (RecoveryOutputs)
                Proxy.newProxyInstance(
                        RecoveryOutputs.class.getClassLoader(),
                        new Class<?>[] {RecoveryOutputs.class},
                        wanted);
    }

    /** Everything appended becomes durable. */
    void sync(PgReplica replica) {
        for (PgLogEntry e : store.sync(store.size())) {
            replica.onDurable(e.epoch(), e.sequence());
        }
    }

    List<String> takeActions() {
        List<String> taken = List.copyOf(actions);
        actions.clear();
        return taken;
    }

    List<Prepare> takePrepares() {
        List<Prepare> taken = List.copyOf(prepares);
        prepares.clear();
        return taken;
    }

    @Override
    public void append(PgLogEntry entry) {
        store.append(entry);
    }

    @Override
    public boolean appendIfRoom(PgLogEntry entry) {
        if (room) {
            store.append(entry);
        } else {
            growing = false;
        }
        return room;
    }

    @Override
    public boolean overwrites(DataOp op) {
        return overwrites;
    }

    @Override
    public boolean isFlushing() {
        return flushing;
    }

    @Override
    public @Nullable Split splitDue() {
        return split;
    }

    @Override
    public void commit(long sequence) {
        store.commit(sequence);
    }

    @Override
    public void dropTail(long lastSequenceKept) {
        actions.add("drop after " + lastSequenceKept);
    }

    @Override
    public void readEntries(long after) {
        actions.add("read after " + after);
    }

    @Override
    public PgLogState logState() {
        return store.state();
    }

    @Override
    public long truncateSequence(long inode, int chunk) {
        return truncateSequence;
    }

    @Override
    public DiskSpace space() {
        return new DiskSpace(admissible, growing);
    }

    @Override
    public void sendPrepare(Prepare prepare) {
        prepares.add(prepare);
    }

    @Override
    public void sendQuery(int disk, long pgEpoch) {
        actions.add("query %d in %d".formatted(disk, pgEpoch));
    }

    @Override
    public void sendFetch(int disk, long pgEpoch, long after) {
        actions.add("fetch from %d after %d".formatted(disk, after));
    }

    @Override
    public void sendCommit(int disk, long pgEpoch, long committedSequence) {
        actions.add("commit %d to %d".formatted(committedSequence, disk));
    }

    @Override
    public RecoveryOutputs recovery() {
        return recovery;
    }

    @Override
    public void needMap() {
        actions.add("need map");
    }

    @Override
    public void memberSilent(int disk, long pgEpoch) {
        actions.add("silent " + disk + " in " + pgEpoch);
    }

    @Override
    public boolean isPoolFull() {
        return poolFull;
    }

    @Override
    public boolean leaseValid() {
        return lease;
    }

    @Override
    public void stateChanged(PgState state, String reason) {
        actions.add(state.toString());
    }
}
