package io.cairn.mds.server;

import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberStatus;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.leader.MemberReports;
import io.cairn.mds.leader.MemberReports.Report;
import io.cairn.mds.namespace.ControlReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** What a leader tells of the members of its group; a member that does not lead, nothing. */
final class GroupStatus {
    private final Leadership leadership;
    private final MemberReports reports;
    private final ControlReader state;

    GroupStatus(Leadership leadership, MemberReports reports, ControlReader state) {
        this.leadership = leadership;
        this.reports = reports;
        this.state = state;
    }

    List<MemberStatus> members() {
        return leadership.memberStatus().stream().map(this::withReport).toList();
    }

    private MemberStatus withReport(MemberStatus member) {
        @Nullable Report told = reports.of(member.getId());
        return told == null
                ? member
                : member.toBuilder()
                        .setConfiguredLeaseMillis(millis(told.configuredLeaseNanos()))
                        .setJoining(told.joining())
                        .setFeatureLevel(told.featureLevel())
                        .setRelease(told.release())
                        .build();
    }

    /**
     * Members that are missing, joining, or configured otherwise than the group, and what the
     * others tell of their databases.
     */
    List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        List<MemberStatus> members = members();
        List<Integer> missing =
                members.stream().filter(this::silent).map(MemberStatus::getId).toList();
        List<Integer> joining =
                members.stream().filter(MemberStatus::getJoining).map(MemberStatus::getId).toList();
        int all = leadership.members().size();
        int spare = all - missing.size() - joining.size() - (all / 2 + 1);
        for (MemberStatus member : members) {
            String name = name(member.getId());
            if (missing.contains(member.getId())) {
                warnings.add(name + " does not answer: start it; " + canLose(spare));
            }
            if (joining.contains(member.getId())) {
                warnings.add(
                        name
                                + " is joining: it votes once it has caught up, for which a majority"
                                + " of all without it must run");
            }
            @Nullable Report told = reports.of(member.getId());
            if (told != null) {
                told.remarks().warnings().forEach(w -> warnings.add(name + ": " + w));
            }
            if (otherwiseConfigured(member)) {
                warnings.add(
                        name
                                + " is configured with another leader_lease than the %d ms that the group goes by: configure the same on all members, then restart those changed"
                                        .formatted(millis(state.settings().getLeaderLeaseNanos())));
            }
        }
        return warnings;
    }

    /** What the others tell of their databases that is as configured. */
    List<String> notes() {
        List<String> notes = new ArrayList<>();
        for (MdsMember member : leadership.members()) {
            @Nullable Report told = reports.of(member.getId());
            if (told != null) {
                told.remarks().notes().forEach(n -> notes.add(name(member.getId()) + ": " + n));
            }
        }
        return notes;
    }

    /** One that is joining answers, but grants nothing. */
    private boolean silent(MemberStatus member) {
        return !member.getJoining()
                && TimeUnit.MILLISECONDS.toNanos(member.getSinceHeardMillis())
                        > leadership.silenceNanos();
    }

    private boolean otherwiseConfigured(MemberStatus member) {
        @Nullable Report told = reports.of(member.getId());
        return told != null
                && told.configuredLeaseNanos() != state.settings().getLeaderLeaseNanos();
    }

    private static String canLose(int spare) {
        return spare > 0
                ? "the group can lose " + spare + " more"
                : "without another member metadata stops";
    }

    /** By which messages name a member. */
    String name(int id) {
        String address =
                leadership.members().stream()
                        .filter(m -> m.getId() == id)
                        .map(MdsMember::getAddress)
                        .findFirst()
                        .orElse("");
        return "MDS member " + id + " (" + address + ")";
    }

    private static long millis(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(nanos);
    }
}
