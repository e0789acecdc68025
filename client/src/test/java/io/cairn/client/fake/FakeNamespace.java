package io.cairn.client.fake;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.IdRange;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.proto.Truncation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Just enough of the replicated namespace: directories, files, sessions with numbered mutations,
 * sizes, ceilings, truncations. Any thread.
 */
public final class FakeNamespace {
    private static final int MAX_TRUNCATIONS = 4;

    private static final class Node {
        final Attr.Builder attr;
        final TreeMap<String, Long> children = new TreeMap<>();

        Node(Attr.Builder attr) {
            this.attr = attr;
        }
    }

    private static final class Session {
        long next = 1;
        final Map<Long, MutationResult> answers = new HashMap<>();
        final Map<Long, Integer> opens = new HashMap<>();
        final ByteString uuid;

        /** Ids of its own that it has not used. */
        final TreeSet<Long> ids = new TreeSet<>();

        Session(ByteString uuid) {
            this.uuid = uuid;
        }
    }

    private final Map<Long, Node> nodes = new HashMap<>();
    private final Map<Long, Session> sessions = new TreeMap<>();
    private final FileLayout layout;
    private final List<String> executed = new ArrayList<>();

    /** Sessions with the right to append, by inode. */
    private final Map<Long, Long> appenders = new HashMap<>();

    private final FakeLocks locks = new FakeLocks();
    private final FakeReadOpens reads = new FakeReadOpens(this);
    private final FakeDelegations delegations = new FakeDelegations(this);
    private long nextInode = 2;

    /** Of the mutation in hand, chosen by its client; 0: none. */
    private long ownInode;

    private long nextSession = 100;
    private boolean ranges = true;

    FakeNamespace(FileLayout layout) {
        this.layout = layout;
        nodes.put(
                1L,
                new Node(Attr.newBuilder().setInode(1).setMode(0040755).setNlink(2).setParent(1)));
    }

    /** Whether sessions may have ranges of ids. */
    public synchronized void ranges(boolean granted) {
        ranges = granted;
    }

    public FakeReadOpens reads() {
        return reads;
    }

    public FakeDelegations delegations() {
        return delegations;
    }

    // ---- sessions

    synchronized long openSession(ByteString uuid) {
        for (Map.Entry<Long, Session> s : sessions.entrySet()) {
            if (s.getValue().uuid.equals(uuid)) {
                return s.getKey();
            }
        }
        sessions.put(nextSession, new Session(uuid));
        return nextSession++;
    }

    synchronized boolean knows(long session) {
        return sessions.containsKey(session);
    }

    public void endSession(long session) {
        end(session);
        reads.sessionEnded(session);
        delegations.sessionEnded(session);
    }

    private synchronized void end(long session) {
        Session ended = sessions.remove(session);
        if (ended != null) {
            List<Long> open = ended.opens.keySet().stream().filter(nodes::containsKey).toList();
            open.forEach(inode -> cutLeftovers(ended, inode));
            open.forEach(this::forgetUnused);
        }
        appenders.values().removeIf(holder -> holder == session);
        locks.ended(session, 0);
    }

    /** What the session wrote beyond the size is nobody's, unless others have it open. */
    private void cutLeftovers(@Nullable Session of, long inode) {
        Node node = node(inode);
        Attr.Builder attr = node.attr;
        boolean shared =
                sessions.values().stream()
                        .anyMatch(s -> s != of && s.opens.getOrDefault(inode, 0) > 0);
        if (!shared
                && attr.getSize() < attr.getSizeCeiling()
                && attr.getPendingTruncationsCount() < MAX_TRUNCATIONS) {
            attr.setTruncateSequence(attr.getTruncateSequence() + 1)
                    .addPendingTruncations(
                            Truncation.newBuilder()
                                    .setSequence(attr.getTruncateSequence())
                                    .setSize(attr.getSize()));
            touched(node);
        }
    }

    /** The session with the right to append, 0 if none. */
    public synchronized long appender(long inode) {
        return appenders.getOrDefault(inode, 0L);
    }

    /** The only session there is. */
    public synchronized long onlySession() {
        if (sessions.size() != 1) {
            throw new AssertionError(sessions.keySet() + " are open, not one session");
        }
        return sessions.keySet().iterator().next();
    }

    synchronized List<Long> sessionIds() {
        return List.copyOf(sessions.keySet());
    }

    /** The session that was opened first. */
    public synchronized long lowestSession() {
        return sessions.keySet().iterator().next();
    }

    public synchronized int sessions() {
        return sessions.size();
    }

    /** Opens of an inode, over all sessions. */
    public synchronized int opens(long inode) {
        return sessions.values().stream().mapToInt(s -> s.opens.getOrDefault(inode, 0)).sum();
    }

    /** Opens of an inode by one session. */
    public synchronized int opens(long session, long inode) {
        Session of = sessions.get(session);
        return of == null ? 0 : of.opens.getOrDefault(inode, 0);
    }

    /** What was executed, in order: "number KIND". */
    public synchronized List<String> executed() {
        return List.copyOf(executed);
    }

    // ---- mutations

    /** Null when the first number is not the next one. */
    synchronized @Nullable MutateReply mutate(MutateRequest request) {
        Session session = sessions.get(request.getSession());
        if (session == null) {
            throw new FsException(Errno.ESTALE, "session " + request.getSession() + " is not open");
        }
        session.answers.keySet().removeIf(n -> n < request.getAckedBelow());
        MutateReply.Builder reply = MutateReply.newBuilder();
        long number = request.getFirstNumber();
        for (Mutation mutation : request.getMutationsList()) {
            if (number > session.next) {
                return null;
            }
            if (number == session.next) {
                MutationResult result;
                Map<Long, Long> before = new HashMap<>();
                nodes.forEach((inode, node) -> before.put(inode, node.attr.getChange()));
                try {
                    result = apply(request.getSession(), session, mutation);
                } catch (FsException e) {
                    result =
                            MutationResult.newBuilder()
                                    .setErrno(e.errno().number())
                                    .setDetail(String.valueOf(e.getMessage()))
                                    .build();
                }
                executed.add(number + " " + mutation.getOpCase());
                result = withChangedFrom(result, before);
                session.answers.put(number, result);
                session.next++;
            }
            MutationResult answer = session.answers.get(number);
            if (answer == null) {
                throw new FsException(Errno.EINVAL, "number " + number + " was acknowledged");
            }
            reply.addResults(answer);
            number++;
        }
        return reply.build();
    }

    private MutationResult apply(long id, Session session, Mutation m) {
        ownInode = m.getOwnInode();
        if (ownInode != 0 && !session.ids.contains(ownInode)) {
            throw new FsException(Errno.EINVAL, "id " + ownInode + " of " + session.ids);
        }
        MutationResult result = applied(id, session, m);
        if (ownInode != 0 && nodes.containsKey(ownInode)) {
            session.ids.headSet(ownInode, true).clear();
        }
        return result;
    }

    private MutationResult applied(long id, Session session, Mutation m) {
        return switch (m.getOpCase()) {
            case CREATE -> create(id, session, m.getCreate());
            case MKDIR -> {
                Node directory =
                        add(
                                m.getMkdir().getParent(),
                                m.getMkdir().getName().toStringUtf8(),
                                Mode.DIRECTORY | m.getMkdir().getMode());
                directory.attr.setLayout(layout).setParent(m.getMkdir().getParent()).setNlink(2);
                if (m.getMkdir().getOpen()) {
                    session.opens.merge(directory.attr.getInode(), 1, Integer::sum);
                }
                yield made(directory);
            }
            case SYMLINK -> {
                Node link =
                        add(
                                m.getSymlink().getParent(),
                                m.getSymlink().getName().toStringUtf8(),
                                Mode.SYMLINK | 0777);
                link.attr.setSize(m.getSymlink().getTarget().size());
                yield made(link);
            }
            case RMDIR -> {
                Node parent = node(m.getRmdir().getParent());
                String name = m.getRmdir().getName().toStringUtf8();
                Long inode = parent.children.get(name);
                if (inode == null) {
                    throw new FsException(Errno.ENOENT, "no such name");
                }
                if (!node(inode).children.isEmpty()) {
                    throw new FsException(Errno.ENOTEMPTY, name);
                }
                parent.children.remove(name);
                Node node = node(inode);
                node.attr.setNlink(0);
                touched(node);
                MutationResult result = made(node);
                forgetUnused(inode);
                yield result;
            }
            case UNLINK -> {
                Node parent = node(m.getUnlink().getParent());
                Long inode = parent.children.remove(m.getUnlink().getName().toStringUtf8());
                if (inode == null) {
                    throw new FsException(Errno.ENOENT, "no such name");
                }
                Node node = node(inode);
                node.attr.setNlink(node.attr.getNlink() - 1);
                touched(node);
                forgetUnused(inode);
                yield MutationResult.getDefaultInstance();
            }
            case RENAME -> rename(m.getRename());
            case LINK -> {
                Node linked = node(m.getLink().getInode());
                Node parent = node(m.getLink().getNewParent());
                String name = m.getLink().getNewName().toStringUtf8();
                if (parent.children.putIfAbsent(name, linked.attr.getInode()) != null) {
                    throw new FsException(Errno.EEXIST, name);
                }
                linked.attr.setNlink(linked.attr.getNlink() + 1);
                yield made(touched(linked));
            }
            case SET_ATTR -> setAttr(session, m.getSetAttr(), m.getTime());
            case OPEN -> {
                Node node = node(m.getOpen().getInode());
                session.opens.merge(m.getOpen().getInode(), 1, Integer::sum);
                yield opened(id, node, m.getOpen().getAppend());
            }
            case ACQUIRE_APPEND -> {
                Node node = node(m.getAcquireAppend().getInode());
                if (session.opens.getOrDefault(node.attr.getInode(), 0) == 0) {
                    throw new FsException(Errno.EBADF, "not open");
                }
                MutationResult result = opened(id, node, true);
                if (!result.getAppendRight()) {
                    throw new FsException(Errno.EAGAIN, "another session appends");
                }
                yield result;
            }
            case RETURN_APPEND -> {
                long inode = m.getReturnAppend().getInode();
                if (m.getReturnAppend().hasGrow()) {
                    grow(session, m.getReturnAppend().getGrow());
                }
                appenders.remove(inode, id);
                yield made(node(inode));
            }
            case RELEASE -> {
                long inode = m.getRelease().getInode();
                if (m.getRelease().hasGrow()) {
                    grow(session, m.getRelease().getGrow());
                }
                int left = session.opens.getOrDefault(inode, 0) - m.getRelease().getOpens();
                if (left < 0) {
                    throw new AssertionError("inode " + inode + " released too often");
                }
                session.opens.put(inode, left);
                if (left == 0) {
                    locks.ended(id, inode);
                    appenders.remove(inode, id);
                }
                MutationResult result = made(node(inode));
                forgetUnused(inode);
                yield result;
            }
            case GROW -> made(grow(session, m.getGrow()));
            case SET_LOCK -> {
                FileLock lock = m.getSetLock().getLock().toBuilder().setSession(id).build();
                if (!m.getSetLock().getUnlock() && !locks.isFree(lock)) {
                    throw new FsException(Errno.EAGAIN, "locked");
                }
                yield made(node(lock.getInode())).toBuilder()
                        .addAllReplacedLocks(locks.set(lock, m.getSetLock().getUnlock()))
                        .build();
            }
            case RAISE_CEILING -> {
                Node node = node(m.getRaiseCeiling().getInode());
                node.attr.setSizeCeiling(
                        Math.max(node.attr.getSizeCeiling(), m.getRaiseCeiling().getSizeCeiling()));
                touched(node);
                yield made(node);
            }
            case ACQUIRE_IDS -> {
                if (!ranges) {
                    throw new FsException(Errno.EOPNOTSUPP, "ranges of ids");
                }
                IdRange.Builder range = IdRange.newBuilder().setFirst(nextInode);
                for (int i = 0; i < m.getAcquireIds().getCount(); i++) {
                    session.ids.add(nextInode++);
                }
                yield MutationResult.newBuilder().setIds(range.setLast(nextInode - 1)).build();
            }
            default -> throw new FsException(Errno.ENOSYS, m.getOpCase().toString());
        };
    }

    /** Of a file, in the place of a file or of none. */
    private MutationResult rename(RenameOp op) {
        Long inode = node(op.getParent()).children.remove(op.getName().toStringUtf8());
        if (inode == null) {
            throw new FsException(Errno.ENOENT, "no such name");
        }
        String name = op.getNewName().toStringUtf8();
        Long replaced = node(op.getNewParent()).children.put(name, inode);
        if (replaced != null) {
            Node old = node(replaced);
            old.attr.setNlink(old.attr.getNlink() - 1);
            forgetUnused(replaced);
        }
        return made(touched(node(inode)));
    }

    private MutationResult opened(long session, Node node, boolean append) {
        long inode = node.attr.getInode();
        if (append) {
            appenders.putIfAbsent(inode, session);
        }
        return made(node).toBuilder().setAppendRight(append && appender(inode) == session).build();
    }

    private MutationResult create(long id, Session session, CreateOp op) {
        String name = op.getName().toStringUtf8();
        Long known = node(op.getParent()).children.get(name);
        if (known != null && op.getExclusive()) {
            throw new FsException(Errno.EEXIST, name);
        }
        Node node = known == null ? add(op.getParent(), name, op.getMode()) : node(known);
        if (op.getOpen()) {
            session.opens.merge(node.attr.getInode(), 1, Integer::sum);
        }
        return opened(id, node, op.getOpen() && op.getAppend() && known == null).toBuilder()
                .setCreated(known == null)
                .build();
    }

    private Node add(long parent, String name, int mode) {
        Node directory = node(parent);
        if (directory.children.containsKey(name)) {
            throw new FsException(Errno.EEXIST, name);
        }
        long inode = ownInode != 0 ? ownInode : nextInode++;
        Attr.Builder attr = Attr.newBuilder().setInode(inode).setMode(mode).setNlink(1);
        if (Mode.isRegular(mode)) {
            attr.setLayout(layout)
                    .setSizeCeiling((long) layout.getChunkSize() * layout.getStripeCount());
        }
        Node node = new Node(attr);
        touched(node);
        nodes.put(inode, node);
        directory.children.put(name, inode);
        return node;
    }

    /**
     * @param session null: one of another client
     */
    private MutationResult setAttr(@Nullable Session session, SetAttrOp op, Timespec time) {
        Node node = node(op.getInode());
        Attr.Builder attr = node.attr;
        long waitTruncated = 0;
        if (op.hasSize()) {
            boolean shared =
                    sessions.values().stream()
                            .anyMatch(s ->
                                    s != session && s.opens.getOrDefault(op.getInode(), 0) > 0);
            if (op.getSize() < attr.getSizeCeiling() && (shared || op.getSize() < attr.getSize())) {
                if (attr.getPendingTruncationsCount() >= MAX_TRUNCATIONS) {
                    throw new FsException(Errno.EAGAIN, "still being truncated");
                }
                attr.setTruncateSequence(attr.getTruncateSequence() + 1)
                        .addPendingTruncations(
                                Truncation.newBuilder()
                                        .setSequence(attr.getTruncateSequence())
                                        .setSize(op.getSize()));
                waitTruncated = shared ? attr.getTruncateSequence() : 0;
            }
            attr.setSize(op.getSize()).setMtime(time);
        }
        Timespec after = timespec(nanos(attr.getCtime()) + 1);
        if (op.hasMtime()) {
            attr.setMtime(op.getMtimeNow() ? latest(op.getMtime(), after) : op.getMtime());
        }
        if (op.hasAtime()) {
            attr.setAtime(op.getAtime());
        }
        attr.setCtime(latest(time, after));
        if (op.hasUid()) {
            attr.setUid(op.getUid());
        }
        if (op.hasGid()) {
            attr.setGid(op.getGid());
        }
        if (op.hasUid() || op.hasGid() || op.getKillSuidSgid()) {
            attr.setMode(Mode.withoutPrivileges(attr.getMode()));
        }
        if (op.hasMode()) {
            attr.setMode(Mode.type(attr.getMode()) | op.getMode());
        }
        touched(node);
        return made(node).toBuilder().setWaitTruncated(waitTruncated).build();
    }

    private Node grow(@Nullable Session session, GrowOp op) {
        Node node = node(op.getInode());
        if (op.hasTruncateSequence() && op.getSize() > node.attr.getSizeCeiling()) {
            throw new AssertionError("size " + op.getSize() + " is above the ceiling");
        }
        if (op.getSize() > 0
                && (!op.hasTruncateSequence()
                        || op.getTruncateSequence() >= node.attr.getTruncateSequence())) {
            node.attr.setSize(Math.max(node.attr.getSize(), op.getSize()));
            node.attr.setSizeCeiling(Math.max(node.attr.getSizeCeiling(), op.getSize()));
        }
        if (op.hasMtime()) {
            long before = nanos(node.attr.getMtime());
            long now = nanos(op.getMtime());
            if (now > before || before > nanos(node.attr.getCtime())) {
                node.attr.setMtime(op.getMtime());
            }
            if (now > nanos(node.attr.getCtime())) {
                node.attr.setCtime(op.getMtime());
            }
        }
        if (op.getKillSuidSgid()) {
            node.attr.setMode(Mode.withoutPrivileges(node.attr.getMode()));
        }
        if (op.getLeftovers()) {
            cutLeftovers(session, op.getInode());
        }
        touched(node);
        return node;
    }

    private static MutationResult withChangedFrom(MutationResult result, Map<Long, Long> before) {
        Attr attr = result.getAttr();
        if (!result.hasAttr()) {
            return result;
        }
        long from = before.getOrDefault(attr.getInode(), attr.getChange());
        return result.toBuilder().setAttr(attr.toBuilder().setChangedFrom(from)).build();
    }

    private static long nanos(Timespec t) {
        return t.getSeconds() * 1_000_000_000L + t.getNanos();
    }

    private static Timespec timespec(long nanos) {
        return Timespec.newBuilder()
                .setSeconds(Math.floorDiv(nanos, 1_000_000_000L))
                .setNanos((int) Math.floorMod(nanos, 1_000_000_000L))
                .build();
    }

    private static Timespec latest(Timespec a, Timespec b) {
        return nanos(a) >= nanos(b) ? a : b;
    }

    private static Node touched(Node node) {
        node.attr.setChange(node.attr.getChange() + 1);
        return node;
    }

    private static MutationResult made(Node node) {
        return MutationResult.newBuilder().setAttr(node.attr.build()).build();
    }

    private void forgetUnused(long inode) {
        if (node(inode).attr.getNlink() == 0 && opens(inode) == 0 && !reads.mayBeOpen(inode)) {
            nodes.remove(inode);
        }
    }

    /** What nobody has open any more. */
    synchronized void forgetNameless() {
        List.copyOf(nodes.keySet()).forEach(this::forgetUnused);
    }

    synchronized boolean isFree(FileLock wanted) {
        return locks.isFree(wanted);
    }

    /** As "7 shared 0-9": owner, mode, bytes. */
    public synchronized List<String> locks(long inode) {
        return locks.of(inode);
    }

    // ---- reads, and what tests do behind the client's back

    private Node node(long inode) {
        Node node = nodes.get(inode);
        if (node == null) {
            throw new FsException(Errno.ENOENT, "inode " + inode);
        }
        return node;
    }

    public synchronized Attr attr(long inode) {
        return node(inode).attr.build();
    }

    /** Whether a session may make something with the id. */
    synchronized boolean isOwnId(long inode) {
        return sessions.values().stream().anyMatch(s -> s.ids.contains(inode));
    }

    public synchronized boolean exists(long inode) {
        return nodes.containsKey(inode);
    }

    synchronized Attr lookup(long parent, String name) {
        if (name.equals(".")) {
            return attr(parent);
        }
        Long inode = node(parent).children.get(name);
        if (inode == null) {
            throw new FsException(Errno.ENOENT, name);
        }
        return attr(inode);
    }

    public synchronized ReadDirReply readDir(long inode) {
        ReadDirReply.Builder reply = ReadDirReply.newBuilder().setEnd(true);
        node(inode)
                .children
                .forEach((name, child) ->
                        reply.addEntries(
                                DirEntry.newBuilder()
                                        .setName(ByteString.copyFromUtf8(name))
                                        .setInode(child)
                                        .setAttr(attr(child))));
        return reply.build();
    }

    /** As another client: takes a name away. */
    public synchronized void unlinkBehind(String name) {
        Long inode = node(1).children.remove(name);
        if (inode == null) {
            throw new AssertionError("no " + name);
        }
        node(inode).attr.setNlink(0);
        forgetUnused(inode);
    }

    /** As another client: publishes a size. */
    public synchronized void growBehind(long inode, long size) {
        grow(null, GrowOp.newBuilder().setInode(inode).setSize(size).build());
    }

    /** As another client: sets a size. */
    public synchronized void resizeBehind(long inode, long size) {
        setAttr(
                null,
                SetAttrOp.newBuilder().setInode(inode).setSize(size).build(),
                Timespec.getDefaultInstance());
    }

    /** As the leader: a truncation is applied everywhere. */
    synchronized void truncated(long inode, long sequence) {
        Node node = nodes.get(inode);
        if (node == null) {
            return;
        }
        List<Truncation> left =
                node.attr.getPendingTruncationsList().stream()
                        .filter(t -> t.getSequence() > sequence)
                        .toList();
        node.attr.clearPendingTruncations().addAllPendingTruncations(left);
    }
}
