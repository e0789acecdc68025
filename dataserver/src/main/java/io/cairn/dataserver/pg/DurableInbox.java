package io.cairn.dataserver.pg;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Hands what became durable from the disks' sync threads to one event loop, one task for a whole
 * sync batch. Any thread adds; entries added by one thread arrive in its order.
 */
final class DurableInbox implements Runnable {
    private final Executor loop;
    private final Consumer<Appended> receiver;
    private final AtomicReference<@Nullable Appended> newest = new AtomicReference<>();

    /** One appended operation; also its own list node, so that waiting costs one object. */
    static final class Appended implements Runnable {
        final PgSlot slot;
        final long epoch;
        final long sequence;
        private final DurableInbox inbox;
        private @Nullable Appended next;

        Appended(DurableInbox inbox, PgSlot slot, long epoch, long sequence) {
            this.inbox = inbox;
            this.slot = slot;
            this.epoch = epoch;
            this.sequence = sequence;
        }

        /** Called by the disk: it is durable. */
        @Override
        public void run() {
            inbox.add(this);
        }
    }

    DurableInbox(Executor loop, Consumer<Appended> receiver) {
        this.loop = loop;
        this.receiver = receiver;
    }

    private void add(Appended appended) {
        Appended before = newest.get();
        while (true) {
            appended.next = before;
            if (newest.compareAndSet(before, appended)) {
                break;
            }
            before = newest.get();
        }
        if (before == null) {
            loop.execute(this);
        }
    }

    /** On the loop: hands over everything added so far, oldest first. */
    @Override
    public void run() {
        Appended reversed = null;
        Appended a = newest.getAndSet(null);
        while (a != null) {
            Appended older = a.next;
            a.next = reversed;
            reversed = a;
            a = older;
        }
        while (reversed != null) {
            Appended next = reversed.next;
            reversed.next = null;
            receiver.accept(reversed);
            reversed = next;
        }
    }
}
