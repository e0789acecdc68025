/*
 * A disk with errors: preloaded into a program, it fails reads, writes and syncs of chosen files with EIO, has them hang or
 * take long, as long as the file CONTROL is there. Each of its lines is one fault:
 *
 *     CALL FROM TO PATH
 *
 * CALL is read, write or sync, of which those fail, or hang-read and so on, of which those wait while the line is there, or
 * slow-read and so on, of which those take SLOW_MILLIS longer. It is one that touches a byte in [FROM, TO), a sync always;
 * PATH is the beginning of the file's absolute path. Whoever changes CONTROL renames a whole new file over it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define CONTROL_BYTES 65536
#define SLOW_MILLIS 200
#define LOOK_MILLIS 20
#define HERE (-1) /* the file's own position */

static int matches(const char *line, const char *call, const char *path, long at, long length) {
    char name[16];
    long from, to;
    int start = 0;
    if (sscanf(line, "%15s %ld %ld %n", name, &from, &to, &start) != 3 || start == 0)
        return 0;
    if (strcmp(name, call) != 0 || strncmp(path, line + start, strlen(line + start)) != 0)
        return 0;
    return strstr(call, "sync") != NULL || (at < to && at + length > from);
}

static int listed(char *control, const char *call, int file, long at, long length) {
    char link[64], path[PATH_BYTES] = {0}, *rest = NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (readlink(link, path, sizeof path - 1) <= 0)
        return 0;
    if (at == HERE)
        at = syscall(SYS_lseek, file, 0L, SEEK_CUR);
    for (char *line = strtok_r(control, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (matches(line, call, path, at, length))
            return 1;
    return 0;
}

/* Whether CONTROL has a fault for such a call. */
static int faulty(const char *call, int file, long at, long length) {
    int found = 0;
    int control = (int) syscall(SYS_openat, AT_FDCWD, CONTROL, O_RDONLY | O_CLOEXEC, 0);
    if (control >= 0) {
        char *text = malloc(CONTROL_BYTES);
        long bytes = text ? syscall(SYS_read, control, text, (long) CONTROL_BYTES - 1) : -1;
        if (bytes > 0) {
            text[bytes] = 0;
            found = listed(text, call, file, at, length);
        }
        free(text);
        syscall(SYS_close, control);
    }
    return found;
}

static void pause_for(long millis) {
    struct timespec time = {millis / 1000, millis % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* Whether this call is to fail, when it has waited as it is to; errno is as it was unless it is. */
static int fails(const char *call, int file, long at, long length) {
    int before = errno, failing = 0;
    if (syscall(SYS_faccessat, AT_FDCWD, CONTROL, F_OK) == 0) {
        char other[16];
        snprintf(other, sizeof other, "hang-%s", call);
        while (faulty(other, file, at, length))
            pause_for(LOOK_MILLIS);
        snprintf(other, sizeof other, "slow-%s", call);
        if (faulty(other, file, at, length))
            pause_for(SLOW_MILLIS);
        failing = faulty(call, file, at, length);
    }
    errno = failing ? EIO : before;
    return failing;
}

ssize_t pread64(int file, void *to, size_t length, off_t at) {
    return fails("read", file, at, (long) length) ? -1 : syscall(SYS_pread64, file, to, length, at);
}

ssize_t pread(int file, void *to, size_t length, off_t at) {
    return pread64(file, to, length, at);
}

ssize_t pwrite64(int file, const void *from, size_t length, off_t at) {
    return fails("write", file, at, (long) length) ? -1 : syscall(SYS_pwrite64, file, from, length, at);
}

ssize_t pwrite(int file, const void *from, size_t length, off_t at) {
    return pwrite64(file, from, length, at);
}

ssize_t write(int file, const void *from, size_t length) {
    return fails("write", file, HERE, (long) length) ? -1 : syscall(SYS_write, file, from, length);
}

int fdatasync(int file) {
    return fails("sync", file, 0, 0) ? -1 : (int) syscall(SYS_fdatasync, file);
}

int fsync(int file) {
    return fails("sync", file, 0, 0) ? -1 : (int) syscall(SYS_fsync, file);
}
