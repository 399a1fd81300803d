/* The life of a cache: what targets take and keep, and what is written of it. See cache.h. */
#include "cache/cache.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "cache/cache_dir.h"
#include "cache/cache_image.h"
#include "cache/cache_source.h"

enum { MAX_LAYOUTS = 4 }; /* of one context: the host's and a device's */

/* What is made in one layout. */
typedef struct layout {
    char name[64];
    char *path;            /* of its image; NULL = no image was looked for, or none can be named */
    npu_cache_image image; /* open: entries are taken from it */
    npu_cache_piece *pieces;
    uint32_t n, room;
    bool looked, must_write, damaged, incomplete;
} layout;

struct npu_cache {
    npu_logger logger;
    npu_weight_cache seam;
    npu_cache_source source;
    layout layouts[MAX_LAYOUTS];
    uint32_t n_layouts;
    char *dir, model[NPU_CACHE_MODEL_NAME];
    uint64_t limit_bytes, least_bytes, read_bytes, packed_bytes;
    unsigned threads;
    npu_cache_stop stop;
    bool complained; /* of something that keeps all images from being written */
};

static void complain(npu_cache *c, const char *what) {
    if (!c->complained) npu_log(&c->logger, NPU_LOG_WARN, "packed weights are not kept: %s", what);
    c->complained = true;
}

static layout *layout_named(npu_cache *c, const char *name) {
    for (uint32_t i = 0; i < c->n_layouts; i++)
        if (!strcmp(c->layouts[i].name, name)) return &c->layouts[i];
    if (c->n_layouts == MAX_LAYOUTS || strlen(name) >= sizeof c->layouts[0].name) return NULL;
    layout *l = &c->layouts[c->n_layouts++];
    *l = (layout){.image = {.fd = -1}};
    memcpy(l->name, name, strlen(name) + 1);
    return l;
}

static bool key_of(const npu_cache *c, const npu_packed *what, npu_cache_key *key) {
    uintptr_t at = (uintptr_t)what->source;
    for (uint32_t i = 0; i < c->source.n_files; i++) {
        const npu_cache_file *f = &c->source.files[i];
        uintptr_t first = (uintptr_t)f->data;
        if (!f->data || at < first || at - first >= f->bytes || what->source_bytes > f->bytes - (at - first)) continue;
        *key = (npu_cache_key){.file = i,
                               .type = what->type,
                               .source_at = at - first,
                               .source_bytes = what->source_bytes,
                               .row_bytes = what->row_bytes,
                               .bytes = what->bytes};
        memcpy(key->ne, what->ne, sizeof key->ne);
        return what->bytes > 0;
    }
    return false;
}

/* Reading the model to name an image that may be there costs more than it can save when there is none of its layout; a
 * source that is not steady must be read before it is packed, to be compared with later. */
static void look_for_image(npu_cache *c, layout *l, npu_pool *pool) {
    npu_error err = {0};
    l->looked = true;
    if (!c->source.is_known && c->source.is_steady && !npu_cache_dir_has_layout(c->dir, l->name)) return;
    npu_status status = npu_cache_source_read(&c->source, pool, &err);
    if (status == NPU_OK) l->path = npu_cache_dir_image(c->dir, c->source.content, l->name);
    if (!l->path) return;
    status = npu_cache_image_open(l->path, &c->source.content, l->name, &l->image, &err);
    if (status == NPU_OK) {
        (void)futimens(l->image.fd, NULL);
        npu_log(&c->logger, NPU_LOG_INFO, "packed weights are read from %s", l->path);
    } else if (status != NPU_NOT_FOUND) {
        l->must_write = l->damaged = true;
        l->incomplete = npu_cache_dir_is_folder(l->path); /* which no file can replace */
        npu_log(&c->logger, NPU_LOG_WARN, "%s", err.text);
    }
}

static void note(layout *l, const npu_cache_key *key, const uint8_t *data, uint64_t hash) {
    if (l->n == l->room) {
        uint32_t room = l->room ? 2 * l->room : 256;
        npu_cache_piece *more = realloc(l->pieces, room * sizeof *more);
        if (!more) {
            l->incomplete = true;
            return;
        }
        l->pieces = more;
        l->room = room;
    }
    l->pieces[l->n++] = (npu_cache_piece){*key, data, hash};
}

static bool take(void *context, const npu_packed *what, npu_pool *pool, uint8_t *out) {
    npu_cache *c = context;
    layout *l = layout_named(c, what->layout);
    npu_cache_key key;
    npu_error err = {0};
    if (!l || !key_of(c, what, &key)) return false;
    if (!l->looked) look_for_image(c, l, pool);
    const npu_cache_entry *entry = npu_cache_image_find(&l->image, &key);
    if (!entry) return false;
    if (npu_cache_image_read(&l->image, l->path, entry, pool, out, &err) != NPU_OK) {
        npu_log(&c->logger, NPU_LOG_WARN, "%s", err.text);
        npu_cache_image_close(&l->image);
        l->must_write = l->damaged = true;
        return false;
    }
    c->read_bytes += key.bytes;
    note(l, &key, out, entry->hash);
    return true;
}

static void keep(void *context, const npu_packed *what, npu_pool *pool, const uint8_t *data) {
    npu_cache *c = context;
    layout *l = layout_named(c, what->layout);
    npu_cache_key key;
    c->packed_bytes += what->bytes;
    if (!l || !key_of(c, what, &key)) return;
    note(l, &key, data, npu_cache_hash_packed(data, key.bytes, pool));
    l->must_write = true;
}

void npu_cache_model_name(const char *path, char out[NPU_CACHE_MODEL_NAME]) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    memset(out, 0, NPU_CACHE_MODEL_NAME); /* it goes into files */
    npu_utf8_sanitize(out, NPU_CACHE_MODEL_NAME, name, strlen(name));
}

npu_status npu_cache_open(const npu_cache_params *params, npu_cache **out, npu_error *err) {
    npu_cache *c = calloc(1, sizeof *c);
    size_t size = strlen(params->dir) + sizeof "/weights";
    *out = NULL;
    if (c) c->dir = malloc(size);
    if (!c || !c->dir) {
        free(c);
        return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for the weight cache");
    }
    snprintf(c->dir, size, "%s/weights", params->dir);
    c->logger = params->logger;
    c->limit_bytes = params->limit_bytes;
    c->least_bytes = params->least_bytes;
    c->threads = params->threads;
    c->stop = (npu_cache_stop){params->cancelled, params->cancelled_user};
    c->seam = (npu_weight_cache){c, take, keep};
    npu_cache_model_name(params->n_files ? params->files[0].path : "", c->model);
    npu_status status = npu_cache_source_open(&c->source, c->dir, c->model, params->files, params->n_files, err);
    if (status == NPU_OK)
        *out = c;
    else
        npu_cache_close(c);
    return status;
}

const npu_weight_cache *npu_cache_seam(npu_cache *cache) {
    return &cache->seam;
}

void npu_cache_count(const npu_cache *cache, uint64_t *read_bytes, uint64_t *packed_bytes) {
    *read_bytes = cache->read_bytes;
    *packed_bytes = cache->packed_bytes;
}

/* The same weights may have been used in several places. */
static void sort_pieces(layout *l) {
    uint32_t n = 0;
    npu_cache_image_sort(l->pieces, l->n);
    for (uint32_t i = 0; i < l->n; i++)
        if (!n || npu_cache_key_compare(&l->pieces[n - 1].key, &l->pieces[i].key) != 0) l->pieces[n++] = l->pieces[i];
    l->n = n;
}

static const npu_cache_piece *piece_of(const layout *l, uint32_t n, const npu_cache_key *key) {
    return n ? bsearch(key, l->pieces, n, sizeof *l->pieces, npu_cache_image_compare_piece) : NULL;
}

static bool is_cancelled(const npu_cache *c) {
    return c->stop.asked && c->stop.asked(c->stop.user);
}

/* What an image has that this process did not use goes into the one that replaces it. |*kept| is its memory. */
static npu_status merge(const npu_cache *c, layout *l, const npu_cache_image *have, npu_pool *pool, uint8_t **kept,
                        npu_error *err) {
    uint64_t bytes = 0, at = 0;
    uint32_t mine = l->n;
    for (uint64_t i = 0; i < have->head.n_entries; i++)
        if (!piece_of(l, mine, &have->entries[i].key)) bytes += have->entries[i].key.bytes;
    *kept = bytes ? malloc(bytes) : NULL;
    if (bytes && !*kept) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for an image's weights");
    for (uint64_t i = 0; i < have->head.n_entries; i++) {
        const npu_cache_entry *e = &have->entries[i];
        if (piece_of(l, mine, &e->key)) continue;
        if (is_cancelled(c)) return npu_fail(err, NPU_CANCELLED, "cache.cancelled", "cancelled");
        if (npu_cache_image_read(have, l->path, e, pool, *kept + at, NULL) != NPU_OK) continue; /* not worth keeping */
        note(l, &e->key, *kept + at, e->hash);
        at += e->key.bytes;
    }
    return NPU_OK;
}

static bool has_all(const npu_cache_image *have, const layout *l) {
    for (uint32_t i = 0; i < l->n; i++)
        if (!npu_cache_image_find(have, &l->pieces[i].key)) return false;
    return true;
}

static npu_status write_layout(npu_cache *c, layout *l, npu_pool *pool, npu_error *err) {
    npu_cache_head head = {.content = c->source.content};
    char *part;
    int fd;
    memcpy(head.layout, l->name, sizeof head.layout);
    memcpy(head.model, c->model, sizeof head.model);
    NPU_TRY(npu_cache_dir_make_room(c->dir, l->path, npu_cache_image_bytes(l->pieces, l->n), c->limit_bytes, err));
    NPU_TRY(npu_cache_dir_begin(c->dir, &part, &fd, err));
    npu_status status = npu_cache_image_write(fd, &head, l->pieces, l->n, pool, &c->stop, err);
    return npu_cache_dir_end(part, fd, l->path, status, err);
}

/* Another process, or one before the system started, may have written all of it: then nothing is to be done. */
static npu_status save_layout(npu_cache *c, layout *l, npu_pool *pool, npu_error *err) {
    npu_cache_image have = {.fd = -1};
    uint8_t *kept = NULL;
    npu_cache_image_close(&l->image);
    if (!l->path) l->path = npu_cache_dir_image(c->dir, c->source.content, l->name);
    if (!l->path) return npu_fail(err, NPU_NO_MEMORY, "cache.memory", "no memory for a path");
    if (!l->damaged) (void)npu_cache_image_open(l->path, &c->source.content, l->name, &have, NULL);
    bool is_there = have.entries && has_all(&have, l);
    npu_status status = have.entries && !is_there ? merge(c, l, &have, pool, &kept, err) : NPU_OK;
    npu_cache_image_close(&have);
    if (!is_there && status == NPU_OK) status = write_layout(c, l, pool, err);
    if (!is_there && status == NPU_OK) npu_log(&c->logger, NPU_LOG_INFO, "packed weights are kept in %s", l->path);
    free(kept);
    return status;
}

static npu_status save(npu_cache *c, npu_error *err) {
    npu_pool *pool;
    NPU_TRY(npu_pool_create(c->threads, &pool, err));
    npu_status status = npu_cache_source_confirm(&c->source, pool, &c->stop, err);
    for (uint32_t i = 0; i < c->n_layouts && status == NPU_OK; i++)
        if (c->layouts[i].must_write) status = save_layout(c, &c->layouts[i], pool, err);
    if (status == NPU_OK && !c->source.is_remembered) status = npu_cache_source_remember(&c->source, err);
    npu_pool_destroy(pool);
    return status;
}

/* Of what is not steady nothing can be remembered. */
static bool must_save(npu_cache *c) {
    bool must = c->read_bytes && c->source.is_steady && !c->source.is_remembered;
    for (uint32_t i = 0; i < c->n_layouts; i++) {
        layout *l = &c->layouts[i];
        sort_pieces(l);
        l->must_write &= !l->incomplete && l->n && npu_cache_image_bytes(l->pieces, l->n) >= c->least_bytes;
        must |= l->must_write;
    }
    return must;
}

void npu_cache_save(npu_cache *c) {
    npu_error err = {0};
    npu_cache_dir_sweep(c->dir);
    npu_status status = !must_save(c) ? NPU_OK : is_cancelled(c) ? NPU_CANCELLED : save(c, &err);
    for (uint32_t i = 0; i < c->n_layouts; i++) npu_cache_image_close(&c->layouts[i].image);
    (void)npu_cache_dir_make_room(c->dir, NULL, 0, c->limit_bytes, NULL);
    if (status == NPU_CANCELLED)
        npu_log(&c->logger, NPU_LOG_INFO, "packed weights are not kept: cancelled");
    else if (status != NPU_OK)
        complain(c, err.text);
}

void npu_cache_close(npu_cache *c) {
    if (!c) return;
    for (uint32_t i = 0; i < c->n_layouts; i++) {
        npu_cache_image_close(&c->layouts[i].image);
        free(c->layouts[i].path);
        free(c->layouts[i].pieces);
    }
    npu_cache_source_close(&c->source);
    free(c->dir);
    free(c);
}
