package io.cairn.common.rpc;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says which member of the metadata service to ask next, and when, until one of them leads.
 *
 * <pre>
 *   SEARCHING --found--> FOUND --failed--> SEARCHING
 * </pre>
 *
 * <p>A search goes in rounds. In a round each member is asked once, without a pause: first the one
 * that the member before named as leader, else the next one in turn. After a round in which none
 * led comes a pause, longer after each. A leader that is found and then fails is left for the one
 * it names; left for the next one if it was not reached; asked again if it answered anything else,
 * as it still leads then. Such failures also make the pauses longer, until the leader {@link
 * #served} again.
 *
 * <p>No thread, no clock and no I/O: whoever asks the members says what they answered and waits the
 * pauses. Not thread-safe.
 */
public final class LeaderFinder {
    private static final Logger LOG = LoggerFactory.getLogger(LeaderFinder.class);

    private final BackOff backOff;
    private final Set<InetSocketAddress> configured;
    private final List<InetSocketAddress> members;
    private final Set<InetSocketAddress> asked = new HashSet<>();
    private InetSocketAddress current;
    private boolean found;
    private int turn;
    private int rounds;
    private int failures;
    private String lastFailure = "no MDS member was asked yet";

    /**
     * @param configured addresses of members, at least one; they stay members whatever is learnt
     */
    public LeaderFinder(Collection<InetSocketAddress> configured) {
        this(configured, BackOff.SEARCH);
    }

    LeaderFinder(Collection<InetSocketAddress> configured, BackOff backOff) {
        this.backOff = backOff;
        this.configured = new LinkedHashSet<>(configured);
        this.members = new ArrayList<>(this.configured);
        this.current = members.getFirst();
    }

    /** The member to ask now. */
    public InetSocketAddress current() {
        return current;
    }

    /** Rounds without a leader since one was last found. */
    public int rounds() {
        return rounds;
    }

    /** Who failed last and with what, for the message of whoever gives up. */
    public String lastFailure() {
        return lastFailure;
    }

    /** This member leads. */
    public void found(InetSocketAddress member) {
        current = member;
        found = true;
        rounds = 0;
        asked.clear();
    }

    /** The leader did what it was asked for: its next failure counts as the first. */
    public void served() {
        failures = 0;
    }

    /**
     * The member does not lead, or did not do what it was asked for.
     *
     * @return nanoseconds to wait before {@link #current} is asked; none when another member has
     *     become current since this one was asked
     */
    public long failed(InetSocketAddress member, RpcStatus status) {
        if (!member.equals(current)) {
            return 0;
        }
        lastFailure = RpcAddress.format(member) + ": " + status.errno() + " " + status.detail();
        if (!found) {
            return next(status);
        }
        found = false;
        boolean leadsStill = status.advice() != Advice.NOT_LEADER && !status.unanswered();
        long pause = failures++ == 0 ? 0 : backOff.delayNanos(failures - 1);
        return leadsStill ? pause : Math.max(pause, next(status));
    }

    /** The cluster map names these members: they join the configured ones. */
    public void learn(Collection<String> addresses) {
        Set<InetSocketAddress> all = new LinkedHashSet<>(configured);
        addresses.forEach(text -> address(text).ifPresent(all::add));
        members.clear();
        members.addAll(all);
    }

    /** Goes on to the next member; returns the pause before it. */
    private long next(RpcStatus status) {
        asked.add(current);
        Optional<InetSocketAddress> named =
                status.advice() == Advice.NOT_LEADER && !status.detail().isEmpty()
                        ? address(status.detail())
                        : Optional.empty();
        if (named.isPresent() && !asked.contains(named.get())) {
            current = named.get();
            return 0;
        }
        for (int i = 0; i < members.size(); i++) {
            current = inTurn();
            if (!asked.contains(current)) {
                return 0;
            }
        }
        asked.clear();
        current = inTurn();
        return backOff.delayNanos(++rounds);
    }

    private InetSocketAddress inTurn() {
        turn = (turn + 1) % members.size();
        return members.get(turn);
    }

    private static Optional<InetSocketAddress> address(String text) {
        try {
            return Optional.of(RpcAddress.parse(text));
        } catch (IllegalArgumentException e) {
            LOG.warn("An MDS member has no usable address: {}", e.getMessage());
            return Optional.empty();
        }
    }

    /** The members, as an administrator writes them. */
    @Override
    public String toString() {
        return members.stream().map(RpcAddress::format).collect(Collectors.joining(", "));
    }
}
