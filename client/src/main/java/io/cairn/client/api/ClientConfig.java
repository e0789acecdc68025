package io.cairn.client.api;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.Config;
import io.cairn.common.config.HostPort;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** What a client needs to know of its cluster, and its limits. */
public record ClientConfig(
        @Key(
                        value =
                                "Addresses of the MDS members. One that answers is enough to find"
                                        + " the others. `cairn mount` takes those of its command line.",
                        example = "127.0.0.1:7000")
                List<HostPort> mds,
        @Key(
                        value =
                                "Identity of the cluster, 32 hexadecimal digits. Without it the"
                                        + " first MDS member that answers decides.",
                        example = "00112233445566778899aabbccddeeff")
                Optional<String> clusterId,
        @Key(
                        value =
                                "Directory of the file system that becomes the root of this client.",
                        defaultValue = "/")
                String path,
        @Key(
                        value =
                                "What the administrator sees of this client; if it is not given,"
                                        + " host, mount point and process.",
                        example = "build farm 3")
                Optional<String> description,
        @Key(
                        value = "How long connecting to the cluster may take.",
                        defaultValue = "10s",
                        min = "100ms",
                        max = "1h")
                Duration connectTimeout,
        @Key(
                        value =
                                "How long an operation on metadata is repeated before it fails with"
                                        + " ETIMEDOUT. Without it: until it is answered, as NFS"
                                        + " mounted hard does.",
                        example = "60s",
                        min = "100ms",
                        max = "1d")
                Optional<Duration> metadataTimeout,
        @Key(
                        value =
                                "How long a read or write of data is repeated before it fails with"
                                        + " EIO. Without it: until it is answered.",
                        example = "120s",
                        min = "100ms",
                        max = "1d")
                Optional<Duration> ioTimeout,
        @Key(
                        value =
                                "How long one attempt at a request may take before it is repeated"
                                        + " elsewhere.",
                        defaultValue = "10s",
                        min = "50ms",
                        max = "10min")
                Duration attemptTimeout,
        @Key(
                        value =
                                "Bytes of data requests in flight at once; what goes beyond waits"
                                        + " its turn. Requests to placement groups that do not"
                                        + " answer are not counted. Files are read ahead while less"
                                        + " than half of it is in use, and that keeps nothing else"
                                        + " waiting.",
                        defaultValue = "32MiB",
                        min = "1MiB",
                        max = "16GiB")
                ByteSize maxInFlight,
        @Key(
                        value =
                                "Memory that writes may take from when programs issue them until"
                                        + " they are answered; half of it where their data servers"
                                        + " do not answer. A write beyond waits until they have not"
                                        + " answered for client.attempt_timeout; then it fails with"
                                        + " ENOMEM. The"
                                        + " JVM's direct memory must be larger by half, and by"
                                        + " client.read_ahead_memory.",
                        defaultValue = "512MiB",
                        min = "16MiB",
                        max = "64GiB")
                ByteSize maxHeld,
        @Key(
                        value =
                                "How far ahead of a program that reads a file in order the mount"
                                        + " reads at most, for files that go through the page"
                                        + " cache. It begins with what was read so far. 0B: not at"
                                        + " all, what the kernel reads ahead remains.",
                        defaultValue = "16MiB",
                        max = "1GiB")
                ByteSize readAhead,
        @Key(
                        value =
                                "Memory for what is read ahead, of all files. One reader gets no"
                                        + " more than it leaves free; without memory nothing is"
                                        + " read ahead. It is part of the JVM's direct memory.",
                        defaultValue = "64MiB",
                        min = "1MiB",
                        max = "64GiB")
                ByteSize readAheadMemory,
        @Key(
                        value = "Batches of metadata changes in flight at once.",
                        defaultValue = "8",
                        min = "1",
                        max = "16")
                int metadataPipeline,
        @Key(
                        value =
                                "How long a new size or modification time may stay unknown to the"
                                        + " MDS when nothing asks for it to be published.",
                        defaultValue = "1s",
                        min = "50ms",
                        max = "1min")
                Duration publishInterval,
        @Key(
                        value =
                                "Data that programs have written and that is not yet on the data"
                                        + " servers, of files that this client has made and that no"
                                        + " other one has asked for; writes beyond it wait. It is"
                                        + " part of client.max_held. 0B: every write waits. What is"
                                        + " not synced is lost if the client's machine fails.",
                        defaultValue = "64MiB",
                        max = "16GiB")
                ByteSize writeBehind,
        @Key(
                        value =
                                "Whether the MDS has committed each change of a file's attributes"
                                        + " before the program that makes it goes on, and sizes"
                                        + " before it closes the file. Otherwise what is done to a"
                                        + " file that this client has made, and that no other one"
                                        + " has asked for, is committed some milliseconds later; it"
                                        + " can be lost if the client's machine fails, unless the"
                                        + " file is synced.",
                        defaultValue = "false")
                boolean syncMetadata,
        @Key(
                        value =
                                "Whether names are made and removed, in directories that this"
                                        + " client has made and that no other one has looked at,"
                                        + " before the MDS has committed that; it follows some"
                                        + " milliseconds later, and can be lost if the client's"
                                        + " machine fails, unless the file or its directory is"
                                        + " synced. Nothing with client.sync_metadata.",
                        defaultValue = "true")
                boolean earlyNames,
        @Key(
                        value = "Event loops that carry the network traffic.",
                        defaultValue = "2",
                        min = "1",
                        max = "64")
                int eventLoops) {
    public ClientConfig {
        KeyException.require(
                mds.stream().allMatch(a -> a.port() > 0), "mds", "an address needs a port above 0");
        KeyException.require(path.startsWith("/"), "path", "must start with '/'");
        KeyException.require(
                !path.matches(".*/\\.\\.?(/.*)?"), "path", "must not contain '.' and '..'");
        KeyException.require(
                clusterId.isEmpty() || clusterId.get().matches("[0-9a-fA-F]{32}"),
                "cluster_id",
                "must be 32 hexadecimal digits");
        KeyException.require(
                ioTimeout.isEmpty() || attemptTimeout.compareTo(ioTimeout.get()) <= 0,
                "attempt_timeout",
                "must not be longer than io_timeout");
        mds = List.copyOf(mds);
    }

    /** With this description, unless the configuration has one. */
    public ClientConfig describedAs(String text) {
        return with(
                mds,
                Optional.of(description.orElse(text)),
                metadataTimeout,
                ioTimeout,
                attemptTimeout,
                syncMetadata);
    }

    /** With these MDS members instead of the configuration's. */
    public ClientConfig connectingTo(List<HostPort> members) {
        return with(members, description, metadataTimeout, ioTimeout, attemptTimeout, syncMetadata);
    }

    /** Every operation is repeated this long instead of as configured; for ever if it is empty. */
    public ClientConfig givingUpAfter(Optional<Duration> limit) {
        Duration attempt =
                limit.filter(l -> l.compareTo(attemptTimeout) < 0).orElse(attemptTimeout);
        return with(mds, description, limit, limit, attempt, syncMetadata);
    }

    /** The MDS commits what is done to attributes before the program goes on. */
    public ClientConfig syncingMetadata() {
        return with(mds, description, metadataTimeout, ioTimeout, attemptTimeout, true);
    }

    private ClientConfig with(
            List<HostPort> members,
            Optional<String> text,
            Optional<Duration> metadata,
            Optional<Duration> io,
            Duration attempt,
            boolean synced) {
        return new ClientConfig(
                members,
                clusterId,
                path,
                text,
                connectTimeout,
                metadata,
                io,
                attempt,
                maxInFlight,
                maxHeld,
                readAhead,
                readAheadMemory,
                metadataPipeline,
                publishInterval,
                writeBehind,
                synced,
                earlyNames,
                eventLoops);
    }

    /** The defaults, for a cluster with these MDS members. */
    public static ClientConfig of(List<HostPort> mds) {
        String addresses = String.join("\", \"", mds.stream().map(HostPort::toString).toList());
        return Config.parse("client.toml", "mds = [\"" + addresses + "\"]\n", ClientConfig.class);
    }
}
