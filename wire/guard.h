/* NPU_GUARD(NAME) stands where a safeguard of npu_safeguards.def is: 1, and gone after compilation. Where
 * NPU_MUTABLE is defined, in the NPU program for strict emulation and in the build of `make mutants`, it is 0 for the
 * one that the environment variable NPU_MUTANT names. */
#ifndef NPU_WIRE_GUARD_H
#define NPU_WIRE_GUARD_H

typedef enum npu_safeguard {
#define NPU_SAFEGUARD(NAME, tests, text) NPU_SAFEGUARD_##NAME,
#include "wire/npu_safeguards.def"
} npu_safeguard;

#ifdef NPU_MUTABLE
int npu_guard_on(npu_safeguard safeguard); /* tests/mutants/guard.c */
#define NPU_GUARD(NAME) npu_guard_on(NPU_SAFEGUARD_##NAME)
#else
#define NPU_GUARD(NAME) (NPU_SAFEGUARD_##NAME >= 0)
#endif

/* |value| / |unit|, rounded up; down without the safeguard. */
#define NPU_GUARD_CEIL(NAME, value, unit) (((value) + (NPU_GUARD(NAME) ? (unit)-1 : 0)) / (unit))
/* |value| rounded up to a multiple of |to| (wire/opplan.h); as it is without the safeguard. */
#define NPU_GUARD_UP(NAME, value, to) (NPU_GUARD(NAME) ? npu_round_up(value, to) : (value))

#endif
