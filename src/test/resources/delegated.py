# What other mounts see of a file that one has just made, once its calls have returned. Arguments: seed, seconds,
# 'steady' if no leader is killed, then a directory in each mount, the maker's first. First step by step: the maker changes a file, another mount looks. Then both
# at once: what is seen must be as of some call between the last one that had returned before the look and the last one that
# had begun after it.
import os, random, sys, threading, time

SEED, SECONDS, STEADY, DIRS = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == 'steady', sys.argv[4:]
ROOT = os.geteuid() == 0


def fail(*what):
    print(f'seed {SEED}:', *what, flush=True)
    os._exit(1)


class File:
    """A file as its maker has made it so far; None: it cannot know."""

    def __init__(self, name):
        self.name = name
        self.path = os.path.join(DIRS[0], name)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        self.mode, self.uid, self.gid = 0o644, os.geteuid(), os.getegid()
        self.data, self.mtime, self.looked, self.unsynced, self.untimed, self.log = b'', None, not STEADY, False, False, ['create']

    def step(self, r):
        ops = ['chmod', 'utime', 'chmod', 'utime'] + (['chown'] if ROOT else [])
        ops += ['write', 'write', 'fchmod', 'futime', 'truncate', 'fsync', 'close', 'reader', 'fstat'] if self.fd >= 0 \
            else ['rename', 'stat', 'reopen', 'list', 'link']
        op = r.choice(ops)
        self.log.append(op)
        target = self.fd if op in ('fchmod', 'futime') else self.path
        if op.endswith('chmod'):
            self.mode = r.randrange(0o10000) | 0o600
            os.chmod(target, self.mode)
        elif op.endswith('utime'):
            self.mtime = r.randrange(10**18) if r.random() < 0.9 else 4 * 10**18
            os.utime(target, ns=(r.randrange(10**18), self.mtime))
        elif op == 'chown':
            self.uid, self.gid = r.randrange(3), r.randrange(3)
            os.chown(self.path, self.uid, self.gid)
            self.mode &= ~0o4000
            if self.mode & 0o010:
                self.mode &= ~0o2000
        elif op == 'write':
            offset, piece = r.randrange(5000), bytes([r.randrange(1, 256)]) * r.randrange(1, 5000)
            os.pwrite(self.fd, piece, offset)
            self.data = self.data.ljust(offset, b'\0')
            self.data = self.data[:offset] + piece + self.data[offset + len(piece):]
            self.mtime, self.unsynced, self.untimed = None, True, True
            if not ROOT:
                self.mode = None
        elif op == 'truncate':
            size = r.randrange(6000)
            os.ftruncate(self.fd, size)
            self.data = self.data[:size].ljust(size, b'\0')
            self.mtime, self.unsynced, self.untimed = None, False, False
        elif op == 'fsync':
            os.fsync(self.fd)
            self.unsynced = False  # but not the times
        elif op == 'close':
            os.close(self.fd)
            self.fd, self.unsynced, self.untimed, self.looked = -1, False, False, True
        elif op == 'reader':
            with open(self.path, 'rb') as f:
                if f.read() != self.data:
                    fail(self.name, self.log, 'its maker reads other bytes')
        elif op in ('fstat', 'stat'):
            self.check(os.fstat(self.fd) if op == 'fstat' else os.stat(self.path), 'its maker')
        elif op == 'rename':
            os.rename(self.path, self.path + 'r')
            self.name, self.path = self.name + 'r', self.path + 'r'
        elif op == 'reopen':
            self.fd = os.open(self.path, os.O_RDWR)
        elif op == 'link':
            os.link(self.path, self.path + 'l')
            os.unlink(self.path + 'l')
        elif op == 'list':
            if self.name not in os.listdir(DIRS[0]):
                fail(self.name, self.log, 'is not listed')

    def check(self, st, who):
        seen = (st.st_mode & 0o7777, st.st_uid, st.st_gid, st.st_size, st.st_mtime_ns, st.st_nlink)
        size = None if self.unsynced and self.looked and who != 'its maker' else len(self.data)
        made = (self.mode, self.uid, self.gid, size, self.mtime, 1)
        if any(m is not None and m != s for s, m in zip(seen, made)):
            fail(self.name, self.log, f'{who} sees {seen}, made was {made}')

    def look(self, r, files):
        i = r.randrange(1, len(DIRS))
        path = os.path.join(DIRS[i], self.name)
        how = r.choice(['stat', 'list', 'read', 'write', 'access'])
        who = f'mount {i} by {how}'
        strict, timed = (not (flag and self.looked) for flag in (self.unsynced, self.untimed))
        if how == 'list':
            for file in files:  # their attributes come with the list
                file.looked = True
            entries = {e.name: e for e in os.scandir(DIRS[i])}
            if self.name not in entries:
                fail(self.name, self.log, who, 'does not list it')
            st = entries[self.name].stat(follow_symlinks=False)
        elif how in ('read', 'write'):
            fd = os.open(path, os.O_RDONLY if how == 'read' else os.O_RDWR)
            data, st = os.pread(fd, 1 << 20, 0), os.fstat(fd)
            os.close(fd)
            if timed and data != self.data:  # an open keeps pages of contents that it has not heard of
                fail(self.name, self.log, who, f'reads {len(data)} bytes, made were {len(self.data)}')
        elif how == 'access':
            os.access(path, os.R_OK)
            st = os.stat(path)
        else:
            st = os.stat(path)
        self.log.append(who)
        self.check(st, who)
        self.looked = True
        own = os.fstat(self.fd) if self.fd >= 0 else os.stat(self.path)
        fields = ['st_mode', 'st_uid', 'st_gid', 'st_nlink'] + (['st_size'] if strict else [])
        fields += ['st_mtime_ns', 'st_ctime_ns'] if timed else []
        for f in fields:
            if getattr(own, f) != getattr(st, f):
                fail(self.name, self.log, who, f, getattr(st, f), 'its maker sees', getattr(own, f))

    def end(self):
        if self.fd >= 0:
            os.close(self.fd)
        os.unlink(self.path)


def replaced(n):
    """A name is taken from a file that its maker has open."""
    a, b = (os.path.join(DIRS[0], f'{x}{n}') for x in 'ab')
    fd = os.open(a, os.O_RDWR | os.O_CREAT)
    os.close(os.open(b, os.O_RDWR | os.O_CREAT))
    os.rename(b, a)
    if os.fstat(fd).st_nlink != 0:
        fail('a file that was renamed over has', os.fstat(fd).st_nlink, 'names')
    os.close(fd)
    os.unlink(a)


def in_turns(r, until):
    looks = 0
    n = 0
    while time.monotonic() < until:
        files = []
        for _ in range(r.randrange(1, 5)):
            files.append(File(f't{n}'))
            n += 1
        for _ in range(r.randrange(1, 12)):
            file = r.choice(files)
            file.step(r)
            if r.random() < 0.15:
                file.look(r, files)
                looks += 1
        for file in files:
            if r.random() < 0.7:
                file.look(r, files)
                looks += 1
            file.end()
        if r.random() < 0.2:
            replaced(n)
    return looks


class Shared:
    def __init__(self):
        self.name, self.begun, self.done, self.states = None, 0, 0, []


def at_once(r, until):
    shared, stop, looks = Shared(), threading.Event(), [0]

    def looking(i, random_):
        while not stop.is_set():
            states, name = shared.states, shared.name
            if name is None:
                continue
            path = os.path.join(DIRS[i], name)
            lo = len([s for s in states if s[-1]])
            try:
                if random_.random() < 0.5:
                    st = os.stat(path)
                else:
                    with open(path, 'rb') as f:
                        st = os.fstat(f.fileno())
            except FileNotFoundError:
                if lo and shared.states is states:
                    fail(name, 'is not there for', i)
                continue
            if shared.states is not states:
                continue
            hi = len(states)
            seen = (st.st_mode & 0o7777, st.st_size, st.st_mtime_ns)
            may = [s[:3] for s in states[max(0, lo - 1):hi]]
            if not any(all(m is None or m == s for m, s in zip(state, seen)) for state in may):
                fail(name, f'mount {i} sees {seen}, may see {may}')
            looks[0] += 1

    threads = [threading.Thread(target=looking, args=(i, random.Random(r.random())), daemon=True)
               for i in range(1, len(DIRS))]
    for t in threads:
        t.start()
    n = 0
    while time.monotonic() < until:
        name = f'c{n}'
        n += 1
        path = os.path.join(DIRS[0], name)
        states = []
        states.append([0o644, 0, None, False])
        shared.name, shared.states = name, states
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        states[0][-1] = True
        mode, size, mtime = 0o644, 0, None
        for _ in range(r.randrange(6)):
            kind = r.choice(['mode', 'mtime', 'write'])
            if kind == 'mode':
                mode = r.randrange(0o1000) | 0o600
            elif kind == 'mtime':
                mtime = r.randrange(10**18)
            else:
                mtime, size = None, None
            states.append([mode, size, mtime, False])
            if kind == 'mode':
                os.chmod(path, mode)
            elif kind == 'mtime':
                os.utime(path, ns=(0, mtime))
            else:
                os.pwrite(fd, b'x' * 10, 0)
            states[-1][-1] = True
        written = size is None
        if written:
            states.append([mode, None, mtime, False])
        os.close(fd)
        if written:
            states[-1][-1] = True
            # Before a close has returned nothing is known of the size.
            states.append([mode, 10, mtime, True])
        end = time.monotonic() + r.random() * 0.02
        while time.monotonic() < end:
            pass
        shared.name, shared.states = None, []
        os.unlink(path)
    stop.set()
    for t in threads:
        t.join()
    return n, looks[0]


begun = time.monotonic()
random_ = random.Random(SEED)
turns = in_turns(random_, begun + SECONDS * 0.6)
made, seen = at_once(random_, begun + SECONDS)
print(f'{turns} looks in turn, {seen} looks at {made} files at once')
