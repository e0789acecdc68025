package io.cairn.client.data;

import io.cairn.common.layout.PgHash;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** The newest cluster map this client has. Any thread. */
public final class MapHolder {
    private volatile ClusterMap current = ClusterMap.EMPTY;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();

    public ClusterMap current() {
        return current;
    }

    public long epoch() {
        return current.epoch();
    }

    /** Runs after each change, on the thread that brought it; must not block. */
    public void onChange(Runnable listener) {
        listeners.add(listener);
    }

    /** False when the update starts from an epoch this client does not have. */
    public boolean apply(MapUpdate update) {
        synchronized (this) {
            ClusterMap before = current;
            if (update.getEpoch() <= before.epoch()) {
                return true;
            }
            if (update.getBaseEpoch() > before.epoch()) {
                return false;
            }
            current = before.apply(update);
        }
        listeners.forEach(Runnable::run);
        return true;
    }

    public List<String> mdsAddresses() {
        return current.mds().stream().map(m -> m.getAddress()).toList();
    }

    static int pg(ClusterMap map, int pool, long inode, int chunk) {
        return PgHash.pg(pool, inode, chunk, map.pgCount(pool));
    }

    /** Null when nobody can be asked now. */
    static @Nullable String primaryAddress(ClusterMap map, int pg) {
        return map.primaryAddress(pg);
    }
}
