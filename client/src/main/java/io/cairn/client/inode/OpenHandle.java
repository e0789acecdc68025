package io.cairn.client.inode;

import io.cairn.client.ahead.Found;
import io.cairn.client.ahead.ReadAhead;
import io.cairn.client.api.CairnClient;
import io.cairn.client.api.LockCall;
import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.data.DataSession;
import io.cairn.client.data.HeldData;
import io.cairn.client.inode.HeldLocks.Owner;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.TestLockReply;
import io.cairn.common.proto.TestLockRequest;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One open of a file by the caller; all handles of an inode share its {@link InodeState}. */
public final class OpenHandle implements CairnClient.OpenFile {
    private final FileServices services;
    private final InodeTable table;
    private final Appends appends;
    private final Opens opens;
    private final InodeState state;
    private final boolean writable;

    /** Writes that were lost later are this handle's to report. */
    private final int losses;

    /** Of calls for locks. */
    private static final AtomicLong TICKETS = new AtomicLong();

    /** Null: nothing is read ahead. */
    private final @Nullable ReadAhead ahead;

    private final AtomicBoolean released = new AtomicBoolean();

    /** With leases; of no inode where the file was there before. */
    private final Attr made;

    /**
     * @param state acquired for this handle, with attributes
     * @param writable whether the MDS counts an open of the session
     * @param made the attributes of a file that was made with this handle, else of no inode
     */
    OpenHandle(
            FileServices services,
            InodeTable table,
            Appends appends,
            Opens opens,
            InodeState state,
            boolean writable,
            Attr made) {
        this.opens = opens;
        this.writable = writable;
        this.services = services;
        this.table = table;
        this.appends = appends;
        this.state = state;
        this.made = made;
        synchronized (state) {
            this.losses = state.tenure.losses();
        }
        this.ahead = services.readAheadBytes() == 0 ? null : readAhead();
    }

    private ReadAhead readAhead() {
        ReadAhead of =
                new ReadAhead(
                        services.aheadMemory(),
                        services.meters(),
                        services.readAheadBytes(),
                        System::nanoTime);
        state.aheads.add(of);
        return of;
    }

    @Override
    public long inode() {
        return state.inode();
    }

    @Override
    public Attr attr() {
        return state.merged();
    }

    @Override
    public Attr made() {
        return made.getInode() == 0 ? attr() : state.merged(made);
    }

    @Override
    public CompletableFuture<ByteBuf> read(long offset, int length) {
        if (offset < 0 || length < 0) {
            return Async.failed(Errno.EINVAL, "read at " + offset + " length " + length);
        }
        if (released.get()) {
            return Async.failed(Errno.EBADF, "file " + inode() + " is closed");
        }
        if (length == 0 || offset > Long.MAX_VALUE - length) {
            return CompletableFuture.completedFuture(Unpooled.EMPTY_BUFFER);
        }
        return ask(offset, length);
    }

    private CompletableFuture<ByteBuf> ask(long offset, int length) {
        ReadOp op = new ReadOp(services, state, offset, length);
        state.order().submit(op);
        return op.future;
    }

    @Override
    public CompletableFuture<ByteBuf> readForCache(long offset, int length) {
        ReadAhead of = ahead;
        if (of == null || released.get() || offset < 0) {
            return read(offset, length);
        }
        long size = state.size();
        int there = (int) Math.clamp(size - offset, 0, Math.max(0, length));
        // What ends at the size asks the MDS for it, as any read does, unless it is known well.
        boolean known =
                there == length
                        || !state.mayHaveGrown(System.nanoTime(), services.attrFreshNanos());
        if (there == 0 || !known) {
            return read(offset, length);
        }
        DataSession session = state.session();
        Found found = of.read(offset, there, session);
        CompletableFuture<ByteBuf> read;
        if (found instanceof Found.Nothing) {
            read = ask(offset, length);
        } else {
            AheadRead op = new AheadRead(services, state, of, offset, there);
            op.go(found);
            read = op.future;
        }
        of.fill(
                state.view(),
                size,
                session,
                piece -> state.order().submit(new AheadFetch(services, state, piece)));
        return read;
    }

    @Override
    public CompletableFuture<Void> write(long offset, ByteBuf data, boolean killPrivileges) {
        return write(offset, data, killPrivileges, false);
    }

    @Override
    public CompletableFuture<Void> writeBehind(long offset, ByteBuf data, boolean killPrivileges) {
        return write(offset, data, killPrivileges, true);
    }

    private CompletableFuture<Void> write(
            long offset, ByteBuf data, boolean killPrivileges, boolean behind) {
        int length = data.readableBytes();
        CompletableFuture<Void> refused = null;
        if (offset < 0) {
            refused = Async.failed(Errno.EINVAL, "write at " + offset);
        } else if (!isWritable()) {
            refused = unwritable();
        } else if (offset > state.view().maxFileBytes() - length) {
            refused = Async.failed(Errno.EFBIG, "write at " + offset);
        } else if (length == 0) {
            refused = Async.done();
        }
        if (refused != null) {
            data.release();
            return refused;
        }
        HeldData held;
        try {
            held = services.data().hold(state, offset, data);
        } catch (FsException e) {
            data.release();
            return CompletableFuture.failedFuture(e);
        }
        WriteOp op = new WriteOp(services, state, offset, held, killPrivileges, losses);
        op.submit();
        boolean answered =
                behind
                        && !op.future.isDone()
                        && services.data().hasRoom(state.view())
                        && op.promise();
        return answered ? Async.done() : op.future;
    }

    @Override
    public CompletableFuture<Long> append(ByteBuf data, boolean killPrivileges, boolean goesOn) {
        if (!isWritable()) {
            data.release();
            return unwritable();
        }
        if (data.readableBytes() == 0) {
            data.release();
            return CompletableFuture.completedFuture(state.size());
        }
        FsException refused = state.refusal(losses);
        if (refused != null) { // or it would ask for the right in vain
            data.release();
            return CompletableFuture.failedFuture(refused);
        }
        HeldData held;
        try {
            held = services.data().hold(state, end(data.readableBytes()), data);
        } catch (FsException e) {
            data.release();
            return CompletableFuture.failedFuture(e);
        }
        AppendOp op =
                new AppendOp(
                        services,
                        state,
                        held,
                        killPrivileges,
                        goesOn,
                        losses,
                        given -> appends.givenUp(state, given));
        appends.submit(state, op);
        return op.future;
    }

    private boolean isWritable() {
        return writable && !released.get();
    }

    private <T> CompletableFuture<T> unwritable() {
        String why = writable ? " is closed" : " is open for reading only";
        return Async.failed(Errno.EBADF, "file " + inode() + why);
    }

    /** Where an append would go now: near enough to tell whose memory it takes. */
    private long end(int length) {
        return Math.min(state.size(), state.view().maxFileBytes() - length);
    }

    @Override
    public CompletableFuture<Void> extend(long size) {
        if (!isWritable()) {
            return unwritable();
        }
        if (size > state.view().maxFileBytes()) {
            return Async.failed(Errno.EFBIG, "size " + size);
        }
        ExtendOp op = new ExtendOp(services, state, size, losses);
        state.order().submit(op);
        return op.future;
    }

    @Override
    public CompletableFuture<Void> fsync() {
        return sync(ClientMeters.Op.FSYNC, false);
    }

    @Override
    public CompletableFuture<Void> flush() {
        return state.isDelegated() ? unsynced() : sync(ClientMeters.Op.FLUSH, true);
    }

    /** Who wants to see what was done to it asks for it; only what is lost is told. */
    private CompletableFuture<Void> unsynced() {
        FsException lost = state.refusal(losses);
        return services.meters()
                .timed(
                        ClientMeters.Op.FLUSH,
                        lost == null ? Async.done() : CompletableFuture.failedFuture(lost));
    }

    private CompletableFuture<Void> sync(ClientMeters.Op op, boolean withTimes) {
        SyncOp sync = new SyncOp(services, state, withTimes, losses);
        var _ = services.meters().timed(op, sync.future);
        state.order().submit(sync);
        return sync.future;
    }

    // ---- locks

    @Override
    public LockCall lock(FileLock lock, boolean wait, BooleanSupplier ofOpenFile) {
        FileLock wanted = ours(lock);
        LockOp op =
                new LockOp(
                        services,
                        opens,
                        state,
                        this,
                        losses,
                        wanted,
                        wait,
                        ofOpenFile,
                        TICKETS.incrementAndGet());
        var _ = services.meters().timed(ClientMeters.Op.LOCK, op.had());
        op.start();
        return op;
    }

    private FileLock ours(FileLock lock) {
        return lock.toBuilder().clearSession().setInode(inode()).build();
    }

    @Override
    public CompletableFuture<Void> unlock(FileLock range) {
        Owner owner = Owner.of(range);
        boolean whole = range.getStart() == 0 && range.getEnd() == Long.MAX_VALUE;
        UnlockOp unlock;
        synchronized (state) {
            if (!(whole ? state.locks.end(owner) : state.locks.has(owner))) {
                return Async.done();
            }
            if (!state.order().hasAbandoned() && !state.own.promises()) {
                return services.meters().timed(ClientMeters.Op.UNLOCK, unlockAtMds(ours(range)));
            }
            unlock = unlockOf(owner, range.getStart(), range.getEnd());
        }
        return submitted(unlock);
    }

    /** With its session a lock has ended too. */
    private CompletableFuture<Void> unlockAtMds(FileLock range) {
        DataSession session = state.session();
        return services.publisher()
                .unlock(state, range)
                .copy()
                .orTimeout(services.metadataNanos(), TimeUnit.NANOSECONDS)
                .exceptionallyCompose(failure ->
                        session.ended() != null
                                ? Async.done()
                                : CompletableFuture.failedFuture(Async.failure(failure)));
    }

    @Override
    public CompletableFuture<Void> descriptorClosed(long number) {
        Owner owner = new Owner(false, number);
        UnlockOp unlock;
        synchronized (state) {
            if (!state.locks.end(owner)) {
                return Async.done();
            }
            unlock = unlockOf(owner, 0, Long.MAX_VALUE);
        }
        return submitted(unlock);
    }

    /** Behind the changes of the file. Under the monitor; to be submitted without it. */
    private UnlockOp unlockOf(Owner owner, long start, long end) {
        state.locks.unlockWaits(owner);
        FileLock range =
                FileLock.newBuilder()
                        .setFlock(owner.flock())
                        .setOwner(owner.number())
                        .setStart(start)
                        .setEnd(end)
                        .build();
        return new UnlockOp(services, state, ours(range));
    }

    private CompletableFuture<Void> submitted(UnlockOp unlock) {
        state.order().submit(unlock);
        return services.meters().timed(ClientMeters.Op.UNLOCK, unlock.future);
    }

    @Override
    public CompletableFuture<Optional<FileLock>> testLock(FileLock wanted) {
        return Async.map(
                services.meta()
                        .query(
                                Method.TEST_LOCK,
                                session ->
                                        TestLockRequest.newBuilder()
                                                .setLock(
                                                        ours(wanted).toBuilder()
                                                                .setSession(session))
                                                .build(),
                                TestLockReply.parser(),
                                services.metadataDeadline()),
                reply ->
                        reply.hasConflict()
                                ? Optional.of(shown(reply.getConflict()))
                                : Optional.<FileLock>empty());
    }

    /** A process of another machine has a number that means nothing here, or another process. */
    private FileLock shown(FileLock lock) {
        synchronized (state) {
            return lock.getSession() == state.session().id()
                    ? lock
                    : lock.toBuilder().clearPid().build();
        }
    }

    @Override
    public CompletableFuture<Void> release() {
        if (!released.compareAndSet(false, true)) {
            return Async.done();
        }
        List<UnlockOp> unlocks = new ArrayList<>();
        synchronized (state) {
            for (Owner owner : state.locks.released(this)) {
                unlocks.add(unlockOf(owner, 0, Long.MAX_VALUE));
            }
        }
        unlocks.forEach(unlock -> state.order().submit(unlock));
        if (ahead != null) {
            state.aheads.remove(ahead);
        }
        return services.meters().timed(ClientMeters.Op.RELEASE, table.release(state));
    }
}
