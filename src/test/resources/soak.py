#!/usr/bin/env python3
"""Random file operations of several processes on two mounts of one file system, each against a model in memory.

    soak.py MOUNT MOUNT PROCESSES SECONDS SEED

Each process has a directory of its own and does every operation through one of both mounts, by chance. The model is what
Cairn promises between mounts: what was closed through one is seen by whoever opens it through the other. So a file that is
held open is used through the mount that holds it; everything else through either.

Ends with 0, or with 1 and the first contradiction: what was done to the file before, and what is read again through either
mount, by O_DIRECT, and with the page cache dropped. The seed repeats the operations, but not their timing.
"""
import collections, errno, mmap, multiprocessing, os, random, stat, sys, time, traceback

CHUNK = 4 << 20
TOP = CHUNK + (1 << 20)  # files cross the end of their first chunk
PAGE = 4096
FILES = 12


class Node:
    """A file as it should be."""

    def __init__(self, number):
        self.number, self.data, self.mode, self.xattrs = number, bytearray(), 0o644, {}
        self.names, self.fds, self.mount = set(), [], None
        self.history = collections.deque(maxlen=60)


class Contradiction(Exception):
    pass


class Worker:
    def __init__(self, number, mounts, seconds, seed):
        self.roots = [f"{m}/soak{number}" for m in mounts]
        self.random = random.Random(seed * 1000 + number)
        self.seconds, self.names, self.held, self.made, self.operations = seconds, {}, [], 0, 0
        self.folders, self.counts, self.began = ["", "a/", "a/b/"], collections.Counter(), time.time()
        os.mkdir(self.roots[0])
        os.makedirs(f"{self.roots[0]}/a/b")

    # -- choosing

    def via(self, *nodes):
        """A mount that may be used for all of these, or None."""
        held = {n.mount for n in nodes if n.mount is not None}
        return None if len(held) > 1 else held.pop() if held else self.random.randrange(2)

    def path(self, mount, name):
        return f"{self.roots[mount]}/{name}"

    def node(self):
        return self.names[self.random.choice(sorted(self.names))]

    def named(self, node):
        return self.random.choice(sorted(node.names))

    def fresh_name(self):
        return f"{self.random.choice(self.folders)}n{self.random.randrange(4 * FILES)}"

    def span(self, top):
        near_the_end_of_the_chunk = min(top, CHUNK - self.random.randrange(2 * PAGE))
        return (self.random.choice([self.random.randrange(top + 1), near_the_end_of_the_chunk]),
                self.random.choice([1, 100, PAGE, 5000, 65536, 300000]))

    # -- telling

    def note(self, node, text):
        node.history.append(f"{time.time() - self.began:.3f} s: {text}")

    def check(self, node, what, got, wanted):
        if got == wanted:
            return
        if isinstance(wanted, (bytes, bytearray)):
            both = min(len(got), len(wanted))
            first = next((i for i in range(both) if got[i] != wanted[i]), both)
            seen = f"{len(got)} bytes instead of {len(wanted)}, the first difference at {first}: " \
                   f"{bytes(got[first:first + 16])} instead of {bytes(wanted[first:first + 16])}"
        else:
            seen = f"{got} instead of {wanted}"
        lines = [f"{self.roots}, operation {self.operations}, {time.time() - self.began:.3f} s: {what}: {seen}"]
        if node:
            lines.append(f"  file {node.number}, names {sorted(node.names)}, held through {node.mount}; done to it:")
            lines += [f"    {done}" for done in node.history]
            for mount in (0, 1):
                for name in sorted(node.names)[:1]:
                    lines.append(f"  again through mount {mount}: {self.again(mount, name, node)}")
        raise Contradiction("\n".join(lines))

    def again(self, mount, name, node):
        results = []
        for flags, drop in ((0, False), (os.O_DIRECT, False), (0, True)):
            try:
                fd = os.open(self.path(mount, name), os.O_RDONLY | flags)
                try:
                    if drop:
                        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                    size = os.fstat(fd).st_size
                    buffer = mmap.mmap(-1, size // PAGE * PAGE + PAGE)
                    got = buffer[:os.preadv(fd, [buffer], 0)]
                    results.append("right" if got == node.data else f"wrong, {len(got)} bytes")
                finally:
                    os.close(fd)
            except OSError as e:
                results.append(str(e))
        return "cached {}, direct {}, cache dropped {}".format(*results)

    # -- the model

    def put(self, node, at, data):
        if len(node.data) < at:
            node.data.extend(bytes(at - len(node.data)))
        node.data[at:at + len(data)] = data

    def cut(self, node, size):
        if size < len(node.data):
            del node.data[size:]
        else:
            node.data.extend(bytes(size - len(node.data)))

    def give_name(self, node, name):
        self.names[name] = node
        node.names.add(name)

    def take_name(self, name):
        self.names.pop(name).names.discard(name)

    # -- operations

    def create(self):
        name = self.fresh_name()
        if name in self.names or len(self.names) >= 2 * FILES:
            return
        mount, self.made = self.random.randrange(2), self.made + 1
        node = Node(self.made)
        os.close(os.open(self.path(mount, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, node.mode))
        self.give_name(node, name)
        self.note(node, f"made as {name} through {mount}")

    def write(self):
        node = self.node()
        mount, (at, length) = self.via(node), self.span(min(TOP, len(node.data) + 65536))
        data = self.random.randbytes(length)
        sync = self.random.choice([0, 0, os.O_SYNC, os.O_DSYNC])
        fd = os.open(self.path(mount, self.named(node)), os.O_WRONLY | sync)
        try:
            self.check(node, "pwrite", os.pwrite(fd, data, at), length)
            if self.random.random() < 0.3:
                os.fsync(fd)
        finally:
            os.close(fd)
        self.put(node, at, data)
        self.note(node, f"{length} bytes at {at} through {mount}")

    def append(self):
        node = self.node()
        if len(node.data) > TOP:
            return
        mount, data = self.via(node), self.random.randbytes(self.random.choice([1, 77, PAGE, 70000]))
        fd = os.open(self.path(mount, self.named(node)), os.O_WRONLY | os.O_APPEND)
        try:
            self.check(node, "append", os.write(fd, data), len(data))
        finally:
            os.close(fd)
        self.note(node, f"{len(data)} bytes appended at {len(node.data)} through {mount}")
        self.put(node, len(node.data), data)

    def truncate(self):
        node = self.node()
        mount, size = self.via(node), self.random.choice([0, self.random.randrange(TOP), len(node.data) // 2])
        os.truncate(self.path(mount, self.named(node)), size)
        self.cut(node, size)
        self.note(node, f"truncated to {size} through {mount}")

    def read(self):
        node = self.node()
        mount, (at, length) = self.via(node), self.span(len(node.data))
        fd = os.open(self.path(mount, self.named(node)), os.O_RDONLY)
        try:
            self.check(node, f"pread at {at} through {mount}", os.pread(fd, length, at), node.data[at:at + length])
        finally:
            os.close(fd)

    def direct(self):
        node = self.node()
        mount, length = self.via(node), self.random.choice([1, 2, 16]) * PAGE
        at = self.random.randrange(len(node.data) // PAGE + 2) * PAGE
        buffer = mmap.mmap(-1, length)
        fd = os.open(self.path(mount, self.named(node)), os.O_RDWR | os.O_DIRECT)
        try:
            if self.random.random() < 0.5 and at < TOP:
                buffer[:] = self.random.randbytes(length)
                self.check(node, "direct write", os.pwritev(fd, [buffer], at), length)
                self.put(node, at, buffer[:])
                self.note(node, f"{length} bytes at {at} by O_DIRECT through {mount}")
            else:
                n = os.preadv(fd, [buffer], at)
                self.check(node, f"direct read at {at} through {mount}", buffer[:n], node.data[at:at + length])
        finally:
            os.close(fd)

    def map(self):
        node = self.node()
        if not node.data:
            return
        mount, (at, length) = self.via(node), self.span(len(node.data) - 1)
        data = self.random.randbytes(min(length, len(node.data) - at))
        fd = os.open(self.path(mount, self.named(node)), os.O_RDWR)
        try:
            with mmap.mmap(fd, len(node.data)) as mapped:
                end = at + len(data)
                self.check(node, f"mapped at {at} through {mount}", mapped[at:end], node.data[at:end])
                mapped[at:end] = data
                mapped.flush()
        finally:
            os.close(fd)
        self.put(node, at, data)
        self.note(node, f"{len(data)} bytes at {at} by mmap through {mount}")

    def rename(self):
        node, name = self.node(), self.fresh_name()
        old, target = self.named(node), self.names.get(name)
        mount = self.via(node) if target is None else self.via(node, target)
        if mount is None or old == name:
            return
        os.rename(self.path(mount, old), self.path(mount, name))
        if target is node:
            return  # two names of one file: both stay
        if target is not None:
            self.take_name(name)
            self.note(target, f"{name} taken by file {node.number}")
        self.take_name(old)
        self.give_name(node, name)
        self.note(node, f"{old} renamed to {name} through {mount}")

    def link(self):
        node, name = self.node(), self.fresh_name()
        if name in self.names:
            return
        mount = self.via(node)
        os.link(self.path(mount, self.named(node)), self.path(mount, name))
        self.give_name(node, name)
        self.note(node, f"linked as {name} through {mount}")

    def unlink(self):
        node = self.node()
        mount, name = self.via(node), self.named(node)
        os.unlink(self.path(mount, name))
        self.take_name(name)
        self.note(node, f"{name} unlinked through {mount}")
        self.missing(name)

    def missing(self, name):
        for mount in (0, 1):
            try:
                os.stat(self.path(mount, name))
            except FileNotFoundError:
                continue
            raise Contradiction(f"{name} is still there through mount {mount}")

    def hold(self):
        node = self.node()
        if len(node.fds) < 2 and len(self.held) < 4:
            node.mount = self.via(node)
            node.fds.append(os.open(self.path(node.mount, self.named(node)), os.O_RDWR))
            self.held.append(node)
            self.note(node, f"held open through {node.mount}")

    def use_held(self):
        if not self.held:
            return
        node = self.random.choice(self.held)
        fd, (at, length) = self.random.choice(node.fds), self.span(min(TOP, len(node.data) + 65536))
        kind = self.random.randrange(5)
        if kind == 0:
            data = self.random.randbytes(length)
            self.check(node, "pwrite, held", os.pwrite(fd, data, at), length)
            self.put(node, at, data)
            self.note(node, f"{length} bytes at {at} by a held one")
        elif kind == 1:
            os.ftruncate(fd, at)
            self.cut(node, at)
            self.note(node, f"truncated to {at} by a held one")
        elif kind == 2:
            os.fsync(fd)
            self.note(node, "synced by a held one")
        elif kind == 3:
            self.check(node, f"pread at {at}, held", os.pread(fd, length, at), node.data[at:at + length])
        else:
            status = os.fstat(fd)
            self.check(node, "fstat, held", (status.st_size, status.st_nlink), (len(node.data), len(node.names)))

    def release(self):
        if self.held:
            node = self.held.pop(self.random.randrange(len(self.held)))
            os.close(node.fds.pop())
            self.note(node, "a held one closed")
            if not node.fds:
                node.mount = None

    def xattr(self):
        node, key = self.node(), f"user.k{self.random.randrange(4)}"
        path = self.path(self.via(node), self.named(node))
        if self.random.random() < 0.6:
            node.xattrs[key] = self.random.randbytes(self.random.choice([0, 10, 800]))
            os.setxattr(path, key, node.xattrs[key])
        elif key in node.xattrs:
            os.removexattr(path, key)
            del node.xattrs[key]
        other = self.path(self.via(node), self.named(node))
        self.check(node, "xattrs", {k: os.getxattr(other, k) for k in os.listxattr(other)}, node.xattrs)

    def chmod(self):
        node = self.node()
        node.mode = self.random.choice([0o600, 0o644, 0o755])
        os.chmod(self.path(self.via(node), self.named(node)), node.mode)

    def stat(self):
        node = self.node()
        mount = self.via(node)
        status = os.stat(self.path(mount, self.named(node)))
        self.check(node, f"stat through {mount}", (status.st_size, status.st_nlink, stat.S_IMODE(status.st_mode)),
                   (len(node.data), len(node.names), node.mode))

    def list(self):
        for folder in self.folders:
            mount = self.random.randrange(2)
            entries = list(self.names) + [f[:-1] for f in self.folders if f]
            wanted = {e[len(folder):] for e in entries if e.startswith(folder) and "/" not in e[len(folder):]}
            got = os.listdir(f"{self.roots[mount]}/{folder}")
            self.check(None, f"names of {folder or '.'} through {mount}", sorted(got), sorted(wanted))

    def directory(self):
        """Made through one mount it is there through the other, and gone when it is removed."""
        name, mount = f"d{self.random.randrange(1 << 30)}", self.random.randrange(2)
        os.mkdir(self.path(mount, name))
        os.close(os.open(self.path(1 - mount, name + "/f"), os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.rmdir(self.path(mount, name))
            raise Contradiction(f"directory {name} was removed though it had a file")
        except OSError as e:
            if e.errno != errno.ENOTEMPTY:
                raise
        os.unlink(self.path(mount, name + "/f"))
        os.rmdir(self.path(1 - mount, name))
        self.missing(name)

    WEIGHTS = {create: 8, write: 14, append: 6, truncate: 8, read: 14, direct: 8, map: 6, rename: 5, link: 3, unlink: 4, hold: 5,
               use_held: 18, release: 4, xattr: 3, chmod: 2, stat: 6, list: 2, directory: 1}

    def run(self):
        kinds, weights = list(self.WEIGHTS), list(self.WEIGHTS.values())
        while time.time() - self.began < self.seconds:
            kind = self.random.choices(kinds, weights)[0] if len(self.names) > 2 else Worker.create
            self.operations += 1
            self.counts[kind.__name__] += 1
            kind(self)
        while self.held:
            self.release()
        for mount in (0, 1):
            for name, node in sorted(self.names.items()):
                with open(self.path(mount, name), "rb") as f:
                    self.check(node, f"all of {name} through {mount} at the end", f.read(), node.data)
        self.list()


def work(number, mounts, seconds, seed, out):
    worker = None
    try:
        worker = Worker(number, mounts, seconds, seed)
        worker.run()
        out.put((True, f"process {number}: ok, {worker.operations} operations: {dict(worker.counts)}"))
    except Contradiction as e:
        out.put((False, str(e)))
    except Exception:  # an error of the file system is a contradiction too
        out.put((False, f"process {number}, operation {worker and worker.operations}: {traceback.format_exc()}"))


if __name__ == "__main__":
    mounts, processes, seconds, seed = sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    print(f"soak: seed {seed}", flush=True)
    out = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=work, args=(i, mounts, seconds, seed, out)) for i in range(processes)]
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
