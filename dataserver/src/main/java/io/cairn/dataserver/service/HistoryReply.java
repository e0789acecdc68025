package io.cairn.dataserver.service;

import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.Messages;
import io.cairn.dataserver.replication.DiskSpace;
import io.cairn.dataserver.replication.PeerAnswer;
import io.cairn.dataserver.replication.PgHistory;

/** Answers a question for the history of a member. */
record HistoryReply(RpcRequest request) implements PeerAnswer {
    @Override
    public void history(long pgEpoch, PgHistory history, DiskSpace space) {
        request.reply(Messages.reply(pgEpoch, history, space));
    }

    @Override
    public void refuse(RpcStatus status) {
        request.fail(status);
    }
}
