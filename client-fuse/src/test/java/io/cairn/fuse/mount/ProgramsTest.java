package io.cairn.fuse.mount;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class ProgramsTest {
    private static final Path MOUNT_POINT = Path.of("/mnt/c");

    @Test
    void whatTheProgramSaysIsPassedOn() {
        List<String> refusing = List.of("sh", "-c", "echo target is busy; exit 32");
        assertThatThrownBy(() -> Programs.unmount(MOUNT_POINT, refusing, "install it"))
                .isInstanceOf(MountException.class)
                .hasMessage("unmounting /mnt/c failed: target is busy");
    }

    @Test
    void aMissingProgramIsToBeInstalled() {
        List<String> missing = List.of("/nonexistent/umount");
        assertThatThrownBy(() -> Programs.unmount(MOUNT_POINT, missing, "install it"))
                .isInstanceOf(MountException.class)
                .hasMessage("install it");
    }
}
