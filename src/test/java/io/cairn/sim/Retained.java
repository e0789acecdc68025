package io.cairn.sim;

import com.google.protobuf.MessageLite;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Counts what servers hold: the elements of all collections and arrays that can be reached from
 * their fields. What the simulation itself remembers is not theirs.
 */
final class Retained {
    private static final Set<Class<?>> NOT_THEIRS =
            Set.of(
                    ClusterSim.class,
                    Simulation.class,
                    SimNetwork.class,
                    SimHistory.class,
                    SimRaft.class,
                    SimDisk.class,
                    SimClient.class);

    private final Set<Object> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final ArrayDeque<Object> todo = new ArrayDeque<>();

    /** Elements by the field that holds them, of which there may be many. */
    private final Map<String, Long> elements = new TreeMap<>();

    /** Elements by the fields that hold them. */
    static Map<String, Long> by(Collection<?> roots) {
        Retained retained = new Retained();
        roots.forEach(retained::add);
        while (!retained.todo.isEmpty()) {
            retained.lookInto(retained.todo.remove());
        }
        return retained.elements;
    }

    private void add(@Nullable Object value) {
        if (value != null && isHolder(value.getClass()) && seen.add(value)) {
            todo.add(value);
        }
    }

    private static boolean isHolder(Class<?> type) {
        return type.getName().startsWith("io.cairn.")
                && !type.isHidden()
                && !type.isEnum()
                && !MessageLite.class.isAssignableFrom(type)
                && NOT_THEIRS.stream().noneMatch(t -> t.isAssignableFrom(type));
    }

    private void lookInto(Object holder) {
        for (Class<?> c = holder.getClass(); c != null && isHolder(c); c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && !field.getType().isPrimitive()) {
                    hold(c.getSimpleName() + "." + field.getName(), value(field, holder));
                }
            }
        }
    }

    private static @Nullable Object value(Field field, Object holder) {
        try {
            field.setAccessible(true);
            return field.get(holder);
        } catch (IllegalAccessException e) {
            throw new AssertionError(field.toString(), e);
        }
    }

    private void hold(String name, @Nullable Object value) {
        switch (value) {
            case null -> {}
            case Collection<?> all -> {
                count(name, all.size());
                all.forEach(o -> hold(name, o));
            }
            case Map<?, ?> map -> {
                count(name, map.size());
                map.values().forEach(o -> hold(name, o));
            }
            default -> {
                if (value instanceof Object[] all) {
                    hold(name, Arrays.asList(all));
                } else if (value.getClass().isArray()) {
                    count(name, Array.getLength(value));
                } else {
                    add(value);
                }
            }
        }
    }

    private void count(String name, int more) {
        elements.merge(name, (long) more, Long::sum);
    }
}
