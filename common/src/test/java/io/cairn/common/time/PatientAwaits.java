package io.cairn.common.time;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Lets all tests wait longer for a condition than Awaitility's ten seconds, where they do not say
 * how long: a machine that runs several builds may need more. JUnit finds it by META-INF/services,
 * in every module, see junit-platform.properties.
 */
public final class PatientAwaits implements BeforeAllCallback {
    private static final Duration LIMIT = Duration.ofMinutes(1);

    @Override
    public void beforeAll(ExtensionContext context) {
        Awaitility.setDefaultTimeout(LIMIT);
    }
}
