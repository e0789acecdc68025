package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.Fault;
import io.cairn.common.data.DataOp;
import io.cairn.common.metrics.Meters;
import io.cairn.common.rpc.TestRelay;
import java.io.IOException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Connections that die without anybody being told. Attempts have ten minutes: what goes on does so
 * because the connection was replaced.
 */
class DeadConnectionsTest extends ClientFixture {
    private static final String PATIENT = "attempt_timeout = \"10min\"";

    private final Meters meters = Meters.unpublished();

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(1, 1, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    private long replaced(String server) {
        return counter("cairn.rpc.replaced", server);
    }

    private long counter(String name, String server) {
        return (long)
                meters.registry()
                        .get(name)
                        .tags("side", "client", "peer", server)
                        .functionCounter()
                        .count();
    }

    @Test
    void writesAndReadsGoOnThroughAnotherConnection() throws IOException {
        TestRelay relay = cluster.data(0).relay();
        OpenFile file = create(connect(meters, PATIENT), "f");
        get(write(file, 0, "first"));
        relay.swallow();
        get(write(file, 0, "again"));
        assertThat(read(file, 0, 9)).isEqualTo("again");
        assertThat(replaced("data_server")).isEqualTo(1);
        assertThat(counter("cairn.rpc.pings", "data_server")).isPositive();
        assertThat(relay.connections()).isEqualTo(2);
    }

    @Test
    void writesThatWereExecutedAreRepeatedUnderTheirNumbersAndExecutedOnce() throws IOException {
        TestRelay relay = cluster.data(0).relay();
        OpenFile file = create(connect(meters, PATIENT), "f");
        get(write(file, 0, "."));
        relay.swallowAnswers();
        List<CompletableFuture<Void>> writes =
                List.of(write(file, 0, "a"), write(file, 10, "b"), write(file, 20, "c"));
        writes.forEach(ClientFixture::get);
        get(write(file, 0, "d"));
        assertThat(read(file, 0, 1)).isEqualTo("d");
        assertThat(cluster.chunks().executed()).isEqualTo(5);
        List<Long> numbers = cluster.data(0).received().stream().map(DataOp::number).toList();
        assertThat(numbers.subList(1, 4)).doesNotHaveDuplicates();
        assertThat(numbers.subList(4, 7))
                .containsExactlyInAnyOrderElementsOf(numbers.subList(1, 4));
        assertThat(replaced("data_server")).isEqualTo(1);
    }

    @Test
    void aDataServerThatTakesItsTimeKeepsItsConnection() throws IOException {
        TestRelay relay = cluster.data(0).relay();
        OpenFile file = create(connect(meters, PATIENT), "f");
        get(write(file, 0, "x"));
        cluster.data(0).faults(op -> Fault.HOLD);
        CompletableFuture<Void> slow = write(file, 0, "y");
        await().until(() -> counter("cairn.rpc.pings", "data_server") >= 3);
        assertThat(slow).isNotDone();
        cluster.data(0).faults(op -> Fault.NONE);
        cluster.data(0).letGo(new Random(1));
        get(slow);
        assertThat(cluster.data(0).received()).hasSize(2);
        assertThat(replaced("data_server")).isZero();
        assertThat(relay.connections()).isEqualTo(1);
    }

    /** The only member: there is no other one to be asked. */
    @Test
    void theLeaderIsFoundAgainThroughAnotherConnection() throws IOException {
        TestRelay relay = cluster.mds(0).relay();
        CairnClient client = connect(meters, PATIENT);
        get(client.mkdir(client.rootInode(), bytes("a"), 0755, WHO));
        relay.swallow();
        get(client.mkdir(client.rootInode(), bytes("b"), 0755, WHO));
        assertThat(replaced("mds")).isEqualTo(1);
        get(client.lookup(client.rootInode(), bytes("b")));
    }
}
