package io.cairn.system.operations;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.system.support.Cluster;
import io.cairn.system.support.Mount;
import io.cairn.system.support.SharedCluster;
import io.cairn.system.support.Shell;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.extension.ExtendWith;

/** A mount of one directory of the file system, beside a mount of all of it. */
@Tag("part-7")
@ExtendWith(SharedCluster.class)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SubtreeTest {
    private static final int ROUNDS = Integer.getInteger("cairn.test.rounds", 40);

    private final Cluster cluster;

    SubtreeTest(Cluster cluster) {
        this.cluster = cluster;
    }

    @BeforeAll
    void makeTree() {
        Shell.bash(
                        "set -e; cd '%s'; mkdir -p tenant/a/b other/c moving/d both; echo inside >tenant/a/b/f;"
                                        .formatted(cluster.mnt())
                                + " echo outside >other/c/secret; ln tenant/a/b/f other/c/link")
                .ok();
    }

    /** A mount whose configuration names the directory. */
    private Mount mount(String name, String directory) throws IOException {
        return cluster.mount(name, "--config", configuration(name, directory));
    }

    private String configuration(String name, String directory) throws IOException {
        return Files.writeString(
                        cluster.base().resolve(name + ".toml"),
                        "[client]\nmds = [\"%s\"]\npath = \"%s\"\n"
                                .formatted(cluster.mds(), directory))
                .toString();
    }

    @Test
    void theConfiguredDirectoryIsTheRoot() throws IOException {
        try (Mount tenant = mount("configured", "/tenant")) {
            String checks =
                    """
                    set -e
                    all='%s'; part='%s'
                    [ "$(ls "$part")" = a ]
                    [ "$(cat "$part/a/b/f")" = inside ]
                    [ $(stat -c %%i "$part") = $(stat -c %%i "$all/tenant") ]
                    [ $(stat -c %%i "$part/a/..") = $(stat -c %%i "$part") ]
                    [ $(ls -ai "$part/a" | awk '$2 == ".." { print $1 }') = $(stat -c %%i "$part") ]
                    [ $(ls -ai "$part" | awk '$2 == "." { print $1 }') = $(stat -c %%i "$part") ]
                    [ $(stat -f -c %%b "$part") = $(stat -f -c %%b "$all") ]
                    (cd "$part" && mkdir -p new && mv a/b/f new/f && cd new/.. && mv new/f a/b/f)
                    echo more >"$part/more" && [ "$(cat "$all/tenant/more")" = more ]
                    ln "$part/more" "$part/a/more" && [ $(stat -c %%h "$all/tenant/more") = 2 ]
                    rm "$part/more" "$part/a/more" && rmdir "$part/new" && [ ! -e "$all/tenant/more" ]
                    findmnt -n -o SOURCE --mountpoint "$part"
                    """;
            assertThat(Shell.bash(checks.formatted(cluster.mnt(), tenant.mnt())).ok().out().strip())
                    .isEqualTo(cluster.mds() + ":/tenant");
        }
    }

    @Test
    void itAndTheWholeTreeHaveEachOthersLastByteAtOnce() throws IOException {
        try (Mount tenant = mount("both", "/both")) {
            Path part = tenant.mnt();
            Path whole = cluster.mnt().resolve("both");
            for (int round = 0; round < ROUNDS; round++) {
                String name = "f" + round % 7;
                Path here = (round % 2 == 0 ? part : whole).resolve(name);
                Path there = (round % 2 == 0 ? whole : part).resolve(name);
                String text = ("round " + round + "\n").repeat(1 + round % 900);
                Files.writeString(here, text);
                assertThat(Files.readString(there)).isEqualTo(text);
                Files.writeString(there, "and back\n", StandardOpenOption.APPEND);
                assertThat(Files.readString(here)).isEqualTo(text + "and back\n");
            }
        }
    }

    @Test
    void aDirectoryOfTheConfiguredOneIsNamedOnTheCommandLine() throws IOException {
        Path point = Files.createDirectory(cluster.base().resolve("named"));
        String config = configuration("named", "/tenant");
        String script =
                """
                '%1$s' mount '%2$s:/a' '%3$s' -o subdir=/b --config '%4$s' & mount=$!
                until mountpoint -q '%3$s' || ! kill -0 $mount; do sleep 0.1; done
                ls '%3$s' && findmnt -n -o SOURCE --mountpoint '%3$s'
                kill $mount; wait $mount
                """
                        .formatted(
                                Cluster.REPOSITORY.resolve("cairn"), cluster.mds(), point, config);
        assertThat(Shell.bash(script).ok().out())
                .isEqualTo("f\n" + cluster.mds() + ":/tenant/a/b\n");
    }

    @Test
    void whatIsMissingOrNoDirectoryIsRefused() throws IOException {
        for (String[] refused :
                new String[][] {
                    {"/tenant/none", "none"},
                    {"/tenant/a/b/f", "not a directory"},
                    {"/tenant/../other", "'..'"},
                }) {
            String config = configuration("refused", refused[0]);
            String point = Files.createTempDirectory(cluster.base(), "refused").toString();
            Shell.Result byConfiguration =
                    Cluster.cairn("mount", cluster.mds(), point, "--config", config);
            assertThat(byConfiguration.exitCode()).as(byConfiguration.err()).isNotZero();
            assertThat(byConfiguration.err()).contains(refused[1]);
            Shell.Result bySource = Cluster.cairn("mount", cluster.mds() + ":" + refused[0], point);
            assertThat(bySource.exitCode()).as(bySource.err()).isNotZero();
            assertThat(bySource.err()).contains(refused[0]);
        }
    }

    @Test
    void theDirectoryMayBeRenamedWhileItIsMounted() throws IOException {
        Path all = cluster.mnt();
        try (Mount moving = mount("renamed", "/moving/d")) {
            Files.writeString(moving.mnt().resolve("before"), "x");
            Files.move(all.resolve("moving/d"), all.resolve("other/e"));
            Files.delete(all.resolve("moving"));
            Files.createDirectory(moving.mnt().resolve("after"));
            assertThat(all.resolve("other/e").toFile().list())
                    .containsExactlyInAnyOrder("before", "after");
            assertThat(Files.getAttribute(moving.mnt().resolve("after/.."), "unix:ino"))
                    .isEqualTo(Files.getAttribute(all.resolve("other/e"), "unix:ino"));
        }
    }

    /** Names as an NFS server keeps them, also such as a client of it might have made up. */
    @Test
    @Tag("native-binding")
    void handlesLeadToFilesBelowTheDirectoryAndNotAboveIt() throws IOException {
        try (Mount tenant = mount("handles", "/tenant")) {
            Shell.run(
                            "python3",
                            "-c",
                            """
                            import ctypes,errno,os,sys
                            all,part=sys.argv[1:]
                            libc=ctypes.CDLL(None,use_errno=True)
                            class Handle(ctypes.Structure):
                             _fields_=[('bytes',ctypes.c_uint),('type',ctypes.c_int),('id',ctypes.c_ubyte*128)]
                            def checked(r):
                             if r<0: raise OSError(ctypes.get_errno(),os.strerror(ctypes.get_errno()))
                             return r
                            def take(path):
                             h=Handle(bytes=128);m=ctypes.c_int()
                             checked(libc.name_to_handle_at(-100,path.encode(),ctypes.byref(h),ctypes.byref(m),0))
                             return h
                            def opened(h):
                             open('/proc/sys/vm/drop_caches','w').write('2')
                             root=os.open(part,os.O_RDONLY)
                             try: return checked(libc.open_by_handle_at(root,ctypes.byref(h),os.O_RDONLY))
                             finally: os.close(root)
                            def path(h):
                             fd=opened(h)
                             try: return os.readlink(f'/proc/self/fd/{fd}')
                             finally: os.close(fd)
                            def stale(h):
                             try: fd=opened(h)
                             except OSError as e: assert e.errno==errno.ESTALE,e
                             else: assert False,os.readlink(f'/proc/self/fd/{fd}')
                            assert path(take(f'{part}/a/b'))==f'{part}/a/b'
                            assert path(take(f'{part}/a'))==f'{part}/a'
                            assert path(take(part))==part
                            # Of the other mount, where the numbers are the same ones.
                            assert path(take(f'{all}/tenant/a/b'))==f'{part}/a/b'
                            stale(take(f'{all}/tenant')) # the kernel calls every root 1
                            stale(take(f'{all}/other/c'))
                            stale(take(f'{all}/other'))
                            fd=opened(take(f'{part}/a/b/f'))
                            assert os.read(fd,100)==b'inside\\n' and os.fstat(fd).st_nlink==2
                            """,
                            cluster.mnt().toString(),
                            tenant.mnt().toString())
                    .ok();
        }
    }
}
