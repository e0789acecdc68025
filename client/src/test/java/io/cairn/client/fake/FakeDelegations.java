package io.cairn.client.fake;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReturnDelegationsRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongConsumer;

/**
 * What the leader of a fake MDS has delegated. Who asks for a file is up to the test. Guarded by
 * the monitor of the namespace.
 */
public final class FakeDelegations {
    private final FakeNamespace names;

    /** Sessions that hold a file, by inode. */
    private final Map<Long, Long> holders = new HashMap<>();

    private final Map<Long, Long> rounds = new HashMap<>();
    private final Set<Long> sessions = new HashSet<>();
    private final Set<Long> everGiven = new HashSet<>();
    private final List<ReturnDelegationsRequest> returned = new ArrayList<>();
    private LongConsumer onReturn = inode -> {};
    private boolean on;
    private boolean grudging;

    FakeDelegations(FakeNamespace names) {
        this.names = names;
    }

    /** Whether sessions opened from now on get delegations; not at first. */
    public void allow(boolean yes) {
        synchronized (names) {
            on = yes;
        }
    }

    /** Whether nothing more is delegated, as where space is low. */
    public void grudging(boolean yes) {
        synchronized (names) {
            grudging = yes;
        }
    }

    public boolean isHeld(long inode) {
        synchronized (names) {
            return holders.containsKey(inode);
        }
    }

    /** Files that were delegated, by all leaders. */
    public int given() {
        synchronized (names) {
            return everGiven.size();
        }
    }

    /** Whether the session has told this leader of a round. */
    public boolean hasTold(long session) {
        synchronized (names) {
            return rounds.containsKey(session);
        }
    }

    /** What was returned, in order, except what was refused. */
    public List<ReturnDelegationsRequest> returned() {
        synchronized (names) {
            return List.copyOf(returned);
        }
    }

    /** Called for each file at the moment at which others see it, under the monitor. */
    public void onReturn(LongConsumer action) {
        synchronized (names) {
            onReturn = action;
        }
    }

    /** Another member leads, or the same one again. */
    void leaderChanged() {
        synchronized (names) {
            rounds.clear();
        }
    }

    boolean sessionOpened(long session) {
        synchronized (names) {
            if (on) {
                sessions.add(session);
            }
            return sessions.contains(session);
        }
    }

    void sessionEnded(long session) {
        synchronized (names) {
            sessions.remove(session);
            rounds.remove(session);
            holders.values().removeIf(holder -> holder == session);
        }
    }

    MutateReply delegated(MutateRequest batch, MutateReply reply) {
        synchronized (names) {
            MutateReply.Builder completed = reply.toBuilder();
            for (int i = 0; i < batch.getMutationsCount(); i++) {
                MutationResult result = reply.getResults(i);
                long inode = result.getAttr().getInode();
                if (batch.getMutations(i).hasRelease()) {
                    over(batch.getMutations(i).getRelease().getInode());
                } else if (opened(batch.getMutations(i), result)
                        && !grudging
                        && rounds.containsKey(batch.getSession())
                        && everGiven.add(inode)) {
                    holders.put(inode, batch.getSession());
                    completed.getResultsBuilder(i).setDelegation(rounds.get(batch.getSession()));
                } else if (batch.getMutations(i).getOwnInode() != 0 && !grudging) {
                    long round = rounds.getOrDefault(batch.getSession(), 0L);
                    completed.getResultsBuilder(i).setDelegation(round);
                }
            }
            return completed.build();
        }
    }

    private static boolean opened(Mutation mutation, MutationResult result) {
        return (result.getCreated() && mutation.getCreate().getOpen())
                || (result.getErrno() == 0 && mutation.getMkdir().getOpen());
    }

    private void over(long inode) {
        if (holders.remove(inode) != null) {
            onReturn.accept(inode);
        }
    }

    void giveBack(ReturnDelegationsRequest r) {
        synchronized (names) {
            if (!sessions.contains(r.getSession())) {
                throw new FsException(Errno.ESTALE, "session is not open");
            }
            if (r.getTerm() != names.reads().term()) {
                throw new FsException(Errno.EAGAIN, "another term");
            }
            returned.add(r);
            if (r.getAll() && r.getRound() > rounds.getOrDefault(r.getSession(), 0L)) {
                List<Long> held = new ArrayList<>();
                holders.forEach((inode, holder) -> {
                    if (holder == r.getSession()) {
                        held.add(inode);
                    }
                });
                held.forEach(this::over);
                rounds.put(r.getSession(), r.getRound());
            }
            r.getInodesList().forEach(this::over);
        }
    }
}
