package io.cairn.mds.namespace;

import static io.cairn.mds.namespace.NamespaceReader.ROOT_INODE;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.ReadDirReply;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * How long the state machine of the MDS takes to list a directory through which many files went,
 * before and after a restart, and to list a large one with attributes. No network and no Raft log.
 *
 * <p>Not a test: nothing fails when it is slow. {@code -Dcairn.bench.files} says how many went.
 */
class ListingBench {
    private static final int BATCH = 500;
    private static final int WAITING = 100;
    private static final int LARGE = 20_000;
    private static final int TIMES = 21;
    private static final int LISTING_BYTES = 64 << 10;

    private final int files = Integer.getInteger("cairn.bench.files", 1_000_000);

    @TempDir Path directory;

    @Test
    void measure() throws IOException {
        StateRig rig = StateRig.formatted(directory);
        rig.applyTwice = false;
        long session = rig.openSession(1);
        long spool = rig.mutate(session, Ops.mkdir(ROOT_INODE, "spool")).getAttr().getInode();
        long large = rig.mutate(session, Ops.mkdir(ROOT_INODE, "large")).getAttr().getInode();
        each(rig, session, 0, LARGE, i -> Ops.create(large, "file" + i));
        each(rig, session, 0, WAITING, i -> Ops.mknod(spool, "job" + i, Mode.FIFO, 0));
        for (int at = 0; at < files; at += BATCH) {
            int from = at + WAITING;
            each(rig, session, from, from + BATCH, i -> Ops.mknod(spool, "job" + i, Mode.FIFO, 0));
            each(rig, session, at, at + BATCH, i -> Ops.unlink(spool, "job" + i));
        }
        System.out.printf("%,d files went, %d are there%n", files, WAITING);
        report(rig.state, spool, "spool");
        report(rig.state, large, "%,d entries".formatted(LARGE));
        rig.state.close();
        try (MetaState again = MetaState.open(directory, StateRig.config())) {
            report(again, spool, "spool, after a restart");
            report(again, large, "%,d entries, after a restart".formatted(LARGE));
        }
    }

    private static void report(MetaState state, long directory, String what) {
        double[] millis = new double[TIMES];
        for (int i = 0; i < TIMES; i++) {
            long start = System.nanoTime();
            long cursor = 0;
            ReadDirReply reply;
            do {
                reply = state.readDir(directory, cursor, LISTING_BYTES, true);
                cursor = reply.getEntries(reply.getEntriesCount() - 1).getCursor();
            } while (!reply.getEnd());
            millis[i] = (System.nanoTime() - start) / 1e6;
        }
        double first = millis[0];
        Arrays.sort(millis);
        System.out.printf(
                "%s: first %.2f ms, median of %d %.2f ms%n", what, first, TIMES, millis[TIMES / 2]);
    }

    private static void each(
            StateRig rig, long session, int from, int to, IntFunction<Mutation.Builder> mutation) {
        List<Mutation.Builder> batch = new ArrayList<>();
        for (int i = from; i < to; i++) {
            batch.add(mutation.apply(i));
            if (batch.size() == BATCH || i == to - 1) {
                rig.mutate(session, batch).forEach(r -> assertThat(r.getErrno()).isZero());
                rig.log.set(rig.log.size() - 1, ByteString.EMPTY); // nobody applies it again
                batch.clear();
            }
        }
    }
}
