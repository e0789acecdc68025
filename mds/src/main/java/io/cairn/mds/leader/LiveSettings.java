package io.cairn.mds.leader;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.Setting;
import io.cairn.common.proto.SettingsReply;
import io.cairn.common.proto.SettingsRequest;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcAddress;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.Features;
import io.cairn.mds.proto.ClusterSettings;
import io.cairn.mds.proto.LogEntry;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What an administrator changes while the cluster runs ({@code cairn set}). It is in the replicated
 * state, by an entry of the log, so that it outlives leaders and restarts; until it is set for the
 * first time, each leader uses its configuration.
 *
 * <p>The control thread only, except for what says otherwise.
 */
public final class LiveSettings {
    private static final Logger LOG = LoggerFactory.getLogger(LiveSettings.class);

    private final Leadership leadership;
    private final EntryLog entries;
    private final ControlReader state;
    private final Control control;
    private final long configuredReaperRate;
    private final Features features = new Features();

    /**
     * @param configuredReaperRate inodes per second, 0: no limit
     */
    public LiveSettings(
            Leadership leadership,
            EntryLog entries,
            ControlReader state,
            Control control,
            long configuredReaperRate) {
        this.leadership = leadership;
        this.entries = entries;
        this.state = state;
        this.control = control;
        this.configuredReaperRate = configuredReaperRate;
    }

    /** Inodes per second, 0: no limit. Any thread. */
    public long reaperRate() {
        ClusterSettings settings = state.settings();
        return settings.hasReaperInodesPerSecond()
                ? settings.getReaperInodesPerSecond()
                : configuredReaperRate;
    }

    /** Changes one, or none; answers all that there are. */
    public void handle(RpcRequest request) {
        ClusterSettings change;
        SettingsRequest wanted;
        try {
            wanted = Heads.parse(SettingsRequest.parser(), request.head());
            SettingsReply present = all();
            @Nullable RpcStatus refusal = leadership.refusal();
            if (refusal != null) {
                request.fail(refusal);
                return;
            }
            if (wanted.getName().isEmpty()) {
                request.reply(present);
                return;
            }
            change = LiveSetting.of(wanted.getName()).change(wanted.getValue());
            requireKnownToAll(wanted.getName(), change);
            FillLimits.of(state.settings().toBuilder().mergeFrom(change).build())
                    .check("of the cluster");
        } catch (FsException e) {
            request.fail(RpcStatus.fail(e.errno(), e.detail()));
            return;
        }
        LOG.info(
                "an administrator at {} sets {} to {}",
                RpcAddress.format(request.peer().address()),
                wanted.getName(),
                wanted.getValue());
        var _ =
                entries.submit(LogEntry.newBuilder().setSettings(change))
                        .whenCompleteAsync(
                                (reply, failure) -> {
                                    if (failure != null) {
                                        request.fail(leadership.unavailable(failure));
                                    } else if (reply.getErrno() != 0) {
                                        request.fail(
                                                RpcStatus.fail(
                                                        Errno.of(reply.getErrno()),
                                                        reply.getDetail()));
                                    } else {
                                        request.reply(all());
                                    }
                                },
                                control);
    }

    /** A member of an older release would stop on the entry. */
    private void requireKnownToAll(String name, ClusterSettings change) {
        int level = Features.level(state.settings());
        if (features.above(change, level) != null) {
            throw new FsException(
                    Errno.EAGAIN,
                    "%s can be set once every member of the group has said that it knows it: the group is at feature level %d; start members that are down, and upgrade those of an older release ('cairn status' names both)"
                            .formatted(name, level));
        }
    }

    private SettingsReply all() {
        ClusterSettings present = state.settings();
        SettingsReply.Builder all = SettingsReply.newBuilder();
        for (LiveSetting setting : LiveSetting.values()) {
            all.addSettings(
                    Setting.newBuilder()
                            .setName(setting.title())
                            .setValue(setting.value(present, configuredReaperRate))
                            .setSet(setting.isSet(present))
                            .setAllowed(setting.allowed())
                            .setMeaning(setting.meaning())
                            .setBuiltIn(setting.isBuiltIn()));
        }
        return all.build();
    }
}
