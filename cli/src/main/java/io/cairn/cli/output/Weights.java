package io.cairn.cli.output;

import java.math.BigDecimal;

/** The weight of a disk as people write it, {@code 0.5}, and in thousandths. */
public final class Weights {
    private Weights() {}

    public static String text(int permille) {
        return BigDecimal.valueOf(permille, 3).stripTrailingZeros().toPlainString();
    }

    /**
     * Thousandths.
     *
     * @throws IllegalArgumentException if it is no number from 0 to 100 with at most three decimals
     */
    public static int permille(String text) {
        if (!text.matches("[0-9]{1,3}(\\.[0-9]{1,3})?")
                || new BigDecimal(text).compareTo(BigDecimal.valueOf(100)) > 0) {
            throw new IllegalArgumentException(
                    "'" + text + "': a weight is 0 to 100, with at most three decimals");
        }
        return new BigDecimal(text).movePointRight(3).intValueExact();
    }
}
