package io.cairn.fuse.mount;

import io.cairn.common.metrics.Meters;
import io.cairn.fuse.memory.MemoryClient;
import java.nio.file.Files;
import java.nio.file.Path;

/** Run by {@link UnprivilegedMountTest} as a user: mounts, uses it, and unmounts or halts. */
public final class UnprivilegedMain {
    private UnprivilegedMain() {}

    public static void main(String[] args) throws Exception {
        Path where = Path.of(args[0]);
        boolean halt = args[1].equals("halt");
        try (MemoryClient client = new MemoryClient();
                FuseMount mount =
                        FuseMount.mount(
                                client,
                                where,
                                MountOptions.DEFAULT.with(args.length > 2 ? args[2] : ""),
                                Meters.unpublished())) {
            Path file = mount.mountPoint().resolve("a");
            // The root belongs to root in this file system; a user may only look.
            System.out.println("exists " + Files.exists(file));
            System.out.println("table " + MountTable.at(mount.mountPoint()));
            if (halt) {
                Runtime.getRuntime().halt(0);
            }
        } catch (MountException e) {
            System.out.println("refused: " + e.getMessage());
        }
        System.out.println("after " + MountTable.at(where));
    }
}
