package io.cairn.mds.session;

import io.cairn.common.proto.MutateRequest;
import io.cairn.common.rpc.RpcRequest;

/**
 * A batch of mutations in flight.
 *
 * @param order the one it waits in and is submitted from, whatever becomes of its session meanwhile
 * @param startNanos {@link System#nanoTime} when it arrived
 */
record MutationCall(
        RpcRequest request,
        MutateRequest batch,
        MutationOrder<MutationCall> order,
        long startNanos) {
    long first() {
        return batch.getFirstNumber();
    }

    /** The number after the last. */
    long end() {
        return batch.getFirstNumber() + batch.getMutationsCount();
    }
}
