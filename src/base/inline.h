/* Inlining and unrolling that vector kernels are built on: pieces with constant arguments, put together by force. A
 * build with NPU_NO_INLINE (sanitizers) leaves it to the compiler, which would take minutes otherwise. */
#ifndef NPU_BASE_INLINE_H
#define NPU_BASE_INLINE_H

#ifdef NPU_NO_INLINE
#define NPU_INLINE static inline __attribute__((unused))
#define NPU_UNROLL
#else
#define NPU_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define NPU_UNROLL _Pragma("unroll")
#else
#define NPU_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

#endif
