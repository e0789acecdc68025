package io.cairn.mds.store;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.mds.store.DirectoryGaps.Gap;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One call of readdir, of one view: names and attributes are of the same state. */
public final class DirectoryListing {
    /** What an entry takes in the reply besides its name, roughly. */
    private static final int ENTRY_BYTES = 40;

    private static final int ATTRIBUTE_BYTES = 128;

    private DirectoryListing() {}

    public static ReadDirReply read(
            MetaView view, long directory, long cursor, int maxBytes, boolean attributes) {
        Inode inode = view.storedInode(directory);
        if (inode == null) {
            throw new FsException(Errno.ENOENT, "inode " + directory);
        }
        if (!inode.isDirectory()) {
            throw new FsException(Errno.ENOTDIR, "inode " + directory);
        }
        int room = ENTRY_BYTES + (attributes ? ATTRIBUTE_BYTES : 0);
        List<DirEntry.Builder> found = new ArrayList<>();
        boolean end = names(view, inode, cursor + 1, maxBytes, room, found);
        if (attributes) {
            addAttributes(view, found);
        }
        ReadDirReply.Builder reply = ReadDirReply.newBuilder().setParent(inode.parent);
        found.forEach(reply::addEntries);
        return reply.setEnd(end).build();
    }

    /**
     * The entries from a cursor on, without attributes.
     *
     * @param room what an entry takes besides its name, in bytes
     * @return whether the last one is among them
     */
    private static boolean names(
            MetaView view,
            Inode directory,
            long first,
            int maxBytes,
            int room,
            List<DirEntry.Builder> found) {
        byte[] prefix = MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory.id);
        Steps steps = new Steps(view, directory.id, first);
        try (PrefixIterator it = view.rows(prefix, steps.key())) {
            int bytes = 0;
            for (; it.isValid(); steps.next(it)) {
                DirEntry.Builder entry = entry(it.value());
                steps.at(entry.getCursor());
                int size = entry.getName().size() + room;
                if (bytes > 0 && bytes + size > maxBytes) {
                    return false;
                }
                bytes += size;
                found.add(entry);
            }
            steps.at(directory.nextSequence);
            return true;
        }
    }

    /** From entry to entry, past the gaps that are known; notes those it meets. */
    private static final class Steps {
        private final MetaView view;
        private final long directory;
        private final List<Gap> gaps;

        /** Where the next entry is looked for. */
        private long next;

        Steps(MetaView view, long directory, long first) {
            this.view = view;
            this.directory = directory;
            this.gaps = view.gaps(directory);
            this.next = DirectoryGaps.skip(gaps, first, view.index());
        }

        byte[] key() {
            return MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory, next);
        }

        /** The first entry was found here, or would be made here. */
        void at(long cursor) {
            view.foundGap(directory, next, cursor);
            next = cursor + 1;
        }

        void next(PrefixIterator it) {
            long behind = next;
            next = DirectoryGaps.skip(gaps, behind, view.index());
            if (next == behind) {
                it.next();
            } else {
                it.seek(key());
            }
        }
    }

    private static DirEntry.Builder entry(byte[] value) {
        Dentry dentry = DentryFormat.decode(value);
        return DirEntry.newBuilder()
                .setName(DentryFormat.name(value))
                .setInode(dentry.inode())
                .setMode(dentry.type())
                .setCursor(dentry.sequence());
    }

    private static void addAttributes(MetaView view, List<DirEntry.Builder> entries) {
        long[] ids = entries.stream().mapToLong(DirEntry.Builder::getInode).toArray();
        List<@Nullable Inode> inodes = view.storedInodes(ids);
        for (int i = 0; i < ids.length; i++) {
            Inode inode = inodes.get(i);
            if (inode == null) {
                throw new CorruptStateException(
                        "'"
                                + entries.get(i).getName().toStringUtf8()
                                + "' leads to no inode: "
                                + ids[i]);
            }
            entries.get(i).setAttr(inode.toAnswer());
        }
    }
}
