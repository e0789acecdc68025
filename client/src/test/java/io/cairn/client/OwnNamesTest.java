package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.base.ClientMeter;
import io.cairn.client.base.Times;
import io.cairn.client.fake.FakeMds;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.metrics.Meters;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import io.micrometer.core.instrument.Gauge;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Names in directories that are delegated to the client that made them. */
class OwnNamesTest extends DelegatingFixture {
    /** As in {@code OwnNames}. */
    private static final int MAX_DIRECTORIES = 4_096;

    private CairnClient delegating() {
        return delegating("early_names = true");
    }

    /** A directory in which names are answered at once, as ids are at hand. */
    private long directory(CairnClient client) {
        long directory = mkdir(client, client.rootInode(), "d").getInode();
        await().until(() -> {
            get(client.symlink(directory, bytes("probe"), bytes("x"), WHO));
            get(client.unlink(directory, bytes("probe")));
            return cluster.mds(0).received().stream()
                    .flatMap(batch -> batch.getMutationsList().stream())
                    .anyMatch(m -> m.getOwnInode() != 0);
        });
        get(client.syncDirectory(directory));
        return directory;
    }

    private static Attr mkdir(CairnClient client, long parent, String name) {
        return get(client.mkdir(parent, bytes(name), 0755, WHO));
    }

    private static CompletableFuture<OpenFile> make(CairnClient client, long parent, String name) {
        return client.create(parent, bytes(name), REGULAR, true, WHO);
    }

    private FakeMds hold() {
        FakeMds mds = cluster.mds(0);
        mds.faults(m -> m == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        return mds;
    }

    private static void letGo(FakeMds mds) {
        mds.faults(m -> Fault.NONE);
        mds.letGo();
    }

    private List<String> listed(long directory) {
        return cluster.names().readDir(directory).getEntriesList().stream()
                .map(DirEntry::getName)
                .map(name -> name.toStringUtf8())
                .toList();
    }

    private static void fails(CompletableFuture<?> asked, Errno errno) {
        assertThatThrownBy(() -> get(asked)).hasStackTraceContaining(errno.name() + " (");
    }

    private static void missing(CompletableFuture<?> asked) {
        fails(asked, Errno.ENOENT);
    }

    // ---- what does not wait

    @Test
    void namesAreMadeFoundAndRemovedBeforeTheMdsHasThem() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        OpenFile file = get(make(client, directory, "f"));
        get(write(file, 0, "abc"));
        get(file.flush());
        long below = mkdir(client, directory, "below").getInode();
        get(make(client, below, "g"));
        Attr link = get(client.symlink(below, bytes("s"), bytes("target"), WHO));
        assertThat(link.getSize()).isEqualTo(6);
        assertThat(get(client.lookup(directory, bytes("f"))).getSize()).isEqualTo(3);
        assertThat(get(client.lookup(below, bytes("s"))).getInode()).isEqualTo(link.getInode());
        missing(client.lookup(directory, bytes("no")));
        get(client.unlink(below, bytes("s")));
        missing(client.lookup(below, bytes("s")));
        assertThat(listed(directory)).isEmpty();
        CompletableFuture<Void> synced = client.syncDirectory(below);
        CompletableFuture<Void> fileSynced = file.fsync();
        await().until(() -> mds.held() > 0);
        assertThat(synced.isDone()).isFalse();
        assertThat(fileSynced.isDone()).isFalse();
        letGo(mds);
        get(synced);
        get(fileSynced);
        assertThat(listed(directory)).containsExactlyInAnyOrder("f", "below");
        assertThat(listed(below)).containsExactly("g");
        assertThat(cluster.names().attr(file.inode()).getSize()).isEqualTo(3);
    }

    /** The directory above is somebody else's: its names are asked for. */
    @Test
    void attributesThatComeWithItsNameAreThoseThatItHasHere() {
        CairnClient client = delegating();
        directory(client);
        Attr before = mkdir(client, client.rootInode(), "e");
        long directory = before.getInode();
        FakeMds mds = hold();
        mkdir(client, directory, "below");
        Attr found = get(client.lookup(client.rootInode(), bytes("e")));
        assertThat(found.getNlink()).isEqualTo(before.getNlink() + 1);
        assertThat(get(client.readDir(client.rootInode(), 0, 4096, true)).getEntriesList())
                .filteredOn(entry -> entry.getInode() == directory)
                .singleElement()
                .satisfies(entry -> assertThat(entry.hasAttr()).isFalse());
        CompletableFuture<Attr> refused = client.mkdir(directory, bytes("below"), 0755, WHO);
        CompletableFuture<Attr> asked = client.lookup(client.rootInode(), bytes("e"));
        await().until(() -> mds.held() > 0);
        assertThat(asked.isDone()).isFalse();
        letGo(mds);
        fails(refused, Errno.EEXIST);
        assertThat(get(asked).getInode()).isEqualTo(directory);
    }

    @Test
    void attributesOfTheDirectoryAreChangedBeforeTheMdsHasThat() {
        CairnClient client = delegating();
        directory(client);
        long directory = mkdir(client, client.rootInode(), "e").getInode();
        FakeMds mds = hold();
        Timespec time = Timespec.newBuilder().setSeconds(5).build();
        SetAttrOp.Builder change = SetAttrOp.newBuilder().setInode(directory).setMode(02750);
        Attr told = get(client.setAttr(change.setGid(77).setMtime(time).build(), WHO));
        assertThat(told.getMode()).isEqualTo(Mode.DIRECTORY | 02750);
        assertThat(told.getMtime()).isEqualTo(time);
        Attr below = mkdir(client, directory, "below");
        assertThat(below.getGid()).as("set-group-id").isEqualTo(77);
        assertThat(get(client.getAttr(directory)).getMode()).isEqualTo(told.getMode());
        CompletableFuture<Void> synced = client.syncDirectory(directory);
        await().until(() -> mds.held() > 0);
        assertThat(synced.isDone()).isFalse();
        letGo(mds);
        get(synced);
        assertThat(cluster.names().attr(directory).getMode()).isEqualTo(told.getMode());
        hold();
        get(client.setAttr(change.setMode(0700).build(), WHO));
        cluster.evictAll();
        letGo(mds);
        fails(client.syncDirectory(directory), Errno.EIO);
    }

    @Test
    void aTreeIsRemovedBeforeTheMdsHasIt() {
        CairnClient client = delegating();
        long directory = directory(client);
        long below = mkdir(client, directory, "below").getInode();
        OpenFile file = get(make(client, below, "f"));
        get(client.syncDirectory(below));
        FakeMds mds = hold();
        CompletableFuture<Void> full = client.rmdir(directory, bytes("below"));
        await().until(() -> mds.held() > 0);
        letGo(mds);
        fails(full, Errno.ENOTEMPTY);
        long again = mkdir(client, directory, "again").getInode();
        OpenFile second = get(make(client, again, "f"));
        get(second.release());
        get(client.syncDirectory(again));
        var _ = hold();
        get(client.unlink(again, bytes("f")));
        get(client.rmdir(directory, bytes("again")));
        missing(client.lookup(directory, bytes("again")));
        letGo(mds);
        get(client.syncDirectory(directory));
        assertThat(listed(directory)).containsExactly("below");
        get(file.release());
        await().until(() -> !delegations.isHeld(again));
    }

    private static CompletableFuture<Long> rename(
            CairnClient client, long from, String name, long to, String newName) {
        return client.rename(from, bytes(name), to, bytes(newName), 0);
    }

    @Test
    void namesThatAreFreeAreGivenBeforeTheMdsHasThat() {
        CairnClient client = delegating();
        long directory = directory(client);
        OpenFile told = get(make(client, directory, "told"));
        get(client.syncDirectory(directory));
        long size = get(client.getAttr(directory)).getSize();
        FakeMds mds = hold();
        long below = mkdir(client, directory, "below").getInode();
        OpenFile file = get(make(client, directory, "f"));
        get(write(file, 0, "abc"));
        get(client.symlink(directory, bytes("s"), bytes("target"), WHO));
        Timespec before = get(client.getAttr(file.inode())).getCtime();
        assertThat(get(rename(client, directory, "f", below, "g"))).isEqualTo(file.inode());
        get(rename(client, directory, "told", directory, "moved"));
        get(rename(client, directory, "s", below, "l"));
        get(rename(client, directory, "below", directory, "renamed"));
        get(client.rename(below, bytes("g"), below, bytes("h"), 1));
        for (String gone : List.of("f", "told", "s", "below")) {
            missing(client.lookup(directory, bytes(gone)));
        }
        missing(client.lookup(below, bytes("g")));
        assertThat(get(client.lookup(below, bytes("h"))).getSize()).isEqualTo(3);
        assertThat(get(client.lookup(below, bytes("l"))).getSize()).isEqualTo(6);
        Timespec after = get(client.getAttr(file.inode())).getCtime();
        assertThat(Times.compare(before, after)).as("of times of change").isNegative();
        assertThat(get(client.getAttr(directory)).getSize()).isEqualTo(size + 1);
        assertThat(get(client.getAttr(below)).getSize()).isEqualTo(2);
        CompletableFuture<Void> synced = client.syncDirectory(directory);
        CompletableFuture<Void> fileSynced = told.fsync();
        CompletableFuture<Attr> asked = client.lookup(directory, bytes("moved"));
        await().until(() -> mds.held() > 0);
        assertThat(List.of(synced, fileSynced)).noneMatch(CompletableFuture::isDone);
        letGo(mds);
        get(synced);
        get(fileSynced);
        assertThat(get(asked).getInode()).isEqualTo(told.inode());
        assertThat(listed(directory)).containsExactlyInAnyOrder("moved", "renamed");
        assertThat(listed(below)).containsExactlyInAnyOrder("h", "l");
        assertThat(get(client.getAttr(file.inode())).getCtime())
                .isEqualTo(cluster.names().attr(file.inode()).getCtime());
    }

    /** What it was told of a name when that was made says nothing once the MDS has it. */
    @Test
    void whatWasRenamedBeforeItWasMadeIsAskedForLater() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        long link = get(client.symlink(directory, bytes("s"), bytes("x"), WHO)).getInode();
        get(rename(client, directory, "s", directory, "l"));
        letGo(mds);
        get(client.syncDirectory(directory));
        get(client.setAttr(SetAttrOp.newBuilder().setInode(link).setUid(77).build(), WHO));
        assertThat(get(client.lookup(directory, bytes("l"))).getUid()).isEqualTo(77);
    }

    @Test
    void aRenamedFileHasWhatWasChangedBefore() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        OpenFile file = get(make(client, directory, "f"));
        Timespec time = Timespec.newBuilder().setSeconds(5).build();
        SetAttrOp change =
                SetAttrOp.newBuilder()
                        .setInode(file.inode())
                        .setMode(0600)
                        .setUid(77)
                        .setMtime(time)
                        .build();
        get(client.setAttr(change, WHO));
        get(rename(client, directory, "f", directory, "g"));
        for (Attr attr :
                List.of(
                        get(client.lookup(directory, bytes("g"))),
                        get(client.getAttr(file.inode())))) {
            assertThat(attr.getMode() & 07777).isEqualTo(0600);
            assertThat(attr.getUid()).isEqualTo(77);
            assertThat(attr.getMtime()).isEqualTo(time);
        }
        letGo(mds);
        get(file.fsync());
    }

    /** What was known of it when it was made is not what it is. */
    @Test
    void whatWasRenamedAndLinkedBeforeItWasMadeIsAskedForLater() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        OpenFile file = get(make(client, directory, "f"));
        get(write(file, 0, "abc"));
        get(rename(client, directory, "f", directory, "g"));
        CompletableFuture<Attr> linked = client.link(file.inode(), directory, bytes("h"));
        letGo(mds);
        get(linked);
        get(file.release());
        get(client.syncDirectory(directory));
        await().until(() -> cluster.names().opens(file.inode()) == 0);
        Attr found = get(client.lookup(directory, bytes("g")));
        assertThat(found.getSize()).isEqualTo(3);
        assertThat(found.getNlink()).isEqualTo(2);
    }

    @Test
    void whatIsNotSureToBeRenamedWaits() {
        CairnClient client = delegating();
        long directory = directory(client);
        long below = mkdir(client, directory, "below").getInode();
        mkdir(client, directory, "other");
        OpenFile linked = get(make(client, directory, "linked"));
        get(client.link(linked.inode(), directory, bytes("link")));
        get(make(client, directory, "f"));
        get(make(client, directory, "over"));
        get(client.syncDirectory(directory));
        FakeMds mds = hold();
        List<CompletableFuture<Long>> waiting =
                List.of(
                        rename(client, directory, "linked", directory, "l"),
                        rename(client, directory, "other", below, "other"),
                        rename(client, directory, "f", directory, "over"),
                        rename(client, directory, "none", directory, "n"));
        await().until(() -> mds.held() > 0);
        assertThat(waiting).noneMatch(CompletableFuture::isDone);
        letGo(mds);
        waiting.subList(0, 3).forEach(ClientFixture::get);
        missing(waiting.get(3));
        assertThat(listed(directory)).containsExactlyInAnyOrder("below", "link", "l", "over");
    }

    @Test
    void aRenameThatIsLostIsReportedInBothDirectories() {
        CairnClient client = delegating();
        long directory = directory(client);
        long below = mkdir(client, directory, "below").getInode();
        OpenFile file = get(make(client, directory, "f"));
        get(client.syncDirectory(directory));
        FakeMds mds = hold();
        get(rename(client, directory, "f", below, "g"));
        cluster.evictAll();
        letGo(mds);
        await().untilAsserted(() -> fails(client.syncDirectory(directory), Errno.EIO));
        await().untilAsserted(() -> fails(client.syncDirectory(below), Errno.EIO));
        fails(file.fsync(), Errno.EIO);
        missing(client.lookup(below, bytes("g")));
        assertThat(get(client.lookup(directory, bytes("f"))).getInode()).isEqualTo(file.inode());
    }

    @Test
    void whatAsksTheMdsWaitsForWhatItHasNot() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        Attr below = mkdir(client, directory, "below");
        Attr link = get(client.symlink(directory, bytes("s"), bytes("x"), WHO));
        List<CompletableFuture<?>> asked =
                List.of(
                        client.readDir(below.getInode(), 0, 1 << 16, true),
                        client.getAttr(link.getInode()),
                        client.readDir(directory, 0, 1 << 16, true));
        await().until(() -> mds.held() > 0);
        assertThat(asked).noneMatch(CompletableFuture::isDone);
        letGo(mds);
        asked.forEach(ClientFixture::get);
    }

    // ---- recalls

    @Test
    void aRecalledDirectoryIsReturnedWhenAllOfItIsTold() {
        CairnClient client = delegating();
        long directory = directory(client);
        List<List<String>> shown = new CopyOnWriteArrayList<>();
        delegations.onReturn(inode -> {
            if (inode == directory) {
                shown.add(listed(directory));
            }
        });
        FakeMds mds = hold();
        get(make(client, directory, "f"));
        mds.recallDelegations(cluster.names().onlySession(), directory);
        await().until(() -> mds.held() > 0);
        CompletableFuture<OpenFile> later = make(client, directory, "g");
        assertThat(later.isDone()).isFalse();
        assertThat(shown).isEmpty();
        letGo(mds);
        get(later);
        await().until(() -> !shown.isEmpty());
        assertThat(shown.getFirst()).contains("f");
        await("it is closed").until(() -> cluster.names().opens(directory) == 0);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void withoutSpaceProgramsWait(boolean link) {
        CairnClient client = delegating();
        long directory = directory(client);
        delegations.grudging(true);
        if (link) {
            get(client.symlink(directory, bytes("f"), bytes("x"), WHO));
        } else {
            get(make(client, directory, "f"));
        }
        get(client.syncDirectory(directory));
        FakeMds mds = hold();
        CompletableFuture<OpenFile> later = make(client, directory, "g");
        await().until(() -> mds.held() > 0);
        assertThat(later.isDone()).isFalse();
        letGo(mds);
        get(later);
    }

    @Test
    void whereThereAreTooManyDirectoriesOneIsGivenBackThatIsNotUsed() {
        CairnClient client = delegating();
        long directory = directory(client);
        long first = mkdir(client, directory, "first").getInode();
        List<Long> made = new ArrayList<>();
        for (int i = 0; i < MAX_DIRECTORIES; i++) {
            made.add(mkdir(client, directory, "x" + i).getInode());
        }
        get(client.syncDirectory(directory));
        await().until(() -> !delegations.isHeld(first) && !delegations.isHeld(made.getFirst()));
        assertThat(made.subList(1, made.size())).allMatch(delegations::isHeld);
        assertThat(delegations.isHeld(directory)).isTrue();
    }

    // ---- losses

    @Test
    void whatIsDoneInADirectoryOfALostSessionWithoutWhatWasBeforeIsNotDone() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        get(make(client, directory, "f"));
        CompletableFuture<OpenFile> opened =
                client.create(directory, bytes("f"), REGULAR, false, WHO);
        cluster.evictAll();
        letGo(mds);
        fails(opened, Errno.EIO);
        missing(client.lookup(directory, bytes("f")));
    }

    @Test
    void whoeverWaitsHearsOfALoss() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        get(make(client, directory, "f"));
        List<CompletableFuture<Void>> synced = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            synced.add(client.syncDirectory(directory));
        }
        cluster.evictAll();
        letGo(mds);
        synced.forEach(waited -> fails(waited, Errno.EIO));
        get(client.syncDirectory(directory));
    }

    /** Else it would be done to what had the name before. */
    @ParameterizedTest
    @ValueSource(strings = {"unlink", "rename", "create", "mkdir", "symlink", "link"})
    void afterALossTheNextChangeOfNamesThereFails(String what) {
        CairnClient client = delegating();
        long directory = directory(client);
        long first = get(make(client, directory, "f")).inode();
        long other =
                get(client.symlink(client.rootInode(), bytes("o"), bytes("x"), WHO)).getInode();
        get(client.syncDirectory(directory));
        long session = cluster.names().onlySession();
        FakeMds mds = hold();
        get(rename(client, directory, "f", directory, "g"));
        get(client.symlink(directory, bytes("f"), bytes("new"), WHO));
        cluster.evictAll();
        letGo(mds);
        get(client.statFs());
        await("another session")
                .untilAsserted(
                        () -> assertThat(cluster.names().onlySession()).isNotEqualTo(session));
        Supplier<CompletableFuture<?>> change =
                () ->
                        switch (what) {
                            case "unlink" -> client.unlink(directory, bytes("f"));
                            case "rename" -> rename(client, directory, "f", 1, "h");
                            case "create" -> make(client, directory, "n");
                            case "mkdir" -> client.mkdir(directory, bytes("n"), 0755, WHO);
                            case "symlink" ->
                                    client.symlink(directory, bytes("n"), bytes("x"), WHO);
                            default -> client.link(other, directory, bytes("n"));
                        };
        fails(change.get(), Errno.EIO);
        assertThat(listed(directory)).containsExactly("f");
        assertThat(get(client.lookup(directory, bytes("f"))).getInode()).isEqualTo(first);
        get(change.get());
        get(client.syncDirectory(directory));
    }

    /** What it was told of before is told, or lost, in the session that has it on its way. */
    @Test
    void whatWaitsInADirectoryThatIsGivenUpIsBoundToItsSession() {
        CairnClient client = delegating();
        long directory = directory(client);
        get(make(client, directory, "f"));
        get(client.syncDirectory(directory));
        FakeMds mds = hold();
        get(rename(client, directory, "f", directory, "g"));
        get(client.symlink(directory, bytes("f"), bytes("new"), WHO));
        mds.recallDelegations(cluster.names().onlySession(), directory);
        await().until(() -> mds.held() > 0);
        CompletableFuture<Void> removed = client.unlink(directory, bytes("f"));
        cluster.evictAll();
        letGo(mds);
        fails(removed, Errno.EIO);
        assertThat(listed(directory)).containsExactly("f");
    }

    /** What the session had open is ended first, which takes its time. */
    @RepeatedTest(5)
    void aSyncWaitsWhileTheSessionEnds() {
        try (Meters meters = Meters.unpublished()) {
            CairnClient client = connect(meters);
            long session = cluster.names().onlySession();
            await().until(() -> delegations.hasTold(session));
            long directory = directory(client);
            FakeMds mds = hold();
            get(make(client, directory, "f"));
            await().until(() -> mds.held() > 0);
            CompletableFuture<Void> ended =
                    CompletableFuture.runAsync(() -> {
                        cluster.evictAll();
                        letGo(mds);
                    });
            Gauge held = meters.registry().get(ClientMeter.OWN_DIRECTORIES.meterName()).gauge();
            while (held.value() > 0) {
                Thread.onSpinWait();
            }
            fails(client.syncDirectory(directory), Errno.EIO);
            get(ended);
        }
    }

    @Test
    void aNameThatIsNotMadeAfterAllIsReportedOnce() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        OpenFile file = get(make(client, directory, "f"));
        cluster.evictAll();
        letGo(mds);
        await().untilAsserted(() -> fails(client.syncDirectory(directory), Errno.EIO));
        get(client.syncDirectory(directory));
        fails(file.fsync(), Errno.ESTALE);
        missing(client.lookup(directory, bytes("f")));
    }

    // ---- attributes

    /** All that programs are told of what is made is what the MDS makes of it. */
    @Test
    void attributesAreThoseOfTheMds() {
        CairnClient client = delegating();
        long directory = directory(client);
        FakeMds mds = hold();
        Attr told = get(make(client, directory, "f")).made();
        letGo(mds);
        get(client.syncDirectory(directory));
        Attr made = cluster.names().attr(told.getInode());
        assertThat(told.getMode()).isEqualTo(made.getMode());
        assertThat(told.getSizeCeiling()).isEqualTo(made.getSizeCeiling());
        assertThat(told.getLayout()).isEqualTo(made.getLayout());
        assertThat(told.getNlink()).isEqualTo(made.getNlink());
    }
}
