package io.cairn.dataserver.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class SuperblockFormatTest {
    private final Superblock superblock =
            new Superblock(Superblock.State.READY, new UUID(1, 2), new UUID(3, 4), 1L << 40);

    @Test
    void golden() throws DiskOpenException {
        ByteBuffer b = SuperblockFormat.encode(superblock);
        byte[] head = new byte[64];
        b.get(0, head);
        assertThat(HexFormat.of().formatHex(head))
                .isEqualTo(
                        "434149524e44534b010000000100000001000000000000000200000000000000"
                                + "030000000000000004000000000000000000000000010000000000000c2caba8");
        assertThat(b.remaining()).isEqualTo(4096);
        assertThat(SuperblockFormat.decode(b, "d")).isEqualTo(superblock);
    }

    @Test
    void alteredOrShortOnesAreRefused() {
        for (int i = 0; i < 64; i++) {
            ByteBuffer b = SuperblockFormat.encode(superblock);
            b.put(i, (byte) (b.get(i) ^ 1));
            assertThatThrownBy(() -> SuperblockFormat.decode(b, "the-disk"))
                    .isInstanceOf(DiskOpenException.class)
                    .hasMessageContaining("the-disk");
        }
        for (int length = 0; length < 64; length++) {
            ByteBuffer part = SuperblockFormat.encode(superblock).slice(0, length);
            assertThatThrownBy(() -> SuperblockFormat.decode(part, "the-disk"))
                    .isInstanceOf(DiskOpenException.class);
        }
    }
}
