package io.cairn.mds.store;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A least-recently-used cache of bounded size, in segments with a lock each. Any thread. Keeping it
 * coherent is the caller's business ({@link MetaStore}).
 */
final class BoundedCache<K, V> {
    private static final int SEGMENTS = 16;

    private final Segment<K, V>[] segments;

    @SuppressWarnings({"unchecked", "rawtypes"})
    BoundedCache(int capacity) {
        segments = new Segment[SEGMENTS];
        for (int i = 0; i < SEGMENTS; i++) {
            segments[i] = new Segment<>(Math.max(1, capacity / SEGMENTS));
        }
    }

    @Nullable V get(K key) {
        Segment<K, V> segment = segment(key);
        synchronized (segment) {
            return segment.get(key);
        }
    }

    void put(K key, V value) {
        Segment<K, V> segment = segment(key);
        synchronized (segment) {
            segment.put(key, value);
        }
    }

    /**
     * Puts it only where the condition holds. Who makes the condition false before changing the
     * cache is sure that nothing is put on grounds of it behind that change.
     */
    void put(K key, V value, BooleanSupplier condition) {
        Segment<K, V> segment = segment(key);
        synchronized (segment) {
            if (condition.getAsBoolean()) {
                segment.put(key, value);
            }
        }
    }

    void remove(K key) {
        Segment<K, V> segment = segment(key);
        synchronized (segment) {
            segment.remove(key);
        }
    }

    private Segment<K, V> segment(K key) {
        int hash = key.hashCode();
        hash ^= hash >>> 16;
        hash *= 0x9e3779b9;
        return segments[hash >>> 28];
    }

    private static final class Segment<K, V> extends LinkedHashMap<K, V> {
        private static final long serialVersionUID = 1;

        private final int capacity;

        Segment(int capacity) {
            super(16, 0.75f, true);
            this.capacity = capacity;
        }

        @Override
        protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
            return size() > capacity;
        }
    }
}
