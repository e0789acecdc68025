package io.cairn.system.workload;

import io.cairn.system.history.Recorder;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The process. Ends when its standard input does and every operation in flight has returned.
 *
 * <pre>
 *   Worker MOUNT ROOT HISTORY SEED        until told to stop
 *   Worker MOUNT ROOT HISTORY             reads everything once
 * </pre>
 */
public final class Worker {
    /** Between two operations of a thread, at most. */
    private static final int LONGEST_PAUSE_MILLIS = 20;

    /** After an error. */
    private static final int RECOVERY_MILLIS = 250;

    private static final List<Function<Client, Usage>> KINDS =
            List.of(
                    BlockRegisters::new,
                    BlockRegisters::new,
                    ClosedRegisters::new,
                    ClosedRegisters::new,
                    RenamedRegisters::new,
                    Appended::new,
                    Names::new,
                    Names::new);

    /** What the kernel says when the process that serves a mount is gone. */
    private static final List<String> GONE =
            List.of("Transport endpoint is not connected", "Software caused connection abort");

    private final CountDownLatch stopped = new CountDownLatch(1);

    private Worker() {}

    public static void main(String[] arguments) throws Exception {
        String mount = arguments[0];
        Path root = Path.of(arguments[1]);
        try (Recorder recorder = new Recorder(Path.of(arguments[2]))) {
            if (arguments.length > 3) {
                new Worker().run(mount, root, recorder, Long.parseLong(arguments[3]));
            } else {
                for (int i = 0; i < KINDS.size(); i++) {
                    Usage usage = KINDS.get(i).apply(new Client(mount + "/" + i, root, recorder));
                    usage.readAll();
                    usage.reset();
                }
            }
        }
    }

    private void run(String mount, Path root, Recorder recorder, long seed) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < KINDS.size(); i++) {
            Usage usage = KINDS.get(i).apply(new Client(mount + "/" + i, root, recorder));
            Random random = new Random(seed + i);
            threads.add(Thread.ofPlatform().start(() -> use(usage, random)));
        }
        while (System.in.read() >= 0) {
            // Nothing is said but the end.
        }
        stopped.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void use(Usage usage, Random random) {
        try {
            int pause = 0;
            while (!stopped.await(pause, TimeUnit.MILLISECONDS)) {
                try {
                    usage.next(random);
                    pause = random.nextInt(LONGEST_PAUSE_MILLIS);
                } catch (IOException e) {
                    usage.reset();
                    String message = String.valueOf(e.getMessage());
                    if (GONE.stream().anyMatch(message::contains)) {
                        return;
                    }
                    pause = RECOVERY_MILLIS;
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            usage.reset();
        }
    }

    /** Of a file with which something has failed already, or is done. */
    static void closeQuietly(FileChannel file) {
        try {
            file.close();
        } catch (IOException e) {
            System.err.println("close: " + e);
        }
    }
}
