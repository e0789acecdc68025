package io.cairn.mds.store;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.rocks.PrefixIterator;
import org.jspecify.annotations.Nullable;
import org.rocksdb.ReadOptions;
import org.rocksdb.Snapshot;

/**
 * One call of readdir, in one RocksDB snapshot: names and attributes are of the same state, and no
 * commit waits for it. Any thread that has retained the store.
 */
public final class DirectoryListing {
    /** What an entry takes in the reply besides its name, roughly. */
    private static final int ENTRY_BYTES = 40;

    private static final int ATTRIBUTE_BYTES = 128;

    private DirectoryListing() {}

    public static ReadDirReply read(
            MetaDatabase db, long directory, long cursor, int maxBytes, boolean attributes) {
        Snapshot snapshot = db.snapshot();
        try (ReadOptions as = new ReadOptions().setSnapshot(snapshot)) {
            Inode inode = inode(db, as, directory);
            if (inode == null) {
                throw new FsException(Errno.ENOENT, "inode " + directory);
            }
            if (!inode.isDirectory()) {
                throw new FsException(Errno.ENOTDIR, "inode " + directory);
            }
            ReadDirReply.Builder reply = ReadDirReply.newBuilder().setParent(inode.parent);
            byte[] prefix = MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory);
            byte[] from = MetaKeys.of(MetaKeys.DIRECTORY_ORDER, directory, cursor + 1);
            try (PrefixIterator it = db.rows(snapshot, prefix, from)) {
                int bytes = 0;
                boolean end = true;
                for (; it.isValid(); it.next()) {
                    DirEntry entry = entry(db, as, it.value(), attributes);
                    int size =
                            entry.getName().size()
                                    + ENTRY_BYTES
                                    + (attributes ? ATTRIBUTE_BYTES : 0);
                    if (bytes > 0 && bytes + size > maxBytes) {
                        end = false;
                        break;
                    }
                    bytes += size;
                    reply.addEntries(entry);
                }
                return reply.setEnd(end).build();
            }
        } finally {
            db.release(snapshot);
        }
    }

    private static DirEntry entry(
            MetaDatabase db, ReadOptions as, byte[] value, boolean attributes) {
        Dentry dentry = DentryFormat.decode(value);
        ByteString name = DentryFormat.name(value);
        DirEntry.Builder entry =
                DirEntry.newBuilder()
                        .setName(name)
                        .setInode(dentry.inode())
                        .setMode(dentry.type())
                        .setCursor(dentry.sequence());
        if (attributes) {
            Inode inode = inode(db, as, dentry.inode());
            if (inode == null) {
                throw new CorruptStateException(
                        "'" + name.toStringUtf8() + "' leads to no inode: " + dentry.inode());
            }
            entry.setAttr(inode.toAttr());
        }
        return entry.build();
    }

    private static @Nullable Inode inode(MetaDatabase db, ReadOptions as, long id) {
        byte[] value = db.get(as, MetaKeys.of(MetaKeys.INODE, id));
        return value == null ? null : InodeFormat.decode(id, value);
    }
}
