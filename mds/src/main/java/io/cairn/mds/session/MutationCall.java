package io.cairn.mds.session;

import io.cairn.common.proto.MutateRequest;
import io.cairn.common.rpc.RpcRequest;
import java.util.HashSet;
import java.util.Set;

/**
 * A batch of mutations in flight.
 *
 * @param order the one it waits in and is submitted from, whatever becomes of its session meanwhile
 * @param proposed ids of files that it may make and open, which may be delegated; by one thread
 *     after the other
 * @param startNanos {@link System#nanoTime} when it arrived
 */
record MutationCall(
        RpcRequest request,
        MutateRequest batch,
        MutationOrder<MutationCall> order,
        Set<Long> proposed,
        long startNanos) {
    MutationCall(
            RpcRequest request,
            MutateRequest batch,
            MutationOrder<MutationCall> order,
            long startNanos) {
        this(request, batch, order, new HashSet<>(2), startNanos);
    }

    long first() {
        return batch.getFirstNumber();
    }

    /** The number after the last. */
    long end() {
        return batch.getFirstNumber() + batch.getMutationsCount();
    }
}
