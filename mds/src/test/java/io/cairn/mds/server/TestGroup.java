package io.cairn.mds.server;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.file.FileTree;
import io.cairn.common.map.Uuids;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Hello;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.Role;
import io.cairn.common.proto.SizesToldRequest;
import io.cairn.common.proto.StatusReply;
import io.cairn.common.proto.StatusRequest;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcClient;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.common.time.BootClock;
import io.cairn.mds.raft.StartWord;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * Metadata servers of one group, in this JVM or in processes of their own, each of which can be
 * stopped and started again, and a client that finds the leader as a real one does.
 */
final class TestGroup implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    final UUID clusterId = UUID.randomUUID();
    final RpcLoops loops = new RpcLoops(1, "test");
    final AtomicReference<@Nullable String> fatal = new AtomicReference<>();
    private final Path directory;
    private final String settings;
    private final int size;
    private final List<Integer> ports = new ArrayList<>();
    private final Map<Integer, MdsServer> running = new HashMap<>();

    /** Members that have been started before. */
    private final Set<Integer> begun = new HashSet<>();

    /** Where a member is configured otherwise than the rest. */
    private final Map<Integer, String> ownSettings = new HashMap<>();

    private final Map<Integer, MdsProcess> processes = new HashMap<>();

    /** Where requests to a member are sent instead of its own address. */
    private final Map<Integer, InetSocketAddress> routes = new ConcurrentHashMap<>();

    /** Added to a member's clock. */
    private final Map<Integer, AtomicLong> skewNanos = new HashMap<>();

    private final RocksMemory memory = new RocksMemory(ByteSize.ofMiB(64), ByteSize.ofMiB(32));
    private final RpcClient client;
    private int leaderGuess = 1;

    /** What a request ended with. */
    record Answer<R>(RpcStatus status, @Nullable R reply) {
        R get() {
            if (reply == null) {
                throw new AssertionError("failed: " + status);
            }
            return reply;
        }
    }

    /**
     * Members in this JVM, started.
     *
     * @param settings TOML tables for all members
     */
    TestGroup(Path directory, int size, String settings) throws IOException {
        this(directory, size, 0, settings);
    }

    /**
     * The same, and configurations for members that may be added.
     *
     * @param spare how many: their ids follow those of the members
     */
    TestGroup(Path directory, int size, int spare, String settings) throws IOException {
        this(directory, settings, size, spare);
        for (int id = 1; id <= size; id++) {
            start(id);
        }
        if (size > 1) {
            awaitAllVote();
        }
    }

    /** One member in a process of its own, to be {@link #launch}ed. */
    static TestGroup ofOneProcess(Path directory, String settings) throws IOException {
        return new TestGroup(directory, settings, 1, 0);
    }

    private TestGroup(Path directory, String settings, int size, int spare) throws IOException {
        this.directory = directory;
        this.size = size;
        this.settings = settings;
        List<ServerSocket> held = new ArrayList<>();
        for (int i = 0; i < 2 * (size + spare); i++) {
            ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
            held.add(socket);
            ports.add(socket.getLocalPort());
        }
        for (ServerSocket socket : held) {
            socket.close();
        }
        client = newClient(Role.ROLE_CLIENT);
        // Sessions under test write nothing that they have not published.
        client.onPush(
                Method.TELL_SIZES_VALUE,
                (from, head) -> {
                    TellSizes asked = Heads.parse(TellSizes.parser(), head);
                    SizesToldRequest told =
                            SizesToldRequest.newBuilder()
                                    .setSession(asked.getSession())
                                    .setNumber(asked.getNumber())
                                    .build();
                    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(5);
                    from.call(Method.SIZES_TOLD_VALUE, told, deadline, (status, h, payload) -> {});
                });
    }

    RpcClient newClient(Role role) {
        Hello hello = Hello.newBuilder().setClusterId(Uuids.bytes(clusterId)).setRole(role).build();
        return new RpcClient(loops, () -> hello, HelloPolicy.ACCEPT, RpcOptions.DEFAULT);
    }

    /** The first time as a member of a new cluster, later on what its directory holds. */
    MdsServer start(int id) throws IOException {
        return start(id, begun.add(id) ? StartWord.NEW_CLUSTER : StartWord.NONE);
    }

    MdsServer start(int id, StartWord word) throws IOException {
        AtomicLong skew = skewNanos.computeIfAbsent(id, i -> new AtomicLong());
        MdsServer server =
                MdsServer.start(
                        config(id),
                        word,
                        memory,
                        Meters.unpublished(),
                        () -> BootClock.INSTANCE.nanos() + skew.get(),
                        (reason, cause) -> fatal.compareAndSet(null, reason + ": " + cause));
        running.put(id, server);
        return server;
    }

    /** Starts a member in a process of its own; what it says is added to the file {@code log}. */
    MdsProcess launch(int id) throws IOException {
        Path file = directory.resolve("mds-" + id + ".toml");
        Files.writeString(file, toml(id));
        MdsProcess process = MdsProcess.start(file, directory.resolve("mds-" + id + ".log"));
        @Nullable MdsProcess before = processes.put(id, process);
        if (before != null) {
            before.close();
        }
        return process;
    }

    MdsProcess process(int id) {
        MdsProcess process = processes.get(id);
        if (process == null) {
            throw new AssertionError("member " + id + " was not launched");
        }
        return process;
    }

    /** From its next start on the member has these TOML tables instead of the group's. */
    void configure(int id, String tables) {
        ownSettings.put(id, tables);
    }

    /** From now on requests to the member go there. */
    void route(int id, InetSocketAddress via) {
        routes.put(id, via);
    }

    /** Requests to the member go to itself again. */
    void routeDirectly(int id) {
        routes.remove(id);
    }

    /** Makes a member's clock jump: what it sees when its process or machine stood still. */
    void advance(int id, long nanos) {
        skewNanos.computeIfAbsent(id, i -> new AtomicLong()).addAndGet(nanos);
    }

    void stop(int id) throws IOException {
        MdsServer server = running.remove(id);
        if (server != null) {
            server.close();
        }
    }

    /** Stops the member and loses all that it kept. */
    void wipe(int id) throws IOException {
        stop(id);
        FileTree.delete(directory.resolve("mds-" + id));
    }

    MdsServer server(int id) {
        MdsServer server = running.get(id);
        if (server == null) {
            throw new AssertionError("member " + id + " does not run");
        }
        return server;
    }

    /** Whether the member's log has elected it, whether or not it may answer yet. */
    boolean leads(int id) {
        @Nullable StatusReply status =
                ask(id, Method.STATUS, StatusRequest.getDefaultInstance(), StatusReply.parser())
                        .reply();
        return status != null && status.getLeader() == id;
    }

    List<Integer> running() {
        return List.copyOf(running.keySet());
    }

    InetSocketAddress address(int id) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), ports.get(2 * id - 2));
    }

    /** Waits until a member serves and returns its id. */
    int awaitServing() {
        return Awaitility.await()
                .atMost(60, TimeUnit.SECONDS)
                .pollInterval(5, TimeUnit.MILLISECONDS)
                .until(
                        () ->
                                running.entrySet().stream()
                                        .filter(e -> e.getValue().serving())
                                        .map(Map.Entry::getKey)
                                        .findFirst()
                                        .orElse(0),
                        id -> id > 0);
    }

    /** Waits until no member is new or joining. */
    void awaitAllVote() {
        for (int id = 1; id <= size; id++) {
            Path identity = directory.resolve("mds-" + id).resolve("identity");
            Awaitility.await("member " + id + " votes")
                    .atMost(60, TimeUnit.SECONDS)
                    .until(() -> !Files.readString(identity).contains("word"));
        }
    }

    MdsConfig config(int id) {
        return Config.parse("test.toml", toml(id), MdsConfig.class);
    }

    private String toml(int id) {
        StringBuilder toml = new StringBuilder();
        toml.append("cluster_id = \"").append(clusterId).append("\"\n");
        toml.append("member_id = ").append(id).append('\n');
        toml.append("data_dir = \"").append(directory.resolve("mds-" + id)).append("\"\n");
        for (int m : id <= size ? IntStream.rangeClosed(1, size).toArray() : joined(id)) {
            toml.append("[[members]]\nid = ").append(m);
            toml.append("\naddress = \"127.0.0.1:").append(ports.get(2 * m - 2));
            toml.append("\"\nraft_address = \"127.0.0.1:").append(ports.get(2 * m - 1));
            toml.append("\"\n");
        }
        String own = ownSettings.getOrDefault(id, settings);
        return toml.append(own.replace("{id}", "" + id)).toString();
    }

    /** One that is added is configured with itself and two others, whoever leads. */
    private static int[] joined(int id) {
        return new int[] {id - 2, id - 1, id};
    }

    // ---- calls --------------------------------------------------------------

    /** One request to one member. */
    <R extends MessageLite> CompletableFuture<Answer<R>> send(
            int member, Method method, MessageLite request, Parser<R> parser) {
        return send(client, member, method, request, parser, PATIENCE);
    }

    /** One request to one member by a caller that waits so long. */
    <R extends MessageLite> CompletableFuture<Answer<R>> send(
            int member, Method method, MessageLite request, Parser<R> parser, Duration patience) {
        return send(client, member, method, request, parser, patience);
    }

    private <R extends MessageLite> CompletableFuture<Answer<R>> send(
            RpcClient from,
            int member,
            Method method,
            MessageLite request,
            Parser<R> parser,
            Duration patience) {
        CompletableFuture<Answer<R>> answer = new CompletableFuture<>();
        from.channel(routes.getOrDefault(member, address(member)))
                .call(
                        method.getNumber(),
                        request,
                        System.nanoTime() + patience.toNanos(),
                        (status, head, payload) ->
                                answer.complete(
                                        new Answer<>(
                                                status,
                                                status.ok() ? Heads.parse(parser, head) : null)));
        return answer;
    }

    <R extends MessageLite> Answer<R> ask(
            int member, Method method, MessageLite request, Parser<R> parser) {
        return ask(client, member, method, request, parser);
    }

    <R extends MessageLite> Answer<R> ask(
            RpcClient from, int member, Method method, MessageLite request, Parser<R> parser) {
        try {
            return send(from, member, method, request, parser, PATIENCE).get(30, TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** As a client does it: goes from member to member until one gives a final answer. */
    <R extends MessageLite> Answer<R> call(Method method, MessageLite request, Parser<R> parser) {
        return callAs(client, method, request, parser);
    }

    <R extends MessageLite> Answer<R> callAs(
            RpcClient from, Method method, MessageLite request, Parser<R> parser) {
        Answer<R> first = askGuessed(from, method, request, parser);
        if (isFinal(first)) {
            return first;
        }
        return Awaitility.await("a final answer to " + method)
                .pollInSameThread()
                .atMost(60, TimeUnit.SECONDS)
                .pollInterval(10, TimeUnit.MILLISECONDS)
                .until(() -> askGuessed(from, method, request, parser), TestGroup::isFinal);
    }

    private static boolean isFinal(Answer<?> answer) {
        Advice advice = answer.status().advice();
        return answer.status().ok() || (advice != Advice.RETRY && advice != Advice.NOT_LEADER);
    }

    /** Asks the supposed leader; supposes the next member when it is none. */
    private <R extends MessageLite> Answer<R> askGuessed(
            RpcClient from, Method method, MessageLite request, Parser<R> parser) {
        Answer<R> answer = ask(from, leaderGuess, method, request, parser);
        boolean notLeader = answer.status().advice() == Advice.NOT_LEADER;
        if (notLeader || (!isFinal(answer) && !running.containsKey(leaderGuess))) {
            leaderGuess = leaderGuess % (ports.size() / 2) + 1;
        }
        return answer;
    }

    /** Epochs of the maps that are pushed to the client from now on. */
    List<Long> recordMaps() {
        return record(Method.MAP_PUSH, head -> Heads.parse(MapUpdate.parser(), head).getEpoch());
    }

    /** What is pushed to the client from now on by one method. */
    <T> List<T> record(Method method, Function<ByteBuf, T> read) {
        List<T> pushed = new CopyOnWriteArrayList<>();
        client.onPush(method.getNumber(), (from, head) -> pushed.add(read.apply(head)));
        return pushed;
    }

    StatusReply status() {
        return call(Method.STATUS, StatusRequest.getDefaultInstance(), StatusReply.parser()).get();
    }

    @Override
    public void close() throws IOException {
        client.close();
        for (int id : running()) {
            stop(id);
        }
        processes.values().forEach(MdsProcess::close);
        loops.close();
        memory.close();
    }
}
