package io.cairn.client.move;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.data.InodeChanges;
import io.cairn.client.data.MapHolder;
import io.cairn.client.inode.FileServices;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Pool;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Moves files into other pools, in the session of a client that does nothing else. When that ends,
 * files on their way stay where they are. Blocking; any number of threads.
 */
public final class FileMover implements AutoCloseable {
    private final CairnClient client;
    private final FileServices services;
    private final MapHolder map;
    private final InodeChanges changes;

    /** Two moves of one file in one session would not know each other. */
    private final Set<Long> moving = ConcurrentHashMap.newKeySet();

    /** What became of a file. */
    public enum Outcome {
        MOVED,
        /** It was in that pool, or another thread is at it: a walk meets a renamed file twice. */
        WAS_THERE,
        /** It was deleted. */
        GONE
    }

    public FileMover(
            CairnClient client, FileServices services, MapHolder map, InodeChanges changes) {
        this.client = client;
        this.services = services;
        this.map = map;
        this.changes = changes;
    }

    /** For names and attributes. */
    public CairnClient client() {
        return client;
    }

    /** The pools that there are. */
    public List<Pool> pools() {
        return map.current().pools();
    }

    /** The pool of this name, null if there is none. */
    public @Nullable Pool pool(String name) {
        return map.current().pool(name);
    }

    /**
     * Moves a regular file. Whatever it throws, the file is where it was: ETIMEDOUT if it is
     * written faster than it is copied, EBUSY if somebody else moves it, ENOSPC if the pool is
     * full.
     *
     * @param copied told of bytes that were copied; on threads of the client
     */
    public Outcome move(long inode, int pool, MovePace pace, LongConsumer copied) {
        if (!moving.add(inode)) {
            return Outcome.WAS_THERE;
        }
        try {
            return moveAlone(inode, pool, pace, copied);
        } finally {
            moving.remove(inode);
        }
    }

    private Outcome moveAlone(long inode, int pool, MovePace pace, LongConsumer copied) {
        OpenFile file;
        try {
            file = FileMove.await(client.open(inode));
        } catch (FsException e) {
            if (e.errno() == Errno.ENOENT || e.errno() == Errno.ESTALE) {
                return Outcome.GONE;
            }
            throw e;
        }
        try {
            ChunkCopier copier = new ChunkCopier(services.data(), map, changes, pace, copied);
            new FileMove(services, copier, inode, pool).run();
            return Outcome.MOVED;
        } catch (FsException e) {
            if (e.errno() == Errno.EEXIST) {
                return Outcome.WAS_THERE;
            }
            throw e;
        } finally {
            var _ = file.release();
        }
    }

    /** Ends the session. */
    @Override
    public void close() {
        client.close();
    }
}
