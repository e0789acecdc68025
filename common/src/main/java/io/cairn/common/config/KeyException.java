package io.cairn.common.config;

/**
 * Thrown by the compact constructor of a configuration record to refuse a value or a combination of
 * values. The reader turns it into a {@link ConfigException} that also names file and line.
 */
public final class KeyException extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    private final String key;

    /**
     * @param key the key to blame, relative to the record ({@code "lease"} or {@code
     *     "rocksdb.preset"})
     * @param problem what is wrong and what is allowed
     */
    public KeyException(String key, String problem) {
        super(key + ": " + problem);
        this.key = key;
        this.problem = problem;
    }

    private final String problem;

    public String key() {
        return key;
    }

    public String problem() {
        return problem;
    }

    /** Refuses with {@code problem} unless {@code holds}. */
    public static void require(boolean holds, String key, String problem) {
        if (!holds) {
            throw new KeyException(key, problem);
        }
    }
}
