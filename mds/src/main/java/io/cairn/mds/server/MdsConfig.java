package io.cairn.mds.server;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.HostPort;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import io.cairn.common.jmx.JmxConfig;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemoryConfig;
import io.cairn.mds.raft.MetaLogConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

/** The configuration file of a metadata server. */
public record MdsConfig(
        @Key(
                        value =
                                "Identity of the cluster: a UUID, the same for every metadata server; `client.cluster_id` without its dashes.",
                        example = "6f1d0c1e-7a55-4c1b-9a39-1f3f0f6f2a10")
                String clusterId,
        @Key(value = "Which of the members this server is.", min = "1", example = "1") int memberId,
        @Key(value = "Directory for everything this server keeps.", example = "/var/lib/cairn/mds")
                Path dataDir,
        @Key(
                        value =
                                "Address to listen on; default: this member's `address`. Needed where that is not an"
                                        + " address of this machine.",
                        example = "0.0.0.0:7000")
                Optional<HostPort> listen,
        @Key(
                        value = "Address of the Prometheus endpoint; default: none.",
                        example = "127.0.0.1:7002")
                Optional<HostPort> metricsAddress,
        @Key(
                        value =
                                "Address at which clients of JMX read the beans of the process; default:"
                                        + " none. `[jmx]` says who may.",
                        example = "127.0.0.1:7009")
                Optional<HostPort> jmxAddress,
        @Key(
                        value = "Inodes, and as many directory entries, kept in memory.",
                        defaultValue = "32768",
                        min = "1024",
                        max = "100000000")
                int cachedInodes,
        @Key(
                        "The members of a new group, this one included; one, three or five. `cairn mds`"
                                + " changes them; then this may be the old list or the present one.")
                List<Member> members,
        @Key("The replicated log.") Raft raft,
        @Key("Client sessions.") Sessions sessions,
        @Key("Data servers.") DataServers dataServers,
        @Key("The pool made with a new cluster; of no effect later.") Pool pool,
        @Key("Background work.") Background background,
        @Key("What `cairn status` warns of.") Warnings warnings,
        @Key("The database of the namespace.") RocksConfig rocksdb,
        @Key("Memory of all databases of the process.") RocksMemoryConfig rocksdbMemory,
        @Key("Logins by JMX, and what protects them.") JmxConfig jmx) {

    public MdsConfig {
        try {
            UUID.fromString(clusterId);
        } catch (IllegalArgumentException e) {
            throw new KeyException("cluster_id", "is not a UUID");
        }
        members = List.copyOf(members);
        Set<Integer> ids = new HashSet<>();
        for (Member member : members) {
            KeyException.require(
                    ids.add(member.id), "members", "two members have the id " + member.id);
        }
        KeyException.require(
                members.size() == 1 || members.size() == 3 || members.size() == 5,
                "members",
                "must be one, three or five, not " + members.size());
        KeyException.require(
                ids.contains(memberId), "member_id", "is none of the members' ids: " + ids);
    }

    /** This member's line. */
    Member self() {
        return members.stream().filter(m -> m.id == memberId).findFirst().orElseThrow();
    }

    UUID clusterUuid() {
        return UUID.fromString(clusterId);
    }

    /** A member of the group. */
    public record Member(
            @Key(value = "Its number, for ever.", min = "1", max = "65535", example = "1") int id,
            @Key(
                            value = "Where clients, data servers and the other members reach it.",
                            example = "127.0.0.1:7000")
                    HostPort address,
            @Key(
                            value =
                                    "Where the other members reach its Raft log; cannot change later.",
                            example = "127.0.0.1:7001")
                    HostPort raftAddress) {}

    /** The replicated log. */
    public record Raft(
            @Key(
                            value =
                                    "How members talk to each other: `netty` is faster, `grpc` knows TLS.",
                            defaultValue = "netty")
                    MetaLogConfig.Transport transport,
            @Key(
                            value =
                                    "How long a leader may answer reads after a majority was last with it. A new leader"
                                            + " waits for what is left of it before it answers. The group keeps to the value that it"
                                            + " was made with until all members run with the same other one;"
                                            + " `cairn status` warns while they differ.",
                            defaultValue = "500ms",
                            min = "100ms",
                            max = "1min")
                    Duration leaderLease,
            @Key(
                            value = "A checkpoint is taken after this many log entries.",
                            defaultValue = "200000",
                            min = "100")
                    long checkpointEntries,
            @Key(
                            value =
                                    "A checkpoint is taken after this time, if anything was logged.",
                            defaultValue = "5min",
                            min = "1s")
                    Duration checkpointInterval,
            @Key(
                            value =
                                    "Below this much free space for the log only deletions and opens are taken; the rest gets ENOSPC.",
                            defaultValue = "256MiB")
                    ByteSize softSpaceLimit,
            @Key(value = "Below this much the server stops.", defaultValue = "96MiB")
                    ByteSize hardSpaceLimit,
            @Key(
                            value =
                                    "Whether the Raft port takes connections only from the addresses that the members'"
                                            + " `raft_address` have. Off where a member's connections come from"
                                            + " another one (NAT, several networks).",
                            defaultValue = "true")
                    boolean checkAddresses) {
        public Raft {
            KeyException.require(
                    hardSpaceLimit.compareTo(softSpaceLimit) <= 0,
                    "hard_space_limit",
                    "must not exceed soft_space_limit (" + softSpaceLimit + ")");
        }
    }

    /** Client sessions. */
    public record Sessions(
            @Key(
                            value = "How often clients renew their session.",
                            defaultValue = "5s",
                            min = "10ms")
                    Duration renewInterval,
            @Key(
                            value = "A session not renewed for this long is evicted.",
                            defaultValue = "60s",
                            min = "100ms")
                    Duration expiry) {
        public Sessions {
            KeyException.require(
                    expiry.compareTo(renewInterval.multipliedBy(2)) >= 0,
                    "expiry",
                    "must be at least twice renew_interval");
        }
    }

    /** Data servers. */
    public record DataServers(
            @Key(
                            value =
                                    "How long a data server serves after its last answered heartbeat. Silent longer: it is"
                                            + " marked down, and its placement groups go on with the other replicas. Told to"
                                            + " a data server when it registers; a change is for those that are started after"
                                            + " it.",
                            defaultValue = "3s",
                            min = "100ms",
                            max = "1h")
                    Duration lease,
            @Key(
                            value =
                                    "What the disks of a data server have is placed on others when it has been down for so"
                                            + " long. It gets placement groups again when it is back.",
                            defaultValue = "10min",
                            min = "1s",
                            max = "30d")
                    Duration downOutInterval,
            @Key(
                            value =
                                    "Likewise of a disk that has failed, while its data server is up.",
                            defaultValue = "1min",
                            min = "1s",
                            max = "30d")
                    Duration failedOutInterval,
            @Key(
                            value =
                                    "A disk whose reads or syncs take eight times as long as those of the other disks of"
                                            + " its device class, and more than 50 ms, leaves in-sync sets that can do without"
                                            + " it after so long; the status tells of it after half of that. It joins again"
                                            + " after five times as long.",
                            defaultValue = "1min",
                            min = "1s",
                            max = "1d")
                    Duration slowDiskInterval,
            @Key(
                            value =
                                    "The first PG table is made when this many disks have registered; at least the pool's"
                                            + " size are needed.",
                            defaultValue = "3",
                            min = "1")
                    int bootstrapDisks) {}

    /** The pool made with a new cluster. */
    public record Pool(
            @Key(value = "Replicas of each chunk.", defaultValue = "3", min = "1", max = "16")
                    int size,
            @Key(
                            value =
                                    "With fewer replicas in sync a placement group acknowledges nothing: its writes"
                                            + " wait, reads are served. Absent: 2, and 1 where size is 1.",
                            min = "1",
                            max = "16",
                            example = "2")
                    Optional<Integer> minSize,
            @Key(
                            value =
                                    "Placement groups. Absent: 128, and more as disks come, as with"
                                            + " `cairn pool set default --pgs auto`.",
                            min = "1",
                            max = "65536",
                            example = "128")
                    Optional<Integer> pgCount,
            @Key(
                            value =
                                    "No two replicas of a chunk are in one: disk, server, host or rack.",
                            defaultValue = "server")
                    Domain failureDomain,
            @Key(
                            value = "Size of the chunks files are cut into.",
                            defaultValue = "4MiB",
                            min = "64KiB",
                            max = "64MiB")
                    ByteSize chunkSize) {
        public Pool {
            KeyException.require(
                    minSize.orElse(1) <= size, "min_size", "must not exceed size (" + size + ")");
            KeyException.require(
                    chunkSize.bytes() % 4096 == 0, "chunk_size", "must be a multiple of 4KiB");
        }

        /** As given, or the default for the size. */
        int minSizeOrDefault() {
            return minSize.orElse(Math.min(2, size));
        }
    }

    /** What replicas of one chunk do not share. */
    public enum Domain {
        DISK,
        SERVER,
        HOST,
        RACK
    }

    /** What the administrator is warned of. */
    public record Warnings(
            @Key(
                            value =
                                    "Servers of different releases are a warning when they have differed for so long:"
                                            + " longer than it takes to upgrade all of them. A new leader starts to count again.",
                            defaultValue = "1d",
                            min = "1s")
                    Duration mixedReleasesAfter) {}

    /** Background work. */
    public record Background(
            @Key(
                            value =
                                    "Deleted inodes whose data is removed per second; 0: no limit. Of no"
                                            + " effect once `cairn set reaper.rate` was used.",
                            defaultValue = "0",
                            min = "0")
                    long reaperInodesPerSecond) {}
}
