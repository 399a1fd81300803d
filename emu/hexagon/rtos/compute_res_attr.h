// What the opaque attribute block of a reservation holds; compute_res.c reads it.
#ifndef EMU_RTOS_COMPUTE_RES_ATTR_H
#define EMU_RTOS_COMPUTE_RES_ATTR_H

#include "HAP_compute_res.h"

#include <stdint.h>

typedef int emu_release_fn(unsigned int context_id, void *context);

struct emu_res_attr {
    uint32_t bytes, min_bytes;
    uint32_t serialize, hmx, cached, single_page;
    uint32_t context_id, pad;
    uint64_t release, release_context;
    uint64_t magic;
};

_Static_assert(sizeof(struct emu_res_attr) <= sizeof(compute_res_attr_t), "the attribute block has the device's size");

#define EMU_RES_MAGIC 0x52544143u

// The block behind the public type, NULL when it was never initialised.
struct emu_res_attr *emu_res_attr(compute_res_attr_t *attr);

#endif
