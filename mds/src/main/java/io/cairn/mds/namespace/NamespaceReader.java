package io.cairn.mds.namespace;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.mds.store.Counters;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads of the namespace, as it is after the last applied entry. Any thread, while entries are
 * being applied; every call sees one state between two entries. Expected failures are {@code
 * FsException}s. The caller checks whether this member may answer (the leader's lease).
 */
public interface NamespaceReader {
    /** Inode id of the root directory. */
    long ROOT_INODE = 1;

    /**
     * The inode a name leads to; "." is the inode itself, whatever its type, ".." a directory's
     * parent. ENOENT, ENOTDIR, ENAMETOOLONG, EINVAL.
     */
    Attr lookup(long parent, ByteString name);

    /** As {@link #lookup}, null where the directory has no such name. */
    @Nullable Attr find(long parent, ByteString name);

    /** ENOENT when there is no such inode (unlinked and closed by all). */
    Attr getAttr(long inode);

    /**
     * Entries after the cursor (0: from the start), as many as fit, at least one. A cursor of a
     * name that is gone is a valid place to go on from. Cursors are 3 or more: 1 and 2 are left for
     * "." and "..". ENOENT, ENOTDIR.
     */
    ReadDirReply readDir(long inode, long cursor, int maxBytes, boolean withAttributes);

    /** ENOENT, EINVAL where it is no symbolic link. */
    ByteString readLink(long inode);

    /** ENODATA where it is not set. Knows {@code cairn.layout} of files and directories too. */
    ByteString getXattr(long inode, ByteString name);

    /** Without {@code cairn.layout}, so that copying a tree with its attributes works. */
    List<ByteString> listXattr(long inode);

    /** Counters of the whole namespace, kept in the entries that change them. */
    Counters counters();
}
