/* See cache_dir.h. */
#include "cache/cache_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define IMAGE ".weights"
#define KNOWN ".known"
#define PART  "part-"

enum { OLD_PART_S = 60, OLD_KNOWN_S = 60 * 86400 };

static char *join(const char *dir, const char *file) {
    size_t size = strlen(dir) + strlen(file) + 2;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%s/%s", dir, file);
    return path;
}

static bool status_of(const char *dir, const char *file, struct stat *st) {
    char *path = join(dir, file);
    bool found = path && lstat(path, st) == 0;
    free(path);
    return found;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static void layout_end(const char *layout, char out[32]) {
    snprintf(out, 32, "-%016llx" IMAGE, (unsigned long long)npu_cache_hash64(layout, strlen(layout)));
}

char *npu_cache_dir_image(const char *dir, npu_hash128 content, const char *layout) {
    char end[32], file[80];
    layout_end(layout, end);
    snprintf(file, sizeof file, "%016llx%016llx%s", (unsigned long long)content.high, (unsigned long long)content.low,
             end);
    return join(dir, file);
}

bool npu_cache_dir_has_layout(const char *dir, const char *layout) {
    char end[32];
    bool found = false;
    layout_end(layout, end);
    DIR *d = opendir(dir);
    for (struct dirent *e; d && !found && (e = readdir(d));) found = ends_with(e->d_name, end);
    if (d) closedir(d);
    return found;
}

static char *known_path(const char *dir, npu_hash128 name) {
    char file[48];
    snprintf(file, sizeof file, "%016llx%016llx" KNOWN, (unsigned long long)name.high, (unsigned long long)name.low);
    return join(dir, file);
}

bool npu_cache_dir_load(const char *dir, npu_hash128 name, void *out, size_t size) {
    struct stat st;
    char *path = known_path(dir, name);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
                st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) && read(fd, out, size) == (ssize_t)size;
    if (good) (void)futimens(fd, NULL);
    if (fd >= 0) close(fd);
    free(path);
    return good;
}

static npu_status say(const char *path, int why, npu_error *err) {
    return npu_fail(err, NPU_IO, "cache.write", "%s: %s", path, strerror(why));
}

/* The folders above may be shared, what is packed is this user's. */
static npu_status make_dirs(const char *dir, npu_error *err) {
    char *path = strdup(dir);
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    npu_status status = NPU_OK;
    for (char *p = path + 1; status == NPU_OK; p++) {
        char c = *p;
        if (c && c != '/') continue;
        *p = 0;
        if (mkdir(path, c ? 0777 : 0700) != 0 && errno != EEXIST) status = say(path, errno, err);
        *p = c;
        if (!c) break;
    }
    free(path);
    return status;
}

npu_status npu_cache_dir_begin(const char *dir, char **part, int *fd, npu_error *err) {
    *part = NULL;
    *fd = -1;
    NPU_TRY(make_dirs(dir, err));
    char *path = join(dir, PART "XXXXXX");
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    *fd = mkostemp(path, O_CLOEXEC);
    if (*fd < 0) {
        npu_status status = say(dir, errno, err);
        free(path);
        return status;
    }
    (void)flock(*fd, LOCK_EX | LOCK_NB);
    *part = path;
    return NPU_OK;
}

npu_status npu_cache_dir_end(char *part, int fd, const char *path, npu_status status, npu_error *err) {
    if (status == NPU_OK && rename(part, path) != 0) status = say(path, errno, err);
    if (status != NPU_OK) (void)unlink(part);
    close(fd);
    free(part);
    return status;
}

npu_status npu_cache_dir_store(const char *dir, npu_hash128 name, const void *data, size_t size, npu_error *err) {
    char *part, *path = known_path(dir, name);
    int fd;
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    npu_status status = npu_cache_dir_begin(dir, &part, &fd, err);
    if (status == NPU_OK) {
        errno = 0;
        if (write(fd, data, size) != (ssize_t)size) status = say(path, errno ? errno : ENOSPC, err);
        status = npu_cache_dir_end(part, fd, path, status, err);
    }
    free(path);
    return status;
}

static int by_use(const void *a, const void *b) {
    int64_t x = ((const npu_cache_name *)a)->used_ns, y = ((const npu_cache_name *)b)->used_ns;
    return (x > y) - (x < y);
}

static bool describe(const char *dir, const char *file, npu_cache_name *out) {
    struct stat st;
    if (!ends_with(file, IMAGE) || strlen(file) >= sizeof out->file) return false;
    if (!status_of(dir, file, &st)) return false;
    *out = (npu_cache_name){.bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
                            .used_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
    memcpy(out->file, file, strlen(file) + 1);
    return true;
}

npu_status npu_cache_dir_list(const char *dir, npu_cache_name **out, size_t *n, npu_error *err) {
    size_t room = 0;
    *out = NULL;
    *n = 0;
    DIR *d = opendir(dir);
    if (!d && errno == ENOENT) return NPU_OK;
    if (!d) return npu_fail(err, NPU_IO, "cache.read", "%s: %s", dir, strerror(errno));
    for (struct dirent *e; (e = readdir(d));) {
        npu_cache_name name;
        if (!describe(dir, e->d_name, &name)) continue;
        if (*n == room) {
            room = room ? 2 * room : 16;
            npu_cache_name *more = realloc(*out, room * sizeof *more);
            if (!more) {
                free(*out);
                *out = NULL;
                closedir(d);
                return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a list of files");
            }
            *out = more;
        }
        (*out)[(*n)++] = name;
    }
    closedir(d);
    if (*n) qsort(*out, *n, sizeof **out, by_use);
    return NPU_OK;
}

int npu_cache_dir_remove(const char *dir, const char *file) {
    char *path = join(dir, file);
    if (!path) return ENOMEM;
    int why = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        why = EBUSY;
    else if (unlink(path) != 0 && errno != ENOENT)
        why = errno;
    if (fd >= 0) close(fd);
    free(path);
    return why;
}

npu_status npu_cache_dir_make_room(const char *dir, const char *path, uint64_t bytes, uint64_t limit, npu_error *err) {
    npu_cache_name *names;
    size_t n;
    if (bytes > limit)
        return npu_fail(err, NPU_RANGE, "cache.limit", "%llu bytes of packed weights are more than the limit of %llu",
                        (unsigned long long)bytes, (unsigned long long)limit);
    NPU_TRY(npu_cache_dir_list(dir, &names, &n, err));
    uint64_t left = limit - bytes, used = 0;
    for (size_t i = 0; i < n; i++)
        if (!ends_with(path, names[i].file)) used += names[i].bytes;
    for (size_t i = 0; i < n && used > left; i++)
        if (!ends_with(path, names[i].file) && !npu_cache_dir_remove(dir, names[i].file)) used -= names[i].bytes;
    free(names);
    if (used <= left) return NPU_OK;
    return npu_fail(err, NPU_RANGE, "cache.limit",
                    "%llu bytes of packed weights are in use, %llu more would exceed the limit of %llu",
                    (unsigned long long)used, (unsigned long long)bytes, (unsigned long long)limit);
}

static void sweep_file(const char *dir, const char *file, bool all) {
    struct stat st;
    bool part = !strncmp(file, PART, sizeof PART - 1), known = ends_with(file, KNOWN);
    if ((!part && !known) || !status_of(dir, file, &st) || !S_ISREG(st.st_mode)) return;
    if ((known && all) || time(NULL) - st.st_mtime > (part ? OLD_PART_S : OLD_KNOWN_S))
        (void)npu_cache_dir_remove(dir, file); /* one that is being written is locked */
}

void npu_cache_dir_sweep(const char *dir, bool all) {
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) sweep_file(dir, e->d_name, all);
    if (d) closedir(d);
}
