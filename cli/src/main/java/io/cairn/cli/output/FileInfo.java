package io.cairn.cli.output;

import io.cairn.common.layout.Striping;
import io.cairn.common.map.ClusterMap;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Disk;
import io.cairn.common.proto.FileLayout;
import io.cairn.common.proto.PlacementGroup;
import io.cairn.common.proto.Server;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What {@code cairn info} shows of an inode, as text or as JSON. */
public final class FileInfo {
    private final Attr attr;
    private final ClusterMap map;
    private final long from;
    private final long count;

    /**
     * @param from the first chunk to show
     * @param count how many chunks to show at most
     */
    public FileInfo(Attr attr, ClusterMap map, long from, long count) {
        this.attr = attr;
        this.map = map;
        this.from = from;
        this.count = count;
    }

    private boolean hasChunks() {
        return Mode.isRegular(attr.getMode()) && attr.hasLayout();
    }

    /** Chunks up to the end of the file, holes among them. */
    private long chunkCount() {
        return hasChunks() ? Striping.of(attr.getLayout()).chunkCount(attr.getSize()) : 0;
    }

    private long end() {
        return Math.min(chunkCount(), from + Math.min(count, chunkCount()));
    }

    /** For scripts; keys do not change their meaning. */
    public Map<String, Object> asMap() {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("inode", attr.getInode());
        json.put("mode", "%o".formatted(attr.getMode()));
        json.put("links", Integer.toUnsignedLong(attr.getNlink()));
        json.put("size_bytes", attr.getSize());
        json.put("truncate_sequence", attr.getTruncateSequence());
        json.put("pending_truncations", attr.getPendingTruncationsCount());
        if (attr.hasLayout()) {
            FileLayout layout = attr.getLayout();
            Map<String, Object> l = new LinkedHashMap<>();
            l.put("pool", layout.getPool());
            l.put("stripe_unit_bytes", layout.getStripeUnit());
            l.put("stripe_count", layout.getStripeCount());
            l.put("chunk_size_bytes", layout.getChunkSize());
            json.put("layout", l);
        }
        if (hasChunks()) {
            json.put("chunk_count", chunkCount());
            List<Object> chunks = new ArrayList<>();
            for (long chunk = from; chunk < end(); chunk++) {
                chunks.add(chunk(chunk));
            }
            json.put("chunks", chunks);
        }
        return json;
    }

    private @Nullable PlacementGroup pg(long chunk) {
        int pool = attr.getLayout().getPool();
        return map.pool(pool) == null ? null : map.pg(map.pgOf(pool, attr.getInode(), chunk));
    }

    private Map<String, Object> chunk(long chunk) {
        Map<String, Object> json = new LinkedHashMap<>();
        json.put("chunk", chunk);
        PlacementGroup pg = pg(chunk);
        if (pg == null) {
            return json; // the pool or its table is not made yet
        }
        json.put("pg", Integer.toHexString(pg.getPg()));
        json.put("pg_epoch", pg.getEpoch());
        List<Object> replicas = new ArrayList<>();
        for (int disk : primaryFirst(pg)) {
            Map<String, Object> replica = new LinkedHashMap<>();
            replica.put("disk", disk);
            Disk known = map.disk(disk);
            Server server = map.serverOfDisk(disk);
            if (known != null && server != null) {
                replica.put("server", server.getId());
                replica.put("address", server.getAddress());
                replica.put("up", server.getUp());
            }
            replica.put("in_sync", pg.getInSyncList().contains(disk));
            replicas.add(replica);
        }
        json.put("replicas", replicas);
        return json;
    }

    /** For people; the first replica is the primary. */
    public void print(PrintWriter out) {
        out.printf("inode     %d%n", attr.getInode());
        out.printf("mode      %o, %d links%n", attr.getMode(), attr.getNlink());
        out.printf("size      %,d bytes%n", attr.getSize());
        if (attr.getPendingTruncationsCount() > 0) {
            out.printf(
                    "pending   %d truncations, not yet carried out on all chunks%n",
                    attr.getPendingTruncationsCount());
        }
        if (attr.hasLayout()) {
            FileLayout layout = attr.getLayout();
            out.printf(
                    "layout    pool %d, chunks of %s, stripes of %d units of %s%n",
                    layout.getPool(),
                    Sizes.text(layout.getChunkSize()),
                    layout.getStripeCount(),
                    Sizes.text(layout.getStripeUnit()));
        }
        if (!hasChunks()) {
            return;
        }
        out.printf("chunks    %,d%n", chunkCount());
        for (long chunk = from; chunk < end(); chunk++) {
            PlacementGroup pg = pg(chunk);
            out.printf(
                    "  %-7d pg %s  %s%n",
                    chunk,
                    pg == null ? "-" : Integer.toHexString(pg.getPg()),
                    pg == null ? "has no servers yet" : replicas(pg));
        }
        if (end() < chunkCount()) {
            out.printf("  ... and %,d more (--from, --chunks)%n", chunkCount() - end());
        }
    }

    /** The disks of a PG: those in sync, the primary first, then the others. */
    private static Set<Integer> primaryFirst(PlacementGroup pg) {
        Set<Integer> disks = new LinkedHashSet<>(pg.getInSyncList());
        disks.addAll(pg.getReplicasList());
        return disks;
    }

    private String replicas(PlacementGroup pg) {
        List<String> words = new ArrayList<>();
        for (int disk : primaryFirst(pg)) {
            Server server = map.serverOfDisk(disk);
            words.add(
                    "disk "
                            + disk
                            + (server == null
                                    ? ""
                                    : " on server " + server.getId() + " " + server.getAddress())
                            + (server != null && !server.getUp() ? " DOWN" : "")
                            + (pg.getInSyncList().contains(disk) ? "" : " NOT IN SYNC"));
        }
        return String.join(", ", words);
    }
}
