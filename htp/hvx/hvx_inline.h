/* How kernels are written once over a constant, a format or a number of columns: inlined, their short loops unrolled.
 */
#ifndef HTP_HVX_INLINE_H
#define HTP_HVX_INLINE_H

#ifdef NPU_NO_INLINE /* sanitizers: compilers take minutes for it otherwise */
#define HVX_INLINE static inline
#define HVX_UNROLL
#else
#define HVX_INLINE static inline __attribute__((always_inline))
#define HVX_UNROLL _Pragma("GCC unroll 8")
#endif

/* A function of its own, so that scripts/htp-packets finds its loop. */
#define HVX_HOT __attribute__((noinline)) static

#endif
