package io.cairn.mds.server;

import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.Method;
import io.cairn.common.proto.ReadDirReply;
import io.cairn.common.proto.ReadDirRequest;
import io.cairn.common.proto.StatusReply;

/** What mutations of the root and its entries leave, as text to be compared. */
final class RootText {
    private RootText() {}

    /** The root with every attribute of its entries, how often they were changed among them. */
    static String of(TestGroup group) {
        StringBuilder text = new StringBuilder();
        ReadDirReply page;
        long cursor = 0;
        do {
            page =
                    group.call(
                                    Method.READ_DIR,
                                    ReadDirRequest.newBuilder()
                                            .setInode(1)
                                            .setCursor(cursor)
                                            .setMaxBytes(100_000)
                                            .setWithAttributes(true)
                                            .build(),
                                    ReadDirReply.parser())
                            .get();
            for (DirEntry entry : page.getEntriesList()) {
                text.append(entry);
                cursor = entry.getCursor();
            }
        } while (!page.getEnd());
        StatusReply status = group.status();
        return text.append("open files ")
                .append(status.getSessions(0).getOpenFiles())
                // Removed files go from the one to the other by themselves.
                .append(", inodes, and those to be deleted ")
                .append(status.getSpace().getInodesUsed() + status.getDeletionBacklogInodes())
                .toString();
    }
}
