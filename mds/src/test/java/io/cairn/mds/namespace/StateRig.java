package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.config.ByteSize;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.Timespec;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.proto.FormatEntry;
import io.cairn.mds.proto.LogEntry;
import io.cairn.mds.proto.OpenSessionEntry;
import io.cairn.mds.store.MetaStateConfig;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A {@link MetaState} and the log that feeds it, for one test thread: numbers each session's
 * mutations, ticks a clock, and remembers every entry.
 */
final class StateRig implements AutoCloseable {
    static final FileLayout LAYOUT =
            FileLayout.newBuilder()
                    .setPool(1)
                    .setStripeUnit(4 << 20)
                    .setStripeCount(1)
                    .setChunkSize(4 << 20)
                    .build();
    static final ByteString CLUSTER = ByteString.copyFrom(new byte[16]);
    private static final long TERM = 1;
    private static final RocksMemory MEMORY =
            new RocksMemory(new ByteSize(128 << 20), new ByteSize(64 << 20));

    final Path directory;
    final List<ByteString> log = new ArrayList<>();
    final MetaState state;

    /** Applies every entry twice: the second time it must be skipped. */
    boolean applyTwice = true;

    private final Map<Long, Long> numbers = new HashMap<>();
    private long seconds = 1_000_000;

    StateRig(Path directory) throws IOException {
        this(directory, 1000);
    }

    StateRig(Path directory, int cachedInodes) throws IOException {
        this(directory, config(cachedInodes));
    }

    StateRig(Path directory, MetaStateConfig config) throws IOException {
        this.directory = directory;
        this.state = MetaState.open(directory, config);
    }

    static MetaStateConfig config() {
        return config(1000);
    }

    /** Memory is shared by all states of the test process and never given back. */
    static MetaStateConfig config(int cachedInodes) {
        return new MetaStateConfig(
                RocksConfig.defaults(),
                MEMORY,
                Meters.unpublished(),
                reason -> {
                    throw new AssertionError(reason);
                },
                cachedInodes);
    }

    /** A formatted namespace. */
    static StateRig formatted(Path directory) throws IOException {
        StateRig rig = new StateRig(directory);
        assertThat(rig.apply(rig.entry().setFormat(format())).getErrno()).isZero();
        return rig;
    }

    static FormatEntry format() {
        return FormatEntry.newBuilder()
                .setClusterId(CLUSTER)
                .setPool(
                        Pool.newBuilder()
                                .setId(1)
                                .setName("default")
                                .setSize(3)
                                .setMinSize(2)
                                .setPgCount(128))
                .setLayout(LAYOUT)
                .setRootMode(0755)
                .build();
    }

    LogEntry.Builder entry() {
        return LogEntry.newBuilder().setTime(Timespec.newBuilder().setSeconds(seconds++));
    }

    ApplyReply apply(LogEntry.Builder entry) {
        ByteString bytes = entry.build().toByteString();
        log.add(bytes);
        ByteString reply = state.apply(TERM, log.size(), bytes);
        if (applyTwice) {
            state.apply(TERM, log.size(), bytes);
        }
        return parse(reply);
    }

    static ApplyReply parse(ByteString reply) {
        try {
            return ApplyReply.parseFrom(reply);
        } catch (InvalidProtocolBufferException e) {
            throw new AssertionError(e);
        }
    }

    long openSession(int client) {
        ApplyReply reply = apply(entry().setOpenSession(openEntry(client)));
        assertThat(reply.getErrno()).as(reply.getDetail()).isZero();
        numbers.putIfAbsent(reply.getSession(), 1L);
        return reply.getSession();
    }

    static OpenSessionEntry openEntry(int client) {
        return OpenSessionEntry.newBuilder().setClientUuid(uuid(client)).build();
    }

    static ByteString uuid(int client) {
        return ByteString.copyFrom(ByteBuffer.allocate(16).putInt(12, client));
    }

    /** One mutation as its own entry, acknowledging everything before it. */
    MutationResult mutate(long session, Mutation.Builder mutation) {
        return mutate(session, List.of(mutation)).getFirst();
    }

    List<MutationResult> mutate(long session, List<Mutation.Builder> mutations) {
        long first = nextNumber(session);
        MutateRequest.Builder request =
                MutateRequest.newBuilder()
                        .setSession(session)
                        .setFirstNumber(first)
                        .setAckedBelow(first);
        mutations.forEach(m -> request.addMutations(stamped(m)));
        ApplyReply reply = apply(entry().setMutate(request));
        assertThat(reply.getErrno()).as(reply.getDetail()).isZero();
        numbers.put(session, first + mutations.size());
        return reply.getResultsList();
    }

    long nextNumber(long session) {
        return numbers.getOrDefault(session, 1L);
    }

    /** The session of a state that was opened again goes on from this number. */
    void mutateFrom(long session, long number) {
        numbers.put(session, number);
    }

    private Mutation stamped(Mutation.Builder mutation) {
        if (!mutation.hasTime()) {
            mutation.setTime(Timespec.newBuilder().setSeconds(seconds++).setNanos(5));
        }
        if (!mutation.hasCredentials()) {
            mutation.setCredentials(Credentials.newBuilder().setUid(1000).setGid(1000));
        }
        return mutation.build();
    }

    static ByteString name(String name) {
        return ByteString.copyFromUtf8(name);
    }

    /** Checks every invariant, then closes. */
    @Override
    public void close() throws IOException {
        state.close();
        MetaFsck.check(directory);
    }
}
