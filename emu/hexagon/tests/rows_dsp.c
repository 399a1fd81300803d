// Rows that run in the NPU process (probe_checks.c).
#include "kit.h"

// In the order of probe_checks.c.
enum {
    THREADS,
    LOCKS,
    COMPUTE_RES,
    POWER,
    HMX_V2_REFUSED,
    DMA_GOOD,
    DMA_BAD,
    DMA_TYPE_9,
    TIME,
    SMALL_STACK,
    WEAK_NAMES,
    EXTENDED
};

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

static void weak_names(void) {
    run(WEAK_NAMES);
}

static void power(void) {
    remote_handle64 h = kit_open(0);
    unsigned long long types;
    run(POWER);
    EQUAL(lib.npu_emu_query(CDSP, "power_types", &types), 0);
    EQUAL(types, 1 << 12 | 1 << 2); // DCVS_v3 and HVX
    kit_close(h);
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

static void small_stack(void) {
    remote_handle64 h = kit_open(0);
    unsigned long long count;
    run(SMALL_STACK);
    EQUAL(lib.npu_emu_query(CDSP, "small_stacks", &count), 0);
    EQUAL(count, 1);
    kit_close(h);
}

// Above 4 GiB: only DMA reaches it, and only from v81 on.
static void extended(void) {
    remote_handle64 h;
    struct probe_in in = {.value = EXTENDED};
    struct probe_out out;
    uint8_t *memory;
    int fd;
    if (kit_qemu) return; // qemu-hexagon ends at v73
    kit_set("arch", "v81");
    h = kit_open(0);
    memory = kit_buffer(CDSP, 8192, FASTRPC_MAP_FD_DELAYED_EXTENDED, &fd);
    in.fd = (uint32_t)fd;
    memory[0] = 11;
    memory[4095] = 12;
    EQUAL(kit_call(h, PROBE_CHECK, &in, &out), 0);
    EQUAL(out.value, 0);
    EQUAL(memory[4096], 11);
    EQUAL(memory[8191], 12);
    kit_buffer_free(CDSP, memory);
    kit_close(h);
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
                                   {"QuRT: stacks too small for a PC are enlarged and counted", small_stack},
                                   {"compute resources: the vendor headers' weak names", weak_names},
                                   {"extended mappings and 40-bit DMA", extended},
                                   {0}};
