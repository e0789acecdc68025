package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.GetXattrRequest;
import io.cairn.common.proto.ListXattrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.OpenForReadingRequest;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadLinkRequest;
import io.cairn.common.proto.TestLockRequest;
import io.cairn.common.rpc.RpcPeer;
import io.cairn.mds.lease.ReadLeases.Loan;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What answers to queries tell of, and for how long they may be believed. Any thread. */
public final class LeasedReplies {
    private static final ByteString DOT = ByteString.copyFromUtf8(".");
    private static final ByteString DOT_DOT = ByteString.copyFromUtf8("..");

    private final ReadLeases leases;
    private final Written written;

    /** Whether others than the session may write to a file. */
    public interface Written {
        boolean isWrittenBeside(long session, Attr attr);
    }

    /**
     * @param written such attributes are not lent: who is told them again asks the writers again
     */
    public LeasedReplies(ReadLeases leases, Written written) {
        this.leases = leases;
        this.written = written;
    }

    /** Before anything is read: {@code since} of {@link #lent}. */
    public long begin() {
        return leases.begin();
    }

    /** The session that asks, where the question names it; 0: it is of no matter for leases. */
    public static long borrower(@Nullable MessageLite asked) {
        return switch (asked) {
            case LookupRequest r -> r.getLeaseSession();
            case GetAttrRequest r -> r.getLeaseSession();
            case ReadDirRequest r -> r.getLeaseSession();
            case OpenForReadingRequest r -> r.getSession();
            case null, default -> 0;
        };
    }

    /**
     * After the data was read: whether somebody has yet to forget what it contradicts; then the
     * answer is sent later.
     *
     * @param reply null: it failed
     */
    public boolean waits(
            @Nullable MessageLite asked,
            @Nullable MessageLite reply,
            RpcPeer peer,
            WaitingAnswer answer) {
        return asked != null
                && leases.recalls()
                && leases.waits(borrower(asked), peer, keys(asked, reply), answer);
    }

    private static List<RecallKey> keys(MessageLite asked, @Nullable MessageLite reply) {
        List<RecallKey> keys = new ArrayList<>();
        switch (asked) {
            case LookupRequest r -> {
                if (hasName(r)) {
                    keys.add(RecallKey.name(r.getParent(), r.getName()));
                }
                if (reply == null || !hasName(r)) {
                    keys.add(RecallKey.attributes(r.getParent()));
                }
                if (reply instanceof LookupReply found && found.hasAttr()) {
                    keys.add(RecallKey.attributes(found.getAttr().getInode()));
                }
            }
            case ReadDirRequest r -> {
                keys.add(RecallKey.attributes(r.getInode()));
                keys.add(RecallKey.anyName(r.getInode()));
                if (reply instanceof ReadDirReply listed && r.getWithAttributes()) {
                    for (DirEntry entry : listed.getEntriesList()) {
                        keys.add(RecallKey.attributes(entry.getInode()));
                    }
                }
            }
            case GetAttrRequest r -> keys.add(RecallKey.attributes(r.getInode()));
            case ReadLinkRequest r -> keys.add(RecallKey.attributes(r.getInode()));
            case GetXattrRequest r -> keys.add(RecallKey.attributes(r.getInode()));
            case ListXattrRequest r -> keys.add(RecallKey.attributes(r.getInode()));
            case OpenForReadingRequest r -> keys.add(RecallKey.attributes(r.getInode()));
            case TestLockRequest r -> keys.add(RecallKey.attributes(r.getLock().getInode()));
            default -> {}
        }
        return keys;
    }

    /** Else the inode itself, or the directory above. */
    private static boolean hasName(LookupRequest asked) {
        return !asked.getName().equals(DOT) && !asked.getName().equals(DOT_DOT);
    }

    /** The reply with what it lends to the session that asks. */
    public MessageLite lent(MessageLite asked, MessageLite reply, RpcPeer peer, long since) {
        long session = borrower(asked);
        if (session == 0) {
            return reply;
        }
        leases.borrowing(session, peer);
        @Nullable Loan loan = leases.loan(session, since);
        if (loan == null) {
            return reply;
        }
        MessageLite lent =
                switch (asked) {
                    case LookupRequest r -> found(r, (LookupReply) reply, loan);
                    case ReadDirRequest r -> listed(r, (ReadDirReply) reply, loan);
                    default -> {
                        Attr attr = ((GetAttrReply) reply).getAttr();
                        boolean published = ((GetAttrRequest) asked).getPublishedOnly();
                        yield GetAttrReply.newBuilder()
                                .setAttr(published ? lent(attr, loan) : attributes(attr, loan))
                                .build();
                    }
                };
        return loan.end() ? lent : reply;
    }

    private LookupReply found(LookupRequest asked, LookupReply reply, Loan loan) {
        int name = hasName(asked) ? loan.names(asked.getParent()) : 0;
        return reply.hasAttr()
                ? reply.toBuilder()
                        .setAttr(attributes(reply.getAttr(), loan).setNameLeaseMicros(name))
                        .build()
                : LookupReply.newBuilder().setMissingLeaseMicros(name).build();
    }

    private ReadDirReply listed(ReadDirRequest asked, ReadDirReply reply, Loan loan) {
        if (!asked.getWithAttributes()) {
            return reply;
        }
        int name = loan.names(asked.getInode());
        ReadDirReply.Builder lent = reply.toBuilder();
        for (int i = 0; i < reply.getEntriesCount(); i++) {
            DirEntry entry = reply.getEntries(i);
            lent.setEntries(
                    i,
                    entry.toBuilder()
                            .setAttr(attributes(entry.getAttr(), loan).setNameLeaseMicros(name)));
        }
        return lent.build();
    }

    /** Whether such attributes are lent to the session, if they are lent to anybody. */
    public boolean lends(long session, Attr attr) {
        return !written.isWrittenBeside(session, attr);
    }

    private Attr.Builder attributes(Attr attr, Loan loan) {
        return lends(loan.session(), attr) ? lent(attr, loan) : attr.toBuilder();
    }

    private static Attr.Builder lent(Attr attr, Loan loan) {
        return attr.toBuilder().setAttrLeaseMicros(loan.attributes(attr.getInode()));
    }
}
