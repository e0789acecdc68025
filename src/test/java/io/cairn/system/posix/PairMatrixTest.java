package io.cairn.system.posix;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * For each pair of operations what a mount sees when a call of another one has returned: the table
 * in {@code pairs.py}, which says of each row whether that is so at once, within a term of the
 * kernel's attributes, or at the next open. Once with that term, and once without and once with
 * leases, where nothing may be late for its sake. {@code -Dcairn.test.rounds} sets how often each
 * row is tried.
 */
@ExtendWith(SharedCluster.class)
@Tag("native-binding")
class PairMatrixTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 4);
    private static final Path SCRIPT = Cluster.REPOSITORY.resolve("src/test/resources/pairs.py");

    private final Cluster cluster;

    PairMatrixTest(Cluster cluster) {
        this.cluster = cluster;
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {"attr_timeout=1,nolease 1", "attr_timeout=0 0", "attr_timeout=1 0"})
    void eachPairIsAsTheTableSays(String options, String term) throws IOException {
        String name = "pairs-" + options.replace(',', '-');
        cluster.work(name);
        try (Mount one = cluster.mount("one-" + name, "-o", options);
                Mount two = cluster.mount("two-" + name, "-o", options)) {
            Shell.Result said =
                    Shell.run(
                                    "python3",
                                    SCRIPT.toString(),
                                    one.mnt().resolve(name).toString(),
                                    two.mnt().resolve(name).toString(),
                                    term,
                                    Integer.toString(ROUNDS),
                                    "all")
                            .ok();
            System.out.println(options + "\n" + said.out());
        }
    }
}
