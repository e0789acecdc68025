package io.cairn.client.inode;

import io.cairn.client.base.Async;
import io.cairn.client.data.DataSession;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.rpc.BackOff;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens files again in the session that follows one that has ended. In each file's order stands a
 * barrier: behind all operations that began in the old session, which fail with it, and before all
 * later ones, which wait for the new one. Any thread.
 */
public final class Reopens {
    private static final Logger LOG = LoggerFactory.getLogger(Reopens.class);
    private static final int INODES_NAMED = 20;

    private final FileServices services;
    private final InodeTable table;
    private final Appends appends;

    public Reopens(FileServices services, InodeTable table, Appends appends) {
        this.services = services;
        this.table = table;
        this.appends = appends;
    }

    /**
     * The newest session is ending: puts up the barriers. What is counted in it from now on, as by
     * an open that is just being answered, its receiver finds void.
     */
    public void sessionEnding() {
        Ending ending = new Ending(services.data().session().id());
        List<Reopen> barriers = new ArrayList<>();
        for (InodeState state : table.all()) {
            synchronized (state) {
                boolean open = state.isOpen();
                state.mdsOpens = 0;
                var _ = state.takeReadNumber();
                if (!open || state.tenure.awaited() != null) {
                    continue; // or its barrier still stands, and will find that it is not open
                }
                state.appends.suspend();
                if (state.locks.lost()) {
                    state.tenure.lose();
                }
                state.tenure.reopening();
            }
            barriers.add(new Reopen(state, ending));
        }
        ending.begin(barriers.size());
        barriers.forEach(barrier -> barrier.state.order().submit(barrier));
    }

    /** What became of the files that were open in one session; tells it when all is known. */
    private final class Ending {
        private final long session;
        private final List<Long> gone = new ArrayList<>();
        private final List<Long> lost = new ArrayList<>();
        private int files;
        private int left;

        Ending(long session) {
            this.session = session;
        }

        synchronized void begin(int count) {
            files = count;
            left = count;
        }

        synchronized void lost(long inode) {
            lost.add(inode);
        }

        synchronized void gone(long inode) {
            gone.add(inode);
        }

        void ended() {
            String words;
            boolean clean;
            synchronized (this) {
                if (--left > 0) {
                    return;
                }
                clean = gone.isEmpty() && lost.isEmpty();
                words =
                        "Open files of session %d: %d; writes or locks lost: %s; no longer there: %s"
                                .formatted(session, files, named(lost), named(gone));
            }
            if (clean) {
                LOG.info("{}", words);
            } else {
                LOG.warn("{}", words);
            }
        }
    }

    private static String named(List<Long> inodes) {
        return inodes.isEmpty()
                ? "0"
                : inodes.size()
                        + ", inodes "
                        + inodes.subList(0, Math.min(INODES_NAMED, inodes.size()));
    }

    private final class Reopen extends RangeOrder.Entry {
        private final InodeState state;
        private final Ending ending;

        /** Under the monitor of the state. */
        private boolean needed;

        private @Nullable DataSession openedIn;

        Reopen(InodeState state, Ending ending) {
            super(0, Long.MAX_VALUE, true);
            this.state = state;
            this.ending = ending;
        }

        /** Everything that began in the old session is over. */
        @Override
        protected void start() {
            boolean lost;
            boolean ask;
            synchronized (state) {
                lost = state.endSession();
                needed = state.handles > 0 || state.own.unsent();
                ask = needed;
            }
            if (lost) {
                ending.lost(state.inode());
                services.meters().writesLost();
            }
            if (ask) {
                ask(1);
            } else {
                over(null);
            }
        }

        private void ask(int attempt) {
            Mutation open =
                    NewMutation.stamped()
                            .setOpen(OpenOp.newBuilder().setInode(state.inode()))
                            .build();
            PendingMutation pending = services.meta().mutate(open, MetaClient.never());
            var _ =
                    pending.answer()
                            .whenComplete((result, thrown) -> answered(attempt, pending, result));
        }

        private void answered(
                int attempt, PendingMutation pending, @Nullable MutationResult result) {
            if (result == null) {
                if (services.meta().isClosed()) {
                    gone();
                } else {
                    ask(1); // the next session has ended too
                }
                return;
            }
            FsException failure = Results.failure(result);
            if (failure == null) {
                DataSession newest = services.data().session();
                if (state.counted(result.getAttr(), newest, pending.session())) {
                    synchronized (state) {
                        openedIn = newest;
                    }
                    over(null);
                } else {
                    ask(1);
                }
            } else if (failure.errno() == Errno.ENOENT || failure.errno() == Errno.ESTALE) {
                gone();
            } else {
                LOG.debug("inode {} is not opened yet", state.inode(), failure);
                CompletableFuture.delayedExecutor(
                                BackOff.REQUESTS.delayNanos(attempt + 3),
                                TimeUnit.NANOSECONDS,
                                Runnable::run)
                        .execute(() -> ask(attempt + 1));
            }
        }

        private void gone() {
            ending.gone(state.inode());
            FsException why;
            synchronized (state) {
                state.own.forget();
                state.tenure.gone();
                why = state.tenure.whyGone();
            }
            over(why);
        }

        private void over(@Nullable FsException gone) {
            @Nullable CompletableFuture<Void> waited;
            boolean list;
            boolean unused;
            List<AppendOp> hopeless;
            boolean endedToo; // the session in which it was opened, since
            synchronized (state) {
                endedToo = gone == null && needed && state.mdsOpens == 0;
                if (!endedToo && state.mdsOpens > 0) {
                    DataSession in = openedIn;
                    state.tenure.opened(in == null ? services.data().session() : in);
                }
                // Together, or the next session could end in between, and its appends go on.
                waited = endedToo ? null : state.tenure.reopened();
                hopeless = endedToo ? List.of() : state.appends.resume(gone != null);
                list = !endedToo && state.own.relist();
                unused = state.handles == 0;
            }
            if (waited == null) {
                ask(1);
                return;
            }
            if (list) {
                services.publisher().list(state);
            }
            state.order().finish(this);
            appends.resumed(state, hopeless, gone);
            if (unused) {
                var _ = table.giveBack(state);
            }
            Async.finish(waited);
            ending.ended();
        }
    }
}
