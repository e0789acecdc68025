package io.cairn.mds.lease;

import com.google.protobuf.ByteString;
import org.jspecify.annotations.Nullable;

/**
 * What a recall is about, and what an answer tells of.
 *
 * @param inode of a name: the directory
 * @param name null: the inode's attributes; empty: any name of the directory
 */
record RecallKey(long inode, @Nullable ByteString name) {
    static RecallKey attributes(long inode) {
        return new RecallKey(inode, null);
    }

    static RecallKey name(long directory, ByteString name) {
        return new RecallKey(directory, name);
    }

    static RecallKey anyName(long directory) {
        return new RecallKey(directory, ByteString.EMPTY);
    }
}
