package io.cairn.common.metrics;

import java.util.function.DoubleSupplier;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A number that a bean shows.
 *
 * @param type {@code long} or {@code double}, as JMX spells it
 * @param value called by any thread that reads the bean; must not block
 */
record BeanAttribute(String name, String description, String type, Supplier<Number> value) {
    static BeanAttribute whole(String name, String description, LongSupplier value) {
        return new BeanAttribute(name, description, long.class.getName(), value::getAsLong);
    }

    static BeanAttribute fraction(String name, String description, DoubleSupplier value) {
        return new BeanAttribute(name, description, double.class.getName(), value::getAsDouble);
    }
}
