package io.cairn.system.operations;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.cairn.client.CairnClients;
import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.HostPort;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.NfsClient;
import io.cairn.system.support.NfsGateway;
import io.cairn.system.support.Shell;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A mount exported by nfs-ganesha with the configuration and the options that docs/nfs.md tells to
 * use, and clients of NFS versions 3 and 4 over the wire.
 */
@Tag("slow")
@Tag("part-5")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class NfsTest {
    private static final int ENTRIES = 10_000;

    /**
     * One of so many entries is a file, the others are symbolic links: ganesha opens files three
     * times when it lists them, each an entry of the Raft log, so that 10,000 take minutes.
     */
    private static final int ENTRIES_PER_FILE =
            Integer.getInteger("cairn.test.scale", 1) > 1 ? 1 : 20;

    private static final String OPTIONS = "wsync,direct_io,attr_timeout=0";

    private @Nullable Cluster cluster;
    private @Nullable Mount mount;
    private @Nullable NfsGateway gateway;
    private @Nullable NfsClient client;

    @BeforeAll
    void startGateway() {
        List<String> missing = NfsGateway.missing();
        assumeTrue(missing.isEmpty(), () -> "not tested, missing: " + missing + " (make setup)");
        Cluster made = Cluster.temporary();
        cluster = made;
        made.up();
        Shell.run("install", "-d", "-o", "1000", "-g", "1000", made.mnt() + "/nfs").ok();
        mount = made.mount("gateway", "-o", OPTIONS);
        NfsGateway started = new NfsGateway(made.base().resolve("nfs"), mount.mnt());
        gateway = started;
        started.start();
        client = started.client();
        nfs("local = '" + made.mnt() + "'\n");
    }

    @AfterAll
    void end() {
        try (Cluster _ = cluster;
                NfsGateway _ = gateway) {
            // In the reverse order.
        }
    }

    private static <T> T there(@Nullable T started) {
        if (started == null) {
            throw new AssertionError("not started");
        }
        return started;
    }

    private void nfs(String script) {
        try {
            there(client).run(script);
        } catch (AssertionError e) {
            throw new AssertionError(e.getMessage() + "\n" + there(gateway).logs(), e);
        }
    }

    private void local(String script) {
        Shell.bash("set -e; cd '" + there(cluster).mnt() + "/nfs'; " + script).ok();
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4})
    void whatIsWrittenIsReadBackAndNamesChange(int version) {
        nfs(
                """
                c = Client(%1$d); d = '/nfs/work%1$d'; c.mkdir(d)
                data = os.urandom(3 << 20 | 77 if %1$d == 3 else 100_077)
                c.write(d + '/f', data); assert c.read(d + '/f') == data
                assert open(local + d + '/f', 'rb').read() == data
                f = c.open(d + '/f', O_RDWR); f.write(1 << 16, b'in the middle'); f.commit()
                assert f.read(1 << 16, 13) == b'in the middle'
                f.truncate(5); assert f.read() == data[:5] and f.stat().size == 5; f.close()
                c.mkdir(d + '/e'); c.rename(d + '/f', d + '/e/g')
                assert c.read(d + '/e/g') == data[:5]; fails(errno.ENOENT, c.stat, d + '/f')
                c.link(d + '/e/g', d + '/h'); assert c.stat(d + '/h').nlink == 2
                assert c.stat(d + '/h').ino == os.stat(local + d + '/e/g').st_ino
                c.symlink('e/g', d + '/l'); assert os.readlink(local + d + '/l') == 'e/g'
                c.write(d + '/over', b'old'); c.rename(d + '/h', d + '/over')
                assert c.read(d + '/over') == data[:5]
                fails(errno.ENOTEMPTY, c.rmdir, d + '/e')
                assert sorted(c.names(d)) == ['e', 'l', 'over']
                for n in ('/l', '/over', '/e/g'): c.unlink(d + n)
                c.rmdir(d + '/e'); c.rmdir(d); fails(errno.ENOENT, c.stat, d)
                """
                        .formatted(version));
    }

    @Test
    void rootOfAClientIsNobodyAndOthersHaveTheirRights() {
        nfs(
                """
                Client(3).write('/nfs/mine', b'mine'); h = handle4('/nfs/mine')
                assert Client(3, uid=1001).read('/nfs/mine') == b'mine'
                for uid in (0, 1001):
                    c = Client(3, uid)
                    fails(errno.EACCES, c.write, '/nfs/theirs', b'')
                    fails(errno.EACCES, c.unlink, '/nfs/mine')
                    fails(NFS4ERR_ACCESS, write4, h, 0, b'no', FILE_SYNC, uid)
                Client(3).unlink('/nfs/mine')
                """);
    }

    /** Version 3 has no opens, so there a removed file is stale at once. */
    @Test
    void aFileThatIsRemovedWhileOpenStaysUntilItIsClosed() {
        nfs(
                """
                c = Client(4); c.write('/nfs/open', b'before')
                h = handle4('/nfs/open'); f = c.open('/nfs/open', O_RDWR); g = Client(3).open('/nfs/open')
                c.unlink('/nfs/open'); assert 'open' not in c.names('/nfs')
                f.write(3, b'ind'); f.commit(); assert f.read() == b'befind'
                f.close()
                fails(NFS4ERR_STALE, read4, h); fails(errno.ESTALE, g.stat)
                """);
    }

    @Test
    void aDirectoryOfManyEntries() {
        local("mkdir many");
        make(ENTRIES, "many");
        nfs(
                """
                names = names3(handle3('/nfs/many'))
                assert sorted(names) == ['f%%05d' %% i for i in range(1, %d)], len(names)
                """
                        .formatted(ENTRIES + 1));
        local("cd many; rm f*77; for i in f*99; do mv $i new-$i; done; touch last");
        nfs(
                """
                expected = sorted(os.listdir(local + '/nfs/many')); assert len(expected) == %d
                assert sorted(Client(4).names('/nfs/many')) == expected
                """
                        .formatted(ENTRIES - ENTRIES / 100 + 1));
    }

    /** By the client library: a kernel makes one file of a directory after the other. */
    private void make(int files, String directory) {
        HostPort mds = HostPort.parse(there(cluster).mds());
        try (CairnClient direct = CairnClients.connect(ClientConfig.of(List.of(mds)))) {
            long inode = direct.rootInode();
            for (String name : List.of("nfs", directory)) {
                inode = direct.lookup(inode, name.getBytes(UTF_8)).join().getInode();
            }
            List<CompletableFuture<Attr>> made = new ArrayList<>();
            for (int i = 1; i <= files; i++) {
                byte[] name = String.format(Locale.ROOT, "f%05d", i).getBytes(UTF_8);
                Credentials root = Credentials.getDefaultInstance();
                made.add(
                        i % ENTRIES_PER_FILE == 0
                                ? direct.mknod(inode, name, Mode.REGULAR | 0644, 0, root)
                                : direct.symlink(inode, name, name, root));
            }
            made.forEach(CompletableFuture::join);
        }
    }

    @Test
    void whatOtherMountsChangeIsSeenAtOnce() {
        nfs(
                """
                c = Client(3); c4 = Client(4); c.write('/nfs/shared', b'AAAA')
                f = c.open('/nfs/shared'); g = c4.open('/nfs/shared')
                for data in (b'BBBB', b'CCCCCCCC', b'DD'):
                    assert c.names('/nfs') and c.stat('/nfs/shared')
                    size = max(len(data), f.stat().size)
                    with open(local + '/nfs/shared', 'r+b') as o: o.write(data)
                    assert f.read()[:len(data)] == data and g.read()[:len(data)] == data
                    assert f.stat().size == size and c4.stat('/nfs/shared').size == size
                os.truncate(local + '/nfs/shared', 1); assert f.read() == g.read() == b'D'
                os.rename(local + '/nfs/shared', local + '/nfs/elsewhere')
                for client in (c, c4):
                    fails(errno.ENOENT, client.stat, '/nfs/shared')
                    assert client.read('/nfs/elsewhere') == b'D'
                open(local + '/nfs/shared', 'w').close(); assert c4.stat('/nfs/shared').size == 0
                """);
    }

    private static final String TAKE_HANDLES =
            """
            c = Client(3); c.mkdir('/nfs/a'); c.mkdir('/nfs/a/b')
            for f in ('a/b/deep', 'kept', 'gone', 'renamed'): c.write('/nfs/' + f, f.encode())
            opened = {f: c.open('/nfs/' + f) for f in ('a/b/deep', 'kept', 'gone', 'renamed')}
            handles = {f: handle4('/nfs/' + f) for f in opened}
            directory = handle4('/nfs/a/b'); empty = handle4('/nfs/a')
            c.unlink('/nfs/gone'); c.rename('/nfs/renamed', '/nfs/a/other'); c.rename('/nfs/a', '/nfs/z')
            def check_handles():
                for f in opened:
                    if f == 'gone':
                        fails(NFS4ERR_STALE, read4, handles[f]); fails(errno.ESTALE, opened[f].stat)
                    else:
                        assert read4(handles[f]) == opened[f].read() == f.encode()
                assert read4(directory, 'deep') == b'a/b/deep'
                assert read4(empty, 'other') == b'renamed'
                assert c.names('/nfs/z/b') == ['deep'] and Client(4).read('/nfs/kept') == b'kept'
            check_handles()
            """;

    /** Of three kinds: FILE_SYNC, UNSTABLE and COMMIT, and UNSTABLE alone, which wsync keeps. */
    private static final String WRITE_STABLE =
            """
            def write_stable(round):
                c = Client(3); d = '/nfs/%s' % round; c.mkdir(d)
                for f in ('sync', 'committed', 'unstable', 'overwritten'): c.write(d + '/' + f, b'x' * 9000)
                old = os.stat(local + d + '/overwritten').st_ctime_ns
                c.write(d + '/moved', b'moved'); c.rename(d + '/moved', d + '/target'); c.mkdir(d + '/e')
                c.write(d + '/removed', b''); c.unlink(d + '/removed')
                write4(handle4(d + '/overwritten'), 0, b'O' * 100)
                write4(handle4(d + '/sync'), 8000, b's' * 20000)
                h = handle4(d + '/committed'); write4(h, 8000, b'c' * 20000, UNSTABLE); commit4(h)
                write4(handle4(d + '/unstable'), 8000, b'u' * 20000, UNSTABLE)
                return old
            def check_stable(round, old):
                c = Client(3); d = '/nfs/%s' % round
                for f in ('sync', 'committed', 'unstable'):
                    assert c.read(d + '/' + f) == b'x' * 8000 + f[:1].encode() * 20000, f
                assert c.read(d + '/overwritten') == b'O' * 100 + b'x' * 8900
                assert os.stat(local + d + '/overwritten').st_ctime_ns > old
                assert sorted(c.names(d)) == ['committed', 'e', 'overwritten', 'sync', 'target', 'unstable']
            """;

    /** File handles live on, ESTALE only for what was removed, and what was answered is there. */
    @Test
    void handlesAndAnswersSurviveEveryRestart() throws Exception {
        Cluster all = there(cluster);
        NfsGateway server = there(gateway);
        nfs(TAKE_HANDLES);
        nfs(WRITE_STABLE);
        nfs("open('/proc/sys/vm/drop_caches', 'w').write('2')\ncheck_handles()\n");

        server.kill();
        server.start();
        nfs("check_handles()");

        // Another mount takes the number of the device, which ganesha would put into its handles.
        server.kill();
        there(mount).close();
        try (Mount _ = all.mount("between")) {
            mount = all.mount("gateway", "-o", OPTIONS);
        }
        server.start();
        nfs("check_handles()");

        // The servers alone: whoever waits for them goes on.
        nfs("old = write_stable('servers')");
        all.kill9();
        CompletableFuture<Void> waits =
                there(client)
                        .begin(
                                """
                                c.mkdir('/nfs/waited'); c.write('/nfs/waited/f', b'for'); check_handles()
                                """);
        all.up();
        waits.get(2, TimeUnit.MINUTES);
        nfs("check_stable('servers', old); assert c.read('/nfs/waited/f') == b'for'");

        nfs("old = write_stable('everything')");
        all.kill9();
        there(mount).kill();
        server.kill();
        all.up();
        mount = all.mount("gateway", "-o", OPTIONS);
        server.start();
        nfs("check_stable('everything', old); check_stable('servers', 0); check_handles()");
        assertThat(all.process("embedded")).isPresent();
    }
}
