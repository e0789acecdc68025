package io.cairn.common.rocks;

/**
 * How {@code max_bytes_for_level_base} is found when a database lies on a fast and a slow device.
 */
public enum LevelSizing {
    /** From the size of the fast device, so that its levels fill it. */
    AUTO,
    /** Like {@link #AUTO}, with room for a full manual compaction. */
    AUTO_COMPACT_SAFE,
    /** The value of the preset or of the configuration is taken as it is. */
    FIXED
}
