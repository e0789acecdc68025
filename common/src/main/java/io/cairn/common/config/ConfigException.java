package io.cairn.common.config;

/**
 * A configuration that is refused. The message is one line for the administrator: {@code file:line:
 * key: what is wrong, what is allowed}.
 */
public final class ConfigException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * @param line line of the file, from 1; 0 when the file could not be read at all
     * @param key full dotted key, empty when the error is not about one
     */
    public ConfigException(String file, int line, String key, String problem) {
        super(
                file
                        + ":"
                        + (line > 0 ? line + ":" : "")
                        + (key.isEmpty() ? "" : " " + key + ":")
                        + " "
                        + problem);
    }
}
