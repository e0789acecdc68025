package io.cairn.dataserver.replication;

import io.cairn.dataserver.store.ContentHead;
import java.util.List;

/**
 * A part of what a disk has of a PG, in order.
 *
 * @param number of the step that asked for it
 * @param heads behind the place that was asked for
 * @param last whether nothing follows
 */
public record ContentPage(long number, List<ContentHead> heads, boolean last) {
    public ContentPage {
        heads = List.copyOf(heads);
    }
}
