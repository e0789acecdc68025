package io.cairn.cli.local;

import io.cairn.cli.admin.AdminClient;
import io.cairn.cli.command.CommandException;
import io.cairn.common.config.Config;
import io.cairn.common.proto.DataServerStatusReply;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.DatabasesRequest;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.StatusRequest;
import io.cairn.dataserver.ground.DataServerConfig;
import io.cairn.mds.server.MdsConfig;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Which servers of a local cluster do not serve yet: a metadata server does once it answers, a data
 * server once the metadata service has accepted it. One thread.
 */
final class Readiness implements AutoCloseable {
    private final AdminClient admin;
    private final Set<Part> waiting = new LinkedHashSet<>();

    Readiness(Parts parts) {
        admin = new AdminClient(parts.mdsAddresses(), "is the cluster up?");
        waiting.addAll(parts.mds());
        waiting.addAll(parts.data());
    }

    /** Asks those that have not served so far; returns the names of those that still do not. */
    List<String> missing() {
        waiting.removeIf(this::serves);
        return waiting.stream().map(Part::name).toList();
    }

    private boolean serves(Part part) {
        try {
            return part.kind() == PartKind.MDS ? mdsAnswers(part) : dataServerServes(part);
        } catch (CommandException e) {
            return false; // no answer
        }
    }

    /** Any answer will do: those of one that does not lead are as good. */
    private boolean mdsAnswers(Part part) {
        var _ =
                admin.callServer(
                        Parts.self(Config.load(part.config(), MdsConfig.class))
                                .address()
                                .toSocketAddress(),
                        Method.DATABASES,
                        DatabasesRequest.getDefaultInstance(),
                        DatabasesReply.parser());
        return true;
    }

    private boolean dataServerServes(Part part) {
        return admin.callServer(
                        Config.load(part.config(), DataServerConfig.class)
                                .listen()
                                .toSocketAddress(),
                        Method.STATUS,
                        StatusRequest.getDefaultInstance(),
                        DataServerStatusReply.parser())
                .getServing();
    }

    @Override
    public void close() {
        admin.close();
    }
}
