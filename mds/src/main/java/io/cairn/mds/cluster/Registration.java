package io.cairn.mds.cluster;

import com.google.protobuf.ByteString;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.map.Uuids;
import io.cairn.common.proto.DiskReport;
import io.cairn.common.proto.RegisterServerRequest;
import io.cairn.common.proto.Server;
import io.cairn.common.rpc.RpcAddress;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What a data server says when it registers. Stateless. */
public final class Registration {
    /** Of a failure domain's label. */
    static final int MAX_LABEL_BYTES = 255;

    private Registration() {}

    /** Refuses what no map can hold: EINVAL. */
    static void check(RegisterServerRequest wanted) {
        if (wanted.getServerUuid().size() != Uuids.BYTES
                || wanted.getIncarnation().size() != Uuids.BYTES) {
            throw new FsException(Errno.EINVAL, "server uuid and incarnation are 16 bytes");
        }
        Set<ByteString> uuids = new HashSet<>();
        for (DiskReport disk : wanted.getDisksList()) {
            if (disk.getUuid().size() != Uuids.BYTES || !uuids.add(disk.getUuid())) {
                throw new FsException(Errno.EINVAL, "disk uuids are 16 bytes, each another");
            }
        }
        checkLabel("host", wanted.getHostBytes());
        checkLabel("rack", wanted.getRackBytes());
        try {
            RpcAddress.parse(wanted.getAddress());
        } catch (IllegalArgumentException e) {
            throw new FsException(Errno.EINVAL, String.valueOf(e.getMessage()));
        }
    }

    private static void checkLabel(String name, ByteString label) {
        if (label.size() > MAX_LABEL_BYTES) {
            throw new FsException(
                    Errno.EINVAL,
                    name + " has " + label.size() + " bytes, " + MAX_LABEL_BYTES + " are the most");
        }
    }

    /** Also if it was removed: it gets its id back. */
    public static @Nullable Server find(ClusterMap map, ByteString uuid) {
        for (Server server : map.serversEver()) {
            if (server.getUuid().equals(uuid)) {
                return server;
            }
        }
        return null;
    }
}
