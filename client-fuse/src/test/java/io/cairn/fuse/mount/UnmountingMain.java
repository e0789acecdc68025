package io.cairn.fuse.mount;

import io.cairn.common.metrics.Meters;
import io.cairn.fuse.memory.MemoryClient;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Run by {@link KilledWhileUnmountingTest}: mounts with a file {@code a}, and unmounts once its
 * input ends. It says {@code mounted}, and {@code waits} when unmounting asks it what is never
 * answered.
 */
public final class UnmountingMain {
    private UnmountingMain() {}

    public static void main(String[] args) throws Exception {
        try (MemoryClient client = new MemoryClient();
                FuseMount mount =
                        FuseMount.mount(
                                client,
                                Path.of(args[0]),
                                MountOptions.DEFAULT.with("attr_timeout=0"),
                                Meters.unpublished())) {
            Files.write(mount.mountPoint().resolve("a"), new byte[4096]);
            System.out.println("mounted");
            while (System.in.read() >= 0) {}
            client.holdBack("getattr");
            Thread.ofPlatform().daemon().start(() -> awaitQuestion(client));
        }
    }

    private static void awaitQuestion(MemoryClient client) {
        while (client.heldBack("getattr") == 0) {
            Thread.onSpinWait();
        }
        System.out.println("waits");
    }
}
