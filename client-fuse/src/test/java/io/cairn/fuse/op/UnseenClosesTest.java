package io.cairn.fuse.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient.OpenFile;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the descriptors of processes say of their locks; the processes and the file are real. */
class UnseenClosesTest {
    private static final int SELF = (int) ProcessHandle.current().pid();

    @TempDir Path directory;
    private Path path;
    private UnseenCloses closes;
    private OpenFile file;
    private final List<String> events = new CopyOnWriteArrayList<>();

    @BeforeEach
    void makeFile() throws IOException {
        path = Files.writeString(directory.resolve("f"), "x");
        long device = (Long) Files.getAttribute(path, "unix:dev");
        closes = new UnseenCloses(() -> device);
        file = fileAt(path);
    }

    private OpenFile fileAt(Path of) throws IOException {
        long inode = (Long) Files.getAttribute(of, "unix:ino");
        return (OpenFile)
                Proxy.newProxyInstance(
                        getClass().getClassLoader(),
                        new Class<?>[] {OpenFile.class},
                        (proxy, method, arguments) ->
                                switch (method.getName()) {
                                    case "inode" -> inode;
                                    case "descriptorClosed" -> {
                                        events.add("unlock " + arguments[0]);
                                        yield CompletableFuture.completedFuture(null);
                                    }
                                    default -> throw new AssertionError(method);
                                });
    }

    private FileInputStream open() throws IOException {
        return new FileInputStream(path.toFile());
    }

    private void follow(long owner, int process, boolean ofProcess) {
        follow(file, owner, process, ofProcess);
    }

    private void follow(OpenFile file, long owner, int process, boolean ofProcess) {
        CompletableFuture<Void> begun = new CompletableFuture<>();
        closes.follow(file, owner, process, () -> ofProcess, () -> begun.complete(null));
        begun.join();
    }

    private void lock(long owner, int process) {
        CompletableFuture<Void> locked = new CompletableFuture<>();
        closes.beforeLock(
                file.inode(),
                owner,
                process,
                () -> {
                    events.add("lock " + owner);
                    locked.complete(null);
                });
        locked.join();
    }

    /** A look has come since: it finds that another file was closed. */
    private void lookedAt() throws IOException {
        Path other = Files.writeString(directory.resolve("witness"), "x");
        try (FileInputStream witness = new FileInputStream(other.toFile())) {
            follow(fileAt(other), 99, SELF, true);
            assertThat(witness.read()).isPositive();
        }
        await().until(() -> events.contains("unlock 99"));
    }

    @Test
    void aCloseEndsWhatTheProcessHas() throws IOException {
        try (FileInputStream stays = open();
                FileInputStream closed = open()) {
            follow(7, SELF, true);
            closed.close();
            await().until(() -> events.equals(List.of("unlock 7")));
            assertThat(stays.read()).isPositive();
        }
    }

    @Test
    void noCloseEndsWhatAnOpenFileHas() throws IOException {
        try (FileInputStream stays = open();
                FileInputStream closed = open()) {
            follow(7, SELF, false);
            closed.close();
            lookedAt();
            assertThat(events).containsExactly("unlock 99");
            assertThat(stays.read()).isPositive();
        }
    }

    @Test
    void whatAProcessLocksAfterItsCloseStays() throws IOException {
        try (FileInputStream stays = open();
                FileInputStream closed = open()) {
            follow(7, SELF, true);
            closed.close();
            lock(7, SELF);
            follow(7, SELF, true);
            lookedAt();
            assertThat(events).startsWith("unlock 7", "lock 7").containsOnlyOnce("unlock 7");
            assertThat(stays.read()).isPositive();
        }
    }

    @Test
    void whatTheNextProcessWithTheNumberLocksStays() throws Exception {
        Process first = new ProcessBuilder("sleep", "1000").redirectInput(path.toFile()).start();
        follow(7, (int) first.pid(), true);
        first.destroyForcibly().waitFor();
        lock(7, SELF);
        lookedAt();
        assertThat(events).startsWith("unlock 7", "lock 7").containsOnlyOnce("unlock 7");
    }
}
