package io.cairn.client.meta;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Which MDS member to ask next for the leader: the one a member named, else all known ones in turn.
 * Not thread-safe: guarded by the {@link MetaClient}'s lock.
 */
final class MdsMembers {
    private final Set<String> configured;
    private final List<String> addresses;
    private String current;
    private int turn;
    private int failures;

    MdsMembers(List<String> configured) {
        this.configured = new LinkedHashSet<>(configured);
        this.addresses = new ArrayList<>(this.configured);
        this.current = addresses.getFirst();
    }

    /** The member to ask now. */
    String current() {
        return current;
    }

    /** The cluster map's members join the configured ones. */
    void learn(List<String> fromMap) {
        LinkedHashSet<String> all = new LinkedHashSet<>(configured);
        all.addAll(fromMap);
        addresses.clear();
        addresses.addAll(all);
    }

    /** A member said who leads; an empty address means it does not know. */
    void redirected(String leader) {
        if (leader.isEmpty() || leader.equals(current)) {
            failed();
        } else {
            current = leader;
            failures++;
        }
    }

    /** The current member is of no use; the next one's turn. */
    void failed() {
        failures++;
        for (int i = 0; i < addresses.size(); i++) {
            String next = addresses.get(turn++ % addresses.size());
            if (!next.equals(current)) {
                current = next;
                return;
            }
        }
    }

    void found() {
        failures = 0;
    }

    /** Fruitless attempts beyond the first round of all members: what back-off counts. */
    int rounds() {
        return Math.max(0, failures - addresses.size() + 1);
    }

    @Override
    public String toString() {
        return String.join(", ", addresses);
    }
}
