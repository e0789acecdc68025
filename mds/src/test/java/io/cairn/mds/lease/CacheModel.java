package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import com.google.protobuf.MessageLite;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.CreateOp;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.GetAttrReply;
import io.cairn.common.proto.GetAttrRequest;
import io.cairn.common.proto.LinkOp;
import io.cairn.common.proto.LookupReply;
import io.cairn.common.proto.LookupRequest;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import io.cairn.common.proto.MutationResult;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.RecalledName;
import io.cairn.common.proto.RenameOp;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.UnlinkOp;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.mds.proto.ApplyReply;
import io.cairn.mds.store.EntryKeys.Move;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that cache what they are lent, on a small namespace, in random steps: queries whose
 * reading and answering have entries between them, entries whose effect is shown in steps, messages
 * that take their time, sessions that never acknowledge. After every step no session may believe
 * what is older than what another session was told.
 *
 * <p>What a session does with what it is told is the client's half of the contract ({@code
 * ReadRecall}): what it asked before a recall came it believes once at most, and what it changes
 * itself it does not believe until it has the answer.
 */
final class CacheModel {
    /** What a broken server would leave out. */
    enum Fault {
        /** Changes are confirmed at once. */
        CHANGES_DO_NOT_WAIT,
        /** What made a change fail, or is told with it, may still be unheard of. */
        READS_OF_CHANGES_IGNORED,
        /** Queries are answered at once. */
        QUERIES_DO_NOT_WAIT,
        /** What was read is lent whatever has changed since. */
        READS_ARE_NOT_DATED,
        /** Answers are repeated at once. */
        REPEATED_ANSWERS_DO_NOT_WAIT,
    }

    static final int SESSIONS = 4;

    /** Never acknowledges, and never forgets. */
    private static final long DEAF = 4;

    private static final List<String> NAMES = List.of("a", "b");
    private static final int DIRECTORIES = 3;
    private static final int FILES = 3;

    private final Random random;
    private final Set<Fault> faults;
    private final LeaseRig rig = new LeaseRig(1, 2, 3, 4);

    /** What is committed: how often each key has changed, and where names lead; 0: nowhere. */
    private final Map<RecallKey, Integer> versions = new HashMap<>();

    private final Map<RecallKey, Long> leadsTo = new HashMap<>();

    private final Map<Long, Client> clients = new HashMap<>();
    private final List<Query> reading = new ArrayList<>();
    private @Nullable Change applying;
    private @Nullable Change applied;

    /** What each session was told. */
    private final Map<RecallKey, Map<Long, Integer>> told = new HashMap<>();

    int recalled;
    int believed;

    private record Belief(int version, long untilNanos) {}

    private final class Client {
        final long session;
        final Map<RecallKey, Belief> cache = new HashMap<>();
        final Deque<Runnable> inbox = new ArrayDeque<>();
        final List<ReadRecall> toAcknowledge = new ArrayList<>();
        int recalls;
        @Nullable Change changing;
        @Nullable Change last;

        Client(long session) {
            this.session = session;
        }

        /** Messages in the order in which they were sent. */
        void pull() {
            for (ReadRecall recall : rig.to(session).recalls) {
                inbox.add(() -> take(recall));
            }
            recalled += rig.to(session).recalls.size();
            rig.to(session).recalls.clear();
        }

        private void take(ReadRecall recall) {
            recalls++;
            if (session == DEAF) {
                return;
            }
            for (long inode : recall.getInodesList()) {
                cache.remove(RecallKey.attributes(inode));
            }
            for (RecalledName name : recall.getNamesList()) {
                cache.remove(RecallKey.name(name.getDirectory(), name.getName()));
            }
            toAcknowledge.add(recall);
        }

        void believe(RecallKey key, int version, long madeNanos, int micros) {
            if (micros > 0) {
                cache.put(key, new Belief(version, madeNanos + micros * 1000L));
                believed++;
            }
        }
    }

    private final class Query implements WaitingAnswer {
        final Client client;
        final MessageLite asked;
        final MessageLite reply;
        final long since;
        final int recallsBefore;
        final Map<RecallKey, Integer> seen = new HashMap<>();

        Query(Client client, MessageLite asked) {
            this.client = client;
            this.asked = asked;
            this.recallsBefore = client.recalls;
            this.since =
                    faults.contains(Fault.READS_ARE_NOT_DATED)
                            ? Long.MAX_VALUE
                            : rig.leases.begin();
            this.reply = read();
        }

        private MessageLite read() {
            switch (asked) {
                case LookupRequest r -> {
                    RecallKey name = see(RecallKey.name(r.getParent(), r.getName()));
                    long inode = leadsTo.getOrDefault(name, 0L);
                    return inode == 0
                            ? LookupReply.getDefaultInstance()
                            : LookupReply.newBuilder().setAttr(attr(inode)).build();
                }
                case ReadDirRequest r -> {
                    ReadDirReply.Builder all = ReadDirReply.newBuilder();
                    see(RecallKey.attributes(r.getInode()));
                    for (String n : NAMES) {
                        RecallKey name =
                                see(RecallKey.name(r.getInode(), ByteString.copyFromUtf8(n)));
                        long inode = leadsTo.getOrDefault(name, 0L);
                        if (inode != 0) {
                            all.addEntries(
                                    DirEntry.newBuilder()
                                            .setName(ByteString.copyFromUtf8(n))
                                            .setInode(inode)
                                            .setAttr(attr(inode)));
                        }
                    }
                    return all.build();
                }
                default -> {
                    return GetAttrReply.newBuilder()
                            .setAttr(attr(((GetAttrRequest) asked).getInode()))
                            .build();
                }
            }
        }

        private Attr attr(long inode) {
            see(RecallKey.attributes(inode));
            return Attr.newBuilder().setInode(inode).build();
        }

        private RecallKey see(RecallKey key) {
            seen.put(key, version(key));
            return key;
        }

        void finish() {
            boolean waits =
                    !faults.contains(Fault.QUERIES_DO_NOT_WAIT)
                            && rig.replies.waits(asked, reply, rig.to(client.session), this);
            if (!waits) {
                sent(rig.replies.lent(asked, reply, rig.to(client.session), since));
            }
        }

        @Override
        public void send() {
            sent(reply);
        }

        private void sent(MessageLite answer) {
            long made = rig.now;
            seen.forEach((key, version) -> tell(client, key, version));
            client.pull();
            client.inbox.add(() -> {
                if (client.recalls == recallsBefore) {
                    take(answer, made);
                }
            });
        }

        private void take(MessageLite answer, long made) {
            switch (answer) {
                case LookupReply r -> {
                    LookupRequest of = (LookupRequest) asked;
                    RecallKey name = RecallKey.name(of.getParent(), of.getName());
                    client.believe(
                            name,
                            seen.getOrDefault(name, 0),
                            made,
                            r.hasAttr()
                                    ? r.getAttr().getNameLeaseMicros()
                                    : r.getMissingLeaseMicros());
                    takeAttr(r.getAttr(), made);
                }
                case ReadDirReply r -> {
                    for (DirEntry entry : r.getEntriesList()) {
                        RecallKey name =
                                RecallKey.name(
                                        ((ReadDirRequest) asked).getInode(), entry.getName());
                        client.believe(
                                name,
                                seen.getOrDefault(name, 0),
                                made,
                                entry.getAttr().getNameLeaseMicros());
                        takeAttr(entry.getAttr(), made);
                    }
                }
                default -> takeAttr(((GetAttrReply) answer).getAttr(), made);
            }
        }

        private void takeAttr(Attr attr, long made) {
            RecallKey key = RecallKey.attributes(attr.getInode());
            client.believe(key, seen.getOrDefault(key, 0), made, attr.getAttrLeaseMicros());
        }

        @Override
        public void refuse(RpcStatus status) {
            throw new AssertionError(status);
        }
    }

    /** A mutation: an entry of its own. */
    private final class Change implements WaitingAnswer {
        final Client client;
        final Mutation mutation;
        final boolean repeated;
        final LeaseRig.Entry entry = new LeaseRig.Entry();
        final Map<RecallKey, Integer> seen = new HashMap<>();
        final Set<RecallKey> changes = new HashSet<>();
        final Map<RecallKey, Long> names = new HashMap<>();
        @Nullable RecallKey renamedFrom;
        @Nullable RecallKey renamedTo;
        MutationResult result = MutationResult.getDefaultInstance();
        final int recallsBefore;
        long index;

        /** A change, or the same once more, whose first answer is on its way. */
        Change(Client client, Mutation mutation, @Nullable Change before) {
            this.client = client;
            this.mutation = mutation;
            this.repeated = before != null;
            this.recallsBefore = client.recalls;
            if (before != null) {
                entry.repeats = !faults.contains(Fault.REPEATED_ANSWERS_DO_NOT_WAIT);
                seen.putAll(before.seen);
                result = before.result;
            } else {
                execute();
            }
        }

        private void execute() {
            switch (mutation.getOpCase()) {
                case SET_ATTR -> {
                    long inode = mutation.getSetAttr().getInode();
                    changeAttr(inode);
                    result = attr(inode);
                }
                case CREATE -> {
                    readName(mutation.getCreate().getParent(), mutation.getCreate().getName());
                    readAttr(mutation.getCreate().getParent());
                    result = fails(Errno.EEXIST);
                }
                case LINK -> {
                    LinkOp op = mutation.getLink();
                    RecallKey name = readName(op.getNewParent(), op.getNewName());
                    readAttr(op.getNewParent());
                    readAttr(op.getInode());
                    if (leadsTo.getOrDefault(name, 0L) != 0) {
                        result = fails(Errno.EEXIST);
                        return;
                    }
                    changeName(name, op.getInode());
                    changeAttr(op.getNewParent());
                    changeAttr(op.getInode());
                    result = attr(op.getInode());
                }
                case UNLINK -> {
                    UnlinkOp op = mutation.getUnlink();
                    RecallKey name = readName(op.getParent(), op.getName());
                    readAttr(op.getParent());
                    long inode = leadsTo.getOrDefault(name, 0L);
                    if (inode == 0) {
                        result = fails(Errno.ENOENT);
                        return;
                    }
                    changeName(name, 0);
                    changeAttr(op.getParent());
                    changeAttr(inode);
                }
                default -> rename(mutation.getRename());
            }
        }

        private void rename(RenameOp op) {
            RecallKey from = readName(op.getParent(), op.getName());
            RecallKey to = readName(op.getNewParent(), op.getNewName());
            readAttr(op.getParent());
            readAttr(op.getNewParent());
            long inode = leadsTo.getOrDefault(from, 0L);
            if (inode == 0 || leadsTo.getOrDefault(to, 0L) != 0) {
                result = fails(inode == 0 ? Errno.ENOENT : Errno.EEXIST);
                return;
            }
            changeName(from, 0);
            changeName(to, inode);
            changeAttr(op.getParent());
            changeAttr(op.getNewParent());
            changeAttr(inode);
            if (op.getParent() != op.getNewParent()) {
                entry.moves.add(new Move(op.getParent(), op.getNewParent()));
            }
            renamedFrom = from;
            renamedTo = to;
        }

        private MutationResult attr(long inode) {
            return MutationResult.newBuilder().setAttr(Attr.newBuilder().setInode(inode)).build();
        }

        private MutationResult fails(Errno errno) {
            return MutationResult.newBuilder().setErrno(errno.number()).build();
        }

        private RecallKey readName(long directory, ByteString name) {
            RecallKey key = RecallKey.name(directory, name);
            seen.putIfAbsent(key, version(key));
            if (rig.leases.wantsReads() && !faults.contains(Fault.READS_OF_CHANGES_IGNORED)) {
                entry.reads(directory, name.toStringUtf8());
            }
            return key;
        }

        private void readAttr(long inode) {
            RecallKey key = RecallKey.attributes(inode);
            seen.putIfAbsent(key, version(key));
            if (rig.leases.wantsReads() && !faults.contains(Fault.READS_OF_CHANGES_IGNORED)) {
                entry.reads(inode);
            }
        }

        private void changeName(RecallKey key, long inode) {
            entry.name(key.inode(), nameOf(key).toStringUtf8());
            changes.add(key);
            names.put(key, inode);
            seen.put(key, version(key) + 1);
        }

        private void changeAttr(long inode) {
            RecallKey key = RecallKey.attributes(inode);
            entry.inode(inode);
            changes.add(key);
            seen.put(key, version(key) + 1);
        }

        void showing() {
            index = ++rig.index;
            rig.leases.showing(index, client.session, entry);
        }

        void commit() {
            changes.forEach(key -> versions.merge(key, 1, Integer::sum));
            leadsTo.putAll(names);
        }

        void answer() {
            if (faults.contains(Fault.CHANGES_DO_NOT_WAIT)) {
                send();
            } else {
                rig.leases.whenForgotten(index, this);
            }
        }

        @Override
        public void send() {
            long made = rig.now;
            ApplyReply reply =
                    ApplyReply.newBuilder()
                            .setIndex(index)
                            .setRepeatedResults(repeated ? 1 : 0)
                            .addResults(result)
                            .build();
            MutateRequest batch =
                    MutateRequest.newBuilder()
                            .setSession(client.session)
                            .addMutations(mutation)
                            .build();
            MutationResult lent = LeasedResults.of(rig.leases, batch, reply).getFirst();
            seen.forEach((key, version) -> tell(client, key, version));
            client.pull();
            client.inbox.add(() -> take(lent, made));
        }

        private void take(MutationResult answer, long made) {
            @Nullable Belief moved = renamedFrom == null ? null : client.cache.get(renamedFrom);
            changes.forEach(client.cache::remove);
            if (client.changing == this) {
                client.changing = null;
            }
            if (client.recalls != recallsBefore) {
                return;
            }
            RecallKey to = renamedTo;
            if (to != null && moved != null) {
                client.cache.put(to, new Belief(seen.getOrDefault(to, 0), moved.untilNanos));
            }
            Attr attr = answer.getAttr();
            RecallKey key = RecallKey.attributes(attr.getInode());
            client.believe(key, seen.getOrDefault(key, 0), made, attr.getAttrLeaseMicros());
            if (mutation.hasLink()) {
                RecallKey name =
                        RecallKey.name(
                                mutation.getLink().getNewParent(), mutation.getLink().getNewName());
                client.believe(name, seen.getOrDefault(name, 0), made, attr.getNameLeaseMicros());
            }
        }

        @Override
        public void refuse(RpcStatus status) {
            throw new AssertionError(status);
        }
    }

    CacheModel(long seed, Set<Fault> faults) {
        this.random = new Random(seed);
        this.faults = faults.isEmpty() ? EnumSet.noneOf(Fault.class) : EnumSet.copyOf(faults);
        for (long session = 1; session <= SESSIONS; session++) {
            clients.put(session, new Client(session));
        }
    }

    /**
     * Runs so many steps.
     *
     * @return what somebody believes that is older than what somebody else was told; null: nothing
     */
    @Nullable String run(int steps) {
        for (int i = 0; i < steps; i++) {
            step();
            @Nullable String wrong = oldBelief();
            if (wrong != null) {
                return "step " + i + ": " + wrong;
            }
        }
        return null;
    }

    private int version(RecallKey key) {
        return versions.getOrDefault(key, 0);
    }

    private void tell(Client client, RecallKey key, int version) {
        told.computeIfAbsent(key, k -> new HashMap<>()).merge(client.session, version, Math::max);
    }

    private @Nullable String oldBelief() {
        for (Client client : clients.values()) {
            for (Map.Entry<RecallKey, Belief> e : client.cache.entrySet()) {
                @Nullable Change own = client.changing;
                if (e.getValue().untilNanos - rig.now <= 0
                        || (own != null && own.changes.contains(e.getKey()))) {
                    continue;
                }
                for (Map.Entry<Long, Integer> t :
                        told.getOrDefault(e.getKey(), Map.of()).entrySet()) {
                    if (t.getKey() != client.session && t.getValue() > e.getValue().version) {
                        return "session %d believes version %d of %s, session %d was told version %d"
                                .formatted(
                                        client.session,
                                        e.getValue().version,
                                        e.getKey(),
                                        t.getKey(),
                                        t.getValue());
                    }
                }
            }
        }
        return null;
    }

    private void step() {
        Client client = pick();
        switch (random.nextInt(10)) {
            case 0, 1 -> reading.add(new Query(client, query(client)));
            case 2, 3 -> {
                if (!reading.isEmpty()) {
                    reading.remove(random.nextInt(reading.size())).finish();
                }
            }
            case 4, 5 -> applySome(client);
            case 6, 7 -> {
                client.pull();
                @Nullable Runnable message = client.inbox.poll();
                if (message != null) {
                    message.run();
                }
            }
            case 8 -> {
                if (client.session != DEAF) {
                    List<ReadRecall> done = List.copyOf(client.toAcknowledge);
                    client.toAcknowledge.clear();
                    rig.acknowledge(client.session, done);
                }
            }
            default -> {
                rig.now += random.nextInt(random.nextInt(15) == 0 ? 11_000 : 40) * LeaseRig.MILLI;
                rig.leaderLeaseLeft = random.nextInt(1200) * LeaseRig.MILLI;
                rig.leases.tick();
            }
        }
    }

    /** The next of what applying an entry takes. */
    private void applySome(Client client) {
        Change shown = applied;
        Change change = applying;
        if (shown != null) {
            applied = null;
            shown.answer();
        } else if (change == null) {
            Change last = client.last;
            if (client.changing == null) {
                change = new Change(client, mutation(), null);
                client.changing = change;
                client.last = change;
            } else if (last != null && last.equals(client.changing) && !last.repeated) {
                change = new Change(client, last.mutation, last);
            } else {
                return;
            }
            applying = change;
            change.showing();
        } else {
            applying = null;
            applied = change;
            change.commit();
            if (random.nextBoolean()) {
                // A query between what readers see and what is known to be seen.
                reading.add(new Query(client, query(client)));
            }
            rig.leases.shown(change.index);
        }
    }

    private Client pick() {
        Client client = clients.get(1L + random.nextInt(SESSIONS));
        if (client == null) {
            throw new AssertionError();
        }
        return client;
    }

    private MessageLite query(Client client) {
        return switch (random.nextInt(5)) {
            case 0, 1 ->
                    LookupRequest.newBuilder()
                            .setParent(directory())
                            .setName(name())
                            .setLeaseSession(client.session)
                            .build();
            case 2 ->
                    ReadDirRequest.newBuilder()
                            .setInode(directory())
                            .setWithAttributes(true)
                            .setLeaseSession(client.session)
                            .build();
            default ->
                    GetAttrRequest.newBuilder()
                            .setInode(random.nextInt(3) == 0 ? directory() : file())
                            .setLeaseSession(client.session)
                            .build();
        };
    }

    private Mutation mutation() {
        Mutation.Builder m = Mutation.newBuilder();
        return switch (random.nextInt(6)) {
            case 0 -> m.setSetAttr(SetAttrOp.newBuilder().setInode(file())).build();
            case 1, 2 ->
                    m.setLink(
                                    LinkOp.newBuilder()
                                            .setInode(file())
                                            .setNewParent(directory())
                                            .setNewName(name()))
                            .build();
            case 3 -> {
                RecallKey name = someName();
                yield m.setUnlink(
                                UnlinkOp.newBuilder().setParent(name.inode()).setName(nameOf(name)))
                        .build();
            }
            case 4 -> existing(m);
            default -> {
                RecallKey name = someName();
                yield m.setRename(
                                RenameOp.newBuilder()
                                        .setParent(name.inode())
                                        .setName(nameOf(name))
                                        .setNewParent(directory())
                                        .setNewName(name()))
                        .build();
            }
        };
    }

    /** Mostly one that exists. */
    private RecallKey someName() {
        RecallKey key = RecallKey.name(directory(), name());
        for (int i = 0; i < 5 && leadsTo.getOrDefault(key, 0L) == 0; i++) {
            key = RecallKey.name(directory(), name());
        }
        return key;
    }

    private static ByteString nameOf(RecallKey key) {
        ByteString name = key.name();
        if (name == null) {
            throw new AssertionError(key);
        }
        return name;
    }

    /** One that fails, as the name exists: that is told then. */
    private Mutation existing(Mutation.Builder m) {
        RecallKey name = someName();
        return leadsTo.getOrDefault(name, 0L) == 0
                ? m.setSetAttr(SetAttrOp.newBuilder().setInode(file())).build()
                : m.setCreate(CreateOp.newBuilder().setParent(name.inode()).setName(nameOf(name)))
                        .build();
    }

    private long directory() {
        return 1 + random.nextInt(DIRECTORIES);
    }

    private long file() {
        return 10 + random.nextInt(FILES);
    }

    private ByteString name() {
        return ByteString.copyFromUtf8(NAMES.get(random.nextInt(NAMES.size())));
    }
}
