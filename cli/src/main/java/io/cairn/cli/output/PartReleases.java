package io.cairn.cli.output;

import io.cairn.common.proto.MdsMember;
import io.cairn.common.proto.MemberStatus;
import io.cairn.common.proto.Server;
import io.cairn.common.proto.ServerStatus;
import io.cairn.common.proto.SessionStatus;
import io.cairn.common.proto.StatusReply;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Which release of Cairn each part runs, as the leader was told. */
final class PartReleases {
    private static final String NOT_KNOWN = "not known";

    /** By part, such as {@code mds-1}, {@code data-2} and {@code mount-17}, after its session. */
    private final Map<String, String> releases = new LinkedHashMap<>();

    PartReleases(StatusReply status) {
        Map<Integer, String> members =
                status.getMemberStatusList().stream()
                        .collect(Collectors.toMap(MemberStatus::getId, MemberStatus::getRelease));
        Map<Integer, String> servers =
                status.getServersList().stream()
                        .collect(
                                Collectors.toMap(
                                        ServerStatus::getServer, ServerStatus::getRelease));
        for (MdsMember member : status.getMembersList()) {
            releases.put("mds-" + member.getId(), members.getOrDefault(member.getId(), ""));
        }
        for (Server server : status.getMap().getServersList()) {
            releases.put("data-" + server.getId(), servers.getOrDefault(server.getId(), ""));
        }
        for (SessionStatus session : status.getSessionsList()) {
            if (!session.getRefused() && !session.getEnding()) {
                releases.put("mount-" + session.getSession(), session.getRelease());
            }
        }
    }

    /** Empty if it is not known. */
    String of(String part) {
        return releases.getOrDefault(part, "");
    }

    /** Parts by release, the release that most of them run first, those not known last. */
    Map<String, List<String>> byRelease() {
        Map<String, List<String>> parts = new LinkedHashMap<>();
        releases.forEach((part, release) ->
                parts.computeIfAbsent(release, r -> new ArrayList<>()).add(part));
        Map<String, List<String>> sorted = new LinkedHashMap<>();
        parts.entrySet().stream()
                .sorted(
                        Comparator.comparing(
                                        (Map.Entry<String, List<String>> e) -> e.getKey().isEmpty())
                                .thenComparing(e -> -e.getValue().size())
                                .thenComparing(Map.Entry::getKey))
                .forEach(e ->
                        sorted.put(e.getKey().isEmpty() ? NOT_KNOWN : e.getKey(), e.getValue()));
        return sorted;
    }

    /** One line for each release, which names its parts unless all run the same. */
    List<String> lines() {
        Map<String, List<String>> parts = byRelease();
        return parts.entrySet().stream()
                .map(e ->
                        "%s  %s"
                                .formatted(
                                        e.getKey(),
                                        parts.size() == 1
                                                ? "all parts"
                                                : String.join(", ", e.getValue())))
                .toList();
    }
}
