package io.cairn.dataserver;

import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.common.data.BlockCrc;
import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOpFormat;
import io.cairn.common.data.DataOpType;
import io.cairn.common.data.ReadReplyFormat;
import io.cairn.common.jmx.JmxConfig;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.DeleteInodesRequest;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rocks.RocksMemoryConfig;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.chunk.PgLogState;
import io.cairn.dataserver.disk.DiskCalls;
import io.cairn.dataserver.disk.FaultDevices;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.ground.RecoveryConfig;
import io.cairn.dataserver.ground.ScrubConfig;
import io.cairn.dataserver.store.DiskStore;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/** Three data servers on loopback with disks in memory, a fake metadata service, and a client. */
final class TestCluster implements AutoCloseable {
    static final int SERVERS = 3;
    static final ByteString CLUSTER = Uuids.random();
    static final Duration HUNG_AFTER = Duration.ofSeconds(3);
    static final Duration PATIENCE = Duration.ofSeconds(30);

    private static final long FIRST_UNUSED = 1_000_000;

    final FakeMds mds;
    final List<MemoryDisk> disks = new ArrayList<>();
    private final Path directory;
    final List<UnreadableDisks> devices = new ArrayList<>();
    private boolean realDisks;
    private int disksPerServer = 1;
    private long deletions;

    /** Of each server, with {@link #onFaultyDisks}. */
    final List<FaultDevices> faults = new ArrayList<>();

    /** What would have ended a server's process; the test clears what it meant to happen. */
    final List<String> fatal = new CopyOnWriteArrayList<>();

    private final @Nullable DataServer[] servers = new @Nullable DataServer[SERVERS];
    private final Map<Integer, Meters> meters = new HashMap<>();
    private final Map<Integer, DiskStore> stores = new ConcurrentHashMap<>();
    private final RpcLoops loops = new RpcLoops(1, "test-client");
    private final RpcClient client =
            new RpcClient(
                    loops,
                    () ->
                            Hello.newBuilder()
                                    .setRole(Role.ROLE_CLIENT)
                                    .setClusterId(CLUSTER)
                                    .build(),
                    HelloPolicy.ACCEPT,
                    RpcOptions.DEFAULT);

    /** How a call ended. */
    record Result(RpcStatus status, byte[] data) {}

    TestCluster(Path directory) throws IOException {
        this.directory = directory;
        mds = new FakeMds(CLUSTER);
        for (int i = 0; i < SERVERS; i++) {
            disks.add(new MemoryDisk());
            devices.add(new UnreadableDisks());
        }
    }

    static DataServerConfig config(Path stateDir, List<InetSocketAddress> mds) {
        return config(stateDir, mds, List.of(disk(stateDir, 64)));
    }

    static DataServerConfig config(
            Path stateDir, List<InetSocketAddress> mds, List<DataServerConfig.DiskTable> disks) {
        return new DataServerConfig(
                stateDir,
                HostPort.parse("127.0.0.1:0"),
                Optional.empty(),
                mds.stream().map(a -> new HostPort("127.0.0.1", a.getPort())).toList(),
                "host",
                "rack",
                Optional.empty(),
                Optional.empty(),
                2,
                Duration.ofSeconds(10),
                Duration.ofMillis(50),
                ByteSize.ofMiB(64),
                ByteSize.ofMiB(0),
                new RecoveryConfig(ByteSize.ofMiB(1024), ByteSize.ofMiB(4), Duration.ofMillis(25)),
                disks,
                new ScrubConfig(Duration.ofDays(1), Duration.ofDays(7), ByteSize.ofMiB(1024)),
                rocks(),
                new RocksMemoryConfig(ByteSize.ofMiB(16), ByteSize.ofMiB(4)),
                JmxConfig.none());
    }

    static DataServerConfig.DiskTable disk(Path directory, int mebibytes) {
        return new DataServerConfig.DiskTable(
                directory.resolve("data"),
                directory.resolve("wal"),
                directory.resolve("index"),
                ByteSize.ofMiB(mebibytes),
                ByteSize.ofMiB(Math.min(mebibytes, 16)),
                ByteSize.ofMiB(1),
                ByteSize.ofMiB(0),
                Duration.ofSeconds(1),
                1,
                ByteSize.parse("64KiB"),
                DataServerConfig.DiskClass.AUTO,
                HUNG_AFTER);
    }

    private static RocksConfig rocks() {
        return Config.parse("test.toml", "", RocksConfig.class);
    }

    static DiskOpener opener(MemoryDisk disk) {
        return wanted -> disk.open();
    }

    /** From now on servers start on real disks, below their state directories. */
    TestCluster onRealDisks() {
        realDisks = true;
        return this;
    }

    /** From now on servers start on so many disks each, whose devices can fail. */
    TestCluster onFaultyDisks(int perServer) {
        disksPerServer = perServer;
        for (int i = 0; i < SERVERS; i++) {
            faults.add(new FaultDevices(i));
        }
        return this;
    }

    /** Where a disk of a server has its parts. */
    Path disk(int server, int disk) {
        return stateDir(server).resolve("disk-" + disk);
    }

    private final IndexDatabases databases =
            new IndexDatabases(
                    rocks(),
                    new RocksMemory(ByteSize.ofMiB(16), ByteSize.ofMiB(4)),
                    Meters.unpublished());

    TestCluster startAll() throws DataServerException {
        for (int i = 0; i < SERVERS; i++) {
            start(i);
            // Ids are given in the order of registration.
            server(i).registered().orTimeout(30, TimeUnit.SECONDS).join();
        }
        return this;
    }

    void start(int i) throws DataServerException {
        if (!faults.isEmpty()) {
            // Small: their content is in memory, twice.
            List<DataServerConfig.DiskTable> tables =
                    IntStream.range(0, disksPerServer).mapToObj(d -> disk(disk(i, d), 8)).toList();
            DataServerConfig config = config(stateDir(i), List.of(mds.address()), tables);
            servers[i] =
                    DataServer.start(
                            config,
                            () -> config,
                            DiskOpener.local(databases, faults.get(i)),
                            meters(i),
                            this::fatal);
            return;
        }
        DataServerConfig config = config(stateDir(i), List.of(mds.address()));
        servers[i] =
                DataServer.start(
                        config,
                        () -> config,
                        realDisks ? recording(i) : opener(disks.get(i)),
                        meters(i),
                        this::fatal);
    }

    private DiskOpener recording(int i) {
        DiskOpener local = DiskOpener.local(databases, devices.get(i));
        return wanted -> {
            DiskStore store = local.open(wanted);
            stores.put(i, store);
            return store;
        };
    }

    /** The disk of a server that was started last, with {@link #onRealDisks}. */
    DiskStore store(int i) {
        return Objects.requireNonNull(stores.get(i));
    }

    /** Of each server, also over its restarts. */
    Meters meters(int i) {
        return meters.computeIfAbsent(i, _ -> Meters.unpublished());
    }

    private void fatal(String what, Throwable cause) {
        fatal.add(what + ": " + cause);
    }

    Path stateDir(int i) {
        return directory.resolve("data-" + i);
    }

    DataServer server(int i) {
        DataServer server = servers[i];
        if (server == null) {
            throw new IllegalStateException("server " + i + " is not running");
        }
        return server;
    }

    void kill(int i) {
        server(i).close();
        servers[i] = null;
    }

    static int pg(int index) {
        return 1 << 16 | index;
    }

    /** Index of the server that is the PG's primary. */
    int primary(int pg) {
        int disk = Objects.requireNonNull(mds.map().pg(pg)).getInSync(0);
        return disk / 10 - 1;
    }

    // ---- client -------------------------------------------------------------------------------

    DataOp write(int pg, long session, long number, int offset, byte[] data) {
        return DataOp.write(
                pg,
                range(pg, offset, data.length),
                new DataOp.Caller(session, number, 0),
                known(),
                BlockCrc.compute(Unpooled.wrappedBuffer(data), offset));
    }

    /** To a chunk of any inode. */
    DataOp write(int pg, long inode, int chunk, DataOp.Caller caller, int offset, byte[] data) {
        return DataOp.write(
                pg,
                new DataOp.Range(inode, chunk, offset, data.length),
                caller,
                known(),
                BlockCrc.compute(Unpooled.wrappedBuffer(data), offset));
    }

    DataOp read(int pg, long session, int offset, int length) {
        return DataOp.read(
                pg, range(pg, offset, length), new DataOp.Caller(session, 0, 0), known());
    }

    private static DataOp.Range range(int pg, int offset, int length) {
        return new DataOp.Range(1000 + pg, 0, offset, length);
    }

    private DataOp.Known known() {
        return DataOp.Known.map(mds.map().epoch());
    }

    CompletableFuture<Result> send(DataOp op, byte[] data) {
        return send(op, data, Duration.ofSeconds(5));
    }

    CompletableFuture<Result> send(DataOp op, byte[] data, Duration patience) {
        ByteBuf head = Unpooled.buffer(DataOpFormat.encodedLength(op));
        DataOpFormat.encode(op, head);
        boolean read = op.type() == DataOpType.READ;
        CompletableFuture<Result> result = new CompletableFuture<>();
        InetSocketAddress address = mds.map().primaryAddress(op.pg());
        if (address == null) {
            throw new IllegalStateException("no primary");
        }
        client.channel(address)
                .call(
                        read ? Method.DATA_READ_VALUE : Method.DATA_WRITE_VALUE,
                        head,
                        read ? Unpooled.EMPTY_BUFFER : Unpooled.copiedBuffer(data),
                        System.nanoTime() + patience.toNanos(),
                        (status, reply, payload) ->
                                result.complete(
                                        new Result(status, data(op, status, reply, payload))));
        return result;
    }

    private static byte[] data(DataOp op, RpcStatus status, ByteBuf reply, ByteBuf payload) {
        if (!status.ok() || op.type() != DataOpType.READ) {
            return new byte[0];
        }
        int[] crcs =
                ReadReplyFormat.decode(reply, op.offset(), op.length(), payload.readableBytes())
                        .blockCrcs();
        if (BlockCrc.firstMismatch(payload, op.offset(), crcs) >= 0) {
            throw new AssertionError("read returned data that does not match its checksums");
        }
        return Arrays.copyOf(ByteBufUtil.getBytes(payload), op.length());
    }

    /** Sends until the answer is final, as a client does. */
    Result sendUntilFinal(DataOp op, byte[] data) {
        return await().atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(20))
                .until(
                        () -> send(op, data).get(10, TimeUnit.SECONDS),
                        r ->
                                r.status.advice() != Advice.RETRY
                                        && r.status.advice() != Advice.REFRESH_MAP);
    }

    /** Calls a control method of a server until it succeeds. */
    void callUntilDone(int server, int method, MessageLite message) {
        HostPort address = server(server).address();
        await().atMost(PATIENCE)
                .until(() -> {
                    CompletableFuture<RpcStatus> done = new CompletableFuture<>();
                    client.channel(address.toSocketAddress())
                            .call(
                                    method,
                                    message,
                                    System.nanoTime() + 5_000_000_000L,
                                    (status, h, p) -> done.complete(status));
                    return done.get(10, TimeUnit.SECONDS).ok();
                });
    }

    /** Deletes as the metadata service does. */
    void deleteInodes(int pg, LongStream inodes) {
        DeleteInodesRequest.Builder request =
                DeleteInodesRequest.newBuilder()
                        .setPg(pg)
                        .setMapEpoch(map().epoch())
                        .setNumber(++deletions);
        inodes.forEach(request::addInodes);
        callUntilDone(primary(pg), Method.DELETE_INODES_VALUE, request.build());
    }

    /**
     * What the group has by now cannot be sent from the log of the first two servers any more: a
     * deletion of many inodes is not kept when it is flushed, nor what was before it.
     */
    void cutLog(int pg) {
        deleteInodes(pg, LongStream.range(FIRST_UNUSED, FIRST_UNUSED + 100));
        for (int server = 0; server < 2; server++) {
            DiskStore store = store(server);
            await().atMost(PATIENCE)
                    .until(() -> {
                        PgLogState state = store.logState(pg);
                        return state.flushedSequence() == state.lastSequence();
                    });
        }
    }

    /** Asks a server, which has to answer. */
    <T extends MessageLite> T ask(int server, Method method, MessageLite request, Parser<T> parser)
            throws Exception {
        CompletableFuture<T> answer = new CompletableFuture<>();
        client.channel(server(server).address().toSocketAddress())
                .call(
                        method.getNumber(),
                        request,
                        System.nanoTime() + PATIENCE.toNanos(),
                        Heads.reply(
                                parser,
                                (status, reply) -> {
                                    if (reply == null) {
                                        answer.completeExceptionally(
                                                new AssertionError(status.detail()));
                                    } else {
                                        answer.complete(reply);
                                    }
                                }));
        return answer.get(30, TimeUnit.SECONDS);
    }

    /** Opens the chunk index of a server that is not running, with {@link #onRealDisks}. */
    ChunkIndex index(int i) throws IOException {
        return ChunkIndex.open(
                stateDir(i).resolve("index"),
                store(i).uuid(),
                databases,
                DiskCalls.unwatched(),
                (what, cause) -> fatal(what, cause));
    }

    /** Calls a method of a server once; true if it succeeds. Takes over both buffers. */
    CompletableFuture<Boolean> call(int server, int method, ByteBuf head, ByteBuf payload) {
        CompletableFuture<Boolean> done = new CompletableFuture<>();
        client.channel(server(server).address().toSocketAddress())
                .call(
                        method,
                        head,
                        payload,
                        System.nanoTime() + 30_000_000_000L,
                        (status, h, p) -> done.complete(status.ok()));
        return done;
    }

    /** All members have the same operations of every PG. */
    void awaitIdenticalHistories() {
        for (int i = 0; i < FakeMds.PGS; i++) {
            int pg = pg(i);
            await().atMost(PATIENCE)
                    .pollDelay(Duration.ZERO)
                    .until(() -> {
                        List<String> first = disks.get(0).history(pg);
                        return disks.stream().allMatch(d -> d.history(pg).equals(first));
                    });
        }
    }

    ClusterMap map() {
        return mds.map();
    }

    @Override
    public void close() {
        for (int i = 0; i < SERVERS; i++) {
            if (servers[i] != null) {
                kill(i);
            }
        }
        client.close();
        loops.close();
        mds.close();
        if (!fatal.isEmpty()) {
            throw new AssertionError("a server's process would have ended: " + fatal);
        }
    }
}
