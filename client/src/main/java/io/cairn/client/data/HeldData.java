package io.cairn.client.data;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The data of a write from when the caller gave it until it is written or dropped, counted among
 * what the client may hold. Any thread.
 */
public final class HeldData {
    private final PgBudgets<?> budgets;
    private final int[] pgs;
    private final long bytes;
    private final ByteBuf data;
    private final AtomicBoolean released = new AtomicBoolean();

    /**
     * @param bytes of memory that were counted for it
     */
    HeldData(PgBudgets<?> budgets, int[] pgs, long bytes, ByteBuf data) {
        this.budgets = budgets;
        this.pgs = pgs;
        this.bytes = bytes;
        this.data = data;
    }

    /** Valid until {@link #release}. */
    public ByteBuf data() {
        return data;
    }

    /** The first call counts. */
    public void release() {
        if (released.compareAndSet(false, true)) {
            data.release();
            budgets.letGo(pgs, bytes);
        }
    }
}
