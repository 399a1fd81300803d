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

enum { OLD_KNOWN_S = 60 * 86400, PART_TRIES = 100 };

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

static bool hex64(const char *text, uint64_t *out) {
    *out = 0;
    for (int i = 0; i < 16; i++) {
        const char *digits = "0123456789abcdef", *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

bool npu_cache_dir_content(const char *file, npu_hash128 *out) {
    return hex64(file, &out->high) && hex64(file + 16, &out->low);
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

void npu_cache_dir_known(npu_hash128 name, char out[48]) {
    snprintf(out, 48, "%016llx%016llx" KNOWN, (unsigned long long)name.high, (unsigned long long)name.low);
}

bool npu_cache_dir_load(const char *dir, const char *file, void *out, size_t size) {
    struct stat st;
    char *path = join(dir, file);
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == size &&
                st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) && read(fd, out, size) == (ssize_t)size;
    if (fd >= 0) close(fd);
    free(path);
    return good;
}

void npu_cache_dir_touch(const char *dir, const char *file) {
    char *path = join(dir, file);
    if (path) (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    free(path);
}

/* A path that is too long must not push the reason out of the text. */
static npu_status say(const char *path, int why, npu_error *err) {
    enum { SHOWN = 200 };
    const char *rest = strlen(path) > SHOWN ? "..." : "";
    return npu_fail(err, NPU_IO, "cache.folder", "%.*s%s: %s", SHOWN, path, rest, strerror(why));
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

/* One that another process took for a dead writer's, before it was locked, is gone or about to go. */
static int open_part(char *path, size_t length) {
    for (int i = 0; i < PART_TRIES; i++) {
        struct stat st;
        memcpy(path + length - 6, "XXXXXX", 6);
        int fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0) return fd;
        bool is_mine = flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (is_mine && fstat(fd, &st) == 0 && st.st_nlink > 0) return fd;
        close(fd);
    }
    errno = EAGAIN;
    return -1;
}

npu_status npu_cache_dir_begin(const char *dir, char **part, int *fd, npu_error *err) {
    *part = NULL;
    *fd = -1;
    NPU_TRY(make_dirs(dir, err));
    char *path = join(dir, PART "XXXXXX");
    if (!path) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    *fd = open_part(path, strlen(path));
    if (*fd < 0) {
        npu_status status = say(dir, errno, err);
        free(path);
        return status;
    }
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

npu_status npu_cache_dir_store(const char *dir, const char *file, const void *data, size_t size, npu_error *err) {
    char *part, *path = join(dir, file);
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

static bool kind_of(const char *file, npu_cache_kind *out) {
    bool is_part = !strncmp(file, PART, sizeof PART - 1), is_known = ends_with(file, KNOWN);
    *out = is_part ? NPU_CACHE_PART : is_known ? NPU_CACHE_KNOWN : NPU_CACHE_IMAGE;
    return is_part || is_known || ends_with(file, IMAGE);
}

static bool describe(const char *dir, const char *file, npu_cache_name *out) {
    struct stat st;
    npu_cache_kind kind;
    if (!kind_of(file, &kind) || strlen(file) >= sizeof out->file || !status_of(dir, file, &st)) return false;
    *out = (npu_cache_name){.kind = kind,
                            .bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
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
    if (!d) return say(dir, errno, err);
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

bool npu_cache_dir_is_folder(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A part that can't be locked, on a file system without locks or without file handles left, is its writer's this long.
 */
enum { WRITING_S = 60 };

static bool is_young_part(const char *path) {
    struct stat st;
    const char *file = strrchr(path, '/');
    return file && !strncmp(file + 1, PART, sizeof PART - 1) && lstat(path, &st) == 0 &&
           time(NULL) - st.st_mtim.tv_sec < WRITING_S;
}

/* Opens it, for its lock. False: another process has one that excludes |operation|, or may have; |*fd| may be -1 all
 * the same. */
static bool lock(const char *path, int operation, int *fd) {
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (*fd >= 0 && flock(*fd, operation | LOCK_NB) == 0) return true;
    if (*fd >= 0 && errno == EWOULDBLOCK) return false;
    return !is_young_part(path);
}

bool npu_cache_dir_in_use(const char *dir, const char *file) {
    char *path = join(dir, file);
    int fd = -1;
    bool in_use = path && !lock(path, LOCK_EX, &fd);
    if (fd >= 0) close(fd);
    free(path);
    return in_use;
}

int npu_cache_dir_remove(const char *dir, const char *file) {
    char *path = join(dir, file);
    int why = 0, fd;
    if (!path) return ENOMEM;
    if (!lock(path, LOCK_EX, &fd))
        why = EBUSY;
    else if (unlink(path) != 0 && errno != ENOENT)
        why = errno == EISDIR && rmdir(path) == 0 ? 0 : errno;
    if (fd >= 0) close(fd);
    free(path);
    return why;
}

/* How much of the limit it takes; not what |path| replaces. */
static uint64_t share(const npu_cache_name *name, const char *path) {
    return name->kind == NPU_CACHE_IMAGE && !(path && ends_with(path, name->file)) ? name->bytes : 0;
}

npu_status npu_cache_dir_make_room(const char *dir, const char *path, uint64_t bytes, uint64_t limit, npu_error *err) {
    npu_cache_name *names;
    size_t n;
    if (bytes > limit)
        return npu_fail(err, NPU_RANGE, "cache.limit", "%llu bytes of packed weights are more than the limit of %llu",
                        (unsigned long long)bytes, (unsigned long long)limit);
    NPU_TRY(npu_cache_dir_list(dir, &names, &n, err));
    uint64_t left = limit - bytes, used = 0;
    for (size_t i = 0; i < n; i++) used += share(&names[i], path);
    for (size_t i = 0; i < n && used > left; i++) {
        uint64_t gain = share(&names[i], path);
        if (gain && !npu_cache_dir_remove(dir, names[i].file)) used -= gain;
    }
    free(names);
    if (used <= left) return NPU_OK;
    return npu_fail(err, NPU_RANGE, "cache.limit",
                    "%llu bytes of packed weights are in use, %llu more would exceed the limit of %llu",
                    (unsigned long long)used, (unsigned long long)bytes, (unsigned long long)limit);
}

void npu_cache_dir_sweep(const char *dir) {
    npu_cache_name *names;
    size_t n;
    int64_t long_ago = ((int64_t)time(NULL) - OLD_KNOWN_S) * 1000000000;
    if (npu_cache_dir_list(dir, &names, &n, NULL) != NPU_OK) return;
    for (size_t i = 0; i < n; i++)
        if (names[i].kind == NPU_CACHE_PART || (names[i].kind == NPU_CACHE_KNOWN && names[i].used_ns < long_ago))
            (void)npu_cache_dir_remove(dir, names[i].file);
    free(names);
}
