package io.cairn.dataserver.replication;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.common.data.DataOp;
import io.cairn.common.data.DataOp.Cut;
import java.util.List;
import org.junit.jupiter.api.Test;

class ReadMaskTest {
    private static DataOp read(int offset, Cut... cuts) {
        return DataOp.read(
                1,
                new DataOp.Range(9, 0, offset, 100),
                new DataOp.Caller(7, 0, 0),
                new DataOp.Known(1, 9, List.of(cuts)));
    }

    @Test
    void hidesWhatANewerCutRemoves() {
        DataOp read = read(1000, new Cut(4, 1040), new Cut(5, 1060));
        assertThat(ReadMask.visibleBytes(read, 3, 100)).isEqualTo(40);
        assertThat(ReadMask.visibleBytes(read, 4, 100)).isEqualTo(60);
        assertThat(ReadMask.visibleBytes(read, 5, 100)).isEqualTo(100);
        assertThat(ReadMask.visibleBytes(read, 3, 10)).isEqualTo(10);
        assertThat(ReadMask.visibleBytes(read(2000, new Cut(4, 1)), 3, 100)).isZero();
    }
}
