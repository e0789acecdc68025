"""NFS clients for tests, without a kernel's: version 3 and 4 through libnfs, and single calls, with a file handle of
version 4 that was kept, and for what libnfs does not ask. Run as a program it executes Python that it gets on its standard input, piece by piece, and
keeps the variables: two lines for each piece, the number of its bytes and then that many bytes."""
import ctypes, errno, itertools, os, socket, struct, sys, traceback

SERVER, PORT, MOUNT_PORT, EXPORT = '127.0.0.1', 2049, 20048, '/cairn'
O_RDONLY, O_RDWR, O_CREAT, O_SYNC, O_TRUNC = os.O_RDONLY, os.O_RDWR, os.O_CREAT, os.O_SYNC, os.O_TRUNC

libnfs = ctypes.CDLL('libnfs.so.13')
_clients = itertools.count(1)
_ptr, _str, _int, _u64 = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64


class Dirent(ctypes.Structure):
    _fields_ = [('next', _ptr), ('name', _str), ('inode', _u64)]


class Stat(ctypes.Structure):
    _fields_ = [(name, _u64) for name in (
        'dev', 'ino', 'mode', 'nlink', 'uid', 'gid', 'rdev', 'size', 'blksize', 'blocks',
        'atime', 'mtime', 'ctime', 'atime_nsec', 'mtime_nsec', 'ctime_nsec', 'used')]


def _declare(name, result, *arguments):
    function = getattr(libnfs, name)
    function.restype, function.argtypes = result, arguments


_declare('nfs_init_context', _ptr)
_declare('nfs_get_error', _str, _ptr)
_declare('nfs_set_version', _int, _ptr, _int)
_declare('nfs4_set_client_name', None, _ptr, _str)
_declare('nfs_set_uid', None, _ptr, _int)
_declare('nfs_set_gid', None, _ptr, _int)
_declare('nfs_mount', _int, _ptr, _str, _str)
_declare('nfs_creat', _int, _ptr, _str, _int, ctypes.POINTER(_ptr))
_declare('nfs_open', _int, _ptr, _str, _int, ctypes.POINTER(_ptr))
_declare('nfs_close', _int, _ptr, _ptr)
_declare('nfs_fsync', _int, _ptr, _ptr)
_declare('nfs_fstat64', _int, _ptr, _ptr, ctypes.POINTER(Stat))
_declare('nfs_lstat64', _int, _ptr, _str, ctypes.POINTER(Stat))
_declare('nfs_pwrite', _int, _ptr, _ptr, _u64, _u64, _str)
_declare('nfs_pread', _int, _ptr, _ptr, _u64, _u64, _ptr)
_declare('nfs_ftruncate', _int, _ptr, _ptr, _u64)
_declare('nfs_mkdir', _int, _ptr, _str)
_declare('nfs_rmdir', _int, _ptr, _str)
_declare('nfs_unlink', _int, _ptr, _str)
_declare('nfs_rename', _int, _ptr, _str, _str)
_declare('nfs_link', _int, _ptr, _str, _str)
_declare('nfs_symlink', _int, _ptr, _str, _str)
_declare('nfs_opendir', _int, _ptr, _str, ctypes.POINTER(_ptr))
_declare('nfs_readdir', ctypes.POINTER(Dirent), _ptr, _ptr)
_declare('nfs_closedir', None, _ptr, _ptr)


class Client:
    """A mount of the export in this process. Failures are OSErrors with the server's error, but EFAULT for all of reads
    and writes, as libnfs has it."""

    def __init__(self, version, uid=1000):
        self.context = libnfs.nfs_init_context()
        self.largest_write = 1 << 19 if version == 3 else 1 << 11  # a call of version 4 has 4 KiB in libnfs 4.0
        libnfs.nfs_set_version(self.context, version)
        # Its own has the time in seconds, and a second client of that name ends what the first one has open.
        libnfs.nfs4_set_client_name(self.context, b'cairn test %d %d' % (os.getpid(), next(_clients)))
        libnfs.nfs_set_uid(self.context, uid)
        libnfs.nfs_set_gid(self.context, uid)
        self.call('mount', SERVER.encode(), EXPORT.encode())

    def call(self, name, *arguments):
        result = getattr(libnfs, 'nfs_' + name)(self.context, *arguments)
        if result < 0:
            raise OSError(-result, (libnfs.nfs_get_error(self.context) or b'').decode())
        return result

    def open(self, path, flags=O_RDONLY):
        handle = _ptr()
        if flags & O_CREAT:  # its handle may not write in version 4
            try:
                self.call('creat', path.encode(), 0o644, ctypes.byref(handle))
                self.call('close', handle)
            except FileExistsError:
                pass
            handle = _ptr()
        self.call('open', path.encode(), flags & ~O_CREAT, ctypes.byref(handle))
        return File(self, handle)

    def write(self, path, data):
        file = self.open(path, O_RDWR | O_CREAT)
        file.write(0, data)
        file.commit()
        file.close()

    def read(self, path):
        file = self.open(path)
        data = file.read()
        file.close()
        return data

    def stat(self, path):
        stat = Stat()
        self.call('lstat64', path.encode(), ctypes.byref(stat))
        return stat

    def mkdir(self, path): self.call('mkdir', path.encode())
    def rmdir(self, path): self.call('rmdir', path.encode())
    def unlink(self, path): self.call('unlink', path.encode())
    def rename(self, path, new): self.call('rename', path.encode(), new.encode())
    def link(self, path, new): self.call('link', path.encode(), new.encode())
    def symlink(self, target, path): self.call('symlink', target.encode(), path.encode())

    def names(self, path):
        directory = _ptr()
        self.call('opendir', path.encode(), ctypes.byref(directory))
        names = []
        while entry := libnfs.nfs_readdir(self.context, directory):
            names.append(entry.contents.name.decode())
        libnfs.nfs_closedir(self.context, directory)
        return [name for name in names if name not in ('.', '..')]


class File:
    """An open file; in version 3 nothing but its handle."""

    def __init__(self, client, handle):
        self.client, self.handle = client, handle

    def write(self, offset, data):
        """UNSTABLE, FILE_SYNC where it was opened with O_SYNC."""
        while data:
            written = self.client.call('pwrite', self.handle, offset, min(len(data), self.client.largest_write), data)
            offset, data = offset + written, data[written:]

    def read(self, offset=0, length=1 << 30):
        data = b''
        while length > len(data):
            piece = ctypes.create_string_buffer(min(1 << 16, length - len(data)))
            got = self.client.call('pread', self.handle, offset + len(data), len(piece), piece)
            if got == 0:
                break
            data += piece.raw[:got]
        return data

    def stat(self):
        stat = Stat()
        self.client.call('fstat64', self.handle, ctypes.byref(stat))
        return stat

    def commit(self): self.client.call('fsync', self.handle)
    def truncate(self, size): self.client.call('ftruncate', self.handle, size)
    def close(self): self.client.call('close', self.handle)


# ---- single calls by hand

def _opaque(data):
    return struct.pack('>I', len(data)) + data + bytes(-len(data) % 4)


class Reply:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        return struct.unpack('>I', self.fixed(4))[0]

    def fixed(self, length):
        self.at += length
        return self.data[self.at - length:self.at]

    def opaque(self):
        length = self.u32()
        data = self.fixed(length)
        self.fixed(-length % 4)
        return data


def _call(port, program, version, procedure, arguments, uid=1000):
    credentials = struct.pack('>I', 0) + _opaque(b'test') + struct.pack('>III', uid, uid, 0)
    call = struct.pack('>IIIIII', 1, 0, 2, program, version, procedure)
    call += struct.pack('>I', 1) + _opaque(credentials) + struct.pack('>II', 0, 0) + arguments
    with socket.create_connection((SERVER, port), timeout=120) as connection:
        connection.sendall(struct.pack('>I', 0x80000000 | len(call)) + call)
        stream, data, last = connection.makefile('rb'), b'', False
        while not last:
            mark = struct.unpack('>I', stream.read(4))[0]
            last, data = mark >> 31, data + stream.read(mark & 0x7fffffff)
    reply = Reply(data)
    reply.fixed(24)  # as the server has no verifier: xid, REPLY, accepted, AUTH_NONE, no bytes, SUCCESS
    return reply


# ---- version 3: what kernels ask of large directories, which libnfs never does: names without attributes

_MOUNT, _NFS = 100005, 100003
_LOOKUP3, _READDIR3 = 3, 16


def handle3(path):
    reply = _call(MOUNT_PORT, _MOUNT, 3, 1, _opaque(EXPORT.encode()))
    assert reply.u32() == 0
    handle = reply.opaque()
    for name in path.strip('/').split('/'):
        reply = _call(PORT, _NFS, 3, _LOOKUP3, _opaque(handle) + _opaque(name.encode()))
        assert reply.u32() == 0
        handle = reply.opaque()
    return handle


def names3(directory):
    names, cookie, verifier, end = [], 0, bytes(8), False
    while not end:
        arguments = _opaque(directory) + struct.pack('>Q', cookie) + verifier + struct.pack('>I', 1 << 14)
        reply = _call(PORT, _NFS, 3, _READDIR3, arguments)
        assert reply.u32() == 0
        if reply.u32():
            reply.fixed(84)  # attributes of the directory
        verifier = reply.fixed(8)
        while reply.u32():
            reply.fixed(8)
            names.append(reply.opaque().decode())
            cookie = struct.unpack('>Q', reply.fixed(8))[0]
        end = reply.u32()
    return [name for name in names if name not in ('.', '..')]


# ---- version 4: what a client does that was away while the server started anew

NFS4ERR_ACCESS, NFS4ERR_STALE = 13, 70
UNSTABLE, FILE_SYNC = 0, 2
_COMMIT, _GETFH, _LOOKUP, _PUTFH, _PUTROOTFH, _READ, _WRITE = 5, 10, 15, 22, 24, 25, 38
_ANONYMOUS = bytes(16)


class Nfs4Error(Exception):
    def __init__(self, status):
        super().__init__(f'NFS4 status {status}')
        self.status = status


def compound(*operations, uid=1000):
    """Each a number and its arguments, encoded. Returns the results, behind the first one's number."""
    arguments = _opaque(b'') + struct.pack('>II', 0, len(operations))
    arguments += b''.join(struct.pack('>I', number) + arguments for number, arguments in operations)
    reply = _call(PORT, _NFS, 4, 1, arguments, uid)
    status = reply.u32()
    if status:
        raise Nfs4Error(status)
    reply.opaque()
    reply.u32()
    return reply


def _expect(reply, operation):
    number, status = reply.u32(), reply.u32()
    assert (number, status) == (operation, 0), (number, status)


def handle4(path):
    names = [name for name in (EXPORT + path).split('/') if name]
    reply = compound((_PUTROOTFH, b''), *((_LOOKUP, _opaque(name.encode())) for name in names), (_GETFH, b''))
    _expect(reply, _PUTROOTFH)
    for _ in names:
        _expect(reply, _LOOKUP)
    _expect(reply, _GETFH)
    return reply.opaque()


def read4(handle, *names):
    """The first 64 KiB of the file, or of the one that these names lead to from the directory."""
    lookups = [(_LOOKUP, _opaque(name.encode())) for name in names]
    reply = compound((_PUTFH, _opaque(handle)), *lookups, (_READ, _ANONYMOUS + struct.pack('>QI', 0, 1 << 16)))
    _expect(reply, _PUTFH)
    for _ in names:
        _expect(reply, _LOOKUP)
    _expect(reply, _READ)
    reply.u32()
    return reply.opaque()


def write4(handle, offset, data, stable=FILE_SYNC, uid=1000):
    """Returns the verifier: another one means that what was not stable is to be sent again."""
    arguments = _ANONYMOUS + struct.pack('>QI', offset, stable) + _opaque(data)
    reply = compound((_PUTFH, _opaque(handle)), (_WRITE, arguments), uid=uid)
    _expect(reply, _PUTFH)
    _expect(reply, _WRITE)
    assert reply.u32() == len(data) and reply.u32() >= stable
    return reply.fixed(8)


def commit4(handle):
    reply = compound((_PUTFH, _opaque(handle)), (_COMMIT, struct.pack('>QI', 0, 0)))
    _expect(reply, _PUTFH)
    _expect(reply, _COMMIT)
    return reply.fixed(8)


def fails(error, action, *arguments):
    """With this errno, or status of version 4."""
    try:
        result = action(*arguments)
    except OSError as e:
        assert e.errno == error, e
    except Nfs4Error as e:
        assert e.status == error, e
    else:
        assert False, f'{result!r} instead of error {error}'


def serve():
    variables = globals()
    while line := sys.stdin.buffer.readline():
        code = sys.stdin.buffer.read(int(line))
        try:
            exec(compile(code, 'the test', 'exec'), variables)
            answer = ''
        except BaseException:
            answer = traceback.format_exc()
        answer = answer.encode()
        sys.stdout.buffer.write(b'%d\n%s' % (len(answer), answer))
        sys.stdout.buffer.flush()


if __name__ == '__main__':
    serve()
