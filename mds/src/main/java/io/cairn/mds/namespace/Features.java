package io.cairn.mds.namespace;

import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DiscardUnknownFieldsParser;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.Parser;
import io.cairn.mds.proto.ClusterSettings;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which operations and fields the entries of the log may have. Members of two versions must never
 * apply an entry differently: one would refuse, or execute in part, what the other executes.
 *
 * <p>The group has a feature level. It is in the replicated state, and rises once every member
 * knows a higher one. A new operation, or a new field of one, needs the level in the table here.
 * Until the group has that level, the leader refuses it before it is logged, just as it refuses
 * what it does not know. A member that finds something unknown in the log all the same stops. Where
 * an operation changes its meaning, apply asks for the level too: both meanings stay in the code
 * until no group can be at the older level.
 *
 * <p>Any thread.
 */
public final class Features {
    /** The level this version knows; raised with every entry in the table. */
    public static final int CURRENT = 10;

    /** From this level on the map has the lease of each data server. */
    public static final int SERVER_LEASES = 3;

    /** From this level on the map says of each data server whether it recovers learners. */
    public static final int RECOVERY = 4;

    /**
     * From this level on disks have weights and device classes, what the map has can be removed
     * from it, there may be several pools, scrubs can be held back, one entry evicts many sessions,
     * and disks can be slow.
     */
    public static final int ELASTIC = 5;

    /** From this level on the members of the group change: every member takes such entries. */
    public static final int MEMBERSHIP = 5;

    /**
     * From this level on placement groups split, files move between pools, data without a file is
     * looked for, and clients have locks in common.
     */
    public static final int GROWTH = 6;

    /**
     * From this level on only the leader knows who has a file open for reading, and files without a
     * name are freed by an entry of their own.
     */
    public static final int READ_OPENS = 7;

    /**
     * From this level on a file that grows under the fence of a move gets no higher ceiling, a
     * session does not begin a move of a file again, and a mover counts for no writer.
     */
    public static final int SOUND_MOVES = 7;

    /** From this level on placement groups can be merged. */
    public static final int MERGING = 8;

    /** From this level on one change of the map splits several placement groups of a pool. */
    public static final int SPLITS_TOGETHER = 8;

    /** From this level on it can be set how fast replicas are brought up to date. */
    public static final int RECOVERY_LIMITS = 8;

    /** From this level on the results of mutations say which changes of the inode are theirs. */
    public static final int OWN_CHANGES = 9;

    /** From this level on files and directories are delegated to the session that made them. */
    public static final int DELEGATIONS = 10;

    /** From this level on sessions have ranges of inode ids of their own. */
    public static final int ID_RANGES = 10;

    /**
     * From this level on clients tell of the bytes that failed writes have left beyond the size.
     */
    public static final int LEFTOVERS = 7;

    /** What came after level 1: the full name of each new field or operation, and its level. */
    private static final Map<String, Integer> SINCE =
            Map.ofEntries(
                    Map.entry("cairn.ClusterSettings.reaper_inodes_per_second", 2),
                    Map.entry("cairn.ClusterSettings.no_out", RECOVERY),
                    Map.entry("cairn.ClusterSettings.no_rebalance", RECOVERY),
                    Map.entry("cairn.ClusterSettings.no_down", ELASTIC),
                    Map.entry("cairn.ClusterSettings.no_recover", ELASTIC),
                    Map.entry("cairn.ClusterSettings.no_scrub", ELASTIC),
                    Map.entry("cairn.ClusterSettings.pause", ELASTIC),
                    Map.entry("cairn.ClusterSettings.moves_per_disk", ELASTIC),
                    Map.entry("cairn.Server.lease_millis", SERVER_LEASES),
                    Map.entry("cairn.Server.recovers", RECOVERY),
                    Map.entry("cairn.Server.removed", ELASTIC),
                    Map.entry("cairn.Disk.absent", RECOVERY),
                    Map.entry("cairn.Disk.weight_permille", ELASTIC),
                    Map.entry("cairn.Disk.removed", ELASTIC),
                    Map.entry("cairn.Disk.device_class", ELASTIC),
                    Map.entry("cairn.Disk.slow", ELASTIC),
                    Map.entry("cairn.Pool.replica_classes", ELASTIC),
                    Map.entry("cairn.Pool.removed", ELASTIC),
                    Map.entry("cairn.EvictSessionEntry.sessions", ELASTIC),
                    Map.entry("cairn.ClusterSettings.orphan_age_seconds", GROWTH),
                    Map.entry("cairn.ClusterSettings.orphan_removal", GROWTH),
                    Map.entry("cairn.ClusterSettings.orphan_share_permille", GROWTH),
                    Map.entry("cairn.LogEntry.orphans_found", GROWTH),
                    Map.entry("cairn.LogEntry.orphans_changed", GROWTH),
                    Map.entry("cairn.ReapedEntry.orphans", GROWTH),
                    Map.entry("cairn.Pool.pg_base", GROWTH),
                    Map.entry("cairn.Pool.pg_target", GROWTH),
                    Map.entry("cairn.Pool.pg_auto", GROWTH),
                    Map.entry("cairn.PlacementGroup.split_epoch", GROWTH),
                    Map.entry("cairn.Server.splits", GROWTH),
                    Map.entry("cairn.Server.merges", 7),
                    Map.entry("cairn.Server.unites", MERGING),
                    Map.entry("cairn.Pool.merged_epoch", MERGING),
                    Map.entry("cairn.PlacementGroup.merge_epoch", MERGING),
                    Map.entry("cairn.PlacementGroup.merge_flushed", MERGING),
                    Map.entry("cairn.PlacementGroup.made_epoch", MERGING),
                    Map.entry("cairn.ClusterSettings.near_full_percent", GROWTH),
                    Map.entry("cairn.ClusterSettings.recovery_bytes_per_second", RECOVERY_LIMITS),
                    Map.entry(
                            "cairn.ClusterSettings.recovery_operations_per_second",
                            RECOVERY_LIMITS),
                    Map.entry("cairn.ClusterSettings.full_percent", GROWTH),
                    Map.entry("cairn.Mutation.move", GROWTH),
                    Map.entry("cairn.LogEntry.move_ended", GROWTH),
                    Map.entry("cairn.ReapedEntry.left", GROWTH),
                    Map.entry("cairn.Disk.fill", GROWTH),
                    Map.entry("cairn.Pool.near_full_percent", GROWTH),
                    Map.entry("cairn.Pool.full_percent", GROWTH),
                    Map.entry("cairn.Pool.fill", GROWTH),
                    Map.entry("cairn.Mutation.set_lock", GROWTH),
                    Map.entry("cairn.OpenSessionEntry.reclaims", READ_OPENS),
                    Map.entry("cairn.LogEntry.free_inodes", READ_OPENS),
                    Map.entry("cairn.OpenSessionEntry.delegates", DELEGATIONS),
                    Map.entry("cairn.GrowOp.keeps_times", DELEGATIONS),
                    Map.entry("cairn.MkdirOp.open", DELEGATIONS),
                    Map.entry("cairn.Mutation.own_inode", ID_RANGES),
                    Map.entry("cairn.Mutation.acquire_ids", ID_RANGES),
                    Map.entry("cairn.Mutation.return_ids", ID_RANGES),
                    Map.entry("cairn.ReapedEntry.unused_ids", ID_RANGES),
                    Map.entry("cairn.GrowOp.leftovers", LEFTOVERS));

    private final Map<String, Integer> since;

    public Features() {
        this(SINCE);
    }

    Features(Map<String, Integer> since) {
        this.since = since;
    }

    /** The level of a group whose state says this. */
    public static int level(ClusterSettings settings) {
        return Math.max(1, settings.getFeatureLevel());
    }

    /**
     * Why this version cannot work on a group with these settings, null if it can.
     *
     * @param what of which this is said, such as a directory
     */
    public static @Nullable String objection(ClusterSettings settings, String what) {
        return level(settings) <= CURRENT
                ? null
                : what
                        + " is of feature level "
                        + level(settings)
                        + ", this version of Cairn knows "
                        + CURRENT
                        + ": upgrade this member";
    }

    /**
     * Parses, and says quickly whether anything was not known: then the message without it is
     * smaller than the bytes.
     *
     * @return null if something was not known, or was not encoded as this version would
     */
    public static <M extends Message> @Nullable M plain(Parser<M> parser, ByteBuffer bytes)
            throws InvalidProtocolBufferException {
        int size = bytes.remaining();
        M message = DiscardUnknownFieldsParser.wrap(parser).parseFrom(bytes);
        return message.getSerializedSize() == size ? message : null;
    }

    /** The first thing in the message that this version does not know, null if it knows all. */
    public static @Nullable String unknown(Message message) {
        if (!message.getUnknownFields().asMap().isEmpty()) {
            return "field %d of %s"
                    .formatted(
                            message.getUnknownFields().asMap().keySet().iterator().next(),
                            message.getDescriptorForType().getFullName());
        }
        for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
            for (Object value : values(field.getValue())) {
                @Nullable String found =
                        switch (value) {
                            case Message inner -> unknown(inner);
                            case EnumValueDescriptor e when e.getIndex() < 0 ->
                                    "value %d of %s"
                                            .formatted(e.getNumber(), field.getKey().getFullName());
                            default -> null;
                        };
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }

    /** The first field of the message that needs more than the level, null if there is none. */
    public @Nullable String above(Message message, int level) {
        if (since.isEmpty()) {
            return null;
        }
        for (Map.Entry<FieldDescriptor, Object> field : message.getAllFields().entrySet()) {
            String name = field.getKey().getFullName();
            if (since.getOrDefault(name, 1) > level) {
                return name;
            }
            for (Object value : values(field.getValue())) {
                @Nullable String found =
                        value instanceof Message inner ? above(inner, level) : null;
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }

    private static List<?> values(Object value) {
        return value instanceof List<?> list ? list : List.of(value);
    }
}
