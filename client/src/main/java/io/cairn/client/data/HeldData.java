package io.cairn.client.data;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The data of a write from when the caller gave it until it is written or dropped, counted among
 * what the client may hold. Any thread.
 */
public final class HeldData {
    private final PgBudgets<?> budgets;
    private final PgBudgets.Held counted;
    private final ByteBuf data;
    private final AtomicBoolean released = new AtomicBoolean();

    HeldData(PgBudgets<?> budgets, PgBudgets.Held counted, ByteBuf data) {
        this.budgets = budgets;
        this.counted = counted;
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
            budgets.letGo(counted);
        }
    }
}
