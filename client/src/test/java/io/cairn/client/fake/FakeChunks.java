package io.cairn.client.fake;

import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import io.cairn.common.layout.Striping;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Truncation;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcStatus;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;

/**
 * All chunks of a fake cluster with the rules data servers keep: exactly once, truncations in
 * order, nothing above the ceiling. What a client must never do is noted as a violation. Any
 * thread.
 */
public final class FakeChunks {
    private record Key(long inode, int chunk) {}

    private static final class Chunk {
        byte[] bytes = {};
        long truncateSequence;
    }

    /** Executed numbers of one session in one PG. */
    private static final class Seen {
        long ackedBelow;
        final NavigableSet<Long> numbers = new TreeSet<>();
    }

    /** Numbers that a PG keeps of a session, see docs/limits.md. */
    public static final int MAX_NUMBERS = 8192;

    private final FakeNamespace names;
    private final Map<Key, Chunk> chunks = new HashMap<>();
    private final Map<String, Seen> seen = new HashMap<>();
    private final List<String> violations = new CopyOnWriteArrayList<>();
    private long executed;

    FakeChunks(FakeNamespace names) {
        this.names = names;
    }

    /** What the client did wrong. */
    public List<String> violations() {
        return violations;
    }

    void violation(String what, DataOp op) {
        violations.add(what + ": " + op);
    }

    /** Writes executed, repetitions not counted. */
    public synchronized long executed() {
        return executed;
    }

    synchronized RpcStatus write(DataOp op, ByteBuf data) {
        if (BlockCrc.firstMismatch(data, op.offset(), op.blockCrcs()) >= 0) {
            violations.add("checksum of " + op);
        }
        Seen of = seen.computeIfAbsent(op.pg() + "/" + op.session(), k -> new Seen());
        of.ackedBelow = Math.max(of.ackedBelow, op.ackedBelow());
        of.numbers.headSet(of.ackedBelow).clear();
        if (op.number() < of.ackedBelow) {
            return RpcStatus.fail(Errno.EINVAL, "number was acknowledged");
        }
        if (of.numbers.contains(op.number())) {
            return RpcStatus.OK;
        }
        if (of.numbers.size() >= MAX_NUMBERS) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.RETRY, "too many numbers are kept");
        }
        Chunk chunk = chunks.computeIfAbsent(new Key(op.inode(), op.chunk()), k -> new Chunk());
        if (!cut(chunk, op)) {
            return RpcStatus.fail(Errno.EAGAIN, Advice.REFRESH_INODE, "truncated since");
        }
        if (names.exists(op.inode())) {
            Attr attr = names.attr(op.inode());
            long end = Striping.of(attr.getLayout()).fileOffsetOf(op.chunk(), op.offset());
            if (end + op.length() > attr.getSizeCeiling()) {
                violations.add("above ceiling " + attr.getSizeCeiling() + ": " + op);
            }
        } else if (!names.isOwnId(op.inode())) {
            violations.add("inode is gone: " + op);
        }
        if (chunk.bytes.length < op.offset() + op.length()) {
            chunk.bytes = Arrays.copyOf(chunk.bytes, op.offset() + op.length());
        }
        data.getBytes(data.readerIndex(), chunk.bytes, op.offset(), op.length());
        of.numbers.add(op.number());
        executed++;
        return RpcStatus.OK;
    }

    /** Bytes there are, -1 when the request does not know a truncation. */
    synchronized int read(DataOp op, byte[] into) {
        Chunk chunk = chunks.get(new Key(op.inode(), op.chunk()));
        if (chunk == null) {
            return 0;
        }
        if (!cut(chunk, op)) {
            return -1;
        }
        int length = Math.clamp((long) chunk.bytes.length - op.offset(), 0, op.length());
        if (length > 0) {
            System.arraycopy(chunk.bytes, op.offset(), into, 0, length);
        }
        return length;
    }

    private static boolean cut(Chunk chunk, DataOp op) {
        if (op.truncateSequence() < chunk.truncateSequence) {
            return false;
        }
        for (DataOp.Cut cut : op.cuts()) {
            if (cut.sequence() > chunk.truncateSequence) {
                if (cut.lengthBytes() < chunk.bytes.length) {
                    chunk.bytes = Arrays.copyOf(chunk.bytes, cut.lengthBytes());
                }
                chunk.truncateSequence = cut.sequence();
            }
        }
        chunk.truncateSequence = op.truncateSequence();
        return true;
    }

    /** As the leader's truncator: applies what is pending to all chunks, then forgets it. */
    public synchronized void settleTruncations(long inode) {
        Attr attr = names.attr(inode);
        Striping striping = Striping.of(attr.getLayout());
        for (Truncation t : attr.getPendingTruncationsList()) {
            // Also those that are not there yet, as a PG remembers the cut of an inode.
            long setChunks = striping.stripeCount();
            long set = t.getSize() / (setChunks * striping.chunkSize());
            long end = striping.chunkCount(attr.getSizeCeiling());
            for (long i = set * setChunks; i < end; i++) {
                Chunk chunk = chunks.computeIfAbsent(new Key(inode, (int) i), k -> new Chunk());
                if (chunk.truncateSequence < t.getSequence()) {
                    int length = striping.chunkLength(t.getSize(), (int) i);
                    if (length < chunk.bytes.length) {
                        chunk.bytes = Arrays.copyOf(chunk.bytes, length);
                    }
                    chunk.truncateSequence = t.getSequence();
                }
            }
            names.truncated(inode, t.getSequence());
        }
    }
}
