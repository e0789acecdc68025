package io.cairn.cli.local;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Starts a part as a process of its own, through the launcher (which knows each role's JVM
 * settings), in its own session so that a terminal's signals do not reach it. The part's log, which
 * it rotates, also gets what it says on its outputs: a failed start, a message of the JVM.
 */
final class Launch {
    private final Path launcher;

    Launch(Path launcher) {
        this.launcher = launcher;
    }

    /**
     * Starts the part with these arguments; its output goes to its log, its pid to its pid file.
     */
    Process start(Part part, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of("setsid", launcher.toString()));
        command.add(part.kind().role());
        command.addAll(arguments);
        ProcessBuilder builder =
                new ProcessBuilder(command)
                        .redirectInput(new File("/dev/null"))
                        .redirectOutput(ProcessBuilder.Redirect.appendTo(part.log().toFile()))
                        .redirectErrorStream(true)
                        .directory(part.folder().toFile());
        builder.environment().put("CAIRN_LOG_FILE", part.log().toString());
        Process process = builder.start();
        Path temporary = part.folder().resolve("pid.new");
        Files.writeString(temporary, process.pid() + "\n");
        Files.move(temporary, part.pidFile(), StandardCopyOption.ATOMIC_MOVE);
        return process;
    }
}
