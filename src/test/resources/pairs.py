# What one mount sees after a call of another one has returned: a table of pairs of operations. Arguments: a directory in
# two mounts, the attribute timeout of both in seconds (0 with leases), rounds, and rows ('all').
#
# Each row prepares, acts on one mount, and returns what the other one is asked and what it must answer. A row is STRONG: true
# at once, each time; or it names what it may wait for: TERM, the attribute timeout of the kernel, with 0 it must be strong; or
# OPEN, an open of the file a second later (fsync publishes a size at once, an mtime within a second). As caches and leases
# come, rows are tightened here.
import fcntl, mmap, os, sys, threading, time

STRONG, TERM, OPEN = 'strong', 'within a term', 'at a later open'
LIMIT = 30


def put(path, data=b''):
    with open(path, 'wb') as f:
        f.write(data)


def get(path):
    with open(path, 'rb') as f:
        return f.read()


def error(call, *arguments, **named):
    try:
        return call(*arguments, **named)
    except OSError as e:
        return type(e).__name__


class Pair:
    """One round of a row: a name of its own, seen from both sides, and the descriptors that it holds."""

    def __init__(self, here, there, name):
        self.here, self.there, self.name = os.path.join(here, name), os.path.join(there, name), name
        self.fds = []

    def open(self, path, flags=os.O_RDWR):
        self.fds.append(os.open(path, flags | os.O_CREAT, 0o644))
        return self.fds[-1]

    def held(self, prepared=b'before'):
        """A file that both hold open, and that the second has read."""
        put(self.here, prepared)
        self.a, self.b = self.open(self.here), self.open(self.there)
        os.pread(self.b, 100, 0)
        os.fstat(self.b)

    def close(self):
        for fd in self.fds:
            os.close(fd)


ROWS = []


def row(kind):
    def add(body):
        ROWS.append((body.__name__.replace('__', ' / '), kind, body))
        return body
    return add


@row(STRONG)
def create__stat(p):
    assert error(os.stat, p.there) == 'FileNotFoundError'
    put(p.here)
    return lambda: error(os.stat, p.there).st_size, 0


@row(STRONG)
def mkdir__readdir(p):
    os.mkdir(p.here)
    os.listdir(p.there)
    os.mkdir(p.here + '/d')
    put(p.here + '/f')
    return lambda: sorted(os.listdir(p.there)), ['d', 'f']


@row(STRONG)
def unlink__open(p):
    put(p.here, b'x')
    get(p.there)
    os.unlink(p.here)
    return lambda: error(get, p.there), 'FileNotFoundError'


@row(STRONG)
def unlink__read_of_an_open_file(p):
    p.held()
    os.unlink(p.here)
    return lambda: os.pread(p.b, 100, 0), b'before'


@row(STRONG)
def rmdir__create(p):
    os.mkdir(p.here)
    os.listdir(p.there)
    os.rmdir(p.here)
    return lambda: error(put, p.there + '/f'), 'FileNotFoundError'


@row(STRONG)
def create__rmdir(p):
    os.mkdir(p.here)
    os.listdir(p.there)
    put(p.here + '/f')
    return lambda: error(os.rmdir, p.there), 'OSError'


@row(STRONG)
def rename__lookup(p):
    put(p.here, b'moved')
    get(p.there)
    os.rename(p.here, p.here + '-to')
    return lambda: (os.path.exists(p.there), get(p.there + '-to')), (False, b'moved')


@row(STRONG)
def rename_over__read(p):
    put(p.here, b'old')
    get(p.there)
    put(p.here + '-new', b'new')
    os.rename(p.here + '-new', p.here)
    return lambda: get(p.there), b'new'


@row(STRONG)
def rename_of_a_directory__lookup_below(p):
    os.mkdir(p.here)
    put(p.here + '/f', b'x')
    get(p.there + '/f')
    os.rename(p.here, p.here + '-to')
    return lambda: (os.path.exists(p.there + '/f'), get(p.there + '-to/f')), (False, b'x')


@row(STRONG)
def link__lookup(p):
    put(p.here, b'x')
    os.link(p.here, p.here + '-2')
    return lambda: get(p.there + '-2'), b'x'


@row(TERM)
def link__stat_of_the_other_name(p):
    p.held()
    os.link(p.here, p.here + '-2')
    return lambda: os.fstat(p.b).st_nlink, 2


@row(STRONG)
def symlink__readlink(p):
    os.symlink('target', p.here)
    return lambda: os.readlink(p.there), 'target'


@row(STRONG)
def exclusive__exclusive(p):
    made = []
    start = threading.Barrier(2)

    def make(path):
        start.wait()
        made.append(error(os.open, path, os.O_CREAT | os.O_EXCL | os.O_RDWR))
    threads = [threading.Thread(target=make, args=(path,)) for path in (p.here, p.there)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    p.fds += [m for m in made if isinstance(m, int)]
    return lambda: sorted(str(type(m).__name__) for m in made), ['int', 'str']


@row(STRONG)
def setxattr__getxattr(p):
    put(p.here)
    error(os.getxattr, p.there, 'user.a')
    os.setxattr(p.here, 'user.a', b'value')
    return lambda: (os.getxattr(p.there, 'user.a'), os.listxattr(p.there)), (b'value', ['user.a'])


@row(STRONG)
def removexattr__getxattr(p):
    put(p.here)
    os.setxattr(p.here, 'user.a', b'value')
    os.getxattr(p.there, 'user.a')
    os.removexattr(p.here, 'user.a')
    return lambda: error(os.getxattr, p.there, 'user.a'), 'OSError'


@row(TERM)
def chmod__access(p):
    p.held()
    os.chmod(p.here, 0o600)
    return lambda: os.fstat(p.b).st_mode & 0o777, 0o600


@row(STRONG)
def chmod__stat_by_name(p):
    put(p.here)
    os.stat(p.there)
    os.chmod(p.here, 0o600)
    return lambda: os.stat(p.there).st_mode & 0o777, 0o600


@row(STRONG)
def utimens__stat_by_name(p):
    put(p.here)
    os.stat(p.there)
    os.utime(p.here, ns=(1, 10**18 + 7))
    return lambda: os.stat(p.there).st_mtime_ns, 10**18 + 7


@row(STRONG)
def close__open(p):
    put(p.here, b'one')
    get(p.there)
    put(p.here, b'another one')
    return lambda: (get(p.there), os.stat(p.there).st_size), (b'another one', 11)


@row(STRONG)
def fsync__open(p):
    p.held()
    os.pwrite(p.a, b'after, and longer', 0)
    os.fsync(p.a)
    return lambda: get(p.there), b'after, and longer'


@row(TERM)
def write__stat_by_name(p):
    p.held()
    os.pwrite(p.a, b'x' * 1000, 0)
    return lambda: os.stat(p.there).st_size, 1000


@row(TERM)
def write__stat_by_name_again_and_again(p):
    """What is answered for one look lies before the next write."""
    p.held()
    sizes = []
    for i in range(10):
        os.pwrite(p.a, b'x' * 10, 10 * i)
        sizes.append(os.stat(p.there).st_size)
    return lambda: sizes, [10 * (i + 1) for i in range(10)]


@row(TERM)
def write__fstat_where_it_is_open_for_reading(p):
    put(p.here, b'before')
    p.a, b = p.open(p.here), os.open(p.there, os.O_RDONLY)
    p.fds.append(b)
    os.fstat(b)
    os.pwrite(p.a, b'x' * 1000, 0)
    return lambda: os.fstat(b).st_size, 1000


@row(TERM)
def write_of_no_more__mtime(p):
    p.held()
    os.utime(p.here, ns=(10**18, 10**18))
    os.stat(p.there)
    os.pwrite(p.a, b'BEFORE', 0)
    return lambda: (os.fstat(p.a).st_mtime_ns, os.stat(p.there).st_mtime_ns > 10**18), (os.fstat(p.a).st_mtime_ns, True)


@row(TERM)
def write_of_more__read_of_an_open_file(p):
    p.held()
    os.pwrite(p.a, b'longer', 6)
    return lambda: os.pread(p.b, 100, 0), b'beforelonger'


@row(TERM)
def write_of_more__open_at_the_end(p):
    p.held()
    os.pwrite(p.a, b'longer', 6)
    return lambda: os.lseek(p.open(p.there), 0, os.SEEK_END), 12


@row(TERM)
def write__listing(p):
    os.mkdir(p.here)
    p.a = p.open(p.here + '/f')
    list(os.scandir(p.there))
    os.pwrite(p.a, b'x' * 1000, 0)
    return lambda: [e.stat().st_size for e in os.scandir(p.there)], [1000]


@row(STRONG)
def fsync__stat_by_name(p):
    p.held()
    os.pwrite(p.a, b'x' * 1000, 0)
    os.fsync(p.a)
    return lambda: os.stat(p.there).st_size, 1000


@row(TERM)
def fsync__fstat(p):
    p.held()
    os.pwrite(p.a, b'x' * 1000, 0)
    os.fsync(p.a)
    return lambda: os.fstat(p.b).st_size, 1000


@row(TERM)
def fsync_of_more__read_of_an_open_file(p):
    p.held()
    os.pwrite(p.a, b'longer', 6)
    os.fsync(p.a)
    return lambda: os.pread(p.b, 100, 6), b'longer'


@row(OPEN)
def overwrite__read_of_an_open_file(p):
    """Pages that the second has read stay until it opens the file again, and knows of the new mtime."""
    p.held()
    os.pwrite(p.a, b'AFTER!', 0)
    os.fsync(p.a)
    return lambda: os.pread(p.b, 100, 0), b'AFTER!'


@row(STRONG)
def overwrite__direct_read_of_an_open_file(p):
    put(p.here, b'b' * 4096)
    p.a = p.open(p.here)
    b = p.open(p.there, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 4096)
    os.preadv(b, [buffer], 0)
    os.pwrite(p.a, b'A' * 4096, 0)

    def read():
        os.preadv(b, [buffer], 0)
        return buffer[:]
    return read, b'A' * 4096


@row(STRONG)
def mapped_write_and_msync__open(p):
    put(p.here, b'b' * 4096)
    get(p.there)
    a = p.open(p.here)
    with mmap.mmap(a, 4096) as memory:
        memory[:5] = b'AFTER'
        memory.flush()
    os.fsync(a)
    return lambda: get(p.there)[:6], b'AFTERb'


@row(STRONG)
def truncate__open(p):
    put(p.here, b'x' * 10000)
    get(p.there)
    os.truncate(p.here, 5)
    return lambda: get(p.there), b'xxxxx'


@row(STRONG)
def truncate__write_of_an_open_file(p):
    p.held(b'x' * 10000)
    os.truncate(p.here, 0)
    os.pwrite(p.b, b'y', 10)
    os.fsync(p.b)
    return lambda: get(p.here), bytes(10) + b'y'


@row(STRONG)
def fallocate__stat_by_name(p):
    p.held()
    os.posix_fallocate(p.a, 0, 5000)
    return lambda: os.stat(p.there).st_size, 5000


@row(STRONG)
def append__append(p):
    put(p.here)
    a, b = (p.open(x, os.O_WRONLY | os.O_APPEND) for x in (p.here, p.there))
    for i in range(4):
        os.write(a, b'a%d\n' % i)
        os.write(b, b'b%d\n' % i)
    os.fsync(a)
    os.fsync(b)
    return lambda: get(p.here), b''.join(b'a%d\nb%d\n' % (i, i) for i in range(4))


@row(STRONG)
def lock__lock(p):
    p.held()
    fcntl.flock(p.a, fcntl.LOCK_EX)
    return lambda: error(fcntl.flock, p.b, fcntl.LOCK_EX | fcntl.LOCK_NB), 'BlockingIOError'


@row(STRONG)
def write_and_unlock__lock_and_read(p):
    p.held()
    fcntl.flock(p.a, fcntl.LOCK_EX)
    os.pwrite(p.a, b'AFTER!!', 0)
    fcntl.flock(p.a, fcntl.LOCK_UN)
    fcntl.flock(p.b, fcntl.LOCK_EX)
    return lambda: (os.pread(p.b, 100, 0), os.fstat(p.b).st_size), (b'AFTER!!', 7)


def main():
    one, two, term, rounds, wanted = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    faults = []
    for name, kind, body in ROWS:
        if wanted not in ('all', name):
            continue
        late = 0
        for i in range(rounds):
            here, there = (one, two) if i % 2 == 0 else (two, one)
            p = Pair(here, there, 'row-%d-%d' % (ROWS.index((name, kind, body)), i))
            ask, expected = body(p)
            got = ask()
            if got != expected:
                late += 1
                if kind == STRONG or (kind == TERM and term == 0):
                    faults.append('%s: %r instead of %r' % (name, got, expected))
                elif kind == TERM:
                    end = time.monotonic() + LIMIT
                    while ask() != expected and time.monotonic() < end:
                        time.sleep(0.01)
                    if ask() != expected:
                        faults.append('%s: %r for ever' % (name, ask()))
                else:
                    end = time.monotonic() + LIMIT
                    while get(p.there) != expected and time.monotonic() < end:
                        time.sleep(0.01)
                    if get(p.there) != expected:
                        faults.append('%s: %r after an open' % (name, get(p.there)))
            p.close()
        print('%-45s %-16s %d of %d late' % (name, kind, late, rounds), flush=True)
    assert not faults, faults


main()
