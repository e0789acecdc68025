package io.cairn.mds.metrics;

import io.cairn.common.metrics.Distribution;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.OperationTimer;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation.OpCase;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.common.metrics.Counter;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The meters that requests and duties record to, looked up once. Any thread. */
public final class MdsMetrics {
    private final Meters meters;
    private final Map<Method, OperationTimer> methods = new EnumMap<>(Method.class);
    private final Map<OpCase, OperationTimer> mutations = new EnumMap<>(OpCase.class);
    private final Distribution batch;
    private final Counter evictions;
    private final Counter appendRecalls;
    private final Counter deletions;
    private final Counter truncations;
    private final Counter controlFailures;

    public MdsMetrics(Meters meters) {
        this.meters = meters;
        for (Method method : Method.values()) {
            if (method != Method.UNRECOGNIZED && method.getNumber() > 0) {
                if (method.getNumber() <= Method.HEARTBEAT_VALUE || method == Method.STATUS) {
                    methods.put(method, meters.timer(MdsMeter.OPERATION, lower(method)));
                }
            }
        }
        for (OpCase op : OpCase.values()) {
            mutations.put(op, meters.timer(MdsMeter.MUTATION, lower(op)));
        }
        batch = meters.distribution(MdsMeter.BATCH);
        evictions = meters.counter(MdsMeter.EVICTIONS);
        appendRecalls = meters.counter(MdsMeter.APPEND_RECALLS);
        deletions = meters.counter(MdsMeter.DELETIONS);
        truncations = meters.counter(MdsMeter.TRUNCATIONS);
        controlFailures = meters.counter(MdsMeter.CONTROL_FAILURES);
    }

    Meters meters() {
        return meters;
    }

    public void request(@Nullable Method method, long startNanos, boolean succeeded) {
        @Nullable OperationTimer timer = method == null ? null : methods.get(method);
        if (timer != null) {
            timer.recordSince(startNanos, succeeded);
        }
    }

    public void mutations(MutateRequest request, ApplyReply reply, long startNanos) {
        request(Method.MUTATE, startNanos, reply.getErrno() == 0);
        batch.record(request.getMutationsCount());
        for (int i = 0; i < request.getMutationsCount(); i++) {
            @Nullable OperationTimer timer = mutations.get(request.getMutations(i).getOpCase());
            if (timer != null) {
                boolean done = i < reply.getResultsCount() && reply.getResults(i).getErrno() == 0;
                timer.recordSince(startNanos, done);
            }
        }
    }

    public Counter evictions() {
        return evictions;
    }

    public Counter appendRecalls() {
        return appendRecalls;
    }

    public Counter deletions() {
        return deletions;
    }

    public Counter truncations() {
        return truncations;
    }

    public Counter controlFailures() {
        return controlFailures;
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }
}
