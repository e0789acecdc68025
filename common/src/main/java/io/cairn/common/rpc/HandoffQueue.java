package io.cairn.common.rpc;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.jspecify.annotations.Nullable;

/**
 * Hands messages from any thread to one event loop, without locks and without allocation: the
 * messages themselves are the links. Producers push onto a stack; the loop takes the whole stack at
 * once and turns it around, so that the order of each producer is kept. The producer that finds the
 * queue empty is told so and schedules the drain, so that many messages share one wake-up of the
 * loop.
 */
final class HandoffQueue<T extends HandoffQueue.Node<T>> {
    private static final VarHandle TOP;

    static {
        try {
            TOP = MethodHandles.lookup().findVarHandle(HandoffQueue.class, "top", Node.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** A message that can stand in a queue. In at most one queue, at most once at a time. */
    abstract static class Node<T extends Node<T>> {
        @Nullable T link;
    }

    @SuppressWarnings("unused") // through TOP
    private volatile @Nullable T top;

    /** Any thread. True when the queue was empty: the caller must have it drained. */
    @SuppressWarnings("unchecked")
    boolean push(T message) {
        while (true) {
            @Nullable T old = (T) TOP.getVolatile(this);
            message.link = old;
            if (TOP.compareAndSet(this, old, message)) {
                return old == null;
            }
        }
    }

    /** Takes everything; the oldest first, linked by {@link #unlink}. */
    @SuppressWarnings("unchecked")
    @Nullable T takeAll() {
        @Nullable T newest = (T) TOP.getAndSet(this, (Object) null);
        @Nullable T oldest = null;
        while (newest != null) {
            @Nullable T older = newest.link;
            newest.link = oldest;
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    /** Separates a message taken from the next one, which is returned. */
    static <T extends Node<T>> @Nullable T unlink(T message) {
        @Nullable T next = message.link;
        message.link = null;
        return next;
    }
}
