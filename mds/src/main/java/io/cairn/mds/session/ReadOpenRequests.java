package io.cairn.mds.session;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CloseForReadingReply;
import io.cairn.common.proto.CloseForReadingRequest;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.OpenForReadingReply;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReadOpen;
import io.cairn.common.proto.ReclaimOpensReply;
import io.cairn.common.proto.ReclaimOpensRequest;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.Heads;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.leader.Leadership;
import io.cairn.mds.lease.Delegations;
import io.cairn.mds.lease.LeasedReplies;
import io.cairn.mds.lease.WaitingAnswer;
import io.cairn.mds.lease.WriterSizes;
import io.cairn.mds.namespace.ControlReader;
import io.cairn.mds.namespace.NamespaceReader;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.session.ReadOpens.Round;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Answers what clients say of files they have open for reading, on the event loop it arrives on. An
 * open is noted before its attributes are read: whatever cuts or unlinks the file after those were
 * true finds it open.
 */
public final class ReadOpenRequests {
    private static final RpcStatus OTHER_ROUND =
            RpcStatus.fail(
                    Errno.EAGAIN, Advice.RETRY, "the session has to reclaim what it has open");

    private final Leadership leadership;
    private final ControlReader state;
    private final NamespaceReader namespace;
    private final SessionTable sessions;
    private final ReadOpens opens;
    private final LeasedReplies leases;
    private final Delegations delegations;
    private final WriterSizes sizes;
    private Delegations.Rereads rereads = (method, request, startNanos, work) -> work.run();

    public ReadOpenRequests(
            Leadership leadership,
            ControlReader state,
            NamespaceReader namespace,
            SessionTable sessions,
            ReadOpens opens,
            LeasedReplies leases,
            Delegations delegations,
            WriterSizes sizes) {
        this.sizes = sizes;
        this.leases = leases;
        this.delegations = delegations;
        this.leadership = leadership;
        this.state = state;
        this.namespace = namespace;
        this.sessions = sessions;
        this.opens = opens;
    }

    /** Once, before the first request. */
    public void rereadBy(Delegations.Rereads where) {
        rereads = where;
    }

    /** Whether it was answered with success. */
    public boolean open(RpcRequest request) {
        return open(
                request,
                Heads.parse(OpenForReadingRequest.parser(), request.head()),
                new Delegations.Look());
    }

    private boolean open(RpcRequest request, OpenForReadingRequest r, Delegations.Look look) {
        @Nullable RpcStatus refusal = refusal(r.getSession());
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        ReadOpens.Opened opened = opens.open(r.getSession(), round(r), r.getInode(), r.getNumber());
        @Nullable Attr attr = null;
        RpcStatus failure = OTHER_ROUND;
        switch (opened) {
            case OTHER_ROUND -> {}
            case TOO_MANY ->
                    failure =
                            RpcStatus.fail(
                                    Errno.EOPNOTSUPP, "the session has too many files open so");
            case NEW, AGAIN -> {
                delegations.reading(look);
                try {
                    attr = readable(r, opened == ReadOpens.Opened.AGAIN);
                } catch (FsException e) {
                    failure = RpcStatus.fail(e.errno(), String.valueOf(e.getMessage()));
                }
                if (attr == null && opened == ReadOpens.Opened.NEW) {
                    takeBack(r);
                }
            }
        }
        Answer answer = new Answer(request, r, look, attr, failure);
        // Where it waits it is open already: it may be asked again, and answered, at once.
        if (attr != null
                && (delegations.waits(r, null, request.peer(), look, answer)
                        || sizes.waits(
                                r.getSession(), List.of(attr), request.peer(), look, answer))) {
            return true;
        }
        if (!leases.waits(r, null, request.peer(), answer)) {
            answer.send();
        }
        return attr != null;
    }

    /** May have to wait until others have forgotten what it contradicts. */
    private final class Answer implements WaitingAnswer, Delegations.Question {
        private final RpcRequest request;
        private final OpenForReadingRequest asked;
        private final Delegations.Look look;
        private final @Nullable Attr attr;
        private final RpcStatus failure;

        Answer(
                RpcRequest request,
                OpenForReadingRequest asked,
                Delegations.Look look,
                @Nullable Attr attr,
                RpcStatus failure) {
            this.request = request;
            this.asked = asked;
            this.look = look;
            this.attr = attr;
            this.failure = failure;
        }

        @Override
        public void again() {
            rereads.run(
                    Method.OPEN_FOR_READING,
                    request,
                    System.nanoTime(),
                    () -> open(request, asked, look));
        }

        @Override
        public void send() {
            // After the attributes were read, as of all reads.
            @Nullable RpcStatus refusal = leadership.refusal();
            if (refusal != null) {
                refuse(refusal);
            } else if (attr == null) {
                refuse(failure);
            } else {
                request.reply(OpenForReadingReply.newBuilder().setAttr(attr).build());
            }
        }

        @Override
        public void refuse(RpcStatus status) {
            request.fail(status);
        }
    }

    /**
     * ENOENT where there is no such inode, or where it has no name and the session does not hold it
     * open; EINVAL for what is no regular file.
     */
    private Attr readable(OpenForReadingRequest r, boolean isOpen) {
        Attr attr = namespace.getAttr(r.getInode());
        if (!Mode.isRegular(attr.getMode())) {
            throw new FsException(Errno.EINVAL, "inode " + r.getInode() + " is no file");
        }
        if (attr.getNlink() == 0 && !isOpen && state.openCount(r.getSession(), r.getInode()) == 0) {
            throw new FsException(Errno.ENOENT, "inode " + r.getInode());
        }
        return attr;
    }

    private void takeBack(OpenForReadingRequest r) {
        var _ =
                opens.close(
                        r.getSession(),
                        round(r),
                        List.of(
                                ReadOpen.newBuilder()
                                        .setInode(r.getInode())
                                        .setNumber(r.getNumber())
                                        .build()));
    }

    /** What a look-up has opened. */
    public final class Found {
        private final OpenForReadingRequest opened;
        private final Attr attr;

        private Found(OpenForReadingRequest opened, Attr attr) {
            this.opened = opened;
            this.attr = attr;
        }

        /** As it was once the file was open. */
        public Attr attr() {
            return attr;
        }

        /** Its session is not told. */
        public void takeBack() {
            ReadOpenRequests.this.takeBack(opened);
        }
    }

    /**
     * Opens what a look-up has found, if that wants it, and the session has not.
     *
     * @return null where it is not open by this
     */
    public @Nullable Found open(LookupRequest lookup, Attr found) {
        if (lookup.getOpenNumber() == 0
                || !Mode.isRegular(found.getMode())
                || !leases.lends(lookup.getLeaseSession(), found)
                || refusal(lookup.getLeaseSession()) != null) {
            return null;
        }
        OpenForReadingRequest r =
                OpenForReadingRequest.newBuilder()
                        .setSession(lookup.getLeaseSession())
                        .setTerm(lookup.getOpenTerm())
                        .setRound(lookup.getOpenRound())
                        .setInode(found.getInode())
                        .setNumber(lookup.getOpenNumber())
                        .build();
        if (!opens.openFound(r.getSession(), round(r), r.getInode(), r.getNumber())) {
            return null;
        }
        try {
            return new Found(r, readable(r, false));
        } catch (FsException e) { // it was removed meanwhile
            takeBack(r);
            return null;
        }
    }

    private static Round round(OpenForReadingRequest r) {
        return new Round(r.getTerm(), r.getRound());
    }

    public boolean close(RpcRequest request) {
        CloseForReadingRequest r = Heads.parse(CloseForReadingRequest.parser(), request.head());
        @Nullable RpcStatus refusal = refusal(r.getSession());
        if (refusal == null
                && !opens.close(
                        r.getSession(), new Round(r.getTerm(), r.getRound()), r.getOpensList())) {
            refusal = OTHER_ROUND;
        }
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        request.reply(CloseForReadingReply.getDefaultInstance());
        return true;
    }

    public boolean reclaim(RpcRequest request) {
        ReclaimOpensRequest r = Heads.parse(ReclaimOpensRequest.parser(), request.head());
        @Nullable RpcStatus refusal = refusal(r.getSession());
        if (refusal == null
                && !opens.reclaim(
                        r.getSession(),
                        new Round(r.getTerm(), r.getRound()),
                        r.getOpensList(),
                        r.getPart(),
                        r.getLast())) {
            refusal = OTHER_ROUND;
        }
        if (refusal == null && sessions.get(r.getSession()) == null) {
            opens.sessionEnded(r.getSession()); // meanwhile
            refusal = Mutations.fenced(r.getSession());
        }
        if (refusal != null) {
            request.fail(refusal);
            return false;
        }
        request.reply(ReclaimOpensReply.getDefaultInstance());
        return true;
    }

    private @Nullable RpcStatus refusal(long session) {
        @Nullable RpcStatus refusal = leadership.refusal();
        if (refusal != null) {
            return refusal;
        }
        @Nullable SessionRecord record = state.session(session);
        if (record == null || sessions.get(session) == null) {
            return Mutations.fenced(session);
        }
        return record.getReclaims()
                ? null
                : RpcStatus.fail(
                        Errno.EOPNOTSUPP, "session " + session + " does not reclaim what it opens");
    }
}
