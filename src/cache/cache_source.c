/* See cache_source.h. */
#include "cache/cache_source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache_dir.h"

enum {
    SETTLED_NS = 100000000, /* file times come from a clock that ticks every 10 ms at worst */
    MAX_FILES = 64,         /* that are held open */
};

static const char magic[8] = "npuname";

/* What a file of the folder remembers. */
typedef struct memory {
    char magic[8];
    npu_hash128 boot, identity, content;
    char model[NPU_CACHE_MODEL_NAME];
    uint64_t hash; /* of the fields before */
} memory;

_Static_assert(sizeof(memory) == 160, "file layout");

bool npu_cache_has_settled(int64_t ctime_ns, int64_t now_ns) {
    return ctime_ns <= now_ns && now_ns - ctime_ns >= SETTLED_NS;
}

static int64_t nanoseconds(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* By the file's path where it is not held open. */
static bool is_as_mapped(const npu_cache_file *f, int fd) {
    struct stat st;
    return (fd >= 0 ? fstat(fd, &st) : stat(f->path, &st)) == 0 && (uint64_t)st.st_dev == f->device &&
           (uint64_t)st.st_ino == f->inode && (uint64_t)st.st_size == f->bytes &&
           nanoseconds(st.st_mtim) == f->mtime_ns && nanoseconds(st.st_ctim) == f->ctime_ns;
}

/* Whether every write changes the time of status change, by write calls and by mappings: not on tmpfs, whose mappings
 * do not, and not where another machine or process keeps the files, or another file system lies below. */
static bool keeps_times(int fd) {
    static const uint32_t types[] = {0xEF53 /* ext2 to ext4 */, 0x58465342 /* XFS */, 0x9123683E /* Btrfs */,
                                     0xF2F52010 /* F2FS */};
    struct statfs fs;
    if (fstatfs(fd, &fs) != 0) return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if ((uint32_t)fs.f_type == types[i]) return true;
    return false;
}

/* Whether nobody has the file open for writing, or mapped so: such a mapping's pages could be written once more without
 * a new time. A lease can be had only then; it is given back at once, and the signal that it would send in between is
 * one that does nothing. Only the owner may ask; for others' files what is dirty is written back, which has the same
 * effect. */
static bool is_quiet(int fd) {
    (void)fcntl(fd, F_SETSIG, SIGURG);
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0) return fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
    return errno == EACCES && fsync(fd) == 0;
}

static npu_hash128 identity_of(const npu_cache_source *s, bool with_times) {
    uint64_t words[MAX_FILES + 1][5] = {{0}};
    for (uint32_t i = 0; i < s->n_files; i++) {
        const npu_cache_file *f = &s->files[i];
        uint64_t all[5] = {f->device, f->inode, f->bytes, (uint64_t)f->mtime_ns, (uint64_t)f->ctime_ns};
        memcpy(words[i], all, with_times ? sizeof all : 2 * sizeof all[0]);
    }
    words[s->n_files][0] = npu_cache_hash64(s->model, strlen(s->model));
    return npu_cache_hash128(words, (s->n_files + 1) * sizeof words[0]);
}

/* False: the system does not tell this boot from others. */
static bool boot_hash(npu_hash128 *out) {
    char text[64];
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text);
    if (fd >= 0) close(fd);
    if (n <= 0) return false;
    *out = npu_cache_hash128(text, (uint64_t)n);
    return true;
}

static bool load(const char *dir, const char *file, memory *out) {
    return npu_cache_dir_load(dir, file, out, sizeof *out) && memcmp(out->magic, magic, sizeof magic) == 0 &&
           out->hash == npu_cache_hash64(out, offsetof(memory, hash)) && !out->model[sizeof out->model - 1];
}

static bool recall(npu_cache_source *s) {
    memory m;
    if (!load(s->dir, s->known, &m) || memcmp(&m.boot, &s->boot, sizeof m.boot) != 0 ||
        memcmp(&m.identity, &s->identity, sizeof m.identity) != 0)
        return false;
    npu_cache_dir_touch(s->dir, s->known);
    s->content = m.content;
    s->is_known = s->is_remembered = true;
    return true;
}

static bool hold(npu_cache_source *s, uint32_t i, int64_t now) {
    const npu_cache_file *f = &s->files[i];
    int fd = s->fds[i] = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return fd >= 0 && keeps_times(fd) && npu_cache_has_settled(f->ctime_ns, now) && is_quiet(fd) && is_as_mapped(f, fd);
}

npu_status npu_cache_source_open(npu_cache_source *out, const char *dir, const char *model, const npu_cache_file *files,
                                 uint32_t n, npu_error *err) {
    npu_cache_source s = {.dir = dir, .model = model, .n_files = n};
    s.files = calloc(n + 1, sizeof *s.files);
    s.fds = calloc(n + 1, sizeof *s.fds);
    *out = s;
    if (!s.files || !s.fds) {
        npu_cache_source_close(out);
        return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for %u files", n);
    }
    memcpy(s.files, files, n * sizeof *files);
    memset(s.fds, 0xFF, n * sizeof *s.fds);
    struct timespec now;
    if (n <= MAX_FILES && boot_hash(&s.boot) && clock_gettime(CLOCK_REALTIME, &now) == 0) {
        s.identity = identity_of(&s, true);
        npu_cache_dir_known(identity_of(&s, false), s.known);
        if (recall(&s)) {
            *out = s;
            return NPU_OK;
        }
        s.is_steady = n > 0;
        for (uint32_t i = 0; i < n && s.is_steady; i++) s.is_steady = hold(&s, i, nanoseconds(now));
    }
    *out = s;
    return NPU_OK;
}

void npu_cache_source_close(npu_cache_source *s) {
    for (uint32_t i = 0; s->fds && i < s->n_files; i++)
        if (s->fds[i] >= 0) close(s->fds[i]);
    free(s->files);
    free(s->fds);
    *s = (npu_cache_source){0};
}

static npu_status make_hash(const npu_cache_source *s, bool may_shrink, npu_pool *pool, const npu_cache_stop *stop,
                            npu_hash128 *out, npu_error *err) {
    npu_cache_span *spans = calloc(s->n_files + 1, sizeof *spans);
    if (!spans) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for %u files", s->n_files);
    for (uint32_t i = 0; i < s->n_files; i++)
        if (s->files[i].data) spans[i] = (npu_cache_span){s->files[i].data, s->files[i].bytes};
    npu_status status = npu_cache_hash_files(spans, s->n_files, may_shrink, pool, stop, out, err);
    free(spans);
    return status;
}

npu_status npu_cache_source_read(npu_cache_source *s, npu_pool *pool, npu_error *err) {
    if (s->is_known) return NPU_OK;
    NPU_TRY(make_hash(s, false, pool, NULL, &s->content, err));
    s->is_known = true;
    return NPU_OK;
}

static bool all_as_mapped(const npu_cache_source *s) {
    for (uint32_t i = 0; i < s->n_files; i++)
        if (!is_as_mapped(&s->files[i], s->fds[i])) return false;
    return true;
}

npu_status npu_cache_source_confirm(npu_cache_source *s, npu_pool *pool, const npu_cache_stop *stop, npu_error *err) {
    npu_hash128 now = s->content;
    if (!s->is_steady || !s->is_known) NPU_TRY(make_hash(s, true, pool, stop, &now, err));
    bool is_same = s->is_known ? !memcmp(&now, &s->content, sizeof now) : s->is_steady;
    if (!is_same || !all_as_mapped(s))
        return npu_fail(err, NPU_REFUSED, "cache.changed", "the model's files changed while they were in use");
    s->content = now;
    s->is_known = true;
    return NPU_OK;
}

npu_status npu_cache_source_remember(const npu_cache_source *s, npu_error *err) {
    if (!s->is_steady || !s->is_known) return NPU_OK;
    memory m = {.boot = s->boot, .identity = s->identity, .content = s->content};
    memcpy(m.magic, magic, sizeof magic);
    snprintf(m.model, sizeof m.model, "%s", s->model);
    m.hash = npu_cache_hash64(&m, offsetof(memory, hash));
    return npu_cache_dir_store(s->dir, s->known, &m, sizeof m, err);
}

bool npu_cache_source_describe(const char *dir, const char *file, char model[NPU_CACHE_MODEL_NAME],
                               npu_hash128 *content) {
    memory m;
    if (!load(dir, file, &m)) return false;
    memcpy(model, m.model, sizeof m.model);
    *content = m.content;
    return true;
}
