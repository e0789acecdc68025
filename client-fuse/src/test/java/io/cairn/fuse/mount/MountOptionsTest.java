package io.cairn.fuse.mount;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MountOptionsTest {
    @Test
    void allOptions() throws MountException {
        MountOptions options =
                MountOptions.DEFAULT.with(
                        "ro,allow_other,nonempty,suid,dev,noexec,debug,max_background=7,"
                                + "entry_timeout=0.5,attr_timeout=2,fsname=a:/b,subdir=/b,_netdev");
        assertThat(options)
                .isEqualTo(
                        new MountOptions(
                                true,
                                true,
                                true,
                                true,
                                true,
                                false,
                                true,
                                7,
                                500_000_000L,
                                2_000_000_000L,
                                "a:/b",
                                "/b"));
        assertThat(options.with("rw,nosuid").readOnly()).isFalse();
        assertThat(MountOptions.DEFAULT.with("")).isEqualTo(MountOptions.DEFAULT);
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
                .isEqualTo(new MountTable.Entry("0:21", "proc", "proc"));
        assertThat(MountTable.find(table, "/mnt/a b"))
                .as("the topmost")
                .isEqualTo(new MountTable.Entry("0:40", "ext4", "/dev/sda"));
        assertThat(MountTable.find(table, "/mnt")).isNull();
    }
}
