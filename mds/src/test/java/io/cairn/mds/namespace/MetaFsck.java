package io.cairn.mds.namespace;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.FileLock;
import io.cairn.common.proto.Truncation;
import io.cairn.mds.proto.DeletionRecord;
import io.cairn.mds.proto.HeldRange;
import io.cairn.mds.proto.OrphanRecord;
import io.cairn.mds.proto.SessionRecord;
import io.cairn.mds.store.Counters;
import io.cairn.mds.store.Dentry;
import io.cairn.mds.store.DentryFormat;
import io.cairn.mds.store.Inode;
import io.cairn.mds.store.InodeFormat;
import io.cairn.mds.store.MetaKeys;
import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateDirectory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * Reads a whole closed state and checks every invariant of it: each key says what the others imply.
 */
final class MetaFsck {
    private final List<String> faults = new ArrayList<>();
    private final Map<Long, Inode> inodes = new TreeMap<>();
    private final Map<Long, Integer> links = new HashMap<>();
    private final Map<Long, Integer> subdirectories = new HashMap<>();
    private final Map<Long, Long> entries = new HashMap<>();
    private final Map<Long, Integer> openers = new HashMap<>();
    private final Map<Long, Integer> xattrBytes = new HashMap<>();
    private final Map<Long, Integer> xattrList = new HashMap<>();
    private final MetaStore store;
    private int unusedIds;

    private MetaFsck(MetaStore store) {
        this.store = store;
    }

    static void check(Path directory) throws IOException {
        MetaStore store =
                MetaStore.open(
                        new StateDirectory(directory, StateRig.config().rocks()).recover(),
                        StateRig.config(16));
        try {
            assertThat(new MetaFsck(store).run()).isEmpty();
        } finally {
            store.close();
        }
    }

    private List<String> run() {
        if (store.map().epoch() == 0) {
            return faults;
        }
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.INODE))) {
            long id = MetaKeys.longAt(row.key(), 1);
            inodes.put(id, InodeFormat.decode(id, row.value()));
        }
        checkEntries();
        checkSessions();
        checkXattrs();
        checkLocks();
        checkSpecialLists();
        inodes.values().forEach(this::checkInode);
        checkReachable();
        checkDeletions();
        checkCounters();
        checkPoolUsers();
        checkOrphans();
        checkIdRanges();
        return faults;
    }

    private void fault(String text) {
        faults.add(text);
    }

    private void checkEntries() {
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.DENTRY))) {
            long directory = MetaKeys.longAt(row.key(), 1);
            ByteString name = ByteString.copyFrom(row.key(), 9, row.key().length - 9);
            Dentry dentry = DentryFormat.decode(row.value());
            String where = directory + "/" + name.toStringUtf8();
            byte[] order =
                    store.get(MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory, dentry.sequence()));
            if (order == null
                    || !DentryFormat.decode(order).equals(dentry)
                    || !DentryFormat.name(order).equals(name)) {
                fault(where + " has no place in the order");
            }
            Inode parent = inodes.get(directory);
            Inode inode = inodes.get(dentry.inode());
            if (parent == null || !parent.isDirectory() || parent.nlink == 0) {
                fault(where + " is in no directory");
            } else if (dentry.sequence() >= parent.nextSequence
                    || dentry.sequence() < Directories.FIRST_SEQUENCE) {
                fault(where + " has sequence " + dentry.sequence());
            }
            if (inode == null || Mode.type(inode.mode) != dentry.type()) {
                fault(where + " dangles or has another type");
                continue;
            }
            links.merge(inode.id, 1, Integer::sum);
            entries.merge(directory, 1L, Long::sum);
            if (inode.isDirectory()) {
                subdirectories.merge(directory, 1, Integer::sum);
                if (inode.parent != directory) {
                    fault(where + " has parent " + inode.parent);
                }
            }
        }
        int ordered = store.list(MetaKeys.prefix(MetaKeys.DIRECTORY_ORDER)).size();
        if (ordered != entries.values().stream().mapToLong(Long::longValue).sum()) {
            fault(ordered + " places in the order");
        }
    }

    private void checkSessions() {
        Map<Long, Long> open = new HashMap<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.OPEN))) {
            open.merge(MetaKeys.longAt(row.key(), 1), 1L, Long::sum);
            SessionRecord holder = store.session(MetaKeys.longAt(row.key(), 1));
            if (holder != null && MetaKeys.longAt(row.key(), 9) <= holder.getReleasedUpTo()) {
                fault("an open that its session has passed over");
            }
            openers.merge(MetaKeys.longAt(row.key(), 9), 1, Integer::sum);
            if (MetaKeys.intAt(row.value(), 0) < 1) {
                fault("an open count of none");
            }
        }
        Map<Long, Long> answers = new HashMap<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.ANSWER))) {
            answers.merge(MetaKeys.longAt(row.key(), 1), 1L, Long::sum);
        }
        int served = 0;
        for (SessionRecord s : store.sessions()) {
            long id = s.getSession();
            if (!open.getOrDefault(id, 0L).equals(s.getOpenFiles())) {
                fault("session " + id + " has " + open.get(id) + " files open");
            }
            if (answers.getOrDefault(id, 0L) != s.getLastNumber() + 1 - s.getAckedBelow()) {
                fault("session " + id + " has " + answers.get(id) + " answers");
            }
            if (id > store.counters().maxSession() || s.getRefused() != store.map().refused(id)) {
                fault("session " + id + " is above all or refused on one side only");
            }
            served += s.getRefused() || s.getEnding() ? 0 : 1;
            if (s.getEnding() && s.getOpenFiles() == 0 && s.getIdRangesCount() == 0) {
                fault("session " + id + " is ending and has nothing left");
            }
            open.remove(id);
            answers.remove(id);
        }
        if (!open.isEmpty() || !answers.isEmpty()) {
            fault("left of dead sessions: " + open + answers);
        }
        if (store.list(MetaKeys.prefix(MetaKeys.SESSION_OF)).size() != served) {
            fault("client uuids are not those of the " + served + " sessions");
        }
    }

    private void checkLocks() {
        Map<Long, Long> counted = new HashMap<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.LOCKS))) {
            long id = MetaKeys.longAt(row.key(), 1);
            List<FileLock> locks = FileLocks.parse(row.value());
            Inode file = inodes.get(id);
            if (file == null || !file.wasLocked || locks.isEmpty()) {
                fault("locks of inode " + id + ", which has none");
            }
            List<FileLock> again = List.of();
            for (FileLock lock : locks) {
                counted.merge(lock.getSession(), 1L, Long::sum);
                if (LockRanges.inTheWay(again, lock) != null || lock.getInode() != id) {
                    fault("locks of inode " + id + " that cannot be together: " + locks);
                }
                if (store.get(MetaKeys.of(MetaKeys.OPEN, lock.getSession(), id)) == null) {
                    fault("a lock of inode " + id + ", which its session does not hold open");
                }
                again = LockRanges.with(again, lock);
            }
            if (!again.equals(locks)) {
                fault("locks of inode " + id + " out of order: " + locks);
            }
        }
        for (SessionRecord session : store.sessions()) {
            if (session.getLocks() != counted.getOrDefault(session.getSession(), 0L)) {
                fault("session " + session.getSession() + " has " + session.getLocks() + " locks");
            }
        }
    }

    private void checkXattrs() {
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.XATTR))) {
            long inode = MetaKeys.longAt(row.key(), 1);
            int name = row.key().length - 9;
            xattrList.merge(inode, name + 1, Integer::sum);
            xattrBytes.merge(inode, name + row.value().length, Integer::sum);
            if (!inodes.containsKey(inode)) {
                fault("an attribute of inode " + inode + ", which is gone");
            }
        }
    }

    private void checkSpecialLists() {
        Set<Long> orphans = new TreeSet<>();
        Set<Long> truncating = new TreeSet<>();
        for (Inode inode : inodes.values()) {
            if (inode.nlink == 0) {
                orphans.add(inode.id);
            }
            if (!inode.truncations.isEmpty()) {
                truncating.add(inode.id);
            }
        }
        if (!ids(MetaKeys.ORPHAN).equals(orphans)) {
            fault("orphans " + ids(MetaKeys.ORPHAN) + ", without names " + orphans);
        }
        if (!ids(MetaKeys.TRUNCATING).equals(truncating)) {
            fault("truncating " + ids(MetaKeys.TRUNCATING) + " instead of " + truncating);
        }
    }

    private Set<Long> ids(byte kind) {
        Set<Long> ids = new TreeSet<>();
        store.list(MetaKeys.prefix(kind)).forEach(r -> ids.add(MetaKeys.longAt(r.key(), 1)));
        return ids;
    }

    private void checkInode(Inode i) {
        String where = "inode " + i.id;
        int names = links.getOrDefault(i.id, 0);
        if (i.id == NamespaceReader.ROOT_INODE) {
            names++;
        }
        int expected = names;
        if (i.isDirectory() && names > 0) {
            expected = 2 + subdirectories.getOrDefault(i.id, 0);
            if (names != 1) {
                fault(where + ": a directory of " + names + " names");
            }
        }
        if (i.nlink != expected) {
            fault(where + ": nlink " + i.nlink + ", should be " + expected);
        }
        boolean freedByTheLeader =
                i.isRegular() && Features.level(store.settings()) >= Features.READ_OPENS;
        if (i.nlink == 0 && i.openers == 0 && !freedByTheLeader) {
            fault(where + ": neither named nor open");
        }
        if (i.openers != openers.getOrDefault(i.id, 0)) {
            fault(where + ": openers " + i.openers + ", are " + openers.get(i.id));
        }
        if (i.isDirectory() && i.size != entries.getOrDefault(i.id, 0L)) {
            fault(where + ": size " + i.size + ", entries " + entries.get(i.id));
        }
        if (i.xattrBytes != xattrBytes.getOrDefault(i.id, 0)
                || i.xattrListBytes != xattrList.getOrDefault(i.id, 0)) {
            fault(where + ": attribute bytes " + i.xattrBytes + ", " + i.xattrListBytes);
        }
        if (i.leftovers
                && (!i.isRegular()
                        || (i.openers == 0 && i.truncations.size() < Truncations.MAX_PENDING))) {
            fault(where + ": leftovers that nothing keeps from being cut");
        }
        if (i.appender != 0
                && (!i.isRegular()
                        || store.get(MetaKeys.of(MetaKeys.OPEN, i.appender, i.id)) == null)) {
            fault(where + ": session " + i.appender + " appends without holding it open");
        }
        if (i.id > store.counters().maxInode()) {
            fault(where + " is above " + store.counters().maxInode());
        }
        long before = 0;
        for (Truncation t : i.truncations) {
            if (t.getSequence() <= before || t.getSequence() > i.truncateSequence) {
                fault(where + ": truncations " + i.truncations);
            }
            before = t.getSequence();
        }
        checkMove(where, i);
        openers.remove(i.id);
    }

    private void checkMove(String where, Inode i) {
        boolean moved = i.movingPool != 0;
        if (moved != (i.mover != 0)
                || (i.fenced && !moved)
                || (moved && store.get(MetaKeys.of(MetaKeys.OPEN, i.mover, i.id)) == null)) {
            fault(where + ": moved by session " + i.mover + " into pool " + i.movingPool);
        }
        if (moved != (store.get(MetaKeys.of(MetaKeys.MOVING, i.id)) != null)) {
            fault(where + ": is on one side only among those that are moved");
        }
        if (i.cutSequence > i.truncateSequence) {
            fault(where + ": cut " + i.cutSequence + " above " + i.truncateSequence);
        }
        if (i.formerPools.contains(i.layout.getPool())) {
            fault(where + ": was in " + i.formerPools + ", is in " + i.layout.getPool());
        }
    }

    private void checkReachable() {
        if (!openers.isEmpty()) {
            fault("open but gone: " + openers.keySet());
        }
        for (Inode inode : inodes.values()) {
            if (!inode.isDirectory() || inode.nlink == 0) {
                continue;
            }
            Set<Long> seen = new HashSet<>();
            Inode at = inode;
            while (at != null && at.id != NamespaceReader.ROOT_INODE && seen.add(at.id)) {
                at = inodes.get(at.parent);
            }
            if (at == null || at.id != NamespaceReader.ROOT_INODE) {
                fault("directory " + inode.id + " does not lead to the root");
            }
        }
    }

    private void checkDeletions() {
        Counters c = store.counters();
        long count = 0;
        long orphans = 0;
        long bytes = 0;
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.DELETION))) {
            DeletionRecord record = parse(row.value());
            count++;
            bytes += record.getSize();
            if (record.getSequence() < c.deletionHead()
                    || record.getSequence() >= c.nextDeletion()) {
                fault("queued inode " + record.getInode() + " is out of the queue's bounds");
            }
            if (record.getOrphan()) {
                orphans++;
                checkOrphanDeletion(record);
                continue;
            }
            if (record.getLastInode() != 0) {
                orphans++;
                checkUnusedIds(record);
                continue;
            }
            byte[] place =
                    record.getLeft()
                            ? store.get(
                                    MetaKeys.ofLeft(
                                            record.getInode(), record.getLayout().getPool()))
                            : store.get(MetaKeys.of(MetaKeys.DELETION_OF, record.getInode()));
            if (place == null || MetaKeys.longAt(place, 0) != MetaKeys.longAt(row.key(), 1)) {
                fault("queued inode " + record.getInode() + " is not found by its id");
            }
            if (inodes.containsKey(record.getInode()) != (record.getCutSequence() != 0)) {
                fault("queued inode " + record.getInode() + " still exists");
            }
        }
        if (count != c.deletionInodes() || bytes != c.deletionBytes()) {
            fault(count + " inodes, " + bytes + " bytes queued: " + c);
        }
        if (store.list(MetaKeys.prefix(MetaKeys.DELETION_OF)).size()
                        + store.list(MetaKeys.prefix(MetaKeys.DELETION_LEFT)).size()
                != count - orphans) {
            fault("places in the queue of inodes that are not in it");
        }
    }

    private void checkOrphanDeletion(DeletionRecord record) {
        int pool = record.getLayout().getPool();
        byte[] row = store.get(MetaKeys.ofMap(MetaKeys.ORPHANED, pool, record.getInode()));
        if (row == null || OrphanedData.parse(row).getDeletion() != record.getSequence()) {
            fault("orphaned data of inode " + record.getInode() + " is queued and not noted so");
        }
        Inode inode = inodes.get(record.getInode());
        if (inode != null && inode.layout.getPool() == pool) {
            fault("data of inode " + record.getInode() + " is being removed as orphaned");
        }
    }

    private void checkUnusedIds(DeletionRecord record) {
        byte[] row =
                store.get(
                        MetaKeys.ofMap(
                                MetaKeys.UNUSED_IDS,
                                record.getLayout().getPool(),
                                record.getLastInode()));
        if (row == null || MetaKeys.longAt(row, 0) != record.getInode()) {
            fault("unused ids from " + record.getInode() + " are queued and not noted so");
        }
        requireUnused(record.getInode(), record.getLastInode());
        unusedIds++;
    }

    /** Nothing is or was made with them. */
    private void requireUnused(long first, long last) {
        if (first > last || last - first >= IdRanges.MAX_IDS) {
            fault("a range of ids from " + first + " to " + last);
            return;
        }
        for (long id = first; id <= last; id++) {
            if (inodes.containsKey(id)
                    || store.get(MetaKeys.of(MetaKeys.DELETION_OF, id)) != null) {
                fault("inode " + id + " is or was there, and its id is called unused");
            }
        }
    }

    private void checkIdRanges() {
        if (store.list(MetaKeys.prefix(MetaKeys.UNUSED_IDS)).size() != unusedIds) {
            fault("unused ids that are not in the queue");
        }
        Map<Long, String> noted = new TreeMap<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.ID_RANGE))) {
            long first = MetaKeys.longAt(row.value(), 0);
            long session = MetaKeys.longAt(row.value(), Long.BYTES);
            noted.put(first, MetaKeys.longAt(row.key(), 1) + " of " + session);
        }
        Map<Long, String> held = new TreeMap<>();
        long before = 0;
        for (SessionRecord s : store.sessions()) {
            if (s.getIdRangesCount() > IdRanges.MAX_RANGES) {
                fault("session " + s.getSession() + " has ranges " + s.getIdRangesList());
            }
            for (HeldRange range : s.getIdRangesList()) {
                held.put(range.getFirst(), range.getLast() + " of " + s.getSession());
                requireUnused(range.getNext(), range.getLast());
                if (range.getNext() < range.getFirst()
                        || range.getLast() > store.counters().maxInode()) {
                    fault("session " + s.getSession() + " has range " + range);
                }
            }
        }
        for (Map.Entry<Long, String> range : held.entrySet()) {
            if (range.getKey() <= before) {
                fault("ranges of ids that overlap: " + held);
            }
            before = Long.parseLong(range.getValue().split(" ", 2)[0]);
        }
        if (!noted.equals(held)) {
            fault("ranges of ids are " + noted + ", those of sessions are " + held);
        }
    }

    private void checkOrphans() {
        Set<String> places = new TreeSet<>();
        long count = 0;
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.ORPHANED))) {
            count++;
            long inode = MetaKeys.longAt(row.key(), 5);
            OrphanRecord record = OrphanedData.parse(row.value());
            record.getPlacesList().forEach(p -> places.add(p.getPg() + " " + inode));
            if (record.getDeletion() == 0 ? record.getPlacesCount() == 0 : record.getKept()) {
                fault("orphaned data of inode " + inode + " is nowhere, or kept and removed");
            }
            if (record.getDeletion() != 0
                    && store.get(MetaKeys.of(MetaKeys.DELETION, record.getDeletion())) == null) {
                fault("orphaned data of inode " + inode + " is queued nowhere");
            }
        }
        Set<String> indexed = new TreeSet<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.ORPHANED_IN))) {
            indexed.add(MetaKeys.intAt(row.key(), 1) + " " + MetaKeys.longAt(row.key(), 5));
        }
        if (!places.equals(indexed)) {
            fault("orphaned data is at " + places + ", found again are " + indexed);
        }
        byte[] counted = store.get(MetaKeys.prefix(MetaKeys.ORPHANED_COUNT));
        if ((counted == null ? 0 : MetaKeys.longAt(counted, 0)) != count) {
            fault(count + " records of orphaned data, counted are others");
        }
    }

    private void checkCounters() {
        long bytes = inodes.values().stream().filter(Inode::isRegular).mapToLong(i -> i.size).sum();
        Counters c = store.counters();
        if (c.inodesUsed() != inodes.size() || c.bytesUsed() != bytes) {
            fault(inodes.size() + " inodes, " + bytes + " bytes: " + c);
        }
    }

    private void checkPoolUsers() {
        Map<Integer, Long> users = new TreeMap<>();
        inodes.values().forEach(i -> users.merge(i.layout.getPool(), 1L, Long::sum));
        inodes.values().forEach(i -> users.merge(i.movingPool, 1L, Long::sum));
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.DELETION))) {
            users.merge(parse(row.value()).getLayout().getPool(), 1L, Long::sum);
        }
        users.keySet().removeIf(pool -> pool <= PoolUsers.FIRST_POOL);
        Map<Integer, Long> counted = new TreeMap<>();
        for (KeyValue row : store.list(MetaKeys.prefix(MetaKeys.POOL_USERS))) {
            counted.put(ByteBuffer.wrap(row.key()).getInt(1), MetaKeys.longAt(row.value(), 0));
        }
        if (!users.equals(counted)) {
            fault("pools are named by " + users + ", counted are " + counted);
        }
    }

    private static DeletionRecord parse(byte[] value) {
        try {
            return DeletionRecord.parseFrom(value);
        } catch (InvalidProtocolBufferException e) {
            throw new AssertionError(e);
        }
    }
}
