package io.cairn.dataserver.chunk;

import java.util.Arrays;

/**
 * By what a set of pages is told from another: their bits are counted, and the checksums of the
 * pages, mixed with their numbers, are summed up. The order of pages does not count, so one page
 * changes without the others being read. Immutable.
 *
 * @param bits number of bits in all pages
 * @param digest sum of the pages' digests, modulo 2^64
 */
record PageSum(long bits, long digest) {
    static final PageSum EMPTY = new PageSum(0, 0);

    /** With one page more, which has bits. */
    PageSum with(int page, long[] words, byte[] encoded) {
        return new PageSum(bits + count(words), digest + digest(page, encoded));
    }

    /** Without one of the pages. */
    PageSum without(int page, long[] words, byte[] encoded) {
        return new PageSum(bits - count(words), digest - digest(page, encoded));
    }

    private static long count(long[] words) {
        return Arrays.stream(words).mapToInt(Long::bitCount).sum();
    }

    /** The finalizer of SplitMix64 (Steele, Lea and Flood, 2014). */
    private static long digest(int page, byte[] encoded) {
        long z = (long) page << 32 | BitPageFormat.crc(encoded) & 0xffff_ffffL;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }
}
