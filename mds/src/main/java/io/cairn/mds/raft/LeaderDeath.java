package io.cairn.mds.raft;

import java.util.function.IntSupplier;
import org.apache.ratis.protocol.RaftPeerId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Has another leader elected as soon as the process of this follower's leader has ended, instead of
 * after the election timeout. The sign of it: the connection from the leader is closed, and its
 * port refuses a new one. Of a suspended process, or one that is cut off, neither is seen (packets
 * vanish), and the timeout decides as ever. An election without need, where a firewall refuses in
 * the name of a leader that lives, costs a stall and nothing else: Raft elects safely whenever it
 * is begun (docs/adr/0019). Any thread.
 */
final class LeaderDeath {
    private static final Logger LOG = LoggerFactory.getLogger(LeaderDeath.class);

    /** The kernel closes the files of a process one after the other: its port may be the last. */
    private static final int PROBES = 5;

    private static final int PROBE_MILLIS = 20;

    /** Followers notice at the same time; one of them stands first. */
    static final int SPREAD_MILLIS = 100;

    private final Later later;
    private final Group group;
    private final IntSupplier delay;

    /** Runs what may wait for a moment, unless this member is closing. */
    interface Later {
        void run(long millis, Runnable task);
    }

    /** What this member knows of its group, and can do. */
    interface Group {
        /** Whom this member follows; null if it is no follower, or knows of no leader. */
        @Nullable RaftPeerId leader();

        /** The newest term it knows. */
        long term();

        /** Whether the member's Raft port refuses connections. May wait a moment. */
        boolean refuses(RaftPeerId member);

        /** Stands for election, unless there is another leader or a later term. */
        void stand(RaftPeerId leader, long term);
    }

    /**
     * @param delay before this member stands, in ms, another one each time, up to {@link
     *     #SPREAD_MILLIS}
     */
    LeaderDeath(Later later, Group group, IntSupplier delay) {
        this.later = later;
        this.group = group;
        this.delay = delay;
    }

    /** A connection is closed by which the member has sent entries or heartbeats. */
    void disconnected(RaftPeerId member) {
        long term = group.term();
        if (isLeader(member, term)) {
            later.run(0, () -> probe(member, term, PROBES));
        }
    }

    private boolean isLeader(RaftPeerId member, long term) {
        return group.term() == term && member.equals(group.leader());
    }

    private void probe(RaftPeerId leader, long term, int left) {
        if (!isLeader(leader, term)) {
            return;
        }
        if (group.refuses(leader)) {
            later.run(delay.getAsInt(), () -> stand(leader, term));
        } else if (left > 1) {
            later.run(PROBE_MILLIS, () -> probe(leader, term, left - 1));
        }
    }

    private void stand(RaftPeerId leader, long term) {
        if (isLeader(leader, term)) {
            LOG.info("the process of the leader, member {}, has ended: another is elected", leader);
            group.stand(leader, term);
        }
    }
}
