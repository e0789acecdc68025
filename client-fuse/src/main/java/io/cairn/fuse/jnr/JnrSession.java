package io.cairn.fuse.jnr;

import io.cairn.client.api.CairnClient;
import io.cairn.fuse.session.FuseMeters;
import io.cairn.fuse.session.RequestBuffers;
import io.cairn.fuse.session.Serving;
import java.util.List;
import jnr.ffi.Pointer;
import jnr.ffi.Struct;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One mount through libfuse: from mounting until the file system is unmounted. Any thread. */
public final class JnrSession extends Serving {
    /** Largest read and write of libfuse 2. */
    public static final int MAX_IO_BYTES = 128 << 10;

    private static final Logger LOG = LoggerFactory.getLogger(JnrSession.class);

    /** Of fuse_conn_info: what the file system wants of what the kernel can. */
    private static final int CONNECTION_WANT = 24;

    private static final int EXPORT_SUPPORT = 1 << 4;

    private final LibFuse2 libFuse;
    private final Table table = new Table();

    /**
     * @param rootInode of the mounted directory
     */
    public JnrSession(CairnClient client, long rootInode, JnrOptions options, FuseMeters meters) {
        this.libFuse = LibFuse2.load();
        Calls calls = new Calls(libFuse, meters, options.debug());
        Paths paths = new Paths(client, calls, rootInode);
        HandleNumbers open = new HandleNumbers();
        RequestBuffers buffers = new RequestBuffers(MAX_IO_BYTES);
        new NameCalls(client, calls, paths).enter(table);
        new AttributeCalls(client, calls, paths).enter(table);
        new DirectoryCalls(client, calls, paths, open).enter(table);
        new FileCalls(client, calls, paths, open, buffers, options).enter(table);
        if (options.locks()) {
            new LockCalls(calls, open).enter(table);
        }
        table.put(table.init, Callbacks.Init.class, this::init);
        meters.handles(open::size);
    }

    /**
     * Mounts, on a thread of its own. Once. Where that fails, libfuse says why on the standard
     * error output.
     */
    public void start(List<String> arguments) {
        Thread.ofPlatform().daemon().name("cairn-libfuse").start(() -> serve(arguments));
    }

    private void serve(List<String> arguments) {
        int result = -1;
        try {
            result =
                    libFuse.fuse_main_real(
                            arguments.size(),
                            arguments.toArray(String[]::new),
                            table,
                            Struct.size(table),
                            null);
        } catch (RuntimeException e) {
            LOG.error("libfuse ended", e);
        } finally {
            failInit("libfuse ended with " + result);
            ended();
        }
    }

    /**
     * Handles of libfuse count from one again in each mount: one of an earlier mount would name
     * another file. So they count for nothing once the kernel has forgotten the file.
     */
    private @Nullable Pointer init(Pointer connection) {
        int want = connection.getInt(CONNECTION_WANT);
        connection.putInt(CONNECTION_WANT, want & ~EXPORT_SUPPORT);
        initialised();
        return null;
    }
}
