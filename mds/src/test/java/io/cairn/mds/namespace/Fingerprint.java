package io.cairn.mds.namespace;

import io.cairn.mds.store.MetaStore;
import io.cairn.mds.store.MetaStore.KeyValue;
import io.cairn.mds.store.StateDirectory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** A hash over every key and value of a closed state. */
final class Fingerprint {
    private Fingerprint() {}

    static String of(Path directory) throws IOException {
        MetaStore store =
                MetaStore.open(
                        new StateDirectory(directory, StateRig.config().rocks()).recover(),
                        StateRig.config(16));
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            for (KeyValue row : store.list(new byte[0])) {
                digest.update(ByteBuffer.allocate(4).putInt(row.key().length).array());
                digest.update(row.key());
                digest.update(ByteBuffer.allocate(4).putInt(row.value().length).array());
                digest.update(row.value());
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        } finally {
            store.close();
        }
    }
}
