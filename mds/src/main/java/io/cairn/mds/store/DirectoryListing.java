package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.PrefixIterator;
import io.cairn.mds.store.DirectoryGaps.Gap;
import java.util.List;

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
        ReadDirReply.Builder reply = ReadDirReply.newBuilder().setParent(inode.parent);
        byte[] prefix = MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory);
        Steps steps = new Steps(view, directory, cursor + 1);
        try (PrefixIterator it = view.rows(prefix, steps.key())) {
            int bytes = 0;
            boolean end = true;
            for (; it.isValid(); steps.next(it)) {
                DirEntry entry = entry(view, it.value(), attributes);
                steps.at(entry.getCursor());
                int size =
                        entry.getName().size() + ENTRY_BYTES + (attributes ? ATTRIBUTE_BYTES : 0);
                if (bytes > 0 && bytes + size > maxBytes) {
                    end = false;
                    break;
                }
                bytes += size;
                reply.addEntries(entry);
            }
            if (end) {
                steps.at(inode.nextSequence);
            }
            return reply.setEnd(end).build();
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

    private static DirEntry entry(MetaView view, byte[] value, boolean attributes) {
        Dentry dentry = DentryFormat.decode(value);
        ByteString name = DentryFormat.name(value);
        DirEntry.Builder entry =
                DirEntry.newBuilder()
                        .setName(name)
                        .setInode(dentry.inode())
                        .setMode(dentry.type())
                        .setCursor(dentry.sequence());
        if (attributes) {
            Inode inode = view.storedInode(dentry.inode());
            if (inode == null) {
                throw new CorruptStateException(
                        "'" + name.toStringUtf8() + "' leads to no inode: " + dentry.inode());
            }
            entry.setAttr(inode.toAnswer());
        }
        return entry.build();
    }
}
