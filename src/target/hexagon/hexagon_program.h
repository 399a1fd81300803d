/* What is wrong with the files of NPU programs. */
#ifndef NPU_HEXAGON_PROGRAM_H
#define NPU_HEXAGON_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether |folder| is missing, or has no program for the architecture, or one that is not whole: |text| says which. */
bool npu_hex_program_fault(const char *folder, unsigned arch, char *text, size_t size);

#endif
