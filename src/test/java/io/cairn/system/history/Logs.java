package io.cairn.system.history;

import io.cairn.system.history.Operation.Action;
import io.cairn.system.history.Operation.Outcome;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.zip.CRC32C;

/**
 * A file that several append records to. The argument of an append is its record's name, {@code
 * WRITER:NUMBER}, where a writer is one open of one process; a read's result is a {@link #picture}.
 *
 * <ul>
 *   <li>A record is there once; one of an unknown outcome at most once, one that failed never.
 *   <li>One that was appended before another began stands before it.
 *   <li>A read shows the beginning of what is there in the end, with everything that was durable
 *       when it began.
 * </ul>
 *
 * A record that nobody synced may be lost with its mount.
 */
public final class Logs {
    private Logs() {}

    /** What a read has shown of a log with these records: their number and a checksum of them. */
    public static String picture(List<String> records) {
        CRC32C crc = new CRC32C();
        for (String record : records) {
            crc.update((record + "\n").getBytes(StandardCharsets.UTF_8));
        }
        return records.size() + ":" + Long.toHexString(crc.getValue());
    }

    /**
     * @param end the records that are there in the end
     * @param reliable of reads: no mount that was lost has shown what it lost
     * @return what contradicts each other; empty if nothing does
     */
    public static List<String> check(
            List<Operation> operations, List<String> end, Predicate<Operation> reliable) {
        List<String> found = new ArrayList<>();
        Map<String, Operation> appends = new HashMap<>();
        for (Operation o : operations) {
            if (o.action() != Action.READ) {
                appends.put(o.argument(), o);
            }
        }
        Set<String> there = new HashSet<>();
        List<Operation> inOrder = new ArrayList<>();
        for (String record : end) {
            Operation append = appends.get(record);
            if (append == null) {
                found.add("nobody appended " + record);
            } else if (append.outcome() == Outcome.FAILED) {
                found.add("it failed, and is there: " + append);
            } else {
                inOrder.add(append);
            }
            if (!there.add(record)) {
                found.add("twice: " + record);
            }
        }
        Set<String> durable = durable(operations);
        for (String record : durable) {
            if (!there.contains(record)) {
                found.add("lost: " + appends.get(record));
            }
        }
        order(inOrder, found);
        if (found.isEmpty()) {
            List<String> pictures = pictures(end);
            for (Operation read : operations) {
                if (read.action() == Action.READ && read.ok() && reliable.test(read)) {
                    read(read, inOrder, pictures, durable, found);
                }
            }
        }
        return found;
    }

    /** Names of the records that were synced, with all that their writer appended before them. */
    private static Set<String> durable(List<Operation> operations) {
        Set<String> durable = new HashSet<>();
        Map<String, List<String>> appended = new HashMap<>();
        for (Operation o : operations) {
            if (o.action() == Action.READ || !o.ok()) {
                continue;
            }
            String writer = o.argument().substring(0, o.argument().lastIndexOf(':'));
            List<String> before = appended.computeIfAbsent(writer, _ -> new ArrayList<>());
            before.add(o.argument());
            if (o.action() == Action.APPEND_SYNC) {
                durable.addAll(before);
                before.clear();
            }
        }
        return durable;
    }

    private static void order(List<Operation> inOrder, List<String> found) {
        for (int i = inOrder.size() - 1, earliest = i; i >= 0; i--) {
            Operation o = inOrder.get(i);
            Operation behind = inOrder.get(earliest);
            if (behind.completedNanos() < o.invokedNanos()) {
                found.add("in the wrong order: " + o + "\n  stands before " + behind);
                return;
            }
            if (o.completedNanos() < behind.completedNanos()) {
                earliest = i;
            }
        }
    }

    /** Of each beginning of the log, the empty one first. */
    private static List<String> pictures(List<String> end) {
        List<String> pictures = new ArrayList<>();
        CRC32C crc = new CRC32C();
        pictures.add("0:" + Long.toHexString(crc.getValue()));
        for (String record : end) {
            crc.update((record + "\n").getBytes(StandardCharsets.UTF_8));
            pictures.add(pictures.size() + ":" + Long.toHexString(crc.getValue()));
        }
        return pictures;
    }

    private static void read(
            Operation read,
            List<Operation> inOrder,
            List<String> pictures,
            Set<String> durable,
            List<String> found) {
        int shown = pictures.indexOf(read.result());
        if (shown < 0) {
            found.add("not a beginning of what is there in the end: " + read);
            return;
        }
        for (int i = 0; i < inOrder.size(); i++) {
            Operation o = inOrder.get(i);
            if (i < shown && o.invokedNanos() > read.completedNanos()) {
                found.add("shown before it was appended: " + o + "\n  by " + read);
            }
            if (i >= shown
                    && durable.contains(o.argument())
                    && o.action() == Action.APPEND_SYNC
                    && o.completedNanos() < read.invokedNanos()) {
                found.add("not shown: " + o + "\n  by " + read);
            }
        }
    }
}
