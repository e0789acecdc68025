package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.ForgetFormat;
import io.cairn.fuse.kernel.FuseOpcode;
import io.cairn.fuse.kernel.HeaderFormat;
import io.cairn.fuse.libc.LinuxError;
import java.lang.foreign.MemorySegment;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A thread that takes requests from one descriptor and starts each; it never waits for one to
 * finish, so that interrupts are heard. Ends when the file system is unmounted.
 */
final class FuseReader implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(FuseReader.class);

    private final FuseSession session;
    private final FuseDevice device;
    private final RequestBody body;

    FuseReader(FuseSession session, FuseDevice device, RequestBuffers buffers) {
        this.session = session;
        this.device = device;
        this.body = new RequestBody(buffers);
    }

    @Override
    public void run() {
        try {
            long n;
            do {
                MemorySegment memory = body.memory();
                n = device.read(memory, memory.byteSize());
                if (n >= HeaderFormat.IN_SIZE) {
                    serve(memory, n);
                }
            } while (n > 0 || passing((int) -n));
            if (n != 0 && n != -LinuxError.ENODEV) {
                LOG.error("reading /dev/fuse failed: {}", LinuxError.describe((int) -n));
            }
        } finally {
            body.release();
            session.readerEnded();
        }
    }

    /** Errors after which the next read may succeed: a request was withdrawn, or a signal came. */
    private static boolean passing(int error) {
        return error == LinuxError.ENOENT
                || error == LinuxError.EINTR
                || error == LinuxError.EAGAIN;
    }

    private void serve(MemorySegment in, long n) {
        body.limit(n);
        @Nullable FuseOpcode opcode = FuseOpcode.of(HeaderFormat.opcode(in));
        if (opcode == FuseOpcode.INTERRUPT) {
            if (n >= HeaderFormat.IN_SIZE + ForgetFormat.INTERRUPT_SIZE) {
                session.interrupted(ForgetFormat.interruptTarget(body.segment()));
            }
            return;
        }
        FuseRequest request =
                new FuseRequest(
                        session,
                        device,
                        opcode == null ? FuseOpcode.NOTIFY_REPLY : opcode,
                        HeaderFormat.unique(in),
                        HeaderFormat.node(in),
                        HeaderFormat.uid(in),
                        HeaderFormat.gid(in),
                        HeaderFormat.pid(in));
        if (opcode == null) {
            request.fail(Errno.ENOSYS);
            return;
        }
        session.received(request);
        try {
            boolean whole = HeaderFormat.length(in) == n;
            if (!whole || n - HeaderFormat.IN_SIZE < opcode.minimumBytes()) {
                request.fail(Errno.EINVAL);
            } else if (opcode == FuseOpcode.INIT) {
                session.init(request, body.segment());
            } else {
                session.handler().handle(request, body);
            }
        } catch (RuntimeException | OutOfMemoryError | StackOverflowError e) {
            request.fail(e);
        }
    }
}
