/* Packed copies of weights for the variants that read them faster than the file's rows. Made with all threads when a
 * graph is first seen, shared by the graphs of a target, gone with the target or with the file's buffer. They are never
 * needed: what finds no room stays in place, with the same results.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mapfile.h"
#include "base/memory.h"
#include "base/pages.h"
#include "target/host/host.h"
#include "wire/op_check.h"

/* Copies lie together in pieces of memory of at least this size, large enough for the system's large pages. */
enum { ARENA_BYTES = 16 << 20, ALIGN = 128, SLICE_BYTES = 4 << 20 };

struct npu_host_arena {
    struct npu_host_arena *next;
    uint8_t *data;
    uint64_t bytes, used;
};

struct npu_host_copy {
    struct npu_host_copy *next;
    const uint8_t *data; /* of the weight in its file */
    const npu_host_packing *packing;
    uint32_t ne[2];
    uint64_t stride;
    uint8_t type;
    uint8_t *packed;
};

typedef struct job {
    const npu_host_packing *packing;
    const npu_tensor *w;
    const uint8_t *data;
    uint64_t first, end; /* parts */
    uint8_t *to;
} job;

static void pack_part(void *context, unsigned ith, unsigned nth) {
    const job *j = context;
    uint64_t parts = j->end - j->first;
    j->packing->pack(j->w, j->data, j->first + parts * ith / nth, j->first + parts * (ith + 1) / nth, j->to);
}

/* Slice by slice, after each of which the file's pages are given back: the copy is read in their place from now on, and
 * the two are never resident together. */
static void pack(npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer, const npu_tensor *w,
                 uint8_t *to) {
    const uint8_t *data = buffer->data + w->offset;
    uint64_t parts = packing->parts(w), bytes = w->ne[1] * w->nb[1], n = bytes / SLICE_BYTES + 1;
    for (uint64_t i = 0; i < n; i++) {
        npu_pool_run(host->pool, pack_part, &(job){packing, w, data, parts * i / n, parts * (i + 1) / n, to});
        if (buffer->mapped) npu_map_drop(data + bytes / n * i, bytes / n + (i + 1 == n ? bytes % n : 0));
    }
}

/* From the weight cache, when it has them. */
static void fill(npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer, const npu_tensor *w,
                 uint64_t bytes, uint8_t *to) {
    const npu_weight_cache *cache = host->cache;
    npu_packed what = {.layout = packing->layout,
                       .source = buffer->data + w->offset,
                       .source_bytes = npu_tensor_extent(w),
                       .row_bytes = w->nb[1],
                       .type = w->type,
                       .bytes = bytes};
    memcpy(what.ne, w->ne, sizeof what.ne);
    if (cache && cache->take(cache->context, &what, host->pool, to)) return;
    pack(host, packing, buffer, w, to);
    if (cache) cache->keep(cache->context, &what, host->pool, to);
}

/* Copies take at most a quarter of the memory, and leave half of what was free before them. */
static uint64_t budget(uint64_t taken) {
    npu_machine_memory m = npu_memory_now("");
    if (!m.total) return UINT64_MAX; /* a system that does not tell: no limit */
    uint64_t half = (m.free + taken) / 2;
    return m.total / 4 < half ? m.total / 4 : half;
}

static uint8_t *room(npu_host *host, uint64_t bytes) {
    uint64_t taken = 0;
    for (struct npu_host_arena *a = host->arenas; a; a = a->next) {
        taken += a->bytes;
        if (a->bytes - a->used < bytes) continue;
        a->used += bytes;
        return a->data + a->used - bytes;
    }
    uint64_t size = bytes > ARENA_BYTES ? bytes : ARENA_BYTES;
    uint64_t most = budget(taken);
    if (taken > most || size > most - taken) return NULL;
    struct npu_host_arena *a = calloc(1, sizeof *a);
    void *data = a ? npu_pages_alloc(size) : NULL;
    if (!data) {
        free(a);
        return NULL;
    }
    *a = (struct npu_host_arena){host->arenas, data, size, bytes};
    host->arenas = a;
    return data;
}

static void free_arenas(npu_host *host) {
    while (host->arenas) {
        struct npu_host_arena *a = host->arenas;
        host->arenas = a->next;
        npu_pages_free(a->data, a->bytes);
        free(a);
    }
}

static bool is_copy_of(const struct npu_host_copy *c, const npu_host_packing *packing, const npu_tensor *w,
                       const uint8_t *data) {
    return c->data == data && c->packing == packing && c->type == w->type && c->ne[0] == w->ne[0] &&
           c->ne[1] == w->ne[1] && c->stride == w->nb[1];
}

const uint8_t *npu_host_copied(const npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer,
                               const npu_tensor *w) {
    for (struct npu_host_copy *c = host->copies; packing && c; c = c->next)
        if (is_copy_of(c, packing, w, buffer->data + w->offset)) return c->packed;
    return NULL;
}

const uint8_t *npu_host_packed(npu_host *host, const npu_host_packing *packing, const npu_buffer *buffer,
                               const npu_tensor *w) {
    if (!packing || !npu_host_buffer_is_wrapped(buffer) || buffer->use != NPU_BUFFER_WEIGHTS) return NULL;
    uint64_t bytes = packing->bytes(w, host->base.mode);
    if (!bytes || w->rows_of != NPU_ROWS_FIXED) return NULL;
    const uint8_t *there = npu_host_copied(host, packing, buffer, w);
    if (there) return there;
    struct npu_host_copy *c = calloc(1, sizeof *c);
    uint8_t *to = c ? room(host, (bytes + ALIGN - 1) / ALIGN * ALIGN) : NULL;
    if (!to) {
        free(c);
        return NULL;
    }
    fill(host, packing, buffer, w, bytes, to);
    *c = (struct npu_host_copy){
        host->copies, buffer->data + w->offset, packing, {w->ne[0], w->ne[1]}, w->nb[1], w->type, to};
    host->copies = c;
    return to;
}

void npu_host_forget_copies(npu_host *host, const uint8_t *from, uint64_t bytes) {
    for (struct npu_host_copy **at = &host->copies; *at;) {
        struct npu_host_copy *c = *at;
        if (c->data < from || (uint64_t)(c->data - from) >= bytes) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        free(c);
    }
    if (!host->copies) free_arenas(host);
}

void npu_host_copies_free(npu_host *host) {
    while (host->copies) {
        struct npu_host_copy *next = host->copies->next;
        free(host->copies);
        host->copies = next;
    }
    free_arenas(host);
}
