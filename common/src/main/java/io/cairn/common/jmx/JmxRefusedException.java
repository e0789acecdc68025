package io.cairn.common.jmx;

import java.io.IOException;

/** The settings of JMX are not to be used: the message names the file or key, and what to do. */
public final class JmxRefusedException extends IOException {
    private static final long serialVersionUID = 1L;

    JmxRefusedException(String message) {
        super(message);
    }

    JmxRefusedException(String message, Throwable cause) {
        super(message, cause);
    }
}
