package io.cairn.system.posix;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.seed.TestSeed;
import io.cairn.system.support.Cluster;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import io.cairn.system.support.TreeSnapshot;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** What people do on a file system, on one mounted embedded cluster. */
@Tag("part-4")
@ExtendWith(SharedCluster.class)
class FileSystemTest {
    /** Multiplies the number of files and bytes; 10 is what a release is tried with. */
    private static final int SCALE = Integer.getInteger("cairn.test.scale", 1);

    private final Cluster cluster;

    FileSystemTest(Cluster cluster) {
        this.cluster = cluster;
    }

    @Test
    @Tag("slow")
    void aTreeComesBackIdenticalAfterKill9() {
        Path source = Path.of(SCALE > 1 ? "/usr/include" : "/usr/include/linux");
        Path copy = cluster.mnt().resolve("include");
        Shell.run("cp", "-a", source.toString(), copy.toString()).ok();
        // Links, owners and attributes that /usr/include does not have.
        Path extra = cluster.mnt().resolve("extra");
        Path local = cluster.base().resolve("extra");
        Shell.bash(
                        "mkdir -p '%1$s' && cd '%1$s' && echo a >a && ln a b && ln -s a c && ln -s nowhere d"
                                        .formatted(local)
                                + " && mkdir e && mkfifo e/f && mknod e/g c 1 3 && chown 12:34 a"
                                + " && chmod 4711 a && chmod 2770 e && touch -d 2001-02-03T04:05:06.789012345 e/f"
                                + " && setfattr -n user.colour -v blue a && setfattr -n user.empty e && cp -a '%1$s' '%2$s'"
                                        .formatted(local, extra))
                .ok();
        TreeSnapshot original = TreeSnapshot.of(source);
        TreeSnapshot originalExtra = TreeSnapshot.of(local);
        assertThat(original.size()).isGreaterThan(500);
        TreeSnapshot.of(copy).assertSameAs(original);
        TreeSnapshot.of(extra).assertSameAs(originalExtra);

        Shell.bash("find '%s' -type f -exec sync {} +".formatted(cluster.mnt())).ok();
        cluster.kill9();
        cluster.up();
        TreeSnapshot.of(copy).assertSameAs(original);
        TreeSnapshot.of(extra).assertSameAs(originalExtra);

        cluster.down();
        cluster.up();
        TreeSnapshot.of(copy).assertSameAs(original);
        TreeSnapshot.of(extra).assertSameAs(originalExtra);
    }

    @Test
    void gitRepositoryIsClonedAndChecked() {
        Path w = cluster.work("git");
        String script =
                """
                set -e
                cd '%1$s'
                export GIT_CONFIG_GLOBAL=/dev/null
                objects() { find .git/objects -type f -path '*/??/*' | wc -l; }
                git init -q origin; cd origin
                git config user.email a@b; git config user.name n; git config gc.auto 0
                for i in $(seq 1 %2$d); do
                    mkdir d$i
                    for j in $(seq 1 100); do echo "$i $j $RANDOM" >d$i/f$j; done
                    git add -A; git commit -qm "commit $i"
                done
                objects; git fsck --strict
                cd ..; git clone -q --no-hardlinks origin clone; cd clone
                objects; git fsck --strict; git gc -q; git fsck --strict
                diff -r --exclude=.git ../origin .
                """;
        assertThat(Shell.bash(script.formatted(w, 2 * SCALE)).ok().out().lines())
                .as("objects of the origin and of its clone")
                .hasSize(2)
                .allSatisfy(
                        count -> assertThat(Integer.parseInt(count)).isGreaterThan(200 * SCALE));
    }

    @Test
    void programIsCompiledAndRun() throws IOException {
        Path w = cluster.work("compile");
        Files.writeString(
                w.resolve("main.c"),
                "#include <stdio.h>\nint main(void) { puts(\"built on Cairn\"); return 0; }\n");
        Files.writeString(
                w.resolve("Makefile"),
                "main: main.o\n\tcc -o $@ $<\nmain.o: main.c\n\tcc -c -o $@ $<\n");
        Shell.run("make", "-s", "-C", w.toString()).ok();
        assertThat(Shell.run(w.resolve("main").toString()).ok().out())
                .isEqualTo("built on Cairn\n");
    }

    @Test
    void sqliteWritesAndChecks() {
        Path db = cluster.work("sqlite").resolve("test.db");
        for (String mode : List.of("delete", "truncate", "persist")) {
            String sql =
                    """
                    PRAGMA journal_mode=%s;
                    CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, v BLOB);
                    BEGIN;
                    WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<5000)
                        INSERT INTO t(v) SELECT randomblob(200) FROM c;
                    COMMIT;
                    DELETE FROM t WHERE id %% 7 = 0;
                    VACUUM;
                    PRAGMA integrity_check;
                    """
                            .formatted(mode);
            String out = Shell.run("sqlite3", db.toString(), sql).ok().out();
            assertThat(out).endsWith("ok\n");
        }
    }

    @Test
    void fioVerifiesRandomBlockSizes() {
        Path w = cluster.work("fio");
        Shell.run(
                        "fio",
                        "--name=verify",
                        "--directory=" + w,
                        "--size=48M",
                        "--rw=randwrite",
                        "--bsrange=512-128k",
                        "--bs_unaligned",
                        "--verify=crc32c",
                        "--verify_state_save=0",
                        "--do_verify=1",
                        "--verify_fatal=1",
                        "--verify_state_save=0",
                        "--fsync=64",
                        "--ioengine=psync")
                .ok();
        Shell.run(
                        "fio",
                        "--name=direct",
                        "--directory=" + w,
                        "--size=64M",
                        "--rw=randwrite",
                        "--bsrange=4k-256k",
                        "--blockalign=4k",
                        "--verify=crc32c",
                        "--verify_state_save=0",
                        "--do_verify=1",
                        "--verify_fatal=1",
                        "--verify_state_save=0",
                        "--direct=1",
                        "--ioengine=libaio",
                        "--iodepth=32")
                .ok();
    }

    /** More and larger requests than the servers' and the mount's memory may hold at once. */
    @Test
    void deepQueuesOfLargeRequests() {
        Path w = cluster.work("deep");
        for (String size : List.of("128k", "4M")) {
            for (String kind : List.of("write", "randread", "randwrite")) {
                Shell.run(
                                "fio",
                                "--name=deep",
                                "--directory=" + w,
                                "--size=" + 32 * SCALE + "M",
                                "--rw=" + kind,
                                "--bs=" + size,
                                "--direct=1",
                                "--ioengine=libaio",
                                "--iodepth=64",
                                "--numjobs=4")
                        .ok();
            }
        }
        Shell.run("rm", "-r", w.toString()).ok();
    }

    @Test
    @Tag("native-binding")
    void mmapReadsAndWrites() throws IOException {
        Path file = cluster.work("mmap").resolve("f");
        int size = 3 << 20;
        try (FileChannel c =
                FileChannel.open(
                        file,
                        StandardOpenOption.CREATE,
                        StandardOpenOption.READ,
                        StandardOpenOption.WRITE)) {
            c.write(ByteBuffer.wrap(new byte[] {1}), size - 1L);
            var map = c.map(FileChannel.MapMode.READ_WRITE, 0, size);
            for (int i = 0; i < size; i += 997) {
                map.put(i, (byte) (i % 251));
            }
            map.force();
        }
        byte[] back = Files.readAllBytes(file);
        assertThat(back).hasSize(size);
        for (int i = 0; i < size; i += 997) {
            assertThat(back[i]).isEqualTo((byte) (i % 251));
        }
    }

    @Test
    @Tag("slow")
    void manyFilesInOneDirectory() throws IOException {
        int count = 1_200 * SCALE;
        Path w = cluster.work("many");
        Shell.run(
                        "python3",
                        "-c",
                        """
                        import os,sys,concurrent.futures as f
                        d,n=sys.argv[1],int(sys.argv[2])
                        def make(i):
                         os.close(os.open(f'{d}/f{i:06d}',os.O_CREAT|os.O_EXCL|os.O_WRONLY))
                        with f.ThreadPoolExecutor(32) as p: list(p.map(make,range(n),chunksize=100))
                        """,
                        w.toString(),
                        "" + count)
                .ok();
        Set<String> names = new HashSet<>();
        int listed = 0;
        try (Stream<Path> list = Files.list(w)) {
            for (Path p : (Iterable<Path>) list::iterator) {
                names.add(p.getFileName().toString());
                listed++;
            }
        }
        assertThat(listed).isEqualTo(count);
        assertThat(names).hasSize(count);
        Shell.run("rm", "-rf", w.toString()).ok();
        assertThat(w).doesNotExist();
    }

    @Test
    void readdirStaysRightWhileEntriesComeAndGo() throws Exception {
        Path w = cluster.work("cursor");
        for (int i = 0; i < 500; i++) {
            Files.createFile(w.resolve("stays" + i));
        }
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch churned = new CountDownLatch(1);
        AtomicBoolean failed = new AtomicBoolean();
        Thread churn =
                new Thread(() -> {
                    try {
                        for (int i = 0; i < 800 * SCALE && !stop.get(); i++) {
                            Path p = w.resolve("comes" + i);
                            Files.createFile(p);
                            if (i >= 50) {
                                Files.delete(w.resolve("comes" + (i - 50)));
                            }
                        }
                    } catch (IOException e) {
                        failed.set(true);
                    } finally {
                        churned.countDown();
                    }
                });
        churn.start();
        int rounds = 0;
        while (churned.getCount() > 0 || rounds < 3) {
            List<String> names;
            try (Stream<Path> list = Files.list(w)) {
                names = list.map(p -> p.getFileName().toString()).toList();
            }
            assertThat(names).as("no name twice").doesNotHaveDuplicates();
            assertThat(names.stream().filter(n -> n.startsWith("stays")).count())
                    .as("every name that stays is listed")
                    .isEqualTo(500);
            rounds++;
        }
        stop.set(true);
        assertThat(churned.await(1, TimeUnit.MINUTES)).isTrue();
        assertThat(failed).isFalse();
    }

    @Test
    void sparseFileOfTenGibibytes() throws IOException {
        Path file = cluster.work("sparse").resolve("f");
        long size = 10L << 30;
        try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
            f.setLength(size);
            f.seek(size / 2 + 123);
            f.write("middle".getBytes(UTF_8));
            f.seek(size - 3);
            f.write("end".getBytes(UTF_8));
            f.getFD().sync();
            byte[] bytes = new byte[4096];
            for (long at : new long[] {0, 1L << 32, size / 2 - 4096, size - 8192}) {
                f.seek(at);
                f.readFully(bytes);
                assertThat(bytes).containsOnly(0);
            }
            f.seek(size / 2 + 120);
            byte[] middle = new byte[12];
            f.readFully(middle);
            assertThat(new String(middle, UTF_8)).isEqualTo("\0\0\0middle\0\0\0");
        }
        assertThat(Files.size(file)).isEqualTo(size);
        Files.delete(file);
    }

    @Test
    void namesOfAnyBytes() {
        Path w = cluster.work("names");
        Shell.run(
                        "python3",
                        "-c",
                        """
                        import os,sys
                        d=sys.argv[1].encode()
                        names=[bytes([b]) for b in range(1,256) if b not in b'/.']
                        names+=[b'x'*255,bytes([0xff])*255,b'\\xc3('+b'\\n',b'  ',b'...']
                        for n in names:
                         f=os.open(d+b'/'+n,os.O_CREAT|os.O_EXCL|os.O_WRONLY);os.write(f,n);os.close(f)
                        assert sorted(os.listdir(d))==sorted(names)
                        for n in names:
                         assert open(d+b'/'+n,'rb').read()==n
                        try: os.mkdir(d+b'/'+b'y'*256); assert False
                        except OSError as e: assert e.errno==36,e
                        for n in names: os.unlink(d+b'/'+n)
                        assert os.listdir(d)==[]
                        """,
                        w.toString())
                .ok();
    }

    @Test
    void unlinkedOpenFileStaysUntilTheLastClose() throws IOException {
        Path dir = cluster.work("unlinked").resolve("d");
        Files.createDirectory(dir);
        Path file = dir.resolve("f");
        try (RandomAccessFile f = new RandomAccessFile(file.toFile(), "rw")) {
            f.write("before".getBytes(UTF_8));
            Files.delete(file);
            Files.delete(dir); // nothing hidden is left in it
            f.write(" after".getBytes(UTF_8));
            f.seek(0);
            byte[] all = new byte[12];
            f.readFully(all);
            assertThat(new String(all, UTF_8)).isEqualTo("before after");
        }
    }

    @Test
    void truncateAndGrowthAreRightToTheByte() {
        Path w = cluster.work("truncate");
        Shell.run(
                        "python3",
                        "-c",
                        """
                        import os,sys,random
                        seed=int(sys.argv[2]);print('seed',seed);r=random.Random(seed)
                        f=os.open(sys.argv[1]+'/f',os.O_RDWR|os.O_CREAT)
                        model=bytearray()
                        top=9<<20
                        for i in range(300):
                         k=r.randrange(3)
                         if k==0:
                          n=r.randrange(top);os.ftruncate(f,n)
                          model=model[:n]+bytes(max(0,n-len(model)))
                         elif k==1:
                          at=r.randrange(top);b=r.randbytes(r.choice([1,100,4096,5000,300000]))
                          assert os.pwrite(f,b,at)==len(b)
                          model.extend(bytes(max(0,at+len(b)-len(model))));model[at:at+len(b)]=b
                         else:
                          at=r.randrange(top);n=r.choice([1,4096,70000,2<<20])
                          assert os.pread(f,n,at)==bytes(model[at:at+n]),(i,at,n)
                         assert os.fstat(f).st_size==len(model),i
                        assert os.pread(f,len(model)+1,0)==bytes(model)
                        """,
                        w.toString(),
                        "" + TestSeed.of("FileSystemTest"))
                .ok();
    }

    @Test
    void aWriteTakesBackAnMtimeFromTheFutureAndAnExplicitOneStays() {
        Path w = cluster.work("times");
        Shell.bash(
                        ("set -e; cd '%s'; echo x >f; touch -d 2099-01-01 f;"
                                        + " [ $(stat -c %%Y f) = $(date -d 2099-01-01 +%%s) ];"
                                        + " touch before; echo x >>f; [ f -nt before ];"
                                        + " [ $(stat -c %%Y f) -le $(date +%%s) ];"
                                        + " touch -d 2001-02-03 old; cp -p old copy; cat f >>copy;"
                                        + " touch -r old copy; sync copy;"
                                        + " [ $(stat -c %%Y copy) = $(stat -c %%Y old) ]")
                                .formatted(w))
                .ok();
    }

    /** What an NFS server does: it names files by handle, also long after it opened them last. */
    @Test
    @Tag("native-binding")
    void fileHandlesOutliveCachesAndServers() throws IOException {
        Path w = cluster.work("handles");
        Files.createDirectories(w.resolve("a/b/c"));
        Files.writeString(w.resolve("a/b/c/file"), "by handle");
        Files.writeString(w.resolve("gone"), "gone");
        Path handles = cluster.base().resolve("handles.pickle");
        handles("take", w, handles);
        Files.delete(w.resolve("gone"));
        handles("open", w, handles);

        // Or the mount would take with it what it has not sent.
        Shell.run("sync", w.resolve("a/b/c/file").toString()).ok();
        cluster.kill9();
        cluster.up();
        handles("open", w, handles);
    }

    private static void handles(String verb, Path work, Path store) {
        Shell.run(
                        "python3",
                        "-c",
                        """
                        import ctypes,errno,os,pickle,sys
                        verb,work,store=sys.argv[1:]
                        libc=ctypes.CDLL(None,use_errno=True)
                        class Handle(ctypes.Structure):
                         _fields_=[('bytes',ctypes.c_uint),('type',ctypes.c_int),('id',ctypes.c_ubyte*128)]
                        def checked(r):
                         if r<0: raise OSError(ctypes.get_errno(),os.strerror(ctypes.get_errno()))
                         return r
                        def take(name):
                         h=Handle(bytes=128);m=ctypes.c_int()
                         path=f'{work}/{name}'.encode()
                         checked(libc.name_to_handle_at(-100,path,ctypes.byref(h),ctypes.byref(m),0))
                         return bytes(h)
                        if verb=='take':
                         pickle.dump([take(n) for n in ('a/b/c/file','a/b/c','gone')],open(store,'wb'));sys.exit()
                        open('/proc/sys/vm/drop_caches','w').write('2')
                        mount=os.open(work,os.O_RDONLY)
                        def opened(h):
                         return checked(libc.open_by_handle_at(mount,ctypes.byref(Handle.from_buffer_copy(h)),os.O_RDONLY))
                        file,directory,gone=pickle.load(open(store,'rb'))
                        try: opened(gone); assert False,'an unlinked file was opened'
                        except OSError as e: assert e.errno==errno.ESTALE,e
                        d=opened(directory)
                        assert os.readlink(f'/proc/self/fd/{d}')==f'{work}/a/b/c'
                        assert os.listdir(d)==['file']
                        f=opened(file)
                        assert os.read(f,100)==b'by handle'
                        assert os.fstat(f).st_ino==os.stat(f'{work}/a/b/c/file').st_ino
                        """,
                        verb,
                        work.toString(),
                        store.toString())
                .ok();
    }

    @Test
    void statusSaysWhatRunsAndWhereEverythingIs() {
        var status = cluster.status();
        assertThat(status.path("health").asString()).isEqualTo("ok");
        assertThat(status.path("mds").size()).isEqualTo(1);
        assertThat(status.path("data_servers").size()).isEqualTo(3);
        // A session whose mount was killed by another test is listed for a minute more.
        String process = ", process " + cluster.processes().getFirst().pid();
        assertThat(status.path("mounts").valueStream().map(m -> m.path("description").asString()))
                .filteredOn(text -> text.endsWith(":" + cluster.mnt() + process))
                .hasSize(1);
        assertThat(status.path("capacity_bytes").asLong()).isPositive();
        assertThat(status.path("mds").get(0).path("address").asString()).startsWith("127.0.0.1:");
    }
}
