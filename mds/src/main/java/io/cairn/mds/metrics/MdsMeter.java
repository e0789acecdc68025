package io.cairn.mds.metrics;

import io.cairn.common.metrics.MeterSpec;

/** Every meter of the metadata server. */
public enum MdsMeter implements MeterSpec {
    OPERATION(Kind.TIMER, "", "Requests answered, by method", "op"),
    MUTATION(Kind.TIMER, "", "Mutations committed, by kind; the time is their batch's", "op"),
    BATCH(Kind.DISTRIBUTION, "", "Mutations per log entry"),
    SESSIONS(Kind.GAUGE, "", "Open client sessions, evicted ones not yet released included"),
    EVICTIONS(Kind.COUNTER, "", "Sessions evicted because they were not renewed in time"),
    APPEND_RECALLS(
            Kind.COUNTER,
            "",
            "Append rights asked back from a session because another one appends to the file too, by"
                    + " this leader"),
    APPEND_WAITING(Kind.GAUGE, "", "Sessions that wait for the append right of a file"),
    LOCKS(Kind.GAUGE, "", "Locks of files and of ranges that sessions hold"),
    LOCK_WAITING(Kind.GAUGE, "", "Calls that wait for a lock, as this leader knows them"),
    DEADLOCKS(Kind.COUNTER, "", "Calls for a lock refused with EDEADLK, by this leader"),
    READ_OPENS(
            Kind.GAUGE,
            "",
            "Files that sessions have open for reading only, each counted once for a session, as this"
                    + " leader knows them"),
    RECLAIMS_AWAITED(
            Kind.GAUGE,
            "",
            "Sessions that have not told this leader what they have open for reading: until then no"
                    + " removed file is freed"),
    READ_LEASES(
            Kind.GAUGE,
            "",
            "Names and attributes that sessions may believe without asking, as this leader knows them"),
    READ_LEASES_GRANTED(Kind.COUNTER, "", "Such leases granted or renewed, by this leader"),
    DELEGATIONS(
            Kind.GAUGE,
            "",
            "Files that sessions have made and that no other one has asked for, so that changes to"
                    + " them are answered before they are committed, as this leader knows them"),
    DELEGATIONS_RECALLED(
            Kind.COUNTER, "", "Such files that another session asked for, at this leader"),
    DELEGATION_WAITS(
            Kind.COUNTER,
            "",
            "Answers that waited until a session had told what it did to files it made, by this"
                    + " leader"),
    SIZES_ASKED(
            Kind.COUNTER,
            "",
            "Sessions that were asked to publish what they wrote to files they hold open, because"
                    + " another one asked for the attributes, by this leader"),
    READ_RECALLS(
            Kind.COUNTER,
            "",
            "Times a session was asked to forget what another one changed, by this leader"),
    READ_RECALLS_LATE(
            Kind.COUNTER,
            "",
            "Of those, how many ended because the lease ran out: the session did not answer"),
    READ_WAITS(
            Kind.COUNTER,
            "",
            "Answers that waited until other sessions had forgotten what they contradict, by this"
                    + " leader"),
    INODES(Kind.GAUGE, "", "Inodes in use"),
    DELETION_BACKLOG(Kind.GAUGE, "", "Inodes whose data is still to be deleted"),
    DELETION_BACKLOG_BYTES(Kind.GAUGE, "bytes", "Sizes of those inodes"),
    DELETIONS(Kind.COUNTER, "", "Inodes whose data was deleted, by this leader"),
    DELETION_RATE(Kind.RATE, "", "Inodes deleted per second, lately"),
    DELETION_ETA(Kind.GAUGE, "seconds", "Time until the backlog is gone at that rate; -1: unknown"),
    ORPHANS(
            Kind.GAUGE,
            "",
            "Inodes with data that belongs to no file, by state, as the leader has counted them last",
            "state"),
    ORPHAN_BYTES(
            Kind.GAUGE,
            "bytes",
            "What those have, on one replica, as scrubs found it last",
            "state"),
    TRUNCATIONS(Kind.COUNTER, "", "Shrinks carried to all data servers, by this leader"),
    CONTROL_FAILURES(
            Kind.COUNTER, "", "Tasks of the control thread that threw: faults, see the log"),
    TRUNCATION_WAITS(
            Kind.GAUGE, "", "Shrinks of shared files whose callers wait until all chunks are cut"),
    MAP_EPOCH(Kind.GAUGE, "", "Epoch of the cluster map"),
    MAP_PUSHED(
            Kind.COUNTER,
            "bytes",
            "Increments and whole maps sent to clients and data servers without being asked, by this"
                    + " member"),
    MAP_WHOLE(
            Kind.COUNTER,
            "",
            "Whole maps sent to clients and data servers that had none or had missed too much, in"
                    + " answers or without being asked, by this member"),
    SERVERS_UP(Kind.GAUGE, "", "Data servers that are up"),
    PGS_DEGRADED(
            Kind.GAUGE, "", "Placement groups with fewer replicas in sync than they should have"),
    PGS_BELOW_MINIMUM(
            Kind.GAUGE,
            "",
            "Placement groups with fewer replicas in sync than min_size of their pool: writes wait"),
    PGS_TO_SPLIT(
            Kind.GAUGE,
            "",
            "Placement groups that pools are to have more than they have: they are split off one by one"),
    PGS_TO_MERGE(
            Kind.GAUGE,
            "",
            "Placement groups that pools have more than they are to have: they are merged one by one"),
    DISKS_NEAR_FULL(Kind.GAUGE, "", "Disks that are near full, or full"),
    DISKS_FULL(Kind.GAUGE, "", "Disks that are full"),
    POOLS_NEAR_FULL(Kind.GAUGE, "", "Pools that are near full, or full"),
    POOLS_FULL(Kind.GAUGE, "", "Pools that take no new data, as a disk of them is full"),
    LEADING(Kind.GAUGE, "", "1 while this member leads and may answer"),
    RAFT_TERM(Kind.GAUGE, "", "Newest Raft term known"),
    RAFT_COMMITTED(Kind.GAUGE, "", "Index of the last log entry known committed"),
    RAFT_APPLY_LAG(Kind.GAUGE, "", "Committed log entries not applied yet"),
    RAFT_LOG_SIZE(Kind.GAUGE, "bytes", "Size of the Raft log's files"),
    RAFT_SINCE_CHECKPOINT(Kind.GAUGE, "", "Log entries applied since the last checkpoint"),
    RAFT_DISK_FREE(Kind.GAUGE, "bytes", "Free space of the file system the Raft log is on"),
    RAFT_REFUSED(Kind.GAUGE, "", "Requests and connections at the Raft port that were no member's");

    private final Definition definition;

    MdsMeter(Kind kind, String unit, String description, String... tagNames) {
        definition = Definition.of(kind, unit, description, tagNames);
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.mds";
    }
}
