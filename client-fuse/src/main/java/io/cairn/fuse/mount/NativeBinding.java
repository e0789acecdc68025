package io.cairn.fuse.mount;

import io.cairn.client.api.CairnClient;
import io.cairn.fuse.op.OperationOptions;
import io.cairn.fuse.op.Operations;
import io.cairn.fuse.session.FuseDevice;
import io.cairn.fuse.session.FuseMeters;
import io.cairn.fuse.session.FuseSession;
import io.cairn.fuse.session.ProcessDescriptors;
import io.cairn.fuse.session.RequestBuffers;
import io.cairn.fuse.session.Serving;
import io.cairn.fuse.session.SessionOptions;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A mount served through /dev/fuse itself. Stateless. */
final class NativeBinding {
    private static final int READERS = 2;

    private NativeBinding() {}

    /**
     * @param path where it is mounted
     * @param device mounted; the result closes it
     */
    static Serving start(
            CairnClient client,
            long root,
            Path path,
            FuseDevice device,
            MountOptions options,
            FuseMeters meters) {
        boolean locks = client.sharesLocks() && !options.noLock();
        RequestBuffers buffers = new RequestBuffers(FuseMount.MAX_WRITE_BYTES);
        FuseSession session =
                new FuseSession(device, buffers, sessionOptions(options, locks), meters);
        Operations operations =
                new Operations(
                        client,
                        root,
                        session.notifier(),
                        buffers,
                        operationOptions(options, locks),
                        () -> deviceOf(path));
        meters.handles(operations::handles);
        session.start(operations);
        return session;
    }

    private static long deviceOf(Path path) {
        try {
            MountTable.@Nullable Entry mounted = MountTable.at(path);
            return mounted == null ? 0 : ProcessDescriptors.device(mounted.device());
        } catch (MountException unreadable) {
            return 0;
        }
    }

    private static SessionOptions sessionOptions(MountOptions options, boolean locks) {
        return new SessionOptions(
                READERS,
                options.maxBackground(),
                FuseMount.MAX_WRITE_BYTES,
                FuseMount.MAX_WRITE_BYTES,
                listing(options),
                locks,
                options.debug());
    }

    private static SessionOptions.Listing listing(MountOptions options) {
        if (options.leases()) {
            return SessionOptions.Listing.ATTRIBUTES;
        }
        return options.entryTimeoutNanos() > 0
                ? SessionOptions.Listing.AS_NEEDED
                : SessionOptions.Listing.NAMES;
    }

    private static OperationOptions operationOptions(MountOptions options, boolean locks) {
        return new OperationOptions(
                options.entryTimeoutNanos(),
                options.attrTimeoutNanos(),
                options.directIo(),
                options.wsync(),
                options.leases(),
                locks);
    }
}
