package io.cairn.mds.server;

import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.DiskLoads;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.DiskCondition;
import io.cairn.common.proto.DiskStatus;
import io.cairn.common.proto.PgProblem;
import io.cairn.common.proto.PgReport;
import io.cairn.common.proto.Server;
import io.cairn.mds.cluster.ServerLeases.Known;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What the administrator should know of the disks and placement groups of data servers, as these
 * reported them last. A server that is down reports nothing: that it is down is said elsewhere.
 */
final class DataServerRemarks {
    /** So many causes are told in one warning. */
    private static final int MAX_CAUSES = 3;

    private DataServerRemarks() {}

    /** By which messages name a server. */
    static String name(int id, @Nullable Server server) {
        return "data server %d (%s)".formatted(id, server == null ? "?" : server.getAddress());
    }

    /**
     * @param slow why disks are slow, by their ids
     */
    static List<String> warnings(
            ClusterMap map, Map<Integer, Known> heard, Map<Integer, String> slow) {
        List<String> warnings = new ArrayList<>();
        heard.forEach((id, known) -> {
            @Nullable Server server = map.server(id);
            String name = name(id, server);
            warnings.addAll(ofDisks(map, id, name, known.report().disks(), slow));
            @Nullable PgReport pgs = known.report().pgs();
            if (pgs != null && server != null && server.getUp()) {
                warnings.addAll(ofPgs(name, pgs));
            }
        });
        return warnings;
    }

    static List<String> notes(ClusterMap map, Map<Integer, Known> heard) {
        List<String> notes = new ArrayList<>();
        heard.forEach((id, known) -> {
            String name = name(id, map.server(id));
            for (DiskStatus disk : known.report().disks()) {
                disk.getNotesList().forEach(n -> notes.add(name + ": " + name(disk) + ": " + n));
            }
        });
        return notes;
    }

    // ---- disks --------------------------------------------------------------

    private static List<String> ofDisks(
            ClusterMap map,
            int id,
            String name,
            List<DiskStatus> disks,
            Map<Integer, String> slow) {
        List<String> warnings = new ArrayList<>();
        Set<Integer> reported = new HashSet<>();
        DiskLoads loads = DiskLoads.of(map.pgs());
        for (DiskStatus disk : disks) {
            reported.add(disk.getDisk());
            String where = name + ": " + name(disk);
            if (disk.getCondition() == DiskCondition.DISK_OUT) {
                warnings.add(
                        "%s is out of service: %s; %s"
                                .formatted(where, disk.getCause(), disk.getNextStep()));
            } else if (slow.containsKey(disk.getDisk())) {
                warnings.add(
                        "%s is slow: %s; %s"
                                .formatted(
                                        where, slow.get(disk.getDisk()), nextStep(disk.getDisk())));
            }
            disk.getWarningsList().forEach(w -> warnings.add(where + ": " + w));
        }
        if (!disks.isEmpty()) {
            for (Disk disk : map.disks()) {
                if (disk.getServer() == id
                        && !reported.contains(disk.getId())
                        && !loads.isDrained(disk)) {
                    warnings.add(
                            "%s does not serve disk %d, its placement groups are without it: configure it there again, or see why it does not open"
                                    .formatted(name, disk.getId()));
                }
            }
        }
        return warnings;
    }

    /** What the administrator does about a slow disk. */
    static String nextStep(int disk) {
        return "check the device (kernel log, SMART); if it stays so, cairn disk drain %d and replace it"
                .formatted(disk);
    }

    private static String name(DiskStatus disk) {
        String id = disk.getDisk() == 0 ? "a disk whose id is not known" : "disk " + disk.getDisk();
        return disk.getData().isEmpty() ? id : id + " (" + disk.getData() + ")";
    }

    // ---- placement groups ---------------------------------------------------

    private static List<String> ofPgs(String name, PgReport pgs) {
        List<String> warnings = new ArrayList<>();
        if (pgs.getDamaged() > 0) {
            warnings.add(
                    "%s: %s damaged (%s): what is read or written there waits; bring back the disks that lost operations as they were, this version cannot rebuild them"
                            .formatted(
                                    name,
                                    count(pgs.getDamaged(), "is", "are"),
                                    which(pgs, pgs.getDamaged(), true)));
        }
        if (pgs.getStalled() > 0) {
            long millis =
                    pgs.getProblemsList().stream()
                            .filter(p -> !p.getDamaged())
                            .mapToLong(PgProblem::getSinceMillis)
                            .max()
                            .orElse(0);
            warnings.add(
                    "%s: %s not served for up to %d s (%s): see to the servers and disks that they wait for"
                            .formatted(
                                    name,
                                    count(pgs.getStalled(), "is", "are"),
                                    millis / 1000,
                                    which(pgs, pgs.getStalled(), false)));
        }
        return warnings;
    }

    private static String count(int pgs, String one, String many) {
        return pgs == 1 ? "1 placement group " + one : pgs + " placement groups " + many;
    }

    /** The PGs by number, as far as they are reported, and their causes. */
    private static String which(PgReport report, int all, boolean damaged) {
        List<PgProblem> problems =
                report.getProblemsList().stream().filter(p -> p.getDamaged() == damaged).toList();
        String numbers =
                problems.stream()
                        .map(p -> Integer.toHexString(p.getPg()))
                        .collect(Collectors.joining(", "));
        String causes =
                problems.stream()
                        .map(PgProblem::getCause)
                        .distinct()
                        .limit(MAX_CAUSES)
                        .collect(Collectors.joining("; "));
        return numbers + (all > problems.size() ? " and others" : "") + ": " + causes;
    }
}
