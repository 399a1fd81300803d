/* A context: one place to compute (CPU, or an NPU with the CPU beside it) with room for the keys and values of one or
 * several sequences of one model.
 *
 * A sequence is a growing list of tokens, named by a number below n_seq. Decoding appends rows to sequences; each row
 * gets the next position of its sequence. A context may be used by one thread at a time; several contexts of one model
 * may be used by as many threads.
 */
#ifndef NPU_CONTEXT_H
#define NPU_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "npu/api.h"
#include "npu/log.h"
#include "npu/mode.h"
#include "npu/model.h"
#include "npu/profile.h"
#include "npu/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { NPU_PREFILL_ROWS_MAX = 4096, NPU_THREADS_MAX = 64 };

typedef struct npu_context npu_context;

/* {0} or NULL is a sensible default everywhere. Strings stay the caller's and must outlive the context, and so must
 * what the callbacks' user pointers lead to. No callback, here or below, may use the context that calls it. */
typedef struct npu_context_params {
    npu_logger logger;
    uint32_t ctx;          /* positions of each sequence; 0 = the model's, at most 4096 */
    uint32_t n_seq;        /* 0 = 1 */
    uint32_t prefill_rows; /* rows of one prefill step, at most NPU_PREFILL_ROWS_MAX and what the target
                            * takes; 0 = what the target likes */
    npu_mode mode;
    const char *kv;        /* "f16", "f32", "q8_0"; NULL = f32 in exact mode, else f16 */
    unsigned threads;      /* at most NPU_THREADS_MAX; 0 = one per core that this process may use, up to that */
    const char *cpu_level; /* NULL = best */

    const char *npu_target; /* NULL = the CPU alone; else a name as `npu devices` lists them. Without it npu_devices,
                             * split, driver and emu are INVALID, and kernels_dir, timeout_s, no_fallback and no_wait
                             * say nothing */
    const char *npu_devices; /* several of the target's devices as one; hexagon: "NPU:SESSION,…", or "[…]" for a group
                              * that works row by row; NULL = its first */
    const char *split;  /* how the model is split over them: "layer", "row", "tensor"; NULL = as npu_devices says */
    const char *driver; /* NULL = "auto", which never is an emulator */
    const char *kernels_dir; /* where the target's programs are; NULL = as installed. hexagon on a device: FastRPC looks
                              * along DSP_LIBRARY_PATH only, where the program must put the folder before it has
                              * threads, as npu does for --kernels */
    const char
        *cache_dir; /* where files are kept for later contexts: weights as a target packed them, written when the
                     * context closes (in the folder "weights"), and kernels of emulated devices; NULL = nowhere */
    bool no_cache;  /* packed weights are neither read from there nor left there */
    uint64_t cache_limit_bytes; /* of all packed weights there, those used last are kept; 0 = 8 GiB */
    const char *plan_path;      /* a plan file to obey; NULL = derive one */
    const char *const *emu;     /* "key=value" settings of an emulated device, NULL-terminated */
    double timeout_s;           /* seconds one submit may take on a device, at most 1e6; 0 = its driver's: 5, emulated
                                 * ones more */
    bool no_fallback;           /* refuse a plan that leaves an op to the CPU */
    bool no_wait;               /* another process holds the device: fail at once instead of waiting */
    const char *trace_path; /* write there which op ran when, on the host and on the device, for ui.perfetto.dev; the
                             * first npu_decode opens that file, and fails with IO when it can't be written */

    /* Called between batches of ops while decoding, from the decoding thread; true ends the call with CANCELLED. Called
     * too while npu_context_close writes packed weights, from its thread; true ends the writing and leaves no file. */
    bool (*cancelled)(void *user);
    void *cancelled_user;
    /* Called while the context opens and its weights become usable, with 0 to 1; false ends it with CANCELLED. */
    bool (*progress)(void *user, double part);
    void *progress_user;
} npu_context_params;

typedef struct npu_memory {
    uint64_t weights_bytes;   /* mapped from the file, shared with other processes */
    uint64_t state_bytes;     /* keys and values */
    uint64_t compute_bytes;   /* intermediate results, inputs and outputs */
    uint64_t device_bytes;    /* copies of weights in a device's own layout, when they lie in this machine's memory */
    uint64_t available_bytes; /* memory this process could get now, of the machine's and of what its control group (a
                               * container's limit) allows, file cache included; 0 = unknown */
} npu_memory;

/* What a context with these parameters would need: it opens none. With an npu_target the device is asked what it is,
 * as `npu devices` does. On failure *out is {0}. The same statuses as npu_context_open, of those that concern the
 * parameters and the device; more than there is of memory is no failure here. */
NPU_API npu_status npu_context_estimate(npu_model *model, const npu_context_params *params, npu_memory *out,
                                        npu_error *err);

/* On success the caller owns *out, to be closed, else it is NULL and nothing is left open. |model| must outlive it.
 * INVALID: a parameter that is out of its range, or has no effect without npu_target. REFUSED: a target, driver or
 * setting that this build does not have or that contradicts another; a mode that the target has not; by plan, or by
 * no_fallback ("context.fallback"). UNSUPPORTED: a cpu_level that this machine lacks. NO_DEVICE: what was looked for
 * is named; the CPU alone (npu_target NULL) is the way out. IO: a plan, kernel or cache file. NO_MEMORY, also when the
 * estimate says that it can't fit: a smaller ctx, n_seq or kv. DEVICE_LOST, TIMEOUT: the device failed while it was set
 * up; it may be tried again. CANCELLED: by |progress|.
 * Texts name parameters by their names here, in backticks: `ctx`. (npu prints its flags instead.) */
NPU_API npu_status npu_context_open(npu_model *model, const npu_context_params *params, npu_context **out,
                                    npu_error *err);
/* Ends what |context| began and frees it; NULL is fine. A trace is ended too, but not judged (npu_context_trace_end).
 * With a cache_dir, weights that were packed are written there first, up to GBs; what keeps them from
 * being written is said to the logger. */
NPU_API void npu_context_close(npu_context *context);

/* The values in use. */
NPU_API uint32_t npu_context_ctx(const npu_context *context);
NPU_API uint32_t npu_context_n_seq(const npu_context *context);
NPU_API uint32_t npu_context_prefill_rows(const npu_context *context);
/* How many rows of one npu_decode may ask for logits (npu_decode_each has no such limit). At least 1. */
NPU_API uint32_t npu_context_max_logits(const npu_context *context);

typedef struct npu_row {
    int32_t token;
    uint32_t seq;
    bool logits; /* compute the logits after this token */
} npu_row;

/* Appends |n| rows, in order, to their sequences; large batches are cut in steps. All or nothing: after any failure the
 * sequences are as long as before. No rows are OK and do nothing. INVALID ("decode.token", "decode.seq";
 * "decode.not_finite": the logits after a row are NaN or infinite, as a weight of the model is no number or a device
 * failed, which the same rows in a context without npu_target tell apart: the status says nothing of whose fault it
 * is), REFUSED ("decode.ctx_full": a sequence would grow beyond ctx, both numbers named: npu_seq_truncate, or a larger
 * ctx; "decode.too_many_logits": fewer at once, or npu_decode_each), CANCELLED, IO ("trace.open"), NO_MEMORY. Of a
 * device: DEVICE_SHORT (it wrote too few rows, twice; the call may be repeated), DEVICE_LOST and TIMEOUT (as long as
 * the device does not come back later calls say the same: close the context and open another), INTERNAL. */
NPU_API npu_status npu_decode(npu_context *context, const npu_row *rows, uint32_t n, npu_error *err);

/* Off at first. Called by calls of npu_decode and npu_decode_each with more than one row, from their thread: before
 * each step with the number of rows |done| of |n|, and with both equal at the end of one that succeeds. NULL = off. */
typedef void npu_decode_progress_fn(void *user, uint32_t done, uint32_t n);
NPU_API void npu_context_decode_progress(npu_context *context, npu_decode_progress_fn *fn, void *user);

/* The logits of the |i|-th of those rows of the last npu_decode that asked for them: n_vocab floats, all finite, the
 * context's, valid until the next npu_decode, npu_decode_each, npu_context_reset or npu_context_close. NULL if there is
 * none, as after a call that failed. */
NPU_API const float *npu_logits(const npu_context *context, uint32_t i);

/* The same without a limit: |sink| gets each row that asked, in order, as soon as its step is done. It returns OK to go
 * on; any other status, with |err| written, ends the call with that status. |logits| are valid while it runs; it may
 * not use the context. Rows that it was given before a failure are not in the sequences. npu_logits gives nothing
 * afterwards. The statuses of npu_decode, but for "decode.too_many_logits". */
typedef npu_status npu_logits_fn(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err);
NPU_API npu_status npu_decode_each(npu_context *context, const npu_row *rows, uint32_t n, npu_logits_fn *sink,
                                   void *user, npu_error *err);

/* The number of tokens in a sequence; 0 for a number that is none. */
NPU_API uint32_t npu_seq_length(const npu_context *context, uint32_t seq);

/* Forgets all tokens of |seq| from position |length| on; longer than it is: no effect. 0 empties it. INVALID
 * ("decode.seq"). */
NPU_API npu_status npu_seq_truncate(npu_context *context, uint32_t seq, uint32_t length, npu_error *err);

/* Makes |to| a copy of the first |length| tokens of |from|, whatever it was: prompts that share a beginning compute it
 * once. INVALID ("decode.seq": no such sequence, or |from| is shorter; nothing changes), or what a device says: |to| is
 * empty then. */
NPU_API npu_status npu_seq_copy(npu_context *context, uint32_t from, uint32_t to, uint32_t length, npu_error *err);

/* Empties all sequences; counters go on. Always OK. */
NPU_API npu_status npu_context_reset(npu_context *context, npu_error *err);

/* What was done since the context was opened (npu/profile.h). */
NPU_API void npu_context_counters(const npu_context *context, npu_counters *out);

typedef struct npu_trace_report {
    uint64_t spans;
    uint64_t dropped; /* spans that are missing because the device had no room for them */
} npu_trace_report;
/* With a trace_path: ends the file, which is not complete before; later calls are not traced. Before the first
 * npu_decode there is no file and nothing ends; without a trace_path *out is {0} and the status OK. IO ("trace.write")
 * when it could not be written whole: it is removed. */
NPU_API npu_status npu_context_trace_end(npu_context *context, npu_trace_report *out, npu_error *err);

/* Per-op profile (npu/profile.h), off at first; NULL = off. */
NPU_API void npu_context_profile(npu_context *context, npu_profile_fn *fn, void *user);

#ifdef __cplusplus
}
#endif
#endif
