package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.dataserver.store.ContentHead.Key;
import org.junit.jupiter.api.Test;

class TouchesTest {
    private final Touches touches = new Touches();

    private static DataOp write(long inode, int chunk) {
        return DataOp.write(
                Ops.PG,
                new DataOp.Range(inode, chunk, 0, 8),
                DataOp.Caller.NONE,
                DataOp.Known.map(1),
                new int[1]);
    }

    @Test
    void aWriteTouchesItsChunkAndTheInodeAsAWhole() {
        touches.restart(10);
        touches.add(11, write(5, 2));
        assertThat(touches.touchedAfter(10, 5, 2)).isTrue();
        assertThat(touches.touchedAfter(10, 5, Key.INODE)).isTrue();
        assertThat(touches.touchedAfter(10, 5, 3)).isFalse();
        assertThat(touches.touchedAfter(10, 6, 2)).isFalse();
        assertThat(touches.touchedAfter(11, 5, 2)).isFalse();
    }

    @Test
    void operationsOnWholeInodesTouchAllTheirChunks() {
        touches.restart(0);
        touches.add(1, DataOp.truncateInode(Ops.PG, 5, 1, 1));
        assertThat(touches.touchedAfter(0, 5, 7)).isTrue();
        assertThat(touches.touchedAfter(0, 6, 7)).isFalse();
        touches.add(2, DataOp.deleteInodes(Ops.PG, 1, 1, 1));
        assertThat(touches.touchedAfter(1, 6, 7)).isTrue();
        touches.add(3, DataOp.noop(Ops.PG, 1));
        assertThat(touches.touchedAfter(2, 6, 7)).isFalse();
    }

    @Test
    void whatIsNotKnownCountsAsATouch() {
        touches.restart(10);
        assertThat(touches.touchedAfter(9, 1, 1)).isTrue();
        assertThat(touches.touchedAfter(10, 1, 1)).isFalse();
        for (int i = 1; i <= Touches.MAX + 1; i++) {
            touches.add(10 + i, write(2, 0));
        }
        assertThat(touches.touchedAfter(10, 1, 1)).isTrue();
        assertThat(touches.touchedAfter(11, 1, 1)).isFalse();
    }
}
