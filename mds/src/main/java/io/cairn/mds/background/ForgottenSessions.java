package io.cairn.mds.background;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.time.NanoClock;
import io.cairn.mds.cluster.CurrentMap;
import io.cairn.mds.cluster.MapChanges;
import io.cairn.mds.namespace.ControlReader;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes sessions whose eviction is complete out of the map's refused ones, which would otherwise
 * grow for ever. That this is safe rests on no time: the session floor, which rises with it,
 * refuses whatever the session may have sent. It waits only so that clients that are served have
 * renewed meanwhile and have a newer map: none is sent back. The control thread only.
 */
public final class ForgottenSessions {
    private static final Logger LOG = LoggerFactory.getLogger(ForgottenSessions.class);

    private final ControlReader state;
    private final CurrentMap map;
    private final MapChanges changes;
    private final long waitNanos;
    private final NanoClock clock;

    /** Since when each was known here to be released. */
    private final Map<Long, Long> releasedNanos = new HashMap<>();

    private boolean changing;

    /**
     * @param waitNanos every client that is served renews within this time
     */
    public ForgottenSessions(
            ControlReader state,
            CurrentMap map,
            MapChanges changes,
            long waitNanos,
            NanoClock clock) {
        this.state = state;
        this.map = map;
        this.changes = changes;
        this.waitNanos = waitNanos;
        this.clock = clock;
    }

    /** On becoming leader. */
    public void begin() {
        releasedNanos.clear();
        changing = false;
    }

    public void tick() {
        long nowNanos = clock.nanos();
        long[] refused = map.get().refusedSessions();
        Set<Long> due = new HashSet<>();
        for (long session : refused) {
            if (state.session(session) == null
                    && nowNanos - releasedNanos.computeIfAbsent(session, s -> nowNanos)
                            > waitNanos) {
                due.add(session);
            }
        }
        if (changing || due.isEmpty()) {
            return;
        }
        changing = true;
        var _ =
                changes.change(base -> without(base, due))
                        .whenComplete((now, failure) -> {
                            changing = false;
                            if (failure == null) {
                                releasedNanos.keySet().removeAll(due);
                                LOG.info("{} evicted sessions are forgotten", due.size());
                            }
                        });
    }

    private static MapUpdate.@Nullable Builder without(ClusterMap base, Set<Long> sessions) {
        MapUpdate.Builder update = MapUpdate.newBuilder();
        Arrays.stream(base.refusedSessions())
                .filter(sessions::contains)
                .forEach(update::addForgottenSessions);
        return update.getForgottenSessionsCount() == 0 ? null : update;
    }
}
