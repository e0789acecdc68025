package io.cairn.system.workload;

import java.io.IOException;
import java.util.Random;

/** How one client uses one kind of object. One thread. */
interface Usage {
    /** One operation on one object, chosen at random; an error means that it may be unknown. */
    void next(Random random) throws IOException;

    /** Reads every object of the kind once. */
    void readAll() throws IOException;

    /** Closes what it holds open; after an error too. */
    default void reset() {}
}
