package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeMds;
import io.cairn.client.fake.Fault;
import io.cairn.common.proto.Method;
import org.junit.jupiter.api.Test;

/** Files that a client is writing, and that another one asks the attributes of. */
class ToldSizesTest extends ClientFixture {
    private static final String NEVER = "publish_interval = \"1min\"";

    private long published(OpenFile file) {
        return cluster.names().attr(file.inode()).getSize();
    }

    private void awaitTold(FakeMds mds, long number) {
        await().until(() -> mds.sizesTold().contains(number));
    }

    @Test
    void whatIsWrittenIsPublishedBeforeTheLeaderIsAnswered() {
        CairnClient client = connect(NEVER);
        FakeMds mds = cluster.mds(0);
        OpenFile file = create(client, "f");
        long session = cluster.names().onlySession();
        for (int i = 1; i < 20; i++) {
            get(write(file, 3L * (i - 1), "abc"));
            assertThat(published(file)).isEqualTo(3L * (i - 1));
            mds.tellSizes(session, i, file.inode());
            awaitTold(mds, i);
            assertThat(published(file)).isEqualTo(3L * i);
        }
    }

    @Test
    void notBeforeThatIsCommitted() {
        CairnClient client = connect(NEVER);
        FakeMds mds = cluster.mds(0);
        OpenFile file = create(client, "f");
        long session = cluster.names().onlySession();
        get(write(file, 0, "abc"));
        mds.faults(method -> method == Method.MUTATE ? Fault.HOLD : Fault.NONE);
        mds.tellSizes(session, 1, file.inode());
        mds.tellSizes(session, 2, file.inode() + 1);
        awaitTold(mds, 2);
        await().until(() -> mds.held() == 1);
        assertThat(mds.sizesTold()).containsExactly(2L);
        mds.faults(method -> Fault.NONE);
        mds.letGo();
        awaitTold(mds, 1);
        assertThat(published(file)).isEqualTo(3);
    }

    /** What is still on its way is nobody's yet, and may take long. */
    @Test
    void aWriteThatHasNotReturnedIsNotWaitedFor() {
        CairnClient client = connect(NEVER);
        FakeMds mds = cluster.mds(0);
        OpenFile file = create(client, "f");
        get(write(file, 0, "abc"));
        cluster.data().forEach(d -> d.faults(op -> Fault.HOLD));
        var _ = write(file, 3, "def");
        mds.tellSizes(cluster.names().onlySession(), 1, file.inode());
        awaitTold(mds, 1);
        assertThat(published(file)).isEqualTo(3);
    }
}
