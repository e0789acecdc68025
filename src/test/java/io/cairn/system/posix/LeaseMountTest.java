package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.Prometheus;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Names and attributes that the kernels of two mounts believe without asking: each shows what the
 * other has changed as soon as its call has returned. {@code -Dcairn.test.rounds} sets how many
 * changes are made, {@code -Dcairn.test.seed} which.
 */
@ExtendWith(SharedCluster.class)
@Tag("native-binding")
class LeaseMountTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 400);
    private static final int STATS = 500;
    private static final int FILES = 100;

    private static final Pattern XATTRS_ASKED =
            Pattern.compile("(?m)^cairn_mds_operation_total\\{[^}]*op=\"get_xattr\"[^}]*} (\\S+)$");

    private final Cluster cluster;

    LeaseMountTest(Cluster cluster) {
        this.cluster = cluster;
    }

    /**
     * A model of two directories of few names. After each change by one of the mounts both are
     * asked for everything, so that both have leases of everything at the next one.
     */
    private static final String MODEL =
            """
            import os, random, sys, time
            mounts, seed, rounds = sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
            random.seed(seed)
            DIRECTORIES, NAMES = ['d', 'e'], ['a', 'b', 'c']
            for d in DIRECTORIES:
                os.mkdir(f'{mounts[0]}/{d}')
            model = {}  # (directory, name) -> file; a file is [mode, links, size], a directory 'dir'
            PATHS = [(d, n) for d in DIRECTORIES for n in NAMES]

            def seen(mount, d, n):
                try:
                    s = os.stat(f'{mount}/{d}/{n}')
                except FileNotFoundError:
                    return None
                if s.st_mode & 0o170000 == 0o040000:
                    return 'dir'
                return [s.st_mode & 0o777, s.st_nlink, s.st_size]

            def check(what):
                for mount in mounts:
                    for d, n in PATHS:
                        got, expected = seen(mount, d, n), model.get((d, n))
                        assert got == expected, f'{what}: {mount}/{d}/{n}: {got}, not {expected}'
                    for d in DIRECTORIES:
                        got = sorted(os.listdir(f'{mount}/{d}'))
                        expected = sorted(n for p, n in model if p == d)
                        assert got == expected, f'{what}: {mount}/{d}: {got}, not {expected}'
                        links = 2 + sum(f == 'dir' for (p, n), f in model.items() if p == d)
                        got = os.stat(f'{mount}/{d}').st_nlink
                        assert got == links, f'{what}: links of {mount}/{d}: {got}, not {links}'

            def change(mount):
                one, two = random.sample(PATHS, 2)
                a, b = (f'{mount}/{d}/{n}' for d, n in (one, two))
                there, other = model.get(one), model.get(two)
                what = random.choice(['make', 'remove', 'rename', 'link', 'chmod', 'write', 'dir'])
                if what == 'make' and there is None:
                    os.close(os.open(a, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
                    model[one] = [0o644, 1, 0]
                elif what == 'dir' and there is None:
                    os.mkdir(a)
                    model[one] = 'dir'
                elif what == 'remove' and there == 'dir':
                    os.rmdir(a)
                    del model[one]
                elif what == 'remove' and there:
                    os.unlink(a)
                    there[1] -= 1
                    del model[one]
                elif what == 'rename' and there and (other is None or (there == 'dir') == (other == 'dir')):
                    os.rename(a, b)
                    if there is not other or there == 'dir':
                        if other and other != 'dir':
                            other[1] -= 1
                        model[two] = there
                        del model[one]
                elif what == 'link' and there and there != 'dir' and other is None:
                    os.link(a, b)
                    there[1] += 1
                    model[two] = there
                elif what == 'chmod' and there and there != 'dir':
                    there[0] = random.choice([0o600, 0o640, 0o644, 0o666])
                    os.chmod(a, there[0])
                elif what == 'write' and there and there != 'dir':
                    there[2] = random.randrange(5000)
                    with open(a, 'wb') as f:
                        f.write(bytes(there[2]))
                else:
                    return None
                return f'{what} {a} {b}'

            check('at first')
            done = 0
            while done < rounds:
                what = change(random.choice(mounts))
                if what:
                    done += 1
                    check(f'change {done}, {what}')
            """;

    @ParameterizedTest
    @ValueSource(strings = {"lease", "nolease,attr_timeout=0"})
    void eachShowsAtOnceWhatTheOtherChanged(String options) throws IOException {
        long seed = TestSeed.of("LeaseMountTest");
        boolean leases = options.equals("lease");
        String name = "model-" + (leases ? "lease" : "nolease");
        cluster.work(name);
        String given = leases ? "attr_timeout=1" : options;
        try (Mount one = cluster.mount("one-" + name, "-o", given);
                Mount two = cluster.mount("two-" + name, "-o", given)) {
            Shell.run(
                            "python3",
                            "-c",
                            MODEL,
                            one.mnt().resolve(name).toString(),
                            two.mnt().resolve(name).toString(),
                            Long.toString(seed),
                            Integer.toString(ROUNDS))
                    .ok();
        }
    }

    private static final String STAT_AGAIN =
            """
            import os, sys
            for i in range(int(sys.argv[2])):
                assert os.stat(sys.argv[1] + '/d/f').st_size == 0
                assert not os.path.exists(sys.argv[1] + '/d/none')
            """;

    private static long asked(Mount mount) {
        return mount.log().lines().filter(l -> l.matches(".*> (lookup|getattr|statx) .*")).count();
    }

    private long askedByStats(String name, String options) throws IOException {
        Path work = cluster.work(name);
        Files.createDirectories(work.resolve("d"));
        Files.createFile(work.resolve("d/f"));
        try (Mount mount = cluster.mount("of-" + name, "-o", options)) {
            Path there = mount.mnt().resolve(name);
            long before = asked(mount);
            Shell.run("python3", "-c", STAT_AGAIN, there.toString(), "" + STATS).ok();
            return asked(mount) - before;
        }
    }

    /** A mount that is not asked asks no metadata server. */
    @Test
    void whatIsLookedAtAgainIsNotAskedFor() throws IOException {
        assertThat(askedByStats("again", "debug")).isLessThan(STATS / 10);
    }

    @Test
    void withoutLeasesEachNameIsAskedForEachTime() throws IOException {
        assertThat(askedByStats("always", "debug,nolease")).isGreaterThan(2 * STATS);
    }

    private static final String WRITE =
            """
            import sys
            for i in range(int(sys.argv[2])):
                for content in b'first', b'second':
                    with open(f'{sys.argv[1]}/{i}', 'wb') as f:
                        f.write(content)
            """;

    /** Requests for extended attributes that the metadata service has answered. */
    private double xattrsAsked() throws IOException, InterruptedException {
        Matcher line = XATTRS_ASKED.matcher(Prometheus.scrape(cluster, "mds-1"));
        assertThat(line.find()).isTrue();
        return Double.parseDouble(line.group(1));
    }

    private double xattrsAskedByWriting(String name, String options)
            throws IOException, InterruptedException {
        cluster.work(name);
        try (Mount mount = cluster.mount("of-" + name, "-o", options)) {
            double before = xattrsAsked();
            Path there = mount.mnt().resolve(name);
            Shell.run("python3", "-c", WRITE, there.toString(), "" + FILES).ok();
            return xattrsAsked() - before;
        }
    }

    /** Where the kernel asks for each file, but for those whose lease was over already. */
    @Test
    void whatIsMadeAndWrittenIsNotAskedForXattrs() throws IOException, InterruptedException {
        assertThat(xattrsAskedByWriting("bare-nolease", "nolease")).isGreaterThanOrEqualTo(FILES);
        assertThat(xattrsAskedByWriting("bare", "attr_timeout=1")).isLessThan(FILES / 2.0);
    }

    /** The other one's leases end; it is stopped until long after. */
    @Test
    void aMountThatIsStoppedDelaysOthersByALeaseAtMost() throws IOException {
        Path work = cluster.work("stopped");
        Files.createFile(work.resolve("f"));
        Files.createFile(work.resolve("g"));
        try (Mount stopped = cluster.mount("is-stopped")) {
            Path there = stopped.mnt().resolve("stopped");
            assertThat(Files.exists(there.resolve("f"))).isTrue();
            assertThat(Files.exists(there.resolve("none"))).isFalse();
            long pid = stopped.process().pid();
            Shell.run("kill", "-STOP", "" + pid).ok();
            try {
                Files.delete(work.resolve("f"));
                Files.createFile(work.resolve("none"));
                Files.move(work.resolve("g"), work.resolve("h"));
                assertThat(Files.readString(Path.of("/proc/" + pid + "/stat"))).contains(") T ");
            } finally {
                Shell.run("kill", "-CONT", "" + pid).ok();
            }
            assertThat(Files.exists(there.resolve("f"))).isFalse();
            assertThat(Files.exists(there.resolve("none"))).isTrue();
            assertThat(Files.exists(there.resolve("h"))).isTrue();
        }
    }
}
