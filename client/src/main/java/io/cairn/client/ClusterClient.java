package io.cairn.client;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.cairn.client.api.CairnClient;
import io.cairn.client.api.ContentHolder;
import io.cairn.client.api.LeaseHolder;
import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.base.ClientMeters.Op;
import io.cairn.client.inode.FileServices;
import io.cairn.client.inode.InodeState;
import io.cairn.client.inode.InodeTable;
import io.cairn.client.inode.LostFiles;
import io.cairn.client.inode.OpenHandle;
import io.cairn.client.inode.Opens;
import io.cairn.client.inode.SetAttrs;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.name.Born;
import io.cairn.client.name.OwnNames;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.GetXattrReply;
import io.cairn.common.proto.GetXattrRequest;
import io.cairn.common.proto.LinkOp;
import io.cairn.common.proto.ListXattrReply;
import io.cairn.common.proto.ListXattrRequest;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MknodOp;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadLinkReply;
import io.cairn.common.proto.ReadLinkRequest;
import io.cairn.common.proto.RemoveXattrOp;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.RmdirOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.SetXattrOp;
import io.cairn.common.proto.StatFsReply;
import io.cairn.common.proto.StatFsRequest;
import io.cairn.common.proto.SymlinkOp;
import io.cairn.common.proto.UnlinkOp;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The operations of {@link CairnClient} as queries and mutations; what concerns open files is done
 * by the {@code inode} package. Any thread.
 */
final class ClusterClient implements CairnClient {
    private static final Logger LOG = LoggerFactory.getLogger(ClusterClient.class);

    /** Linux's flags of renameat2. */
    private static final int RENAME_NOREPLACE = 1;

    private static final int RENAME_EXCHANGE = 2;

    /** What names of extended attributes that Cairn gives a meaning begin with. */
    private static final ByteString OURS = ByteString.copyFromUtf8("cairn.");

    private final ClientRuntime runtime;
    private final FileServices services;
    private final InodeTable table;
    private final OwnNames names;
    private final Opens opens;
    private final SetAttrs setAttrs;
    private final ClientMeters meters;
    private volatile long root = ROOT_INODE;

    ClusterClient(ClientRuntime runtime) {
        this.runtime = runtime;
        this.services = runtime.services();
        this.table = runtime.table();
        this.names = runtime.names();
        this.opens = new Opens(services, table, runtime.appends(), runtime.delegations(), names);
        this.setAttrs = new SetAttrs(services, table);
        this.meters = services.meters();
    }

    @Override
    public long rootInode() {
        return root;
    }

    void root(long inode) {
        root = inode;
    }

    @Override
    public void onNewSession(Runnable action) {
        runtime.onNewSession(action);
    }

    // ---- queries

    @Override
    public void holdLeases(LeaseHolder holder) {
        services.meta()
                .leases()
                .hold((recall, forgotten) -> {
                    CompletableFuture<Void> unused =
                            runtime.appends().sizesRecalled(recall.getInodesList());
                    holder.recalled(
                            recall, () -> unused.whenComplete((v, thrown) -> forgotten.run()));
                });
    }

    @Override
    public void holdContents(ContentHolder holder) {
        services.contents().hold(holder);
    }

    @Override
    public CompletableFuture<Attr> lookup(long parent, byte[] name) {
        return timed(
                Op.LOOKUP,
                Async.map(
                        lookUp(parent, name),
                        reply -> {
                            if (!reply.hasAttr()) {
                                throw new FsException(Errno.ENOENT, "no such name");
                            }
                            return reply.getAttr();
                        }));
    }

    @Override
    public CompletableFuture<LookupReply> find(long parent, byte[] name) {
        return timed(Op.LOOKUP, lookUp(parent, name));
    }

    private CompletableFuture<LookupReply> lookUp(long parent, byte[] name) {
        LookupRequest request =
                LookupRequest.newBuilder()
                        .setParent(parent)
                        .setName(ByteString.copyFrom(name))
                        .build();
        @Nullable LookupReply known = names.find(parent, request.getName());
        if (known != null) {
            return CompletableFuture.completedFuture(merged(known));
        }
        return Async.then(
                names.ready(parent, request.getName()),
                nothing ->
                        Async.then(
                                services.meta().lookUp(request, services.metadataDeadline()),
                                this::current));
    }

    /** With the attributes that the inode has here: the MDS may not have all yet. */
    private CompletableFuture<LookupReply> current(LookupReply reply) {
        if (!reply.hasAttr() || !names.has(reply.getAttr().getInode())) {
            return CompletableFuture.completedFuture(merged(reply));
        }
        return Async.map(
                attributes(reply.getAttr().getInode()),
                attr ->
                        reply.toBuilder()
                                .setAttr(
                                        attr.toBuilder()
                                                .setNameLeaseMicros(
                                                        reply.getAttr().getNameLeaseMicros()))
                                .build());
    }

    private LookupReply merged(LookupReply reply) {
        return reply.hasAttr()
                ? reply.toBuilder().setAttr(table.merge(reply.getAttr())).build()
                : reply;
    }

    @Override
    public CompletableFuture<Attr> getAttr(long inode) {
        InodeState open = table.find(inode);
        FsException gone = open == null ? null : open.whyGone();
        if (gone != null) {
            return CompletableFuture.failedFuture(gone);
        }
        if (open != null && open.isDelegated()) {
            return timed(Op.GETATTR, CompletableFuture.completedFuture(open.merged()));
        }
        return timed(Op.GETATTR, attributes(inode));
    }

    private CompletableFuture<Attr> attributes(long inode) {
        @Nullable Attr own = names.attributes(inode);
        if (own != null) {
            return CompletableFuture.completedFuture(own);
        }
        return Async.then(
                names.ready(inode),
                nothing -> {
                    long asked = names.asked(inode);
                    return Async.map(
                            query(
                                    Method.GET_ATTR,
                                    session ->
                                            GetAttrRequest.newBuilder()
                                                    .setInode(inode)
                                                    .setLeaseSession(session)
                                                    .build(),
                                    GetAttrReply.parser()),
                            reply -> {
                                names.learned(asked, reply.getAttr());
                                return table.merge(reply.getAttr());
                            });
                });
    }

    @Override
    public CompletableFuture<byte[]> readLink(long inode) {
        return ask(
                inode,
                Op.READLINK,
                Method.READ_LINK,
                ReadLinkRequest.newBuilder().setInode(inode).build(),
                ReadLinkReply.parser(),
                reply -> reply.getTarget().toByteArray());
    }

    @Override
    public CompletableFuture<ReadDirReply> readDir(
            long inode, long cursor, int maxBytes, boolean withAttributes) {
        ReadDirRequest request =
                ReadDirRequest.newBuilder()
                        .setInode(inode)
                        .setCursor(cursor)
                        .setMaxBytes(maxBytes)
                        .setWithAttributes(withAttributes)
                        .build();
        return timed(
                Op.READDIR,
                Async.map(
                        query(
                                inode,
                                Method.READ_DIR,
                                session -> request.toBuilder().setLeaseSession(session).build(),
                                ReadDirReply.parser()),
                        reply -> withAttributes ? withOwnWrites(reply) : reply));
    }

    /** The same of an inode, when the MDS has what was done to it. */
    private <T extends MessageLite> CompletableFuture<T> query(
            long inode,
            Method method,
            LongFunction<? extends MessageLite> request,
            Parser<T> parser) {
        return Async.then(names.ready(inode), nothing -> query(method, request, parser));
    }

    /**
     * A query whose answer may bring leases, if they are wanted.
     *
     * @param request of the session that asks for them, 0 for none
     */
    private <T extends MessageLite> CompletableFuture<T> query(
            Method method, LongFunction<? extends MessageLite> request, Parser<T> parser) {
        MetaClient meta = services.meta();
        return meta.query(
                method,
                session -> request.apply(meta.leases().session(session)),
                parser,
                services.metadataDeadline());
    }

    /**
     * Puts size and mtime of this client's own writes into the entries of open files; those of
     * directories of which the MDS may not have all have no attributes.
     */
    private ReadDirReply withOwnWrites(ReadDirReply reply) {
        ReadDirReply.Builder merged = null;
        for (int i = 0; i < reply.getEntriesCount(); i++) {
            DirEntry entry = reply.getEntries(i);
            if (!entry.hasAttr()) {
                continue;
            }
            Attr known = table.merge(entry.getAttr());
            boolean own = names.has(known.getInode());
            if (own || known != entry.getAttr()) {
                merged = merged == null ? reply.toBuilder() : merged;
                DirEntry.Builder here = entry.toBuilder();
                merged.setEntries(i, (own ? here.clearAttr() : here.setAttr(known)).build());
            }
        }
        return merged == null ? reply : merged.build();
    }

    @Override
    public CompletableFuture<byte[]> getXattr(long inode, byte[] name) {
        GetXattrRequest request =
                GetXattrRequest.newBuilder()
                        .setInode(inode)
                        .setName(ByteString.copyFrom(name))
                        .build();
        return ask(
                inode,
                Op.GETXATTR,
                Method.GET_XATTR,
                request,
                GetXattrReply.parser(),
                reply -> reply.getValue().toByteArray());
    }

    @Override
    public CompletableFuture<List<byte[]>> listXattr(long inode) {
        return ask(
                inode,
                Op.LISTXATTR,
                Method.LIST_XATTR,
                ListXattrRequest.newBuilder().setInode(inode).build(),
                ListXattrReply.parser(),
                reply -> reply.getNamesList().stream().map(ByteString::toByteArray).toList());
    }

    @Override
    public CompletableFuture<StatFsReply> statFs() {
        return ask(
                Op.STATFS,
                Method.STAT_FS,
                StatFsRequest.getDefaultInstance(),
                StatFsReply.parser(),
                Function.identity());
    }

    @Override
    public CompletableFuture<Void> syncDirectory(long inode) {
        return names.synced(inode);
    }

    @Override
    public boolean sharesLocks() {
        return runtime.sharesLocks();
    }

    @Override
    public void slowDown() {
        services.data().slowDown();
    }

    // ---- mutations

    @Override
    public CompletableFuture<Attr> setAttr(SetAttrOp change, Credentials who) {
        @Nullable Attr own = names.setAttr(change, who);
        if (own != null) {
            return timed(Op.SETATTR, CompletableFuture.completedFuture(own));
        }
        names.attrChanging(change.getInode());
        CompletableFuture<Attr> changed = setAttrs.apply(change, who);
        var _ = changed.whenComplete((attr, failure) -> names.attrChanged(change.getInode(), attr));
        return timed(Op.SETATTR, changed);
    }

    @Override
    public CompletableFuture<OpenFile> create(
            long parent,
            byte[] name,
            int mode,
            boolean exclusive,
            boolean append,
            Credentials who) {
        CreateOp create =
                CreateOp.newBuilder()
                        .setParent(parent)
                        .setName(ByteString.copyFrom(name))
                        .setMode(mode)
                        .setExclusive(exclusive)
                        .setOpen(true)
                        .setAppend(append)
                        .build();
        Mutation mutation = NewMutation.stamped().setCredentials(who).setCreate(create).build();
        return timed(Op.CREATE, opened(opens.create(mutation)));
    }

    @Override
    public CompletableFuture<OpenFile> open(long inode, boolean append) {
        return timed(Op.OPEN, opened(opens.open(inode, append)));
    }

    @Override
    public CompletableFuture<OpenFile> openForReading(long inode) {
        return timed(Op.OPEN, opened(opens.openForReading(inode)));
    }

    private static CompletableFuture<OpenFile> opened(CompletableFuture<OpenHandle> handle) {
        return Async.map(handle, h -> h);
    }

    @Override
    public CompletableFuture<Attr> mkdir(long parent, byte[] name, int mode, Credentials who) {
        MkdirOp mkdir =
                MkdirOp.newBuilder()
                        .setParent(parent)
                        .setName(ByteString.copyFrom(name))
                        .setMode(mode)
                        .setOpen(runtime.delegations().ofDirectories())
                        .build();
        Mutation mutation = NewMutation.stamped().setCredentials(who).setMkdir(mkdir).build();
        @Nullable Born born = names.make(mutation, b -> {});
        return timed(
                Op.MKDIR,
                born != null
                        ? CompletableFuture.completedFuture(born.attr())
                        : madeDirectory(mutation));
    }

    private CompletableFuture<Attr> madeDirectory(Mutation mutation) {
        MkdirOp mkdir = mutation.getMkdir();
        OwnNames.Change change = names.change().of(mkdir.getParent(), mkdir.getName());
        long ticket = runtime.delegations().creating();
        names.makingOne();
        PendingMutation pending = pending(mutation, change);
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            boolean made = result != null && result.getErrno() == 0;
                            long inode = made ? result.getAttr().getInode() : 0;
                            boolean open =
                                    made
                                            && mkdir.getOpen()
                                            && pending.session() == services.data().session().id();
                            runtime.delegations()
                                    .created(
                                            ticket,
                                            inode,
                                            open ? result.getDelegation() : 0,
                                            () ->
                                                    names.made(
                                                            result.getAttr(),
                                                            pending.session(),
                                                            result.getDelegation()));
                            names.madeOne();
                            if (open && !names.has(inode)) {
                                names.release(inode, pending.session());
                            }
                            change.answered(mkdir.getParent(), mkdir.getName(), result, true);
                        });
        return Async.map(pending.reply(), result -> table.merge(result.getAttr()));
    }

    @Override
    public CompletableFuture<Attr> mknod(
            long parent, byte[] name, int mode, int rdev, Credentials who) {
        Mutation.Builder mutation = NewMutation.stamped().setCredentials(who);
        ByteString bytes = ByteString.copyFrom(name);
        if (Mode.isRegular(mode)) {
            mutation.setCreate(
                    CreateOp.newBuilder()
                            .setParent(parent)
                            .setName(bytes)
                            .setMode(mode)
                            .setExclusive(true));
        } else {
            mutation.setMknod(
                    MknodOp.newBuilder()
                            .setParent(parent)
                            .setName(bytes)
                            .setMode(mode)
                            .setRdev(rdev));
        }
        return made(Op.MKNOD, mutation.build(), parent, bytes);
    }

    @Override
    public CompletableFuture<Attr> symlink(
            long parent, byte[] name, byte[] target, Credentials who) {
        SymlinkOp symlink =
                SymlinkOp.newBuilder()
                        .setParent(parent)
                        .setName(ByteString.copyFrom(name))
                        .setTarget(ByteString.copyFrom(target))
                        .build();
        Mutation mutation = NewMutation.stamped().setCredentials(who).setSymlink(symlink).build();
        return made(Op.SYMLINK, mutation, parent, symlink.getName());
    }

    private CompletableFuture<Attr> made(Op op, Mutation mutation, long parent, ByteString name) {
        @Nullable Born born = names.make(mutation, b -> {});
        if (born != null) {
            return timed(op, CompletableFuture.completedFuture(born.attr()));
        }
        OwnNames.Change change = names.change().of(parent, name);
        PendingMutation pending = pending(mutation, change);
        var _ =
                pending.answer()
                        .whenComplete(
                                (result, thrown) -> change.answered(parent, name, result, true));
        return timed(op, Async.map(pending.reply(), result -> table.merge(result.getAttr())));
    }

    @Override
    public CompletableFuture<Attr> link(long inode, long newParent, byte[] newName) {
        LinkOp link =
                LinkOp.newBuilder()
                        .setInode(inode)
                        .setNewParent(newParent)
                        .setNewName(ByteString.copyFrom(newName))
                        .build();
        CompletableFuture<Void> ready = names.linking(inode, newParent);
        InodeState linked = table.find(inode);
        LostFiles.@Nullable Lost lost = table.lost().take(inode);
        if (lost != null) {
            ready = CompletableFuture.failedFuture(lost.why());
        }
        if (linked != null) {
            // Under its new name it may take the place of another file.
            table.namesChanged(linked);
            ready = Async.all(List.of(ready, runtime.delegations().settle(linked)));
        }
        return Async.then(ready, nothing -> linked(link));
    }

    private CompletableFuture<Attr> linked(LinkOp link) {
        OwnNames.Change change = names.change().of(link.getNewParent(), link.getNewName());
        PendingMutation pending = pending(NewMutation.stamped().setLink(link).build(), change);
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) ->
                                change.answered(
                                        link.getNewParent(), link.getNewName(), result, false));
        return timed(Op.LINK, Async.map(pending.reply(), result -> table.merge(result.getAttr())));
    }

    @Override
    public CompletableFuture<Void> unlink(long parent, byte[] name) {
        UnlinkOp unlink =
                UnlinkOp.newBuilder().setParent(parent).setName(ByteString.copyFrom(name)).build();
        Mutation mutation = NewMutation.stamped().setUnlink(unlink).build();
        InodeTable.Name named = new InodeTable.Name(parent, unlink.getName());
        long inode = names.unlink(mutation);
        if (inode != 0) {
            table.unlinked(named);
            table.nameless(inode);
            return timed(Op.UNLINK, Async.done());
        }
        return Async.map(
                removed(Op.UNLINK, mutation, parent, unlink.getName()),
                nothing -> {
                    table.unlinked(named);
                    return nothing;
                });
    }

    @Override
    public CompletableFuture<Void> rmdir(long parent, byte[] name) {
        RmdirOp rmdir =
                RmdirOp.newBuilder().setParent(parent).setName(ByteString.copyFrom(name)).build();
        Mutation mutation = NewMutation.stamped().setRmdir(rmdir).build();
        return names.rmdir(mutation) != 0
                ? timed(Op.RMDIR, Async.done())
                : removed(Op.RMDIR, mutation, parent, rmdir.getName());
    }

    private CompletableFuture<Void> removed(
            Op op, Mutation mutation, long parent, ByteString name) {
        OwnNames.Change change = names.change().of(parent, name);
        PendingMutation pending = pending(mutation, change);
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            if (result != null && result.getErrno() == 0) {
                                change.removed(result.getAttr());
                            } else {
                                change.ended();
                            }
                        });
        return timed(op, Async.ignoringValue(Async.map(pending.reply(), this::noted)));
    }

    @Override
    public CompletableFuture<Long> rename(
            long parent, byte[] name, long newParent, byte[] newName, int flags) {
        RenameOp rename =
                RenameOp.newBuilder()
                        .setParent(parent)
                        .setName(ByteString.copyFrom(name))
                        .setNewParent(newParent)
                        .setNewName(ByteString.copyFrom(newName))
                        .setFlags(flags)
                        .build();
        InodeTable.Name from = new InodeTable.Name(parent, rename.getName());
        InodeTable.Name to = new InodeTable.Name(newParent, rename.getNewName());
        long renamed = renamedEarly(rename, from, to);
        if (renamed != 0) {
            return timed(Op.RENAME, CompletableFuture.completedFuture(renamed));
        }
        boolean exchange = (flags & RENAME_EXCHANGE) != 0;
        CompletableFuture<Void> settled =
                Async.all(List.of(settled(from), exchange ? settled(to) : Async.done()));
        return timed(Op.RENAME, Async.then(settled, nothing -> renamed(rename, from, to)));
    }

    /**
     * Renames before the MDS has that; what has the new name then takes the place of nothing, so
     * its data may follow.
     *
     * @return the inode; 0: it has to wait
     */
    private long renamedEarly(RenameOp rename, InodeTable.Name from, InodeTable.Name to) {
        long inode = names.only(from.directory(), from.name());
        if (inode == 0 || (rename.getFlags() & ~RENAME_NOREPLACE) != 0) {
            return 0;
        }
        InodeState state = table.find(inode);
        Mutation mutation = NewMutation.stamped().setRename(rename).build();
        boolean lost = state == null ? table.lost().find(from) != null : state.hasLost();
        if (lost) {
            return 0;
        }
        OwnNames.@Nullable Renamed renamed =
                state == null
                        ? names.rename(mutation, inode, false)
                        : renamed(state, mutation, inode);
        if (renamed == null) {
            return 0;
        }
        renamed.follow();
        table.renamed(inode, from, to);
        return inode;
    }

    /** The file keeps it among its changes. */
    private OwnNames.@Nullable Renamed renamed(InodeState state, Mutation mutation, long inode) {
        AtomicReference<OwnNames.@Nullable Renamed> renamed = new AtomicReference<>();
        boolean changed =
                services.publisher()
                        .change(
                                state,
                                mutation,
                                stamped -> {
                                    OwnNames.@Nullable Renamed queued =
                                            names.rename(stamped, inode, true);
                                    renamed.set(queued);
                                    return queued == null ? null : queued.pending();
                                });
        return changed ? renamed.get() : null;
    }

    /** Of an exchange both take the place of another. */
    private CompletableFuture<Void> settled(InodeTable.Name name) {
        InodeState state = table.find(name);
        if (state != null) {
            return runtime.delegations().settle(state);
        }
        LostFiles.@Nullable Lost lost = table.lost().find(name);
        return lost == null ? Async.done() : told(lost);
    }

    /** Fails, once, if the name is still that of the file whose writes were lost. */
    private CompletableFuture<Void> told(LostFiles.Lost lost) {
        InodeTable.Name name = lost.name();
        return Async.then(
                lookUp(name.directory(), name.name().toByteArray()),
                reply -> {
                    boolean there = table.lost().take(lost.inode()) != null;
                    boolean same = reply.hasAttr() && reply.getAttr().getInode() == lost.inode();
                    return there && same
                            ? CompletableFuture.failedFuture(lost.why())
                            : Async.done();
                });
    }

    private CompletableFuture<Long> renamed(
            RenameOp rename, InodeTable.Name from, InodeTable.Name to) {
        boolean exchange = (rename.getFlags() & RENAME_EXCHANGE) != 0;
        boolean only = names.only(from.directory(), from.name()) != 0;
        OwnNames.Change change =
                names.change().of(from.directory(), from.name()).of(to.directory(), to.name());
        PendingMutation pending = pending(NewMutation.stamped().setRename(rename).build(), change);
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> {
                            @Nullable MutationResult one = exchange ? null : result;
                            change.answered(to.directory(), to.name(), one, only);
                            if (one == null || Mode.isDirectory(one.getAttr().getMode())) {
                                names.moved();
                            }
                        });
        return Async.map(
                pending.reply(),
                result -> {
                    long inode = result.getAttr().getInode();
                    table.renamed(inode, from, to);
                    var _ = table.merge(result.getAttr());
                    return inode;
                });
    }

    @Override
    public CompletableFuture<Void> setXattr(long inode, byte[] name, byte[] value, int flags) {
        SetXattrOp set =
                SetXattrOp.newBuilder()
                        .setInode(inode)
                        .setName(ByteString.copyFrom(name))
                        .setValue(ByteString.copyFrom(value))
                        .setFlags(flags)
                        .build();
        boolean ours = set.getName().startsWith(OURS);
        if (ours) {
            var _ = names.tell(inode); // what is made in it from now on inherits something else
        }
        // A layout is for files that nobody has open.
        CompletableFuture<Void> closed = ours ? table.close(inode) : Async.done();
        CompletableFuture<Void> done =
                Async.then(
                        closed,
                        nothing ->
                                changed(
                                        Op.SETXATTR,
                                        inode,
                                        NewMutation.stamped().setSetXattr(set)));
        if (ours) {
            // Programs see only the errno, which does not say what is wrong with a layout.
            var _ =
                    done.whenComplete((nothing, failure) -> {
                        if (failure != null) {
                            String why = Async.failure(failure).getMessage();
                            LOG.info("extended attribute of inode {} not set: {}", inode, why);
                        }
                    });
        }
        return done;
    }

    @Override
    public CompletableFuture<Void> removeXattr(long inode, byte[] name) {
        RemoveXattrOp remove =
                RemoveXattrOp.newBuilder()
                        .setInode(inode)
                        .setName(ByteString.copyFrom(name))
                        .build();
        return changed(Op.REMOVEXATTR, inode, NewMutation.stamped().setRemoveXattr(remove));
    }

    private CompletableFuture<Void> changed(Op op, long inode, Mutation.Builder mutation) {
        names.attrChanging(inode);
        PendingMutation pending = pending(mutation.build());
        var _ = pending.answer().whenComplete((result, thrown) -> names.answered(inode, result));
        return timed(op, Async.ignoringValue(Async.map(pending.reply(), this::noted)));
    }

    /** Attributes that came with the result of an operation on a name or an xattr. */
    private MutationResult noted(MutationResult result) {
        if (result.hasAttr()) {
            var _ = table.merge(result.getAttr());
            if (result.getAttr().getNlink() == 0) {
                var _ = table.close(result.getAttr().getInode());
            }
        }
        return result;
    }

    private PendingMutation pending(Mutation mutation) {
        return services.meta().mutate(mutation, services.metadataDeadline());
    }

    private PendingMutation pending(Mutation mutation, OwnNames.Change change) {
        return change.queue(mutation, services.metadataDeadline());
    }

    private <T extends MessageLite, R> CompletableFuture<R> ask(
            long inode,
            Op op,
            Method method,
            MessageLite request,
            Parser<T> parser,
            Function<? super T, ? extends R> use) {
        return Async.then(names.ready(inode), nothing -> ask(op, method, request, parser, use));
    }

    private <T extends MessageLite, R> CompletableFuture<R> ask(
            Op op,
            Method method,
            MessageLite request,
            Parser<T> parser,
            Function<? super T, ? extends R> use) {
        return timed(
                op,
                Async.map(
                        services.meta().query(method, request, parser, services.metadataDeadline()),
                        use));
    }

    private <T> CompletableFuture<T> timed(Op op, CompletableFuture<T> future) {
        return meters.timed(op, future);
    }

    @Override
    public void close() {
        runtime.close();
    }
}
