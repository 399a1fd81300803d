/* How the NPU program runs one op: what an implementation gets, and the row pipeline that most of them share. */
#ifndef HTP_OP_H
#define HTP_OP_H

#include "htp/session.h"
#include "wire/opplan.h"

typedef struct htp_op {
    htp_session *session;
    const npu_op *op;
    const void *kernel;                            /* its plan */
    npu_tensor src[NPU_OP_SRCS], dst[NPU_OP_DSTS]; /* the step applied; valid when the address is not NULL */
    const uint8_t *src_data[NPU_OP_SRCS];
    uint8_t *dst_data[NPU_OP_DSTS];
    uint32_t code, index; /* first failure, NPU_WIRE_OK so far; any thread (htp_op_fail) */
} htp_op;

/* Runs the op to its end: every transfer it pushed is popped, every byte it wrote has arrived. */
typedef void htp_op_fn(htp_op *o);

/* By opcode; NULL for ops that no op plan lets through. */
htp_op_fn *htp_op_find(uint32_t code);

#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) htp_op_fn htp_##family;
#include "wire/npu_ops.def"

void htp_op_fail(htp_op *o, uint32_t code, uint32_t index);

/* Makes what the host wrote there visible to scalar loads; on the main thread. */
void htp_op_refresh(const htp_op *o, const void *address, uint64_t bytes);

/* Whether any thread has failed so far. */
static inline int htp_op_failed(const htp_op *o) {
    return __atomic_load_n(&o->code, __ATOMIC_RELAXED) != NPU_WIRE_OK;
}

/* Of all threads, before those of each. */
static inline uint8_t *htp_op_shared_scratch(const htp_op *o) {
    return o->session->scratch;
}
static inline uint8_t *htp_op_vtcm(const htp_op *o, unsigned thread) {
    return o->session->vtcm + thread * ((const npu_kernel_head *)o->kernel)->vtcm_thread_bytes;
}
static inline uint8_t *htp_op_scratch(const htp_op *o, unsigned thread) {
    const npu_kernel_head *k = o->kernel;
    return o->session->scratch + k->scratch_shared_bytes + thread * k->scratch_thread_bytes;
}

/* --- the pipeline: load, compute, store over |depth| slots --- */

/* Units first .. end - 1, one slot each in turn. load and store push transfers and say how many; compute finds the
 * slot's loads arrived and its earlier stores gone. The order of pushes is the order of pops by construction. */
enum { HTP_NO_UNIT = 0x7FFFFFFF };
typedef struct htp_pipe {
    htp_dma *dma;
    void *job;
    uint32_t depth;
    uint64_t first, end;
    uint32_t (*load)(void *job, uint64_t unit, uint32_t slot); /* HTP_NO_UNIT: there is nothing to do for it */
    void (*compute)(void *job, uint64_t unit, uint32_t slot);
    uint32_t (*store)(void *job, uint64_t unit, uint32_t slot);
} htp_pipe;

void htp_pipe_run(const htp_pipe *pipe);

/* --- rows: units of a row of up to three sources and one result (npu_kernel_rows) --- */

typedef struct htp_unit {
    uint64_t row;
    uint32_t i[NPU_MAX_DIMS]; /* of the row: i[1], i[2], i[3]; i[0] the first value of the unit */
    uint32_t values;
} htp_unit;

typedef struct htp_rows htp_rows;
struct htp_rows {
    htp_op *o;
    const npu_kernel_rows *k;
    uint64_t rows; /* of the result at this step */
    uint32_t row_values;
    /* All slot addresses are 128-byte aligned; values past the unit's are there but mean nothing. */
    void (*compute)(const htp_rows *r, const htp_unit *u, const uint8_t *const in[NPU_ROWS_IN], uint8_t *out,
                    uint8_t *work);
    /* Says how many transfers it pushed, or HTP_NO_UNIT; NULL: the unit's values of in[i] at the same coordinates,
     * which wrap around where the source is smaller; of a shorter row only its own values. */
    uint32_t (*load)(const htp_rows *r, const htp_unit *u, htp_dma *dma, uint8_t *const in[NPU_ROWS_IN]);
    uint32_t (*store)(const htp_rows *r, const htp_unit *u, htp_dma *dma, const uint8_t *out);
    uint32_t in_value_bytes[NPU_ROWS_IN], out_value_bytes; /* bytes a value; 0 = no such stream */
    uint8_t src[NPU_ROWS_IN];                              /* which sources the streams are */
    int64_t src_shift[NPU_ROWS_IN];                        /* bytes added to a source's address */
    const void *job;                                       /* the op's own */
    int work_in_scratch;                                   /* |work| is the thread's scratch, not VTCM */
};

/* F32 streams of the first |sources| sources that are there, an F32 result, rows as long as the result's. */
htp_rows htp_rows_f32(htp_op *o, unsigned sources);

void htp_rows_run(const htp_rows *r);

/* Vectors that hold the unit. */
static inline uint32_t htp_unit_vectors(const htp_unit *u) {
    return (u->values + 31) / 32;
}

/* The unit's entry of the list of ids or cells in source 1, read once: the host can change it at any time. 0 when it
 * is not below |limit|; the op has failed with |code| then, and the unit must touch nothing. */
int htp_row_id(const htp_rows *r, const htp_unit *u, uint32_t limit, uint32_t code, uint32_t *id);

/* Address of the first value of a unit in a tensor, coordinates taken modulo its shape. */
uint64_t htp_unit_offset(const npu_tensor *t, const htp_unit *u, uint32_t value_bytes);

#endif
