// The calls of libnpu-emu-xdna.so: what a program would ask the kernel for with an XDNA device in the machine, and the
// emulator's settings. Found by dlsym; nothing of this exists beside a real device.
#ifndef NPU_EMU_XDNA_H
#define NPU_EMU_XDNA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// The system calls on /dev/accel/accelN, with their own results and errno. Any thread.
struct npu_emu_xdna_calls {
    int (*open)(const char *path, int flags);
    int (*close)(int fd);
    int (*ioctl)(int fd, unsigned long request, void *arg);
    void *(*mmap)(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
    int (*munmap)(void *address, size_t bytes);
};

// Static; always the same.
typedef const struct npu_emu_xdna_calls *npu_emu_xdna_calls_fn(void);

// Sets |key| to |value| for devices opened afterwards (key "fault" also for open ones). 0, or ENOENT for an unknown
// key, EINVAL for a value that the key doesn't take.
typedef int npu_emu_xdna_configure_fn(const char *key, const char *value);

// Why npu_emu_xdna_configure refused the last value, one line; "" when there is no more to say than that. Of the
// calling thread, until its next call of it.
typedef const char *npu_emu_xdna_refusal_fn(void);

// One line per key, "key  values  default: what it does"; a static string.
typedef const char *npu_emu_xdna_describe_fn(void);

// Reads a number by name, of the device that was opened last or of the settings (for tests): "pid", "commands",
// "syncs", "lines_to_device", "lines_to_host", "dirty_over_output", "contexts", "buffers", "memory", "lock". 0, or
// ENOENT.
typedef int npu_emu_xdna_query_fn(const char *name, unsigned long long *value);

// Which rules of the setting "fault" no call and no command met, as they were given, joined by ';'. How many they are.
typedef unsigned npu_emu_xdna_unmet_fn(char *text, unsigned bytes);

const struct npu_emu_xdna_calls *npu_emu_xdna_calls(void);
int npu_emu_xdna_configure(const char *key, const char *value);
const char *npu_emu_xdna_describe(void);
const char *npu_emu_xdna_refusal(void);
int npu_emu_xdna_query(const char *name, unsigned long long *value);
unsigned npu_emu_xdna_unmet(char *text, unsigned bytes);

#ifdef __cplusplus
}
#endif
#endif
