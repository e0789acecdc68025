package io.cairn.fuse.posix;

import io.cairn.common.metrics.Meters;
import io.cairn.fuse.memory.MemoryClient;
import io.cairn.fuse.mount.FuseMount;
import io.cairn.fuse.mount.MountException;
import io.cairn.fuse.mount.MountOptions;
import io.cairn.fuse.session.FuseMeter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Mounts a file system in memory for each test, in this process, and unmounts it after. Where that
 * is not possible the test fails and says what is missing; it never skips.
 */
public final class MountedMemory implements BeforeEachCallback, AfterEachCallback {
    private final String options;
    private MemoryClient client = new MemoryClient();
    private Meters meters = Meters.unpublished();
    private @Nullable FuseMount mount;

    public MountedMemory() {
        this("");
    }

    public MountedMemory(String options) {
        this.options = options;
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        client = new MemoryClient();
        meters = Meters.unpublished();
        Path directory = Files.createTempDirectory("cairn-fuse-test");
        try {
            mount = FuseMount.mount(client, directory, MountOptions.DEFAULT.with(options), meters);
        } catch (MountException e) {
            throw new AssertionError(
                    "these tests mount: run them as root where /dev/fuse exists. " + e.getMessage(),
                    e);
        }
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        FuseMount mounted = mount();
        mounted.close();
        Files.delete(mounted.mountPoint());
    }

    public MemoryClient client() {
        return client;
    }

    /** Signals the mount was told of. */
    public long interrupts() {
        return meters.counter(FuseMeter.INTERRUPTS).count();
    }

    /** Files and directories the kernel has open, as the mount counts them. */
    public double handles() {
        return meters.registry().get("cairn.mount.handles").gauge().value();
    }

    public FuseMount mount() {
        @Nullable FuseMount mounted = mount;
        if (mounted == null) {
            throw new IllegalStateException("not mounted");
        }
        return mounted;
    }

    /** A path below the mount point. */
    public byte[] path(String relative) {
        return path(relative.getBytes(StandardCharsets.UTF_8));
    }

    public byte[] path(byte[] relative) {
        return join(mount().mountPoint(), relative);
    }

    public static byte[] join(Path directory, byte[] relative) {
        ByteArrayOutputStream path = new ByteArrayOutputStream();
        path.writeBytes(directory.toString().getBytes(StandardCharsets.UTF_8));
        path.write('/');
        path.writeBytes(relative);
        return path.toByteArray();
    }
}
