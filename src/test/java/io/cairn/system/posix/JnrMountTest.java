package io.cairn.system.posix;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * A mount through libfuse 2 beside one through /dev/fuse, of the same cluster: what the one does,
 * the other sees. {@code -Dcairn.test.binding=jnr} runs the other classes through libfuse 2 too.
 */
@ExtendWith(SharedCluster.class)
class JnrMountTest {
    private static final String[] JNR = {"-o", "binding=jnr"};

    private final Cluster cluster;

    JnrMountTest(Cluster cluster) {
        this.cluster = cluster;
    }

    /** Arguments: a directory of the one mount, and the same one of the other. */
    private static final String ORDINARY_WORK =
            """
            import concurrent.futures, errno, os, random, stat, subprocess, sys
            here, there = sys.argv[1:]
            r = random.Random(5)

            def write(path, data, flags=os.O_CREAT | os.O_RDWR, at=0):
                f = os.open(path, flags, 0o644)
                while data:
                    n = os.pwrite(f, data, at)
                    data, at = data[n:], at + n
                os.close(f)

            def read(path):
                with open(path, 'rb') as f:
                    return f.read()

            def refused(error, call, *args):
                try:
                    call(*args)
                except OSError as e:
                    assert e.errno == error, e
                else:
                    assert False, 'not refused'

            # Contents, holes and cuts, each seen by the other when it is closed.
            model = bytearray()
            for i in range(40):
                one, other = (here, there) if i % 2 else (there, here)
                at, data = r.randrange(1 << 20), r.randbytes(r.randrange(1, 300000))
                write(one + '/f', data, at=at)
                model.extend(bytes(max(0, at + len(data) - len(model))))
                model[at:at + len(data)] = data
                assert read(other + '/f') == model, i
                cut = r.randrange(2 << 20)
                os.truncate(other + '/f', cut)
                model = bytearray((model + bytes(cut))[:cut])
                assert read(one + '/f') == model, i
                assert os.stat(other + '/f').st_size == cut

            # Names.
            os.rename(here + '/f', here + '/g')
            assert os.path.exists(there + '/g') and not os.path.exists(there + '/f')
            os.symlink('g', here + '/s')
            assert os.readlink(there + '/s') == 'g' and read(there + '/s') == model
            os.link(here + '/g', here + '/h')
            assert os.stat(there + '/h').st_nlink == 2
            assert os.stat(here + '/h').st_ino == os.stat(there + '/g').st_ino
            os.mkdir(there + '/d', 0o750)
            assert stat.S_IMODE(os.stat(here + '/d').st_mode) == 0o750
            odd = (here + '/d/').encode() + bytes([255, 10, 32, 92])
            write(odd, b'odd')
            assert os.listdir((there + '/d').encode()) == [bytes([255, 10, 32, 92])]
            refused(errno.ENOTEMPTY, os.rmdir, here + '/d')
            os.unlink(odd)
            os.rmdir(here + '/d')
            refused(errno.ENOENT, os.stat, there + '/d')

            # Attributes.
            os.setxattr(here + '/g', 'user.colour', b'blue')
            assert os.getxattr(there + '/g', 'user.colour') == b'blue'
            assert os.listxattr(here + '/g') == ['user.colour']
            os.chown(here + '/g', 12, 34)
            os.chmod(here + '/g', 0o640)
            os.utime(here + '/g', ns=(1_000_000_007, 2_000_000_009))
            s = os.stat(there + '/g')
            assert (s.st_uid, s.st_gid, stat.S_IMODE(s.st_mode)) == (12, 34, 0o640)
            assert (s.st_atime_ns, s.st_mtime_ns) == (1_000_000_007, 2_000_000_009)
            os.mkfifo(here + '/p')
            assert stat.S_ISFIFO(os.stat(there + '/p').st_mode)
            assert os.statvfs(here).f_blocks == os.statvfs(there).f_blocks
            # Whoever may not, may not.
            assert subprocess.run(['setpriv', '--reuid=65534', '--clear-groups', 'cat', here + '/g'],
                                  stderr=subprocess.DEVNULL).returncode != 0

            # Removed while it is open: nothing hidden is left.
            os.mkdir(here + '/e')
            f = os.open(here + '/e/f', os.O_CREAT | os.O_RDWR)
            os.unlink(here + '/e/f')
            assert os.listdir(there + '/e') == []
            os.rmdir(here + '/e')
            os.write(f, b'still here')
            assert os.pread(f, 99, 0) == b'still here'
            os.close(f)

            # Records of both stand one behind the other.
            for i in range(40):
                write((here if i % 2 else there) + '/log', b'%d\\n' % i,
                      os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            assert read(here + '/log').split() == [b'%d' % i for i in range(40)]

            # A large directory.
            os.mkdir(here + '/many')
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                list(pool.map(lambda i: os.mknod('%s/many/%d' % (there, i)), range(2000)))
            for mount in here, there:
                assert sorted(map(int, os.listdir(mount + '/many'))) == list(range(2000))
            print('done')
            """;

    @Test
    void ordinaryWorkBesideANativeMount() {
        Path work = cluster.work("jnr");
        try (Mount jnr = cluster.mount("jnr-work", JNR)) {
            Path same = jnr.mnt().resolve("jnr");
            Shell.Result result =
                    Shell.run("python3", "-c", ORDINARY_WORK, same.toString(), work.toString());
            assertThat(result.ok().out()).endsWith("done\n");
        }
        Shell.run("rm", "-rf", work.toString()).ok();
    }

    @Test
    void withoutTheLibraryTheMessageNamesItsPackage() {
        String script =
                """
                for library in $(ldconfig -p | sed -n 's/.*libfuse[.]so[.]2 .*=> //p'); do
                    mount --bind /dev/null "$(readlink -f "$library")" || exit
                done
                exec "$1" mount "$2" "$3" -o binding=jnr
                """;
        Path mountPoint = cluster.base().resolve("jnr-without");
        Shell.run("mkdir", mountPoint.toString()).ok();
        Shell.Result result =
                Shell.run(
                        "unshare",
                        "-m",
                        "bash",
                        "-c",
                        script,
                        "bash",
                        Cluster.REPOSITORY.resolve("cairn").toString(),
                        cluster.mds(),
                        mountPoint.toString());
        assertThat(result.exitCode()).isNotZero();
        assertThat(result.err())
                .contains("cairn: binding=jnr needs libfuse 2")
                .contains("apt install libfuse2")
                .doesNotContain("\tat ");
    }
}
