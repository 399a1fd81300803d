// Time of the NPU process. Cycles are made from the monotonic clock at the configured frequency; the timer runs at
// 19.2 MHz as on a device.
#ifndef NPU_EMU_DSP_HAP_PERF_H
#define NPU_EMU_DSP_HAP_PERF_H

#include <stdint.h>

uint64_t HAP_perf_get_time_us(void);
uint64_t HAP_perf_get_pcycles(void);
uint64_t HAP_perf_get_qtimer_count(void);
uint64_t HAP_perf_qtimer_count_to_us(uint64_t count);

#endif
