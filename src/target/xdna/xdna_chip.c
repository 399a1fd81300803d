#include "target/xdna/xdna_chip.h"

#include <string.h>

const npu_xdna_chip npu_xdna_chips[] = {
    {"xdna1", 1, 0x1502, 5, 4, 4, 6, 4},
    {"xdna2", 2, 0x17f0, 8, 8, 4, 16, 8},
};
const unsigned npu_xdna_n_chips = sizeof npu_xdna_chips / sizeof npu_xdna_chips[0];

const npu_xdna_chip *npu_xdna_chip_named(const char *generation) {
    for (unsigned i = 0; i < npu_xdna_n_chips; i++)
        if (!strcmp(npu_xdna_chips[i].generation, generation)) return &npu_xdna_chips[i];
    return NULL;
}

const npu_xdna_chip *npu_xdna_chip_numbered(uint32_t number) {
    for (unsigned i = 0; i < npu_xdna_n_chips; i++)
        if (npu_xdna_chips[i].number == number) return &npu_xdna_chips[i];
    return NULL;
}
