/* Conformance: every op x type x random shapes and strides on any open target, against the host's plain reference.
 *
 * Cases are data (conform_gen.c) and random by seed: case |i| of a run with seed S has the seed S + i and depends on
 * nothing but that, its op and its type, so one case is repeated by --op OP --type TYPE --cases 1 --seed (S + i). Every
 * case runs three times on one graph with different row counts; each time the results are compared (bytes, with NaN as
 * a class, when the target promises bit equality; else the op table's limit of normalised mean-square error), and all
 * bytes that the op must not write, guard zones included. Used by `npu conform` and by tests; prints nothing.
 */
#ifndef NPU_CONFORM_H
#define NPU_CONFORM_H

#include "npu/profile.h"
#include "target/target.h"

typedef struct npu_conform_params {
    npu_target *target; /* graph-class; its mode decides what the reference computes */
    const char *op;     /* name in npu_ops.def; NULL = all */
    const char *type;   /* format name; NULL = all that the op takes */
    uint32_t cases;     /* 0 = 600 */
    uint64_t seed;
    npu_profile_fn *profile; /* called after each run on the target, with the type as its role; NULL = never */
    void *profile_user;
    npu_status (*go_on)(npu_error *err); /* asked before each case; what is not OK ends the run; NULL = always OK */
} npu_conform_params;

/* SKIP: the target says beforehand that it does not take the op; REFUSED: it took it, and the device that is there has
 * not the room (mappings, address space). */
typedef enum npu_conform_verdict {
    NPU_CONFORM_PASS,
    NPU_CONFORM_FAIL,
    NPU_CONFORM_SKIP,
    NPU_CONFORM_REFUSED
} npu_conform_verdict;

/* One case; |op|, |type|, one case and |seed|, on an equal target, repeat it. Strings live until the callback returns.
 */
typedef struct npu_conform_report {
    npu_conform_verdict verdict;
    const char *op, *type;
    uint64_t seed;      /* of this case */
    const char *shapes; /* operands as text */
    const char *why;    /* SKIP, REFUSED: what the target says; FAIL: what differs; empty for PASS */
    double nmse;        /* largest of the three runs; 0 for equal bytes */
} npu_conform_report;

typedef void npu_conform_report_fn(void *user, const npu_conform_report *report);

typedef struct npu_conform_totals {
    uint32_t passed, failed, skipped, refused;
} npu_conform_totals;

/* Runs the cases and calls |report| (may be NULL) after each. OK also when cases failed: see |totals|. INVALID: no such
 * op or type, or no op takes that type; any other status is that of go_on, or means that the machinery itself failed
 * (memory, device). */
npu_status npu_conform_run(const npu_conform_params *params, npu_conform_report_fn *report, void *user,
                           npu_conform_totals *totals, npu_error *err);

#endif
