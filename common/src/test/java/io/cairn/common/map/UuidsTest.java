package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HexFormat;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class UuidsTest {
    private static final UUID ID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");

    @Test
    void theBytesAreTheDigitsInTheirOrder() {
        assertThat(HexFormat.of().formatHex(Uuids.bytes(ID).toByteArray()))
                .isEqualTo("00112233445566778899aabbccddeeff");
    }

    @Test
    void goThereAndBack() {
        assertThat(Uuids.of(Uuids.bytes(ID))).isEqualTo(ID);
        ByteString random = Uuids.random();
        assertThat(Uuids.bytes(Uuids.of(random))).isEqualTo(random);
        assertThat(Uuids.random()).isNotEqualTo(random);
    }

    @Test
    void inBuffersTheFirstHalfIsTheMostSignificantInEitherByteOrder() {
        ByteBuffer big = ByteBuffer.allocate(20);
        Uuids.put(big, 2, ID);
        assertThat(HexFormat.of().formatHex(big.array()))
                .isEqualTo("0000" + "0011223344556677" + "8899aabbccddeeff" + "0000");
        ByteBuffer little = ByteBuffer.allocate(20).order(ByteOrder.LITTLE_ENDIAN);
        Uuids.put(little, 2, ID);
        assertThat(HexFormat.of().formatHex(little.array()))
                .isEqualTo("0000" + "7766554433221100" + "ffeeddccbbaa9988" + "0000");
        assertThat(Uuids.get(big, 2)).isEqualTo(ID);
        assertThat(Uuids.get(little, 2)).isEqualTo(ID);
    }

    @Test
    void nothingElseIsAnId() {
        for (int size : new int[] {0, 15, 17}) {
            assertThatThrownBy(() -> Uuids.of(ByteString.copyFrom(new byte[size])))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(size + " bytes");
        }
    }
}
