/* What this machine can do at most: kernels that only read, or only multiply, for npu bench --roofline. They compute
 * nothing that is used; the ops of the host target are held against them. One row a kernel.
 */
#ifndef NPU_BASE_PEAK_H
#define NPU_BASE_PEAK_H

#include <stdint.h>

typedef struct npu_peak {
    const char *kind;                 /* "f32", "int8", "bf16": what is multiplied */
    const char *level;                /* whose name in base/cpu.h */
    uint32_t features;                /* NPU_CPU_* it needs */
    uint32_t products;                /* multiply-adds of one round */
    uint64_t (*run)(uint64_t rounds); /* a number that depends on all results */
} npu_peak;

/* All kernels of this build; a NULL kind ends them. */
const npu_peak *npu_peaks(void);

/* Reads |bytes|, a multiple of 64, with the widest loads that |features| has. Returns a number that depends on them. */
uint64_t npu_peak_read(const void *data, uint64_t bytes, uint32_t features);

/* Sums that are independent of each other: enough to hide the latency of a multiply-add on all machines known. */
enum { NPU_PEAK_SUMS = 12 };

/* What each multiplying kernel is: |rounds| times |step| for all sums, then their sum by |add| in sum[0]. |start| and
 * |step| may use the index i. All three loops over the sums are unrolled, so that none needs them in memory: a sum that
 * goes there and back between two steps halves what is measured (tests/peak_loops.py). */
#define NPU_PEAK_EACH(first, statement) \
    _Pragma("GCC unroll 12") for (int i = (first); i < NPU_PEAK_SUMS; i++) statement;
#define NPU_PEAK_LOOP(sum, rounds, start, step, add)                              \
    do {                                                                          \
        NPU_PEAK_EACH(0, (sum)[i] = start)                                        \
        for (uint64_t n = 0; n < (rounds); n++) NPU_PEAK_EACH(0, (sum)[i] = step) \
        NPU_PEAK_EACH(1, (sum)[0] = add((sum)[0], (sum)[i]))                      \
    } while (0)

uint64_t npu_peak_f32_avx2(uint64_t rounds), npu_peak_int8_avx2(uint64_t rounds);
uint64_t npu_peak_int8_avxvnni(uint64_t rounds);
uint64_t npu_peak_f32_avx512(uint64_t rounds), npu_peak_int8_avx512(uint64_t rounds);
uint64_t npu_peak_bf16_avx512bf16(uint64_t rounds);
uint64_t npu_peak_int8_amx(uint64_t rounds), npu_peak_bf16_amx(uint64_t rounds);
uint64_t npu_peak_f32_neon(uint64_t rounds), npu_peak_int8_dotprod(uint64_t rounds);
uint64_t npu_peak_int8_i8mm(uint64_t rounds);
uint64_t npu_peak_read_avx2(const void *data, uint64_t bytes), npu_peak_read_avx512(const void *data, uint64_t bytes);

#endif
