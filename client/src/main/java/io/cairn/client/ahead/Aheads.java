package io.cairn.client.ahead;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What all handles of one inode read ahead, for what concerns all of them. Any thread. */
public final class Aheads {
    private final List<ReadAhead> all = new CopyOnWriteArrayList<>();
    private volatile boolean closed;

    /** Until it is removed. */
    public void add(ReadAhead ahead) {
        all.add(ahead);
        if (closed) {
            ahead.close();
        }
    }

    /** The handle is closed. */
    public void remove(ReadAhead ahead) {
        ahead.close();
        all.remove(ahead);
    }

    /** See {@link ReadAhead#drop}. */
    public void drop(long from, long to) {
        all.forEach(ahead -> ahead.drop(from, to));
    }

    /** See {@link ReadAhead#tick}. */
    public void tick() {
        all.forEach(ReadAhead::tick);
    }

    /** The client ends, whatever handles there are. */
    public void close() {
        closed = true;
        all.forEach(ReadAhead::close);
    }
}
