package io.cairn.client;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ClientConfig;
import io.cairn.client.base.Async;
import io.cairn.client.move.FileMover;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;

/** Makes clients. */
public final class CairnClients {
    private CairnClients() {}

    /** A client whose meters nobody publishes. */
    public static CairnClient connect(ClientConfig config) {
        return connect(config, Meters.unpublished());
    }

    /**
     * Finds the cluster, opens a session and resolves the configured path. Blocks.
     *
     * @param meters of this client's part of the process; closed by the caller, after the client
     * @throws FsException EHOSTUNREACH when no MDS leader was found in time, EPROTO when it belongs
     *     to another cluster or speaks another version, ENOENT or ENOTDIR for the path
     */
    public static CairnClient connect(ClientConfig config, Meters meters) {
        ClientRuntime runtime = new ClientRuntime(config, meters);
        try {
            runtime.start();
            ClusterClient client = new ClusterClient(runtime);
            client.root(resolve(client, config.path(), config.connectTimeout()));
            return client;
        } catch (RuntimeException e) {
            runtime.close();
            throw e;
        }
    }

    /** A client that moves files into other pools, as {@link #connect(ClientConfig)}. Blocks. */
    public static FileMover connectMover(ClientConfig config) {
        ClientRuntime runtime = new ClientRuntime(config, Meters.unpublished());
        try {
            runtime.start();
            return runtime.mover(new ClusterClient(runtime));
        } catch (RuntimeException e) {
            runtime.close();
            throw e;
        }
    }

    private static long resolve(CairnClient client, String path, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        long inode = CairnClient.ROOT_INODE;
        for (String name : path.split("/", -1)) {
            if (name.isEmpty()) {
                continue;
            }
            Attr attr;
            try {
                attr =
                        client.lookup(inode, name.getBytes(StandardCharsets.UTF_8))
                                .orTimeout(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
                                .join();
            } catch (CompletionException e) {
                FsException cause = Async.failure(e);
                throw new FsException(
                        cause.errno(),
                        "path " + path + ", at '" + name + "': " + cause.getMessage());
            }
            if (!Mode.isDirectory(attr.getMode())) {
                throw new FsException(
                        Errno.ENOTDIR, "path " + path + ": '" + name + "' is not a directory");
            }
            inode = attr.getInode();
        }
        return inode;
    }
}
