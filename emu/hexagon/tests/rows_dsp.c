// Rows that run in the NPU process (probe_checks.c).
#include "kit.h"

// In the order of probe_checks.c.
enum { THREADS, LOCKS, COMPUTE_RES, POWER, HMX_V2_REFUSED, DMA_GOOD, DMA_BAD, DMA_TYPE_9, TIME };

static void run(uint64_t number) {
    remote_handle64 h = kit_open(0);
    struct probe_out out;
    EQUAL(kit_call(h, PROBE_CHECK, &(struct probe_in){.value = number}, &out), 0);
    EQUAL(out.value, 0); // else the line of probe_checks.c
    kit_close(h);
}

static void threads(void) {
    run(THREADS);
}
static void locks(void) {
    run(LOCKS);
}
static void compute_res(void) {
    run(COMPUTE_RES);
}
static void dma_good(void) {
    run(DMA_GOOD);
}
static void dma_bad(void) {
    run(DMA_BAD);
}
static void clocks(void) {
    run(TIME);
}

static void power(void) {
    run(POWER);
    kit_set("hmx_v2", "0");
    run(HMX_V2_REFUSED);
    kit_set("hmx_v2", "1");
}

static void dma_type_9(void) {
    if (kit_qemu) return; // qemu-hexagon ends at v73
    kit_set("arch", "v75");
    run(DMA_TYPE_9);
    kit_set("arch", "v73");
}

const struct row kit_rows_dsp[] = {{"QuRT: threads", threads},
                                   {"QuRT: locks, barriers, signals", locks},
                                   {"compute resources: VTCM, release callback", compute_res},
                                   {"power votes", power},
                                   {"user DMA: descriptors", dma_good},
                                   {"user DMA: errors are loud", dma_bad},
                                   {"user DMA: type 9", dma_type_9},
                                   {"clocks, caches", clocks},
                                   {0}};
