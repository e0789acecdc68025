package io.cairn.common.rocks;

/** Compression of table files. */
public enum Compression {
    NONE("kNoCompression"),
    SNAPPY("kSnappyCompression"),
    LZ4("kLZ4Compression"),
    ZSTD("kZSTD");

    private final String optionValue;

    Compression(String optionValue) {
        this.optionValue = optionValue;
    }

    String optionValue() {
        return optionValue;
    }
}
