"""Two mounts change a few files in every way there is, one call after another; some also read and
write through descriptors that they have had open for long. Whoever opens a file sees what was
closed before, also in pages that its kernel keeps of what it has written itself.

pages.py DIRECTORY DIRECTORY SEED ROUNDS: the same directory in both mounts."""
import mmap
import os
import random
import subprocess
import sys

directories, seed, rounds = sys.argv[1:3], int(sys.argv[3]), int(sys.argv[4])
random.seed(seed)
PAGE = 4096
NAMES = ['a', 'b']
MOST = 5 * PAGE
model = {name: b'' for name in NAMES}
held = []  # (descriptor, name, generation)
generation = {name: 0 for name in NAMES}  # which file has the name


def some(length):
    return bytes([random.randrange(1, 256)]) * length


def over(content, at, data):
    content = content.ljust(at, b'\0')
    return content[:at] + data + content[at + len(data):]


def written(fd, data, at):
    assert os.pwrite(fd, data, at) == len(data)


def span():
    at = random.choice([0, PAGE, random.randrange(MOST)])
    length = random.choice([PAGE, random.randrange(1, 2 * PAGE)])
    return at, min(length, MOST - at)


def opened(path, flags):
    return os.open(path, flags, 0o644)


def write(path, content):
    fd = opened(path, os.O_WRONLY)
    for _ in range(random.randrange(1, 3)):
        at, length = span()
        data = some(length)
        written(fd, data, at)
        content = over(content, at, data)
        if random.randrange(4) == 0:
            os.fsync(fd)
    os.close(fd)
    return content


def append(path, content):
    fd = opened(path, os.O_WRONLY | os.O_APPEND)
    data = some(random.randrange(1, PAGE))
    assert os.write(fd, data) == len(data)
    os.close(fd)
    return content + data


def direct(path, content):
    fd = opened(path, os.O_WRONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, PAGE)
    buffer.write(some(PAGE))
    at = PAGE * random.randrange(4)
    assert os.pwritev(fd, [buffer], at) == PAGE
    os.close(fd)
    return over(content, at, buffer[:])


def mapped(path, content):
    if not content:
        return None
    fd = opened(path, os.O_RDWR)
    at = random.randrange(len(content))
    data = some(min(random.randrange(1, PAGE), len(content) - at))
    with mmap.mmap(fd, 0) as pages:
        pages[at:at + len(data)] = data
        pages.flush()
    os.close(fd)
    return over(content, at, data)


def truncate(path, content):
    size = random.choice([0, PAGE, random.randrange(MOST)])
    os.truncate(path, size)
    return content[:size].ljust(size, b'\0')


def rewrite(path, _):
    fd = opened(path, os.O_WRONLY | os.O_TRUNC)
    data = some(random.choice([PAGE, 2 * PAGE, random.randrange(1, MOST)]))
    written(fd, data, 0)
    os.close(fd)
    return data


def punch(path, content):
    at = random.randrange(MOST)
    length = random.randrange(1, 2 * PAGE)
    subprocess.run(
        ['fallocate', '--punch-hole', '-o', str(at), '-l', str(length), path], check=True)
    end = min(at + length, len(content))
    return over(content, at, bytes(end - at)) if at < end else content


def chmod(path, content):
    os.chmod(path, random.choice([0o600, 0o644]))
    return content


def touch(path, content):
    os.utime(path)
    return content


def replace(path, _):
    data = some(random.randrange(1, MOST))
    fd = opened(path + '.new', os.O_WRONLY | os.O_CREAT)
    written(fd, data, 0)
    os.close(fd)
    os.rename(path + '.new', path)
    generation[os.path.basename(path)] += 1
    return data


CHANGES = [write, write, write, append, direct, mapped, truncate, rewrite, punch, chmod, touch, replace]


def beside(name, content):
    """One writes the first page while the other, which closes only later, writes the second."""
    early, late = random.sample(directories, 2)
    fd = opened(f'{late}/{name}', os.O_WRONLY)
    theirs = some(random.randrange(1, PAGE))
    written(fd, theirs, PAGE)
    ours = some(random.randrange(1, PAGE))
    own = opened(f'{early}/{name}', os.O_RDWR)
    written(own, ours, 0)
    os.pread(own, MOST, 0)
    os.close(own)
    content = over(content, 0, ours)
    with open(f'{early}/{name}', 'rb') as f:
        got = f.read(len(ours))
        assert got == ours, f'{early}/{name} does not begin with what it has written'
    os.close(fd)
    return over(content, PAGE, theirs)


def through_held(name, content):
    """What is read may be old. What is written counts."""
    fd, of, born = held.pop(random.randrange(len(held)))
    if random.randrange(2):
        os.pread(fd, MOST, 0)
        held.append((fd, of, born))
        return content
    at, length = span()
    data = some(length)
    written(fd, data, at)
    os.close(fd)
    if (of, born) == (name, generation[name]):
        return over(content, at, data)
    if born == generation[of]:
        model[of] = over(model[of], at, data)
    return content


def check(what):
    for directory in random.sample(directories, 2):
        for name in NAMES:
            with open(f'{directory}/{name}', 'rb', buffering=0) as f:
                got = f.read(2 * MOST)
            expected = model[name]
            if got != expected:
                at = next((i for i, (a, b) in enumerate(zip(got, expected)) if a != b),
                          min(len(got), len(expected)))
                sys.exit(f'seed {seed}, after {what}: {directory}/{name} is another from byte {at} on, '
                         f'{len(got)} bytes, not {len(expected)}')


for name in NAMES:
    os.close(opened(f'{directories[0]}/{name}', os.O_WRONLY | os.O_CREAT | os.O_EXCL))
for i in range(rounds):
    name = random.choice(NAMES)
    kind = random.randrange(12)
    where = random.choice(directories)
    if kind == 0 and len(held) < 6:
        held.append((opened(f'{where}/{name}', os.O_RDWR), name, generation[name]))
        what = f'held open {where}/{name}'
    elif kind == 1 and held:
        what = 'a held one'
        model[name] = through_held(name, model[name])
    elif kind == 2:
        what = f'{name} by both'
        model[name] = beside(name, model[name])
    else:
        change = random.choice(CHANGES)
        what = f'{change.__name__} {where}/{name}'
        content = change(f'{where}/{name}', model[name])
        model[name] = model[name] if content is None else content
    # Not always by both: what one has changed it changes again, and what it has not seen it sees later.
    if random.randrange(3):
        check(f'change {i}, {what}')
check('all')
