package io.cairn.client.api;

import io.cairn.common.proto.ReadRecall;

/**
 * Who believes names and attributes without asking, as long as their leases last. Any thread may
 * call it.
 */
@FunctionalInterface
public interface LeaseHolder {
    /**
     * Another client is about to change these. What is answered from now on to what was asked
     * before may be the old state. Must not block: the change waits, at most until the leases end.
     *
     * @param forgotten to be run once, on any thread, when nothing of it is believed any more
     */
    void recalled(ReadRecall recall, Runnable forgotten);
}
