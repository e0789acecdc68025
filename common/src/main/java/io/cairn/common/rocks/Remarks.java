package io.cairn.common.rocks;

import java.util.List;

/**
 * What a database, or the server that has it, has to tell its administrator, a line each.
 *
 * @param warnings of what is not as configured, or wants action
 * @param notes of what is as configured, and yet worth knowing
 */
public record Remarks(List<String> warnings, List<String> notes) {
    public static final Remarks NONE = new Remarks(List.of(), List.of());

    public Remarks {
        warnings = List.copyOf(warnings);
        notes = List.copyOf(notes);
    }
}
