package io.cairn.fuse.mount;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.HostPort;
import io.cairn.fuse.libc.MountCalls;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MountOptionsTest {
    @Test
    void allOptions() throws MountException {
        MountOptions options =
                MountOptions.DEFAULT.with(
                        "ro,allow_other,nonempty,suid,dev,noexec,sync,debug,soft,timeo=5,"
                                + "max_background=7,"
                                + "entry_timeout=0.5,attr_timeout=2,direct_io,wsync,"
                                + "fsname=a:/b,subdir=/b,nolock,nolease,sync-metadata,_netdev");
        MountFlags flags =
                new MountFlags(
                        MountCalls.MS_RDONLY | MountCalls.MS_NOEXEC | MountCalls.MS_SYNCHRONOUS);
        assertThat(options)
                .isEqualTo(
                        new MountOptions(
                                flags,
                                true,
                                true,
                                true,
                                MountOptions.Waiting.SOFT,
                                500_000_000L,
                                7,
                                500_000_000L,
                                2_000_000_000L,
                                true,
                                true,
                                "a:/b",
                                "/b",
                                MountOptions.Binding.NATIVE,
                                false,
                                true,
                                true,
                                true));
        assertThat(options.with("rw,nosuid").flags())
                .isEqualTo(
                        new MountFlags(
                                MountCalls.MS_NOSUID
                                        | MountCalls.MS_NOEXEC
                                        | MountCalls.MS_SYNCHRONOUS));
        assertThat(MountOptions.DEFAULT.with("")).isEqualTo(MountOptions.DEFAULT);
    }

    @Test
    void thePageCacheIsAnOptionOfLibfuseOnly() throws MountException {
        MountOptions jnr = MountOptions.DEFAULT.with("page_cache,binding=jnr");
        assertThat(jnr.binding()).isEqualTo(MountOptions.Binding.JNR);
        assertThat(jnr.pageCache()).isTrue();
        assertThat(jnr.below("/d").from("a:1", "/b").pageCache()).isTrue();
        for (String list : List.of("page_cache", "binding=jnr,page_cache,binding=native")) {
            assertThatThrownBy(() -> MountOptions.DEFAULT.with(list))
                    .hasMessageContaining("page_cache is for binding=jnr");
        }
        assertThatThrownBy(() -> MountOptions.DEFAULT.with("binding=jnr,page_cache,direct_io"))
                .hasMessageContaining("page_cache and direct_io");
        assertThatThrownBy(() -> MountOptions.DEFAULT.with("binding=libfuse"))
                .hasMessageContaining("binding=libfuse: wanted native or jnr");
    }

    @Test
    void whatLibfuseIsTold() throws MountException {
        MountOptions options =
                MountOptions.DEFAULT.with(
                        "binding=jnr,ro,suid,noatime,entry_timeout=0.5,fsname=a\\b,relatime");
        assertThat(JnrBinding.arguments(Path.of("/m"), true, options))
                .startsWith("cairn", "/m", "-f", "-o");
        assertThat(JnrBinding.arguments(Path.of("/m"), true, options).getLast().split(",", -1))
                .contains("ro", "suid", "nodev", "default_permissions", "allow_other")
                .contains("hard_remove", "entry_timeout=0.500", "attr_timeout=1.000")
                .contains("subtype=cairn", "fsname=a\\\\b", "nonempty")
                .doesNotContain("relatime");
        // fusermount3 knows fewer, and refuses the others.
        assertThat(JnrBinding.arguments(Path.of("/m"), false, options).getLast().split(",", -1))
                .contains("ro", "default_permissions")
                .doesNotContain("allow_other", "nonempty", "suid", "nodev");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "defaults",
                "_netdev",
                "auto",
                "noauto",
                "nofail",
                "user",
                "user=somebody",
                "users",
                "x-systemd.automount",
                "x-systemd.mount-timeout=5min",
                "comment=of-a-person"
            })
    void optionsForOthersChangeNothing(String option) throws MountException {
        assertThat(MountOptions.DEFAULT.with(option)).isEqualTo(MountOptions.DEFAULT);
    }

    @ParameterizedTest
    @CsvSource({
        "noatime,relatime,strictatime",
        "relatime,noatime,norelatime",
        "strictatime,noatime,nostrictatime",
        "nodiratime,relatime,diratime",
        "dirsync,relatime,",
        "sync,noatime,async",
        "lazytime,noatime,nolazytime",
    })
    void flagsAreKnownAndTakenBack(String option, String beside, @Nullable String opposite)
            throws MountException {
        MountFlags flags = MountOptions.DEFAULT.with(option).flags();
        assertThat(flags).isNotEqualTo(MountFlags.DEFAULT);
        assertThat(MountFlags.of("rw,nosuid,nodev," + option)).isEqualTo(flags);
        assertThat(MountOptions.DEFAULT.with(option + "," + beside).flags()).isNotEqualTo(flags);
        if (opposite != null) {
            MountFlags back = MountOptions.DEFAULT.with(option + "," + opposite).flags();
            assertThat(back.bits() & flags.bits()).isEqualTo(MountFlags.DEFAULT.bits());
        }
    }

    @Test
    void flagsOfAMountAreReadFromItsTable() {
        assertThat(MountFlags.of("rw,nosuid,relatime,ro,user_id=0,group_id=0").bits())
                .isEqualTo(MountCalls.MS_RDONLY | MountCalls.MS_NOSUID | MountCalls.MS_RELATIME);
        assertThat(MountFlags.of("ro,rw").bits()).isEqualTo(MountCalls.MS_RDONLY);
    }

    @Test
    void hardAndSoftDecideInsteadOfTheConfiguration() throws MountException {
        ClientConfig waits = ClientConfig.of(List.of(new HostPort("mds", 7000)));
        ClientConfig limited = waits.givingUpAfter(Optional.of(Duration.ofMinutes(5)));
        assertThat(MountOptions.DEFAULT.session(limited)).isEqualTo(limited);
        assertThat(MountOptions.DEFAULT.session(waits).ioTimeout()).isEmpty();
        assertThat(MountOptions.DEFAULT.with("hard,timeo=100").session(limited)).isEqualTo(waits);
        assertThat(MountOptions.DEFAULT.with("soft").session(limited).ioTimeout())
                .contains(Duration.ofMinutes(2));
        assertThat(MountOptions.DEFAULT.with("hard,soft,timeo=15").session(waits))
                .isEqualTo(waits.givingUpAfter(Optional.of(Duration.ofMillis(1500))));
    }

    @Test
    void remountIsNoOptionOfANewMount() {
        assertThatThrownBy(() -> MountOptions.DEFAULT.with("remount,ro"))
                .isInstanceOf(MountException.class)
                .hasMessageContaining("remount");
    }

    @Test
    void theSourceIsServerAndDirectoryUnlessNamed() throws MountException {
        MountOptions plain = MountOptions.DEFAULT;
        assertThat(plain.from("mds:7000", "/").source()).isEqualTo("mds:7000:/");
        assertThat(plain.with("subdir=/a/b/").from("mds:7000", "/").source())
                .isEqualTo("mds:7000:/a/b");
        assertThat(plain.with("subdir=c").from("[::1]:7000", "/a").source())
                .isEqualTo("[::1]:7000:/a/c");
        assertThat(plain.with("subdir=/b").below("/a").from("mds:7000", "/t").source())
                .isEqualTo("mds:7000:/t/a/b");
        assertThat(plain.with("fsname=mine").from("mds:7000", "/").source()).isEqualTo("mine");
        assertThat(plain.source()).isEqualTo("cairn");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "allow_root",
                "colour=red",
                "fsname",
                "fsname=",
                "subdir=/a/../b",
                "subdir=.",
                "timeo",
                "timeo=0",
                "timeo=1.5",
                "max_background=0",
                "max_background=65536",
                "max_background=x",
                "entry_timeout=-1",
                "entry_timeout=1s",
                "attr_timeout=100000"
            })
    void badOptionsAreNamed(String option) {
        assertThatThrownBy(() -> MountOptions.DEFAULT.with("ro," + option))
                .isInstanceOf(MountException.class)
                .hasMessageContaining(option.split("=", 2)[0]);
    }

    @Test
    void mountTable() {
        String table =
                """
                22 27 0:21 / /proc rw - proc proc rw
                42 27 0:39 / /mnt/a\\040b rw,nosuid shared:1 - fuse.cairn m:/x rw
                43 27 0:40 / /mnt/a\\040b rw - ext4 /dev/sda rw
                """;
        assertThat(MountTable.find(table, "/proc"))
                .isEqualTo(new MountTable.Entry("0:21", "proc", "proc", "rw,rw"));
        assertThat(MountTable.find(table, "/mnt/a b"))
                .as("the topmost")
                .isEqualTo(new MountTable.Entry("0:40", "ext4", "/dev/sda", "rw,rw"));
        assertThat(MountTable.find(table, "/mnt")).isNull();
    }
}
