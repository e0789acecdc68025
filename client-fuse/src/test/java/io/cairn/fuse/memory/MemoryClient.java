package io.cairn.fuse.memory;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ContentHolder;
import io.cairn.client.api.LeaseHolder;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.StatFsReply;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The client library's interface over maps in memory: what the mount is tested against without a
 * cluster. One lock for everything but file content. Operations complete at once unless their kind
 * is held back ({@link #holdBack}).
 */
public final class MemoryClient implements CairnClient {
    /** What the mount asked for. */
    public record Append(int bytes, boolean goesOn) {}

    private final Map<Long, MemoryNode> nodes = new HashMap<>();
    private final Map<Long, Integer> opens = new HashMap<>();
    private final Map<String, CompletableFuture<Void>> gates = new ConcurrentHashMap<>();
    private final Map<String, Integer> waiting = new ConcurrentHashMap<>();
    private final AtomicInteger syncs = new AtomicInteger();
    private final AtomicInteger flushes = new AtomicInteger();
    private final List<Append> appends = new CopyOnWriteArrayList<>();
    private final List<Runnable> onNewSession = new CopyOnWriteArrayList<>();
    private final Map<String, Integer> calls = new ConcurrentHashMap<>();
    private volatile @Nullable LeaseHolder holder;
    private volatile @Nullable ContentHolder contents;
    private volatile boolean failsInPart;
    private volatile int leaseMicros;
    private long lastInode = ROOT_INODE;
    private volatile long mounted = ROOT_INODE;

    public MemoryClient() {
        MemoryNode root = new MemoryNode(ROOT_INODE, MemoryNode.DIRECTORY | 0755);
        root.nlink = 2;
        root.parent = ROOT_INODE;
        nodes.put(ROOT_INODE, root);
    }

    @Override
    public long rootInode() {
        return mounted;
    }

    /** The directory this client was asked to mount. */
    public void root(long inode) {
        mounted = inode;
    }

    @Override
    public void onNewSession(Runnable action) {
        onNewSession.add(action);
    }

    /** As if the cluster had ended its session. */
    public void newSession() {
        onNewSession.forEach(Runnable::run);
    }

    @Override
    public CompletableFuture<Void> syncDirectory(long inode) {
        return CompletableFuture.allOf();
    }

    @Override
    public void holdLeases(LeaseHolder by) {
        holder = by;
    }

    @Override
    public void holdContents(ContentHolder by) {
        contents = by;
    }

    /** A change by this client itself. */
    private void changedHere(MemoryNode node) {
        node.changed();
        tellOfChange(node);
    }

    private void tellOfChange(MemoryNode node) {
        ContentHolder told = contents;
        if (told != null) {
            told.changedHere(node.inode, node.change - 1, node.change);
        }
    }

    /** From now on writes put only their first half into the file, and fail. */
    public void failInPart(boolean fails) {
        failsInPart = fails;
    }

    /** Whether leases are asked for. */
    public boolean holdsLeases() {
        return holder != null;
    }

    /** How long leases last from now on. None is recalled but by {@link #recall}. */
    public void leases(int micros) {
        leaseMicros = micros;
    }

    /** As the leader; completes when all is forgotten. */
    public CompletableFuture<Void> recall(ReadRecall recall) {
        @Nullable LeaseHolder present = holder;
        CompletableFuture<Void> forgotten = new CompletableFuture<>();
        if (present == null) {
            forgotten.complete(null);
        } else {
            present.recalled(recall, () -> forgotten.complete(null));
        }
        return forgotten;
    }

    /** How often an operation was called. */
    public int calls(String operation) {
        return calls.getOrDefault(operation, 0);
    }

    private Attr leased(Attr attr, boolean name) {
        return holder == null
                ? attr
                : attr.toBuilder()
                        .setAttrLeaseMicros(leaseMicros)
                        .setNameLeaseMicros(name ? leaseMicros : 0)
                        .setNoXattrs(hasNoXattrs(attr.getInode()))
                        .build();
    }

    private synchronized boolean hasNoXattrs(long inode) {
        return node(inode).xattrs.isEmpty();
    }

    /** Makes operations of this name wait until {@link #letGo}. */
    public void holdBack(String operation) {
        gates.put(operation, new CompletableFuture<>());
    }

    /** How many operations of this name are waiting or have waited. */
    public int heldBack(String operation) {
        return waiting.getOrDefault(operation, 0);
    }

    public void letGo(String operation) {
        @Nullable CompletableFuture<Void> gate = gates.remove(operation);
        if (gate != null) {
            gate.complete(null);
        }
    }

    /** How many opens of inodes are not released. */
    public synchronized int openCount() {
        return opens.values().stream().mapToInt(n -> n).sum();
    }

    /** How often any file was synced. */
    public int syncs() {
        return syncs.get();
    }

    /** How often size and times of any file were published. */
    public int flushes() {
        return flushes.get();
    }

    /** Inodes that exist, the root included. */
    public synchronized int inodeCount() {
        return nodes.size();
    }

    private <T> CompletableFuture<T> run(String operation, Supplier<T> body) {
        calls.merge(operation, 1, Integer::sum);
        @Nullable CompletableFuture<Void> gate = gates.get(operation);
        if (gate != null) {
            waiting.merge(operation, 1, Integer::sum);
            return gate.thenApply(nothing -> body.get());
        }
        try {
            return CompletableFuture.completedFuture(body.get());
        } catch (FsException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    private static FsException error(Errno errno) {
        return new FsException(errno, "in memory");
    }

    private MemoryNode node(long inode) {
        @Nullable MemoryNode node = nodes.get(inode);
        if (node == null) {
            throw error(Errno.ENOENT);
        }
        return node;
    }

    private MemoryNode directory(long inode) {
        MemoryNode node = node(inode);
        if (!node.isDirectory()) {
            throw error(Errno.ENOTDIR);
        }
        return node;
    }

    private static MemoryNode child(MemoryNode directory, byte[] name) {
        MemoryNode.@Nullable Entry entry = directory.entries.get(MemoryName.of(name));
        if (entry == null) {
            throw error(Errno.ENOENT);
        }
        return entry.node();
    }

    @Override
    public CompletableFuture<Attr> lookup(long parent, byte[] name) {
        return run("lookup", () -> leased(entry(parent, name), true));
    }

    @Override
    public CompletableFuture<LookupReply> find(long parent, byte[] name) {
        return run(
                "lookup",
                () -> {
                    try {
                        return LookupReply.newBuilder()
                                .setAttr(leased(entry(parent, name), true))
                                .build();
                    } catch (FsException e) {
                        if (holder == null || e.errno() != Errno.ENOENT) {
                            throw e;
                        }
                        return LookupReply.newBuilder().setMissingLeaseMicros(leaseMicros).build();
                    }
                });
    }

    private synchronized Attr entry(long parent, byte[] name) {
        if (name.length == 1 && name[0] == '.') {
            return node(parent).attr();
        }
        MemoryNode directory = directory(parent);
        if (name.length == 2 && name[0] == '.' && name[1] == '.') {
            return node(directory.parent).attr();
        }
        return child(directory, name).attr();
    }

    @Override
    public CompletableFuture<Attr> getAttr(long inode) {
        return run(
                "getattr",
                () -> {
                    synchronized (this) {
                        return leased(node(inode).attr(), false);
                    }
                });
    }

    @Override
    public CompletableFuture<Attr> setAttr(SetAttrOp change, Credentials who) {
        return run("setattr", () -> change(change));
    }

    private synchronized Attr change(SetAttrOp change) {
        MemoryNode node = node(change.getInode());
        if (change.hasSize()) {
            node.changed();
        } else {
            changedHere(node);
        }
        if (change.getKillSuidSgid()) {
            node.killPrivileges();
        }
        if (change.hasMode()) {
            node.mode = (node.mode & MemoryNode.TYPE) | change.getMode();
        }
        if (change.hasUid()) {
            node.uid = change.getUid();
        }
        if (change.hasGid()) {
            node.gid = change.getGid();
        }
        if (change.hasSize()) {
            if (change.getSize() < node.size) {
                node.content.truncate(change.getSize());
            }
            node.size = change.getSize();
            node.mtime = node.ctime;
        }
        if (change.hasAtime()) {
            node.atime = change.getAtime();
        }
        if (change.hasMtime()) {
            node.mtime = change.getMtime();
        }
        return node.attr();
    }

    private synchronized MemoryNode make(long parent, byte[] name, int mode, Credentials who) {
        MemoryNode directory = directory(parent);
        if (name.length > 255) {
            throw error(Errno.ENAMETOOLONG);
        }
        if (directory.entries.containsKey(MemoryName.of(name))) {
            throw error(Errno.EEXIST);
        }
        if (directory.nlink == 0) {
            throw error(Errno.ENOENT);
        }
        MemoryNode node = new MemoryNode(++lastInode, mode);
        node.uid = who.getUid();
        node.gid = who.getGid();
        if ((directory.mode & MemoryNode.SET_GID) != 0) {
            node.gid = directory.gid;
            node.mode |= node.isDirectory() ? MemoryNode.SET_GID : 0;
        }
        node.nlink = node.isDirectory() ? 2 : 1;
        nodes.put(node.inode, node);
        directory.put(MemoryName.of(name), node);
        return node;
    }

    @Override
    public CompletableFuture<OpenFile> create(
            long parent,
            byte[] name,
            int mode,
            boolean exclusive,
            boolean append,
            Credentials who) {
        return run(
                "create",
                () -> {
                    synchronized (this) {
                        return new Open(make(parent, name, mode, who));
                    }
                });
    }

    @Override
    public CompletableFuture<OpenFile> open(long inode, boolean append) {
        return run(
                "open",
                () -> {
                    synchronized (this) {
                        return new Open(node(inode));
                    }
                });
    }

    @Override
    public CompletableFuture<Attr> mkdir(long parent, byte[] name, int mode, Credentials who) {
        return run("mkdir", () -> leased(make(parent, name, mode, who).attr(), true));
    }

    @Override
    public CompletableFuture<Attr> mknod(
            long parent, byte[] name, int mode, int rdev, Credentials who) {
        return run(
                "mknod",
                () -> {
                    MemoryNode node = make(parent, name, mode, who);
                    node.rdev = rdev;
                    return leased(node.attr(), true);
                });
    }

    @Override
    public CompletableFuture<Attr> symlink(
            long parent, byte[] name, byte[] target, Credentials who) {
        return run(
                "symlink",
                () -> {
                    MemoryNode node = make(parent, name, MemoryNode.SYMLINK | 0777, who);
                    node.target = target;
                    return node.attr();
                });
    }

    @Override
    public CompletableFuture<Attr> link(long inode, long newParent, byte[] newName) {
        return run("link", () -> leased(makeLink(inode, newParent, newName), true));
    }

    private synchronized Attr makeLink(long inode, long newParent, byte[] newName) {
        MemoryNode node = node(inode);
        MemoryNode directory = directory(newParent);
        if (node.isDirectory()) {
            throw error(Errno.EPERM);
        }
        if (directory.entries.containsKey(MemoryName.of(newName))) {
            throw error(Errno.EEXIST);
        }
        node.nlink++;
        changedHere(node);
        directory.put(MemoryName.of(newName), node);
        return node.attr();
    }

    @Override
    public CompletableFuture<Void> unlink(long parent, byte[] name) {
        return run(
                "unlink",
                () -> {
                    synchronized (this) {
                        remove(directory(parent), name, false);
                        return null;
                    }
                });
    }

    @Override
    public CompletableFuture<Void> rmdir(long parent, byte[] name) {
        return run(
                "rmdir",
                () -> {
                    synchronized (this) {
                        remove(directory(parent), name, true);
                        return null;
                    }
                });
    }

    private void remove(MemoryNode directory, byte[] name, boolean asDirectory) {
        MemoryNode node = child(directory, name);
        if (asDirectory != node.isDirectory()) {
            throw error(asDirectory ? Errno.ENOTDIR : Errno.EISDIR);
        }
        if (!node.entries.isEmpty()) {
            throw error(Errno.ENOTEMPTY);
        }
        directory.drop(MemoryName.of(name));
        node.nlink -= asDirectory ? 2 : 1;
        node.changed();
        forgetUnused(node);
    }

    private void forgetUnused(MemoryNode node) {
        if (node.nlink <= 0 && opens.getOrDefault(node.inode, 0) == 0) {
            nodes.remove(node.inode);
        }
    }

    @Override
    public CompletableFuture<Long> rename(
            long parent, byte[] name, long newParent, byte[] newName, int flags) {
        return run(
                "rename",
                () -> {
                    synchronized (this) {
                        MemoryNode moved = child(directory(parent), name);
                        move(directory(parent), name, directory(newParent), newName, flags);
                        return moved.attr().getInode();
                    }
                });
    }

    private void move(MemoryNode from, byte[] name, MemoryNode to, byte[] newName, int flags) {
        MemoryNode node = child(from, name);
        MemoryNode.@Nullable Entry there = to.entries.get(MemoryName.of(newName));
        if (flags == 2) {
            if (there == null) {
                throw error(Errno.ENOENT);
            }
            from.drop(MemoryName.of(name));
            to.drop(MemoryName.of(newName));
            from.put(MemoryName.of(name), there.node());
            to.put(MemoryName.of(newName), node);
            node.changed();
            there.node().changed();
            return;
        }
        if (there != null) {
            if (flags == 1) {
                throw error(Errno.EEXIST);
            }
            if (there.node() == node) {
                return;
            }
            if (there.node().isDirectory() && !node.isDirectory()) {
                throw error(Errno.EISDIR);
            }
            if (!there.node().isDirectory() && node.isDirectory()) {
                throw error(Errno.ENOTDIR);
            }
            remove(to, newName, there.node().isDirectory());
        }
        from.drop(MemoryName.of(name));
        to.put(MemoryName.of(newName), node);
        changedHere(node);
    }

    @Override
    public CompletableFuture<byte[]> readLink(long inode) {
        return run(
                "readlink",
                () -> {
                    synchronized (this) {
                        return node(inode).target;
                    }
                });
    }

    @Override
    public CompletableFuture<ReadDirReply> readDir(
            long inode, long cursor, int maxBytes, boolean withAttributes) {
        return run("readdir", () -> list(inode, cursor, maxBytes, withAttributes));
    }

    private synchronized ReadDirReply list(
            long inode, long cursor, int maxBytes, boolean withAttributes) {
        MemoryNode directory = directory(inode);
        ReadDirReply.Builder reply = ReadDirReply.newBuilder().setParent(directory.parent);
        int bytes = 0;
        for (MemoryNode.Entry entry : directory.byCursor.tailMap(cursor, false).values()) {
            DirEntry.Builder item =
                    DirEntry.newBuilder()
                            .setName(entry.name().bytes())
                            .setInode(entry.node().inode)
                            .setMode(entry.node().mode & MemoryNode.TYPE)
                            .setCursor(entry.cursor());
            if (withAttributes) {
                item.setAttr(leased(entry.node().attr(), true));
            }
            reply.addEntries(item);
            bytes += 24 + entry.name().bytes().size();
            if (bytes > maxBytes) {
                return reply.build();
            }
        }
        return reply.setEnd(true).build();
    }

    @Override
    public CompletableFuture<byte[]> getXattr(long inode, byte[] name) {
        return run(
                "getxattr",
                () -> {
                    synchronized (this) {
                        byte @Nullable [] value = node(inode).xattrs.get(MemoryName.of(name));
                        if (value == null) {
                            throw error(Errno.ENODATA);
                        }
                        return value;
                    }
                });
    }

    @Override
    public CompletableFuture<List<byte[]>> listXattr(long inode) {
        return run(
                "listxattr",
                () -> {
                    synchronized (this) {
                        return node(inode).xattrs.keySet().stream().map(MemoryName::array).toList();
                    }
                });
    }

    @Override
    public CompletableFuture<Void> setXattr(long inode, byte[] name, byte[] value, int flags) {
        return run(
                "setxattr",
                () -> {
                    synchronized (this) {
                        MemoryNode node = node(inode);
                        boolean exists = node.xattrs.containsKey(MemoryName.of(name));
                        if (flags == 1 && exists) {
                            throw error(Errno.EEXIST);
                        }
                        if (flags == 2 && !exists) {
                            throw error(Errno.ENODATA);
                        }
                        node.xattrs.put(MemoryName.of(name), value);
                        changedHere(node);
                        return null;
                    }
                });
    }

    @Override
    public CompletableFuture<Void> removeXattr(long inode, byte[] name) {
        return run(
                "removexattr",
                () -> {
                    synchronized (this) {
                        MemoryNode node = node(inode);
                        if (node.xattrs.remove(MemoryName.of(name)) == null) {
                            throw error(Errno.ENODATA);
                        }
                        node.changed();
                        return null;
                    }
                });
    }

    @Override
    public CompletableFuture<StatFsReply> statFs() {
        StatFsReply space =
                StatFsReply.newBuilder()
                        .setCapacityBytes(1L << 40)
                        .setFreeBytes(freeBytes())
                        .setInodesUsed(inodeCount())
                        .setInodesFree(1_000_000)
                        .build();
        return CompletableFuture.completedFuture(space);
    }

    /** What {@link #statFs} says. */
    public long freeBytes() {
        return 1L << 39;
    }

    /** Removes an empty directory as another client would. */
    public synchronized void removeElsewhere(byte[] nameInRoot) {
        remove(directory(ROOT_INODE), nameInRoot, true);
    }

    /** Changes a file as another client would: the mount learns nothing of it. */
    public synchronized void overwriteElsewhere(byte[] nameInRoot, byte[] content) {
        MemoryNode node = child(directory(ROOT_INODE), nameInRoot);
        node.content.truncate(0);
        node.content.write(0, Unpooled.wrappedBuffer(content));
        node.size = content.length;
        node.contentChanged();
    }

    /** Appends to a file as another client would. */
    public synchronized void appendElsewhere(byte[] nameInRoot, byte[] content) {
        MemoryNode node = child(directory(ROOT_INODE), nameInRoot);
        node.content.write(node.size, Unpooled.wrappedBuffer(content));
        node.size += content.length;
        node.contentChanged();
    }

    /** All appends in the order of their coming. */
    public List<Append> appends() {
        return appends;
    }

    /** Creates a file as another client would. */
    public synchronized void createElsewhere(byte[] nameInRoot, int mode) {
        make(ROOT_INODE, nameInRoot, MemoryNode.REGULAR | mode, Credentials.getDefaultInstance());
    }

    @Override
    public void close() {}

    private final class Open implements OpenFile {
        private final MemoryNode node;

        Open(MemoryNode node) {
            this.node = node;
            opens.merge(node.inode, 1, Integer::sum);
        }

        @Override
        public long inode() {
            return node.inode;
        }

        @Override
        public Attr attr() {
            synchronized (MemoryClient.this) {
                return node.attr();
            }
        }

        @Override
        public Attr made() {
            return leased(attr(), true);
        }

        @Override
        public CompletableFuture<ByteBuf> read(long offset, int length) {
            return run(
                    "read",
                    () -> {
                        long size = node.size;
                        int bytes = (int) Math.max(0, Math.min(length, size - offset));
                        return node.content.read(offset, bytes);
                    });
        }

        @Override
        public CompletableFuture<Void> write(long offset, ByteBuf data, boolean killPrivileges) {
            return droppable(
                    run(
                            "write",
                            () ->
                                    failsInPart
                                            ? storeHalf(offset, data)
                                            : store(offset, data, killPrivileges)),
                    data);
        }

        @Override
        public CompletableFuture<Long> append(
                ByteBuf data, boolean killPrivileges, boolean goesOn) {
            appends.add(new Append(data.readableBytes(), goesOn));
            CompletableFuture<Long> appended =
                    run(
                            "append",
                            () -> {
                                synchronized (MemoryClient.this) {
                                    long at = node.size;
                                    store(at, data, killPrivileges);
                                    return at;
                                }
                            });
            return droppable(appended, data);
        }

        /** Gives the data back where the caller cancels while it is held back. */
        private static <T> CompletableFuture<T> droppable(
                CompletableFuture<T> written, ByteBuf data) {
            var _ =
                    written.whenComplete((value, failure) -> {
                        if (written.isCancelled()) {
                            data.release();
                        }
                    });
            return written;
        }

        @Override
        public CompletableFuture<Void> extend(long size) {
            return run("extend", () -> store(size, Unpooled.EMPTY_BUFFER, false));
        }

        private @Nullable Void storeHalf(long offset, ByteBuf data) {
            try {
                node.content.write(offset, data.slice(0, data.readableBytes() / 2));
            } finally {
                data.release();
            }
            throw error(Errno.ENOSPC);
        }

        private @Nullable Void store(long offset, ByteBuf data, boolean killPrivileges) {
            long end = offset + data.readableBytes();
            try {
                node.content.write(offset, data);
            } finally {
                data.release();
            }
            synchronized (MemoryClient.this) {
                node.size = Math.max(node.size, end);
                if (killPrivileges) {
                    node.killPrivileges();
                }
                node.contentChanged();
                tellOfChange(node);
            }
            return null;
        }

        @Override
        public CompletableFuture<Void> fsync() {
            return run(
                    "fsync",
                    () -> {
                        syncs.incrementAndGet();
                        return null;
                    });
        }

        @Override
        public CompletableFuture<Void> flush() {
            return run(
                    "flush",
                    () -> {
                        flushes.incrementAndGet();
                        return null;
                    });
        }

        @Override
        public CompletableFuture<Void> release() {
            return run(
                    "release",
                    () -> {
                        synchronized (MemoryClient.this) {
                            opens.merge(node.inode, -1, Integer::sum);
                            forgetUnused(node);
                            return null;
                        }
                    });
        }
    }
}
