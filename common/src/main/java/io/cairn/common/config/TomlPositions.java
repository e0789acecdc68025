package io.cairn.common.config;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Lines on which the keys and tables of a TOML text stand. Jackson's TOML reader keeps no
 * positions, so this scans the text a second time, after Jackson has found it well-formed; it
 * therefore checks nothing itself.
 *
 * <p>Paths are written as in error messages: {@code rocksdb.preset}, {@code disk[0].path}.
 */
final class TomlPositions {
    private final String text;
    private final Map<String, Integer> lines = new HashMap<>();
    private final Map<String, Integer> arrayTables = new HashMap<>();
    private int at;
    private int line = 1;

    private TomlPositions(String text) {
        this.text = text;
    }

    static TomlPositions scan(String text) {
        TomlPositions positions = new TomlPositions(text);
        positions.document();
        return positions;
    }

    /** Line of the key, of its nearest enclosing table when the key is not in the file, else 1. */
    int lineOf(String path) {
        for (String p = path; !p.isEmpty(); p = parent(p)) {
            Integer found = lines.get(p);
            if (found != null) {
                return found;
            }
        }
        return 1;
    }

    private static String parent(String path) {
        int cut = Math.max(path.lastIndexOf('.'), path.endsWith("]") ? path.lastIndexOf('[') : -1);
        return cut < 0 ? "" : path.substring(0, cut);
    }

    private void document() {
        String table = "";
        while (skipBlank(true)) {
            if (text.charAt(at) == '[') {
                table = header();
            } else {
                pair(table);
            }
        }
    }

    private String header() {
        boolean array = text.startsWith("[[", at);
        at += array ? 2 : 1;
        int start = line;
        List<String> parts = key();
        at += array ? 2 : 1;
        String path = "";
        for (int i = 0; i < parts.size(); i++) {
            path = join(path, parts.get(i));
            boolean last = i == parts.size() - 1;
            if (array && last) {
                lines.putIfAbsent(path, start);
                path += "[" + (arrayTables.merge(path, 1, Integer::sum) - 1) + "]";
            } else if (arrayTables.containsKey(path)) {
                path += "[" + (arrayTables.get(path) - 1) + "]";
            }
        }
        lines.putIfAbsent(path, start);
        return path;
    }

    private void pair(String table) {
        int start = line;
        String path = table;
        for (String part : key()) {
            path = join(path, part);
            lines.putIfAbsent(path, start);
        }
        skipBlank(false);
        at++; // '='
        skipBlank(false);
        value(path);
    }

    private void value(String path) {
        char c = text.charAt(at);
        if (c == '"' || c == '\'') {
            string(c);
        } else if (c == '[') {
            at++;
            for (int i = 0; skipBlank(true) && text.charAt(at) != ']'; i++) {
                String element = path + "[" + i + "]";
                lines.putIfAbsent(element, line);
                value(element);
                skipSeparator();
            }
            at++;
        } else if (c == '{') {
            at++;
            while (skipBlank(true) && text.charAt(at) != '}') {
                pair(path);
                skipSeparator();
            }
            at++;
        } else {
            while (at < text.length() && ",]}#\n\r".indexOf(text.charAt(at)) < 0) {
                at++;
            }
        }
    }

    private void skipSeparator() {
        if (skipBlank(true) && text.charAt(at) == ',') {
            at++;
        }
    }

    private List<String> key() {
        List<String> parts = new ArrayList<>();
        do {
            if (!parts.isEmpty()) {
                at++; // '.'
            }
            skipBlank(false);
            int start = at;
            char c = text.charAt(at);
            if (c == '"' || c == '\'') {
                string(c);
                parts.add(text.substring(start + 1, at - 1));
            } else {
                while (at < text.length() && ".=] \t\r\n".indexOf(text.charAt(at)) < 0) {
                    at++;
                }
                parts.add(text.substring(start, at));
            }
            skipBlank(false);
        } while (at < text.length() && text.charAt(at) == '.');
        return parts;
    }

    private void string(char quote) {
        String triple = String.valueOf(quote).repeat(3);
        String end = text.startsWith(triple, at) ? triple : String.valueOf(quote);
        at += end.length();
        while (at < text.length() && !text.startsWith(end, at)) {
            if (text.charAt(at) == '\\' && quote == '"') {
                at++;
            }
            if (at < text.length() && text.charAt(at) == '\n') {
                line++;
            }
            at++;
        }
        at += end.length();
        while (end.length() == 3 && at < text.length() && text.charAt(at) == quote) {
            at++; // a string may end in up to two more quotes
        }
    }

    /** Skips blanks and, if asked, comments and line ends; false at the end of the text. */
    private boolean skipBlank(boolean lineEnds) {
        while (at < text.length()) {
            char c = text.charAt(at);
            if (c == '\n' && lineEnds) {
                line++;
            } else if (c == '#' && lineEnds) {
                int end = text.indexOf('\n', at);
                at = end < 0 ? text.length() : end;
                continue;
            } else if (c != ' ' && c != '\t' && !(lineEnds && c == '\r')) {
                return true;
            }
            at++;
        }
        return false;
    }

    private static String join(String table, String key) {
        return table.isEmpty() ? key : table + "." + key;
    }
}
