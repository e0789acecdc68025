package io.cairn.fuse.session;

import io.cairn.common.errno.Errno;
import io.cairn.fuse.kernel.InitFlag;
import io.cairn.fuse.kernel.InitFormat;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The conversation with the kernel about one mount: from INIT until the file system is unmounted.
 * Any thread.
 */
public final class FuseSession extends Serving {
    private static final Logger LOG = LoggerFactory.getLogger(FuseSession.class);
    private static final Logger TRACE = LoggerFactory.getLogger("io.cairn.fuse.trace");
    private static final int PAGE_BYTES = 4096;

    private final SessionOptions options;
    private final FuseDevice first;
    private final RequestBuffers buffers;
    private final FuseMeters meters;
    private final Interrupts interrupts = new Interrupts();
    private final Notifier notifier;
    private final List<FuseDevice> devices = new CopyOnWriteArrayList<>();

    /** Readers that run or are about to. 0: for good, and the descriptors are closed. */
    private final AtomicInteger readers = new AtomicInteger();

    private volatile @Nullable RequestHandler handler;

    /**
     * @param device already mounted, or about to be; the session closes it
     */
    public FuseSession(
            FuseDevice device, RequestBuffers buffers, SessionOptions options, FuseMeters meters) {
        this.first = device;
        this.buffers = buffers;
        this.options = options;
        this.meters = meters;
        this.notifier = new Notifier(device);
        devices.add(device);
        meters.inFlight(interrupts::inFlight);
    }

    public Notifier notifier() {
        return notifier;
    }

    /** Starts to serve: one thread until INIT is done, then the others. Once. */
    public void start(RequestHandler operations) {
        this.handler = operations;
        notifier.start();
        startReader(0, first);
    }

    private void startReader(int number, FuseDevice device) {
        readers.incrementAndGet();
        Thread.ofPlatform()
                .daemon()
                .name("cairn-fuse-" + number)
                .start(new FuseReader(this, device, buffers));
    }

    RequestHandler handler() {
        @Nullable RequestHandler h = handler;
        if (h == null) {
            throw new IllegalStateException("not started");
        }
        return h;
    }

    void received(FuseRequest request) {
        if (request.opcode().answered()) {
            interrupts.received(request);
        }
        if (options.debug()) {
            TRACE.info("> {}", request);
        }
    }

    void answered(FuseRequest request, int error) {
        interrupts.answered(request);
        meters.answered(request.opcode(), System.nanoTime() - request.startNanos(), error);
        if (options.debug()) {
            TRACE.info("< {} error {}", request, error);
        }
    }

    void givenUp() {
        meters.givenUp();
    }

    /**
     * The target may be held by another reader that has not registered it yet: EAGAIN makes the
     * kernel ask again. It must be said on the descriptor the target was read from, and we do not
     * know which that is; the others answer ENOENT.
     */
    void interrupted(long target) {
        meters.interrupted();
        if (!interrupts.interrupt(target)) {
            ReplyBuffer reply = ReplyBuffer.ofThread();
            for (FuseDevice device : devices) {
                reply.write(device, Errno.EAGAIN.number(), target | 1, 0);
            }
        }
    }

    /** On the first reader, before there are others. */
    void init(FuseRequest request, MemorySegment in) {
        ReplyBuffer reply = ReplyBuffer.ofThread();
        if (InitFormat.major(in) > InitFormat.MAJOR) {
            InitFormat.putVersionOnly(reply.body());
            request.reply(reply, InitFormat.OUT_SIZE);
            return;
        }
        int minor = InitFormat.minor(in);
        if (InitFormat.major(in) < InitFormat.MAJOR || minor < InitFormat.MINOR_MINIMUM) {
            request.fail(Errno.EPROTO);
            failInit(
                    "the kernel speaks FUSE "
                            + InitFormat.major(in)
                            + "."
                            + minor
                            + "; Cairn needs 7.31 (Linux 5.4) or newer");
            return;
        }
        long wanted = InitFlag.ALWAYS;
        wanted |=
                switch (options.listing()) {
                    case NAMES -> 0;
                    case AS_NEEDED -> InitFlag.READDIRPLUS | InitFlag.READDIRPLUS_AUTO;
                    case ATTRIBUTES -> InitFlag.READDIRPLUS;
                };
        if (options.locks()) {
            wanted |= InitFlag.POSIX_LOCKS | InitFlag.FLOCK_LOCKS;
        }
        long flags = wanted & InitFormat.flags(in);
        InitFormat.Out out =
                new InitFormat.Out(
                        Math.min(minor, InitFormat.MINOR),
                        Math.max(InitFormat.maxReadahead(in), options.maxReadaheadBytes()),
                        flags,
                        options.maxBackground(),
                        options.maxBackground() * 3 / 4,
                        options.maxWriteBytes(),
                        PAGE_BYTES);
        InitFormat.putOut(reply.body(), out);
        request.reply(reply, InitFormat.OUT_SIZE);
        LOG.debug("FUSE 7.{}, flags {}", out.minor(), Long.toHexString(flags));
        startOtherReaders();
        initialised();
    }

    private void startOtherReaders() {
        List<FuseDevice> others = new ArrayList<>();
        for (int i = 1; i < options.readers(); i++) {
            FuseDevice device = first.cloneOrShare();
            others.add(device);
            if (device != first) {
                devices.add(device);
            }
        }
        for (int i = 0; i < others.size(); i++) {
            startReader(i + 1, others.get(i));
        }
    }

    /**
     * The last reader to end closes everything. The first one starts the others before it can end,
     * so none is started afterwards.
     */
    void readerEnded() {
        if (readers.decrementAndGet() > 0) {
            return;
        }
        failInit("unmounted before the kernel said hello");
        interrupts.close();
        notifier.close();
        devices.forEach(FuseDevice::close);
        devices.clear();
        ended();
    }
}
