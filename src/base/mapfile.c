/* Read-only file maps (POSIX), and finding the file behind an address through /proc/self/maps. */
#include "base/mapfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static npu_status refuse_kind(const char *path, mode_t mode, npu_error *err) {
    if (S_ISDIR(mode)) return npu_fail(err, NPU_INVALID, "file.directory", "%s is a directory, not a file", path);
    return npu_fail(err, NPU_INVALID, "file.not_regular", "%s is not a regular file", path);
}

/* Large pages, which a file has when it was written lately, are mapped as a whole where anything in them is read: the
 * norms of a model would bring back the weights beside them that npu_map_drop gave back. */
static void *small_pages(void *data, size_t bytes) {
    madvise(data, bytes, MADV_NOHUGEPAGE); /* advice: failing changes nothing */
    return data;
}

npu_status npu_map_open(const char *path, npu_map *out, npu_error *err) {
    memset(out, 0, sizeof *out);
    /* O_NONBLOCK: a pipe without a writer must not hang before it can be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        npu_status status = errno == ENOENT || errno == ENOTDIR ? NPU_NOT_FOUND : NPU_IO;
        return npu_fail(err, status, "file.open", "cannot open %s: %s", path, strerror(errno));
    }
    npu_status status = NPU_OK;
    struct stat st;
    if (fstat(fd, &st) != 0) {
        status = npu_fail(err, NPU_IO, "file.stat", "cannot read %s: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode)) {
        status = refuse_kind(path, st.st_mode, err);
    } else if ((uint64_t)st.st_size > SIZE_MAX) {
        status = npu_fail(err, NPU_NO_MEMORY, "file.map", "%s is too large to map: %llu bytes", path,
                          (unsigned long long)st.st_size);
    } else if (st.st_size > 0) {
        void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (data == MAP_FAILED)
            status = npu_fail(err, errno == ENOMEM ? NPU_NO_MEMORY : NPU_IO, "file.map", "cannot map %s: %s", path,
                              strerror(errno));
        else
            out->data = small_pages(data, (size_t)st.st_size);
    }
    close(fd);
    if (status != NPU_OK) return status;
    out->size = (uint64_t)st.st_size;
    out->mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    out->ctime_ns = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
    out->device = (uint64_t)st.st_dev;
    out->inode = (uint64_t)st.st_ino;
    return NPU_OK;
}

void npu_map_close(npu_map *map) {
    if (map->data) munmap((void *)(uintptr_t)map->data, (size_t)map->size);
    memset(map, 0, sizeof *map);
}

void npu_map_drop(const void *from, uint64_t bytes) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)from;
    uintptr_t end = (first + (uintptr_t)bytes) / page * page;
    first = (first + page - 1) / page * page;
    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED); /* advice: failing changes nothing */
}

/* The system copies, for which a page that is not there is an error and no signal. */
bool npu_map_copy(void *to, const void *from, uint64_t bytes) {
    for (uint64_t done = 0; done < bytes;) {
        struct iovec local = {(char *)to + done, bytes - done};
        struct iovec remote = {(char *)(uintptr_t)from + done, bytes - done};
        ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
            memcpy((char *)to + done, (const char *)from + done, bytes - done);
            return true;
        }
        if (n <= 0) return false;
        done += (uint64_t)n;
    }
    return true;
}

/* One line of /proc/self/maps is "from-to perms offset device inode      path", numbers in hexadecimal. The scanner is
 * fed byte by byte, because a signal handler has no stdio and a line may straddle two reads. */
typedef struct maps_scan {
    uintptr_t wanted, from, to;
    int field; /* 0: from, 1: to, 2 to 5: skipped, 6: path */
    bool gap;  /* in the blanks before the path */
    char *path;
    size_t size, used;
} maps_scan;

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

/* True when a line that covers the wanted address has ended. */
static bool maps_feed(maps_scan *s, char c) {
    if (c == '\n') {
        bool hit = s->field == 6 && s->used > 0 && s->wanted >= s->from && s->wanted < s->to;
        if (hit) return true;
        s->from = s->to = 0;
        s->field = 0;
        s->used = 0;
        return false;
    }
    if (s->field < 2) {
        int digit = hex_digit(c);
        uintptr_t *number = s->field == 0 ? &s->from : &s->to;
        if (digit >= 0)
            *number = *number << 4 | (uintptr_t)digit;
        else
            s->field++;
    } else if (s->field < 6) {
        if (c == ' ') s->field++;
        s->gap = true;
    } else if (!(s->gap && c == ' ')) {
        s->gap = false;
        if (s->used + 1 < s->size) s->path[s->used++] = c;
    }
    return false;
}

bool npu_map_name_at(const void *address, char *path, size_t size) {
    if (size == 0) return false;
    int saved = errno;
    bool found = false;
    maps_scan scan = {.wanted = (uintptr_t)address, .path = path, .size = size};
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        char buffer[1024];
        ssize_t n;
        while (!found && ((n = read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)))
            for (ssize_t i = 0; i < n && !found; i++) found = maps_feed(&scan, buffer[i]);
        close(fd);
    }
    path[found ? scan.used : 0] = 0;
    errno = saved;
    return found && path[0] == '/';
}
