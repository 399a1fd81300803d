// The one private call of the emulated libcdsprpc.so. Real libraries don't have it: look it up with dlsym, and its
// absence means "this is no emulator". The keys, their values and defaults are listed by npu_emu_describe and in
// emu/hexagon/README.md.
#ifndef NPU_EMU_H
#define NPU_EMU_H

#ifdef __cplusplus
extern "C" {
#endif

// Sets |key| to |value| for sessions opened afterwards (key "fault" also for calls already running). Returns 0, or an
// AEE code: 0x14 the key is unknown, 0x0E the value is not one the key takes. May be called from any thread.
typedef int npu_emu_configure_fn(const char *key, const char *value);

// Why npu_emu_configure refused the last value, or remote_handle64_open could not start a program (which it also
// prints, unless the key "quiet" is 1), one line; "" when there is no more to say than that. Of the calling
// thread, until its next call of these.
typedef const char *npu_emu_refusal_fn(void);

// One line per key, "key  values  default: what it does"; a static string that needs no freeing.
typedef const char *npu_emu_describe_fn(void);

// Reads a counter or state word of the session with effective domain id |domain| (for tests and measurements): "pid",
// "mapped_bytes", "mappings", "dma_descriptors", "dma_bytes", "dma_faults", "invokes", "cache_ops", "power_votes",
// "power_types" (a bit for each type), "small_stacks", "events", "faults_met" (actions of rules); in strict mode
// "lines_cleaned", "lines_invalidated", "evictions", "vtcm_scalars", "violations". Returns 0, 0x14 for an unknown name,
// 0x0E without a live process. "window", "max_buffer" and "slots" are the
// settings, and need no process.
typedef int npu_emu_query_fn(int domain, const char *name, unsigned long long *value);

// What strict mode found first in the process of the session with effective domain id |domain|, also when it has ended
// by that: a stable name ("stale_read", …; README) and one line of text. Returns 0, or 0x0E when there is nothing.
typedef int npu_emu_violation_fn(int domain, char *kind, unsigned kind_bytes, char *text, unsigned text_bytes);

// How many of the rules that key "fault" has now were met by nothing so far; |text| gets them, joined by ';'. What a
// process met counts when it is looked at and when it has ended.
typedef unsigned npu_emu_unmet_fn(char *text, unsigned bytes);

int npu_emu_configure(const char *key, const char *value);
const char *npu_emu_describe(void);
const char *npu_emu_refusal(void);
unsigned npu_emu_unmet(char *text, unsigned bytes);
int npu_emu_query(int domain, const char *name, unsigned long long *value);
int npu_emu_violation(int domain, char *kind, unsigned kind_bytes, char *text, unsigned text_bytes);

#ifdef __cplusplus
}
#endif
#endif
