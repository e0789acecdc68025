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
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's directory. A lock keeps a second process out. A record names the cluster and the
 * member that it belongs to, so that data of another one is never used by mistake; it also keeps
 * the administrator's word until the member votes (docs/formats/mds-directory.md).
 *
 * <p>Opened and closed by one thread; any thread records.
 */
public final class MemberDirectory implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MemberDirectory.class);
    private static final String IDENTITY = "identity";
    private static final String FORMAT = "2";

    /** Without words; the member votes. */
    private static final String FORMAT_BEFORE_WORDS = "1";

    private static final String WORD = "word";
    private static final String NEW_CLUSTER = "new-cluster";
    private static final String JOIN = "join";
    private static final String REMOVED = "removed";
    private static final String GROUP = "group";
    private static final String MEMBERS = "members";

    private final MetaLogConfig config;
    private final Path root;
    private final FileChannel lockFile;
    private final VotingRight.State atStart;

    /** What the file says of the right to vote, null of one that votes. */
    private @Nullable String word;

    /** The group as the log has it, where that is another one than was configured. */
    private @Nullable String members;

    private MemberDirectory(MetaLogConfig config, FileChannel lockFile, StartWord word)
            throws IOException {
        this.config = config;
        this.root = config.directory();
        this.lockFile = lockFile;
        this.atStart = identify(word);
    }

    /**
     * Takes the directory; before anything in it is opened.
     *
     * @param word what the administrator says of an empty one; of no effect on one that holds a
     *     member, but for a new one that is to join
     * @throws MemberRefusedException with one clear line: of another cluster or member, empty
     *     without an option
     * @throws IOException with one clear line: in use, not writable
     */
    public static MemberDirectory open(MetaLogConfig config, StartWord word) throws IOException {
        Files.createDirectories(config.directory());
        FileChannel lockFile = lock(config.directory());
        try {
            return new MemberDirectory(config, lockFile, word);
        } catch (IOException | RuntimeException e) {
            lockFile.close();
            throw e;
        }
    }

    /** What lies in a member's directory. */
    public enum Content {
        NOTHING,

        /** A member of a new cluster that has not voted yet, and so has acknowledged nothing. */
        NEW_MEMBER,
        MEMBER
    }

    /** Looks without taking the directory. */
    public static Content content(Path root) throws IOException {
        Path file = root.resolve(IDENTITY);
        if (!Files.exists(file)) {
            return Files.exists(root.resolve("raft")) ? Content.MEMBER : Content.NOTHING;
        }
        return NEW_CLUSTER.equals(read(file).get(WORD)) ? Content.NEW_MEMBER : Content.MEMBER;
    }

    /** Whether the member had the right to vote when the directory was opened. */
    VotingRight.State atStart() {
        return atStart;
    }

    /** Notes whether it has; durable when this returns. */
    synchronized void record(VotingRight.State state) throws IOException {
        word =
                switch (state) {
                    case NEW -> NEW_CLUSTER;
                    case JOINING -> JOIN;
                    case VOTING -> null; // no word is needed any more
                };
        write(identity());
    }

    /** Notes whom the log names as the group: the configuration may name these from now on too. */
    synchronized void record(Collection<MetaLogConfig.Member> group) throws IOException {
        String text = text(group);
        @Nullable String other = text.equals(text(config.members())) ? null : text;
        if (!Objects.equals(other, members)) {
            members = other;
            write(identity());
        }
    }

    /** Notes that this member was removed from its group: it does not start again. */
    synchronized void recordRemoved() throws IOException {
        word = REMOVED;
        write(identity());
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

    private VotingRight.State identify(StartWord word) throws IOException {
        if (!Files.exists(file())) {
            if (Files.exists(raft())) {
                throw new MemberRefusedException(root + " has a Raft log but no file " + IDENTITY);
            }
            VotingRight.State state = empty(word);
            record(state);
            return state;
        }
        Map<String, String> found = read(file());
        members = found.get(MEMBERS);
        this.word = found.get(WORD);
        VotingRight.State before = check(found);
        VotingRight.State state = told(word, before);
        if (state != before || !sameGroup(found)) {
            record(state);
        }
        return state;
    }

    private VotingRight.State empty(StartWord word) throws MemberRefusedException {
        return switch (word) {
            case NONE ->
                    throw new MemberRefusedException(
                            root
                                    + " is empty. If this is a member of a new cluster, start it"
                                    + " once with --new-cluster. If the cluster exists, this member"
                                    + " has lost what it had acknowledged: start it once with --join"
                                    + " while the others run (if the directory is only not mounted,"
                                    + " mount it)");
            case NEW_CLUSTER -> VotingRight.State.NEW;
            case JOIN -> joining();
        };
    }

    private VotingRight.State joining() throws MemberRefusedException {
        if (config.members().size() == 1) {
            throw new MemberRefusedException(
                    root
                            + " is of the only member of a group, which has nobody to join: put the"
                            + " directory it had back, or begin a new cluster with --new-cluster");
        }
        return VotingRight.State.JOINING;
    }

    /**
     * What the option makes of a directory that holds a member already. One that is told to begin a
     * new cluster each time it is started goes on joining.
     */
    private VotingRight.State told(StartWord word, VotingRight.State before)
            throws MemberRefusedException {
        if (word == StartWord.JOIN && before == VotingRight.State.NEW) {
            return joining();
        }
        if (word != StartWord.NONE && before == VotingRight.State.VOTING) {
            LOG.info("{} holds a member: --new-cluster and --join have no effect on it", root);
        }
        return before;
    }

    /** Whether what was found is this member's, and what it says of its right to vote. */
    private VotingRight.State check(Map<String, String> found) throws MemberRefusedException {
        String format = found.getOrDefault("format", "(none)");
        if (!format.equals(FORMAT) && !format.equals(FORMAT_BEFORE_WORDS)) {
            throw new MemberRefusedException(
                    root
                            + " was written by another version of Cairn: format "
                            + format
                            + ", this version knows "
                            + FORMAT);
        }
        Map<String, String> wanted = identity();
        refuseOther(found, wanted, "cluster", "belongs to another cluster:");
        refuseOther(found, wanted, "member", "belongs to another member:");
        if (config.members().size() > 1 && !text(config.members()).equals(members)) {
            // The addresses are in the Raft log as well; the log's would win.
            refuseOther(found, wanted, GROUP, "was made for another group of members:");
        }
        @Nullable String said = found.get(WORD);
        if (said == null) {
            refuseWithoutLog();
            return VotingRight.State.VOTING;
        }
        return switch (said) {
            case REMOVED ->
                    throw new MemberRefusedException(
                            root
                                    + " is of member "
                                    + config.memberId()
                                    + ", which was removed from its group: to use this server again,"
                                    + " empty the directory, start it with --join, and add it with"
                                    + " 'cairn mds add'");
            case NEW_CLUSTER -> VotingRight.State.NEW;
            case JOIN -> VotingRight.State.JOINING;
            default ->
                    throw new MemberRefusedException(
                            file() + " says neither new-cluster nor join: " + said);
        };
    }

    /** A member that has voted has a log. */
    private void refuseWithoutLog() throws MemberRefusedException {
        if (!Files.isDirectory(raft().resolve(config.clusterId().toString()))) {
            throw new MemberRefusedException(
                    root
                            + " has lost its Raft log, "
                            + raft()
                            + ": put it back, or empty the directory and start this member once"
                            + " with --join while the others run");
        }
    }

    private boolean sameGroup(Map<String, String> found) {
        return Objects.equals(found.get(GROUP), text(config.members()));
    }

    private Map<String, String> identity() {
        Map<String, String> lines = new LinkedHashMap<>();
        lines.put("format", FORMAT);
        lines.put("cluster", config.clusterId().toString());
        lines.put("member", Integer.toString(config.memberId()));
        lines.put(GROUP, text(config.members()));
        if (members != null) {
            lines.put(MEMBERS, members);
        }
        if (word != null) {
            lines.put(WORD, word);
        }
        return lines;
    }

    private static String text(Collection<MetaLogConfig.Member> group) {
        return group.stream()
                .map(m -> m.id() + "=" + m.raftAddress())
                .sorted()
                .collect(Collectors.joining(","));
    }

    private void refuseOther(
            Map<String, String> found, Map<String, String> wanted, String key, String what)
            throws MemberRefusedException {
        String there = found.getOrDefault(key, "(none)");
        String here = wanted.getOrDefault(key, "(none)");
        if (!there.equals(here)) {
            throw new MemberRefusedException(
                    root + " " + what + " " + there + ", configured is " + here);
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

    private Path file() {
        return root.resolve(IDENTITY);
    }

    private void write(Map<String, String> values) throws IOException {
        StringBuilder text = new StringBuilder();
        values.forEach((key, value) -> text.append(key).append(' ').append(value).append('\n'));
        Path fresh = root.resolve(IDENTITY + ".new");
        Files.write(fresh, text.toString().getBytes(StandardCharsets.UTF_8));
        Durable.sync(fresh);
        Files.move(fresh, file(), StandardCopyOption.ATOMIC_MOVE);
        Durable.sync(root);
    }
}
