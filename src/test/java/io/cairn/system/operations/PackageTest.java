package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The package that {@code make package} makes of what was built: unpacked below /opt, where its
 * units and docs/operations.md expect it, in a mount namespace of each script's own.
 */
@Tag("slow")
@Tag("part-6")
class PackageTest {
    /** Package and links stand as an administrator makes them; b is for everything else. */
    private static final String FRAME =
            """
            set -eE
            trap 'echo "line $LINENO: $BASH_COMMAND" >&2; cat $b/said $b/*.log 2>/dev/null | tail -n 20 >&2' ERR
            b='%s'
            export CAIRN_JAVA=$('%s/tools/java-home')/bin/java CAIRN_LOG_DIR=$b
            mkdir -p $b/mnt $b/sbin
            mount -t overlay overlay -o lowerdir=$b/opt:/opt /opt 2>/dev/null || mount --bind $b/opt /opt
            ln -sf /opt/cairn/tools/mount.cairn $b/sbin/mount.cairn
            ln -sf /opt/cairn/tools/mount.cairn $b/sbin/mount.fuse.cairn
            mount -t overlay overlay -o lowerdir=$b/sbin:/usr/sbin /usr/sbin
            """;

    @TempDir private static Path base;

    @BeforeAll
    static void unpack() throws IOException {
        Path opt = Files.createDirectories(base.resolve("opt"));
        Shell.run("make", "-s", "-C", Cluster.REPOSITORY.toString(), "package").ok();
        Path archive = Cluster.REPOSITORY.resolve("cli/target/cairn.tar.gz");
        Shell.run("tar", "-C", opt.toString(), "-xzf", archive.toString()).ok();
    }

    private static String run(String script) {
        String frame = FRAME.formatted(base, Cluster.REPOSITORY);
        return Shell.run("unshare", "-m", "bash", "-c", frame + script).ok().out();
    }

    /** Without a build and without the class cache, which /opt as mounted here cannot take. */
    @Test
    void runsWhereItWasUnpacked() {
        String out = run("unset CAIRN_NO_BUILD; cd /; /opt/cairn/cairn version");
        assertThat(out).isEqualTo(Cluster.cairn("version").ok().out());
    }

    /** The recorded run has a mount that was worked on: much more than what commands load. */
    @Test
    void recordsHowServersWorkAndLeavesNothingElse() {
        run(
                """
                target=/opt/cairn/cli/target
                cp -a /opt/cairn $b/recorded
                target=$b/recorded/cli/target
                ip link set lo up
                $b/recorded/cairn training
                [ $(stat -c %s $target/servers.aot) -gt $((3 * $(stat -c %s $target/commands.aot) / 2)) ]
                [ -z "$(ls $target | grep -E 'training|log|part')" ]
                $b/recorded/cairn version
                [ ! $target/commands.aot -nt $target/servers.aot ]
                rm -r $b/recorded
                """);
    }

    /** Each file of another's name in lib, with version and licence. */
    @Test
    void everyJarOfOthersIsNamedWithItsLicence() throws IOException {
        String notice = Files.readString(base.resolve("opt/cairn/THIRD-PARTY.txt"));
        List<String> entries = List.of(notice.split("\n\n"));
        try (Stream<Path> jars = Files.list(base.resolve("opt/cairn/cli/target/lib"))) {
            List<String> names =
                    jars.map(jar -> jar.getFileName().toString())
                            .filter(name -> name.endsWith(".jar") && !name.startsWith("cairn-"))
                            .toList();
            assertThat(names).hasSizeGreaterThan(30);
            for (String name : names) {
                assertThat(entries)
                        .as(name)
                        .filteredOn(entry -> names(entry, name))
                        .isNotEmpty()
                        .allSatisfy(entry -> assertThat(entry).containsPattern("licence +\\S"))
                        .allSatisfy(entry ->
                                assertThat(entry).doesNotContainPattern("(?i)unknown|not chosen"));
            }
        }
        assertThat(entries)
                .filteredOn(entry -> entry.strip().startsWith("jnr-posix-"))
                .singleElement()
                .asString()
                .containsPattern("licence +Eclipse Public License - v 2.0");
    }

    /** A classifier (linux-x86_64, native) may follow the version. */
    private static boolean names(String entry, String jar) {
        String first = entry.strip().lines().findFirst().orElse("");
        return !first.isEmpty() && (jar.equals(first + ".jar") || jar.startsWith(first + "-"));
    }

    /** systemd's own check where it is installed; it finds ExecStart, unknown keys and cycles. */
    @Test
    void unitsAreRightForWhereThePackageLies() {
        String said =
                run(
                        """
                        units=$(echo /opt/cairn/config/systemd/*.service)
                        sed -n 's/^Exec[A-Za-z]*=-\\?\\([^ ]*\\).*/\\1/p' $units | while read -r program; do [ -x $program ]; done
                        [ $(grep -c '^ExecStart=/' $units | grep -c ':1$') = 3 ]
                        if command -v systemd-analyze >/dev/null; then
                            systemd-analyze verify $units 2>&1
                            echo verified
                        fi
                        """);
        if (hasSystemd()) {
            assertThat(said.strip()).isEqualTo("verified");
        } else {
            System.out.println("PackageTest: no systemd-analyze here: only programs were checked");
        }
    }

    /** What comes later at boot is stopped earlier on the way down: mounts before servers. */
    @Test
    void mountsComeAfterTheServersOfTheirHost() throws IOException {
        for (String server : List.of("cairn-mds.service", "cairn-dataserver.service")) {
            String unit = Files.readString(base.resolve("opt/cairn/config/systemd/" + server));
            assertThat(unit).containsPattern("(?m)^After=.*network-online.target");
            assertThat(unit).containsPattern("(?m)^Before=.*remote-fs-pre.target");
            assertThat(unit).containsPattern("(?m)^Wants=.*remote-fs-pre.target");
            assertThat(
                            Files.readString(
                                    base.resolve("opt/cairn/config/systemd/cairn-mount.service")))
                    .containsPattern("(?m)^After=.*" + server);
        }
    }

    /** A line of fstab against the order that would be wrong: systemd sees a circle. */
    @Test
    void linesOfFstabComeAfterTheServersOfTheirHost() {
        assumeTrue(hasSystemd(), "not tested: no systemd-analyze here");
        String said =
                run(
                        """
                        generator=/usr/lib/systemd/system-generators/systemd-fstab-generator
                        echo 'mds1:7000,mds2:7000,mds3:7000:/ /mnt/cairn cairn _netdev,nofail 0 0' >$b/fstab
                        mkdir $b/units
                        SYSTEMD_FSTAB=$b/fstab SYSTEMD_LOG_TARGET=console $generator $b/units $b/units $b/units
                        cd $b/units
                        cp /opt/cairn/config/systemd/*.service .
                        printf '[Unit]\nWants=mnt-cairn.mount cairn-mds.service cairn-dataserver.service\n' >all.target
                        systemd-analyze verify ./all.target 2>&1
                        for server in mds dataserver; do
                            echo $server
                            cp /opt/cairn/config/systemd/*.service .
                            sed -i 's/^After=/After=mnt-cairn.mount /' cairn-$server.service
                            systemd-analyze verify ./all.target 2>&1
                        done
                        """);
        assertThat(said).startsWith("mds\n"); // nothing wrong as they are
        assertThat(said)
                .containsPattern("Found (ordering cycle|dependency) on cairn-mds.service")
                .containsPattern("Found (ordering cycle|dependency) on cairn-dataserver.service");
    }

    private static boolean hasSystemd() {
        return Shell.bash("command -v systemd-analyze").exitCode() == 0;
    }

    /** As a host goes through it: mounted at boot, unmounted before the servers stop, and again. */
    @Test
    void aLineOfFstabOverARestartOfEverything() {
        run(
                """
                up="/opt/cairn/cairn up $b/all --dir $b/state"
                ended() { umount -l $b/mnt 2>/dev/null || true; /opt/cairn/cairn down --dir $b/state >/dev/null 2>&1; }
                trap ended EXIT
                mkdir -p $b/all
                $up >$b/said 2>&1
                mds=$(/opt/cairn/cairn status --json --dir $b/state | python3 -c 'import json,sys; print(json.load(sys.stdin)["mds"][0]["address"])')
                echo "$mds:/ $b/mnt cairn _netdev,nofail,x-systemd.requires=network-online.target 0 0" >$b/fstab
                mount -a -T $b/fstab
                findmnt -n -t fuse.cairn --mountpoint $b/mnt
                cp -r /opt/cairn/config $b/mnt/
                mount -T $b/fstab -o remount,ro $b/mnt
                ! touch $b/mnt/new 2>/dev/null
                mount -T $b/fstab -o remount,rw $b/mnt
                umount $b/mnt
                /opt/cairn/cairn down --dir $b/state
                $up >$b/said 2>&1
                mount -a -T $b/fstab
                diff -r /opt/cairn/config $b/mnt/config
                umount $b/mnt
                ! findmnt -n --mountpoint $b/mnt
                """);
    }

    @Test
    void wrongLinesOfFstabSayWhatIsWrong() {
        refused("127.0.0.1:1:/ $b/mnt cairn soft,nonsense=1 0 0", "nonsense");
        refused("127.0.0.1:1:/ $b/mnt cairn timeo=often 0 0", "timeo");
        refused("127.0.0.1:1:/ $b/mnt cairn binding=other 0 0", "binding");
        refused("nobody: $b/mnt cairn defaults 0 0", "nobody");
        refused("127.0.0.1:1:/ $b/none cairn defaults 0 0", "/none does not exist: mkdir -p");
        refused("127.0.0.1:1:/ $b/file cairn defaults 0 0", "/file is not a directory");
    }

    private static void refused(String line, String word) {
        String said =
                run(
                        """
                        : >$b/file
                        echo "%s" >$b/fstab
                        point=$(awk '{ print $2 }' $b/fstab)
                        code=0; mount -T $b/fstab $point >$b/said 2>&1 || code=$?
                        [ $code != 0 ]
                        cat $b/said
                        """
                                .formatted(line));
        assertThat(said).as(line).contains(word).doesNotContain("Exception");
        assertThat(said.lines().count()).as("%s: %s", line, said).isLessThanOrEqualTo(2);
    }
}
