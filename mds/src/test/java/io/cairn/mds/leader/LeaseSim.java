package io.cairn.mds.leader;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.PriorityQueue;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Voters and leaders of one group with the real leases, under elections, lost and late messages,
 * pauses, restarts and clocks that drift. Raft is as little of it as leases rest on: a member votes
 * once in a term, and keeps the term when it restarts. One thread; the same seed is the same run.
 */
final class LeaseSim {
    /** What a member does wrongly. */
    enum Fault {
        NONE,
        /** A new leader serves at once. */
        WAIT_SKIPPED,
        /** A member that has restarted says that it has granted nothing. */
        GRANTS_FORGOTTEN_AT_RESTART,
        /** Clocks are taken to be equal. */
        DRIFT_LEFT_OUT,
        /** A new leader believes what it granted itself, and asks nobody. */
        OTHERS_NOT_ASKED,
        /** A new leader asks others, and does not look at what it granted itself. */
        SELF_NOT_ASKED,
        /** A leader does not count itself to those that have granted its lease. */
        OWN_LEADERSHIP_FORGOTTEN,
        /** A minority is taken for a majority. */
        TOO_FEW_ASKED,
        /** What a member says is counted from when it was asked. */
        COUNTED_FROM_THE_QUESTION
    }

    static final long MILLI = 1_000_000;
    static final long LEASE = 500 * MILLI;
    private static final long HOUR = 3_600_000 * MILLI;
    private static final double MAX_DRIFT = 0.0099;

    private final Random random;
    private final Fault fault;
    private final PriorityQueue<Event> events = new PriorityQueue<>();
    private final List<Member> members = new ArrayList<>();

    /** Links that are cut, until when. */
    private final Map<Integer, Long> cuts = new HashMap<>();

    /** By term, in real time: until when reads may be believed, and when changes begin. */
    private final Map<Long, Long> believed = new HashMap<>();

    private final Map<Long, Long> serves = new HashMap<>();
    private long now;
    private long sequence;
    private int shortWaits;
    private @Nullable String violation;

    private record Event(long at, long sequence, Runnable action) implements Comparable<Event> {
        @Override
        public int compareTo(Event other) {
            return at != other.at
                    ? Long.compare(at, other.at)
                    : Long.compare(sequence, other.sequence);
        }
    }

    LeaseSim(long seed, Fault fault) {
        this.random = new Random(seed);
        this.fault = fault;
        int size = 3 + random.nextInt(3);
        for (int id = 0; id < size; id++) {
            members.add(new Member(id));
        }
    }

    /** Runs for so long, or until two leaders contradict each other. */
    LeaseSim run(long nanos) {
        members.forEach(Member::tick);
        disturb();
        while (violation == null && now < nanos) {
            Event next = events.remove();
            now = next.at;
            next.action.run();
        }
        return this;
    }

    @Nullable String violation() {
        return violation;
    }

    /** Terms in which somebody served. */
    int served() {
        return serves.size();
    }

    /** Those in which it began before a whole lease had passed. */
    int shortWaits() {
        return shortWaits;
    }

    private void after(long nanos, Runnable action) {
        events.add(new Event(now + nanos, sequence++, action));
    }

    private long upTo(long nanos) {
        return random.nextLong(nanos) + 1;
    }

    private boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    private void send(Member from, Member to, Runnable action) {
        if (chance(0.05) || cuts.getOrDefault(link(from, to), 0L) > now) {
            return;
        }
        after(chance(0.05) ? upTo(800 * MILLI) : upTo(3 * MILLI), () -> to.arrive(action));
    }

    private static int link(Member from, Member to) {
        return from.id * 16 + to.id;
    }

    private void disturb() {
        Member one = members.get(random.nextInt(members.size()));
        switch (random.nextInt(4)) {
            case 0 -> one.pausedUntil = now + upTo(900 * MILLI);
            case 1 -> one.restart();
            default -> {
                // Cut off from some, in one direction or in both.
                for (Member other : members) {
                    long until = now + upTo(700 * MILLI);
                    if (chance(0.7)) {
                        cuts.put(link(one, other), until);
                    }
                    if (chance(0.7)) {
                        cuts.put(link(other, one), until);
                    }
                }
            }
        }
        after(upTo(400 * MILLI), this::disturb);
    }

    // ---- what must hold ---------------------------------------------------------------------

    private void believe(long term, long until) {
        believed.merge(term, until, Math::max);
        serves.forEach((later, from) -> check(term, until, later, from));
    }

    private void serve(long term) {
        serves.put(term, now);
        believed.forEach((earlier, until) -> check(earlier, until, term, now));
    }

    private void check(long earlier, long until, long later, long from) {
        if (earlier < later && from < until) {
            violation =
                    "what the leader of term %d said may be believed for %d us after that of term %d serves"
                            .formatted(earlier, (until - from) / 1000, later);
        }
    }

    // ---- a member ---------------------------------------------------------------------------

    private final class Member {
        final int id;
        final double rate =
                1 + MAX_DRIFT * (chance(0.5) ? random.nextInt(3) - 1 : random.nextDouble(-1, 1));
        final long offset = random.nextLong();
        EarlierLeases earlier = new EarlierLeases(clock());
        long pausedUntil;
        int life;

        /** Durable: the newest term that it has seen, in which it has voted once at most. */
        long term;

        long votedIn;
        @Nullable Office office;
        long heard;
        long patience;

        Member(int id) {
            this.id = id;
        }

        long clock() {
            return offset + (long) (now * rate);
        }

        void restart() {
            life++;
            office = null;
            pausedUntil = now + upTo(50 * MILLI);
            earlier =
                    new EarlierLeases(
                            fault == Fault.GRANTS_FORGOTTEN_AT_RESTART ? clock() - HOUR : clock());
        }

        /** What comes while it is paused comes when it goes on, to the process that runs then. */
        void arrive(Runnable action) {
            int mine = life;
            if (pausedUntil > now) {
                after(
                        pausedUntil - now,
                        () -> {
                            if (mine == life) {
                                arrive(action);
                            }
                        });
            } else {
                action.run();
            }
        }

        void tick() {
            after(
                    10 * MILLI,
                    () -> {
                        if (pausedUntil <= now) {
                            lead();
                            stand();
                        }
                        tick();
                    });
        }

        private void lead() {
            @Nullable Office mine = office;
            if (mine == null) {
                return;
            }
            mine.look();
            if (chance(0.1)) {
                long sent = clock();
                members.forEach(other -> {
                    if (other != this) {
                        send(this, other, () -> other.pinged(this, mine, sent));
                    }
                });
            }
        }

        private void stand() {
            if (office != null || now - heard < patience) {
                return;
            }
            heard = now;
            patience = 20 * MILLI + upTo(300 * MILLI);
            term++;
            votedIn = term;
            long mine = term;
            List<Member> votes = new ArrayList<>(List.of(this));
            for (Member other : members) {
                if (other != this) {
                    send(this, other, () -> other.vote(this, mine, votes));
                }
            }
        }

        private void vote(Member candidate, long wanted, List<Member> votes) {
            see(wanted);
            if (wanted < term || votedIn == term) {
                return;
            }
            votedIn = term;
            heard = now;
            send(
                    this,
                    candidate,
                    () -> {
                        votes.add(this);
                        if (candidate.term == wanted
                                && candidate.office == null
                                && votes.size() == members.size() / 2 + 1) {
                            candidate.office = candidate.new Office(wanted);
                        }
                    });
        }

        private void see(long other) {
            if (other > term) {
                term = other;
                office = null;
            }
        }

        private void pinged(Member leader, Office by, long sent) {
            see(by.number);
            OptionalLong ago = earlier.grant(by.number, () -> by.number == term, this::clock);
            long seen = term;
            if (ago.isPresent()) {
                heard = now;
            }
            send(this, leader, () -> leader.answered(by, this, seen, ago, sent));
        }

        private void answered(Office by, Member member, long seen, OptionalLong ago, long sent) {
            see(seen);
            if (ago.isPresent()) {
                by.lease.granted(member.id, sent);
                by.lease.earlier(
                        member.id,
                        switch (fault) {
                            case OTHERS_NOT_ASKED -> HOUR;
                            case DRIFT_LEFT_OUT ->
                                    (long) (ago.getAsLong() * LeaderLease.NEW_LEADER_FACTOR);
                            default -> ago.getAsLong();
                        },
                        fault == Fault.COUNTED_FROM_THE_QUESTION ? sent : clock());
            }
            if (office == by) {
                by.look();
            }
        }

        /** Being leader of a term. */
        private final class Office {
            final long number;
            final LeaderLease lease;
            boolean serving;

            Office(long number) {
                this.number = number;
                boolean drift = fault != Fault.DRIFT_LEFT_OUT;
                lease =
                        new LeaderLease(
                                fault == Fault.TOO_FEW_ASKED ? members.size() - 2 : members.size(),
                                drift ? LEASE : (long) (LEASE / LeaderLease.NEW_LEADER_FACTOR),
                                clock());
                lease.use(LEASE, clock());
                lease.ownEarlier(own());
                look();
            }

            private long own() {
                long ago =
                        fault == Fault.OWN_LEADERSHIP_FORGOTTEN
                                ? earlier.grant(number, () -> true, Member.this::clock).orElse(1)
                                : earlier.lead(number, clock());
                return fault == Fault.SELF_NOT_ASKED ? HOUR : ago;
            }

            /** What a request would be told now, and when to look again. */
            void look() {
                if (office != this || pausedUntil > now) {
                    return;
                }
                long left = lease.leftNanos(clock());
                if (left > 0) {
                    believe(number, now + (long) (left / rate));
                }
                long wait = fault == Fault.WAIT_SKIPPED ? 0 : lease.servingFromNanos() - clock();
                if (wait > 0) {
                    after((long) (wait / rate) + 1, this::look);
                } else if (!serving) {
                    serving = true;
                    if (clock() - lease.bornNanos() < lease.fullWaitNanos()) {
                        shortWaits++;
                    }
                    serve(number);
                }
            }
        }
    }
}
