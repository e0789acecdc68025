package io.cairn.dataserver.ground;

import io.cairn.common.config.ByteSize;
import io.cairn.common.config.HostPort;
import io.cairn.common.config.Key;
import io.cairn.common.config.KeyException;
import io.cairn.common.data.BlockCrc;
import io.cairn.common.jmx.JmxConfig;
import io.cairn.common.rocks.RocksConfig;
import io.cairn.common.rocks.RocksMemoryConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** {@code dataserver.toml}: one data server process. */
public record DataServerConfig(
        @Key(
                        value =
                                "Directory of the server's identity: its id, the cluster it belongs"
                                        + " to, and the lock against a second process.",
                        example = "/var/lib/cairn/data-1")
                Path stateDir,
        @Key(
                        value = "Address to listen on; port 0 takes any free one.",
                        defaultValue = "127.0.0.1:0")
                HostPort listen,
        @Key(
                        value =
                                "Address under which clients and other servers reach this one, if it"
                                        + " is not the one it listens on; needed with 0.0.0.0.",
                        example = "data1.example.org:7100")
                Optional<HostPort> advertise,
        @Key(value = "The members of the metadata service.", example = "127.0.0.1:7000")
                List<HostPort> mds,
        @Key(value = "The machine, as failure domain.", defaultValue = "localhost") String host,
        @Key(value = "The rack, as failure domain.", defaultValue = "default") String rack,
        @Key(
                        value = "Address of the Prometheus endpoint; none if it is not given.",
                        example = "127.0.0.1:7101")
                Optional<HostPort> metricsAddress,
        @Key(
                        value =
                                "Address at which clients of JMX read the beans of the process; default:"
                                        + " none. `[jmx]` says who may.",
                        example = "127.0.0.1:7109")
                Optional<HostPort> jmxAddress,
        @Key(
                        value = "Network threads; 0 takes one per core, at most 4.",
                        defaultValue = "0",
                        min = "0",
                        max = "64")
                int eventLoops,
        @Key(
                        value =
                                "How long a new server waits at its first start for a metadata"
                                        + " server to say which cluster this is.",
                        defaultValue = "1min",
                        min = "1s",
                        max = "1d")
                Duration joinTimeout,
        @Key(
                        value =
                                "How often the metadata service is told that this server lives. The"
                                        + " lease that it told at the registration must be several times as long.",
                        defaultValue = "500ms",
                        min = "10ms",
                        max = "1min")
                Duration heartbeat,
        @Key(
                        value =
                                "Operations that may be in flight in this process at once, in bytes"
                                        + " of their data; beyond it clients are told to retry. A"
                                        + " share of the direct memory of the process"
                                        + " (-XX:MaxDirectMemorySize) and of the write-ahead logs"
                                        + " bounds them too: five eighths of the memory, divided by"
                                        + " twice the number of data servers and one.",
                        defaultValue = "64MiB",
                        min = "8MiB",
                        max = "16GiB")
                ByteSize maxInFlight,
        @Key(
                        value =
                                "Space of every disk that is left, at least, for what other servers"
                                        + " have in flight to it; as much again is left for"
                                        + " overwrites. The same on all data servers.",
                        defaultValue = "4MiB",
                        min = "0B",
                        max = "16GiB")
                ByteSize reserve,
        @Key("What is copied to replicas that were away.") RecoveryConfig recovery,
        @Key("The disks this process serves, at least one.") List<DiskTable> disk,
        @Key("Looking for damage.") ScrubConfig scrub,
        @Key("The chunk indexes.") RocksConfig rocksdb,
        @Key("Memory of all databases of the process.") RocksMemoryConfig rocksdbMemory,
        @Key("Logins by JMX, and what protects them.") JmxConfig jmx) {

    private static final Set<String> EVERY_ADDRESS = Set.of("0.0.0.0", "::", "[::]");

    public DataServerConfig {
        KeyException.require(!disk.isEmpty(), "disk", "must be given at least once");
        KeyException.require(
                advertise.isPresent() || !EVERY_ADDRESS.contains(listen.host()),
                "advertise",
                "must be given where listen is " + listen.host() + ", which nobody can connect to");
        try {
            var _ = rocksdb.sharedBy(disk.size());
        } catch (KeyException e) {
            throw new KeyException("rocksdb." + e.key(), e.problem());
        }
    }

    /** Of a disk. */
    public enum DiskClass {
        AUTO,
        SSD,
        HDD
    }

    /** What the chunk index of each disk is opened with: its share of the fast device. */
    public RocksConfig rocksdbOfEachDisk() {
        return rocksdb.sharedBy(disk.size());
    }

    /** One {@code [[disk]]}. */
    public record DiskTable(
            @Key(
                            value =
                                    "The data file, whose space is kept ahead of need, or a raw block"
                                            + " device: where chunks end up (HDD).",
                            example = "/var/lib/cairn/data-1/disk/data")
                    Path data,
            @Key(
                            value = "Directory of the write-ahead log (SSD).",
                            example = "/var/lib/cairn/data-1/disk/wal")
                    Path wal,
            @Key(
                            value = "Directory of the chunk index (SSD).",
                            example = "/var/lib/cairn/data-1/disk/index")
                    Path index,
            @Key(
                            value =
                                    "Size of the data file when it is made; 0B takes all of a block"
                                            + " device.",
                            defaultValue = "0B")
                    ByteSize capacity,
            @Key(
                            value =
                                    "Size of the write-ahead log, 4 to 65536 times wal_segment."
                                            + " Counts when the disk is made, and not later.",
                            defaultValue = "1GiB",
                            min = "32MiB")
                    ByteSize walSize,
            @Key(
                            value =
                                    "Size of one segment of the write-ahead log, a multiple of 4KiB;"
                                            + " the longest write has to fit. Must stay as it was when"
                                            + " the disk was made.",
                            defaultValue = "64MiB",
                            min = "8MiB",
                            max = "1GiB")
                    ByteSize walSegment,
            @Key(
                            value =
                                    "Free space below which the file system of the index admits no"
                                            + " writes; twice as much stays free where the data file"
                                            + " is.",
                            defaultValue = "64MiB",
                            min = "0B")
                    ByteSize minimumFree,
            @Key(
                            value =
                                    "How long an operation may wait for the flusher while the log is"
                                            + " idle.",
                            defaultValue = "500ms",
                            min = "1ms",
                            max = "1h")
                    Duration flushInterval,
            @Key(
                            value = "Threads that read from this disk.",
                            defaultValue = "4",
                            min = "1",
                            max = "256")
                    int ioThreads,
            @Key(
                            value =
                                    "Writes of at least this length go straight to new blocks of the"
                                            + " data file, which is synced before the log records"
                                            + " them; shorter ones, and those over existing blocks,"
                                            + " go through the log. 0B: all do.",
                            defaultValue = "256KiB",
                            min = "0B",
                            max = "1GiB")
                    ByteSize directWrite,
            @Key(
                            value =
                                    "What it is to pools that ask for disks of one kind: ssd, hdd, or auto,"
                                            + " which asks the kernel what the data file is on.",
                            defaultValue = "auto")
                    DiskClass deviceClass,
            @Key(
                            value =
                                    "A disk of which a read, a write or a sync has not come back for so"
                                            + " long is out of service: its placement groups go on with"
                                            + " their other replicas.",
                            defaultValue = "10s",
                            min = "1s",
                            max = "10min")
                    Duration hungAfter) {
        private static final int PAGE = BlockCrc.BLOCK_BYTES;

        public DiskTable {
            checkSizes(capacity.bytes(), walSize.bytes(), walSegment.bytes(), directWrite.bytes());
        }

        /**
         * The rules that the sizes of a disk obey among each other, for whoever reads them as well.
         */
        public static void checkSizes(
                long capacityBytes, long walBytes, long walSegmentBytes, long directWriteBytes) {
            KeyException.require(capacityBytes >= 0, "capacity", "must not be negative");
            KeyException.require(
                    capacityBytes == 0 || capacityBytes >= 256L * PAGE,
                    "capacity",
                    "must be at least 1 MiB");
            KeyException.require(
                    walSegmentBytes % PAGE == 0, "wal_segment", "must be a multiple of 4 KiB");
            KeyException.require(
                    walSegmentBytes >= 4 * PAGE, "wal_segment", "must be at least 16 KiB");
            KeyException.require(
                    walBytes % walSegmentBytes == 0 && walBytes / walSegmentBytes >= 4,
                    "wal_size",
                    "must be a multiple of wal_segment, at least 4 segments");
            KeyException.require(
                    walBytes / walSegmentBytes <= 65536,
                    "wal_size",
                    "must be at most 65536 segments");
            KeyException.require(
                    directWriteBytes == 0 || directWriteBytes >= PAGE,
                    "direct_write",
                    "must be 0 or at least 4 KiB");
        }
    }
}
