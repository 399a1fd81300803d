#include "trace/intern.h"

#include <string.h>

uint32_t npu_intern_length(const char *text) {
    uint32_t n = (uint32_t)strnlen(text, NPU_INTERN_TEXT);
    while (n && ((uint8_t)text[n] & 0xC0) == 0x80) n--;
    return n;
}

/* FNV-1a. */
static uint32_t hash(uint32_t kind, const char *text, uint32_t bytes) {
    uint32_t h = (2166136261u ^ kind) * 16777619u;
    for (uint32_t i = 0; i < bytes; i++) h = (h ^ (uint8_t)text[i]) * 16777619u;
    return h;
}

static bool is_same(const npu_intern *table, const npu_intern_entry *e, uint32_t kind, const char *text,
                    uint32_t bytes) {
    return e->kind == kind && e->bytes == bytes && !memcmp(table->texts + e->at, text, bytes);
}

bool npu_intern_fits(const npu_intern *table, uint32_t n) {
    return table->n + n <= NPU_INTERN_MOST && table->used + n * NPU_INTERN_TEXT <= NPU_INTERN_ROOM;
}

uint32_t npu_intern_number(npu_intern *table, uint32_t kind, const char *text, bool *is_new) {
    uint32_t bytes = npu_intern_length(text), slot = hash(kind, text, bytes) % NPU_INTERN_SLOTS;
    npu_intern_entry *e = &table->entries[slot];
    while (e->number && !is_same(table, e, kind, text, bytes)) {
        slot = (slot + 1) % NPU_INTERN_SLOTS;
        e = &table->entries[slot];
    }
    *is_new = !e->number;
    if (*is_new) {
        memcpy(table->texts + table->used, text, bytes);
        *e = (npu_intern_entry){(uint16_t)table->used, (uint16_t)bytes, (uint16_t)kind, (uint16_t)++table->n};
        table->used += bytes;
    }
    return e->number;
}
