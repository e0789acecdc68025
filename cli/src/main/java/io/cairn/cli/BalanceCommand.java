package io.cairn.cli;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.ExitCode;
import io.cairn.cli.output.BalanceReport;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.BalancePlanReply;
import io.cairn.common.proto.BalancePlanRequest;
import io.cairn.common.proto.Method;
import java.io.IOException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code cairn balance}. */
@Command(
        name = "balance",
        description = {
            "Show how replicas of placement groups are spread over disks. They are moved by themselves,",
            "whenever disks come, are drained, or are away for long: no command is needed."
        })
final class BalanceCommand extends ClusterCommand {
    @Option(
            names = "--plan",
            required = true,
            description = {
                "What would move now: how many replicas, about how many bytes, and how many",
                "replicas each disk has before and after. Nothing is done."
            })
    private boolean plan;

    @Option(
            names = "--moves",
            description = {
                "Also each replica that would move: its placement group, from which disk to which,",
                "and about how many bytes are copied. With --json it is always there."
            })
    private boolean moves;

    @Override
    public ExitCode call() throws IOException {
        if (!plan) {
            throw usage("--plan is missing");
        }
        BalancePlanReply reply;
        try (AdminClient admin = connect()) {
            reply =
                    admin.ask(
                            Method.BALANCE_PLAN,
                            BalancePlanRequest.getDefaultInstance(),
                            BalancePlanReply.parser());
        } catch (FsException e) {
            throw IdsCommand.failure(e, "");
        }
        BalanceReport report = new BalanceReport(reply);
        if (json()) {
            printJson(report.asMap());
        } else {
            report.print(out());
            if (moves) {
                report.printMoves(out());
            }
        }
        return ExitCode.SUCCESS;
    }
}
