package io.cairn.common.posix;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ModeTest {
    @Test
    void typesAreThoseOfStat() {
        assertThat(Mode.isRegular(0100644)).isTrue();
        assertThat(Mode.isDirectory(0041777)).isTrue();
        assertThat(Mode.isSymlink(0120777)).isTrue();
        assertThat(Mode.isDevice(0020600)).isTrue();
        assertThat(Mode.isDevice(0060600)).isTrue();
        assertThat(Mode.isDevice(0010600)).isFalse();
        assertThat(Mode.type(0140755)).isEqualTo(Mode.SOCKET);
        assertThat(Mode.permissions(0107755)).isEqualTo(07755);
        // A socket has the bits of a regular file and more.
        assertThat(Mode.isRegular(Mode.SOCKET)).isFalse();
    }

    @Test
    void privilegesAreTakenAsTheKernelTakesThem() {
        assertThat(Mode.hasPrivileges(0100755)).isFalse();
        assertThat(Mode.hasPrivileges(0101755)).as("sticky").isFalse();
        assertThat(Mode.hasPrivileges(0104755)).isTrue();
        assertThat(Mode.hasPrivileges(0102755)).isTrue();
        assertThat(Mode.withoutPrivileges(0106755)).isEqualTo(0100755);
        // Without execution by the group the bit means mandatory locks, and stays.
        assertThat(Mode.withoutPrivileges(0106745)).isEqualTo(0102745);
    }
}
