package io.cairn.mds.raft;

import io.cairn.common.errno.Causes;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.ratis.proto.RaftProtos.RaftPeerRole;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.SetConfigurationRequest;
import org.apache.ratis.protocol.TransferLeadershipRequest;
import org.apache.ratis.server.RaftConfiguration;
import org.apache.ratis.server.RaftServer;
import org.jspecify.annotations.Nullable;

/**
 * Who the members of the group are, and how that is changed. The log says it: a change is an entry
 * like others, and every member goes by the last one in its own log. The configuration file is only
 * for a new cluster.
 *
 * <p>Any thread.
 */
public final class RaftMembership {
    private final MetaLogConfig config;
    private final MemberDirectory directory;
    private final RaftServer server;
    private final RaftServer.Division division;
    private final RaftPort port;
    private final MetaLogListener listener;

    /** The group as a leader's pings have it. */
    private List<MetaLogConfig.Member> told = List.of();

    /** And as the log has it. */
    private List<MetaLogConfig.Member> known = List.of();

    RaftMembership(
            MetaLogConfig config,
            MemberDirectory directory,
            RaftServer server,
            RaftServer.Division division,
            RaftPort port,
            MetaLogListener listener) {
        this.config = config;
        this.directory = directory;
        this.server = server;
        this.division = division;
        this.port = port;
        this.listener = listener;
    }

    /**
     * Who the log says the members are, as soon as that is in this member's log.
     *
     * @param members who vote; while a change is being committed, those after it
     * @param changing whether a change is being committed
     */
    public record Group(List<MetaLogConfig.Member> members, boolean changing) {}

    public Group group() {
        RaftConfiguration log = division.getRaftConf();
        return new Group(
                members(log.getCurrentPeers(RaftPeerRole.FOLLOWER)),
                !log.getPreviousPeers().isEmpty());
    }

    private List<MetaLogConfig.Member> members(Collection<RaftPeer> peers) {
        return peers.stream()
                .map(RaftSettings::member)
                .map(this::withAddress)
                .sorted(Comparator.comparingInt(MetaLogConfig.Member::id))
                .toList();
    }

    /** A group that an older release made has the members' own addresses not in its log. */
    private MetaLogConfig.Member withAddress(MetaLogConfig.Member member) {
        return member.address().isEmpty()
                ? config.members().stream()
                        .filter(m -> m.id() == member.id())
                        .findFirst()
                        .orElse(member)
                : member;
    }

    /**
     * Makes these the members, if this one leads and no other change is being made. A new member is
     * sent the metadata first and has no vote meanwhile; there is no limit in time to that as long
     * as it answers.
     *
     * @param present what the group is now
     * @param members those of {@code present} with one more, or one less
     * @return completes when it is committed; fails with a LogUnavailableException, in which case
     *     it may yet be. Never throws
     */
    public CompletableFuture<Void> change(Group present, List<MetaLogConfig.Member> members) {
        return administer(() ->
                server.setConfigurationAsync(
                        new SetConfigurationRequest(
                                ClientId.randomId(),
                                server.getId(),
                                division.getGroup().getGroupId(),
                                1,
                                SetConfigurationRequest.Arguments.newBuilder()
                                        .setMode(SetConfigurationRequest.Mode.COMPARE_AND_SET)
                                        .setServersInCurrentConf(peers(present.members()))
                                        .setServersInNewConf(peers(members))
                                        .build())));
    }

    private static List<RaftPeer> peers(List<MetaLogConfig.Member> members) {
        return members.stream().map(RaftSettings::peer).toList();
    }

    /**
     * Has another member elected, if this one leads.
     *
     * @return completes when it leads; fails with a LogUnavailableException, in which case it may
     *     yet be elected. Never throws
     */
    public CompletableFuture<Void> transferLeadership(int to, Duration patience) {
        return administer(() ->
                server.transferLeadershipAsync(
                        new TransferLeadershipRequest(
                                ClientId.randomId(),
                                server.getId(),
                                division.getGroup().getGroupId(),
                                1,
                                RaftSettings.peerId(to),
                                patience.toMillis())));
    }

    private interface Administration {
        CompletableFuture<RaftClientReply> ask() throws IOException;
    }

    private static CompletableFuture<Void> administer(Administration request) {
        CompletableFuture<RaftClientReply> asked;
        try {
            asked = request.ask();
        } catch (IOException | RuntimeException e) {
            asked = CompletableFuture.failedFuture(e);
        }
        return asked.handle(RaftMembership::done);
    }

    private static @Nullable Void done(
            @Nullable RaftClientReply reply, @Nullable Throwable failure) {
        if (reply != null && reply.isSuccess()) {
            return null;
        }
        @Nullable Throwable thrown =
                failure != null || reply == null ? failure : reply.getException();
        String detail =
                thrown == null ? "no answer" : String.valueOf(Causes.of(thrown).getMessage());
        throw new CompletionException(new LogUnavailableException(detail, false));
    }

    /** A leader has told who the members are; its log may not have reached this one. */
    public synchronized void told(List<MetaLogConfig.Member> group) {
        if (!group.equals(told)) {
            told = List.copyOf(group);
            know();
        }
    }

    /** Once a second: lets in whom the log names, and notes them in the directory. */
    void tend() {
        try {
            Group present = group();
            synchronized (this) {
                if (!present.members().equals(known)) {
                    known = present.members();
                    know();
                }
            }
            if (!present.changing() && !present.members().isEmpty()) {
                directory.record(present.members());
            }
        } catch (IOException | RuntimeException e) {
            listener.failed("the file of this member's identity could not be written", e);
        }
    }

    private void know() {
        Set<MetaLogConfig.Member> others = new HashSet<>(told);
        others.addAll(known);
        port.know(others);
    }

    /** The leader says that this member is none any more: it stops, and does not start again. */
    public void removed() {
        try {
            directory.recordRemoved();
        } catch (IOException | RuntimeException e) {
            listener.failed("the file of this member's identity could not be written", e);
            return;
        }
        String what = "member " + config.memberId() + " was removed from the group";
        listener.failed(
                what + ": it stops, and does not start again with this directory",
                new MemberRefusedException(what));
    }
}
