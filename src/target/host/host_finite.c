/* Whether numbers are finite. One thread that reads the logits of several sequences takes as long as some layers. */
#include <stdatomic.h>

#include "target/host/host.h"
#include "wire/half.h"

typedef struct finite_run {
    const float *values;
    uint64_t n;
    atomic_bool found; /* one that is not */
} finite_run;

static void look(void *context, unsigned ith, unsigned nth) {
    finite_run *r = context;
    const float *values = r->values;
    uint64_t end = r->n * (ith + 1) / nth;
    uint32_t carry = 0; /* only an exponent of ones carries into the sign: three vector instructions on any machine */
    for (uint64_t i = r->n * ith / nth; i < end; i++) carry |= (npu_float_bits(values[i]) & 0x7F800000u) + 0x00800000u;
    if (carry >= 0x80000000u) atomic_store(&r->found, true);
}

bool npu_host_finite(npu_target *target, bool alone, const float *values, uint64_t n) {
    finite_run r = {.values = values, .n = n};
    if (alone)
        look(&r, 0, 1);
    else
        npu_pool_run(((npu_host *)target)->pool, look, &r);
    return !atomic_load(&r.found);
}
