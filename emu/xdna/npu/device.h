// Inside npu-emu-xdna-device: the firmware and the array of one open file.
#ifndef EMU_XDNA_DEVICE_H
#define EMU_XDNA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/xdna_layout.h"
#include "proto.h"

enum emu_kernel_kind { EMU_KERNEL_INT8, EMU_KERNEL_GEMV_Q4_1 };

struct emu_kernel {
    enum emu_kernel_kind kind;
    npu_xdna_layout layout;
    uint32_t columns;
    uint32_t generation; // 0: any
};

// Reads a description (docs/xdna.md). False when it is none, or a number in it can't be.
bool emu_kernel_read(const uint8_t *text, size_t bytes, struct emu_kernel *out);

// The operands' places, each as long as its kernel says.
struct emu_operands {
    const uint8_t *a, *b;
    uint8_t *c;
};

// Bytes of each operand.
void emu_kernel_bytes(const struct emu_kernel *k, uint64_t bytes[3]);

// Compute rows 0 to |rows| only of C.
void emu_matmul(const npu_xdna_layout *l, const struct emu_operands *o, uint32_t rows);
void emu_gemv_q4_1(const npu_xdna_layout *l, const struct emu_operands *o, uint32_t rows);

// Whether |insts| is an instruction stream for |generation| with operations that end inside it, none of which patches
// an argument past |n_args|.
enum emu_stream { EMU_STREAM_OK, EMU_STREAM_BAD, EMU_STREAM_OTHER_DEVICE };
enum emu_stream emu_stream_check(const uint8_t *insts, uint64_t bytes, uint32_t generation, uint32_t n_args);

#endif
