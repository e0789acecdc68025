#!/usr/bin/env python3
"""Cuts files, grows them over the cut and reads back what is a hole now, against a model.

    holes.py MOUNT PROCESSES SECONDS SEED [direct]

Each process has one file of its own. It writes single blocks anywhere, which leaves holes; it cuts the file somewhere or empties
it; and before each write it reads the block, which must have what was written last, zeros in a hole, nothing behind the end. With
'direct' it reads past the page cache, in whole pages; else two blocks share a page, so that a write dirties half of it. Ends with
0, or prints for each file what it read wrongly, what other ways of reading give, and what was done to it before.
"""
import mmap, multiprocessing, os, random, sys, time, traceback

PAGE = 4096
FILE_BYTES = 1 << 20
CUT, EMPTY_ABOVE, SYNC = 0.02, 0.8, 0.02  # share of operations; share of blocks that are not holes; share of operations
HISTORY = 8


class Contradiction(Exception):
    pass


class HoleyFile:
    def __init__(self, path, seconds, seed, direct):
        self.path, self.seconds, self.direct = path, seconds, direct
        self.random = random.Random(seed)
        self.block_bytes = PAGE if direct else PAGE // 2
        self.blocks = FILE_BYTES // self.block_bytes
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.direct_file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.page = mmap.mmap(-1, PAGE)  # aligned, as O_DIRECT wants it
        self.written, self.size, self.operations, self.history = {}, 0, 0, []
        self.began = time.time()

    def run(self):
        while time.time() - self.began < self.seconds:
            self.operations += 1
            kind = self.random.random()
            if len(self.written) > EMPTY_ABOVE * self.blocks:
                self.cut(0)
            elif kind < CUT:
                self.cut(self.random.randrange(self.blocks) * self.block_bytes)
            elif kind < CUT + SYNC:
                os.fsync(self.file)
            else:
                block = self.random.randrange(self.blocks)
                self.read(block)
                self.write(block)
        for block in range(self.blocks):
            self.read(block)

    def cut(self, size):
        os.ftruncate(self.file, size)
        self.size = size
        self.written = {b: v for b, v in self.written.items() if b * self.block_bytes < size}
        self.note(f"cut to {size}")

    def write(self, block):
        value = 1 + self.operations % 255  # 0 is a hole
        offset = block * self.block_bytes
        os.pwrite(self.file, bytes([value]) * self.block_bytes, offset)
        self.written[block] = value
        if offset + self.block_bytes > self.size:
            self.size = offset + self.block_bytes
            self.note(f"grown to {self.size}")

    def read(self, block):
        offset = block * self.block_bytes
        wanted = bytes([self.written.get(block, 0)]) * self.block_bytes if offset < self.size else b""
        got = self.read_direct(offset) if self.direct else self.read_cached(offset)
        if got != wanted:
            self.contradict(offset, got, wanted)

    def read_cached(self, offset):
        return os.pread(self.file, self.block_bytes, offset)

    def read_direct(self, offset):
        page_offset = offset // PAGE * PAGE
        in_page = offset - page_offset
        count = os.preadv(self.direct_file, [self.page], page_offset)
        return self.page[in_page:max(in_page, min(count, in_page + self.block_bytes))]

    def note(self, what):
        self.history.append(f"{time.time() - self.began:.4f} s: {what}")
        del self.history[:-HISTORY]

    def contradict(self, offset, got, wanted):
        at = time.time() - self.began
        again = [("cached", self.read_cached(offset)), ("direct", self.read_direct(offset))]
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        again.append(("cache dropped", self.read_cached(offset)))
        raise Contradiction(
            f"{at:.4f} s, operation {self.operations}: {len(got)} bytes {got[:1]} instead of {len(wanted)} bytes {wanted[:1]} at "
            f"{offset} of {self.size}; again: " + ", ".join(f"{how} {len(b)} bytes {b[:1]}" for how, b in again)
            + "; before: " + "; ".join(self.history))


def work(path, seconds, seed, direct, out):
    try:
        file = HoleyFile(path, seconds, seed, direct)
        file.run()
        out.put((True, f"{path}: ok, {file.operations} operations"))
    except Contradiction as e:
        out.put((False, f"{path}, seed {seed}, {e}"))
    except Exception:  # an error of the file system is a contradiction too
        out.put((False, f"{path}, seed {seed}: {traceback.format_exc()}"))


if __name__ == "__main__":
    mount, processes, seconds, seed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    direct = sys.argv[5:] == ["direct"]
    print(f"holes: seed {seed}", flush=True)
    out = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(f"{mount}/holes-{seed}-{i}", seconds, seed + i, direct, out))
               for i in range(processes)]
    for w in workers:
        w.start()
    failed = False
    for _ in workers:
        good, text = out.get()
        failed |= not good
        print(text, flush=True)
    for w in workers:
        w.join()
    sys.exit(1 if failed else 0)
