// The parts of the probe program.
#ifndef EMU_TESTS_PROBE_PROGRAM_H
#define EMU_TESTS_PROBE_PROGRAM_H

#include "AEEStdErr.h"
#include "HAP_compute_res.h"
#include "HAP_farf.h"
#include "HAP_mem.h"
#include "HAP_perf.h"
#include "HAP_power.h"
#include "dspqueue.h"
#include "npu_emu_dsp.h"
#include "probe.h"
#include "qurt.h"
#include "remote.h"

int probe_skel_handle_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args);

void probe_crash(void);

int probe_queue_start(uint64_t id, int by_callback);
void probe_queue_release(void);
int probe_queue_stop(void);

// In a check: returns the line of what is not as it must be.
#define CHECK(condition) \
    if (!(condition)) return __LINE__

int probe_check_dma_good(void);
int probe_check_dma_bad(void);
int probe_check_dma_type_9(void);
int probe_check_extended(uint32_t fd);

// Runs check |number|: 0, or the line of the first thing that was not as it must be; -1 when there is no such check.
int probe_check(uint32_t number, uint32_t fd);

#endif
