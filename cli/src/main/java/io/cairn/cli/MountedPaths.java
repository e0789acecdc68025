package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Objects;

/** What commands are told by its path in a mounted file system. Stateless. */
final class MountedPaths {
    private static final String CAIRN = "fuse.cairn";

    private MountedPaths() {}

    /** Cairn's inode numbers are those that stat shows; of a symbolic link its own. */
    static long inode(Path at) throws IOException {
        Path held = Files.isSymbolicLink(at) ? at.toAbsolutePath().getParent() : at;
        String type = Files.getFileStore(Objects.requireNonNull(held)).type();
        if (!type.equals(CAIRN)) {
            throw new CommandException(
                    ExitCode.FAILURE,
                    at + " is in a file system of type " + type + ", not in one of Cairn");
        }
        return (Long) Files.getAttribute(at, "unix:ino", LinkOption.NOFOLLOW_LINKS);
    }
}
