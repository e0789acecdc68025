package io.cairn.dataserver.ground;

import io.cairn.common.metrics.MeterSpec;

/** Every meter of a data server. */
public enum DataServerMeter implements MeterSpec {
    OPERATION(Kind.TIMER, "", "Requests served, by kind, from arrival to answer", "op"),
    PREPARE(Kind.TIMER, "", "Operations sent to a backup, until it had them durably"),
    BACKUP(
            Kind.TIMER,
            "",
            "Operations that this server got as a backup, from arrival until it had them durably"),
    READ_BYTES(Kind.COUNTER, "bytes", "Bytes that clients have read"),
    WRITTEN_BYTES(
            Kind.COUNTER,
            "bytes",
            "Bytes that clients have written, by what this server is of their placement group (primary"
                    + " or backup): each counts once on every replica",
            "role"),
    COPIED_BYTES(
            Kind.COUNTER,
            "bytes",
            "Bytes of chunks that this server, as primary, has copied to replicas that were away"),
    RESENT_BYTES(
            Kind.COUNTER,
            "bytes",
            "Bytes of operations that this server, as primary, has sent from its log to replicas that"
                    + " were away and had missed them: these need no copy"),
    RECOVERY_RATE(
            Kind.RATE,
            "bytes",
            "What this server may copy to replicas that were away, by how long operations of clients"
                    + " take"),
    IN_FLIGHT(Kind.GAUGE, "bytes", "Uncommitted operations this server is the primary of"),
    PGS(Kind.GAUGE, "", "Placement group replicas of this server, by state", "state"),
    MAP_EPOCH(Kind.GAUGE, "", "Epoch of the cluster map this server has"),
    LEASE(Kind.GAUGE, "seconds", "What is left of the lease from the metadata service"),
    DISK_STATE(
            Kind.GAUGE,
            "",
            "1 for the state that the disk is in (opening, serving or out), 0 for the others",
            "disk",
            "state"),
    DISK_CALL(
            Kind.TIMER,
            "",
            "Calls to a disk that have come back, by file (data, wal, index) and kind (read, write,"
                    + " sync)",
            "disk",
            "file",
            "call"),
    DISK_OUTSTANDING(Kind.GAUGE, "", "Calls to the disk that have not come back yet", "disk"),
    DISK_OLDEST_CALL(
            Kind.GAUGE,
            "seconds",
            "How long the oldest call to the disk that has not come back has waited",
            "disk"),
    WAL_USED(Kind.GAUGE, "bytes", "Write-ahead log not yet flushed to the disk", "disk"),
    WAL_CAPACITY(Kind.GAUGE, "bytes", "Size of the write-ahead log", "disk"),
    DISK_USED(Kind.GAUGE, "bytes", "Space taken by chunks", "disk"),
    DISK_CAPACITY(Kind.GAUGE, "bytes", "Size of the disk", "disk"),
    SLOWDOWN(
            Kind.GAUGE,
            "seconds",
            "How much later than durable operations are acknowledged while the log is filling",
            "disk"),
    CORRUPT_READ(Kind.COUNTER, "", "Reads that met a block that does not match its checksum"),
    CORRUPT_BLOCK(Kind.COUNTER, "", "Blocks found whose content does not match its checksum"),
    BLOCK_REPAIRED(Kind.COUNTER, "", "Damaged blocks given their content back from a replica"),
    BLOCK_REPAIR_FAILED(
            Kind.COUNTER, "", "Damaged blocks that no replica could give their content back"),
    WAITING_FOR_REPAIR(
            Kind.GAUGE,
            "",
            "Damaged blocks that were written to in part: the write waits in the log for their repair",
            "disk"),
    QUARANTINED(
            Kind.GAUGE,
            "",
            "Damaged blocks that no replica could give, until they are overwritten or repaired",
            "disk"),
    SCRUBBED_GROUPS(
            Kind.COUNTER,
            "",
            "Placement groups that were scrubbed to the end, by their primary and kind of scrub",
            "kind"),
    SCRUBBED_BYTES(
            Kind.COUNTER, "bytes", "Bytes of chunks that deep scrubs of primaries here have read"),
    SCRUB_DIFFERENCE(
            Kind.COUNTER, "", "Differences between complete replicas that scrubs have found"),
    SCRUB_AGE(
            Kind.GAUGE,
            "seconds",
            "Since the last scrub of the placement group with its primary here that has waited"
                    + " longest, by kind of scrub",
            "kind"),
    CORRUPT_REQUEST(Kind.COUNTER, "", "Requests whose data did not match its checksums");

    private final Definition definition;

    DataServerMeter(Kind kind, String unit, String description, String... tagNames) {
        definition = Definition.of(kind, unit, description, tagNames);
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.dataserver";
    }
}
