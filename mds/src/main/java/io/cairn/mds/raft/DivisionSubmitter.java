package io.cairn.mds.raft;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientAsynchronousProtocol;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.server.RaftServer;

/**
 * Appends entries to this member's log. {@code RaftServer}'s own entry point would block a pool
 * thread for each. That the division implements {@link RaftClientAsynchronousProtocol} is internal
 * to Ratis (seen in 3.3.0; a test checks it), so only this class casts to it.
 *
 * <p>Any thread; what one thread submits enters the log in that order.
 */
final class DivisionSubmitter {
    private final RaftClientAsynchronousProtocol division;
    private final RaftPeerId self;
    private final RaftGroupId group;
    private final ClientId client = ClientId.randomId();
    private final AtomicLong callId = new AtomicLong();

    DivisionSubmitter(RaftServer.Division division) {
        if (!(division instanceof RaftClientAsynchronousProtocol protocol)) {
            throw new IllegalStateException(
                    division.getClass() + " takes no requests itself; this Ratis is not 3.3.0");
        }
        this.division = protocol;
        this.self = division.getId();
        this.group = division.getGroup().getGroupId();
    }

    CompletableFuture<RaftClientReply> submit(Message entry) {
        RaftClientRequest request =
                RaftClientRequest.newBuilder()
                        .setClientId(client)
                        .setServerId(self)
                        .setGroupId(group)
                        .setCallId(callId.incrementAndGet())
                        .setMessage(entry)
                        .setType(RaftClientRequest.writeRequestType())
                        .build();
        try {
            return division.submitClientRequestAsync(request);
        } catch (IOException e) {
            return CompletableFuture.failedFuture(e);
        }
    }
}
