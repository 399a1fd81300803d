/* Marks what the shared library shows; all else in it is hidden. */
#ifndef NPU_API_H
#define NPU_API_H

#if defined(__GNUC__)
#define NPU_API __attribute__((visibility("default")))
#else
#define NPU_API
#endif

#endif
