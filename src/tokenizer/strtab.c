#include "tokenizer/strtab.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_STRINGS = 1 << 30 };

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b) {
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Seeded with an address of this run, so that a file can't be made to collide; ids do not depend on it. */
static uint32_t hash_bytes(const npu__strtab *t, const char *s, size_t n) {
    uint64_t h = t->seed ^ n, w;
    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&w, s, 8);
        h = fold(h ^ w, 0x9E3779B97F4A7C15u ^ t->seed);
    }
    w = 0;
    if (n) memcpy(&w, s, n);
    h = fold(h ^ w, 0xD6E8FEB86659FD93u ^ t->seed);
    return (uint32_t)(h ^ h >> 32);
}

static npu_status no_memory(npu_error *err, size_t count, size_t bytes) {
    return npu_fail(err, NPU_NO_MEMORY, "tokenizer.no_memory", "no memory for %zu strings of %zu bytes in all", count,
                    bytes);
}

/* The slot that holds the content, or the free one where it would go. */
static npu__str_slot *probe(const npu__strtab *t, const char *s, size_t n, uint32_t hash) {
    for (uint32_t i = hash;; i++) {
        npu__str_slot *slot = &t->slots[i & t->slot_mask];
        if (slot->id == NPU__STR_NONE) return slot;
        if (slot->hash != hash) continue;
        size_t at = t->offsets[slot->id];
        if (t->offsets[slot->id + 1] - at == n && (n == 0 || memcmp(t->bytes + at, s, n) == 0)) return slot;
    }
}

/* Slots are at most half full. */
static npu_status grow_slots(npu__strtab *t, size_t count, npu_error *err) {
    size_t n = 16;
    while (n < count * 2) n *= 2;
    npu__str_slot *old = t->slots;
    size_t old_n = old ? (size_t)t->slot_mask + 1 : 0;
    if (n <= old_n) return NPU_OK;
    npu__str_slot *slots = malloc(n * sizeof *slots);
    if (!slots) return no_memory(err, count, t->bytes_cap);
    memset(slots, 0xFF, n * sizeof *slots);
    if (!old) t->seed = fold((uint64_t)(uintptr_t)slots >> 4, 0xA0761D6478BD642Fu) | 1;
    t->slots = slots;
    t->slot_mask = (uint32_t)(n - 1);
    for (size_t k = 0; k < old_n; k++) {
        if (old[k].id == NPU__STR_NONE) continue;
        uint32_t i = old[k].hash;
        while (slots[i & t->slot_mask].id != NPU__STR_NONE) i++;
        slots[i & t->slot_mask] = old[k];
    }
    free(old);
    return NPU_OK;
}

npu_status npu__strtab_reserve(npu__strtab *t, size_t count, size_t bytes, npu_error *err) {
    if (count > MAX_STRINGS) return npu_fail(err, NPU_RANGE, "tokenizer.too_many", "%zu strings are too many", count);
    if (count > t->cap || !t->offsets) {
        size_t *offsets = realloc(t->offsets, (count + 1) * sizeof *offsets);
        if (!offsets) return no_memory(err, count, bytes);
        if (!t->offsets) offsets[0] = 0;
        t->offsets = offsets;
        t->cap = (uint32_t)count;
    }
    if (bytes > t->bytes_cap) {
        char *more = realloc(t->bytes, bytes);
        if (!more) return no_memory(err, count, bytes);
        t->bytes = more;
        t->bytes_cap = bytes;
    }
    return grow_slots(t, count, err);
}

npu_status npu__strtab_add(npu__strtab *t, const char *s, size_t n, int32_t *id, npu_error *err) {
    if (n > SIZE_MAX / 4 - t->bytes_used) return no_memory(err, t->count, n);
    size_t need = t->bytes_used + n;
    if (t->count == t->cap || need > t->bytes_cap || !t->slots) {
        size_t count = t->count == t->cap ? t->cap * (size_t)2 + 16 : t->cap;
        NPU_TRY(npu__strtab_reserve(t, count, need > t->bytes_cap ? need * 2 : t->bytes_cap, err));
    }
    if (n) memcpy(t->bytes + t->bytes_used, s, n);
    t->bytes_used = need;
    uint32_t hash = hash_bytes(t, s, n);
    npu__str_slot *slot = probe(t, s, n, hash);
    *id = (int32_t)t->count++;
    t->offsets[*id + 1] = need;
    if (slot->id == NPU__STR_NONE) *slot = (npu__str_slot){*id, hash};
    return NPU_OK;
}

int32_t npu__strtab_find(const npu__strtab *t, const char *s, size_t n) {
    return t->slots ? probe(t, s, n, hash_bytes(t, s, n))->id : NPU__STR_NONE;
}

const char *npu__strtab_get(const npu__strtab *t, int32_t id, size_t *n) {
    *n = t->offsets[id + 1] - t->offsets[id];
    return t->bytes + t->offsets[id];
}

void npu__strtab_free(npu__strtab *t) {
    free(t->bytes);
    free(t->offsets);
    free(t->slots);
    *t = (npu__strtab){0};
}
