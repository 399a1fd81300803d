/* Which Hexagon is there and what op plans may count on. */
#ifndef NPU_HEXAGON_DEVICE_H
#define NPU_HEXAGON_DEVICE_H

#include "target/hexagon/hexagon_driver.h"
#include "wire/opplan.h"

enum {
    NPU_HEX_DOMAIN = CDSP_DOMAIN_ID,
    NPU_HEX_MAX_BUFFER = 1 << 30,
    NPU_HEX_SLOTS = 64, /* buffers mapped at once: as many as llama.cpp maps; FastRPC is not known to have fewer */
    NPU_HEX_VTCM_LEAST = 1 << 18, /* sizes of local memory that are believed */
    NPU_HEX_VTCM_MOST = 1 << 26,
};

/* One row for each architecture that an NPU program is built for. */
typedef struct npu_hex_arch {
    uint32_t arch;
    uint32_t threads;      /* of devices of this kind, for planning without one */
    uint32_t vtcm_bytes;   /* " */
    uint64_t window_bytes; /* address space we use of the 4 GiB */
} npu_hex_arch;

/* The row for 73, NULL when there is none. */
const npu_hex_arch *npu_hex_arch_of(uint32_t arch);

/* "v73" -> its row; REFUSED with the list of those that are built. */
npu_status npu_hex_arch_named(const char *name, const npu_hex_arch **out, npu_error *err);

/* Asks the library. A failed query or an architecture without NPU program is an error, never a guess. */
npu_status npu_hex_device_arch(const npu_hex_driver *driver, uint32_t domain, const npu_hex_arch **out, npu_error *err);

/* What the library says of the device, without a session; where it says nothing, the row of the table. */
npu_status npu_hex_device_hw(const npu_hex_driver *driver, npu_hw *hw, npu_error *err);

/* Caps for op plans; |hw| as measured or from the table. Only an |emulated| device gives the host's bits. */
void npu_hex_caps(npu_caps *caps, const npu_hw *hw, bool emulated, const char *how);

npu_hw npu_hex_hw_of(const npu_hex_arch *arch);

/* What an emulated device says of its largest shared buffer, and of how many it can have mapped. */
void npu_hex_limit_buffers(const npu_hex_driver *driver, npu_hw *hw);

/* Of a trace's ring: part of the window, whether there is a trace or not. */
uint64_t npu_hex_ring_bytes(const npu_hw *hw);
/* How many buffers a batch can have mapped beside that ring. */
uint32_t npu_hex_batch_buffers(const npu_hw *hw);
/* Of the buffers that share images of batches, and stay mapped. */
uint64_t npu_hex_arena_bytes(const npu_hw *hw);

#endif
