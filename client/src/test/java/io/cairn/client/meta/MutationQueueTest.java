package io.cairn.client.meta;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.cairn.common.proto.MkdirOp;
import io.cairn.common.proto.MutateRequest;
import io.cairn.common.proto.Mutation;
import java.util.List;
import org.junit.jupiter.api.Test;

class MutationQueueTest {
    private final MutationQueue queue = new MutationQueue(3, 1000);

    private PendingMutation add(int bytes) {
        PendingMutation m =
                new PendingMutation(
                        Mutation.newBuilder()
                                .setMkdir(
                                        MkdirOp.newBuilder()
                                                .setName(ByteString.copyFrom(new byte[bytes])))
                                .build(),
                        0,
                        0);
        queue.add(m);
        return m;
    }

    private MutationQueue.Batch next() {
        MutationQueue.Batch batch = queue.nextBatch();
        if (batch == null) {
            throw new AssertionError("nothing waits");
        }
        return batch;
    }

    @Test
    void numbersAreConsecutiveOverBatches() {
        for (int i = 0; i < 5; i++) {
            add(10);
        }
        MutationQueue.Batch first = next();
        MutationQueue.Batch second = next();
        assertThat(first.firstNumber()).isEqualTo(1);
        assertThat(first.mutations()).hasSize(3);
        assertThat(second.firstNumber()).isEqualTo(4);
        assertThat(second.mutations()).hasSize(2);
        assertThat(queue.nextBatch()).isNull();
        assertThat(queue.depth()).isEqualTo(5);
    }

    @Test
    void aBatchIsBoundedInBytesButNeverEmpty() {
        add(5000);
        add(600);
        add(600);
        assertThat(next().mutations()).hasSize(1);
        assertThat(next().mutations()).hasSize(1);
        assertThat(next().mutations()).hasSize(1);
    }

    @Test
    void theMarkStopsAtTheOldestOutstanding() {
        add(1);
        MutationQueue.Batch first = next();
        add(1);
        MutationQueue.Batch second = next();
        assertThat(queue.ackedBelow()).isEqualTo(1);
        assertThat(queue.answered(second)).isTrue();
        assertThat(queue.ackedBelow()).isEqualTo(1);
        assertThat(queue.answered(first)).isTrue();
        assertThat(queue.ackedBelow()).isEqualTo(3);
        assertThat(queue.answered(first)).isFalse();
        MutateRequest request = first.request(7, 9);
        assertThat(request.getSession()).isEqualTo(7);
        assertThat(request.getFirstNumber()).isEqualTo(1);
        assertThat(request.getAckedBelow()).isEqualTo(9);
    }

    @Test
    void onlyWhatHasNoNumberCanBeDropped() {
        PendingMutation numbered = add(1);
        next();
        PendingMutation waiting = add(1);
        assertThat(queue.dropWaiting(m -> true)).isEqualTo(List.of(waiting));
        assertThat(queue.clear()).isEqualTo(List.of(numbered));
    }
}
