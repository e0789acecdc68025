package io.cairn.dataserver;

import io.cairn.common.config.ConfigException;
import io.cairn.common.proto.AddDisksReply;
import io.cairn.common.proto.AddDisksRequest;
import io.cairn.common.proto.AddedDisk;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.dataserver.ground.DataServerException;
import io.cairn.dataserver.pg.ConfiguredDisk;
import io.cairn.dataserver.pg.DiskPhase;
import io.cairn.dataserver.pg.LocalDisk;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes in, while the server runs, what its configuration has got of disks since it started. One
 * round at a time, on a thread of its own: making a disk may take long. Any thread.
 */
final class DiskAdditions {
    private static final Logger LOG = LoggerFactory.getLogger(DiskAdditions.class);

    private static final long REGISTER_SECONDS = 60;

    private final Supplier<DataServerConfig> source;
    private final Disks disks;
    private final Host host;

    /** What the newest round has come to. */
    private volatile AddDisksReply newest = AddDisksReply.getDefaultInstance();

    /** The server that gets more disks. */
    interface Host {
        void opened(ConfiguredDisk disk);

        /** Completes when the metadata service knows all disks of the server. */
        CompletableFuture<Void> register();
    }

    /**
     * @param source reads the configuration of the server, or throws ConfigException
     */
    DiskAdditions(Supplier<DataServerConfig> source, Disks disks, Host host) {
        this.source = source;
        this.disks = disks;
        this.host = host;
    }

    /** Begins a round if that is asked for, unless one is running. */
    synchronized AddDisksReply answer(AddDisksRequest request) {
        if (request.getBegin() && !newest.getRunning()) {
            newest = AddDisksReply.newBuilder().setRunning(true).build();
            Thread.ofPlatform().daemon().name("disk-add").start(this::run);
        }
        return newest;
    }

    private void run() {
        AddDisksReply.Builder reply = AddDisksReply.newBuilder();
        try {
            addAll(reply);
        } catch (ConfigException e) {
            reply.setFailure(String.valueOf(e.getMessage()));
        } catch (Throwable e) { // an Error too: who waits for the round must hear of it
            LOG.error("Disks were to be added", e);
            reply.setFailure(e.toString());
        } finally {
            newest = reply.build();
        }
    }

    private void addAll(AddDisksReply.Builder reply) throws InterruptedException {
        List<ConfiguredDisk> added = new ArrayList<>();
        for (DataServerConfig.DiskTable table : source.get().disk()) {
            if (disks.isConfigured(table.data())) {
                continue;
            }
            try {
                added.add(disks.add(table));
            } catch (DataServerException | RuntimeException e) { // those opened by now are in
                LOG.error("Disk {} is not added", table.data(), e);
                reply.addDisks(
                        AddedDisk.newBuilder()
                                .setData(table.data().toString())
                                .setFailure(failure(e)));
            }
        }
        added.forEach(host::opened);
        disks.all().stream()
                .filter(d -> waits(d) && !added.contains(d))
                .forEach(added::add); // an earlier round has opened them
        if (!added.isEmpty()) {
            String failure = register();
            added.forEach(disk -> reply.addDisks(reported(disk, failure)));
        }
    }

    private static String failure(Exception e) {
        return e instanceof DataServerException ? String.valueOf(e.getMessage()) : e.toString();
    }

    /** Whether it could serve, and is not registered. */
    private static boolean waits(ConfiguredDisk disk) {
        LocalDisk local = disk.disk();
        return local != null && local.id() == 0 && disk.phase() != DiskPhase.OUT;
    }

    /** Returns why it has not come to that; empty if it has. */
    private String register() throws InterruptedException {
        try {
            host.register().get(REGISTER_SECONDS, TimeUnit.SECONDS);
            return "";
        } catch (TimeoutException e) {
            LOG.warn("New disks are not registered yet", e);
            return "it is open, and registered as soon as the metadata service answers";
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            return String.valueOf(cause == null ? e : cause.getMessage());
        }
    }

    private static AddedDisk reported(ConfiguredDisk disk, String failure) {
        AddedDisk.Builder added = AddedDisk.newBuilder().setData(disk.data().toString());
        LocalDisk local = disk.disk();
        if (disk.phase() == DiskPhase.OUT || local == null) {
            return added.setFailure(disk.status().getCause()).build();
        }
        return added.setDisk(local.id())
                .setCapacityBytes(local.store().usage().capacityBytes())
                .setFailure(failure)
                .build();
    }
}
