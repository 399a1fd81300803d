/* Texts of a trace by number: each is written once, later events name it by its number. Of a fixed size; when it is
 * full the writer starts anew with a zeroed one. Called by perfetto.c. */
#ifndef NPU_TRACE_INTERN_H
#define NPU_TRACE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NPU_INTERN_TEXT = 200,
    NPU_INTERN_SLOTS = 2048,
    NPU_INTERN_MOST = NPU_INTERN_SLOTS / 2,
    NPU_INTERN_ROOM = 24 << 10 /* bytes of texts: a name has about 20 */
};

typedef struct npu_intern_entry {
    uint16_t at, bytes, kind;
    uint16_t number; /* from 1; 0 = free */
} npu_intern_entry;

/* Zeroed = empty. */
typedef struct npu_intern {
    npu_intern_entry entries[NPU_INTERN_SLOTS];
    char texts[NPU_INTERN_ROOM];
    uint32_t n, used;
} npu_intern;

/* How many bytes of |text| count: what is beyond NPU_INTERN_TEXT is cut off, characters as a whole. */
uint32_t npu_intern_length(const char *text);

/* Whether |n| more texts of any length fit. */
bool npu_intern_fits(const npu_intern *table, uint32_t n);

/* The number of |text| among those of its |kind|; |*is_new| when it was not seen before: then it must fit. */
uint32_t npu_intern_number(npu_intern *table, uint32_t kind, const char *text, bool *is_new);

#endif
