package io.cairn.mds.metrics;

import io.cairn.common.metrics.Counter;
import io.cairn.common.metrics.Distribution;
import io.cairn.common.metrics.Meters;
import io.cairn.common.metrics.Timers;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation.OpCase;
import io.cairn.mds.proto.ApplyReply;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The meters that requests and duties record to, looked up once. Any thread. */
public final class MdsMeters {
    private final Set<Method> timed = EnumSet.noneOf(Method.class);
    private final Timers<Method> methods;
    private final Timers<OpCase> mutations;
    private final Distribution batch;
    private final Counter evictions;
    private final Counter appendRecalls;
    private final Counter deadlocks;
    private final Counter leasesGranted;
    private final Counter leaseRecalls;
    private final Counter leaseRecallsLate;
    private final Counter leaseWaits;
    private final Counter deletions;
    private final Counter truncations;
    private final Counter delegationsRecalled;
    private final Counter delegationWaits;
    private final Counter sizesAsked;
    private final Counter controlFailures;

    public MdsMeters(Meters meters) {
        for (Method method : Method.values()) {
            if (method != Method.UNRECOGNIZED && method.getNumber() > 0) {
                if (method.getNumber() <= Method.HEARTBEAT_VALUE
                        || method == Method.STATUS
                        || method == Method.AWAIT_LOCK
                        || method == Method.TEST_LOCK) {
                    timed.add(method);
                }
            }
        }
        methods = meters.timers(MdsMeter.OPERATION, timed);
        mutations = meters.timers(MdsMeter.MUTATION, EnumSet.allOf(OpCase.class));
        batch = meters.distribution(MdsMeter.BATCH);
        evictions = meters.counter(MdsMeter.EVICTIONS);
        appendRecalls = meters.counter(MdsMeter.APPEND_RECALLS);
        deadlocks = meters.counter(MdsMeter.DEADLOCKS);
        leasesGranted = meters.counter(MdsMeter.READ_LEASES_GRANTED);
        leaseRecalls = meters.counter(MdsMeter.READ_RECALLS);
        leaseRecallsLate = meters.counter(MdsMeter.READ_RECALLS_LATE);
        leaseWaits = meters.counter(MdsMeter.READ_WAITS);
        delegationsRecalled = meters.counter(MdsMeter.DELEGATIONS_RECALLED);
        delegationWaits = meters.counter(MdsMeter.DELEGATION_WAITS);
        sizesAsked = meters.counter(MdsMeter.SIZES_ASKED);
        deletions = meters.counter(MdsMeter.DELETIONS);
        truncations = meters.counter(MdsMeter.TRUNCATIONS);
        controlFailures = meters.counter(MdsMeter.CONTROL_FAILURES);
    }

    public void request(@Nullable Method method, long startNanos, boolean succeeded) {
        if (method != null && timed.contains(method)) {
            methods.of(method).recordSince(startNanos, succeeded);
        }
    }

    public void mutations(MutateRequest request, ApplyReply reply, long startNanos) {
        request(Method.MUTATE, startNanos, reply.getErrno() == 0);
        batch.record(request.getMutationsCount());
        for (int i = 0; i < request.getMutationsCount(); i++) {
            boolean done = i < reply.getResultsCount() && reply.getResults(i).getErrno() == 0;
            mutations.of(request.getMutations(i).getOpCase()).recordSince(startNanos, done);
        }
    }

    public void evicted() {
        evictions.increment();
    }

    public void appendRecalled() {
        appendRecalls.increment();
    }

    public void deadlock() {
        deadlocks.increment();
    }

    /** Read leases, granted or renewed. */
    public void leasesGranted(int leases) {
        leasesGranted.increment(leases);
    }

    public void leaseRecalled() {
        leaseRecalls.increment();
    }

    /** Recalls that ended because the lease ran out. */
    public void leaseRecallsLate(int recalls) {
        leaseRecallsLate.increment(recalls);
    }

    /** An answer waits for recalls. */
    public void leaseWaited() {
        leaseWaits.increment();
    }

    public void delegationsRecalled(int files) {
        delegationsRecalled.increment(files);
    }

    public void sizesAsked(int sessions) {
        sizesAsked.increment(sessions);
    }

    /** An answer waits for what another session has to tell. */
    public void delegationWaited() {
        delegationWaits.increment();
    }

    /** The data of so many inodes was deleted. */
    public void deleted(int inodes) {
        deletions.increment(inodes);
    }

    public void truncated() {
        truncations.increment();
    }

    public void controlFailed() {
        controlFailures.increment();
    }
}
