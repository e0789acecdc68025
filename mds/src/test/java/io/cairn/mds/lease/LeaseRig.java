package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.store.EntryKeys;
import io.cairn.mds.store.EntryKeys.Move;
import io.cairn.mds.store.MetaStore.EntryKey;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** {@link ReadLeases} with sessions, a clock and a leader's lease that a test owns. One thread. */
final class LeaseRig implements LeaseHolders {
    static final long MILLI = TimeUnit.MILLISECONDS.toNanos(1);

    long now = 1_000_000 * MILLI;
    long leaderLeaseLeft = 500 * MILLI;
    long index = 100;
    final Map<Long, Peer> open = new HashMap<>();
    final Set<Long> borrowers = new HashSet<>();
    final Set<Long> delegated = new HashSet<>();
    final List<Long> alarms = new ArrayList<>();
    final ReadLeases leases =
            new ReadLeases(
                    () -> leaderLeaseLeft,
                    () -> RpcStatus.fail(Errno.EAGAIN, Advice.NOT_LEADER, ""),
                    this,
                    (session, inode) -> delegated.contains(inode),
                    (delay, task) -> alarms.add(delay),
                    () -> now,
                    new MdsMeters(Meters.unpublished()));
    final LeasedReplies replies = new LeasedReplies(leases, (session, attr) -> false);

    LeaseRig(long... sessions) {
        for (long session : sessions) {
            open.put(session, new Peer());
            borrowers.add(session);
        }
        leases.begin(1);
        leases.shown(index);
    }

    /** What a session is sent without being asked. */
    static final class Peer implements RpcPeer {
        final List<ReadRecall> recalls = new ArrayList<>();

        @Override
        public void push(int method, MessageLite head) {
            recalls.add((ReadRecall) head);
        }

        @Override
        public void push(Broadcast message) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Hello hello() {
            return Hello.getDefaultInstance();
        }

        @Override
        public InetSocketAddress address() {
            return new InetSocketAddress("127.0.0.1", 1);
        }

        @Override
        public boolean connected() {
            return true;
        }

        @Override
        public void onClose(Runnable action) {}

        @Override
        public void close(String reason) {}
    }

    Peer to(long session) {
        @Nullable Peer peer = open.get(session);
        if (peer == null) {
            throw new AssertionError("session " + session + " is not open");
        }
        return peer;
    }

    @Override
    public boolean isOpen(long session) {
        return open.containsKey(session);
    }

    @Override
    public boolean borrows(long session) {
        return borrowers.contains(session);
    }

    @Override
    public @Nullable RpcPeer peer(long session) {
        return open.get(session);
    }

    @Override
    public long heardNanos(long session) {
        return 0;
    }

    @Override
    public void borrowing(long session, RpcPeer peer) {
        borrowers.add(session);
    }

    /** What an entry changes and reads. */
    static final class Entry implements EntryKeys {
        final Set<Long> inodes = new HashSet<>();
        final Set<EntryKey> names = new HashSet<>();
        final Set<Long> readInodes = new HashSet<>();
        final Set<EntryKey> readNames = new HashSet<>();
        final List<Move> moves = new ArrayList<>();

        /** Changed inodes of which clients are told nothing new. */
        final Set<Long> same = new HashSet<>();

        boolean repeats;

        Entry inode(long inode) {
            inodes.add(inode);
            return this;
        }

        Entry name(long directory, String name) {
            names.add(new EntryKey(directory, ByteString.copyFromUtf8(name)));
            return this;
        }

        Entry reads(long inode) {
            readInodes.add(inode);
            return this;
        }

        Entry reads(long directory, String name) {
            readNames.add(new EntryKey(directory, ByteString.copyFromUtf8(name)));
            return this;
        }

        @Override
        public Set<Long> changedInodes() {
            return inodes;
        }

        @Override
        public Set<EntryKey> changedNames() {
            return names;
        }

        @Override
        public boolean changesAttributes(long inode) {
            return !same.contains(inode);
        }

        @Override
        public Set<Long> readInodes() {
            return readInodes;
        }

        @Override
        public Set<EntryKey> readNames() {
            return readNames;
        }

        @Override
        public boolean repeatsAnswers() {
            return repeats;
        }

        @Override
        public List<Move> moves() {
            return moves;
        }
    }

    /** An answer and what became of it. */
    static final class Answer implements WaitingAnswer {
        boolean sent;
        boolean refused;

        @Override
        public void send() {
            if (sent || refused) {
                throw new AssertionError("answered twice");
            }
            sent = true;
        }

        @Override
        public void refuse(RpcStatus status) {
            if (sent || refused) {
                throw new AssertionError("answered twice");
            }
            refused = true;
        }

        boolean waits() {
            return !sent && !refused;
        }
    }

    /** Applies an entry of a session and answers it. */
    Answer apply(long session, Entry entry) {
        index++;
        leases.showing(index, session, entry);
        leases.shown(index);
        Answer answer = new Answer();
        leases.whenForgotten(index, answer);
        return answer;
    }

    /** Every recall that the session was sent is acknowledged. */
    void acknowledge(long session) {
        acknowledge(session, to(session).recalls);
        to(session).recalls.clear();
    }

    void acknowledge(long session, List<ReadRecall> recalls) {
        FakeAcknowledgement.send(leases, session, recalls, to(session));
    }
}
