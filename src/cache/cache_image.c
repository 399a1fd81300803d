/* Reading images: see cache_image.h. */
#include "cache/cache_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/cache_format.h"

#define ORDER(field) \
    if (a->field != b->field) return a->field < b->field ? -1 : 1

int npu_cache_key_compare(const npu_cache_key *a, const npu_cache_key *b) {
    ORDER(file);
    ORDER(source_at);
    ORDER(source_bytes);
    ORDER(type);
    ORDER(row_bytes);
    for (int i = 0; i < 4; i++) ORDER(ne[i]);
    ORDER(bytes);
    return 0;
}

static npu_status refuse(const char *path, const char *what, npu_error *err) {
    return npu_fail(err, NPU_REFUSED, "cache.image", "%s: not used: %s", path, what);
}

/* Whole or not at all. */
static bool read_at(int fd, void *to, uint64_t bytes, uint64_t at) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* shorter than it was */
        if (n <= 0) return false;
        done += (uint64_t)n;
    }
    return true;
}

/* What is wrong with the head of a file of |file_bytes|; NULL: nothing. */
static const char *head_problem(const npu_cache_head *h, uint64_t file_bytes) {
    if (memcmp(h->magic, NPU_CACHE_MAGIC, sizeof h->magic) != 0) return "not a file of packed weights";
    if (h->version != NPU_CACHE_VERSION || h->head_bytes != sizeof *h) return "of another version";
    if (h->head_hash != npu_cache_hash64(h, offsetof(npu_cache_head, head_hash))) return "its head is damaged";
    if (h->layout[sizeof h->layout - 1] || h->model[sizeof h->model - 1]) return "a name in it does not end";
    if (h->file_bytes != file_bytes) return "its size is not what it says";
    if (!h->n_entries || h->n_entries > NPU_CACHE_MAX_ENTRIES ||
        h->n_entries > (file_bytes - sizeof *h) / sizeof(npu_cache_entry))
        return "more or fewer entries than it can have";
    return NULL;
}

static const char *table_problem(const npu_cache_head *h, const npu_cache_entry *entries) {
    uint64_t end = sizeof *h + h->n_entries * sizeof *entries;
    if (h->table_hash != npu_cache_hash64(entries, h->n_entries * sizeof *entries)) return "its table is damaged";
    for (uint64_t i = 0; i < h->n_entries; i++) {
        const npu_cache_entry *e = &entries[i];
        if (i && npu_cache_key_compare(&entries[i - 1].key, &e->key) >= 0) return "its table is not in order";
        if (e->at != npu_cache_aligned(end) || e->at > h->file_bytes || !e->key.bytes ||
            e->key.bytes > h->file_bytes - e->at)
            return "an entry lies outside of it";
        end = e->at + e->key.bytes;
    }
    return end == h->file_bytes ? NULL : "bytes behind its last entry";
}

static npu_status open_fd(npu_cache_image *image, const char *path, npu_error *err) {
    struct stat st;
    if (fstat(image->fd, &st) != 0)
        return npu_fail(err, NPU_IO, "cache.read", "%s: can't be read: %s", path, strerror(errno));
    if (S_ISDIR(st.st_mode)) return refuse(path, "a folder, in whose place nothing can be kept", err);
    if (!S_ISREG(st.st_mode)) return refuse(path, "not a plain file", err);
    if ((uint64_t)st.st_size < sizeof image->head) return refuse(path, "too short", err);
    if (!read_at(image->fd, &image->head, sizeof image->head, 0))
        return npu_fail(err, NPU_IO, "cache.read", "%s: can't be read: %s", path, strerror(errno));
    const char *what = head_problem(&image->head, (uint64_t)st.st_size);
    if (what) return refuse(path, what, err);
    uint64_t bytes = image->head.n_entries * sizeof *image->entries;
    image->entries = malloc(bytes);
    if (!image->entries) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "%s: no memory for its table", path);
    if (!read_at(image->fd, image->entries, bytes, sizeof image->head))
        return npu_fail(err, NPU_IO, "cache.read", "%s: can't be read: %s", path, strerror(errno));
    what = table_problem(&image->head, image->entries);
    return what ? refuse(path, what, err) : NPU_OK;
}

npu_status npu_cache_image_open_fd(int fd, const char *path, const npu_hash128 *content, const char *layout,
                                   npu_cache_image *out, npu_error *err) {
    npu_cache_image image = {.fd = fd};
    npu_status status = open_fd(&image, path, err);
    if (status == NPU_OK && content && memcmp(content, &image.head.content, sizeof *content) != 0)
        status = refuse(path, "of another model", err);
    if (status == NPU_OK && layout && strcmp(layout, image.head.layout) != 0)
        status = refuse(path, "of another layout", err);
    *out = image;
    if (status != NPU_OK) npu_cache_image_close(out);
    return status;
}

npu_status npu_cache_image_open(const char *path, const npu_hash128 *content, const char *layout, npu_cache_image *out,
                                npu_error *err) {
    struct stat st;
    *out = (npu_cache_image){.fd = -1};
    /* O_NONBLOCK: a pipe must not hang before it can be refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return npu_fail(err, NPU_NOT_FOUND, "cache.none", "%s: no such file", path);
    if (fd < 0 && errno == ELOOP) return refuse(path, "not a plain file", err);
    if (fd < 0) return npu_fail(err, NPU_IO, "cache.read", "%s: not used: %s", path, strerror(errno));
    bool is_read = fstat(fd, &st) == 0, is_own = is_read && st.st_uid == geteuid();
    if (!is_own || st.st_mode & (S_IWGRP | S_IWOTH)) {
        npu_status status = is_read
                                ? refuse(path, is_own ? "other users can write it" : "it belongs to another user", err)
                                : npu_fail(err, NPU_IO, "cache.read", "%s: not used: %s", path, strerror(errno));
        close(fd);
        return status;
    }
    (void)flock(fd, LOCK_SH | LOCK_NB); /* one that is being removed can still be read */
    return npu_cache_image_open_fd(fd, path, content, layout, out, err);
}

static int compare_entry(const void *key, const void *entry) {
    return npu_cache_key_compare(key, &((const npu_cache_entry *)entry)->key);
}

const npu_cache_entry *npu_cache_image_find(const npu_cache_image *image, const npu_cache_key *key) {
    if (!image->entries) return NULL;
    return bsearch(key, image->entries, image->head.n_entries, sizeof *image->entries, compare_entry);
}

typedef struct reading {
    const npu_cache_image *image;
    const npu_cache_entry *entry;
    uint8_t *out;
    _Atomic uint64_t hash;
    atomic_int failed; /* an errno */
} reading;

/* Each chunk is hashed while it is in the cache. */
static void read_part(void *context, unsigned ith, unsigned nth) {
    reading *r = context;
    uint64_t bytes = r->entry->key.bytes, n = (bytes + NPU_CACHE_CHUNK - 1) / NPU_CACHE_CHUNK, hash = 0;
    for (uint64_t i = n * ith / nth; i < n * (ith + 1) / nth; i++) {
        uint64_t at = i * NPU_CACHE_CHUNK, size = bytes - at < NPU_CACHE_CHUNK ? bytes - at : NPU_CACHE_CHUNK;
        if (!read_at(r->image->fd, r->out + at, size, r->entry->at + at)) {
            atomic_store(&r->failed, errno);
            return;
        }
        hash += npu_cache_hash_chunk(r->out + at, size, i);
    }
    atomic_fetch_add(&r->hash, hash);
}

npu_status npu_cache_image_read(const npu_cache_image *image, const char *path, const npu_cache_entry *entry,
                                npu_pool *pool, uint8_t *out, npu_error *err) {
    reading r = {.image = image, .entry = entry, .out = out};
    npu_pool_run(pool, read_part, &r);
    int why = atomic_load(&r.failed);
    if (why) return npu_fail(err, NPU_IO, "cache.read", "%s: can't be read: %s", path, strerror(why));
    if (atomic_load(&r.hash) != entry->hash) return refuse(path, "packed weights in it are damaged", err);
    return NPU_OK;
}

void npu_cache_image_close(npu_cache_image *image) {
    free(image->entries);
    if (image->fd >= 0) close(image->fd);
    *image = (npu_cache_image){.fd = -1};
}
