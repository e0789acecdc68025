package io.cairn.dataserver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.common.data.DataOp;
import io.cairn.common.proto.FoundOrphan;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReportOrphansRequest;
import io.cairn.common.proto.ScrubProgressReply;
import io.cairn.common.proto.ScrubProgressRequest;
import io.cairn.common.proto.ScrubReply;
import io.cairn.common.proto.ScrubReport;
import io.cairn.common.proto.ScrubRequest;
import io.cairn.common.proto.TruncateInodeRequest;
import io.cairn.dataserver.chunk.BlockGroup;
import io.cairn.dataserver.chunk.ChunkHead;
import io.cairn.dataserver.chunk.ChunkIndex;
import io.cairn.dataserver.wal.Crc;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Servers on real disks whose files are damaged behind their backs: what scrubs find and mend. */
class ScrubTest {
    private static final long SESSION = 77;
    private static final int PAGE = 4096;
    private static final int INODES = 4;
    private static final int CHUNKS = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir Path directory;

    private TestCluster cluster;
    private final long seed = Long.getLong("cairn.test.seed", 1);
    private final Random random = new Random(seed);
    private long number;

    /** Bytes of an inode in a group, by {@link #fill}. */
    private final Map<List<Integer>, Long> written = new HashMap<>();

    /** A block on the disk of a server. */
    private record Place(int server, int pg, long inode, int chunk, int block) {}

    @BeforeEach
    void start() throws Exception {
        cluster = new TestCluster(directory).onRealDisks().startAll();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    // ---- nothing is wrong ---------------------------------------------------------------------

    @Test
    void nothingIsFoundWhereNothingIsWrong() throws Exception {
        fill();
        for (boolean deep : new boolean[] {false, true}) {
            List<ScrubProgressReply> found = scrubAll(deep);
            assertThat(sum(found, ScrubProgressReply::getChunks))
                    .isEqualTo((long) FakeMds.PGS * INODES * CHUNKS);
            assertClean(found);
            assertThat(sum(found, ScrubProgressReply::getBytes) > 0).isEqualTo(deep);
        }
    }

    /** Writes, cuts and deletions go on all the while, on all groups. */
    @Test
    void nothingIsFoundWhileClientsWrite() throws Exception {
        fill();
        AtomicBoolean stop = new AtomicBoolean();
        AtomicReference<Throwable> failure = new AtomicReference<>();
        Thread writer =
                Thread.ofPlatform()
                        .name("writer")
                        .start(() -> {
                            try {
                                while (!stop.get()) {
                                    change();
                                }
                            } catch (Throwable e) {
                                failure.set(e);
                            }
                        });
        try {
            for (int round = 0; round < 30; round++) {
                assertClean(scrubAll(round % 3 == 2));
            }
        } finally {
            stop.set(true);
            writer.join();
        }
        assertThat(failure.get()).isNull();
        List<ScrubProgressReply> found = scrubAll(true);
        assertClean(found);
        assertThat(sum(found, ScrubProgressReply::getSkipped)).isZero();
    }

    // ---- damaged blocks -----------------------------------------------------------------------

    /** Of cold chunks, on any member: nobody reads them. */
    @Test
    void damagedBlocksAreFoundAndRepaired() throws Exception {
        fill();
        List<Place> damaged = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            Place place = anyPlace();
            if (damaged.stream().noneMatch(d -> sameBlock(d, place))) {
                damaged.add(place);
            }
        }
        for (Place place : damaged) {
            flip(place);
        }
        assertThat(sum(scrubAll(false), ScrubProgressReply::getBadBlocks)).isZero();
        List<ScrubProgressReply> found = scrubAll(true);
        assertThat(sum(found, ScrubProgressReply::getBadBlocks)).isEqualTo(damaged.size());
        assertThat(differences(found)).isEmpty();
        await().atMost(PATIENCE).untilAsserted(() -> assertClean(scrubAll(true)));
        assertThat(reports()).allMatch(r -> r.getQuarantined() == 0);
    }

    /** It stays as it is, and is told, until it is overwritten. */
    @Test
    void aBlockThatNoReplicaHasIsInQuarantine() throws Exception {
        fill();
        Place lost = anyPlace();
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            flip(new Place(server, lost.pg, lost.inode, lost.chunk, lost.block));
        }
        assertThat(sum(scrubAll(true), ScrubProgressReply::getBadBlocks))
                .isEqualTo(TestCluster.SERVERS);
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(reports()).allMatch(r -> r.getQuarantined() == 1));
        assertThat(reports().getFirst().getQuarantinedTextsList())
                .singleElement()
                .asString()
                .contains("block %d of chunk %d".formatted(lost.block, lost.chunk))
                .contains("no other replica has it");
        restartAll();
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(reports())
                                .as("remembered")
                                .allMatch(r -> r.getQuarantined() == 1)
                                .allMatch(r ->
                                        r.getQuarantinedTexts(0).contains("no other replica")));
        byte[] block = new byte[PAGE];
        random.nextBytes(block);
        write(lost.pg, lost.inode, lost.chunk, lost.block * PAGE, block);
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(reports()).allMatch(r -> r.getQuarantined() == 0));
    }

    private void restartAll() throws Exception {
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            cluster.kill(i);
        }
        for (int i = 0; i < TestCluster.SERVERS; i++) {
            cluster.start(i);
            cluster.server(i).registered().orTimeout(30, TimeUnit.SECONDS).join();
        }
    }

    // ---- replicas that differ -----------------------------------------------------------------

    @Test
    void aChunkThatOneReplicaLacks() throws Exception {
        fill();
        Place place = onABackup(anyPlace());
        change(
                place,
                (index, head, group) -> {
                    try (ChunkIndex.Update update = new ChunkIndex.Update()) {
                        update.removeHead(place.pg, place.inode, place.chunk);
                        update.putGroup(
                                place.pg, place.inode, place.chunk, 0, group, new BlockGroup());
                        index.apply(update);
                    }
                });
        assertOneDifference(false, place, "missing on disk");
        assertOneDifference(true, place, "missing on disk");
    }

    @Test
    void aReplicaThatIsStale() throws Exception {
        fill();
        Place place = onABackup(anyPlace());
        change(
                place,
                (index, head, group) -> {
                    try (ChunkIndex.Update update = new ChunkIndex.Update()) {
                        ChunkHead older =
                                new ChunkHead(
                                        head.epoch(),
                                        head.sequence() - 1,
                                        head.truncateSequence(),
                                        head.lengthBytes());
                        update.putHead(place.pg, place.inode, place.chunk, older);
                        index.apply(update);
                    }
                });
        assertOneDifference(false, place, "as of operation");
    }

    /** The member leaves the in-sync set, gets what it lacks beside writes, and joins again. */
    @Test
    void whatAReplicaLacksIsCopiedToIt() throws Exception {
        fill();
        cluster.mds.letMembersLeave();
        Place lacked = onABackup(anyPlace());
        Place stale = new Place(lacked.server, lacked.pg, 1 + lacked.inode % INODES, 1, 0);
        change(lacked, (index, head, group) -> remove(index, lacked, group));
        change(stale, (index, head, group) -> makeOlder(index, stale, head));
        var _ = scrubAll(false); // unless one by schedule has found it before
        for (int i = 0; i < 100; i++) {
            change();
        }
        await().atMost(PATIENCE)
                .untilAsserted(() -> {
                    assertThat(cluster.mds.isWhole()).isTrue();
                    assertThat(known()).isZero();
                    assertClean(scrubAll(true));
                });
    }

    /** What only the member has may be what all others have lost: nothing is changed. */
    @Test
    void whatOnlyAMemberHasIsLeftAlone() throws Exception {
        fill();
        cluster.mds.letMembersLeave();
        Place place = anyPlace();
        Place primary =
                new Place(
                        cluster.primary(place.pg), place.pg, place.inode, place.chunk, place.block);
        change(primary, (index, head, group) -> remove(index, place, group));
        for (int round = 0; round < 3; round++) {
            assertThat(differences(scrubAll(true)))
                    .hasSize(2)
                    .allMatch(d -> d.contains("not on the primary's disk"));
        }
        assertThat(cluster.mds.isWhole()).isTrue();
    }

    /** Each block has its right checksum, and yet one of the replicas has something else. */
    @Test
    void aReplicaWithOtherContent() throws Exception {
        fill();
        Place place = onABackup(anyPlace());
        change(
                place,
                (index, head, group) -> {
                    byte[] other = new byte[PAGE];
                    random.nextBytes(other);
                    long location = group.location(place.block);
                    overwrite(place.server, location * PAGE, other);
                    int crc = Crc.of(ByteBuffer.wrap(other), 0, PAGE);
                    BlockGroup changed = group.copy();
                    changed.set(place.block, location, crc, group.changed(place.block));
                    try (ChunkIndex.Update update = new ChunkIndex.Update()) {
                        update.putGroup(place.pg, place.inode, place.chunk, 0, group, changed);
                        index.apply(update);
                    }
                });
        assertThat(differences(scrubAll(false))).isEmpty();
        assertOneDifference(true, place, "has other content");
        cluster.mds.noScrub(true);
        restartAll();
        await().atMost(PATIENCE)
                .untilAsserted(() ->
                        assertThat(reports())
                                .as("remembered")
                                .flatMap(ScrubReport::getDifferenceTextsList)
                                .singleElement()
                                .asString()
                                .contains("has other content"));
        // A light scrub does not see it, and does not say that it is gone either.
        assertThat(differences(scrubAll(false))).isEmpty();
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(known()).isEqualTo(1));
    }

    private void assertOneDifference(boolean deep, Place place, String what) throws Exception {
        assertThat(differences(scrubAll(deep)))
                .singleElement()
                .asString()
                .contains("placement group %x".formatted(place.pg))
                .contains("chunk %d of inode %x".formatted(place.chunk, place.inode))
                .contains("disk %d".formatted((place.server + 1) * 10))
                .contains(what);
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(known()).isEqualTo(1));
    }

    private int known() {
        return reports().stream().mapToInt(ScrubReport::getDifferences).sum();
    }

    // ---- data that belongs to no file ---------------------------------------------------------

    @Test
    void whatBelongsToNoFileIsReportedWithWhatItHas() throws Exception {
        fill();
        cluster.mds.owners(inode -> inode != 3);
        List<ScrubProgressReply> found = scrubAll(false);
        assertClean(found);
        assertThat(sum(found, ScrubProgressReply::getOrphans)).isEqualTo(FakeMds.PGS);
        assertThat(sum(found, ScrubProgressReply::getNotLookedForOrphans)).isZero();
        for (int i = 0; i < FakeMds.PGS; i++) {
            ReportOrphansRequest report = lastReport(TestCluster.pg(i));
            assertThat(report.getInodes()).isEqualTo(INODES);
            assertThat(report.getMapEpoch()).isEqualTo(cluster.map().epoch());
            assertThat(report.getUnlisted()).isZero();
            FoundOrphan orphan = report.getFound(0);
            assertThat(report.getFoundCount()).isEqualTo(1);
            assertThat(orphan.getInode()).isEqualTo(3);
            assertThat(orphan.getChunks()).isEqualTo(CHUNKS);
            assertThat(orphan.getBytes()).isEqualTo(written.get(List.of(i, 3)));
            assertThat(report.getBytes())
                    .isEqualTo(
                            IntStream.rangeClosed(1, INODES)
                                    .mapToLong(inode ->
                                            written.getOrDefault(
                                                    List.of(report.getPg() & 0xffff, inode), 0L))
                                    .sum());
        }
        // Deleted, it is found no more; reports without it say so.
        for (int i = 0; i < FakeMds.PGS; i++) {
            cluster.deleteInodes(TestCluster.pg(i), LongStream.of(3));
        }
        assertThat(sum(scrubAll(true), ScrubProgressReply::getOrphans)).isZero();
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(lastReport(TestCluster.pg(i)).getFoundCount()).isZero();
        }
    }

    /** The file is deleted, and all it had, when its inode is listed and not asked of yet. */
    @Test
    void whatIsDeletedWhileTheScrubLooksIsNotReported() throws Exception {
        fill();
        cluster.mds.owners(inode -> {
            if (inode == 2) {
                for (int i = 0; i < FakeMds.PGS; i++) {
                    cluster.deleteInodes(TestCluster.pg(i), LongStream.of(2));
                }
            }
            return inode != 2;
        });
        assertThat(sum(scrubAll(false), ScrubProgressReply::getOrphans)).isZero();
        for (int i = 0; i < FakeMds.PGS; i++) {
            assertThat(lastReport(TestCluster.pg(i)).getFoundCount()).isZero();
        }
    }

    /** Its word is needed: without it nothing is said, and the scrub is one all the same. */
    @Test
    void withoutTheMetadataServiceNothingIsReported() throws Exception {
        fill();
        List<ScrubProgressReply> found = scrubAll(false);
        assertClean(found);
        assertThat(sum(found, ScrubProgressReply::getNotLookedForOrphans)).isEqualTo(FakeMds.PGS);
        assertThat(cluster.mds.orphanReports()).isEmpty();
    }

    private ReportOrphansRequest lastReport(int pg) {
        return cluster.mds.orphanReports().stream()
                .filter(r -> r.getPg() == pg)
                .reduce((_, later) -> later)
                .orElseThrow();
    }

    // ---- schedule -----------------------------------------------------------------------------

    /** Also where another server is primary after the restart: all members were told. */
    @Test
    void whenAGroupWasScrubbedIsKnownAfterRestarts() throws Exception {
        fill();
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(neverDeep()).isEqualTo(FakeMds.PGS));
        scrubAll(true);
        await().atMost(PATIENCE).untilAsserted(() -> assertThat(neverDeep()).isZero());
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            cluster.kill(server);
            cluster.start(server);
            cluster.server(server).registered().get();
        }
        for (int i = 0; i < FakeMds.PGS; i++) {
            int pg = TestCluster.pg(i);
            List<Integer> members = Objects.requireNonNull(cluster.map().pg(pg)).getInSyncList();
            cluster.mds.inSync(pg, List.of(members.get(1), members.get(2), members.get(0)));
        }
        await().atMost(PATIENCE)
                .untilAsserted(() -> {
                    assertThat(reports().stream().mapToInt(ScrubReport::getGroups).sum())
                            .isEqualTo(FakeMds.PGS);
                    assertThat(neverDeep()).isZero();
                });
    }

    private int neverDeep() {
        int groups = reports().stream().mapToInt(ScrubReport::getGroups).sum();
        assertThat(groups).isEqualTo(FakeMds.PGS);
        return reports().stream().mapToInt(ScrubReport::getNeverDeep).sum();
    }

    // ---- content ------------------------------------------------------------------------------

    /** Several chunks of several inodes in every group, on the disks and no longer in the logs. */
    private void fill() throws Exception {
        for (int i = 0; i < FakeMds.PGS; i++) {
            for (int inode = 1; inode <= INODES; inode++) {
                for (int chunk = 0; chunk < CHUNKS; chunk++) {
                    byte[] data = new byte[PAGE * (1 + random.nextInt(8)) - random.nextInt(2000)];
                    random.nextBytes(data);
                    write(TestCluster.pg(i), inode, chunk, 0, data);
                    written.merge(List.of(i, inode), (long) data.length, Long::sum);
                }
            }
        }
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            cluster.kill(server);
            cluster.start(server);
            cluster.server(server).registered().get();
        }
    }

    private void write(int pg, long inode, int chunk, int offset, byte[] data) {
        DataOp.Caller caller = new DataOp.Caller(SESSION, ++number, 0);
        TestCluster.Result result =
                cluster.sendUntilFinal(cluster.write(pg, inode, chunk, caller, offset, data), data);
        assertThat(result.status().ok()).as(result.status().detail()).isTrue();
    }

    private void change() {
        int pg = TestCluster.pg(random.nextInt(FakeMds.PGS));
        long inode = 1 + random.nextInt(100 * INODES);
        int what = random.nextInt(20);
        if (what == 0) {
            cluster.deleteInodes(pg, LongStream.of(inode));
        } else if (what <= 2) {
            cluster.callUntilDone(
                    cluster.primary(pg),
                    Method.TRUNCATE_INODE_VALUE,
                    TruncateInodeRequest.newBuilder()
                            .setPg(pg)
                            .setMapEpoch(cluster.map().epoch())
                            .setInode(inode)
                            .setSequence(++number)
                            .setSize(random.nextInt(30_000))
                            .setStripeUnit(1 << 16)
                            .setStripeCount(1)
                            .setChunkSize(1 << 16)
                            .build());
        } else {
            byte[] data = new byte[1 + random.nextInt(9000)];
            random.nextBytes(data);
            int offset = random.nextInt(40_000);
            DataOp.Caller caller = new DataOp.Caller(SESSION, ++number, 0);
            var _ = // refused where the client would first have to hear of a cut
                    cluster.sendUntilFinal(
                            cluster.write(pg, inode, random.nextInt(CHUNKS), caller, offset, data),
                            data);
        }
    }

    private Place anyPlace() {
        return new Place(
                random.nextInt(TestCluster.SERVERS),
                TestCluster.pg(random.nextInt(FakeMds.PGS)),
                1 + random.nextInt(INODES),
                random.nextInt(CHUNKS),
                0);
    }

    private Place onABackup(Place place) {
        int backup = (cluster.primary(place.pg) + 1) % TestCluster.SERVERS;
        return new Place(backup, place.pg, place.inode, place.chunk, place.block);
    }

    private static boolean sameBlock(Place a, Place b) {
        return a.pg == b.pg && a.inode == b.inode && a.chunk == b.chunk;
    }

    // ---- damage -------------------------------------------------------------------------------

    private interface Change {
        void apply(ChunkIndex index, ChunkHead head, BlockGroup group) throws IOException;
    }

    /** Changes what a server has of a chunk while it is not running. */
    private void change(Place place, Change change) throws Exception {
        cluster.kill(place.server);
        try (ChunkIndex index = cluster.index(place.server)) {
            index.openContent(Files.size(dataFile(place.server)) / PAGE);
            ChunkIndex.Stored stored = index.readAll(place.pg, place.inode, place.chunk);
            change.apply(index, Objects.requireNonNull(stored.head()), stored.group(0));
            index.flush();
        }
        cluster.start(place.server);
        cluster.server(place.server).registered().get();
    }

    private static void remove(ChunkIndex index, Place place, BlockGroup group) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            update.removeHead(place.pg, place.inode, place.chunk);
            update.putGroup(place.pg, place.inode, place.chunk, 0, group, new BlockGroup());
            index.apply(update);
        }
    }

    private static void makeOlder(ChunkIndex index, Place place, ChunkHead head) {
        try (ChunkIndex.Update update = new ChunkIndex.Update()) {
            ChunkHead older =
                    new ChunkHead(
                            head.epoch(),
                            head.sequence() - 1,
                            head.truncateSequence(),
                            head.lengthBytes());
            update.putHead(place.pg, place.inode, place.chunk, older);
            index.apply(update);
        }
    }

    private void flip(Place place) throws Exception {
        change(
                place,
                (index, head, group) -> {
                    byte[] one = new byte[1];
                    long at = group.location(place.block) * PAGE + random.nextInt(100);
                    try (FileChannel file = FileChannel.open(dataFile(place.server))) {
                        file.read(ByteBuffer.wrap(one), at);
                    }
                    one[0] ^= (byte) (1 << random.nextInt(8));
                    overwrite(place.server, at, one);
                });
    }

    private void overwrite(int server, long at, byte[] bytes) throws IOException {
        try (FileChannel file = FileChannel.open(dataFile(server), StandardOpenOption.WRITE)) {
            file.write(ByteBuffer.wrap(bytes), at);
        }
    }

    private Path dataFile(int server) {
        return cluster.stateDir(server).resolve("data");
    }

    // ---- scrubs -------------------------------------------------------------------------------

    /** Scrubs all groups now, each at its primary; what each server says of it at the end. */
    private List<ScrubProgressReply> scrubAll(boolean deep) throws Exception {
        return await().atMost(PATIENCE)
                .until(
                        () -> scrubOnce(deep),
                        all ->
                                sum(all, ScrubProgressReply::getDone) == FakeMds.PGS
                                        && all.stream().allMatch(r -> r.getFailuresCount() == 0));
    }

    private List<ScrubProgressReply> scrubOnce(boolean deep) throws Exception {
        List<ScrubProgressReply> all = new ArrayList<>();
        for (int server = 0; server < TestCluster.SERVERS; server++) {
            int at = server;
            ScrubReply run =
                    cluster.ask(
                            server,
                            Method.SCRUB,
                            ScrubRequest.newBuilder().setDeep(deep).build(),
                            ScrubReply.parser());
            ScrubProgressRequest progress =
                    ScrubProgressRequest.newBuilder().setRun(run.getRun()).build();
            all.add(
                    await().atMost(PATIENCE)
                            .pollInterval(Duration.ofMillis(20))
                            .until(
                                    () ->
                                            cluster.ask(
                                                    at,
                                                    Method.SCRUB_PROGRESS,
                                                    progress,
                                                    ScrubProgressReply.parser()),
                                    r -> r.getKnown() && r.getWaiting() == 0));
        }
        return all;
    }

    private interface Count {
        long of(ScrubProgressReply reply);
    }

    private static long sum(List<ScrubProgressReply> all, Count count) {
        return all.stream().mapToLong(count::of).sum();
    }

    private static List<String> differences(List<ScrubProgressReply> all) {
        return all.stream().flatMap(r -> r.getDifferencesList().stream()).toList();
    }

    private static void assertClean(List<ScrubProgressReply> found) {
        assertThat(differences(found)).isEmpty();
        assertThat(sum(found, ScrubProgressReply::getBadBlocks)).isZero();
    }

    private List<ScrubReport> reports() {
        List<ScrubReport> reports = new ArrayList<>();
        for (int server = 1; server <= TestCluster.SERVERS; server++) {
            reports.add(cluster.mds.scrub(server));
        }
        return reports;
    }
}
