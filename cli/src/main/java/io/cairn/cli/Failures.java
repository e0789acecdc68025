package io.cairn.cli;

import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.config.ConfigException;
import io.cairn.common.errno.BindFailures;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.file.InUseException;
import io.cairn.common.jmx.JmxRefusedException;
import io.cairn.mds.raft.MemberRefusedException;
import java.net.BindException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** What a command's exception means for its user: one line and an exit code. */
final class Failures {
    private Failures() {}

    /** By the first of the causes that has a code of its own. */
    static ExitCode exitCode(Throwable thrown) {
        for (@Nullable Throwable t = thrown; t != null; t = t.getCause()) {
            ExitCode code = codeOf(t);
            if (code != null) {
                return code;
            }
        }
        return ExitCode.FAILURE;
    }

    private static @Nullable ExitCode codeOf(Throwable thrown) {
        return switch (thrown) {
            case CommandException e -> e.exitCode();
            case ConfigException e -> ExitCode.CONFIGURATION;
            case InUseException e -> ExitCode.BUSY;
            case MemberRefusedException e -> ExitCode.CONFIGURATION;
            case JmxRefusedException e -> ExitCode.CONFIGURATION;
            case BindException e when BindFailures.inUse(e) -> ExitCode.BUSY;
            case BindException e -> ExitCode.CONFIGURATION;
            case ConnectException e -> ExitCode.UNREACHABLE;
            case UnknownHostException e -> ExitCode.UNREACHABLE;
            case UnresolvedAddressException e -> ExitCode.UNREACHABLE;
            case TimeoutException e -> ExitCode.UNREACHABLE;
            case FsException e
                    when e.errno() == Errno.EHOSTUNREACH || e.errno() == Errno.ETIMEDOUT ->
                    ExitCode.UNREACHABLE;
            // Another protocol version or cluster: repeating would not help.
            case FsException e when e.errno() == Errno.EPROTO -> ExitCode.CONFIGURATION;
            case AccessDeniedException e -> ExitCode.CONFIGURATION;
            default -> null;
        };
    }

    /** One line, without the names of classes where the message says enough. */
    static String message(Throwable thrown) {
        Throwable cause = Causes.of(thrown);
        String message =
                cause.getMessage() == null
                        ? ""
                        : cause.getMessage().replaceAll("\\s*\\R\\s*", "; ");
        return switch (cause) {
            case CommandException e -> message;
            case ConfigException e -> message;
            case AccessDeniedException e -> e.getFile() + ": permission denied";
            case NoSuchFileException e -> e.getFile() + ": no such file or directory";
            case FileSystemException e -> message;
            case UnknownHostException e -> "unknown host " + message;
            default -> message.isEmpty() ? cause.getClass().getSimpleName() : message;
        };
    }
}
