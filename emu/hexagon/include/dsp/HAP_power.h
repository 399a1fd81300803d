// Power votes: accepted, kept for inspection, without effect on speed. Only the request's type word is looked at, so a
// program may use its own declaration of the request's body.
#ifndef NPU_EMU_DSP_HAP_POWER_H
#define NPU_EMU_DSP_HAP_POWER_H

#include <stdint.h>

typedef enum {
    HAP_power_set_mips_bw = 1,
    HAP_power_set_HVX = 2,
    HAP_power_set_apptype = 3,
    HAP_power_set_linelock = 4,
    HAP_power_set_DCVS = 5,
    HAP_power_set_linelock_nothrottle = 6,
    HAP_power_set_DCVS_v2 = 7,
    HAP_power_set_vapss = 8,
    HAP_power_set_vapss_v2 = 9,
    HAP_power_set_dcvs_v2_update = 10,
    HAP_power_set_streamer = 11,
    HAP_power_set_DCVS_v3 = 12,
    HAP_power_set_HMX = 13,
    HAP_power_set_HMX_v2 = 14,
} HAP_Power_request_type;

typedef struct {
    HAP_Power_request_type type;
    uint32_t body[64];
} HAP_power_request_t;

int HAP_power_set(void *context, HAP_power_request_t *request);
void *HAP_utils_create_context(void);
void HAP_utils_destroy_context(void *context);

#endif
