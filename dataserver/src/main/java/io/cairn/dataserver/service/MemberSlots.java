package io.cairn.dataserver.service;

import io.cairn.common.errno.Errno;
import io.cairn.common.rpc.Advice;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import io.cairn.dataserver.pg.LocalDisk;
import io.cairn.dataserver.pg.PgLoop;
import io.cairn.dataserver.pg.PgLoops;
import io.cairn.dataserver.pg.PgSlot;
import io.cairn.dataserver.pg.ServerParts;
import java.util.function.Consumer;

/** Finds the replica that another member asks for. Any thread. */
record MemberSlots(PgLoops loops, ServerParts parts) {
    /** Runs the action on the loop that owns the PG, or answers why there is no such replica. */
    void with(RpcRequest request, int pg, int disk, Consumer<PgSlot> action) {
        PgLoop owner = loops.owner(pg);
        owner.runOrExecute(() -> {
            PgSlot slot = owner.slot(pg, disk);
            if (slot != null) {
                action.accept(slot);
                return;
            }
            if (owner.isWaiting(pg)) {
                request.fail(PgLoop.waitingStatus(pg));
                return;
            }
            if (owner.isOutHere(disk)) {
                request.fail(LocalDisk.outStatus(disk));
                return;
            }
            parts.needMap().run();
            request.fail(
                    RpcStatus.fail(
                            Errno.EAGAIN,
                            Advice.RETRY,
                            "no replica of placement group %x on disk %d in the map here"
                                    .formatted(pg, disk)));
        });
    }
}
