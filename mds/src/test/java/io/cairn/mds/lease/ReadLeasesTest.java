package io.cairn.mds.lease;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.GetXattrReply;
import io.cairn.common.proto.GetXattrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.UnlinkOp;
import io.cairn.common.seed.TestSeed;
import io.cairn.mds.lease.CacheModel.Fault;
import io.cairn.mds.lease.LeaseRig.Answer;
import io.cairn.mds.lease.LeaseRig.Entry;
import io.cairn.mds.lease.LeaseRig.Peer;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.store.EntryKeys.Move;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class ReadLeasesTest {
    private static final long A = 1;
    private static final long B = 2;
    private static final long C = 3;
    private static final long DIRECTORY = 5;
    private static final long FILE = 10;
    private static final int STEPS = 2_000;

    private final LeaseRig rig = new LeaseRig(A, B, C);

    // ---- what is lent -------------------------------------------------------

    @Test
    void aLeaseIsAsLongAsTheLeadersWithoutTheSlack() {
        assertThat(attributes(A, FILE)).isEqualTo(400_000);
        rig.leaderLeaseLeft = 5_000 * LeaseRig.MILLI;
        assertThat(attributes(A, FILE)).isEqualTo(900_000);
        rig.leaderLeaseLeft = 100 * LeaseRig.MILLI;
        assertThat(attributes(A, FILE)).isZero();
        rig.leaderLeaseLeft = 0;
        assertThat(attributes(A, FILE)).isZero();
    }

    @Test
    void namesAreLentByTheirDirectoryAndMissingOnesToo() {
        assertThat(name(A, "a")).isEqualTo(400_000);
        assertThat(missing(A, "b")).isEqualTo(400_000);
        assertThat(rig.leases.held()).as("names, and attributes of what was found").isEqualTo(2);
        assertThat(name(A, ".")).isZero();
        assertThat(name(A, "..")).isZero();
    }

    @Test
    void aListingLendsItsNamesWithTheirAttributes() {
        ReadDirRequest.Builder asked =
                ReadDirRequest.newBuilder().setInode(DIRECTORY).setLeaseSession(A);
        ReadDirReply listed =
                ReadDirReply.newBuilder()
                        .addEntries(
                                DirEntry.newBuilder().setInode(FILE).setAttr(attr(FILE).build()))
                        .build();
        ReadDirReply plain = (ReadDirReply) lent(asked.build(), listed);
        assertThat(plain).isEqualTo(listed);
        Attr lent =
                ((ReadDirReply) lent(asked.setWithAttributes(true).build(), listed))
                        .getEntries(0)
                        .getAttr();
        assertThat(lent.getNameLeaseMicros()).isEqualTo(400_000);
        assertThat(lent.getAttrLeaseMicros()).isEqualTo(400_000);
        Answer answer = rig.apply(B, new Entry().inode(FILE).name(DIRECTORY, "a"));
        assertThat(answer.waits()).isTrue();
        assertThat(recall(A).getInodesList()).containsExactly(FILE);
        assertThat(recall(A).getNames(0).getDirectory()).isEqualTo(DIRECTORY);
        assertThat(recall(A).getNames(0).getName().toStringUtf8()).isEqualTo("a");
    }

    @Test
    void whoAsksForNoLeasesAndWhoIsNoSessionGetsNone() {
        assertThat(attributes(0, FILE)).isZero();
        assertThat(attributes(99, FILE)).isZero();
        assertThat(rig.leases.held()).isZero();
    }

    @Test
    void aSessionThatEndsWhileItsQueryIsReadIsNotLentTo() {
        long since = rig.replies.begin();
        rig.open.remove(A);
        rig.leases.sessionRefused(A, 7);
        MessageLite reply = GetAttrReply.newBuilder().setAttr(attr(FILE)).build();
        assertThat(rig.replies.lent(getAttr(A, FILE), reply, new Peer(), since)).isEqualTo(reply);
    }

    @Test
    void whatHasChangedSinceItWasReadIsNotLent() {
        long since = rig.replies.begin();
        rig.apply(B, new Entry().inode(FILE));
        assertThat(attributes(A, FILE, since)).isZero();
        assertThat(attributes(A, FILE, rig.replies.begin())).isPositive();
    }

    @Test
    void whatIsBeingChangedIsNotLent() {
        rig.leases.showing(++rig.index, B, new Entry().inode(FILE));
        long since = rig.replies.begin();
        assertThat(attributes(A, FILE, since)).isZero();
        assertThat(attributes(A, FILE + 1, since)).isPositive();
        rig.leases.shown(rig.index);
        assertThat(attributes(A, FILE, since)).as("it may have seen the old state").isZero();
        assertThat(attributes(A, FILE)).isPositive();
    }

    @Test
    void nothingIsLentThatSomebodyHasYetToForget() {
        rig.leases.end();
        rig.leases.begin(2);
        attributes(A, FILE);
        rig.apply(B, new Entry().inode(FILE));
        rig.now += 450 * LeaseRig.MILLI;
        assertThat(attributes(C, FILE)).isZero();
    }

    // ---- recalls ------------------------------------------------------------

    @Test
    void aChangeIsConfirmedWhenAllHaveForgotten() {
        attributes(A, FILE);
        attributes(C, FILE);
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        assertThat(answer.waits()).isTrue();
        rig.acknowledge(A);
        assertThat(answer.waits()).isTrue();
        rig.acknowledge(C);
        assertThat(answer.sent).isTrue();
        assertThat(rig.apply(B, new Entry().inode(FILE)).sent).as("nobody holds it").isTrue();
    }

    @Test
    void aSessionThatDoesNotAnswerIsWaitedForUntilItsLeaseIsOver() {
        attributes(A, FILE);
        rig.now += 100 * LeaseRig.MILLI;
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        assertThat(rig.alarms).containsExactly(400 * LeaseRig.MILLI);
        rig.now += 400 * LeaseRig.MILLI - 1;
        rig.leases.tick();
        assertThat(answer.waits()).as("longer than it was told").isTrue();
        rig.now += 1;
        rig.leases.tick();
        assertThat(answer.sent).isTrue();
    }

    @Test
    void nobodyIsAskedToForgetWhatHasRunOut() {
        attributes(A, FILE);
        rig.now += 500 * LeaseRig.MILLI;
        assertThat(rig.apply(B, new Entry().inode(FILE)).sent).isTrue();
        assertThat(rig.to(A).recalls).isEmpty();
    }

    @Test
    void whoMakesTheChangeIsNotAskedToForgetIt() {
        attributes(A, FILE);
        name(A, "a");
        assertThat(rig.apply(A, new Entry().inode(FILE).name(DIRECTORY, "a")).sent).isTrue();
        assertThat(rig.to(A).recalls).isEmpty();
    }

    @Test
    void whoChangesWhatAnotherHasJustChangedWaitsUntilThatOneHasForgottenToo() {
        attributes(A, FILE);
        rig.apply(A, new Entry().inode(FILE));
        assertThat(rig.apply(B, new Entry().inode(FILE)).waits()).isTrue();
        assertThat(recall(A).getInodesList()).containsExactly(FILE);
    }

    @Test
    void whatChangesNothingForClientsRecallsNothing() {
        attributes(A, FILE);
        Entry opened = new Entry().inode(FILE);
        opened.same.add(FILE);
        assertThat(rig.apply(B, opened).sent).isTrue();
        assertThat(rig.to(A).recalls).isEmpty();
        assertThat(rig.apply(B, new Entry().inode(FILE)).waits()).isTrue();
    }

    @Test
    void anotherNameOfTheDirectoryIsRecalledToo() {
        name(A, "a");
        Answer first = rig.apply(B, new Entry().name(DIRECTORY, "a"));
        rig.acknowledge(A);
        assertThat(first.sent).isTrue();
        Answer second = rig.apply(B, new Entry().name(DIRECTORY, "b"));
        assertThat(second.waits()).isTrue();
        assertThat(recall(A).getNames(0).getName().toStringUtf8()).isEqualTo("b");
    }

    @Test
    void recallsHaveAscendingNumbersAcrossTerms() {
        attributes(A, FILE);
        rig.apply(B, new Entry().inode(FILE));
        long first = recall(A).getNumber();
        rig.leases.end();
        rig.leases.begin(2);
        rig.now += 1_000 * LeaseRig.MILLI;
        attributes(A, FILE);
        rig.to(A).recalls.clear();
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        assertThat(recall(A).getNumber()).isGreaterThan(first);
        rig.acknowledge(A, List.of(ReadRecall.newBuilder().setNumber(first).build()));
        assertThat(answer.waits()).isTrue();
        rig.acknowledge(B, rig.to(A).recalls);
        assertThat(answer.waits()).as("another session's").isTrue();
        rig.acknowledge(A);
        assertThat(answer.sent).isTrue();
    }

    @Test
    void aSessionThatWasClosedIsNotWaitedFor() {
        attributes(A, FILE);
        attributes(A, FILE + 1);
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        rig.open.remove(A);
        rig.leases.sessionEnded(A);
        assertThat(answer.sent).isTrue();
        assertThat(rig.apply(B, new Entry().inode(FILE + 1)).sent).isTrue();
    }

    @Test
    void aSessionThatWasEvictedIsWaitedFor() {
        attributes(A, FILE);
        attributes(A, FILE + 1);
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        rig.open.remove(A);
        rig.leases.sessionRefused(A, 7);
        rig.leases.sessionEnded(A);
        assertThat(answer.waits()).isTrue();
        Answer second = rig.apply(B, new Entry().inode(FILE + 1));
        assertThat(second.waits()).isTrue();
        rig.now += 500 * LeaseRig.MILLI;
        rig.leases.tick();
        assertThat(answer.sent).isTrue();
        assertThat(second.sent).isTrue();
    }

    // ---- who else waits -----------------------------------------------------

    @Test
    void aQueryThatSeesTheChangeWaits() {
        attributes(A, FILE);
        rig.apply(B, new Entry().inode(FILE));
        Answer ofC = query(getAttr(C, FILE), attrReply(FILE), C);
        Answer ofMaker = query(getAttr(B, FILE), attrReply(FILE), B);
        Answer unknown = query(getAttr(0, FILE), attrReply(FILE), C);
        Answer xattr =
                query(
                        GetXattrRequest.newBuilder().setInode(FILE).build(),
                        GetXattrReply.getDefaultInstance(),
                        C);
        assertThat(query(getAttr(C, FILE + 1), attrReply(FILE + 1), C).sent).isTrue();
        for (Answer answer : List.of(ofC, ofMaker, unknown, xattr)) {
            assertThat(answer.waits()).isTrue();
        }
        rig.acknowledge(A);
        for (Answer answer : List.of(ofC, ofMaker, unknown, xattr)) {
            assertThat(answer.sent).isTrue();
        }
    }

    @Test
    void noAnswerWaitsForTheClientThatGetsIt() {
        attributes(A, FILE);
        rig.apply(B, new Entry().inode(FILE));
        assertThat(query(getAttr(A, FILE), attrReply(FILE), A).sent).isTrue();
        assertThat(query(getAttr(0, FILE), attrReply(FILE), A).sent)
                .as("it is known by its connection")
                .isTrue();
        assertThat(rig.apply(A, new Entry().inode(FILE)).sent).isTrue();
        attributes(C, FILE + 1);
        attributes(A, FILE + 1);
        rig.apply(B, new Entry().inode(FILE + 1));
        Answer waits = query(getAttr(A, FILE + 1), attrReply(FILE + 1), A);
        assertThat(waits.waits()).as("for the other one").isTrue();
        rig.acknowledge(C);
        assertThat(waits.sent).isTrue();
    }

    @Test
    void lookupsAndListingsWaitForTheNamesTheyTell() {
        name(A, "a");
        rig.apply(B, new Entry().name(DIRECTORY, "a"));
        assertThat(query(lookup(C, "a"), found(FILE), C).waits()).isTrue();
        assertThat(query(lookup(C, "a"), LookupReply.getDefaultInstance(), C).waits()).isTrue();
        assertThat(query(lookup(C, "a"), null, C).waits()).isTrue();
        assertThat(query(lookup(C, "b"), found(FILE), C).sent).isTrue();
        ReadDirRequest listing = ReadDirRequest.newBuilder().setInode(DIRECTORY).build();
        assertThat(query(listing, ReadDirReply.getDefaultInstance(), C).waits()).isTrue();
        ReadDirRequest other = ReadDirRequest.newBuilder().setInode(DIRECTORY + 1).build();
        assertThat(query(other, ReadDirReply.getDefaultInstance(), C).sent).isTrue();
    }

    @Test
    void aFailureThatTellsOfAChangeWaits() {
        name(A, "a");
        rig.apply(B, new Entry().name(DIRECTORY, "a"));
        assertThat(rig.leases.wantsReads()).isTrue();
        Answer exists = rig.apply(C, new Entry().reads(DIRECTORY, "a"));
        Answer other = rig.apply(C, new Entry().reads(DIRECTORY, "b").reads(FILE));
        assertThat(exists.waits()).isTrue();
        assertThat(other.sent).isTrue();
        rig.acknowledge(A);
        assertThat(exists.sent).isTrue();
        assertThat(rig.leases.wantsReads()).isFalse();
    }

    @Test
    void anAnswerThatIsRepeatedWaitsToo() {
        name(A, "a");
        rig.apply(B, new Entry().name(DIRECTORY, "a"));
        Entry again = new Entry();
        again.repeats = true;
        Answer answer = rig.apply(B, again);
        assertThat(answer.waits()).isTrue();
        rig.acknowledge(A);
        assertThat(answer.sent).isTrue();
    }

    // ---- pauses -------------------------------------------------------------

    @Test
    void whatWasRecalledIsNotLentForAWhile() {
        attributes(A, FILE);
        name(A, "a");
        rig.apply(B, new Entry().inode(FILE).name(DIRECTORY, "a"));
        rig.acknowledge(A);
        assertThat(attributes(A, FILE)).isZero();
        assertThat(name(A, "b")).isZero();
        rig.now += 1_000 * LeaseRig.MILLI;
        assertThat(attributes(A, FILE)).isPositive();
        assertThat(name(A, "b")).isZero();
        rig.now += 9_000 * LeaseRig.MILLI;
        assertThat(name(A, "b")).isPositive();
    }

    @Test
    void whatOneSessionChangesAloneGoesOnBeingLent() {
        name(A, "a");
        rig.apply(A, new Entry().name(DIRECTORY, "a").inode(FILE));
        assertThat(name(A, "b")).isPositive();
        assertThat(attributes(A, FILE)).isPositive();
    }

    @Test
    void whoChangesItAloneIsLentWhatOthersAreNot() {
        attributes(A, FILE);
        rig.apply(B, new Entry().inode(FILE));
        rig.acknowledge(A);
        assertThat(attributes(B, FILE)).isPositive();
        assertThat(attributes(A, FILE)).isZero();
        attributes(B, FILE);
        rig.apply(C, new Entry().inode(FILE));
        rig.acknowledge(B);
        for (long session : List.of(A, B, C)) {
            assertThat(attributes(session, FILE)).as("two have changed it").isZero();
        }
        rig.now += 1_000 * LeaseRig.MILLI;
        assertThat(attributes(A, FILE)).isPositive();
    }

    // ---- answers to changes -------------------------------------------------

    @Test
    void whoMakesAFileMayBelieveIt() {
        rig.apply(A, new Entry().inode(FILE).name(DIRECTORY, "a"));
        Attr made = results(0, create(), result(FILE)).getFirst().getAttr();
        assertThat(made.getAttrLeaseMicros()).isEqualTo(400_000);
        assertThat(made.getNameLeaseMicros()).isEqualTo(400_000);
        Answer answer = rig.apply(B, new Entry().name(DIRECTORY, "a"));
        assertThat(answer.waits()).isTrue();
        assertThat(recall(A).getNamesCount()).isEqualTo(1);
    }

    @Test
    void whatHasChangedSinceIsNotLentWithTheAnswer() {
        rig.apply(A, new Entry().inode(FILE).name(DIRECTORY, "a"));
        rig.apply(B, new Entry().inode(FILE));
        rig.index--;
        Attr made = results(0, create(), result(FILE)).getFirst().getAttr();
        assertThat(made.getAttrLeaseMicros()).isZero();
        assertThat(made.getNameLeaseMicros()).isEqualTo(400_000);
    }

    @Test
    void changedAttributesAndRepeatedAnswersLendNothing() {
        rig.apply(A, new Entry().inode(FILE));
        Mutation setAttr = Mutation.newBuilder().setSetAttr(SetAttrOp.getDefaultInstance()).build();
        assertThat(results(0, setAttr, result(FILE))).containsExactly(result(FILE));
        assertThat(results(1, create(), result(FILE))).containsExactly(result(FILE));
        rig.borrowers.remove(A);
        assertThat(results(0, create(), result(FILE))).containsExactly(result(FILE));
    }

    @Test
    void whatIsOpenedIsLentToWhoAppends() {
        rig.apply(A, new Entry().inode(FILE));
        OpenOp.Builder open = OpenOp.newBuilder().setInode(FILE);
        MutationResult opened = MutationResult.newBuilder().setAttr(attr(FILE)).build();
        Mutation plain = Mutation.newBuilder().setOpen(open).build();
        assertThat(results(0, plain, opened)).containsExactly(opened);
        Mutation appends = Mutation.newBuilder().setOpen(open.setAppend(true)).build();
        assertThat(results(0, appends, opened).getFirst().getAttr().getAttrLeaseMicros())
                .isPositive();
    }

    @Test
    void ofABatchOnlyWhatNothingLaterChanges() {
        rig.apply(A, new Entry().inode(FILE).name(DIRECTORY, "a"));
        Mutation unlink =
                Mutation.newBuilder().setUnlink(UnlinkOp.newBuilder().setParent(DIRECTORY)).build();
        List<MutationResult> lent =
                results(
                        0,
                        List.of(create(), unlink, create(), create()),
                        List.of(
                                result(FILE),
                                MutationResult.getDefaultInstance(),
                                result(FILE + 1),
                                result(FILE + 1)));
        assertThat(lent.get(0).getAttr().getAttrLeaseMicros()).isZero();
        assertThat(lent.get(0).getAttr().getNameLeaseMicros()).isZero();
        assertThat(lent.get(2).getAttr().getAttrLeaseMicros()).isZero();
        assertThat(lent.get(2).getAttr().getNameLeaseMicros()).isPositive();
        assertThat(lent.get(3).getAttr().getAttrLeaseMicros()).isPositive();
    }

    @Test
    void whoRenamesIntoADirectoryHoldsItsNamesAsLongAsThoseOfTheOther() {
        assertThat(name(A, "a")).isPositive();
        Entry rename = new Entry().name(DIRECTORY, "a").name(DIRECTORY + 1, "b");
        rename.moves.add(new Move(DIRECTORY, DIRECTORY + 1));
        rig.apply(A, rename);
        assertThat(rig.apply(B, new Entry().name(DIRECTORY + 1, "b")).waits()).isTrue();
        assertThat(recall(A).getNames(0).getName().toStringUtf8()).isEqualTo("b");
        rig.now += rig.leaderLeaseLeft;
        rig.leases.tick();
        assertThat(rig.apply(B, new Entry().name(DIRECTORY + 1, "b")).sent).isTrue();
    }

    /** So that mounts which rename into one directory all the time do not wait for each other. */
    @Test
    void whoHoldsNothingHoldsNothingByARename() {
        Entry rename = new Entry().name(DIRECTORY, "a").name(DIRECTORY + 1, "b");
        rename.moves.add(new Move(DIRECTORY, DIRECTORY + 1));
        rig.apply(A, rename);
        assertThat(rig.apply(B, new Entry().name(DIRECTORY + 1, "b")).sent).isTrue();
    }

    /** What it answered of it there, kernels may believe under the new name, too. */
    @Test
    void whoRenamesOutOfADirectoryOfItsOwnHoldsTheNewNamesAndWhatItMoved() {
        rig.delegated.add(DIRECTORY);
        Entry rename = new Entry().name(DIRECTORY, "a").name(DIRECTORY + 1, "b").inode(FILE);
        rename.moves.add(new Move(DIRECTORY, DIRECTORY + 1));
        rig.apply(A, rename);
        assertThat(rig.apply(B, new Entry().inode(FILE)).waits()).isTrue();
        assertThat(rig.apply(B, new Entry().name(DIRECTORY + 1, "b")).waits()).isTrue();
        rig.now += ReadLeases.DELEGATED_NANOS;
        rig.leases.tick();
        assertThat(rig.apply(B, new Entry().inode(FILE)).sent).isTrue();
        assertThat(rig.apply(B, new Entry().name(DIRECTORY + 1, "b")).sent).isTrue();
    }

    /** Of a rename one session holds the old name only: nobody is told of the new one before. */
    @Test
    void whatAnEntryChangesIsToldAsAWhole() {
        assertThat(name(A, "a")).isPositive();
        rig.apply(B, new Entry().name(DIRECTORY, "a").name(DIRECTORY + 1, "b").inode(FILE));
        assertThat(query(getAttr(C, FILE), attrReply(FILE), C).waits()).isTrue();
    }

    // ---- changes of the leader ----------------------------------------------

    @Test
    void aLeaderThatStepsDownRefusesWhatWaits() {
        attributes(A, FILE);
        Answer answer = rig.apply(B, new Entry().inode(FILE));
        Answer query = query(getAttr(C, FILE), attrReply(FILE), C);
        rig.leases.end();
        assertThat(answer.refused).isTrue();
        assertThat(query.refused).isTrue();
        assertThat(rig.leases.held()).isZero();
        assertThat(attributes(A, FILE)).isZero();
        assertThat(rig.apply(B, new Entry().inode(FILE)).refused).isTrue();
    }

    @Test
    void entriesOfAnEarlierTermAreNotConfirmedByALeaderThatHasForgottenWhatItLent() {
        attributes(A, FILE);
        rig.leases.showing(++rig.index, B, new Entry().inode(FILE));
        rig.leases.end();
        rig.leases.begin(2);
        rig.leases.shown(rig.index);
        Answer answer = new Answer();
        rig.leases.whenForgotten(rig.index, answer);
        assertThat(answer.refused).isTrue();
        assertThat(rig.apply(B, new Entry().inode(FILE)).sent).isTrue();
    }

    // ---- all together -------------------------------------------------------

    @Test
    void nobodyBelievesWhatIsOlderThanWhatAnotherWasTold() {
        Random random = TestSeed.random("ReadLeasesTest");
        int recalled = 0;
        int believed = 0;
        for (int run = 0; run < 60; run++) {
            long seed = random.nextLong();
            CacheModel model = new CacheModel(seed, Set.of());
            assertThat(model.run(STEPS)).as("model seed " + seed).isNull();
            recalled += model.recalled;
            believed += model.believed;
        }
        assertThat(recalled).isGreaterThan(100);
        assertThat(believed).isGreaterThan(1_000);
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void whatAServerLeavesOutIsFound(Fault fault) {
        Random random = new Random(20261126);
        @Nullable String found = null;
        for (int run = 0; run < 200 && found == null; run++) {
            found = new CacheModel(random.nextLong(), EnumSet.of(fault)).run(STEPS);
        }
        assertThat(found).as(fault.toString()).isNotNull();
    }

    // ---- asking -------------------------------------------------------------

    private ReadRecall recall(long session) {
        return rig.to(session).recalls.getLast();
    }

    private Answer query(MessageLite asked, @Nullable MessageLite reply, long session) {
        Answer answer = new Answer();
        if (!rig.replies.waits(asked, reply, rig.to(session), answer)) {
            answer.send();
        }
        return answer;
    }

    private MessageLite lent(MessageLite asked, MessageLite reply) {
        return rig.replies.lent(asked, reply, new Peer(), rig.replies.begin());
    }

    private int attributes(long session, long inode) {
        return attributes(session, inode, rig.replies.begin());
    }

    private int attributes(long session, long inode, long since) {
        MessageLite lent =
                rig.replies.lent(getAttr(session, inode), attrReply(inode), new Peer(), since);
        return ((GetAttrReply) lent).getAttr().getAttrLeaseMicros();
    }

    private int name(long session, String name) {
        return ((LookupReply) lent(lookup(session, name), found(FILE)))
                .getAttr()
                .getNameLeaseMicros();
    }

    private int missing(long session, String name) {
        return ((LookupReply) lent(lookup(session, name), LookupReply.getDefaultInstance()))
                .getMissingLeaseMicros();
    }

    private static LookupReply found(long inode) {
        return LookupReply.newBuilder().setAttr(attr(inode)).build();
    }

    private static LookupRequest lookup(long session, String name) {
        return LookupRequest.newBuilder()
                .setParent(DIRECTORY)
                .setName(ByteString.copyFromUtf8(name))
                .setLeaseSession(session)
                .build();
    }

    private static GetAttrRequest getAttr(long session, long inode) {
        return GetAttrRequest.newBuilder().setInode(inode).setLeaseSession(session).build();
    }

    private static GetAttrReply attrReply(long inode) {
        return GetAttrReply.newBuilder().setAttr(attr(inode)).build();
    }

    private static Attr.Builder attr(long inode) {
        return Attr.newBuilder().setInode(inode);
    }

    private static Mutation create() {
        return Mutation.newBuilder().setCreate(CreateOp.newBuilder().setParent(DIRECTORY)).build();
    }

    private static MutationResult result(long inode) {
        return MutationResult.newBuilder().setCreated(true).setAttr(attr(inode)).build();
    }

    private List<MutationResult> results(int repeated, Mutation mutation, MutationResult result) {
        return results(repeated, List.of(mutation), List.of(result));
    }

    /** As the last entry of session A is answered. */
    private List<MutationResult> results(
            int repeated, List<Mutation> mutations, List<MutationResult> results) {
        return LeasedResults.of(
                rig.leases,
                MutateRequest.newBuilder().setSession(A).addAllMutations(mutations).build(),
                ApplyReply.newBuilder()
                        .setIndex(rig.index)
                        .setRepeatedResults(repeated)
                        .addAllResults(results)
                        .build());
    }
}
