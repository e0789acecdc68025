package io.cairn.client.name;

import com.google.protobuf.ByteString;
import io.cairn.client.base.Async;
import io.cairn.client.base.AttrChanges;
import io.cairn.client.base.Times;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.SetAttrOp;
import io.cairn.common.proto.Timespec;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A directory that this client has made, with all names in it. Guarded by the monitor of {@link
 * OwnNames}.
 */
final class OwnDirectory {
    /**
     * What a name stands for.
     *
     * @param only whether this is its only name, and nobody else knows it
     * @param untold its attributes while the MDS has not made it; else null
     */
    record Entry(long inode, int type, boolean only, @Nullable Attr untold) {
        boolean isDirectory() {
            return type == Mode.DIRECTORY;
        }

        Entry told() {
            return new Entry(inode, type, only, null);
        }

        Entry linked() {
            return new Entry(inode, type, false, null); // others may change it from now on
        }

        /**
         * It has another name since then, as the MDS does it.
         *
         * @param noted whether who asks for its attributes is told of that otherwise
         */
        Entry renamed(Timespec time, boolean noted) {
            if (untold == null || noted) {
                return this;
            }
            Timespec ctime = Times.after(untold.getCtime(), time);
            return new Entry(inode, type, only, untold.toBuilder().setCtime(ctime).build());
        }
    }

    final long inode;

    /** In which it is open. */
    final long session;

    /** Of delegations, in which it is delegated. */
    final long round;

    private Attr attr;

    /** Changes of its own attributes on their way. */
    private int changes;

    /** Whether they are all its attributes. */
    private boolean exact = true;

    /** Counts whatever may change its attributes. */
    private long version;

    private final Map<ByteString, Entry> names = new HashMap<>();

    /** Names that are being changed by somebody who waits for the MDS, and by how many. */
    private final Map<ByteString, Integer> changing = new HashMap<>();

    /** Names of which only the MDS knows what they stand for. */
    private final Set<ByteString> unsure = new HashSet<>();

    /** Completes when the MDS has all that was done here. */
    private CompletableFuture<Void> told;

    /** When something was answered that the kernel may believe. */
    private long givenNanos;

    /** Nothing is answered here any more; completes when all is told, and nothing believed. */
    @Nullable CompletableFuture<Void> givenUp;

    /**
     * @param told completes when the MDS has made it
     * @param nowNanos by the clock of {@link #given}
     */
    OwnDirectory(Attr attr, long session, long round, CompletableFuture<Void> told, long nowNanos) {
        this.inode = attr.getInode();
        this.attr = attr;
        this.session = session;
        this.round = round;
        this.told = told;
        this.givenNanos = nowNanos;
    }

    // ---- its attributes

    /** What is made in it inherits from these; null while they are not known. */
    @Nullable Attr attr() {
        return changes == 0 ? attr : null;
    }

    void attrChanging() {
        changes++;
        version++;
    }

    /**
     * @param now null: nothing was changed
     */
    void attrChanged(@Nullable Attr now) {
        changes--;
        version++;
        if (now != null && Long.compareUnsigned(now.getChange(), attr.getChange()) >= 0) {
            attr = now;
            exact &= changing.isEmpty();
        }
    }

    /** It has other attributes now, of which those that are inherited are as before. */
    void inexact() {
        exact = false;
        version++;
    }

    /**
     * The MDS is about to be asked for its attributes.
     *
     * @return for {@link #learned}; -1: the answer may be old
     */
    long asked() {
        return told.isDone() && isSteady() ? version : -1;
    }

    void learned(long asked, Attr now) {
        if (asked == version && isSteady()) {
            attr = now;
            exact = true;
        }
    }

    private boolean isSteady() {
        return changes == 0 && changing.isEmpty();
    }

    /** Its attributes with all that was done here; null where the MDS has to be asked. */
    @Nullable Attr exactAttr() {
        return exact && changes == 0 ? attr : null;
    }

    /** They are changed, as the MDS does it; only where they are {@link #exactAttr}. */
    void set(SetAttrOp op, Timespec time) {
        version++;
        Attr.Builder now = attr.toBuilder().setChange(attr.getChange() + 1);
        AttrChanges.apply(op, time, now);
        attr = now.build();
    }

    /** An entry was made or removed here, as the MDS does it. */
    private void modified(Timespec time, int entries, int directories) {
        version++;
        Timespec ctime = Times.after(attr.getCtime(), time);
        attr =
                attr.toBuilder()
                        .setCtime(ctime)
                        .setMtime(ctime)
                        .setSize(attr.getSize() + entries)
                        .setNlink(attr.getNlink() + directories)
                        .setChange(attr.getChange() + 1)
                        .build();
    }

    void made(Timespec time, Entry entry) {
        modified(time, 1, entry.isDirectory() ? 1 : 0);
    }

    void removed(Timespec time, Entry entry) {
        modified(time, -1, entry.isDirectory() ? -1 : 0);
    }

    /** An entry has another name here, or came from elsewhere, or has left; no directory did. */
    void moved(Timespec time, int entries) {
        modified(time, entries, 0);
    }

    /** It has another name itself. */
    void renamed(Timespec time) {
        if (exactAttr() == null) {
            inexact();
        } else {
            set(SetAttrOp.getDefaultInstance(), time);
        }
    }

    // ---- names

    int size() {
        return names.size();
    }

    /** That its names stand for. */
    List<Long> inodes() {
        return names.values().stream().map(Entry::inode).toList();
    }

    /** Whether it is known what the name stands for, if for anything. */
    boolean knows(ByteString name) {
        return !changing.containsKey(name) && !unsure.contains(name);
    }

    @Nullable Entry find(ByteString name) {
        return names.get(name);
    }

    /** Nothing is in it for certain, and nothing on its way into it. */
    boolean isEmpty() {
        return names.isEmpty() && changing.isEmpty() && unsure.isEmpty();
    }

    /**
     * @return by how many it knows more names
     */
    int put(ByteString name, Entry entry) {
        unsure.remove(name);
        return names.put(name, entry) == null ? 1 : 0;
    }

    int remove(ByteString name) {
        unsure.remove(name);
        return names.remove(name) == null ? 0 : -1;
    }

    int unsure(ByteString name) {
        int less = remove(name);
        unsure.add(name);
        return less;
    }

    /** The entry has its answer. */
    void told(ByteString name, long of) {
        names.computeIfPresent(name, (n, e) -> e.inode() == of ? e.told() : e);
    }

    void changing(ByteString name) {
        inexact();
        changing.merge(name, 1, Integer::sum);
    }

    void changed(ByteString name) {
        version++;
        changing.computeIfPresent(name, (n, count) -> count == 1 ? null : count - 1);
    }

    /** The inode has, or may have, another name. */
    void linked(ByteString name) {
        names.computeIfPresent(name, (n, e) -> e.linked());
    }

    // ---- what is not told

    void telling(CompletableFuture<Void> more) {
        told = told.isDone() ? more : Async.all(List.of(told, more));
    }

    CompletableFuture<Void> told() {
        return told;
    }

    void given(long nowNanos) {
        givenNanos = nowNanos;
    }

    long givenNanos() {
        return givenNanos;
    }
}
