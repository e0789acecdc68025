package io.cairn.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.client.api.ClientConfig;
import io.cairn.client.fake.FakeCluster;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.metrics.Meters;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.SetAttrOp;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** A fake cluster, clients of it, and the calls every test makes. */
abstract class ClientFixture {
    static final Credentials WHO = Credentials.getDefaultInstance();
    static final int REGULAR = 0100644;

    FakeCluster cluster;
    private final List<CairnClient> clients = new ArrayList<>();

    FakeCluster makeCluster() throws IOException {
        return new FakeCluster();
    }

    @BeforeEach
    void startCluster() throws IOException {
        cluster = makeCluster();
    }

    @AfterEach
    void stopCluster() {
        clients.forEach(CairnClient::close);
        cluster.close();
        assertThat(cluster.chunks().violations()).isEmpty();
    }

    CairnClient connect(String... lines) {
        return connect(Meters.unpublished(), lines);
    }

    CairnClient connect(Meters meters, String... lines) {
        return connect(cluster.config(lines), meters);
    }

    CairnClient connect(ClientConfig config) {
        return connect(config, Meters.unpublished());
    }

    private CairnClient connect(ClientConfig config, Meters meters) {
        CairnClient client = CairnClients.connect(config, meters);
        clients.add(client);
        return client;
    }

    static OpenFile create(CairnClient client, String name) {
        return get(client.create(client.rootInode(), bytes(name), REGULAR, true, WHO));
    }

    static CompletableFuture<Void> write(OpenFile file, long offset, String text) {
        return file.write(offset, buffer(text), false);
    }

    static CompletableFuture<Long> append(OpenFile file, String text) {
        return file.append(buffer(text), false, false);
    }

    static String read(OpenFile file, long offset, int length) {
        return text(get(file.read(offset, length)));
    }

    /** A client, the only one, to which the fake MDS has begun to delegate what it makes. */
    CairnClient delegating(String... lines) {
        return delegating(Meters.unpublished(), lines);
    }

    CairnClient delegating(Meters meters, String... lines) {
        CairnClient client = connect(meters, lines);
        long session = cluster.names().onlySession();
        await().until(() -> cluster.names().delegations().hasTold(session));
        return client;
    }

    static CompletableFuture<?> resize(CairnClient client, OpenFile file, long size) {
        return client.setAttr(
                SetAttrOp.newBuilder().setInode(file.inode()).setSize(size).build(), WHO);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static ByteBuf buffer(String text) {
        byte[] bytes = bytes(text);
        return PooledByteBufAllocator.DEFAULT.directBuffer(bytes.length).writeBytes(bytes);
    }

    static String text(ByteBuf data) {
        String text = data.toString(StandardCharsets.UTF_8);
        data.release();
        return text;
    }

    static <T> T get(CompletableFuture<T> future) {
        try {
            return future.get(60, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    /** The errno it fails with; it must fail with a bare FsException. */
    static Errno errno(CompletableFuture<?> future) {
        return failure(future).errno();
    }

    static FsException failure(CompletableFuture<?> future) {
        try {
            Object value = future.get(60, TimeUnit.SECONDS);
            throw new AssertionError("did not fail but gave " + value);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof FsException failure) {
                return failure;
            }
            throw new AssertionError("not a bare FsException", e);
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }
}
