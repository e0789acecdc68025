package io.cairn.fuse.mount;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Finds what a path of this machine is in a Cairn file system. Any thread. */
public final class MountedPath {
    private MountedPath() {}

    /** The inode of a path that lies in a mount of Cairn; empty if it does not. */
    public static OptionalLong inode(Path path) throws IOException, MountException {
        if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
            return OptionalLong.empty();
        }
        Path real = path.toRealPath();
        for (@Nullable Path at = real; at != null; at = at.getParent()) {
            MountTable.@Nullable Entry entry = MountTable.at(at);
            if (entry != null) {
                return entry.isCairn()
                        ? OptionalLong.of(
                                (long)
                                        Files.getAttribute(
                                                real, "unix:ino", LinkOption.NOFOLLOW_LINKS))
                        : OptionalLong.empty();
            }
        }
        return OptionalLong.empty();
    }
}
