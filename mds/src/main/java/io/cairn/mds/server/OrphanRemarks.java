package io.cairn.mds.server;

import io.cairn.common.proto.OrphanSummary;
import java.util.ArrayList;
import java.util.List;

/** What the administrator should know of data that belongs to no file. */
final class OrphanRemarks {
    private OrphanRemarks() {}

    /**
     * @param older a sign that the metadata service is older than the data; empty: there is none
     */
    static List<String> warnings(OrphanSummary orphans, String older) {
        List<String> warnings = new ArrayList<>();
        if (!older.isEmpty()) {
            warnings.add(older);
        }
        if (orphans.getStrange().getInodes() > 0) {
            warnings.add(
                    "data of %,d inodes is of ids that no file can have had: was the metadata service restored from a backup? Nothing of it is removed; see 'cairn orphans ls' and docs/troubleshooting.md"
                            .formatted(orphans.getStrange().getInodes()));
        }
        if (orphans.getProven().getInodes() > 0) {
            orphans.getHoldsList()
                    .forEach(why -> warnings.add("proven orphaned data is not removed: " + why));
        }
        return warnings;
    }

    /** Of what waits for an administrator's word. */
    static List<String> notes(OrphanSummary orphans) {
        if (orphans.getProven().getInodes() == 0 || orphans.getAutomatic()) {
            return List.of();
        }
        return List.of(
                "data of %,d inodes belongs to no file, proven: 'cairn orphans ls' lists it, 'cairn orphans remove' removes it"
                        .formatted(orphans.getProven().getInodes()));
    }
}
