package io.cairn.mds.leader;

import io.cairn.common.rocks.Remarks;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * The last report of each member of the group about itself, this member included. The group's
 * settings change only when the reports of all members show that they are ready. Any thread.
 */
public final class MemberReports {
    private final int self;
    private final Report own;
    private final Map<Integer, Report> reports = new ConcurrentHashMap<>();
    private final Map<Integer, Place> places = new ConcurrentHashMap<>();

    /** Members of the group, those without a vote included. */
    private volatile int members;

    /** Their ids; null: whoever reports is one. */
    private volatile @Nullable Set<Integer> ids;

    /**
     * How far a member is.
     *
     * @param last index of the last entry in its log
     * @param applied index of the last entry applied there
     */
    public record Place(long last, long applied) {}

    /**
     * What a member reports about itself.
     *
     * @param configuredLeaseNanos the leader's lease by its configuration
     * @param featureLevel the highest that it knows
     * @param joinAttempt the number of its attempt to join, 0 if it is not joining
     * @param remarks what it has to tell the administrator; of this member itself, none
     * @param release of Cairn that it runs; empty if it does not say
     */
    public record Report(
            long configuredLeaseNanos,
            int featureLevel,
            long joinAttempt,
            Remarks remarks,
            String release) {
        public boolean joining() {
            return joinAttempt != 0;
        }
    }

    /**
     * @param members of the whole group
     * @param own what this member is
     */
    public MemberReports(int members, int self, Report own) {
        this.members = members;
        this.self = self;
        this.own = own;
        begin();
    }

    /** These are the members from now on; nothing is kept of any other. */
    void group(Set<Integer> present) {
        ids = present;
        members = present.size();
        reports.keySet().retainAll(present);
        places.keySet().retainAll(present);
    }

    /** A new term: what was heard before may be old. */
    void begin() {
        reports.clear();
        places.clear();
        reports.put(self, own);
    }

    void heard(int member, Report report, Place place) {
        @Nullable Set<Integer> present = ids;
        if (present == null || present.contains(member)) {
            reports.put(member, report);
            places.put(member, place);
        }
    }

    /** Null where {@link #of} is, and of this member itself. */
    public @Nullable Place placeOf(int member) {
        return places.get(member);
    }

    /** The member has not answered: what it told may not hold any more. */
    void silent(int member) {
        reports.remove(member);
        places.remove(member);
    }

    /** Null if it has told nothing in this term, or did not answer when it was last asked. */
    public @Nullable Report of(int member) {
        return reports.get(member);
    }

    /** What this member is. */
    public Report own() {
        return own;
    }

    /** What every member has told; empty while one of them has not. */
    Collection<Report> ofAll() {
        Collection<Report> all = Map.copyOf(reports).values();
        return all.size() == members ? all : List.of();
    }
}
