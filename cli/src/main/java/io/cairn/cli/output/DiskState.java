package io.cairn.cli.output;

import java.util.Locale;

/** What becomes of a disk: first what an administrator wants, then what is the case. */
enum DiskState {
    /** Out of placement, and no placement group has it: it can be removed. */
    DRAINED,
    /** Out of placement, and its placement groups move. */
    DRAINING,
    /** Away for long: what it had is placed elsewhere. */
    ABSENT,
    /** Its data server is down. */
    AWAY,
    /** Its data server is up and does not serve it. */
    OUT_OF_SERVICE,
    /** This leader has not heard of its data server yet. */
    UNKNOWN,
    /** It holds up its placement groups, and is left out where they can do without it. */
    SLOW,
    SERVING;

    /** For people. */
    String text() {
        return json().replace('_', ' ');
    }

    String json() {
        return name().toLowerCase(Locale.ROOT);
    }
}
