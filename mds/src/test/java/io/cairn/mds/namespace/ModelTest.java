package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.namespace.RandomOperations.Step;
import io.cairn.mds.proto.TruncatedEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Random operations on the namespace, on a simple model of one, and on a directory of this machine:
 * the same results, and the same tree in the end. {@code -Dcairn.test.operations} makes it longer.
 */
class ModelTest {
    private static final long SEED = TestSeed.of("ModelTest");
    private static final int OPERATIONS = Integer.getInteger("cairn.test.operations", 5000);

    @TempDir Path directory;

    private final Random random = new Random(SEED);
    private final ModelNamespace model = new ModelNamespace();

    @Test
    void randomOperationsDoWhatTheModelAndTheLocalFileSystemDo() throws IOException {
        Path root = Files.createDirectory(directory.resolve("local"));
        LocalNamespace local = new LocalNamespace(root);
        assertThat(local.chown("", 0, 0))
                .as("run as root: compares owners and makes device nodes")
                .isEqualTo(Errno.OK);
        local.chmod("", 0755);
        RandomOperations operations = new RandomOperations(random, model, local);
        try (StateRig rig = StateRig.formatted(directory.resolve("state"))) {
            long session = rig.openSession(1);
            List<Step> batch = new ArrayList<>();
            for (int i = 1; i <= OPERATIONS; i++) {
                Step step = operations.next();
                batch.add(step);
                if (step.isTruncate() || random.nextInt(4) == 0 || i % 500 == 0) {
                    run(rig, session, batch);
                    batch.clear();
                }
                if (i % 500 == 0) {
                    assertThat(Trees.describe(rig.state)).isEqualTo(model.describe());
                    assertThat(Trees.describe(root)).isEqualTo(model.describe());
                }
            }
        }
    }

    private static void run(StateRig rig, long session, List<Step> batch) {
        List<MutationResult> results =
                rig.mutate(session, batch.stream().map(Step::mutation).toList());
        for (int i = 0; i < batch.size(); i++) {
            assertThat(Errno.of(results.get(i).getErrno()))
                    .as(batch.get(i).what() + ": " + results.get(i).getDetail())
                    .isEqualTo(batch.get(i).expected());
        }
        for (Attr attr : rig.state.pendingTruncations(0, 100)) {
            rig.apply(
                    rig.entry()
                            .setTruncated(
                                    TruncatedEntry.newBuilder()
                                            .setInode(attr.getInode())
                                            .setSequence(attr.getTruncateSequence())));
        }
    }
}
