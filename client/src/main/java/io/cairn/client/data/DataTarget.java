package io.cairn.client.data;

import java.util.concurrent.CompletableFuture;

/** The inode a data request is for, as the data path needs to know it. Any thread. */
public interface DataTarget {
    long inode();

    /** The newest known; a request takes it anew for each attempt that may differ. */
    DataView view();

    /** Gets the attributes, and with them the view, from the MDS again. */
    CompletableFuture<Void> refresh();
}
