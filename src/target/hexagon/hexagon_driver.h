/* The vendor's library: which one, its symbols, its result codes. Called by hexagon_device.c and hexagon_session.c.
 *
 * One libcdsprpc.so a process is a fact of FastRPC, so a second driver of another kind in one process is refused by the
 * library itself; tests of several drivers use several processes. */
#ifndef NPU_HEXAGON_DRIVER_H
#define NPU_HEXAGON_DRIVER_H

#include "emu/hexagon/include/host/AEEStdErr.h"
#include "emu/hexagon/include/host/dspqueue.h"
#include "emu/hexagon/include/host/remote.h"
#include "emu/hexagon/include/host/rpcmem.h"
#include "emu/hexagon/include/npu_emu.h"
#include "target/target.h"

typedef struct npu_hex_driver {
    void *library;
    char path[512];
    char programs[512]; /* folder of the NPU programs; "" when the library looks for them by itself */
    bool emulated;
    uint64_t window_bytes;           /* of an emulated device, 0 = unknown */
    uint64_t max_buffer_bytes;       /* " */
    uint32_t slots;                  /* " */
    npu_emu_refusal_fn *refusal;     /* of an emulated device; NULL = none */
    npu_emu_violation_fn *violation; /* of an emulated device, NULL = it has no strict mode */
    npu_emu_unmet_fn *unmet;         /* of an emulated device; NULL = none */
    double timeout_s;                /* for an answer when the user gives none: emulation takes its time */
#define HEX_SYMBOL(result, name, arguments, need) result(*name) arguments;
#include "target/hexagon/hexagon_symbols.def"
} npu_hex_driver;

/* Loads the library that params->driver names (NULL = "auto") and, for an emulated device, gives it params->emu and
 * |kernels_dir|. NO_DEVICE says what was looked for; REFUSED names an unknown driver, a missing symbol or a setting. */
npu_status npu_hex_driver_open(const npu_target_params *params, const char *kernels_dir, npu_hex_driver *driver,
                               npu_error *err);
/* Whether npu_hex_driver_open could be meant: an emulator's library is asked, no other is loaded. As there:
 * NO_DEVICE without it, or REFUSED. */
npu_status npu_hex_driver_check(const npu_target_params *params, const char *kernels_dir, npu_error *err);
void npu_hex_driver_close(npu_hex_driver *driver);

/* Warns of rules of the setting "fault" that nothing met: once the sessions are closed. */
void npu_hex_driver_tell_unmet(const npu_hex_driver *driver, const npu_logger *logger);

/* The settings of the emulated device that params->driver names, or else of "sim". */
npu_status npu_hex_describe_emu(const npu_target_params *params, const char **text, npu_error *err);

/* What a strict emulated device ended the process of |domain| for: false when that was nothing; else DEVICE_LOST with
 * the code "hexagon.strict.KIND". */
bool npu_hex_violation(const npu_hex_driver *driver, int domain, npu_error *err);

/* Reports a FastRPC result by name: "what: AEE_ENAME (0x..)". */
npu_status npu_hex_fail(npu_error *err, int result, const char *what);
npu_status npu_hex_status(int result);
const char *npu_hex_result_name(int result);

#endif
