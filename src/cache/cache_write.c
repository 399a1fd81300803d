/* Writing images: see cache_image.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cache/cache_format.h"

uint64_t npu_cache_image_bytes(const npu_cache_piece *pieces, uint32_t n) {
    uint64_t end = sizeof(npu_cache_head) + (uint64_t)n * sizeof(npu_cache_entry);
    for (uint32_t i = 0; i < n; i++)
        if (__builtin_add_overflow(npu_cache_aligned(end), pieces[i].key.bytes, &end) || end > INT64_MAX)
            return UINT64_MAX;
    return end;
}

/* An errno, or 0. */
static int write_at(int fd, const void *from, uint64_t bytes, uint64_t at) {
    for (uint64_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        done += (uint64_t)n;
    }
    return 0;
}

/* Room for all of it at once: a full disk is known before anything is written. A limit of file sizes is asked for,
 * because going beyond it sends a signal that ends programs. */
static int reserve(int fd, uint64_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur) return EFBIG;
    if (fallocate(fd, 0, 0, (off_t)bytes) == 0) return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR ? 0 : errno;
}

static int by_key(const void *a, const void *b) {
    return npu_cache_key_compare(&((const npu_cache_piece *)a)->key, &((const npu_cache_piece *)b)->key);
}

void npu_cache_image_sort(npu_cache_piece *pieces, uint32_t n) {
    if (n) qsort(pieces, n, sizeof *pieces, by_key);
}

int npu_cache_image_compare_piece(const void *key, const void *piece) {
    return npu_cache_key_compare(key, &((const npu_cache_piece *)piece)->key);
}

typedef struct writing {
    const npu_cache_piece *piece;
    const npu_cache_entry *entry;
    int fd;
    _Atomic uint64_t hash;
    npu_cache_work work;
} writing;

static void write_part(void *context, unsigned ith, unsigned nth) {
    writing *w = context;
    uint64_t bytes = w->entry->key.bytes, hash = 0;
    (void)nth;
    for (uint64_t i; (i = npu_cache_work_next(&w->work, ith)) < w->work.n;) {
        uint64_t at = i * NPU_CACHE_CHUNK, size = bytes - at < NPU_CACHE_CHUNK ? bytes - at : NPU_CACHE_CHUNK;
        hash += npu_cache_hash_chunk(w->piece->data + at, size, i);
        int why = write_at(w->fd, w->piece->data + at, size, w->entry->at + at);
        if (!why) continue;
        atomic_store(&w->work.failed, why);
        return;
    }
    atomic_fetch_add(&w->hash, hash);
}

/* The entry gets the hash of what was packed: bytes that change between being hashed here and being written are known
 * by it too, when they are read. */
static int write_all(int fd, npu_cache_head *h, npu_cache_entry *entries, const npu_cache_piece *pieces, npu_pool *pool,
                     const npu_cache_stop *stop) {
    uint64_t end = sizeof *h + h->n_entries * sizeof *entries;
    for (uint64_t i = 0; i < h->n_entries; i++) {
        npu_cache_entry *e = &entries[i];
        *e = (npu_cache_entry){.key = pieces[i].key, .at = npu_cache_aligned(end), .hash = pieces[i].hash};
        uint64_t chunks = (e->key.bytes + NPU_CACHE_CHUNK - 1) / NPU_CACHE_CHUNK;
        writing w = {.piece = &pieces[i], .entry = e, .fd = fd, .work = {.n = chunks, .stop = stop}};
        npu_pool_run(pool, write_part, &w);
        int why = atomic_load(&w.work.failed);
        if (why) return why;
        if (atomic_load(&w.hash) != e->hash) return EBADMSG;
        end = e->at + e->key.bytes;
    }
    h->table_hash = npu_cache_hash64(entries, h->n_entries * sizeof *entries);
    h->head_hash = npu_cache_hash64(h, offsetof(npu_cache_head, head_hash));
    int why = write_at(fd, entries, h->n_entries * sizeof *entries, sizeof *h);
    return why ? why : write_at(fd, h, sizeof *h, 0);
}

npu_status npu_cache_image_write(int fd, const npu_cache_head *head, npu_cache_piece *pieces, uint32_t n,
                                 npu_pool *pool, const npu_cache_stop *stop, npu_error *err) {
    npu_cache_head h = *head;
    npu_cache_image_sort(pieces, n); /* before its size is known: gaps depend on the order */
    h.version = NPU_CACHE_VERSION;
    h.head_bytes = sizeof h;
    h.file_bytes = npu_cache_image_bytes(pieces, n);
    h.n_entries = n;
    memcpy(h.magic, NPU_CACHE_MAGIC, sizeof h.magic);
    if (h.file_bytes == UINT64_MAX || n > NPU_CACHE_MAX_ENTRIES)
        return npu_fail(err, NPU_RANGE, "cache.size", "an image of %u entries is too large", n);
    npu_cache_entry *entries = calloc(n, sizeof *entries);
    if (!entries) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a table of %u entries", n);
    int why = reserve(fd, h.file_bytes);
    if (!why) why = write_all(fd, &h, entries, pieces, pool, stop);
    free(entries);
    if (why == ECANCELED) return npu_fail(err, NPU_CANCELLED, "cache.cancelled", "cancelled");
    if (why == EBADMSG)
        return npu_fail(err, NPU_REFUSED, "cache.overwritten", "they changed in memory after they were packed");
    return why ? npu_fail(err, NPU_IO, "cache.write", "%s", strerror(why)) : NPU_OK;
}
