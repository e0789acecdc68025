package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.errno.Errno;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Writes and appends beyond the end of the file that fail in part, or whose caller is gone: no hole
 * shows what they left. Chunks are 64 KiB.
 */
class FailedBeyondEndTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;
    private static final String ZEROS = "\0\0\0\0";

    private CairnClient client;
    private OpenFile file;

    @BeforeEach
    void make() {
        client = connect("publish_interval = \"1min\"");
        file = create(client, "f");
        get(write(file, 0, "abc"));
    }

    private void faults(Function<DataOp, Fault> decide) {
        cluster.data().forEach(d -> d.faults(decide));
    }

    /** Half of it in the first chunk, which is written, and half in the second. */
    private CompletableFuture<Void> writeOverTwoChunks() {
        return write(file, CHUNK - 4, "12345678");
    }

    private void failInPart() {
        faults(op -> op.chunk() == 1 ? Fault.FULL : Fault.NONE);
        assertThat(errno(writeOverTwoChunks())).isEqualTo(Errno.ENOSPC);
        assertThat(file.attr().getSize()).isEqualTo(3);
        faults(op -> Fault.NONE);
    }

    @Test
    void theFileMadeLongerShowsZeros() {
        failInPart();
        get(resize(client, file, 2L * CHUNK));
        assertThat(read(file, CHUNK - 4, 4)).isEqualTo(ZEROS);
        assertThat(read(file, 0, 4)).isEqualTo("abc\0");
    }

    @Test
    void aWriteFurtherOutLeavesZerosBehindIt() {
        failInPart();
        get(write(file, 3L * CHUNK, "z"));
        assertThat(read(file, CHUNK - 4, 4)).isEqualTo(ZEROS);
        assertThat(read(file, 0, 3)).isEqualTo("abc");
        assertThat(read(file, 3L * CHUNK, 1)).isEqualTo("z");
    }

    @Test
    void theFileMadeLongerByAnotherClientShowsZeros() {
        failInPart();
        get(file.release());
        CairnClient other = connect();
        OpenFile theirs = get(other.open(file.inode()));
        get(resize(other, theirs, 2L * CHUNK));
        assertThat(read(theirs, CHUNK - 4, 4)).isEqualTo(ZEROS);
        assertThat(read(theirs, 0, 3)).isEqualTo("abc");
    }

    /** The change of size is behind it in line already. */
    @Test
    void aChangeOfSizeThatWaitsForItShowsZeros() {
        faults(op -> op.chunk() == 1 ? Fault.RETRY : Fault.NONE);
        CompletableFuture<Void> failing = writeOverTwoChunks();
        await().until(() -> cluster.chunks().executed() == 2);
        CompletableFuture<?> resized = resize(client, file, 2L * CHUNK);
        faults(op -> op.chunk() == 1 ? Fault.FULL : Fault.NONE);
        assertThat(errno(failing)).isEqualTo(Errno.ENOSPC);
        get(resized);
        assertThat(read(file, CHUNK - 4, 4)).isEqualTo(ZEROS);
        assertThat(read(file, 0, 3)).isEqualTo("abc");
    }

    @Test
    void whatAnAppendLeftIsNotShownEither() {
        get(write(file, 0, "x".repeat(CHUNK - 4)));
        faults(op -> op.chunk() == 1 ? Fault.FULL : Fault.NONE);
        assertThat(errno(append(file, "12345678"))).isEqualTo(Errno.ENOSPC);
        faults(op -> Fault.NONE);
        get(write(file, 3L * CHUNK, "z"));
        assertThat(read(file, CHUNK - 5, 5)).isEqualTo("x" + ZEROS);
    }

    /** Its process was killed while the data was on its way. */
    @Test
    void anAppendThatWasExecutedAsAWholeCounts() {
        faults(op -> Fault.HOLD);
        CompletableFuture<Long> killed = append(file, "def");
        await().until(() -> cluster.data().stream().anyMatch(d -> d.held() > 0));
        killed.cancel(false);
        faults(op -> Fault.NONE);
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        assertThat(get(append(file, "ghi"))).isEqualTo(6);
        assertThat(read(file, 0, 100)).isEqualTo("abcdefghi");
    }
}
