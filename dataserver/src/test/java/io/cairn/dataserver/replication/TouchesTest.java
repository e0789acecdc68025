package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DeleteInodesFormat;
import io.cairn.dataserver.store.ContentHead.Key;
import io.cairn.dataserver.store.PgLogEntry;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
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

    private static PgLogEntry entry(long sequence, DataOp op) {
        return new PgLogEntry(1, sequence, op, Unpooled.EMPTY_BUFFER);
    }

    @Test
    void aWriteTouchesItsChunkAndTheInodeAsAWhole() {
        touches.restart(10);
        touches.add(entry(11, write(5, 2)));
        assertThat(touches.touchedAfter(10, 5, 2)).isTrue();
        assertThat(touches.touchedAfter(10, 5, Key.INODE)).isTrue();
        assertThat(touches.touchedAfter(10, 5, 3)).isFalse();
        assertThat(touches.touchedAfter(10, 6, 2)).isFalse();
        assertThat(touches.touchedAfter(11, 5, 2)).isFalse();
    }

    @Test
    void operationsOnWholeInodesTouchAllTheirChunks() {
        touches.restart(0);
        touches.add(entry(1, DataOp.truncateInode(Ops.PG, 5, 1, 1)));
        assertThat(touches.touchedAfter(0, 5, 7)).isTrue();
        assertThat(touches.touchedAfter(0, 6, 7)).isFalse();
        ByteBuf inodes = Unpooled.buffer();
        DeleteInodesFormat.encode(new long[] {6, 8}, inodes);
        touches.add(new PgLogEntry(1, 2, DataOp.deleteInodes(Ops.PG, 1, 2, 1), inodes));
        assertThat(touches.touchedAfter(1, 6, 7)).isTrue();
        assertThat(touches.touchedAfter(1, 8, Key.INODE)).isTrue();
        assertThat(touches.touchedAfter(1, 7, 7)).isFalse();
        touches.add(entry(3, DataOp.noop(Ops.PG, 1)));
        assertThat(touches.touchedAfter(2, 6, 7)).isFalse();
    }

    @Test
    void whatIsNotKnownCountsAsATouch() {
        touches.restart(10);
        assertThat(touches.touchedAfter(9, 1, 1)).isTrue();
        assertThat(touches.touchedAfter(10, 1, 1)).isFalse();
        for (int i = 1; i <= Touches.MAX + 1; i++) {
            touches.add(entry(10 + i, write(2, 0)));
        }
        assertThat(touches.touchedAfter(10, 1, 1)).isTrue();
        assertThat(touches.touchedAfter(11, 1, 1)).isFalse();
    }

    /** One that names thousands takes as much memory as thousands that name one. */
    @Test
    void deletionsCountByTheInodesThatTheyName() {
        touches.restart(10);
        ByteBuf inodes = Unpooled.buffer();
        DeleteInodesFormat.encode(new long[DeleteInodesFormat.MAX_INODES], inodes);
        int kept = Touches.MAX / DeleteInodesFormat.MAX_INODES;
        for (int i = 1; i <= kept + 1; i++) {
            DataOp delete = DataOp.deleteInodes(Ops.PG, 1, DeleteInodesFormat.MAX_INODES, 1);
            touches.add(new PgLogEntry(1, 10 + i, delete, inodes));
        }
        assertThat(touches.touchedAfter(10, 1, 1)).isTrue();
        assertThat(touches.touchedAfter(11, 1, 1)).isFalse();
    }
}
