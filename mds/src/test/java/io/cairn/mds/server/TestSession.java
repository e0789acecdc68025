package io.cairn.mds.server;

import com.google.protobuf.ByteString;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.AcquireAppendOp;
import io.cairn.common.proto.AcquireIdsOp;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CloseForReadingReply;
import io.cairn.common.proto.CloseForReadingRequest;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.GrowOp;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MutateReply;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.OpenOp;
import io.cairn.common.proto.OpenSessionReply;
import io.cairn.common.proto.OpenSessionRequest;
import io.cairn.common.proto.RaiseCeilingOp;
import io.cairn.common.proto.ReadOpen;
import io.cairn.common.proto.ReclaimOpensReply;
import io.cairn.common.proto.ReclaimOpensRequest;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.RenewSessionReply;
import io.cairn.common.proto.RenewSessionRequest;
import io.cairn.common.proto.ReturnAppendOp;
import io.cairn.common.proto.ReturnDelegationsReply;
import io.cairn.common.proto.ReturnDelegationsRequest;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.SetXattrOp;
import io.cairn.common.proto.Timespec;
import io.cairn.common.proto.UnlinkOp;
import io.cairn.mds.server.TestGroup.Answer;
import java.util.concurrent.CompletableFuture;

/** A client session under test, which numbers its mutations. */
final class TestSession {
    static final long ROOT = 1;

    final TestGroup group;
    final OpenSessionReply opened;
    long next = 1;

    /** Of the leader that was told last what is open for reading. */
    long term;

    TestSession(TestGroup group) {
        this(group, false);
    }

    /**
     * @param reclaims whether it opens files for reading at the leader alone
     */
    TestSession(TestGroup group, boolean reclaims) {
        this(group, reclaims, false);
    }

    /**
     * @param delegates whether files that it makes are delegated to it
     */
    TestSession(TestGroup group, boolean reclaims, boolean delegates) {
        this.group = group;
        OpenSessionRequest request =
                OpenSessionRequest.newBuilder()
                        .setClientUuid(Uuids.random())
                        .setDescription("test")
                        .setReclaims(reclaims)
                        .setDelegates(delegates)
                        .build();
        opened = group.call(Method.OPEN_SESSION, request, OpenSessionReply.parser()).get();
    }

    long id() {
        return opened.getSession();
    }

    MutateRequest batch(long first, Mutation... mutations) {
        MutateRequest.Builder request =
                MutateRequest.newBuilder().setSession(id()).setFirstNumber(first).setAckedBelow(1);
        for (Mutation m : mutations) {
            request.addMutations(m);
        }
        return request.build();
    }

    Answer<MutateReply> mutate(MutateRequest batch) {
        return group.call(Method.MUTATE, batch, MutateReply.parser());
    }

    MutationResult mutate(Mutation mutation) {
        MutateReply reply = mutate(batch(next, mutation)).get();
        next++;
        return reply.getResults(0);
    }

    CompletableFuture<Answer<MutateReply>> send(int member, MutateRequest batch) {
        return group.send(member, Method.MUTATE, batch, MutateReply.parser());
    }

    Answer<LookupReply> lookup(String name) {
        return group.call(Method.LOOKUP, lookupRequest(name), LookupReply.parser());
    }

    /** One that is to open what it finds for reading. */
    LookupRequest opening(String name, long round, long number) {
        return lookupRequest(name).toBuilder()
                .setLeaseSession(id())
                .setOpenTerm(term)
                .setOpenRound(round)
                .setOpenNumber(number)
                .build();
    }

    LookupReply lookup(LookupRequest request) {
        return group.call(Method.LOOKUP, request, LookupReply.parser()).get();
    }

    Answer<GetAttrReply> getAttr(long inode) {
        return group.call(
                Method.GET_ATTR,
                GetAttrRequest.newBuilder().setInode(inode).build(),
                GetAttrReply.parser());
    }

    Answer<RenewSessionReply> renew() {
        return renew(Long.MAX_VALUE);
    }

    /**
     * @param mapEpoch of the map the client has
     */
    Answer<RenewSessionReply> renew(long mapEpoch) {
        return group.call(
                Method.RENEW_SESSION,
                RenewSessionRequest.newBuilder().setSession(id()).setMapEpoch(mapEpoch).build(),
                RenewSessionReply.parser());
    }

    // ---- files open for reading

    Answer<OpenForReadingReply> openForReading(long round, long inode, long number) {
        OpenForReadingRequest request =
                OpenForReadingRequest.newBuilder()
                        .setSession(id())
                        .setTerm(term)
                        .setRound(round)
                        .setInode(inode)
                        .setNumber(number)
                        .build();
        return group.call(Method.OPEN_FOR_READING, request, OpenForReadingReply.parser());
    }

    Answer<CloseForReadingReply> closeForReading(long round, long inode, long number) {
        CloseForReadingRequest request =
                CloseForReadingRequest.newBuilder()
                        .setSession(id())
                        .setTerm(term)
                        .setRound(round)
                        .addOpens(ReadOpen.newBuilder().setInode(inode).setNumber(number))
                        .build();
        return group.call(Method.CLOSE_FOR_READING, request, CloseForReadingReply.parser());
    }

    /** To the present leader; one number for all. */
    Answer<ReclaimOpensReply> reclaim(long round, long number, long... inodes) {
        ReclaimOpensRequest.Builder request =
                ReclaimOpensRequest.newBuilder()
                        .setSession(id())
                        .setTerm(term = renew().get().getTerm())
                        .setRound(round)
                        .setLast(true);
        for (long inode : inodes) {
            request.addOpens(ReadOpen.newBuilder().setInode(inode).setNumber(number));
        }
        return group.call(Method.RECLAIM_OPENS, request.build(), ReclaimOpensReply.parser());
    }

    // ---- files that are delegated

    /** To the present leader: nothing is delegated to the session any more. */
    Answer<ReturnDelegationsReply> announce(long round) {
        term = renew().get().getTerm();
        return giveBack(returned(round).setAll(true));
    }

    Answer<ReturnDelegationsReply> giveBack(long round, long inode) {
        return giveBack(returned(round).addInodes(inode));
    }

    Answer<ReturnDelegationsReply> giveBack(ReturnDelegationsRequest.Builder returned) {
        return group.call(
                Method.RETURN_DELEGATIONS, returned.build(), ReturnDelegationsReply.parser());
    }

    ReturnDelegationsRequest.Builder returned(long round) {
        return ReturnDelegationsRequest.newBuilder().setSession(id()).setTerm(term).setRound(round);
    }

    static LookupRequest lookupRequest(String name) {
        return LookupRequest.newBuilder()
                .setParent(ROOT)
                .setName(ByteString.copyFromUtf8(name))
                .build();
    }

    static Mutation mkdir(String name) {
        return mutation()
                .setMkdir(
                        MkdirOp.newBuilder()
                                .setParent(ROOT)
                                .setName(ByteString.copyFromUtf8(name))
                                .setMode(0040755))
                .build();
    }

    static Mutation create(String name, boolean open) {
        return mutation()
                .setCreate(
                        CreateOp.newBuilder()
                                .setParent(ROOT)
                                .setName(ByteString.copyFromUtf8(name))
                                .setMode(0100644)
                                .setExclusive(true)
                                .setOpen(open))
                .build();
    }

    static Mutation acquireIds(int count) {
        return mutation().setAcquireIds(AcquireIdsOp.newBuilder().setCount(count)).build();
    }

    static Mutation unlink(String name) {
        return mutation()
                .setUnlink(
                        UnlinkOp.newBuilder()
                                .setParent(ROOT)
                                .setName(ByteString.copyFromUtf8(name)))
                .build();
    }

    static Mutation raiseCeiling(long inode, long ceiling) {
        return mutation()
                .setRaiseCeiling(
                        RaiseCeilingOp.newBuilder().setInode(inode).setSizeCeiling(ceiling))
                .build();
    }

    static Mutation grow(long inode, long size) {
        return mutation()
                .setGrow(
                        GrowOp.newBuilder()
                                .setInode(inode)
                                .setSize(size)
                                .setMtime(Timespec.newBuilder().setSeconds(1)))
                .build();
    }

    static Mutation truncate(long inode, long size) {
        return mutation().setSetAttr(SetAttrOp.newBuilder().setInode(inode).setSize(size)).build();
    }

    static Mutation chmod(long inode, int mode) {
        return mutation().setSetAttr(SetAttrOp.newBuilder().setInode(inode).setMode(mode)).build();
    }

    static Mutation open(long inode) {
        return mutation().setOpen(OpenOp.newBuilder().setInode(inode)).build();
    }

    static Mutation acquireAppend(long inode) {
        return mutation().setAcquireAppend(AcquireAppendOp.newBuilder().setInode(inode)).build();
    }

    static Mutation returnAppend(long inode, long size) {
        return mutation()
                .setReturnAppend(
                        ReturnAppendOp.newBuilder()
                                .setInode(inode)
                                .setGrow(GrowOp.newBuilder().setSize(size)))
                .build();
    }

    static Mutation release(long inode) {
        return mutation().setRelease(ReleaseOp.newBuilder().setInode(inode).setOpens(1)).build();
    }

    /** Fails where the name exists. */
    static Mutation setXattr(long inode, String name, ByteString value) {
        return mutation()
                .setSetXattr(
                        SetXattrOp.newBuilder()
                                .setInode(inode)
                                .setName(ByteString.copyFromUtf8(name))
                                .setValue(value)
                                .setFlags(1))
                .build();
    }

    static Attr inode(MutationResult result) {
        if (result.getErrno() != 0) {
            throw new AssertionError(result);
        }
        return result.getAttr();
    }

    static Mutation.Builder mutation() {
        return Mutation.newBuilder().setCredentials(Credentials.getDefaultInstance());
    }
}
