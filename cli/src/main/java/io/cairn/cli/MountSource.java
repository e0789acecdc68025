package io.cairn.cli;

import io.cairn.common.config.HostPort;
import java.util.List;

/**
 * What is mounted: {@code MDS[,MDS…][:/PATH]}.
 *
 * @param path directory of the file system, {@code /} for all of it
 */
record MountSource(List<HostPort> mds, String path) {
    static MountSource parse(String text) {
        int slash = text.indexOf(":/");
        String servers = slash < 0 ? text : text.substring(0, slash);
        String path = slash < 0 ? "/" : text.substring(slash + 1);
        return new MountSource(Addresses.parse(List.of(servers.split(",", -1))), path);
    }
}
