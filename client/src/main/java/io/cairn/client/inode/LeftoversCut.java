package io.cairn.client.inode;

import io.cairn.client.data.DataSession;

/**
 * Has the MDS cut what a write that does not count has left beyond the end of the file: a hole made
 * later would show it. It stands among the changes of the file like one that covers all of it, for
 * the cut would take what other changes write meanwhile. Any thread.
 */
final class LeftoversCut extends RangeOrder.Entry {
    private final FileServices services;
    private final InodeState state;

    private LeftoversCut(FileServices services, InodeState state) {
        super(0, Long.MAX_VALUE, true);
        this.services = services;
        this.state = state;
    }

    /**
     * A write that was sent in the session does not count. Before its turn is over, so that what is
     * begun later comes after the cut.
     *
     * @param end of its bytes
     */
    static void behind(FileServices services, InodeState state, DataSession session, long end) {
        // What an ended session has left is cut without us.
        if (session.ended() == null
                && state.leftBeyond(end)
                && services.publisher().tellsLeftovers()) {
            state.order().submit(new LeftoversCut(services, state));
        }
    }

    @Override
    protected void start() {
        var _ =
                services.publisher()
                        .publishAlone(state)
                        .whenComplete((v, thrown) -> state.order().finish(this));
    }
}
