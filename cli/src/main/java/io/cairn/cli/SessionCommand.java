package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.cli.command.CommandGroup;
import io.cairn.cli.command.ExitCode;
import io.cairn.common.proto.CloseSessionReply;
import io.cairn.common.proto.CloseSessionRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.SessionStatus;
import java.io.IOException;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code cairn session}. */
@Command(
        name = "session",
        description = "The sessions of clients: who has the file system mounted.",
        subcommands = {SessionCommand.Ls.class, SessionCommand.Evict.class})
final class SessionCommand extends CommandGroup {
    /** What becomes of a session, in one word. */
    private static String state(SessionStatus session) {
        if (session.getEnding()) {
            return "ending";
        }
        return session.getRefused() ? "refused" : "open";
    }

    private static List<SessionStatus> sessions(AdminClient admin) {
        return admin.status().getSessionsList().stream()
                .sorted(Comparator.comparingLong(SessionStatus::getSession))
                .toList();
    }

    /** {@code cairn session ls}. */
    @Command(
            name = "ls",
            description = {
                "List sessions: number, state, address, age, when it was last seen, open files,",
                "locks held, and what the client says of itself. States: open; refused (evicted, and no data",
                "server takes its writes); ending (its open files are being released)."
            })
    static final class Ls extends ClusterCommand {
        @Override
        public ExitCode call() throws IOException {
            List<SessionStatus> sessions;
            try (AdminClient admin = connect()) {
                sessions = sessions(admin);
            }
            if (json()) {
                printJson(sessions.stream().map(Ls::asMap).toList());
                return ExitCode.SUCCESS;
            }
            PrintWriter out = out();
            out.printf(
                    "%-8s %-8s %-21s %10s %9s %10s %8s  %s%n",
                    "SESSION",
                    "STATE",
                    "ADDRESS",
                    "AGE",
                    "LAST SEEN",
                    "OPEN",
                    "LOCKS",
                    "DESCRIPTION");
            for (SessionStatus s : sessions) {
                out.printf(
                        "%-8d %-8s %-21s %10s %9s %10d %8d  %s%n",
                        s.getSession(),
                        state(s),
                        s.getAddress(),
                        age(s.getAgeMillis()),
                        "%.1f s".formatted(s.getSinceRenewalMillis() / 1000.0),
                        s.getOpenFiles(),
                        s.getLocks(),
                        s.getDescription());
            }
            out.flush();
            return ExitCode.SUCCESS;
        }

        private static String age(long millis) {
            Duration age = Duration.ofMillis(millis);
            if (age.toDays() > 0) {
                return "%dd%02dh".formatted(age.toDays(), age.toHoursPart());
            }
            return age.toHours() > 0
                    ? "%dh%02dm".formatted(age.toHours(), age.toMinutesPart())
                    : "%dm%02ds".formatted(age.toMinutes(), age.toSecondsPart());
        }

        private static Map<String, Object> asMap(SessionStatus session) {
            Map<String, Object> json = new LinkedHashMap<>();
            json.put("session", session.getSession());
            json.put("state", state(session));
            json.put("address", session.getAddress());
            json.put("age_millis", session.getAgeMillis());
            json.put("since_renewal_millis", session.getSinceRenewalMillis());
            json.put("open_files", session.getOpenFiles());
            json.put("locks", session.getLocks());
            json.put("description", session.getDescription());
            return json;
        }
    }

    /** {@code cairn session evict}. */
    @Command(
            name = "evict",
            description = {
                "End sessions of clients that hang, or are cut off: from now on every data server",
                "refuses them, then their open files and their right to append are released. A",
                "client that lives goes on in a new session; what it wrote and had not synced may be lost,",
                "and files with such writes report EIO."
            })
    static final class Evict extends ClusterCommand {
        private static final Duration POLL = Duration.ofMillis(100);

        @Parameters(
                paramLabel = "SESSION",
                arity = "1..*",
                description = "Numbers, as 'cairn session ls' shows them.")
        private List<Long> wanted = List.of();

        @Option(
                names = "--wait",
                paramLabel = "SECONDS",
                description = {
                    "Wait at most so long until nothing of them is left (default: 30); 0: do not."
                })
        private int waitSeconds = 30;

        @Override
        public ExitCode call() throws IOException, InterruptedException {
            if (waitSeconds < 0) {
                throw usage("--wait: seconds must not be negative");
            }
            Set<Long> evicted = new LinkedHashSet<>(wanted);
            Set<Long> left;
            try (AdminClient admin = connect()) {
                requireThere(sessions(admin), evicted);
                for (long session : evicted) {
                    var _ =
                            admin.ask(
                                    Method.CLOSE_SESSION,
                                    CloseSessionRequest.newBuilder()
                                            .setSession(session)
                                            .setEvict(true)
                                            .build(),
                                    CloseSessionReply.parser());
                }
                left = awaitGone(admin, evicted);
            }
            report(evicted, left);
            return left.isEmpty() || waitSeconds == 0 ? ExitCode.SUCCESS : ExitCode.DEGRADED;
        }

        /** All or none: nothing is evicted when one number is wrong. */
        private static void requireThere(List<SessionStatus> present, Set<Long> wanted) {
            Set<Long> there =
                    present.stream().map(SessionStatus::getSession).collect(Collectors.toSet());
            List<Long> unknown = wanted.stream().filter(s -> !there.contains(s)).toList();
            if (!unknown.isEmpty()) {
                throw new CommandException(
                        ExitCode.FAILURE,
                        "no such session: "
                                + unknown
                                + "; nothing was evicted, see: cairn session ls");
            }
        }

        /** Those of which something is left when the time is over. */
        private Set<Long> awaitGone(AdminClient admin, Set<Long> evicted)
                throws InterruptedException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(waitSeconds);
            Set<Long> left = new LinkedHashSet<>(evicted);
            return await(
                    POLL,
                    progress -> {
                        Set<Long> present =
                                sessions(admin).stream()
                                        .map(SessionStatus::getSession)
                                        .collect(Collectors.toSet());
                        left.retainAll(present);
                        progress.show("Waiting until every data server refuses " + left);
                        return left.isEmpty() || System.nanoTime() - end >= 0 ? left : null;
                    });
        }

        private void report(Set<Long> evicted, Set<Long> left) {
            if (json()) {
                Map<String, Object> json = new LinkedHashMap<>();
                json.put("evicted", evicted);
                json.put("ending", new ArrayList<>(left));
                printJson(json);
                return;
            }
            for (long session : evicted) {
                out().printf(
                                left.contains(session)
                                        ? "session %d is refused; its open files are released once every"
                                                + " data server refuses it%n"
                                        : "session %d has ended%n",
                                session);
            }
            out().flush();
        }
    }
}
