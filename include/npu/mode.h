/* The three ways to compute a model; docs/numerics.md says what each gives. */
#ifndef NPU_MODE_H
#define NPU_MODE_H

typedef enum npu_mode {
    NPU_MODE_DEFAULT, /* block-int8 products: the same bits on every CPU, thread count, batch size and exact target */
    NPU_MODE_EXACT,   /* dequantised weights and f32 throughout; CPU only; the measure for the others */
    NPU_MODE_FAST,    /* CPU only; free shortcuts in prefill, no bit equality */
} npu_mode;

#endif
