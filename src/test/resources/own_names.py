# Names in directories that one mount has just made. Arguments: seed, seconds, then a directory in each mount, the maker's first.
# In turns: calls of random kinds against a model of the tree, most of them by the maker, some by another mount; each answers as
# the model says, and when a call has returned all mounts see the same attributes. At once: several threads of the maker and of
# the others make and remove names in the maker's directories; each name has one owner at a time, and what is listed was there.
# With 'crash PID' as last arguments: the process of the maker's mount is killed, up to so many seconds after the last call; what
# another mount finds then is the tree as it was after some call, and nothing is missing that was synced.
import errno, os, random, signal, stat, sys, threading, time

SEED, SECONDS, DIRS = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
VICTIM = 0
if len(DIRS) > 2 and DIRS[-2] == 'crash':
    VICTIM, DIRS = int(DIRS[-1]), DIRS[:-2]
ROOT = os.geteuid() == 0
NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'n' * 255]


def fail(*what):
    print(f'seed {SEED}:', *what, flush=True)
    os._exit(1)


class Node:
    def __init__(self, kind, mode=0, target='', rdev=0):
        self.kind, self.mode, self.target, self.rdev = kind, mode, target, rdev
        self.uid, self.gid = os.geteuid(), os.getegid()
        self.mtime = None
        self.nlink = 2 if kind == 'dir' else 1
        self.names = {}
        self.size = len(target)
        self.xattrs = {}

    def snapshot(self):
        return self.kind if self.kind != 'dir' else ('dir', self.mode, tuple(sorted(((n, c.snapshot()) for n, c in self.names.items()), key=lambda e: e[0])))


KINDS = {'dir': stat.S_IFDIR, 'file': stat.S_IFREG, 'link': stat.S_IFLNK, 'fifo': stat.S_IFIFO, 'node': stat.S_IFCHR, 'sock': stat.S_IFSOCK}


class Game:
    """One tree: what was done to it, and as it should be."""

    def __init__(self, r, name):
        self.r, self.name, self.log, self.open = r, name, [], []
        self.top = Node('dir', 0o755)
        os.mkdir(os.path.join(DIRS[0], name), 0o755)

    def at(self, i, path):
        return os.path.join(DIRS[i], self.name, *path)

    def find(self, path):
        node = self.top
        for name in path:
            node = node.names.get(name) if node is not None and node.kind == 'dir' else None
        return node

    def directories(self, node=None, path=()):
        node = node or self.top
        yield path
        for name, below in node.names.items():
            if below.kind == 'dir':
                yield from self.directories(below, path + (name,))

    def somewhere(self):
        return self.r.choice(list(self.directories())) + (self.r.choice(NAMES),)

    def something(self):
        for _ in range(4):
            path = self.somewhere()
            if self.find(path):
                break
        return path

    def call(self, what, expected, f, *args, **named):
        """Does it; the errno, or 0."""
        try:
            self.result = f(*args, **named)
            got = 0
        except OSError as e:
            got = e.errno
        self.log.append((what, errno.errorcode.get(got, 0)))
        if got != expected:
            fail(self.name, self.log, 'expected', errno.errorcode.get(expected, 0))
        return got

    def inherited(self, parent, node):
        if parent.mode & 0o2000:
            node.gid = parent.gid
            if node.kind == 'dir':
                node.mode |= 0o2000
        return node

    def add(self, path, node):
        parent = self.find(path[:-1])
        parent.mtime = None
        parent.names[path[-1]] = node
        parent.nlink += node.kind == 'dir'

    def take(self, path):
        parent = self.find(path[:-1])
        parent.mtime = None
        node = parent.names.pop(path[-1])
        parent.nlink -= node.kind == 'dir'
        return node

    def step(self, i):
        ops = ['mkdir', 'create', 'create', 'symlink', 'mknod', 'unlink', 'rmdir', 'rename', 'link', 'chmod', 'chown', 'utime', 'look', 'list',
               'write', 'xattr', 'truncate', 'syncdir', 'forget', 'exists']
        op = self.r.choice(ops)
        getattr(self, op)(i)

    def make(self, i, kind, expected_node, f, *args):
        path = self.somewhere()
        there, parent = self.find(path), self.find(path[:-1])
        self.call(f'{i} {kind} {"/".join(path)[:40]}', errno.EEXIST if there else 0, f, self.at(i, path), *args)
        if not there:
            self.add(path, self.inherited(parent, expected_node))
        return path

    def mkdir(self, i):
        mode = self.r.choice([0o755, 0o700, 0o777])
        self.make(i, 'mkdir', Node('dir', mode & ~0o022), os.mkdir, mode)

    def symlink(self, i):
        target = self.r.choice(['x', '/nowhere/at/all', 'y' * 500])
        self.make(i, 'symlink', Node('link', 0o777, target), lambda p: os.symlink(target, p))

    def mknod(self, i):
        kind = self.r.choice(['fifo', 'sock'] + (['node'] if ROOT else []))
        rdev = os.makedev(self.r.randrange(1, 200), self.r.randrange(200)) if kind == 'node' else 0
        self.make(i, kind, Node(kind, 0o640, rdev=rdev), os.mknod, KINDS[kind] | 0o640, rdev)

    def create(self, i):
        path = self.somewhere()
        there, parent = self.find(path), self.find(path[:-1])
        exclusive = self.r.random() < 0.5
        if there and not exclusive and there.kind not in ('file', 'dir'):
            return
        expected = 0 if not there else errno.EEXIST if exclusive else errno.EISDIR if there.kind == 'dir' else 0
        flags = os.O_RDWR | os.O_CREAT | (os.O_EXCL if exclusive else self.r.choice([0, os.O_TRUNC, os.O_APPEND]))
        if self.call(f'{i} create {"/".join(path)[:40]} {flags:o}', expected, os.open, self.at(i, path), flags, 0o664) == 0:
            fd = self.result
            if not there:
                there = self.inherited(parent, Node('file', 0o644))
                self.add(path, there)
            if flags & os.O_TRUNC:
                there.size, there.mtime = 0, None
            if self.r.random() < 0.3:
                self.call('write', 0, os.pwrite, fd, b'x' * 10, there.size if flags & os.O_APPEND else 0)
                there.size, there.mtime = there.size + 10 if flags & os.O_APPEND else max(there.size, 10), None
            if self.r.random() < 0.2:
                self.call('fsync', 0, os.fsync, fd)
                self.synced(path)
            if self.r.random() < 0.2:
                self.open.append((fd, i, there))
            else:
                self.call('close', 0, os.close, fd)

    def synced(self, path):
        pass

    def forget(self, i):
        if self.open:
            fd, j, node = self.open.pop(self.r.randrange(len(self.open)))
            self.call(f'{j} fstat', 0, os.fstat, fd)
            if (self.result.st_nlink, self.result.st_size) != (node.nlink, node.size):
                fail(self.name, self.log, self.result, 'expected', node.nlink, node.size)
            self.call(f'{j} close', 0, os.close, fd)

    def write(self, i):
        path = self.something()
        node = self.find(path)
        if node and node.kind == 'file':
            with open(self.at(i, path), 'r+b') as f:
                f.write(b'y' * 100)
            self.log.append((f'{i} write {"/".join(path)[:40]}', 0))
            node.size, node.mtime = max(node.size, 100), None

    def truncate(self, i):
        path = self.something()
        node = self.find(path)
        if node and node.kind == 'file':
            size = self.r.randrange(200)
            self.call(f'{i} truncate {"/".join(path)[:40]}', 0, os.truncate, self.at(i, path), size)
            node.size, node.mtime = size, None

    def unlink(self, i):
        path = self.something()
        node = self.find(path)
        expected = errno.ENOENT if not node else errno.EISDIR if node.kind == 'dir' else 0
        if self.call(f'{i} unlink {"/".join(path)[:40]}', expected, os.unlink, self.at(i, path)) == 0:
            self.take(path).nlink -= 1

    def rmdir(self, i):
        path = self.something()
        node = self.find(path)
        expected = errno.ENOENT if not node else errno.ENOTDIR if node.kind != 'dir' else errno.ENOTEMPTY if node.names else 0
        if self.call(f'{i} rmdir {"/".join(path)[:40]}', expected, os.rmdir, self.at(i, path)) == 0:
            self.take(path)

    def rename(self, i):
        path, to = self.something(), self.somewhere()
        node, over = self.find(path), self.find(to)
        if not node:
            expected = errno.ENOENT
        elif node is over:
            expected = 0
        elif node.kind == 'dir' and any(self.find(to[:k]) is node for k in range(len(to))):
            expected = errno.EINVAL
        elif over and over.kind == 'dir' and any(self.find(path[:k]) is over for k in range(len(path))):
            expected = errno.ENOTEMPTY
        elif over and node.kind == 'dir' and over.kind != 'dir':
            expected = errno.ENOTDIR
        elif over and node.kind != 'dir' and over.kind == 'dir':
            expected = errno.EISDIR
        elif over and over.kind == 'dir' and over.names:
            expected = errno.ENOTEMPTY
        else:
            expected = 0
        if self.call(f'{i} rename {"/".join(path)[:40]} {"/".join(to)[:40]}', expected, os.rename, self.at(i, path), self.at(i, to)) == 0 and node is not over:
            if over:
                self.take(to).nlink -= 1
            self.add(to, self.take(path))

    def link(self, i):
        path, to = self.something(), self.somewhere()
        node, there = self.find(path), self.find(to)
        if node and node.kind == 'dir':
            return
        expected = errno.ENOENT if not node else errno.EEXIST if there else 0
        if self.call(f'{i} link {"/".join(path)[:40]} {"/".join(to)[:40]}', expected, os.link, self.at(i, path), self.at(i, to), follow_symlinks=False) == 0:
            node.nlink += 1
            self.add(to, node)

    def chmod(self, i):
        path = self.something()
        node = self.find(path)
        if node and node.kind == 'link':
            return
        mode = self.r.choice([0o700, 0o755, 0o2755, 0o1777])
        if self.call(f'{i} chmod {"/".join(path)[:40]} {mode:o}', 0 if node else errno.ENOENT, os.chmod, self.at(i, path), mode) == 0:
            node.mode = mode

    def chown(self, i):
        path = self.something()
        node = self.find(path)
        if not ROOT:
            return
        uid, gid = self.r.randrange(3), self.r.randrange(3)
        if self.call(f'{i} chown {"/".join(path)[:40]}', 0 if node else errno.ENOENT, os.lchown, self.at(i, path), uid, gid) == 0:
            node.uid, node.gid = uid, gid
            if node.kind == 'file' and node.mode & 0o010:
                node.mode &= ~0o6000
            if node.kind != 'dir' and node.kind != 'file' and node.kind != 'link':
                node.mode &= ~0o4000
                if node.mode & 0o010:
                    node.mode &= ~0o2000

    def utime(self, i):
        path = self.something()
        node = self.find(path)
        mtime = self.r.randrange(10 ** 18)
        if self.call(f'{i} utime {"/".join(path)[:40]}', 0 if node else errno.ENOENT, os.utime, self.at(i, path), ns=(1, mtime), follow_symlinks=False) == 0:
            node.mtime = mtime

    def xattr(self, i):
        path = self.something()
        node = self.find(path)
        if node and node.kind in ('file', 'dir'):
            key = 'user.' + self.r.choice('pq')
            if self.r.random() < 0.5:
                value = bytes([self.r.randrange(256)]) * 20
                self.call(f'{i} setxattr {"/".join(path)[:40]}', 0, os.setxattr, self.at(i, path), key, value)
                node.xattrs[key] = value
            elif self.call(f'{i} getxattr {"/".join(path)[:40]}', 0 if key in node.xattrs else errno.ENODATA, os.getxattr, self.at(i, path), key) == 0:
                if self.result != node.xattrs[key]:
                    fail(self.name, self.log, self.result, 'expected', node.xattrs[key])

    def syncdir(self, i):
        path = self.r.choice(list(self.directories()))
        fd = os.open(self.at(i, path), os.O_RDONLY)
        self.call(f'{i} fsync directory {"/".join(path)[:40]}', 0, os.fsync, fd)
        os.close(fd)
        self.synced(path + ('',))

    def look(self, i):
        path = self.something()
        node = self.find(path)
        if self.call(f'{i} lstat {"/".join(path)[:40]}', 0 if node else errno.ENOENT, os.lstat, self.at(i, path)) == 0:
            self.check(i, path, node, self.result)

    def exists(self, i):
        path = self.somewhere()
        node = self.find(path)
        if bool(node) != os.path.lexists(self.at(i, path)):
            fail(self.name, self.log, i, 'exists', path, 'expected', bool(node))

    def list(self, i):
        path = self.r.choice(list(self.directories()))
        self.log.append((f'{i} list {"/".join(path)[:40]}', 0))
        self.listed(i, path)

    def listed(self, i, path):
        node = self.find(path)
        with os.scandir(self.at(i, path)) as entries:
            seen = {e.name: e for e in entries}
        if sorted(seen) != sorted(node.names):
            fail(self.name, self.log, i, 'lists', sorted(seen), 'expected', sorted(node.names))
        for name, below in node.names.items():
            self.check(i, path + (name,), below, seen[name].stat(follow_symlinks=False))
            if seen[name].inode() != self.ino(i, path + (name,)):
                fail(self.name, self.log, i, 'lists another inode for', path, name)

    def ino(self, i, path):
        return os.lstat(self.at(i, path)).st_ino

    def check(self, i, path, node, st):
        seen = (st.st_mode, st.st_uid, st.st_gid, st.st_nlink, st.st_rdev, st.st_mtime_ns if node.mtime is not None else None,
                st.st_size if node.kind != 'dir' else None)
        made = (KINDS[node.kind] | node.mode, node.uid, node.gid, node.nlink, node.rdev, node.mtime, node.size if node.kind != 'dir' else None)
        if seen != made:
            fail(self.name, self.log, i, 'sees', path, seen, 'expected', made)

    def same(self, path):
        """All mounts see the same of it, and as it is."""
        node = self.find(path)
        views = [os.lstat(self.at(i, path)) for i in range(len(DIRS))] + [os.lstat(self.at(0, path))]
        self.log.append((f'compare {"/".join(path)[:40]}', 0))
        for i, st in enumerate(views):
            self.check(i, path, node, st)
            for f in ('st_ino', 'st_mode', 'st_nlink', 'st_size', 'st_mtime_ns', 'st_ctime_ns', 'st_blocks'):
                if getattr(st, f) != getattr(views[0], f):
                    fail(self.name, self.log, f, path, [getattr(v, f) for v in views])
        if node.kind == 'link' and {os.readlink(self.at(i, path)) for i in range(len(DIRS))} != {node.target}:
            fail(self.name, self.log, 'target', path)

    def everything(self, path=()):
        yield path
        for name, below in self.find(path).names.items():
            yield path + (name,)
            if below.kind == 'dir':
                yield from self.everything(path + (name,))

    def end(self):
        while self.open:
            self.forget(0)
        paths = list(dict.fromkeys(self.everything()))
        self.r.shuffle(paths)
        for path in paths:
            self.same(path)
        for i in range(len(DIRS)):
            for path in self.directories():
                self.listed(i, path)
        i = self.r.randrange(len(DIRS))
        self.remove(i, self.at(i, ()))

    def remove(self, i, directory):
        for entry in os.scandir(directory):
            if entry.is_dir(follow_symlinks=False):
                self.remove(i, entry.path)
            else:
                os.unlink(entry.path)
        os.rmdir(directory)
        for j in range(len(DIRS)):
            if os.path.lexists(os.path.join(DIRS[j], os.path.relpath(directory, DIRS[i]))):
                fail(self.name, j, 'still sees', directory)


def in_turns(r, until):
    games = steps = 0
    while time.monotonic() < until:
        game = Game(r, f't{games}')
        others = r.choice([0, 0.02, 0.2])
        for _ in range(r.choice([5, 30, 200])):
            game.step(r.randrange(1, len(DIRS)) if len(DIRS) > 1 and r.random() < others else 0)
            steps += 1
        game.end()
        games += 1
    return games, steps


def at_once(r, until):
    """Each name: made by one, and removed by the same; exclusive makes of a name that is there fail; listings are of some moment."""
    rounds = 0
    while time.monotonic() < until:
        rounds += 1
        name = f'o{rounds}'
        os.mkdir(os.path.join(DIRS[0], name))
        lock, log = threading.Lock(), []  # (begun, done, name, made)
        end = time.monotonic() + r.choice([0.05, 0.3, 1])
        wrong = []

        def changing(i, me, random_):
            pid = f'{i}-{me}-'
            own = set()
            while time.monotonic() < end and not wrong:
                what = pid + str(random_.randrange(5))
                path = os.path.join(DIRS[i], name, what)
                begun = time.monotonic()
                if what in own:
                    if random_.random() < 0.3:
                        try:
                            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
                            wrong.append(f'{what} was made twice')
                        except FileExistsError:
                            pass
                        continue
                    if random_.random() < 0.3:
                        new = what + 'r'
                        os.rename(path, os.path.join(DIRS[i], name, new))
                        os.rename(os.path.join(DIRS[i], name, new), path)
                        log.append((begun, time.monotonic(), what, None))
                        continue
                    os.unlink(path)
                    own.discard(what)
                    log.append((begun, time.monotonic(), what, False))
                else:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
                    own.add(what)
                    log.append((begun, time.monotonic(), what, True))
            final.update(own)

        contested = []

        def contending(i, me, random_):
            path = os.path.join(DIRS[i], name, 'contested')
            while time.monotonic() < end and not wrong:
                try:
                    os.mkdir(path)
                except FileExistsError:
                    continue
                with lock:
                    contested.append(1)
                    if len(contested) != 1:
                        wrong.append('two own a directory')
                with lock:
                    contested.pop()
                os.rmdir(path)

        def looking(i, random_):
            while time.monotonic() < end and not wrong:
                begun = time.monotonic()
                seen = set(os.listdir(os.path.join(DIRS[i], name)))
                over = time.monotonic()
                looks.append((begun, over, seen, i))

        final, looks = set(), []
        threads = []

        def start(f, *args):
            def run():
                try:
                    f(*args)
                except Exception as e:
                    wrong.append(f'{f.__name__} {args[:1]} {e!r}')
            threads.append(threading.Thread(target=run, daemon=True))
        for me in range(3):
            start(changing, 0, me, random.Random(r.random()))
        for i in range(len(DIRS)):
            start(contending, i, 0, random.Random(r.random()))
        for i in range(1, len(DIRS)):
            start(changing, i, 9, random.Random(r.random()))
            start(looking, i, random.Random(r.random()))
        start(looking, 0, random.Random(r.random()))
        for t in threads:
            t.start()
        for t in threads:
            t.join(120)
            if t.is_alive():
                fail(name, 'a thread hangs')
        if wrong:
            fail(name, wrong)
        changes = {}
        for b, d, what, made in sorted(log):
            changes.setdefault(what, []).append((b, d, made))
        for begun, over, seen, i in looks:
            for what, history in changes.items():
                if any(b <= over and d >= begun for b, d, made in history):
                    continue
                before = [made for b, d, made in history if d < begun and made is not None]
                there = bool(before) and before[-1]
                if there != (what in seen):
                    fail(name, f'mount {i} lists', sorted(seen), 'though', what, 'is', there)
        for i in range(len(DIRS)):
            seen = set(os.listdir(os.path.join(DIRS[i], name)))
            if seen != final:
                fail(name, f'mount {i} lists at last', sorted(seen), 'not', sorted(final))
        i = r.randrange(len(DIRS))
        for what in final:
            os.unlink(os.path.join(DIRS[i], name, what))
        os.rmdir(os.path.join(DIRS[i], name))
    return rounds


class Doomed(Game):
    """The maker's mount dies; the trees that there were are kept, to look for the one that is left."""

    def __init__(self, r, name):
        self.states, self.safe = [], 0
        super().__init__(r, name)
        self.note()

    def note(self):
        self.states.append(self.top.snapshot())

    def synced(self, path):
        self.safe = len(self.states)  # as it is when this step is over, for what is done is sent in order

    def play(self):
        self.syncdir(0)
        self.safe = 0
        early = self.r.random() < 0.7
        for _ in range(self.r.choice([10, 100, 300])):
            if early:
                getattr(self, self.r.choice(['mkdir', 'create', 'create', 'create', 'symlink', 'mknod', 'unlink', 'rmdir', 'rename', 'look', 'list'] +
                                            (['syncdir'] if self.r.random() < 0.3 else [])))(0)
            else:
                self.step(0)
            self.note()

    def found(self, directory):
        st = os.lstat(directory)
        kind = next(k for k, v in KINDS.items() if v == stat.S_IFMT(st.st_mode))
        return kind if kind != 'dir' else \
            ('dir', stat.S_IMODE(st.st_mode), tuple(sorted(((e.name, self.found(e.path)) for e in os.scandir(directory)), key=lambda e: e[0])))

    def judge(self):
        found = self.found(self.at(1, ()))
        may = [k for k, s in enumerate(self.states) if s == found]
        if not may or max(may) < self.safe:
            fail(self.log[-60:], 'found', found, 'which is as after', may, 'of', len(self.states), 'and', self.safe, 'was synced')
        return len(self.states) - 1 - max(may)


def crash(r):
    game = Doomed(r, f'doomed{SEED}')
    game.play()
    time.sleep(r.choice([0, 0, r.random() * SECONDS]))
    os.kill(VICTIM, signal.SIGKILL)
    print(f'{len(game.states)} calls, {game.judge()} of the last are gone')


random_ = random.Random(SEED)
os.umask(0o022)
if VICTIM:
    crash(random_)
else:
    begun = time.monotonic()
    games, steps = in_turns(random_, begun + SECONDS * 0.6)
    rounds = at_once(random_, begun + SECONDS)
    print(f'{steps} calls in {games} trees, {rounds} directories with names made at once')
