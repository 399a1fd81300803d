/* The generations of the device that this build knows, as one table: how they are named and recognised, and what the
 * device layer, planning and generated kernels need to know of each. Constant data, any thread. What a driver version
 * does is another table, in xdna_driver.c. */
#ifndef NPU_XDNA_CHIP_H
#define NPU_XDNA_CHIP_H

#include <stdint.h>

typedef struct npu_xdna_chip {
    const char *generation; /* "xdna1" */
    uint32_t number;        /* the same as kernel files say it */
    uint32_t pci_device;
    uint32_t columns, usable; /* of the array; usable: that kernels may take */
    uint32_t core_rows;       /* compute tiles in a column */
    uint32_t contexts;
    uint32_t micro_rows; /* rows of A in a micro-tile */
} npu_xdna_chip;

extern const npu_xdna_chip npu_xdna_chips[];
extern const unsigned npu_xdna_n_chips;

/* NULL when no generation is called that. */
const npu_xdna_chip *npu_xdna_chip_named(const char *generation);
const npu_xdna_chip *npu_xdna_chip_numbered(uint32_t number);

#endif
