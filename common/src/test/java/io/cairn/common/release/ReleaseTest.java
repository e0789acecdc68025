package io.cairn.common.release;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ReleaseTest {
    @Test
    void itIsThatOfTheBuild() {
        assertThat(Release.CURRENT).matches("\\d+\\.\\d+\\.\\d+(-\\w+)?");
        assertThat(Release.shown(Release.CURRENT)).isEqualTo(Release.CURRENT);
    }

    @Test
    void whatAPeerSaysCannotSpoilATerminal() {
        assertThat(Release.shown("1.0\u001b[2J\nx y")).isEqualTo("1.0?[2J?x?y");
        assertThat(Release.shown("9".repeat(5000))).hasSize(64);
        assertThat(Release.shown("")).isEmpty();
    }
}
