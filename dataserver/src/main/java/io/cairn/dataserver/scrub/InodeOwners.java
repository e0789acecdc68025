package io.cairn.dataserver.scrub;

import io.cairn.common.proto.CheckInodesReply;
import io.cairn.common.proto.CheckInodesRequest;
import io.cairn.common.proto.ReportOrphansReply;
import io.cairn.common.proto.ReportOrphansRequest;
import java.util.concurrent.CompletableFuture;

/**
 * The metadata service, which knows the files. Answers fail where nobody leads there, or it does
 * not want to answer now. Any thread.
 */
public interface InodeOwners {
    CompletableFuture<CheckInodesReply> check(CheckInodesRequest request);

    CompletableFuture<ReportOrphansReply> report(ReportOrphansRequest request);

    /** Every loop of this server serves by the map of this epoch, or a newer one. */
    long mapEpoch();
}
