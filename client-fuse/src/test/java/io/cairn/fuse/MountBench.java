package io.cairn.fuse;

import io.cairn.common.metrics.Meters;
import io.cairn.fuse.memory.MemoryClient;
import io.cairn.fuse.mount.FuseMount;
import io.cairn.fuse.mount.MountOptions;
import java.nio.file.Path;

/**
 * Mounts a file system in memory until it is unmounted: {@code MountBench MOUNTPOINT [OPTIONS]}.
 * For measuring the mount alone, with fio or any other program.
 */
public final class MountBench {
    private MountBench() {}

    public static void main(String[] args) throws Exception {
        MountOptions options =
                args.length > 1 ? MountOptions.DEFAULT.with(args[1]) : MountOptions.DEFAULT;
        try (MemoryClient client = new MemoryClient();
                FuseMount mount =
                        FuseMount.mount(client, Path.of(args[0]), options, Meters.unpublished())) {
            Runtime.getRuntime().addShutdownHook(new Thread(mount::close));
            System.out.println("mounted " + mount.mountPoint());
            mount.awaitUnmounted();
        }
    }
}
