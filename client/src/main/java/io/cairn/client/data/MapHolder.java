package io.cairn.client.data;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.MdsMember;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The newest cluster map this client has. Any thread. */
public final class MapHolder {
    private static final Logger LOG = LoggerFactory.getLogger(MapHolder.class);

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

    /**
     * False when the update cannot be used, because it starts from an epoch this client does not
     * have or is damaged: a newer one must be asked for.
     */
    public boolean apply(MapUpdate update) {
        synchronized (this) {
            ClusterMap newer;
            try {
                newer = current.apply(update);
            } catch (IllegalArgumentException e) {
                LOG.warn(
                        "Cluster map update to epoch {} refused: {}",
                        update.getEpoch(),
                        e.getMessage());
                return false;
            }
            if (newer == null) {
                return false;
            }
            if (newer == current) {
                return true;
            }
            current = newer;
        }
        listeners.forEach(Runnable::run);
        return true;
    }

    public List<String> mdsAddresses() {
        return current.mds().stream().map(MdsMember::getAddress).toList();
    }
}
