package io.cairn.cli;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.Configurator;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.ConsoleAppender;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.rolling.FixedWindowRollingPolicy;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy;
import ch.qos.logback.core.spi.ContextAwareBase;
import ch.qos.logback.core.util.FileSize;
import org.slf4j.LoggerFactory;

/**
 * Configures Logback without its XML reader, which would cost a tenth of a second at each start.
 * Servers and mounts log from INFO with time and thread, to the file named by the variable {@code
 * CAIRN_LOG_FILE} (64 MiB, four old ones) or else to standard error; commands only report errors,
 * on standard error. {@code --debug} logs everything of ours.
 */
public final class LogSetup extends ContextAwareBase implements Configurator {
    private static final String SERVER_PATTERN =
            "%d{yyyy-MM-dd HH:mm:ss.SSS} %-5level [%thread] %logger{0} - %msg%n%ex";
    private static final String COMMAND_PATTERN = "cairn: %msg%n%ex{0}";

    @Override
    public ExecutionStatus configure(LoggerContext context) {
        boolean command = "command".equals(System.getProperty("cairn.role", "command"));
        String file = System.getenv().getOrDefault("CAIRN_LOG_FILE", "");
        OutputStreamAppender<ILoggingEvent> appender =
                file.isEmpty() || command ? console() : rolling(context, file);
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern(command ? COMMAND_PATTERN : SERVER_PATTERN);
        encoder.start();
        appender.setContext(context);
        appender.setEncoder(encoder);
        appender.start();
        Logger root = context.getLogger(Logger.ROOT_LOGGER_NAME);
        root.setLevel(Level.WARN);
        root.addAppender(appender);
        // Prints the traces of a start that failed, which is said in one line after them.
        context.getLogger("org.apache.ratis.util.LifeCycle").setLevel(Level.OFF);
        context.getLogger("io.cairn").setLevel(command ? Level.ERROR : Level.INFO);
        return ExecutionStatus.DO_NOT_INVOKE_NEXT_IF_ANY;
    }

    /** Turns {@code --debug} on. */
    static void debug(boolean on) {
        if (on && LoggerFactory.getLogger("io.cairn") instanceof Logger ours) {
            ours.setLevel(Level.DEBUG);
        }
    }

    private static OutputStreamAppender<ILoggingEvent> console() {
        ConsoleAppender<ILoggingEvent> console = new ConsoleAppender<>();
        console.setTarget("System.err");
        return console;
    }

    private static OutputStreamAppender<ILoggingEvent> rolling(LoggerContext context, String file) {
        RollingFileAppender<ILoggingEvent> appender = new RollingFileAppender<>();
        appender.setFile(file);
        FixedWindowRollingPolicy names = new FixedWindowRollingPolicy();
        names.setContext(context);
        names.setParent(appender);
        names.setFileNamePattern(file + ".%i");
        names.setMinIndex(1);
        names.setMaxIndex(4);
        names.start();
        SizeBasedTriggeringPolicy<ILoggingEvent> size = new SizeBasedTriggeringPolicy<>();
        size.setContext(context);
        size.setMaxFileSize(new FileSize(64 * FileSize.MB_COEFFICIENT));
        size.start();
        appender.setRollingPolicy(names);
        appender.setTriggeringPolicy(size);
        return appender;
    }
}
