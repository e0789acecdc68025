package io.cairn.mds.cluster;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.proto.MapUpdate;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.rpc.RpcRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Registrations of data servers that wait while other changes of the map are made: one change has
 * all of them, or as many as an entry of the log may hold. The control thread only.
 */
final class RegistrationQueue {
    private final MapChanges changes;
    private final Supplier<Registrations.Terms> terms;
    private final Outcome outcome;
    private final Deque<Waiting> waiting = new ArrayDeque<>();

    /** A change is asked for that takes who waits when it is its turn. */
    private boolean asked;

    /**
     * Who asked, and for what.
     *
     * @param mapEpoch of the map that the asker has, and from which on it is pushed every
     *     increment; 0: it has none
     */
    record Waiting(RpcRequest request, RegisterServerRequest wanted, long mapEpoch) {}

    /** What one change has. */
    private static final class Made {
        final List<Registered> registered = new ArrayList<>();

        /** Of the map with it. */
        long epoch;
    }

    private record Registered(Waiting by, boolean isNewProcess) {}

    /** Told of each. */
    interface Outcome {
        /**
         * The map has it.
         *
         * @param epoch of a map that has it, the present one or one before
         */
        void registered(Waiting by, ClusterMap now, long epoch, boolean isNewProcess);

        /** That is not known. */
        void failed(Waiting by, Throwable failure);

        /** Of all that one change has, before they are told. */
        void changed(ClusterMap now, List<RegisterServerRequest> newProcesses);
    }

    RegistrationQueue(MapChanges changes, Supplier<Registrations.Terms> terms, Outcome outcome) {
        this.changes = changes;
        this.terms = terms;
        this.outcome = outcome;
    }

    void add(Waiting registration) {
        waiting.add(registration);
        if (!asked) {
            ask();
        }
    }

    private void ask() {
        asked = true;
        Made made = new Made();
        var _ =
                changes.change(base -> edit(base, made))
                        .whenComplete((now, failure) -> {
                            if (failure != null) {
                                asked = false;
                                made.registered.forEach(m -> outcome.failed(m.by, failure));
                                List<Waiting> left = List.copyOf(waiting);
                                waiting.clear();
                                left.forEach(w -> outcome.failed(w, failure));
                                return;
                            }
                            outcome.changed(
                                    now,
                                    made.registered.stream()
                                            .filter(Registered::isNewProcess)
                                            .map(m -> m.by.wanted)
                                            .toList());
                            made.registered.forEach(
                                    m -> outcome.registered(m.by, now, made.epoch, m.isNewProcess));
                            if (!waiting.isEmpty() && !asked) {
                                ask(); // who did not fit
                            }
                        });
    }

    /**
     * @param made by an attempt before, which another change was ahead of
     */
    private MapUpdate.@Nullable Builder edit(ClusterMap base, Made made) {
        made.registered.reversed().forEach(m -> waiting.addFirst(m.by));
        made.registered.clear();
        asked = false;
        Registrations all = new Registrations(base, terms.get());
        while (!waiting.isEmpty()) {
            RegisterServerRequest wanted = waiting.getFirst().wanted;
            boolean isNewProcess = all.isNewProcess(wanted);
            if (!all.add(wanted)) {
                break;
            }
            made.registered.add(new Registered(waiting.removeFirst(), isNewProcess));
        }
        MapUpdate.@Nullable Builder update = all.update();
        made.epoch = update == null ? base.epoch() : base.epoch() + 1;
        return update;
    }
}
