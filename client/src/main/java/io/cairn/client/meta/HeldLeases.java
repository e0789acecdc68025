package io.cairn.client.meta;

import io.cairn.client.api.LeaseHolder;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadRecall;
import io.cairn.common.proto.ReadRecalledRequest;
import io.cairn.common.rpc.RpcChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Leases of names and attributes, as far as the client has to do with them: whether it asks for
 * them, and the recalls. A recall is acknowledged to the leader that sent it and to no other, as
 * each leader counts its own; what does not arrive is not sent again, for that leader is gone or
 * waits until the leases end. What is forgotten while an acknowledgement is in flight goes into the
 * next one. Any thread.
 */
public final class HeldLeases {
    private static final Logger LOG = LoggerFactory.getLogger(HeldLeases.class);

    private record To(RpcChannel leader, long session) {}

    private final SessionCalls calls;
    private final OpensAhead ahead;
    private volatile @Nullable LeaseHolder holder;

    /**
     * Numbers not sent yet, of those to whom an acknowledgement is in flight. Guarded by itself.
     */
    private final Map<To, List<Long>> behind = new HashMap<>();

    /**
     * @param ahead whose attributes are leased
     */
    HeldLeases(SessionCalls calls, OpensAhead ahead) {
        this.calls = calls;
        this.ahead = ahead;
    }

    /** From now on leases are asked for. */
    public void hold(LeaseHolder by) {
        holder = by;
    }

    /** The session that asks for leases: this one, or 0 for none. */
    public long session(long present) {
        return holder == null ? 0 : present;
    }

    /** Must not block. */
    public void recalled(RpcChannel from, ReadRecall recall) {
        synchronized (calls.lock) {
            recall.getInodesList().forEach(ahead::changed);
        }
        To to = new To(from, recall.getSession());
        LeaseHolder present = holder;
        if (present == null) {
            forgotten(to, recall.getNumber());
        } else {
            present.recalled(recall, () -> forgotten(to, recall.getNumber()));
        }
    }

    private void forgotten(To to, long number) {
        synchronized (behind) {
            List<Long> waiting = behind.get(to);
            if (waiting != null) {
                waiting.add(number);
                return;
            }
            behind.put(to, new ArrayList<>());
        }
        send(to, List.of(number));
    }

    private void send(To to, List<Long> numbers) {
        ReadRecalledRequest request =
                ReadRecalledRequest.newBuilder()
                        .setSession(to.session)
                        .addAllNumbers(numbers)
                        .build();
        to.leader.call(
                Method.READ_RECALLED_VALUE,
                request,
                calls.attemptDeadline(),
                (status, head, payload) -> {
                    if (!status.ok()) {
                        LOG.debug("recalls not acknowledged: {}", status.detail());
                    }
                    next(to, status.unanswered());
                });
    }

    /** The acknowledgement in flight has ended. */
    private void next(To to, boolean lost) {
        List<Long> waiting;
        synchronized (behind) {
            waiting = behind.remove(to);
            if (waiting == null || waiting.isEmpty() || lost) {
                return;
            }
            behind.put(to, new ArrayList<>());
        }
        send(to, waiting);
    }
}
