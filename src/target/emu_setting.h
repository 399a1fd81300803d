/* One --emu KEY=VALUE handed to an emulated device; shared by the targets that have one. */
#ifndef NPU_TARGET_EMU_SETTING_H
#define NPU_TARGET_EMU_SETTING_H

#include "npu/status.h"

/* What an emulator's library exports: 0, or a code of its own. Both strings are read during the call only. */
typedef int npu_emu_set_fn(const char *key, const char *value);

/* Why the last value was refused; "" when there is no more to say. */
typedef const char *npu_emu_why_fn(void);

/* Splits |setting| and gives it to |set|. REFUSED with |code| when it is not KEY=VALUE, when |set| answers
 * |no_such_key|, or for any other answer but 0, a value that the key doesn't take, with what |why| says. */
npu_status npu_emu_set(npu_emu_set_fn *set, npu_emu_why_fn *why, const char *setting, int no_such_key, const char *code,
                       npu_error *err);

#endif
