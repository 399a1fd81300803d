/* Residency: weights of the layers as images or plain rows in shared buffers. */
#include "target/hexagon/hexagon_large.h"

#include <stdlib.h>
#include <string.h>

#include "wire/format.h"
#include "wire/guard.h"

typedef struct item {
    npu_weight w;
    uint32_t home; /* the device whose buffers it is in; UINT32_MAX: those of all */
    npu_tensor t;
    uint64_t key, bytes;
    uint64_t same_as; /* the key of an item that is the same weight: a tied head; 0 = none */
    uint32_t part_rows;
} item;

typedef struct items {
    item *at;
    uint32_t n, capacity;
} items;

static uint64_t key_of(unsigned layer, unsigned role, unsigned part) {
    return 1ull << 48 | (uint64_t)layer << 32 | (uint64_t)role << 16 | part;
}

static uint32_t slot_of(const npu_hex_target *t, uint64_t key) {
    return (uint32_t)(key * 0x9E3779B97F4A7C15ull >> 40) & (t->weight_slots - 1);
}

static const npu_hex_weight *find(const npu_hex_target *t, uint64_t key) {
    if (!t->weight_slots) return NULL;
    for (uint32_t i = slot_of(t, key); t->weights[i].key; i = (i + 1) & (t->weight_slots - 1))
        if (t->weights[i].key == key) return &t->weights[i];
    return NULL;
}

const npu_hex_weight *npu_hex_weight_find(const npu_hex_target *t, unsigned layer, unsigned role, unsigned part) {
    return find(t, key_of(layer, role, part));
}

static void insert(npu_hex_target *t, const npu_hex_weight *w) {
    uint32_t i = slot_of(t, w->key);
    while (t->weights[i].key) i = (i + 1) & (t->weight_slots - 1);
    t->weights[i] = *w;
}

/* Room for |more| without getting more than half full. */
static bool grow(npu_hex_target *t, uint32_t more) {
    uint32_t slots = t->weight_slots ? t->weight_slots : 64;
    while (slots < 2 * (t->n_weights + more)) slots *= 2;
    if (slots == t->weight_slots) return true;
    npu_hex_weight *old = t->weights, *bigger = calloc(slots, sizeof *bigger);
    if (!bigger) return false;
    uint32_t n = t->weight_slots;
    t->weights = bigger;
    t->weight_slots = slots;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key) insert(t, &old[i]);
    free(old);
    return true;
}

void npu_hex_weight_layout(npu_tensor *t) {
    const npu_image_format *f = npu_image_format_of(t->type);
    if (f && npu_image_fits(f, t->ne[0]) && t->ne[2] == 1 && t->ne[3] == 1) {
        t->layout = NPU_LAYOUT_TILES;
        memset(t->nb, 0, sizeof t->nb);
    }
}

static uint64_t image_bytes(const npu_tensor *t, uint64_t file_bytes) {
    return t->layout == NPU_LAYOUT_TILES ? npu_image_bytes(npu_image_format_of(t->type), t->ne[0], t->ne[1])
                                         : file_bytes;
}

/* Whether any kernel of ours can use it; the others stay in the file, their ops were planned on the host. */
static bool wanted(item *it) {
    npu_tensor *t = &it->t;
    *t = (npu_tensor){.type = it->w.type, .flags = NPU_TENSOR_WEIGHT};
    memcpy(t->ne, it->w.ne, sizeof t->ne);
    memcpy(t->nb, it->w.nb, sizeof t->nb);
    npu_hex_weight_layout(t);
    it->bytes = image_bytes(t, it->w.bytes);
    const npu_format *f = npu_format_of(t->type);
    return t->layout == NPU_LAYOUT_TILES || (f && f->flags & NPU_FORMAT_FLOAT);
}

/* A split by layers brings a layer's weights to its device only. */
static uint32_t home_of(const npu_hex_target *t, unsigned layer) {
    return t->set.split == NPU_HEX_LAYER ? npu_hex_group_device(t, layer) : UINT32_MAX;
}

static uint64_t same_weight(const items *list, const item *it) {
    for (uint32_t i = 0; i < list->n; i++) {
        const item *other = &list->at[i];
        if (other->w.data == it->w.data && other->home == it->home && !memcmp(&other->t, &it->t, sizeof it->t))
            return other->same_as ? other->same_as : other->key;
    }
    return 0;
}

static npu_status collect_layer(items *list, const npu_hex_target *t, unsigned layer, const npu_weight_source *source,
                                npu_error *err) {
    for (unsigned role = 0; role < NPU_ROLE_COUNT; role++)
        for (unsigned part = NPU_PART_WEIGHT; part <= NPU_PART_FREQS; part++) {
            item it = {.home = home_of(t, layer), .key = key_of(layer, role, part)};
            npu_status status = source->get(source->context, layer, (npu_role)role, (npu_weight_part)part, &it.w, err);
            if (status == NPU_NOT_FOUND) continue;
            if (status != NPU_OK) return status;
            if (!wanted(&it) || npu_hex_weight_find(t, layer, role, part)) continue;
            it.part_rows = npu_hex_part_rows(&it.t, t->layout_hw.max_buffer_bytes);
            it.same_as = same_weight(list, &it);
            if (list->n == list->capacity) {
                uint32_t capacity = list->capacity ? list->capacity * 2 : 64;
                item *bigger = realloc(list->at, capacity * sizeof *bigger);
                if (!bigger) return npu_fail(err, NPU_NO_MEMORY, "hexagon.weights", "out of memory");
                list->at = bigger;
                list->capacity = capacity;
            }
            list->at[list->n++] = it;
        }
    return NPU_OK;
}

static uint64_t aligned(uint64_t bytes) {
    return NPU_GUARD(DRIVER_WEIGHT_ALIGN) ? (bytes + 127) & ~127ull : bytes;
}

/* From the weight cache, when it has them; what is not packed is as near in the file. */
static void fill_weight(npu_hex_target *t, const item *it, uint8_t *out) {
    const npu_weight_cache *cache = it->t.layout == NPU_LAYOUT_TILES ? t->cache : NULL;
    npu_packed what = {.layout = NPU_HEX_LAYOUT,
                       .source = it->w.data,
                       .source_bytes = it->w.bytes,
                       .row_bytes = it->w.nb[1],
                       .type = it->w.type,
                       .bytes = it->bytes};
    memcpy(what.ne, it->w.ne, sizeof what.ne);
    if (cache && cache->take(cache->context, &what, t->pool, out)) return;
    npu_hex_pack(t->pool, t->row_tiles, &it->w, &it->t, out);
    if (cache) cache->keep(cache->context, &what, t->pool, out);
}

static npu_status alloc(npu_hex_target *t, uint32_t home, uint64_t bytes, npu_hex_buffer **out, npu_error *err) {
    return home == UINT32_MAX ? npu_hex_alloc_shared(t, bytes, false, out, err)
                              : npu_hex_buffer_alloc(t->sessions[home], bytes, false, out, err);
}

static void add(npu_hex_target *t, uint64_t key, const npu_tensor *tensor, npu_hex_buffer *buffer) {
    insert(t, &(npu_hex_weight){.key = key, .tensor = *tensor, .buffer = buffer});
    t->n_weights++;
}

static bool is_parted(const item *it) {
    return it->part_rows && it->part_rows < it->t.ne[1];
}

/* Places items from |from| on in one new buffer, as many as fit. */
static npu_status fill_buffer(npu_hex_target *t, items *list, uint32_t *from, npu_error *err) {
    uint64_t bytes = 0;
    uint32_t end = *from, home = list->at[end].home;
    npu_hex_buffer *buffer;
    for (; end < list->n && list->at[end].home == home && !is_parted(&list->at[end]); end++) {
        if (list->at[end].same_as) continue;
        if (bytes && bytes + aligned(list->at[end].bytes) > t->chunk_bytes) break;
        bytes += aligned(list->at[end].bytes);
    }
    if (bytes > t->layout_hw.max_buffer_bytes)
        return npu_fail(err, NPU_UNSUPPORTED, "hexagon.weight_size",
                        "tensor %s needs %llu bytes (at most %u in one buffer)", list->at[*from].w.name,
                        (unsigned long long)bytes, t->layout_hw.max_buffer_bytes);
    NPU_TRY(alloc(t, home, bytes, &buffer, err));
    bytes = 0;
    for (uint32_t i = *from; i < end; i++) {
        item *it = &list->at[i];
        if (it->same_as) continue;
        it->t.offset = bytes;
        fill_weight(t, it, buffer->data + bytes);
        bytes += aligned(it->bytes);
        add(t, it->key, &it->t, buffer);
    }
    *from = end;
    return NPU_OK;
}

/* Places an item in buffers of its own, some rows in each. */
static npu_status fill_parts(npu_hex_target *t, const item *it, npu_error *err) {
    npu_hex_buffer *first = NULL, **link = &first;
    for (uint32_t row = 0; row < it->t.ne[1]; row += it->part_rows) {
        item part = *it;
        part.t.ne[1] = part.w.ne[1] = it->part_rows < it->t.ne[1] - row ? it->part_rows : it->t.ne[1] - row;
        part.w.data = (const uint8_t *)it->w.data + row * it->w.nb[1];
        part.w.file_offset += row * it->w.nb[1];
        part.w.bytes = part.w.ne[1] * it->w.nb[1];
        part.bytes = image_bytes(&part.t, part.w.bytes);
        NPU_TRY(alloc(t, it->home, part.bytes, link, err));
        fill_weight(t, &part, (*link)->data);
        first->part_bytes = row ? first->part_bytes : part.bytes;
        link = &(*link)->more;
    }
    add(t, it->key, &it->t, first);
    return NPU_OK;
}

npu_status npu_hex_load(npu_hex_target *t, unsigned first_layer, unsigned n_layers, const npu_weight_source *source,
                        npu_error *err) {
    items list = {0};
    npu_status status = NPU_OK;
    if (!first_layer) status = collect_layer(&list, t, NPU_NO_LAYER, source, err);
    for (unsigned i = 0; i < n_layers && status == NPU_OK; i++)
        status = collect_layer(&list, t, first_layer + i, source, err);
    if (status == NPU_OK && !grow(t, list.n)) status = npu_fail(err, NPU_NO_MEMORY, "hexagon.weights", "out of memory");
    for (uint32_t i = 0; i < list.n && status == NPU_OK;) {
        if (list.at[i].same_as)
            i++;
        else if (is_parted(&list.at[i]))
            status = fill_parts(t, &list.at[i++], err);
        else
            status = fill_buffer(t, &list, &i, err);
    }
    for (uint32_t i = 0; i < list.n && status == NPU_OK; i++) {
        const npu_hex_weight *w = list.at[i].same_as ? find(t, list.at[i].same_as) : NULL;
        if (!w) continue;
        add(t, list.at[i].key, &w->tensor, w->buffer);
        /* Used at both ends of a step: large as it is, it would go before what takes its place and be missed soon. */
        for (npu_hex_buffer *b = w->buffer; b; b = b->more) b->pinned = true;
    }
    free(list.at);
    return status;
}

void npu_hex_weights_free(npu_hex_target *t) {
    free(t->weights); /* their buffers end with the session */
    t->weights = NULL;
    t->weight_slots = t->n_weights = 0;
}
