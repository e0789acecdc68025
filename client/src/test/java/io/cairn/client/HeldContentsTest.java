package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.api.ContentHolder;
import io.cairn.client.fake.Fault;
import io.cairn.common.errno.Errno;
import io.cairn.common.proto.SetAttrOp;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the client says of its own changes to who keeps contents. Chunks are 64 KiB. */
class HeldContentsTest extends ClientFixture {
    private static final int CHUNK = 1 << 16;

    private final List<String> told = new CopyOnWriteArrayList<>();
    private CairnClient client;
    private OpenFile file;
    private long made;

    @BeforeEach
    void make() {
        client = connect("publish_interval = \"1min\"");
        client.holdContents(
                new ContentHolder() {
                    @Override
                    public void changedHere(long inode, long from, long to) {
                        told.add(inode + ": " + from + " to " + to);
                    }

                    @Override
                    public void changedUnseen(long inode) {
                        told.add(inode + ": unseen");
                    }
                });
        file = create(client, "f");
        made = file.attr().getChange();
    }

    /** Counted from how it was made. */
    private String changed(long from, long to) {
        return file.inode() + ": " + (made + from) + " to " + (made + to);
    }

    private void published(String text) {
        get(write(file, 0, text));
        get(file.flush());
    }

    private void chmod(CairnClient by) {
        get(by.setAttr(SetAttrOp.newBuilder().setInode(file.inode()).setMode(0600).build(), WHO));
    }

    @Test
    void ownChangesAreTold() {
        published("abc");
        assertThat(told).containsExactly(changed(0, 1));
        chmod(client);
        assertThat(told).containsExactly(changed(0, 1), changed(1, 2));
    }

    @Test
    void changesByOthersAreNot() {
        chmod(connect());
        published("abc");
        assertThat(told).containsExactly(changed(1, 2));
    }

    /** Whoever keeps contents would have to cut them too. */
    @Test
    void changesOfSizeAreNot() {
        published("abc");
        get(resize(client, file, 1));
        published("abc");
        assertThat(told).containsExactly(changed(0, 1), changed(2, 3));
    }

    @Test
    void aWriteIsUnseenWhoseCallerIsGone() {
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        CompletableFuture<Void> killed = write(file, 0, "abc");
        await().until(() -> cluster.data().stream().anyMatch(d -> d.held() > 0));
        killed.cancel(false);
        assertThat(told).isEmpty();
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        cluster.data().forEach(d -> d.letGo(new Random(1)));
        get(file.flush());
        assertThat(told).containsExactly(file.inode() + ": unseen", changed(0, 1));
    }

    /** It may be carried out later: then what is kept is old, whoever publishes. */
    @Test
    void noChangesAreToldOfAFileWithAWriteThatHasFailedInPart() {
        cluster.data().forEach(d -> d.faults(op -> op.chunk() == 1 ? Fault.FULL : Fault.NONE));
        assertThat(errno(write(file, CHUNK - 4, "12345678"))).isEqualTo(Errno.ENOSPC);
        cluster.data().forEach(d -> d.faults(op -> Fault.NONE));
        told.clear(); // the room for it
        published("abc");
        assertThat(told).isEmpty();
    }
}
