package io.cairn.client.name;

import com.google.protobuf.ByteString;
import io.cairn.client.base.Async;
import io.cairn.client.base.ClientMeters;
import io.cairn.client.meta.MetaClient;
import io.cairn.client.meta.NewMutation;
import io.cairn.client.meta.PendingMutation;
import io.cairn.client.meta.Results;
import io.cairn.client.name.OwnDirectory.Entry;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.EntryNames;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReleaseOp;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Directories that are delegated to this client because it made them and nobody else has looked
 * into them: names are made and removed in them before the MDS has that, and what there is not is
 * known. Whatever is so answered cannot fail at the MDS, short of the session's end.
 *
 * <pre>
 *   made, with an open --recalled, or too many, or its layout changes--> given up: nothing is answered
 *     --all told, and nothing believed by the kernel any more--> returned and released: gone
 * </pre>
 *
 * <p>The kernel is told that it may believe what is answered here for a short time only ({@link
 * #BELIEVED_NANOS}), which a return waits for: nobody could make it forget.
 *
 * <p>Any thread. Nothing waits or completes a future under the monitor; that of the session is
 * taken under it.
 */
public final class OwnNames {
    private static final Logger LOG = LoggerFactory.getLogger(OwnNames.class);

    /** For how long the kernel may believe what it was answered here, from when it asked. */
    private static final int LEASE_MICROS = (int) TimeUnit.MILLISECONDS.toMicros(50);

    /**
     * So long after an answer it is believed no more, however late the program ran that had asked:
     * kernels count from then. The MDS knows this number for what is moved out of a directory.
     */
    static final long BELIEVED_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** Well below what the MDS delegates to one session, files included. */
    static final int MAX_DIRECTORIES = 4_096;

    /** Of all of them: some 30 MB. */
    static final int MAX_NAMES = 200_000;

    /** Mutations without an answer up to which programs need not wait: a part of what is kept. */
    private static final int MAX_UNTOLD = 1024;

    private static final CompletableFuture<Void> DONE = Async.done();

    /** Where an entry is, whose inode has no other name. */
    private record Place(OwnDirectory directory, ByteString name) {}

    private final MetaClient meta;
    private final ClientMeters meters;

    /** Those first that were not used for the longest time. */
    private final LinkedHashMap<Long, OwnDirectory> directories =
            new LinkedHashMap<>(16, 0.75f, true);

    /** Of them, those that are not given up. */
    private int held;

    /** Of entries that are the only names of what is no directory. */
    private final Map<Long, Place> places = new HashMap<>();

    /** Inodes of which the MDS has not answered the making, or the end. */
    private final Map<Long, CompletableFuture<Void>> untold = new HashMap<>();

    private final LostNames lost = new LostNames();

    /** Directories that the MDS is making, of which it is not known which they are. */
    private int making;

    /** While there are such: directories in which somebody changes names who waits for it. */
    private final Set<Long> changedMeanwhile = new HashSet<>();

    private int names;

    /** Whether there is anything: most clients have nothing, and pay nothing. */
    private volatile boolean any;

    public OwnNames(MetaClient meta, ClientMeters meters) {
        this.meta = meta;
        this.meters = meters;
    }

    /** Directories that are delegated, or were and are not given back yet. */
    public synchronized int count() {
        return directories.size();
    }

    // ---- directories --------------------------------------------------------

    /** The MDS is about to be asked to make a directory. {@link #madeOne} follows. */
    public synchronized void makingOne() {
        making++;
        noteAny();
    }

    /** It has answered that, or will not; behind {@link #made}. */
    public synchronized void madeOne() {
        if (--making == 0) {
            changedMeanwhile.clear();
        }
        noteAny();
    }

    /**
     * The MDS has made a directory and delegated it.
     *
     * @param session in which it was opened by that
     */
    public synchronized void made(Attr directory, long session, long round) {
        if (!changedMeanwhile.contains(directory.getInode())) { // else it may not be empty
            add(new OwnDirectory(directory, session, round, DONE, System.nanoTime()));
        }
    }

    private void add(OwnDirectory directory) {
        directories.put(directory.inode, directory);
        held++;
        any = true;
        trim();
    }

    private void trim() {
        while (held > MAX_DIRECTORIES || names > MAX_NAMES) {
            OwnDirectory oldest = null;
            for (OwnDirectory directory : directories.values()) {
                if (directory.givenUp == null) {
                    oldest = directory;
                    break;
                }
            }
            if (oldest == null) {
                return;
            }
            var _ = giveUp(oldest);
        }
    }

    /**
     * Gives an open back that brought no delegation with it.
     *
     * @param session in which it is open
     */
    public void release(long inode, long session) {
        ReleaseOp.Builder release = ReleaseOp.newBuilder().setInode(inode).setOpens(1);
        var _ = meta.mutateLazily(NewMutation.stamped().setRelease(release).build(), session);
    }

    /** Others ask for it; completes when all that was done in it is told, at once if nothing is. */
    public CompletableFuture<Void> tell(long inode) {
        CompletableFuture<Void> over = DONE;
        if (any) {
            synchronized (this) {
                OwnDirectory directory = directories.get(inode);
                over = directory == null ? DONE : giveUp(directory);
            }
        }
        if (!over.isDone()) {
            meta.hurry();
        }
        return over;
    }

    /** Nothing is delegated any more; completes when all is told. */
    public CompletableFuture<Void> tellAll() {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        synchronized (this) {
            List.copyOf(directories.values()).forEach(directory -> all.add(giveUp(directory)));
        }
        meta.hurry();
        return Async.all(all);
    }

    /** From now on nothing is answered in it. Under the monitor. */
    private CompletableFuture<Void> giveUp(OwnDirectory directory) {
        @Nullable CompletableFuture<Void> begun = directory.givenUp;
        if (begun != null) {
            return begun;
        }
        CompletableFuture<Void> over = new CompletableFuture<>();
        directory.givenUp = over;
        held--;
        forgetNames(directory);
        CompletableFuture<Void> disbelieved = disbelieved(directory);
        var _ =
                Async.all(List.of(directory.told(), disbelieved))
                        .whenCompleteAsync(
                                (v, thrown) -> {
                                    drop(directory);
                                    Async.finish(over);
                                },
                                after(0));
        return over;
    }

    /** Completes when no kernel believes any more what was answered. */
    private static CompletableFuture<Void> disbelieved(OwnDirectory directory) {
        long left = directory.givenNanos() + BELIEVED_NANOS - System.nanoTime();
        return CompletableFuture.runAsync(() -> {}, after(Math.max(0, left)));
    }

    private static Executor after(long nanos) {
        return CompletableFuture.delayedExecutor(nanos, TimeUnit.NANOSECONDS, Runnable::run);
    }

    private void forgetNames(OwnDirectory directory) {
        names -= directory.size();
        directory.inodes().forEach(places::remove);
    }

    private void drop(OwnDirectory directory) {
        boolean mine;
        synchronized (this) {
            mine = directories.remove(directory.inode, directory);
            noteAny();
        }
        if (mine) {
            release(directory.inode, directory.session);
        }
    }

    private void noteAny() {
        any = !directories.isEmpty() || !untold.isEmpty() || making > 0 || !lost.isEmpty();
    }

    /** The session has ended, and with it whatever it had open. */
    public synchronized void sessionEnded() {
        for (OwnDirectory directory : directories.values()) {
            end(directory);
            if (!directory.told().isDone()) { // it will fail: who syncs the directory waits for it
                untold(directory.inode, directory.told());
                lost.ended(directory.inode, directory.session);
            }
        }
        directories.clear();
        places.clear();
        names = 0;
        noteAny();
    }

    private void end(OwnDirectory directory) {
        if (directory.givenUp == null) {
            directory.givenUp = DONE;
            held--;
        }
    }

    /** Somebody who asks for the inode has to wait for that. Under the monitor. */
    private void untold(long inode, CompletableFuture<Void> more) {
        CompletableFuture<Void> before = untold.getOrDefault(inode, DONE);
        CompletableFuture<Void> all = before.isDone() ? more : Async.all(List.of(before, more));
        untold.put(inode, all);
        var _ =
                all.whenComplete((v, thrown) -> {
                    synchronized (this) {
                        told(inode, all);
                        noteAny();
                    }
                });
    }

    /** Where names may be answered now, else null. Under the monitor. */
    private @Nullable OwnDirectory answering(long inode) {
        OwnDirectory directory = directories.get(inode);
        return directory == null || directory.givenUp != null || !meta.isDelegated(directory.round)
                ? null
                : directory;
    }

    /** Where names may be changed now, else null: who waits is told of what was lost there. */
    private @Nullable OwnDirectory changing(long inode) {
        return lost.isUntold(inode) ? null : answering(inode);
    }

    /** Whether the directory is delegated, or was and is not given back yet. */
    public boolean has(long inode) {
        if (!any) {
            return false;
        }
        synchronized (this) {
            return directories.containsKey(inode);
        }
    }

    // ---- making -------------------------------------------------------------

    /**
     * Makes something before the MDS has it.
     *
     * @param known called with it before anybody hears of its fate; not under the monitor
     * @return null where it must be made as usual
     */
    public @Nullable Born make(Mutation mutation, Consumer<Born> known) {
        if (!any || meta.mutationsOutstanding() > MAX_UNTOLD) {
            return null;
        }
        ByteString name = NewInode.name(mutation);
        OwnDirectory in;
        Born born;
        CompletableFuture<Void> told = new CompletableFuture<>();
        synchronized (this) {
            in = changing(NewInode.parent(mutation));
            @Nullable Attr inherited = in == null ? null : in.attr();
            if (in == null
                    || inherited == null
                    || !EntryNames.isValid(name)
                    || !in.knows(name)
                    || in.find(name) != null) {
                return null;
            }
            @Nullable Attr made = NewInode.attr(mutation, inherited);
            @Nullable PendingMutation pending =
                    made == null ? null : meta.make(mutation, in.session, in.round);
            if (made == null || pending == null) {
                return null;
            }
            born = born(in, name, made, pending, told);
            in.made(mutation.getTime(), Objects.requireNonNull(in.find(name)));
        }
        meters.nameAnswered();
        OwnDirectory parent = in;
        try {
            known.accept(born);
        } finally {
            var _ =
                    born.pending()
                            .answer()
                            .whenComplete((result, thrown) ->
                                    made(parent, name, born, told, result, thrown));
        }
        return born;
    }

    private Born born(
            OwnDirectory in,
            ByteString name,
            Attr made,
            PendingMutation pending,
            CompletableFuture<Void> told) {
        long inode = pending.ownInode();
        Attr attr = made.toBuilder().setInode(inode).build();
        int type = Mode.type(attr.getMode());
        names += in.put(name, new Entry(inode, type, true, attr));
        in.telling(told);
        untold.put(inode, told);
        long now = System.nanoTime();
        in.given(now);
        if (type == Mode.DIRECTORY) {
            add(new OwnDirectory(attr, in.session, in.round, told, now));
        } else {
            places.put(inode, new Place(in, name));
            trim();
        }
        return new Born(
                believed(attr).setNoXattrs(true).build(),
                in.round,
                in.session,
                pending,
                new CompletableFuture<>());
    }

    private static Attr.Builder believed(Attr attr) {
        return attr.toBuilder().setAttrLeaseMicros(LEASE_MICROS).setNameLeaseMicros(LEASE_MICROS);
    }

    private void made(
            OwnDirectory in,
            ByteString name,
            Born born,
            CompletableFuture<Void> told,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        @Nullable FsException failure = Results.failure(result, thrown);
        long inode = born.attr().getInode();
        synchronized (this) {
            told(inode, told);
            in.told(name, inode);
            @Nullable Place now = places.get(inode); // it may have been renamed meanwhile
            if (now != null) {
                now.directory.told(now.name, inode);
            }
            if (failure != null) {
                lost(in, name, failure);
                if (Mode.isDirectory(born.attr().getMode())) {
                    lost.add(inode, in.session, failure);
                }
                notMade(inode);
            } else if (result != null && result.getDelegation() == 0) {
                var _ = giveUp(in); // as where the MDS is short of space
            }
            noteAny();
        }
        if (failure != null) {
            said("made", in, name, failure);
        }
        Async.settle(born.done(), null, failure);
        Async.finish(told);
    }

    /** Under the monitor. */
    private void notMade(long inode) {
        places.remove(inode);
        @Nullable OwnDirectory directory = directories.remove(inode);
        if (directory != null && directory.givenUp == null) {
            forgetNames(directory);
            end(directory);
        }
    }

    /** Under the monitor. */
    private void told(long inode, CompletableFuture<Void> by) {
        untold.remove(inode, by);
    }

    /** What programs were told of the name is not so. Under the monitor. */
    private void lost(OwnDirectory in, ByteString name, FsException why) {
        if (in.givenUp == null) {
            names += in.unsure(name);
            in.inexact();
        }
        lost.add(in.inode, in.session, why);
    }

    private void said(String what, OwnDirectory in, ByteString name, FsException why) {
        meters.nameLost();
        LOG.warn(
                "'{}' in directory {} was not {}, though programs were told so: {}",
                name.toStringUtf8(),
                in.inode,
                what,
                why.getMessage());
    }

    // ---- removing -----------------------------------------------------------

    /**
     * Removes a name that is no directory's before the MDS has that.
     *
     * @return the inode, which has no name any more; 0 where it must be removed as usual
     */
    public long unlink(Mutation mutation) {
        return remove(
                mutation, mutation.getUnlink().getParent(), mutation.getUnlink().getName(), false);
    }

    /** The same of an empty directory. */
    public long rmdir(Mutation mutation) {
        return remove(
                mutation, mutation.getRmdir().getParent(), mutation.getRmdir().getName(), true);
    }

    private long remove(Mutation mutation, long parent, ByteString name, boolean directory) {
        if (!any || meta.mutationsOutstanding() > MAX_UNTOLD) {
            return 0;
        }
        OwnDirectory in;
        Entry entry;
        PendingMutation pending;
        CompletableFuture<Void> told = new CompletableFuture<>();
        synchronized (this) {
            in = changing(parent);
            @Nullable Entry found = in == null ? null : only(in, name);
            if (in == null
                    || in.attr() == null
                    || found == null
                    || found.isDirectory() != directory) {
                return 0;
            }
            entry = found;
            @Nullable OwnDirectory removed = null;
            if (directory) {
                removed = answering(entry.inode());
                if (removed == null || !removed.isEmpty()) {
                    return 0;
                }
            }
            @Nullable PendingMutation queued = meta.mutateDelegated(mutation, in.session, in.round);
            if (queued == null) {
                return 0;
            }
            pending = queued;
            names += in.remove(name);
            in.removed(mutation.getTime(), entry);
            places.remove(entry.inode());
            in.telling(told);
            in.given(System.nanoTime());
            untold.put(entry.inode(), told);
            if (removed != null) {
                removed.telling(told);
                var _ = giveUp(removed); // closed behind its removal
            }
        }
        meters.nameAnswered();
        OwnDirectory from = in;
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) ->
                                removed(from, name, entry.inode(), told, result, thrown));
        return entry.inode();
    }

    private void removed(
            OwnDirectory in,
            ByteString name,
            long inode,
            CompletableFuture<Void> told,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        @Nullable FsException failure = Results.failure(result, thrown);
        synchronized (this) {
            told(inode, told);
            if (failure != null) {
                lost(in, name, failure);
            }
            noteAny();
        }
        if (failure != null) {
            said("removed", in, name, failure);
        }
        Async.finish(told);
    }

    // ---- renaming -----------------------------------------------------------

    /**
     * Gives another name, which nothing has, to what has one only, before the MDS has that. Of
     * directories only within theirs: elsewhere it might be below itself.
     *
     * @param inode what has the name, by {@link #only}
     * @param noted whether the inode's ctime is noted by the caller
     * @return null where it must be renamed as usual
     */
    public @Nullable Renamed rename(Mutation mutation, long inode, boolean noted) {
        if (meta.mutationsOutstanding() > MAX_UNTOLD) {
            return null;
        }
        RenameOp op = mutation.getRename();
        Timespec time = mutation.getTime();
        Place from;
        Place to;
        PendingMutation pending;
        CompletableFuture<Void> told = new CompletableFuture<>();
        synchronized (this) {
            @Nullable OwnDirectory out = changing(op.getParent());
            @Nullable OwnDirectory in = changing(op.getNewParent());
            @Nullable Entry entry = out == null ? null : only(out, op.getName());
            if (out == null || in == null || entry == null || entry.inode() != inode) {
                return null;
            }
            from = new Place(out, op.getName());
            to = new Place(in, op.getNewName());
            @Nullable OwnDirectory renamed = entry.isDirectory() ? answering(inode) : null;
            boolean movable = !entry.isDirectory() || (out == in && renamed != null);
            if (!movable || !isFree(to) || !sameSession(out, in) || out.attr() == null) {
                return null;
            }
            @Nullable PendingMutation queued =
                    meta.mutateDelegated(mutation, out.session, out.round);
            if (queued == null) {
                return null;
            }
            pending = queued;
            names += out.remove(from.name);
            boolean itself = noted || renamed != null; // a directory has its own
            names += in.put(to.name, entry.renamed(time, itself));
            if (renamed == null) {
                places.put(inode, to);
            } else {
                renamed.renamed(time);
                renamed.telling(told);
                renamed.given(System.nanoTime());
            }
            if (out == in) {
                moved(out, 0, time, told);
            } else {
                moved(out, -1, time, told);
                moved(in, 1, time, told);
            }
            untold.put(inode, told);
        }
        meters.nameAnswered();
        return new Renamed(from, to, inode, pending, told);
    }

    /** A rename that was answered, and is on its way. */
    public final class Renamed {
        private final Place from;
        private final Place to;
        private final long inode;
        private final PendingMutation pending;
        private final CompletableFuture<Void> told;

        private Renamed(
                Place from,
                Place to,
                long inode,
                PendingMutation pending,
                CompletableFuture<Void> told) {
            this.from = from;
            this.to = to;
            this.inode = inode;
            this.pending = pending;
            this.told = told;
        }

        public PendingMutation pending() {
            return pending;
        }

        /** Once, without any monitor: what becomes of it is noted. */
        public void follow() {
            var _ =
                    pending.answer()
                            .whenComplete((result, thrown) -> renamed(this, result, thrown));
        }
    }

    private static void moved(
            OwnDirectory directory, int entries, Timespec time, CompletableFuture<Void> told) {
        directory.moved(time, entries);
        directory.telling(told);
        directory.given(System.nanoTime());
    }

    /** Under the monitor. */
    private static @Nullable Entry only(OwnDirectory in, ByteString name) {
        @Nullable Entry entry = in.knows(name) ? in.find(name) : null;
        return entry != null && entry.only() ? entry : null;
    }

    /** Nothing has the name for certain, and something may get it. Under the monitor. */
    private static boolean isFree(Place place) {
        OwnDirectory in = place.directory;
        return in.attr() != null
                && EntryNames.isValid(place.name)
                && in.knows(place.name)
                && in.find(place.name) == null;
    }

    private static boolean sameSession(OwnDirectory one, OwnDirectory other) {
        return one.session == other.session && one.round == other.round;
    }

    private void renamed(
            Renamed renamed, @Nullable MutationResult result, @Nullable Throwable thrown) {
        @Nullable FsException failure = Results.failure(result, thrown);
        long inode = renamed.inode;
        synchronized (this) {
            told(inode, renamed.told);
            if (failure != null) {
                lost(renamed.from.directory, renamed.from.name, failure);
                lost(renamed.to.directory, renamed.to.name, failure);
                places.remove(inode);
                @Nullable OwnDirectory itself = directories.get(inode);
                if (itself != null) {
                    itself.inexact();
                }
            }
            noteAny();
        }
        if (failure != null) {
            said("renamed", renamed.from.directory, renamed.from.name, failure);
        }
        Async.finish(renamed.told);
    }

    // ---- attributes of the directory itself ---------------------------------

    /**
     * Changes attributes of a directory before the MDS has that.
     *
     * @return as they are then; null where they must be changed as usual
     */
    public @Nullable Attr setAttr(SetAttrOp op, Credentials who) {
        if (!any || op.hasSize() || meta.mutationsOutstanding() > MAX_UNTOLD) {
            return null;
        }
        OwnDirectory directory;
        PendingMutation pending;
        Attr now;
        CompletableFuture<Void> told = new CompletableFuture<>();
        synchronized (this) {
            directory = answering(op.getInode());
            if (directory == null || directory.exactAttr() == null) {
                return null;
            }
            Mutation mutation = NewMutation.stamped().setCredentials(who).setSetAttr(op).build();
            @Nullable PendingMutation queued =
                    meta.mutateDelegated(mutation, directory.session, directory.round);
            if (queued == null) {
                return null;
            }
            pending = queued;
            directory.set(op, mutation.getTime());
            directory.telling(told);
            directory.given(System.nanoTime());
            now = believed(Objects.requireNonNull(directory.exactAttr())).build();
        }
        OwnDirectory changed = directory;
        var _ =
                pending.answer()
                        .whenComplete((result, thrown) -> set(changed, told, result, thrown));
        return now;
    }

    private void set(
            OwnDirectory directory,
            CompletableFuture<Void> told,
            @Nullable MutationResult result,
            @Nullable Throwable thrown) {
        @Nullable FsException failure = Results.failure(result, thrown);
        if (failure != null) {
            synchronized (this) {
                directory.inexact();
                lost.add(directory.inode, directory.session, failure);
            }
            LOG.warn(
                    "attributes of directory {} were not changed, though programs were told so: {}",
                    directory.inode,
                    failure.getMessage());
        }
        Async.finish(told);
    }

    // ---- what waits for the MDS ---------------------------------------------

    /**
     * A change of names on its way; of those that are known here, nothing is answered meanwhile.
     */
    public final class Change {
        private final List<Place> changing = new ArrayList<>();

        /** Without which it means nothing; 0: it may be done in any. */
        private long session;

        /** What was lost there before, and nobody was told of; null: nothing. */
        private @Nullable FsException refusal;

        private Change() {}

        /** One more name. */
        public Change of(long directory, ByteString name) {
            if (any) {
                synchronized (OwnNames.this) {
                    OwnDirectory in = directories.get(directory);
                    @Nullable FsException before = lost.take(directory);
                    refusal = before == null ? refusal : before;
                    if (in != null && !in.told().isDone()) {
                        session = in.session; // also where it is given up
                    }
                    if (in != null && in.givenUp == null) {
                        session = in.session;
                        in.changing(name);
                        in.given(System.nanoTime()); // what is moved here may have been answered
                        changing.add(new Place(in, name));
                    } else if (making > 0) {
                        changedMeanwhile.add(directory);
                    }
                }
            }
            return this;
        }

        /**
         * Queues it: where the directory is delegated, in that session only. Done in the next one,
         * without what was done here before it, it might be done to something else; so it fails,
         * once, as well where such things were lost before.
         *
         * @param deadlineNanos as of {@link MetaClient#mutate}
         */
        public PendingMutation queue(Mutation mutation, long deadlineNanos) {
            return refusal == null
                    ? meta.mutate(mutation, deadlineNanos, session)
                    : PendingMutation.refused(mutation, refusal);
        }

        /** It is not known what the names stand for now, or not here. */
        public void ended() {
            end(null, false, null);
        }

        /** The names are gone. */
        public void removed(@Nullable Attr last) {
            end(null, true, null);
            if (last != null && last.getNlink() == 0) {
                removedInode(last.getInode());
            }
        }

        /**
         * The last of the names stands for this now, the others for nothing.
         *
         * @param only whether it is its only name, and nobody else knows it
         */
        public void named(long directory, ByteString name, Attr attr, boolean only) {
            int type = Mode.type(attr.getMode());
            end(new Entry(attr.getInode(), type, only, null), true, new Name(directory, name));
        }

        /**
         * {@link #named} if that was done, else {@link #ended}.
         *
         * @param result null: nobody knows
         */
        public void answered(
                long directory, ByteString name, @Nullable MutationResult result, boolean only) {
            if (result != null && result.getErrno() == 0) {
                named(directory, name, result.getAttr(), only);
            } else {
                ended();
            }
        }

        private record Name(long directory, ByteString name) {}

        private void end(@Nullable Entry entry, boolean sure, @Nullable Name named) {
            if (changing.isEmpty()) {
                return;
            }
            synchronized (OwnNames.this) {
                for (Place place : changing) {
                    OwnDirectory in = place.directory;
                    in.changed(place.name);
                    if (in.givenUp != null) {
                        continue;
                    }
                    @Nullable Entry before = in.find(place.name);
                    if (before != null) {
                        places.remove(before.inode());
                    }
                    boolean here =
                            named != null
                                    && named.directory == in.inode
                                    && named.name.equals(place.name);
                    @Nullable Entry now = here ? entry : null;
                    if (!sure) {
                        names += in.unsure(place.name);
                    } else if (now == null) {
                        names += in.remove(place.name);
                    } else {
                        if (before != null && before.inode() != now.inode()) {
                            removedInode(before.inode()); // what is there now has taken its place
                        }
                        names += in.put(place.name, now);
                    }
                }
                for (Place place : changing) {
                    @Nullable Entry now = place.directory.find(place.name);
                    if (place.directory.givenUp == null
                            && now != null
                            && now.only()
                            && !now.isDirectory()) {
                        places.put(now.inode(), place);
                    }
                }
                trim();
            }
        }
    }

    /** Before somebody queues a change of names for which he waits. */
    public Change change() {
        return new Change();
    }

    /** What has this name only, if nobody else knows it; 0: nothing. */
    public long only(long directory, ByteString name) {
        if (!any) {
            return 0;
        }
        synchronized (this) {
            OwnDirectory in = answering(directory);
            @Nullable Entry entry = in == null ? null : only(in, name);
            return entry == null ? 0 : entry.inode();
        }
    }

    /**
     * The inode is about to get another name.
     *
     * @param in where it gets that
     * @return completes when it may: elsewhere it is seen, and changed, by others who have asked
     *     for no directory of this client, and whose changes the kernel does not hear of
     */
    public CompletableFuture<Void> linking(long inode, long in) {
        if (!any) {
            return DONE;
        }
        synchronized (this) {
            Place place = places.remove(inode);
            if (place == null) {
                return DONE;
            }
            place.directory.linked(place.name);
            return directories.containsKey(in) ? DONE : disbelieved(place.directory);
        }
    }

    /** A directory was removed by somebody who waited for it: it is closed. */
    private void removedInode(long inode) {
        synchronized (this) {
            OwnDirectory directory = directories.get(inode);
            if (directory != null) {
                var _ = giveUp(directory);
            }
        }
    }

    /** Attributes of a directory are about to be changed, by one who waits for it. */
    public void attrChanging(long inode) {
        if (any) {
            synchronized (this) {
                OwnDirectory directory = directories.get(inode);
                if (directory != null) {
                    directory.attrChanging();
                }
            }
        }
    }

    /**
     * That is over.
     *
     * @param now null: nobody knows, and it may yet be changed
     */
    public void attrChanged(long inode, @Nullable Attr now) {
        if (any) {
            synchronized (this) {
                OwnDirectory directory = directories.get(inode);
                if (directory != null) {
                    directory.attrChanged(now);
                    if (now == null) {
                        var _ = giveUp(directory);
                    }
                }
            }
        }
    }

    /**
     * As {@link #attrChanged}.
     *
     * @param result errors say that nothing was changed; null: nobody knows
     */
    public void answered(long inode, @Nullable MutationResult result) {
        if (any) {
            synchronized (this) {
                OwnDirectory directory = directories.get(inode);
                boolean refused = result != null && result.getErrno() != 0;
                if (directory != null && refused) {
                    directory.attrChanged(null);
                    return;
                }
            }
            attrChanged(inode, result != null && result.hasAttr() ? result.getAttr() : null);
        }
    }

    /**
     * A directory has another name, and other times for that; or has taken the place of another
     * one. Which ones that are is known only where what is above is delegated, too.
     */
    public void moved() {
        if (any) {
            synchronized (this) {
                directories.values().forEach(OwnDirectory::inexact);
            }
        }
    }

    // ---- asking -------------------------------------------------------------

    /**
     * What is known of the name: what it stands for, or that there is none.
     *
     * @return null: the MDS has to be asked, when it is {@link #ready}
     */
    public @Nullable LookupReply find(long directory, ByteString name) {
        if (!any) {
            return null;
        }
        synchronized (this) {
            OwnDirectory in = answering(directory);
            if (in == null || !EntryNames.isValid(name) || !in.knows(name)) {
                return null;
            }
            @Nullable Entry entry = in.find(name);
            LookupReply.Builder reply = LookupReply.newBuilder();
            if (entry == null) {
                reply.setMissingLeaseMicros(LEASE_MICROS);
            } else {
                @Nullable OwnDirectory below =
                        entry.isDirectory() ? answering(entry.inode()) : null;
                @Nullable Attr attr = below == null ? entry.untold() : below.exactAttr();
                if (attr == null || (entry.isDirectory() && below == null)) {
                    return null;
                }
                if (below != null) {
                    below.given(System.nanoTime());
                }
                reply.setAttr(believed(attr));
            }
            in.given(System.nanoTime());
            return reply.build();
        }
    }

    /** The attributes of a directory that is delegated; null: the MDS has to be asked. */
    public @Nullable Attr attributes(long inode) {
        if (!any) {
            return null;
        }
        synchronized (this) {
            @Nullable OwnDirectory directory = answering(inode);
            @Nullable Attr attr = directory == null ? null : directory.exactAttr();
            if (directory == null || attr == null) {
                return null;
            }
            directory.given(System.nanoTime());
            return attr.toBuilder().setAttrLeaseMicros(LEASE_MICROS).build();
        }
    }

    /**
     * The MDS is about to be asked for the attributes of what is {@link #ready}.
     *
     * @return for {@link #learned}
     */
    public long asked(long inode) {
        if (!any) {
            return -1;
        }
        synchronized (this) {
            OwnDirectory directory = answering(inode);
            return directory == null ? -1 : directory.asked();
        }
    }

    /** The MDS has answered that. */
    public void learned(long asked, Attr attr) {
        if (asked < 0) {
            return;
        }
        synchronized (this) {
            OwnDirectory directory = answering(attr.getInode());
            if (directory != null) {
                directory.learned(asked, attr);
                if (attr.getNlink() == 0) {
                    var _ = giveUp(directory); // it was removed, or another one took its place
                }
            }
        }
    }

    /** Completes when the MDS can be asked for the name. */
    public CompletableFuture<Void> ready(long directory, ByteString name) {
        if (!any) {
            return DONE;
        }
        List<CompletableFuture<Void>> before = new ArrayList<>(2);
        synchronized (this) {
            OwnDirectory in = directories.get(directory);
            @Nullable Entry entry = in == null ? null : in.find(name);
            if (in != null && (in.givenUp != null || entry == null)) {
                before.add(in.told());
            } else if (entry != null) {
                addUntold(entry.inode(), before);
                @Nullable OwnDirectory below = directories.get(entry.inode());
                if (below != null) {
                    before.add(below.told());
                }
            }
            addUntold(directory, before);
        }
        return awaited(before);
    }

    /** Completes when the MDS has all that was done to this inode, and to names in it. */
    public CompletableFuture<Void> ready(long inode) {
        if (!any) {
            return DONE;
        }
        List<CompletableFuture<Void>> before = new ArrayList<>(2);
        synchronized (this) {
            addUntold(inode, before);
            OwnDirectory directory = directories.get(inode);
            if (directory != null) {
                before.add(directory.told());
            }
        }
        return awaited(before);
    }

    private void addUntold(long inode, List<CompletableFuture<Void>> to) {
        @Nullable CompletableFuture<Void> by = untold.get(inode);
        if (by != null) {
            to.add(by);
        }
    }

    private CompletableFuture<Void> awaited(List<CompletableFuture<Void>> before) {
        before.removeIf(CompletableFuture::isDone);
        if (before.isEmpty()) {
            return DONE;
        }
        meta.hurry();
        return before.size() == 1 ? before.getFirst() : Async.all(before);
    }

    /**
     * As {@link #ready(long)}; fails if a name was lost meanwhile that programs were told of, or
     * before: once.
     */
    public CompletableFuture<Void> synced(long directory) {
        long before;
        synchronized (this) {
            before = lost.last();
        }
        return Async.then(
                ready(directory),
                nothing -> {
                    synchronized (this) {
                        @Nullable FsException why = lost.takeSince(directory, before);
                        return why == null ? DONE : CompletableFuture.failedFuture(why);
                    }
                });
    }
}
