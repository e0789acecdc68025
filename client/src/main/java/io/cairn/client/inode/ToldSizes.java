package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.meta.MetaClient;
import io.cairn.common.proto.TellSizes;
import io.cairn.common.rpc.RpcChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * Publishes at once what was written to files that another client asks the attributes of: writes
 * that have returned by then; those that are still on their way are not waited for. Any thread.
 */
public final class ToldSizes {
    private final MetaClient meta;
    private final InodeTable table;
    private final Publisher publisher;

    public ToldSizes(MetaClient meta, InodeTable table, Publisher publisher) {
        this.meta = meta;
        this.table = table;
        this.publisher = publisher;
    }

    /** Must not block. */
    public void asked(RpcChannel from, TellSizes asked) {
        List<CompletableFuture<Void>> published = new ArrayList<>();
        for (long inode : asked.getInodesList()) {
            InodeState state = table.find(inode);
            if (state != null && state.hasView()) {
                synchronized (state) {
                    var _ = publisher.publish(state);
                    published.add(publisher.confirmed(state));
                }
            }
        }
        // What could not be published is lost, and there is no more to tell of it.
        var _ =
                Async.all(published)
                        .whenComplete((v, thrown) ->
                                meta.sizesTold(from, asked.getSession(), asked.getNumber()));
    }
}
