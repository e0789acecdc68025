package io.cairn.client.data;

import io.cairn.client.base.Async;
import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.ReadReply;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.PrimaryDisk;
import io.cairn.common.proto.Method;
import io.cairn.common.rpc.BackOff;
import io.cairn.common.rpc.RpcChannel;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import org.jspecify.annotations.Nullable;

/**
 * One read or write of one chunk, repeated until it is answered. A write keeps its number over all
 * attempts, so that it is executed once, and with the number the truncations it knows, so that it
 * is known under which it was executed; only a refusal because of an unknown truncation, which
 * cannot have been executed, gives it a new number. It belongs to one session and fails with its
 * end.
 *
 * <p>One thread at a time owns it: whoever took it from where it was, which is the line of {@link
 * PgBudgets}, the calls parked, its attempt among those {@link AttemptsInFlight}, or the refresh of
 * its inode. The owner alone uses the fields and calls the methods, but for those that say any
 * thread, and owns it no more once it has put it into one of them. So the fields need no lock, and
 * each attempt happens after the one before.
 *
 * <p>Attempts that were abandoned, or lost with a connection, may arrive late, also after newer
 * writes to the same bytes. No write is executed twice or out of order by that: one that overlaps
 * begins only when this one is answered, and its PG then knows the number as executed, to which it
 * gives the first answer again, until it learns that all numbers up to it have ended ({@link
 * DataNumbers}), from when on it refuses it. The whole argument, also for a number that another one
 * has replaced: {@code docs/architecture/client.md}.
 */
final class DataCall {
    private static final int MAX_CHECKSUM_ERRORS = 4;
    private static final int[] NO_CRCS = {};

    private final DataClient client;
    private final DataSession session;
    private final DataTarget target;
    private final int pg;
    private final DataOpType type;
    private final int chunk;
    private final int offset;
    private final int length;
    private final boolean spare;
    private final ByteBuf payload;
    private final int[] blockCrcs;
    private final long deadlineNanos;
    private final DataClient.Outcome outcome;
    private DataView view;
    private long number;

    /** See {@link DataNumbers}; of the attempt, and of the number as long as it has one. */
    private int root;

    private int attempts;
    private boolean started;
    private boolean answered;
    private boolean finished;
    private int checksumErrors;
    private String last = "nothing";

    /** A write; takes over the buffer. */
    DataCall(
            DataClient client,
            DataSession session,
            DataTarget target,
            int pg,
            int chunk,
            int offset,
            ByteBuf data,
            long deadlineNanos,
            DataClient.Outcome outcome) {
        this.client = client;
        this.session = session;
        this.target = target;
        this.pg = pg;
        this.view = target.view();
        this.type = DataOpType.WRITE;
        this.chunk = chunk;
        this.offset = offset;
        this.length = data.readableBytes();
        this.spare = false;
        this.payload = data;
        this.blockCrcs = BlockCrc.compute(data, offset);
        this.deadlineNanos = deadlineNanos;
        this.outcome = outcome;
    }

    /**
     * A read.
     *
     * @param spare whether its bytes were taken by {@link PgBudgets#acquireSpare}
     */
    DataCall(
            DataClient client,
            DataSession session,
            DataTarget target,
            int pg,
            int chunk,
            int offset,
            int length,
            boolean spare,
            long deadlineNanos,
            DataClient.Outcome outcome) {
        this.client = client;
        this.session = session;
        this.target = target;
        this.pg = pg;
        this.view = target.view();
        this.type = DataOpType.READ;
        this.chunk = chunk;
        this.offset = offset;
        this.length = length;
        this.spare = spare;
        this.payload = Unpooled.EMPTY_BUFFER;
        this.blockCrcs = NO_CRCS;
        this.deadlineNanos = deadlineNanos;
        this.outcome = outcome;
    }

    /** Any thread. */
    DataSession session() {
        return session;
    }

    /** Whose budget it takes. Any thread. */
    int pg() {
        return pg;
    }

    /** Any thread. */
    long bytes() {
        return length;
    }

    /** Any thread. */
    boolean isSpare() {
        return spare;
    }

    /** Any thread. */
    boolean late(long now) {
        return now - deadlineNanos >= 0;
    }

    /**
     * Nobody waits for it, and no data server can have executed it, or it changes nothing. The
     * owner's answer counts, anybody else's is a hint.
     */
    boolean droppable() {
        return number == 0 && outcome.unwanted();
    }

    /** Sends it, its bytes having been taken from the budget. */
    void start() {
        started = true;
        try {
            send();
        } catch (RuntimeException | OutOfMemoryError e) {
            finish(Async.notStarted(e), Unpooled.EMPTY_BUFFER);
        }
    }

    /** Sends it once more; without memory for that, later. */
    void again() {
        try {
            send();
        } catch (OutOfMemoryError e) {
            last = "no memory to send it: " + e.getMessage();
            client.park(this, BackOff.REQUESTS.delayNanos(attempts));
        } catch (RuntimeException e) {
            finish(Async.failure(e), Unpooled.EMPTY_BUFFER);
        }
    }

    /**
     * Once it was started; before, only if it is to end unsent: late, droppable, or its session has
     * ended.
     */
    void send() {
        long now = System.nanoTime();
        // First the map, then whether the session lives: no request of one that was refused ever
        // carries a map that has come since (docs/architecture/sessions.md).
        ClusterMap map = client.map().current();
        FsException ended = session.ended();
        if (ended != null) {
            finish(ended, Unpooled.EMPTY_BUFFER);
            return;
        }
        if (droppable()) {
            finish(
                    new FsException(Errno.EINTR, this + " dropped: its caller is gone"),
                    Unpooled.EMPTY_BUFFER);
            return;
        }
        if (late(now)) {
            finish(late(), Unpooled.EMPTY_BUFFER);
            return;
        }
        attempts++;
        if (number == 0) {
            view = target.view();
        }
        boolean known = map.pool(view.pool()) != null;
        int inPg = known ? map.pgOf(view.pool(), target.inode(), chunk) : 0;
        PrimaryDisk primary = known ? map.primary(inPg) : null;
        if (primary == null) {
            last =
                    known
                            ? "PG " + Integer.toHexString(inPg) + " has no data server yet"
                            : "pool " + view.pool() + " is not in the cluster map";
            if (map.isPoolRemoved(view.pool())) {
                renewed(); // the file is in another one
                return;
            }
            client.refreshMap();
            client.park(this, BackOff.REQUESTS.delayNanos(attempts));
            return;
        }
        if (number == 0) {
            root = map.rootOf(view.pool(), target.inode(), chunk);
            number = type == DataOpType.WRITE ? session.numbers().begin(root) : 0;
        }
        attempt(map, inPg, primary, now);
    }

    private void attempt(ClusterMap map, int inPg, PrimaryDisk to, long now) {
        RpcChannel channel = client.channels().channel(to.address());
        DataOp op = op(inPg, map.epoch(), view);
        int method = type == DataOpType.WRITE ? Method.DATA_WRITE_VALUE : Method.DATA_READ_VALUE;
        long patience = now + client.attemptNanos();
        long until = patience - deadlineNanos < 0 ? patience : deadlineNanos;
        var attempt = new DataAttempt(this, client.inFlight(), inPg, to, now);
        ByteBuf head = PooledByteBufAllocator.DEFAULT.directBuffer(DataOpFormat.encodedLength(op));
        DataOpFormat.encode(op, head);
        ByteBuf body = payload.retainedDuplicate();
        client.inFlight().add(attempt);
        // It may be answered, abandoned, sent again and over from here on: it is not ours any more.
        try {
            channel.call(method, head, body, until, attempt);
        } catch (RuntimeException | OutOfMemoryError e) {
            if (client.inFlight().take(attempt)) {
                throw e;
            } // else somebody else goes on with it
        }
        if (attempt.deposedBy(client.map().current())) {
            client.abandon(attempt);
        }
    }

    private DataOp op(int inPg, long mapEpoch, DataView view) {
        var range = new DataOp.Range(target.inode(), chunk, offset, length);
        var caller = new DataOp.Caller(session.id(), number, session.numbers().ackedBelow(root));
        var known = new DataOp.Known(mapEpoch, view.truncateSequence(), view.cuts(chunk));
        return type == DataOpType.WRITE
                ? DataOp.write(inPg, range, caller, known, blockCrcs)
                : DataOp.read(inPg, range, caller, known);
    }

    /** The attempt in flight is over. */
    void answered(RpcStatus status, ByteBuf head, ByteBuf received) {
        if (!status.ok()) {
            failed(status);
            return;
        }
        answered = true;
        boolean intact;
        try {
            intact = type == DataOpType.WRITE || intact(head, received);
        } catch (FsException e) {
            finish(new FsException(Errno.EIO, this + ": " + e.getMessage()), Unpooled.EMPTY_BUFFER);
            return;
        }
        if (intact) {
            finish(null, received);
        } else {
            client.meters().checksumError();
            last = "data with a wrong checksum";
            if (++checksumErrors >= MAX_CHECKSUM_ERRORS) {
                finish(
                        new FsException(
                                Errno.EIO,
                                "checksum of " + this + " wrong in " + checksumErrors + " answers"),
                        Unpooled.EMPTY_BUFFER);
            } else {
                client.park(this, BackOff.REQUESTS.delayNanos(attempts));
            }
        }
    }

    /** Throws EPROTO for an answer that does not fit the question. */
    private boolean intact(ByteBuf head, ByteBuf received) {
        ReadReply reply = ReadReplyFormat.decode(head, offset, length, received.readableBytes());
        return BlockCrc.firstMismatch(received, offset, reply.blockCrcs()) < 0;
    }

    private void failed(RpcStatus status) {
        last = status.errno() + " " + status.detail();
        switch (status.advice()) {
            case GIVE_UP -> {
                answered = true;
                Errno errno = status.errno() == Errno.EBADMSG ? Errno.EIO : status.errno();
                finish(new FsException(errno, this + ": " + last), Unpooled.EMPTY_BUFFER);
            }
            case FENCED -> fenced(status.detail());
            case REFRESH_MAP -> {
                client.refreshMap();
                client.park(this, BackOff.REQUESTS.delayNanos(attempts));
            }
            case REFRESH_INODE -> renewed();
            case RETRY, NOT_LEADER -> {
                if (status.errno() == Errno.EHOSTUNREACH) {
                    client.suspect();
                }
                client.park(this, BackOff.REQUESTS.delayNanos(attempts));
            }
        }
    }

    /** What waits for the end of the session is told its reason, so that its caller may go on. */
    private void fenced(String detail) {
        FsException reason = client.fenced(session, detail);
        if (reason == null) {
            client.park(this, BackOff.REQUESTS.delayNanos(attempts));
        } else {
            finish(reason, Unpooled.EMPTY_BUFFER);
        }
    }

    /**
     * The data server knows a newer truncation than we do, so it has not executed this number. It
     * answered the attempt in flight: what an abandoned one is refused with says nothing about the
     * attempts after it.
     */
    private void renewed() {
        endNumber();
        var _ =
                target.refresh()
                        .whenComplete((v, thrown) -> {
                            if (thrown != null) {
                                finish(Async.failure(thrown), Unpooled.EMPTY_BUFFER);
                            } else if (attempts <= 1) {
                                again();
                            } else {
                                client.park(this, BackOff.REQUESTS.delayNanos(attempts - 1));
                            }
                        });
    }

    private FsException late() {
        return new FsException(
                Errno.EIO, this + " not answered in time after " + attempts + " attempts: " + last);
    }

    private void endNumber() {
        if (number != 0) {
            session.numbers().end(root, number);
            number = 0;
        }
    }

    private void finish(@Nullable FsException failure, ByteBuf data) {
        if (finished) {
            return;
        }
        finished = true;
        endNumber();
        payload.release();
        if (started) {
            client.finished(
                    this, answered, () -> outcome.done(failure, data, view.truncateSequence()));
        } else {
            outcome.done(failure, data, view.truncateSequence());
        }
    }

    @Override
    public String toString() {
        return type
                + " of inode "
                + target.inode()
                + " chunk "
                + chunk
                + " at "
                + offset
                + " length "
                + length;
    }
}
