package io.cairn.common.data;

/**
 * What a data server says about the bytes it returns for DATA_READ.
 *
 * @param requestedLength bytes asked for
 * @param dataLength bytes returned, at most those asked for; the rest are zeros
 * @param blockCrcs CRC32C of the bytes returned, per 4 KiB-aligned block of the chunk
 */
public record ReadReply(int requestedLength, int dataLength, int[] blockCrcs) {}
