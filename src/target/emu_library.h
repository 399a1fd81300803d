/* Finds and loads the library of an emulated device; shared by the targets that have one. */
#ifndef NPU_TARGET_EMU_LIBRARY_H
#define NPU_TARGET_EMU_LIBRARY_H

#include <stddef.h>

#include "npu/status.h"

/* Loads |file| ("libcdsprpc.so") from emu/ beside the running program or one folder up (build tree), or from
 * lib/npu/emu of the installation, of the program or of the shared library that this code is in. |path| gets its name.
 * The library stays loaded: it has threads of its own. NO_DEVICE with |code|, which names |driver| and where it was
 * looked for, or why it can't be loaded. */
npu_status npu_emu_open(const char *file, const char *driver, const char *code, void **library, char *path, size_t size,
                        npu_error *err);

#endif
