package io.cairn.client.model;

import static org.assertj.core.api.Assertions.assertThat;

import io.cairn.client.api.CairnClient;
import io.cairn.client.api.CairnClient.OpenFile;
import io.cairn.common.proto.Attr;
import io.cairn.common.proto.Credentials;
import io.cairn.common.proto.SetAttrOp;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Writes, reads, truncates, syncs and reopens a few files of a client at random, many operations in
 * flight at a time, and compares every byte with arrays in memory. Works on any {@link
 * CairnClient}; a second one checks that what was closed is what others read.
 */
public final class FileModel {
    private static final int TIMEOUT_SECONDS = 60;

    private static final class File {
        final OpenFile[] handles = new OpenFile[2];
        final long inode;
        byte[] bytes = {};
        final List<Pending> pending = new ArrayList<>();

        File(OpenFile first, OpenFile second) {
            handles[0] = first;
            handles[1] = second;
            inode = first.inode();
        }
    }

    private record Pending(CompletableFuture<?> done, boolean read, long from, long to) {}

    private final CairnClient client;
    private final CairnClient other;
    private final Random random;
    private final int maxSize;
    private final int maxLength;
    private final List<File> files = new ArrayList<>();

    /**
     * @param other a second client of the same cluster
     * @param maxSize of a file, bytes
     * @param maxLength of one read or write, bytes
     */
    public FileModel(
            CairnClient client, CairnClient other, Random random, int maxSize, int maxLength) {
        this.client = client;
        this.other = other;
        this.random = random;
        this.maxSize = maxSize;
        this.maxLength = maxLength;
    }

    /**
     * @param between runs after each step, for faults
     */
    public void run(String prefix, int fileCount, int steps, Runnable between) {
        for (int i = 0; i < fileCount; i++) {
            byte[] name = (prefix + i).getBytes(StandardCharsets.UTF_8);
            OpenFile first =
                    get(
                            client.create(
                                    client.rootInode(),
                                    name,
                                    0100644,
                                    true,
                                    Credentials.getDefaultInstance()));
            files.add(new File(first, get(client.open(first.inode()))));
        }
        for (int i = 0; i < steps; i++) {
            step(files.get(random.nextInt(fileCount)));
            between.run();
        }
        for (File file : files) {
            settle(file);
            get(file.handles[0].release());
            get(file.handles[1].release());
            checkByOther(file);
        }
    }

    private void step(File file) {
        switch (random.nextInt(20)) {
            case 0, 1, 2, 3, 4, 5, 6, 7 -> write(file);
            case 8, 9, 10, 11, 12, 13 -> read(file);
            case 14 -> truncate(file, random.nextInt(maxSize));
            case 15 -> truncate(file, random.nextInt(file.bytes.length + 1));
            case 16 -> file.pending.add(sync(handle(file).fsync()));
            case 17 -> {
                settle(file);
                Attr attr = get(client.getAttr(file.inode));
                assertThat(attr.getSize()).isEqualTo(file.bytes.length);
                assertThat(handle(file).attr().getSize()).isEqualTo(file.bytes.length);
            }
            case 18 -> reopen(file);
            default -> {
                settle(file);
                get(handle(file).flush());
                checkByOther(file);
            }
        }
    }

    private static Pending sync(CompletableFuture<Void> done) {
        return new Pending(done, false, 0, 0);
    }

    private OpenFile handle(File file) {
        return file.handles[random.nextInt(2)];
    }

    private void write(File file) {
        int offset = random.nextInt(maxSize - 1);
        int length = 1 + random.nextInt(Math.min(maxLength, maxSize - offset));
        if (random.nextBoolean()) {
            offset = offset / 4096 * 4096;
        }
        // A read may see a write issued after it; only one answer must be right here.
        awaitReads(file, offset, Long.MAX_VALUE);
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        ByteBuf data = PooledByteBufAllocator.DEFAULT.directBuffer(length).writeBytes(bytes);
        CompletableFuture<Void> done = handle(file).write(offset, data, false);
        if (file.bytes.length < offset + length) {
            file.bytes = Arrays.copyOf(file.bytes, offset + length);
        }
        System.arraycopy(bytes, 0, file.bytes, offset, length);
        file.pending.add(new Pending(done, false, offset, offset + length));
    }

    private void read(File file) {
        int offset = random.nextInt(maxSize);
        int length = random.nextInt(maxLength) + 1;
        if (offset + length > file.bytes.length) {
            settle(file); // where the file ends depends on what is done
        } else {
            awaitWritesBehind(file, offset + length);
        }
        byte[] expected =
                Arrays.copyOfRange(
                        file.bytes,
                        Math.min(offset, file.bytes.length),
                        Math.min(offset + length, file.bytes.length));
        CompletableFuture<Void> done =
                handle(file)
                        .read(offset, length)
                        .thenAccept(data -> compare(file, offset, data, expected));
        file.pending.add(new Pending(done, true, offset, offset + length));
    }

    private static void compare(File file, int offset, ByteBuf data, byte[] expected) {
        byte[] actual = new byte[data.readableBytes()];
        data.readBytes(actual);
        data.release();
        int at = Arrays.mismatch(actual, expected);
        if (at >= 0) {
            throw new AssertionError(
                    "inode "
                            + file.inode
                            + " differs at "
                            + (offset + at)
                            + "; read "
                            + actual.length
                            + " bytes, expected "
                            + expected.length);
        }
    }

    private void truncate(File file, int size) {
        awaitReads(file, 0, Long.MAX_VALUE);
        CompletableFuture<Attr> done =
                client.setAttr(
                        SetAttrOp.newBuilder().setInode(file.inode).setSize(size).build(),
                        Credentials.getDefaultInstance());
        file.bytes = Arrays.copyOf(file.bytes, size);
        file.pending.add(new Pending(done, false, 0, Long.MAX_VALUE));
    }

    private void reopen(File file) {
        int which = random.nextInt(2);
        settle(file);
        get(file.handles[which].flush());
        get(file.handles[which].release());
        file.handles[which] = get(client.open(file.inode));
        assertThat(file.handles[which].attr().getSize()).isEqualTo(file.bytes.length);
    }

    private void checkByOther(File file) {
        OpenFile reader = get(other.open(file.inode));
        assertThat(reader.attr().getSize()).isEqualTo(file.bytes.length);
        for (int at = 0; at < file.bytes.length; at += maxLength) {
            int end = Math.min(at + maxLength, file.bytes.length);
            compare(
                    file,
                    at,
                    get(reader.read(at, maxLength)),
                    Arrays.copyOfRange(file.bytes, at, end));
        }
        get(reader.release());
    }

    private static void awaitReads(File file, long from, long to) {
        file.pending.removeIf(p -> {
            if (p.read && p.from < to && from < p.to) {
                get(p.done);
                return true;
            }
            return false;
        });
    }

    /** A read inside the file needs what made the file that long, overlapping or not. */
    private static void awaitWritesBehind(File file, long end) {
        file.pending.removeIf(p -> {
            if (!p.read && p.to >= end) {
                get(p.done);
                return true;
            }
            return false;
        });
    }

    private static void settle(File file) {
        file.pending.forEach(p -> get(p.done));
        file.pending.clear();
    }

    private static <T> T get(CompletableFuture<T> future) {
        try {
            return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw new AssertionError(e.getCause());
        } catch (InterruptedException | TimeoutException e) {
            throw new AssertionError(e);
        }
    }
}
