package io.cairn.client;

import io.cairn.client.fake.FakeCluster;
import io.cairn.client.fake.FakeDelegations;
import java.io.IOException;
import org.junit.jupiter.api.BeforeEach;

/**
 * With an MDS that delegates what its only session makes, and keeps opens for reading to itself.
 */
class DelegatingFixture extends ClientFixture {
    FakeDelegations delegations;

    @Override
    FakeCluster makeCluster() throws IOException {
        return new FakeCluster(2, 2, FakeCluster.layout(1 << 16, 1, 1 << 16));
    }

    @BeforeEach
    void allow() {
        delegations = cluster.names().delegations();
        delegations.allow(true);
        cluster.names().reads().allow(true);
    }
}
