package io.cairn.client.base;

import io.cairn.common.metrics.MeterSpec;

/** Every meter of a client. */
public enum ClientMeter implements MeterSpec {
    OPERATION(Kind.TIMER, "", "Operations as their caller sees them", "op"),
    READ_BYTES(Kind.COUNTER, "bytes", "Bytes of files read"),
    WRITTEN_BYTES(Kind.COUNTER, "bytes", "Bytes of files written"),
    READ_AHEAD_BYTES(
            Kind.COUNTER,
            "bytes",
            "Bytes read ahead of readers: fetched from data servers; of these served to readers, and"
                    + " dropped because nobody read them in time or they did not count any more",
            "what"),
    READ_AHEAD_HELD(
            Kind.GAUGE, "bytes", "Memory of what is read ahead, and of requests in flight for it"),
    IN_FLIGHT(Kind.GAUGE, "bytes", "Bytes of data requests in flight, read-ahead included"),
    HELD(Kind.GAUGE, "bytes", "Memory of writes that are not answered, sent or not"),
    WRITE_BEHIND(
            Kind.GAUGE, "bytes", "Data of writes that were answered and that is not durable yet"),
    STUCK_HELD(
            Kind.GAUGE, "bytes", "Of held, that of writes for placement groups that do not answer"),
    STUCK_PGS(
            Kind.GAUGE,
            "",
            "Placement groups that have not answered for a tenth of attempt_timeout"),
    REFUSED_WRITES(
            Kind.COUNTER, "", "Writes refused with ENOMEM because those that wait hold max_held"),
    QUEUED(Kind.GAUGE, "", "Data requests that wait for room or to be repeated"),
    MUTATIONS_OUTSTANDING(Kind.GAUGE, "", "Metadata changes queued or not yet answered"),
    OPEN_INODES(Kind.GAUGE, "", "Files this client holds open"),
    OWN_DIRECTORIES(
            Kind.GAUGE,
            "",
            "Directories that this client has made and no other client has asked for"),
    NAMES_ANSWERED(
            Kind.COUNTER,
            "",
            "Names made and removed in such directories before the MDS was asked"),
    NAMES_LOST(
            Kind.COUNTER,
            "",
            "Names of which programs were told that they were made or removed, and which the MDS has"
                    + " not made or removed"),
    UNPUBLISHED_INODES(Kind.GAUGE, "", "Files whose new size or mtime the MDS was not told yet"),
    MAP_EPOCH(Kind.GAUGE, "", "Epoch of the cluster map this client has"),
    RETRIES(Kind.COUNTER, "", "Requests sent again", "plane"),
    SESSIONS_ENDED(
            Kind.COUNTER,
            "",
            "Sessions that the cluster ended, as for a client that was not heard of, or that could"
                    + " not go on; each was followed by another"),
    WRITES_LOST(
            Kind.COUNTER,
            "",
            "Open files of which writes or locks were lost with a session: programs are told EIO"),
    CHECKSUM_ERRORS(Kind.COUNTER, "", "Blocks received with a wrong checksum"),
    APPEND_RIGHTS(
            Kind.COUNTER,
            "",
            "Rights to append to a file acquired by a request of their own, and returned because"
                    + " another client appends to it too",
            "change"),
    LOCK_WAITS(Kind.COUNTER, "", "Locks had after waiting for another owner's");

    private final Definition definition;

    ClientMeter(Kind kind, String unit, String description, String... tagNames) {
        definition = Definition.of(kind, unit, description, tagNames);
    }

    @Override
    public Definition definition() {
        return definition;
    }

    @Override
    public String prefix() {
        return "cairn.client";
    }
}
