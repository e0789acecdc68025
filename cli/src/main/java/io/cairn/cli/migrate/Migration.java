package io.cairn.cli.migrate;

import io.cairn.cli.output.Progress;
import io.cairn.client.move.FileMover;
import io.cairn.client.move.MovePace;
import io.cairn.common.errno.Causes;
import io.cairn.common.errno.Errno;
import io.cairn.common.errno.FsException;
import io.cairn.common.posix.Mode;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.DirEntry;
import io.cairn.common.proto.Pool;
import io.cairn.common.proto.ReadDirReply;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * Moves a file, or all below a directory. A first walk counts. The next sets the layout of each
 * directory before it lists it, so that what is made there afterwards is in the new pool, and moves
 * the files. Files that were made meanwhile in directories not visited yet, or were renamed past
 * the walk, are found by another one; the last finds nothing. One use by one thread.
 */
public final class Migration {
    private static final byte[] LAYOUT = "cairn.layout".getBytes(StandardCharsets.UTF_8);
    private static final int MAX_WALKS = 6;
    private static final int MAX_TRIES = 3;
    private static final long SHOW_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

    private final FileMover mover;
    private final Pool pool;
    private final MovePace pace;
    private final Progress progress;
    private final Semaphore slots;
    private final int files;
    private final MigrationTally tally = new MigrationTally();

    /** Inodes with several names, which are met several times. */
    private Set<Long> seen = new HashSet<>();

    /** Told on other threads. */
    private final Set<Long> failed = ConcurrentHashMap.newKeySet();

    private long shownNanos = System.nanoTime();

    private record Directory(long inode, String path) {}

    private enum Walk {
        COUNT,
        MOVE
    }

    /**
     * @param files that are moved at a time
     * @param progress used by this thread only
     */
    public Migration(FileMover mover, Pool pool, MovePace pace, int files, Progress progress) {
        this.mover = mover;
        this.pool = pool;
        this.pace = pace;
        this.files = files;
        this.slots = new Semaphore(files);
        this.progress = progress;
    }

    /**
     * @param dryRun whether only the counting is done
     */
    public MigrationReport run(Attr start, boolean dryRun) throws InterruptedException {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            walk(start, Walk.COUNT, threads);
            if (dryRun) {
                return report(true, tally.filesToMove.get(), tally.bytesToMove.get());
            }
            long there = tally.filesThere.get();
            boolean more = true;
            for (int walks = 0; more && walks < MAX_WALKS; walks++) {
                long before = tally.filesMoved.get();
                walk(start, Walk.MOVE, threads);
                more = tally.filesMoved.get() > before && Mode.isDirectory(start.getMode());
            }
            tally.filesThere.set(there);
        }
        return report(false, tally.filesMoved.get(), tally.bytesCopied.get());
    }

    private MigrationReport report(boolean dryRun, long moved, long bytes) {
        return new MigrationReport(
                dryRun,
                pool.getName(),
                moved,
                tally.filesThere.get(),
                tally.filesGone.get(),
                tally.filesFailed.get(),
                tally.directories.get(),
                bytes,
                tally.seconds(),
                tally.failures());
    }

    private void walk(Attr start, Walk what, ExecutorService threads) throws InterruptedException {
        seen = new HashSet<>();
        tally.filesThere.set(0);
        tally.directories.set(0);
        Deque<Directory> left = new ArrayDeque<>();
        visit(start, "", what, threads, left);
        while (!left.isEmpty()) {
            Directory next = left.pop();
            try {
                list(next, what, threads, left);
            } catch (CompletionException e) {
                unlessGone(next, e);
            }
        }
        slots.acquire(files); // all that were begun are over
        slots.release(files);
    }

    private void unlessGone(Directory directory, CompletionException thrown) {
        if (!Causes.is(thrown, Errno.ENOENT) && !Causes.is(thrown, Errno.ESTALE)) {
            tally.failed(directory.path, String.valueOf(Causes.of(thrown).getMessage()));
        }
    }

    private void list(
            Directory directory, Walk what, ExecutorService threads, Deque<Directory> left)
            throws InterruptedException {
        long cursor = 0;
        ReadDirReply page;
        do {
            page = mover.client().readDir(directory.inode, cursor, 0, true).join();
            for (DirEntry entry : page.getEntriesList()) {
                cursor = entry.getCursor();
                visit(
                        entry.getAttr(),
                        directory.path + "/" + entry.getName().toStringUtf8(),
                        what,
                        threads,
                        left);
            }
        } while (!page.getEnd());
    }

    private void visit(
            Attr attr, String path, Walk what, ExecutorService threads, Deque<Directory> left)
            throws InterruptedException {
        boolean there = attr.getLayout().getPool() == pool.getId();
        if (Mode.isDirectory(attr.getMode())) {
            tally.directories.incrementAndGet();
            if (what == Walk.MOVE && !there) {
                setLayout(attr.getInode(), path);
            }
            left.push(new Directory(attr.getInode(), path));
        } else if (Mode.isRegular(attr.getMode())
                && (attr.getNlink() < 2 || seen.add(attr.getInode()))) {
            if (there) {
                tally.filesThere.incrementAndGet();
            } else if (what == Walk.COUNT) {
                tally.filesToMove.incrementAndGet();
                tally.bytesToMove.addAndGet(attr.getSize());
            } else if (!failed.contains(attr.getInode())) {
                move(attr, path, threads);
            }
        }
        show();
    }

    private void show() {
        long now = System.nanoTime();
        if (now - shownNanos > SHOW_NANOS) {
            shownNanos = now;
            tally.show(progress);
        }
    }

    private void setLayout(long directory, String path) {
        byte[] value = ("pool=" + pool.getName()).getBytes(StandardCharsets.UTF_8);
        CompletableFuture<Void> set = mover.client().setXattr(directory, LAYOUT, value, 0);
        try {
            set.join();
        } catch (CompletionException e) {
            unlessGone(new Directory(directory, path), e);
        }
    }

    private void move(Attr attr, String path, ExecutorService threads) throws InterruptedException {
        while (!slots.tryAcquire(SHOW_NANOS, TimeUnit.NANOSECONDS)) {
            show();
        }
        var _ =
                threads.submit(() -> {
                    try {
                        move(attr, path);
                    } finally {
                        slots.release();
                    }
                });
    }

    private void move(Attr attr, String path) {
        for (int tries = 1; ; tries++) {
            try {
                switch (mover.move(
                        attr.getInode(), pool.getId(), pace, tally.bytesCopied::addAndGet)) {
                    case MOVED -> tally.filesMoved.incrementAndGet();
                    case WAS_THERE -> {}
                    case GONE -> tally.filesGone.incrementAndGet();
                }
                tally.bytesDone.addAndGet(attr.getSize());
                return;
            } catch (FsException e) {
                // The session may have ended under it: the next one begins anew.
                boolean again =
                        e.errno() == Errno.EIO
                                || e.errno() == Errno.EBADF
                                || e.errno() == Errno.ESTALE;
                if (!again || tries == MAX_TRIES) {
                    failed.add(attr.getInode());
                    tally.failed(path, e.errno() + ": " + e.detail());
                    return;
                }
            } catch (RuntimeException e) {
                failed.add(attr.getInode());
                tally.failed(path, String.valueOf(e));
                return;
            }
        }
    }
}
