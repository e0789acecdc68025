package io.cairn.mds.leader;

import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.LeaderLeaseReply;
import io.cairn.common.proto.MdsMember;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.raft.MetaLog;
import io.cairn.mds.raft.MetaLogConfig.Member;
import io.cairn.mds.raft.RaftMembership;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Changes the members of the group, one at a time, at the leader.
 *
 * <pre>
 *            answers           knows that it is new             has the log
 *   (asked) ─────────▶ GUEST ─────────────────────▶ (sent the log) ────────▶ MEMBER ───▶ (removed)
 * </pre>
 *
 * <p>A guest is pinged and told who the members are, and then sent the checkpoint and the log by
 * Ratis. It is in no configuration of the log, so nothing waits for it, and its vote does not
 * count. Only when it has the log is the configuration changed. Before that only this leader knows
 * of it: whoever asked asks again until it is done, this leader or the next.
 *
 * <p>A majority is never lost by it: a member is added only once it is up and has the log, and one
 * is removed only if a majority of those that stay is up.
 *
 * <p>The control thread only.
 */
public final class GroupChanges {
    private static final Logger LOG = LoggerFactory.getLogger(GroupChanges.class);

    /** Five members and the one that replaces another; more only make each commit slower. */
    private static final int MOST_MEMBERS = 7;

    private static final Duration TRANSFER = Duration.ofSeconds(2);
    private static final int FAREWELLS = 5;
    private static final long FAREWELL_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** After which a new leader looks again whether a member was heard of. */
    private static final long HEARD_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Leadership leadership;
    private final LeaseKeeper keeper;
    private final MemberReports reports;
    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;

    private @Nullable Change wanted;

    /** Whom to add: it has answered. */
    private @Nullable Member guest;

    /** A question or a change of the log's configuration is in flight. */
    private boolean busy;

    /** To whom leadership is being given because this member is to be removed; else 0. */
    private int successor;

    /** Of the term: what comes back from an earlier one is of no interest. */
    private long resets;

    /** Told to whoever asks for the change next, which then is over. */
    private @Nullable FsException failure;

    /** What an administrator asked for in this term, and is not done. */
    private record Change(boolean adds, int id, String address) {
        @Override
        public String toString() {
            return "member " + id + " is being " + (adds ? "added" : "removed");
        }
    }

    public GroupChanges(
            Leadership leadership,
            LeaseKeeper keeper,
            MemberReports reports,
            EntryLog entries,
            ControlReader state,
            Control control) {
        this.leadership = leadership;
        this.keeper = keeper;
        this.reports = reports;
        this.entries = entries;
        this.state = state;
        this.control = control;
    }

    /** Leadership begins or is lost: a change that is not in the log is forgotten. */
    public void reset() {
        forget();
        busy = false;
        successor = 0;
        resets++;
    }

    private void forget() {
        wanted = null;
        guest = null;
        failure = null;
        keeper.invite(null);
    }

    /** What is being changed, for the administrator; empty if nothing is. */
    public String present() {
        if (wanted != null) {
            return guest == null ? wanted.toString() : progress(guest);
        }
        return busy || group().changing() ? "the members are being changed" : "";
    }

    /** Who is being added and is no member yet. */
    Optional<Member> guest() {
        return Optional.ofNullable(guest).filter(g -> find(group().members(), g.id()).isEmpty());
    }

    // ---- asked for --------------------------------------------------------------------------

    /**
     * Begins to add a member, or goes on.
     *
     * @return what it waits for; empty when it is done
     * @throws FsException if it cannot be added, or another change is being made
     */
    public String add(int id, String address) {
        requireLevel();
        RaftMembership.Group group = group();
        Change change = new Change(true, id, address);
        Optional<Member> there = find(group.members(), id);
        if (there.isPresent()) {
            if (!there.get().address().equals(address)) {
                throw new FsException(
                        Errno.EEXIST,
                        "member %d is at %s: remove it first, or take another id"
                                .formatted(id, there.get().address()));
            }
            if (!group.changing() && !busy) {
                forget();
                return "";
            }
            return present();
        }
        for (Member member : group.members()) {
            if (member.address().equals(address)) {
                throw new FsException(
                        Errno.EEXIST, "%s is member %d".formatted(address, member.id()));
            }
        }
        if (group.members().size() >= MOST_MEMBERS) {
            throw new FsException(
                    Errno.EINVAL, "a group has %d members at most".formatted(MOST_MEMBERS));
        }
        begin(change, group);
        return present();
    }

    /**
     * Begins to remove a member, or goes on.
     *
     * @return what it waits for; empty when it is no member
     * @throws FsException if it cannot be removed, or another change is being made
     */
    public String remove(Leadership.Term term, int id) {
        requireLevel();
        RaftMembership.Group group = group();
        Change change = new Change(false, id, "");
        Optional<Member> member = find(group.members(), id);
        if (member.isEmpty()) {
            if (wanted != null && wanted.id() == id) {
                cancel(); // one that was to be added, and is none yet
            }
            return busy || group.changing() ? present() : "";
        }
        if (busy && change.equals(wanted)) {
            return present();
        }
        if (!busy && wanted != null && wanted.adds() && wanted.id() == id) {
            forget();
        }
        if (!isMajorityUpWithout(group, id)) {
            return "the new leader waits to hear of the members that stay";
        }
        if (id == leadership.self()) {
            if (successor == 0) {
                requireNone(group, change);
                successor = heir(group);
                transfer(successor);
            }
            return "leadership goes to member " + successor + " first";
        }
        begin(change, group);
        apply(
                change,
                group,
                without(group.members(), id),
                () -> {
                    forget();
                    farewell(term, member.get(), FAREWELLS);
                });
        return present();
    }

    private void cancel() {
        if (busy && guest != null) {
            throw new FsException(
                    Errno.EBUSY,
                    progress(guest) + ": stop that server, then the attempt ends within a minute");
        }
        forget();
    }

    /**
     * Has another member lead.
     *
     * @return completes when it does; fails with a FsException
     * @throws FsException if it cannot lead
     */
    public CompletableFuture<Void> transferTo(int id) {
        RaftMembership.Group group = group();
        if (find(group.members(), id).isEmpty()) {
            throw new FsException(Errno.ENOENT, "there is no member " + id + " that votes");
        }
        if (id == leadership.self()) {
            return CompletableFuture.completedFuture(null);
        }
        if (!isUp(id) && leadership.isNew()) {
            return transferOnceHeard(id);
        }
        if (!isUp(id)) {
            throw new FsException(
                    Errno.EAGAIN, "member " + id + " does not answer, or does not vote yet");
        }
        requireNone(group, null);
        return transfer(id);
    }

    /** A new leader may only not have heard of the member yet. */
    private CompletableFuture<Void> transferOnceHeard(int id) {
        CompletableFuture<Void> pause = new CompletableFuture<>();
        var _ = control.after(HEARD_NANOS, () -> pause.complete(null));
        return pause.thenCompose(_ -> transferTo(id));
    }

    private CompletableFuture<Void> transfer(int to) {
        busy = true;
        long since = resets;
        LOG.info("leadership is given to member {}", to);
        CompletableFuture<Void> done = new CompletableFuture<>();
        var _ =
                log().membership()
                        .transferLeadership(to, TRANSFER)
                        .whenCompleteAsync(
                                (ok, failed) -> {
                                    if (since == resets) {
                                        busy = false;
                                        successor = 0;
                                    }
                                    if (failed == null) {
                                        done.complete(null);
                                    } else {
                                        done.completeExceptionally(
                                                new FsException(
                                                        Errno.EAGAIN,
                                                        "member %d was not elected: %s"
                                                                .formatted(to, reason(failed))));
                                    }
                                },
                                control);
        return done;
    }

    // ---- going on ---------------------------------------------------------------------------

    /** Called periodically while this member may answer. */
    public void tick(Leadership.Term term) {
        if (busy || failure != null) {
            return;
        }
        RaftMembership.Group group = group();
        if (group.changing()) {
            return;
        }
        if (wanted != null && wanted.adds() && find(group.members(), wanted.id()).isEmpty()) {
            invite(term, wanted, group);
        }
    }

    private void invite(Leadership.Term term, Change change, RaftMembership.Group group) {
        @Nullable Member answered = guest;
        if (answered == null) {
            busy = true;
            long since = resets;
            keeper.askOnce(
                    term,
                    change.address(),
                    false,
                    (status, reply) -> control.execute(() -> asked(since, change, status, reply)));
            return;
        }
        if (isUp(answered.id())) { // and so knows that it is new
            apply(change, group, with(group.members(), answered), this::forget);
        }
    }

    private void asked(
            long since, Change change, RpcStatus status, @Nullable LeaderLeaseReply reply) {
        if (since != resets) {
            return; // of an earlier term
        }
        busy = false;
        if (!change.equals(wanted)) {
            return; // it was given up meanwhile
        }
        try {
            MdsMember told = check(change, status, reply);
            guest = GroupMembers.fromProto(told);
            keeper.invite(told);
        } catch (FsException e) {
            failure = e;
        }
    }

    /** Whether what answers there is the member that was meant. */
    private MdsMember check(Change change, RpcStatus status, @Nullable LeaderLeaseReply reply) {
        if (reply == null) {
            throw new FsException(
                    Errno.EHOSTUNREACH,
                    "no metadata server answers at %s (%s): start it there with --join"
                            .formatted(change.address(), status.detail()));
        }
        int level = Features.level(state.settings());
        if (!reply.hasSelf() || reply.getFeatureLevel() < level) {
            throw new FsException(
                    Errno.EOPNOTSUPP,
                    "the server at %s is of an older release than the group (feature level %d): upgrade it"
                            .formatted(change.address(), level));
        }
        MdsMember self = reply.getSelf();
        if (self.getId() != change.id() || !self.getAddress().equals(change.address())) {
            throw new FsException(
                    Errno.EINVAL,
                    "the server at %s is configured as member %d at %s"
                            .formatted(change.address(), self.getId(), self.getAddress()));
        }
        return self;
    }

    private String progress(Member added) {
        String name = "member " + added.id();
        return reports.of(added.id()) == null
                ? name + " does not answer"
                : name + " is sent the metadata and lacks " + behind(added.id()) + " entries";
    }

    /** Entries of this leader's log that the member has not applied. */
    long behind(int id) {
        MemberReports.@Nullable Place place = reports.placeOf(id);
        return place == null ? log().lastIndex() : Math.max(0, log().lastIndex() - place.applied());
    }

    private void apply(
            Change change, RaftMembership.Group group, List<Member> members, Runnable then) {
        busy = true;
        long since = resets;
        LOG.info("{}: members {}", change, ids(members));
        var _ =
                log().membership()
                        .change(group, members)
                        .whenCompleteAsync(
                                (ok, failed) -> {
                                    if (since != resets) {
                                        return;
                                    }
                                    busy = false;
                                    if (failed == null) {
                                        then.run();
                                    } else {
                                        LOG.warn("{}, which failed: {}", change, reason(failed));
                                        failed(change, reason(failed));
                                    }
                                },
                                control);
    }

    /**
     * One that answers is sent the rest: restoring a large checkpoint it may have been silent for
     * too long. What else was asked for is over.
     */
    private void failed(Change change, String reason) {
        if (change.equals(wanted) && !(change.adds() && isUp(change.id()))) {
            failure = new FsException(Errno.EAGAIN, change + ", which failed: " + reason);
        }
    }

    /** Tells one that was removed, which stops then; one that is away asks when it is back. */
    private void farewell(Leadership.Term term, Member member, int attempts) {
        keeper.askOnce(
                term,
                member.address(),
                true,
                (status, reply) -> {
                    if (!status.ok() && attempts > 1) {
                        var _ =
                                control.after(
                                        FAREWELL_NANOS,
                                        () -> {
                                            if (find(group().members(), member.id()).isEmpty()) {
                                                farewellAgain(term, member, attempts - 1);
                                            }
                                        });
                    }
                });
    }

    private void farewellAgain(Leadership.Term term, Member member, int attempts) {
        if (term.equals(leadership.term())) {
            farewell(term, member, attempts);
        }
    }

    // ---- conditions -------------------------------------------------------------------------

    private void begin(Change change, RaftMembership.Group group) {
        @Nullable FsException failed = failure;
        if (failed != null && change.equals(wanted)) {
            forget();
            throw failed;
        }
        requireNone(group, change);
        if (failed != null) {
            forget(); // of a change that nobody asks for any more
        }
        if (!change.equals(wanted)) {
            LOG.info("asked for by an administrator: {}", change);
        }
        wanted = change;
    }

    /**
     * @param own that may be in progress
     */
    private void requireNone(RaftMembership.Group group, @Nullable Change own) {
        boolean other =
                (wanted != null && failure == null && !wanted.equals(own))
                        || (wanted == null && (busy || group.changing()));
        if (other) {
            throw new FsException(
                    Errno.EBUSY, present() + ": one change at a time, wait until it is done");
        }
    }

    private void requireLevel() {
        if (Features.level(state.settings()) < Features.MEMBERSHIP) {
            throw new FsException(
                    Errno.EOPNOTSUPP,
                    "the members change once every metadata server has said that it knows that: start"
                            + " those that are down, and upgrade those of an older release"
                            + " ('cairn status' names both)");
        }
    }

    /**
     * False while the leader is so new that it may only not have heard of them.
     *
     * @throws FsException if too few are up
     */
    private boolean isMajorityUpWithout(RaftMembership.Group group, int id) {
        List<Member> stay = without(group.members(), id);
        if (stay.isEmpty()) {
            throw new FsException(Errno.EINVAL, "member " + id + " is the only one");
        }
        List<Integer> down = stay.stream().map(Member::id).filter(m -> !isUp(m)).toList();
        if (stay.size() - down.size() >= stay.size() / 2 + 1) {
            return true;
        }
        if (leadership.isNew()) {
            return false;
        }
        throw new FsException(
                Errno.EBUSY,
                "without member %d a majority would be missing: of members %s, which stay, %s do not answer or do not vote yet; start them first, or add another"
                        .formatted(id, ids(stay), down));
    }

    private boolean isUp(int id) {
        MemberReports.@Nullable Report report = reports.of(id);
        return report != null && !report.joining();
    }

    /** The voter besides this one that has most of the log. */
    private int heir(RaftMembership.Group group) {
        return without(group.members(), leadership.self()).stream()
                .map(Member::id)
                .filter(this::isUp)
                .min(Comparator.comparingLong(this::behind))
                .orElseThrow();
    }

    private RaftMembership.Group group() {
        return log().membership().group();
    }

    private MetaLog log() {
        @Nullable MetaLog log = entries.log();
        if (log == null) {
            throw new FsException(Errno.EAGAIN, "the log is not open yet");
        }
        return log;
    }

    private static Optional<Member> find(List<Member> members, int id) {
        return members.stream().filter(m -> m.id() == id).findFirst();
    }

    private static List<Member> with(List<Member> members, Member member) {
        List<Member> more = new ArrayList<>(members);
        more.add(member);
        return more;
    }

    private static List<Member> without(List<Member> members, int id) {
        return members.stream().filter(m -> m.id() != id).toList();
    }

    private static List<Integer> ids(List<Member> members) {
        return members.stream().map(Member::id).toList();
    }

    private static String reason(Throwable failure) {
        return String.valueOf(Causes.of(failure).getMessage());
    }
}
