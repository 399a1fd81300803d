/* Op descriptor and the parameter blocks of all ops, shared by host and NPU program.
 *
 * An op refers to tensors by index into the tensor table of its batch. |kernel| carries the op plan (wire/opplan.h)
 * that the host made and the NPU program obeys. Fixed width, little endian, padding explicit and zero.
 */
#ifndef NPU_WIRE_OP_H
#define NPU_WIRE_OP_H

#include <stddef.h>
#include <stdint.h>

#include "wire/tensor.h"

enum { NPU_OP_SRCS = 10, NPU_OP_DSTS = 4, NPU_OP_PARAM_WORDS = 16, NPU_OP_KERNEL_WORDS = 32 };

typedef enum npu_opcode {
#define NPU_OP(NAME, code, name, in_min, in_max, out, params, family, nmse, text) NPU_OP_##NAME = code,
#include "wire/npu_ops.def"
    NPU_OP_CODE_LIMIT = 0x80 /* every code is below */
} npu_opcode;

typedef struct npu_params_none {
    int32_t reserved;
} npu_params_none;
typedef struct npu_params_dim {
    int32_t dim;
} npu_params_dim;
typedef struct npu_params_eps {
    float eps;
} npu_params_eps;
typedef struct npu_params_scale {
    float scale, bias;
} npu_params_scale;
typedef struct npu_params_clamp {
    float lo, hi;
} npu_params_clamp;
/* The table is part of a larger one, which has |all| rows: those from |first| on. 0 = the whole. Zero in a graph; a
 * target that keeps a table in parts fills it in when it lowers the op. */
typedef struct npu_params_rows {
    uint32_t first, all;
} npu_params_rows;

typedef struct npu_params_sort {
    int32_t descending;
} npu_params_sort;
typedef struct npu_params_rope_table {
    float scale;
} npu_params_rope_table;

enum {
    NPU_GLU_SILU = 0,
    NPU_GLU_GELU = 1,
    NPU_GLU_GELU_ERF = 2,
    NPU_GLU_GELU_QUICK = 3,
    NPU_GLU_RELU = 4,
    NPU_GLU_OAI = 5
};
typedef struct npu_params_glu {
    int32_t kind;    /* NPU_GLU_* */
    int32_t swapped; /* one source: 1 = up first, then gate */
    float alpha,
        limit; /* OAI only: g = min(gate, limit), u = clamp(up, -limit, limit), g / (1+exp(-alpha g)) * (u + 1) */
} npu_params_glu;

/* The binary64 numbers from which ALiBi slopes are made (wire/alibi.h), low word first. Zero in a graph; a target that
 * needs them fills them in when it lowers the op. */
typedef struct npu_alibi {
    uint32_t base[2][2];
} npu_alibi;

typedef struct npu_params_softmax {
    float scale;
    float max_bias; /* ALiBi; 0 = none */
    npu_alibi alibi;
} npu_params_softmax;

enum { NPU_ROPE_NORMAL = 0, NPU_ROPE_NEOX = 1 }; /* pairs (2i, 2i+1) or (i, i+P) */
typedef struct npu_params_rope {
    int32_t mode;
} npu_params_rope;

typedef struct npu_params_attn {
    float scale;
    float softcap;   /* 0 = none; else s = softcap * tanh(s / softcap) */
    float max_bias;  /* ALiBi slopes for the mask; 0 = none (mask slope 1) */
    uint32_t window; /* 0 = all keys; else only the last |window| keys of the span */
    npu_alibi alibi;
} npu_params_attn;

/* An op in which a device has no part: it has no operands. Only in batch images, where it keeps the numbers of the
 * other ops as they are on all devices. */
enum { NPU_OP_SKIPPED = 1 };

typedef struct npu_op {
    uint16_t code;             /* npu_opcode */
    uint16_t flags;            /* NPU_OP_SKIPPED, else 0 */
    uint16_t src[NPU_OP_SRCS]; /* tensor indices, NPU_NO_TENSOR = absent */
    uint16_t dst[NPU_OP_DSTS];
    uint16_t layer; /* for plans, profiles and messages; NPU_NO_LAYER outside the layers */
    uint16_t role;  /* npu_role, see src/target/npu_roles.def: names the op in plans and profiles */
    uint32_t reserved;
    union {
        int32_t words[NPU_OP_PARAM_WORDS];
        npu_params_dim dim;
        npu_params_eps eps;
        npu_params_scale scale;
        npu_params_clamp clamp;
        npu_params_sort sort;
        npu_params_rows rows;
        npu_params_rope_table rope_table;
        npu_params_glu glu;
        npu_params_softmax softmax;
        npu_params_rope rope;
        npu_params_attn attn;
    } params;
    uint32_t kernel[NPU_OP_KERNEL_WORDS]; /* the op plan; zero until a target has lowered the op */
} npu_op;

_Static_assert(sizeof(npu_op) == 232, "wire layout");
_Static_assert(offsetof(npu_op, layer) == 32 && offsetof(npu_op, params) == 40 && offsetof(npu_op, kernel) == 104,
               "wire layout");

/* What the list says of an op; NULL for a code that is not in it. */
typedef struct npu_op_info {
    const char *name;
    uint8_t code, in_min, in_max, out;
    uint8_t params_bytes;
    double nmse; /* conform limit */
    const char *text;
} npu_op_info;

const npu_op_info *npu_op_find(uint32_t code);
const npu_op_info *npu_op_find_name(const char *name);

#endif
