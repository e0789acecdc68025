package io.cairn.cli;

import io.cairn.common.proto.Hello;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.HelloPolicy;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcHandler;
import io.cairn.common.rpc.RpcLoops;
import io.cairn.common.rpc.RpcOptions;
import io.cairn.common.rpc.RpcServer;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import picocli.CommandLine;

/** A metadata server that answers as a test wants, and the commands that are run against it. */
final class ScriptedServer implements AutoCloseable {
    final StringWriter out = new StringWriter();
    final StringWriter err = new StringWriter();
    private final RpcLoops loops = new RpcLoops(1, "test");
    private final RpcServer server;

    ScriptedServer(RpcHandler handler) throws IOException {
        server =
                RpcServer.bind(
                        loops,
                        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
                        () -> Hello.newBuilder().setRole(Role.ROLE_MDS).setId(1).build(),
                        HelloPolicy.ACCEPT,
                        handler,
                        RpcOptions.DEFAULT);
    }

    String address() {
        return RpcAddress.format(server.localAddress());
    }

    /** Runs a command; returns its exit code. What it printed is added to the two writers. */
    int run(String... args) {
        CommandLine line = Main.commandLine(false, List.of(args).contains("--json"));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    @Override
    public void close() {
        server.close();
        loops.close();
    }
}
