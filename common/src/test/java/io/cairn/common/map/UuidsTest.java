package io.cairn.common.map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
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
    void nothingElseIsAnId() {
        for (int size : new int[] {0, 15, 17}) {
            assertThatThrownBy(() -> Uuids.of(ByteString.copyFrom(new byte[size])))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(size + " bytes");
        }
    }
}
