package io.cairn.cli.part;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.client.CairnClients;
import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ClientConfig;
import io.cairn.common.config.HostPort;
import io.cairn.common.jmx.JmxConfig;
import io.cairn.common.jmx.JmxEndpoint;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.ProcessMetrics;
import io.cairn.common.metrics.PrometheusEndpoint;
import io.cairn.common.rocks.RocksMemory;
import io.cairn.common.rocks.RocksMemoryConfig;
import io.cairn.common.time.BootClock;
import io.cairn.dataserver.DataServer;
import io.cairn.dataserver.DiskOpener;
import io.cairn.dataserver.chunk.IndexDatabases;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.fuse.mount.FuseMount;
import io.cairn.fuse.mount.MountOptions;
import io.cairn.mds.raft.StartWord;
import io.cairn.mds.server.MdsConfig;
import io.cairn.mds.server.MdsServer;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Starts parts in this process and has them closed with it. The embedded cluster starts several, a
 * server's own command one: what a part is and does is the same. Used by the main thread.
 */
public final class PartStarter {
    private final ServerProcess process;
    private final ProcessMetrics metrics;
    private @Nullable RocksMemory rocksMemory;
    private @Nullable JmxSettings jmx;

    private record JmxSettings(HostPort address, JmxConfig config) {}

    public PartStarter(ServerProcess process) {
        this.process = process;
        this.metrics = process.add("metrics", new ProcessMetrics());
    }

    /**
     * @param word what the administrator says of an empty directory
     */
    public MdsServer mds(MdsConfig config, StartWord word) throws Exception {
        publish(config.metricsAddress(), config.jmxAddress(), config.jmx());
        Meters meters = meters("mds-" + config.memberId());
        MdsServer server =
                process.add(
                        "mds",
                        MdsServer.start(
                                config,
                                word,
                                memory(config.rocksdbMemory()),
                                meters,
                                BootClock.INSTANCE,
                                FatalExit::now));
        return server;
    }

    public DataServer dataServer(String name, DataServerConfig config) throws Exception {
        return dataServer(name, config, () -> config);
    }

    /**
     * @param source reads its configuration again, for disks that it has got
     */
    public DataServer dataServer(
            String name, DataServerConfig config, Supplier<DataServerConfig> source)
            throws Exception {
        publish(config.metricsAddress(), config.jmxAddress(), config.jmx());
        Meters meters = meters(name);
        IndexDatabases databases =
                new IndexDatabases(
                        config.rocksdbOfEachDisk(), memory(config.rocksdbMemory()), meters);
        DataServer server =
                process.add(
                        name,
                        DataServer.start(config, source, DiskOpener.local(databases), meters));
        server.failure()
                .thenAccept(e ->
                        process.failed(
                                new CommandException(
                                        ExitCode.CONFIGURATION, name + ": " + e.getMessage(), e)));
        return server;
    }

    /** The process ends when the file system is unmounted. */
    public void mount(MountConfig config, Path mountPoint, MountOptions options) throws Exception {
        publish(config.metricsAddress(), config.jmxAddress(), config.jmx());
        Meters meters = meters("mount");
        ClientConfig session =
                options.session(config.client()).describedAs(description(mountPoint));
        MountOptions named = options.from(session.mds().getFirst().toString(), session.path());
        CairnClient client = process.add("client", CairnClients.connect(session, meters));
        FuseMount mount =
                process.add(
                        "mount on " + mountPoint,
                        FuseMount.mount(client, mountPoint, named, meters));
        Thread.ofVirtual()
                .name("cairn-mount-end")
                .start(() -> {
                    try {
                        mount.awaitUnmounted();
                        process.ended();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                });
    }

    /** Who mounted, as the administrator sees it: {@code host:/mount/point, process 4711}. */
    private static String description(Path mountPoint) {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            host = "unknown host";
        }
        return "%s:%s, process %d"
                .formatted(
                        host,
                        mountPoint.toAbsolutePath().normalize(),
                        ProcessHandle.current().pid());
    }

    /** Made with the settings of the part that needs it first, shared by all that follow. */
    private RocksMemory memory(RocksMemoryConfig config) {
        if (rocksMemory == null) {
            rocksMemory = process.add("database memory", new RocksMemory(config));
        }
        return rocksMemory;
    }

    /** Published until the part has stopped. */
    private Meters meters(String part) {
        return process.add("meters of " + part, metrics.part(part));
    }

    /**
     * Before the part starts: who waits for a mount or a server must not see it come, and then go
     * because of an address that cannot be had.
     */
    private void publish(
            Optional<HostPort> metricsAddress, Optional<HostPort> jmxAddress, JmxConfig config)
            throws IOException {
        endpoint(metricsAddress);
        jmx(jmxAddress, config);
    }

    /**
     * The beans are those of the process, and so is the address: the first part that names one
     * opens it for all.
     */
    private void jmx(Optional<HostPort> address, JmxConfig config) throws IOException {
        if (address.isEmpty()) {
            return;
        }
        JmxSettings wanted = new JmxSettings(address.get(), config);
        if (jmx == null) {
            jmx = wanted;
            process.add(
                    "JMX address " + wanted.address(),
                    new JmxEndpoint(
                            wanted.address(), config, ManagementFactory.getPlatformMBeanServer()));
        } else if (!jmx.equals(wanted)) {
            throw new CommandException(
                    ExitCode.CONFIGURATION,
                    ("jmx_address %s: this process has the JMX address %s of another part; give all"
                                    + " parts of a process the same jmx_address and [jmx], or one of"
                                    + " them only, or start with --processes")
                            .formatted(wanted.address(), jmx.address()));
        }
    }

    private void endpoint(Optional<HostPort> address) throws IOException {
        if (address.isPresent()) {
            process.add(
                    "metrics endpoint " + address.get(),
                    new PrometheusEndpoint(address.get(), metrics::scrape));
        }
    }
}
