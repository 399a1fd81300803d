/* What a context did: counted since it was opened (npu_context_counters), and op by op, where and for how long
 * (npu_context_profile). */
#ifndef NPU_PROFILE_H
#define NPU_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

/* What was done since the context was opened. */
typedef struct npu_counters {
    uint64_t steps, rows;                    /* graph runs, and rows in them */
    uint64_t ops_device, ops_host;           /* ops run on the NPU, and on the CPU */
    uint64_t ops_fallback;                   /* of ops_host: those that a device context left to the CPU */
    uint64_t batches, syncs;                 /* submits, and changes of ownership */
    uint64_t weight_bytes_per_token;         /* read by one decode step */
    uint64_t multiply_adds_per_token;        /* with weights, for a token of a prompt: the head is not computed there */
    uint64_t kv_bytes_per_token;             /* keys and values that a row at the end of the longest sequence reads */
    uint64_t bytes_to_device, bytes_to_host; /* of tensors that changed their owner */
    uint64_t messages, message_bytes;        /* to the NPU */
    uint64_t images, image_bytes;            /* descriptors built for the NPU: none after the first steps */
    uint64_t mapped_bytes;                   /* of buffers that the NPU mapped, again or for the first time */
    uint64_t dma_bytes, cache_bytes;         /* that the NPU moved by DMA, and cleaned and dropped from its cache */
    uint64_t cached_bytes, packed_bytes;     /* with a cache_dir: packed weights read from there, and made here */
    uint64_t barriers, fences;               /* of several devices: barriers of all, and other waits and signals */
} npu_counters;

/* One op on the CPU, one batch or product on a device, or the sync between them. The phases of |ns| are 0 where there
 * is none: on the CPU, or because the target does not tell. */
typedef struct npu_profile_entry {
    const char *op;    /* "mul_mat"; "batch" for a device's batch; "sync" */
    const char *role;  /* "qkv"; "several" for a batch of them */
    const char *owner; /* "host", "hexagon" */
    uint32_t layer;    /* UINT32_MAX outside the layers */
    uint32_t rows, ops;
    uint64_t ns;
    uint64_t pack_ns, quant_ns, launch_ns, wait_ns, readback_ns,
        dequant_ns;        /* quant: with rotating; launch: with syncs */
    uint32_t retries;      /* launches that were repeated */
    uint64_t mapped_bytes; /* of buffers that the NPU mapped for it */
    bool is_fallback;      /* run by the CPU though the context has a device */
} npu_profile_entry;

/* Called from the thread that decodes; |entry| lives until it returns. */
typedef void npu_profile_fn(void *user, const npu_profile_entry *entry);

#endif
