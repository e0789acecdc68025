package io.cairn.mds.raft;

import io.cairn.common.file.Durable;
import io.cairn.common.file.InUseException;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A member's directory: locked against a second process, and marked with whose it is so that
 * another cluster's or member's data is never taken up by mistake (docs/formats/mds-directory.md).
 *
 * <p>Opened and closed by one thread; otherwise immutable.
 */
public final class MemberDirectory implements AutoCloseable {
    private static final String IDENTITY = "identity";
    private static final String FORMAT = "1";

    private final Path root;
    private final FileChannel lockFile;

    private MemberDirectory(Path root, FileChannel lockFile) {
        this.root = root;
        this.lockFile = lockFile;
    }

    /**
     * Takes the directory; before anything in it is opened.
     *
     * @throws IOException with one clear line: in use, of another cluster or member, not writable
     */
    public static MemberDirectory open(MetaLogConfig config) throws IOException {
        Path root = config.directory();
        Files.createDirectories(root);
        FileChannel lockFile = lock(root);
        try {
            MemberDirectory directory = new MemberDirectory(root, lockFile);
            directory.identify(config);
            return directory;
        } catch (IOException | RuntimeException e) {
            lockFile.close();
            throw e;
        }
    }

    Path raft() {
        return root.resolve("raft");
    }

    Path checkpoints() {
        return root.resolve("checkpoints");
    }

    Path incoming() {
        return root.resolve("incoming");
    }

    /** Where the replicated state keeps its database. */
    public Path state() {
        return root.resolve("namespace");
    }

    /** Lets go of the directory; after everything in it was closed. */
    @Override
    public void close() throws IOException {
        lockFile.close();
    }

    private static FileChannel lock(Path root) throws IOException {
        FileChannel file =
                FileChannel.open(
                        root.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        @Nullable FileLock held;
        try {
            held = file.tryLock();
        } catch (OverlappingFileLockException e) {
            held = null;
        } catch (IOException e) {
            file.close();
            throw e;
        }
        if (held == null) {
            file.close();
            throw new InUseException(root + " is in use by another running metadata server");
        }
        return file;
    }

    private void identify(MetaLogConfig config) throws IOException {
        Map<String, String> wanted = new LinkedHashMap<>();
        wanted.put("format", FORMAT);
        wanted.put("cluster", config.clusterId().toString());
        wanted.put("member", Integer.toString(config.memberId()));
        wanted.put(
                "group",
                config.members().stream()
                        .map(m -> m.id() + "=" + m.raftAddress())
                        .sorted()
                        .collect(Collectors.joining(",")));
        Path file = root.resolve(IDENTITY);
        if (!Files.exists(file)) {
            if (Files.exists(raft())) {
                throw new IOException(root + " has a Raft log but no file " + IDENTITY);
            }
            write(file, wanted);
            return;
        }
        Map<String, String> found = read(file);
        refuseOther(found, wanted, "format", "was written by another version of Cairn: format");
        refuseOther(found, wanted, "cluster", "belongs to another cluster:");
        refuseOther(found, wanted, "member", "belongs to another member:");
        if (!wanted.equals(found)) {
            if (config.members().size() > 1) {
                // The addresses are in the Raft log as well; the log's would win.
                refuseOther(found, wanted, "group", "was made for another group of members:");
            }
            write(file, wanted);
        }
    }

    private void refuseOther(
            Map<String, String> found, Map<String, String> wanted, String key, String what)
            throws IOException {
        String there = found.getOrDefault(key, "(none)");
        String here = wanted.getOrDefault(key, "(none)");
        if (!there.equals(here)) {
            throw new IOException(root + " " + what + " " + there + ", configured is " + here);
        }
    }

    private static Map<String, String> read(Path file) throws IOException {
        Map<String, String> values = new LinkedHashMap<>();
        for (String line : Files.readAllLines(file)) {
            int space = line.indexOf(' ');
            if (space > 0) {
                values.put(line.substring(0, space), line.substring(space + 1));
            }
        }
        return values;
    }

    private void write(Path file, Map<String, String> values) throws IOException {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) -> text.append(key).append(' ').append(value).append('\n'));
        Path fresh = root.resolve(IDENTITY + ".new");
        Files.write(fresh, text.toString().getBytes(StandardCharsets.UTF_8));
        Durable.sync(fresh);
        Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE);
        Durable.sync(root);
    }
}
