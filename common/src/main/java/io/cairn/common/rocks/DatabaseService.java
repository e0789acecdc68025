package io.cairn.common.rocks;

import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.proto.DatabasesReply;
import io.cairn.common.proto.Role;
import io.cairn.common.rpc.RpcRequest;
import io.cairn.common.rpc.RpcStatus;
import java.util.List;
import java.util.function.Supplier;

/**
 * Answers an administrator about the databases of one part of the cluster, and has them compacted.
 * Any thread; what it does itself runs on virtual threads, since it asks RocksDB and the file
 * system.
 */
public final class DatabaseService {
    private final Supplier<List<RocksDatabase>> databases;

    /**
     * @param databases those open at the moment
     */
    public DatabaseService(Supplier<List<RocksDatabase>> databases) {
        this.databases = databases;
    }

    /** Says where the tables of each database lie, and how its compaction goes. */
    public void list(RpcRequest request) {
        answer(request, () -> {});
    }

    /** Begins a full compaction of each database that is not being compacted already. */
    public void compact(RpcRequest request) {
        answer(request, () -> databases.get().forEach(RocksDatabase::compact));
    }

    private void answer(RpcRequest request, Runnable first) {
        if (request.peer().hello().getRole() != Role.ROLE_ADMIN) {
            throw new FsException(Errno.EPERM, "only administrators may ask this");
        }
        var _ =
                Thread.ofVirtual()
                        .name("databases")
                        .start(() -> {
                            try {
                                first.run();
                                DatabasesReply.Builder reply = DatabasesReply.newBuilder();
                                databases.get().forEach(d -> reply.addDatabases(d.status()));
                                request.reply(reply.build());
                            } catch (FsException e) {
                                request.fail(
                                        RpcStatus.fail(e.errno(), String.valueOf(e.getMessage())));
                            } catch (RuntimeException e) {
                                request.fail(RpcStatus.fail(Errno.EIO, String.valueOf(e)));
                            }
                        });
    }
}
