package io.cairn.mds.lease;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.MessageLite;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DelegationRecall;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.rpc.Broadcast;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.metrics.MdsMeters;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.proto.SessionRecord;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Proxy;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What of a delegation's end comes between the reading for a question and its answer. */
final class DelegationsTest {
    private static final long MAKER = 5;
    private static final long OTHER = 6;
    private static final int FILES = 20_000;

    private final Peer peer = new Peer();
    private final Set<Long> openFiles = new HashSet<>();
    private final Set<Long> sessions = ConcurrentHashMap.newKeySet();
    private final Delegations delegations =
            new Delegations(
                    state(), holders(), System::nanoTime, new MdsMeters(Meters.unpublished()));
    private final Delegations.Look look = new Delegations.Look();
    private final Asked question = new Asked();

    private static final class Peer implements RpcPeer {
        final List<DelegationRecall> recalls = new ArrayList<>();

        @Override
        public synchronized void push(int method, MessageLite head) {
            recalls.add((DelegationRecall) head);
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

    private static final class Asked implements Delegations.Question {
        final Semaphore again = new Semaphore(0);

        @Override
        public void again() {
            again.release();
        }

        @Override
        public void refuse(RpcStatus status) {
            throw new AssertionError(status.toString());
        }
    }

    private static <T> T fake(Class<T> type, Function<Call, @Nullable Object> by) {
        return type.cast(
                Proxy.newProxyInstance(
                        type.getClassLoader(),
                        new Class<?>[] {type},
                        (self, method, arguments) ->
                                by.apply(
                                        new Call(
                                                method.getName(),
                                                arguments == null ? new Object[0] : arguments))));
    }

    private record Call(String name, Object[] arguments) {
        long number(int argument) {
            return (Long) arguments[argument];
        }
    }

    private static SessionRecord record(long session) {
        return SessionRecord.newBuilder().setSession(session).setDelegates(true).build();
    }

    private ControlReader state() {
        return fake(
                ControlReader.class,
                call ->
                        switch (call.name()) {
                            case "sessions" ->
                                    sessions.stream().map(DelegationsTest::record).toList();
                            case "session" -> record(call.number(0));
                            case "openCount" -> openFiles.contains(call.number(1)) ? 1 : 0;
                            default -> throw new UnsupportedOperationException(call.name());
                        });
    }

    private LeaseHolders holders() {
        return fake(
                LeaseHolders.class,
                call ->
                        switch (call.name()) {
                            case "isOpen" -> true;
                            case "peer" -> peer;
                            case "heardNanos" -> System.nanoTime();
                            default -> throw new UnsupportedOperationException(call.name());
                        });
    }

    private void told(ReturnDelegationsRequest.Builder what) {
        var head =
                Unpooled.wrappedBuffer(
                        what.setSession(MAKER).setTerm(1).setRound(1).build().toByteArray());
        delegations.returned(
                fake(RpcRequest.class, call -> call.name().equals("head") ? head : null));
    }

    private boolean waits(long inode, Delegations.Look as, Delegations.Question by) {
        GetAttrRequest asked =
                GetAttrRequest.newBuilder().setInode(inode).setLeaseSession(OTHER).build();
        return delegations.waits(asked, null, peer, as, by);
    }

    private boolean waits(long inode) {
        return waits(inode, look, question);
    }

    private void granted(long inode) {
        delegations.proposed(MAKER, inode, false);
        assertThat(delegations.granted(MAKER, inode)).isEqualTo(1);
    }

    private void began() {
        delegations.begin(1);
        told(ReturnDelegationsRequest.newBuilder().setAll(true));
    }

    @Test
    void whatWasReadBeforeAReturnIsReadAnewAfterIt() {
        began();
        granted(10);
        granted(11);
        delegations.reading(look);
        told(ReturnDelegationsRequest.newBuilder().addInodes(10));
        delegations.over(MAKER, 11);
        assertThat(waits(10)).isTrue();
        assertThat(waits(11)).isTrue();
        assertThat(question.again.tryAcquire(2)).isTrue();
        assertThat(waits(12)).as("another file").isFalse();
        delegations.reading(look);
        assertThat(waits(10)).isFalse();
        assertThat(waits(11)).isFalse();
        assertThat(peer.recalls).isEmpty();
    }

    @Test
    void soItIsWhenAllIsReturnedOrTheLeaderChanges() {
        began();
        granted(10);
        delegations.reading(look);
        delegations.sessionEnded(MAKER);
        assertThat(waits(10)).isTrue();
        began();
        granted(11);
        delegations.reading(look);
        delegations.end(RpcStatus.OK);
        assertThat(waits(11)).isTrue();
        assertThat(question.again.tryAcquire(2)).isTrue();
        delegations.reading(look);
        assertThat(waits(11)).isFalse();
    }

    @Test
    void whatManyEndsHaveMadeForgottenIsReadAnewAsWell() {
        began();
        granted(1);
        delegations.reading(look);
        delegations.over(MAKER, 1);
        for (long inode = 2; inode < 10_000; inode++) {
            granted(inode);
            delegations.over(MAKER, inode);
        }
        assertThat(waits(1)).isTrue();
        delegations.reading(look);
        assertThat(waits(1)).isFalse();
    }

    /** Its programs use it, whatever else holds. */
    @Test
    void whatIsAnsweredBeforeItIsMadeIsDelegatedFromItsProposal() {
        delegations.begin(1);
        delegations.proposed(MAKER, 9, false);
        delegations.proposed(MAKER, 10, true);
        delegations.reading(look);
        assertThat(waits(9)).isFalse();
        assertThat(waits(10)).isTrue();
        delegations.proposed(MAKER, 10, true);
        delegations.over(MAKER, 10);
        assertThat(question.again.tryAcquire(1)).as("also where it is proposed again").isTrue();
        assertThat(peer.recalls).hasSize(1);
    }

    /** The entry that closes it comes after the reading, and before we look who has it open. */
    @Test
    void whatIsClosedUnderANewLeaderIsReadOnceMore() {
        sessions.add(MAKER);
        openFiles.add(10L);
        delegations.begin(1);
        delegations.reading(look);
        openFiles.clear();
        assertThat(waits(10)).isTrue();
        assertThat(question.again.tryAcquire()).isTrue();
        delegations.reading(look);
        assertThat(waits(10)).isFalse();
        openFiles.add(20L);
        delegations.reading(look);
        assertThat(waits(20)).isTrue();
        assertThat(question.again.tryAcquire()).isFalse();
        told(ReturnDelegationsRequest.newBuilder().setAll(true));
        assertThat(question.again.tryAcquire()).isTrue();
        delegations.reading(look);
        assertThat(waits(20)).isFalse();
    }

    /** What the maker's programs were told, others are told at least. */
    @Test
    void whoeverAsksMeanwhileIsToldWhatTheMakerWasTold() throws Exception {
        began();
        AtomicIntegerArray told = new AtomicIntegerArray(FILES + 1);
        AtomicIntegerArray committed = new AtomicIntegerArray(FILES + 1);
        AtomicLong newest = new AtomicLong(1);
        AtomicBoolean done = new AtomicBoolean();
        CompletableFuture<Void> asking =
                CompletableFuture.runAsync(() -> {
                    Delegations.Look own = new Delegations.Look();
                    Asked by = new Asked();
                    while (!done.get()) {
                        int file = (int) newest.get();
                        int least = told.get(file);
                        while (true) {
                            delegations.reading(own);
                            int read = committed.get(file);
                            if (!waits(file, own, by)) {
                                if (read < least) {
                                    throw new AssertionError(file + ": " + read);
                                }
                                break;
                            }
                            by.again.acquireUninterruptibly();
                        }
                    }
                });
        for (int file = 1; file <= FILES && !asking.isDone(); file++) {
            delegations.proposed(MAKER, file, false);
            newest.set(file);
            boolean delegated = delegations.granted(MAKER, file) != 0;
            if (delegated) {
                told.set(file, 1);
                committed.set(file, 1);
            } else {
                committed.set(file, 1);
                told.set(file, 1);
            }
            if (file % 2 == 0) {
                delegations.over(MAKER, file);
            } else {
                told(ReturnDelegationsRequest.newBuilder().addInodes(file));
            }
        }
        done.set(true);
        asking.get(30, TimeUnit.SECONDS);
        assertThat(delegations.count()).isZero();
    }
}
