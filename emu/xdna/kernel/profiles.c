// The versions of the driver and the generations of the device, as data.
#include "emu_xdna.h"

#include <errno.h>
#include <string.h>

static const struct emu_profile profiles[] = {
    {.name = "6.14",
     .qos_bytes = 24,
     .watchdog_ms = 60000,
     .sync_whole = true,
     .wait_cmd_errno = ENOTTY,
     .second_heap_errno = EBUSY,
     .heap_any_size = true,
     .unmapped_heap_errno = EINVAL,
     .args_needed = true,
     .cmd_arg_errno = EOPNOTSUPP,
     .map_once = true,
     .address_hidden = true,
     .needs_cu = true,
     .timeout_stays_new = true},
    {.name = "7.0",
     .minor = 8,
     .qos_bytes = 24,
     .watchdog_ms = 60000,
     .from_device_errno = EINVAL,
     .wait_cmd_errno = EOPNOTSUPP,
     .second_heap_errno = ENOSPC,
     .unmapped_heap_errno = EAGAIN,
     .spoils = true},
    {.name = "0.16",
     .minor = 16,
     .qos_bytes = 24,
     .watchdog_ms = 2000,
     .from_device_errno = EINVAL,
     .wait_cmd_errno = EOPNOTSUPP,
     .second_heap_errno = ENOSPC,
     .unmapped_heap_errno = EAGAIN,
     .spoils = true},
    {.name = "1.0",
     .major = 1,
     .qos_bytes = 32,
     .watchdog_ms = 2000,
     .sync_strict = true,
     .second_heap_errno = EBUSY,
     .unmapped_heap_errno = EAGAIN,
     .contexts = 32},
    // A version that nobody knows yet.
    {.name = "2.0", .major = 2, .qos_bytes = 32, .watchdog_ms = 2000, .unmapped_heap_errno = EAGAIN},
};

static const struct emu_generation generations[] = {
    {"xdna1", "RyzenAI-npu1", 1, 5, 6},
    {"xdna2", "RyzenAI-npu4", 2, 8, 16},
};

const struct emu_profile *emu_profile_named(const char *name) {
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (!strcmp(profiles[i].name, name)) return &profiles[i];
    return NULL;
}

const struct emu_generation *emu_generation_named(const char *name) {
    for (size_t i = 0; i < sizeof generations / sizeof *generations; i++)
        if (!strcmp(generations[i].name, name)) return &generations[i];
    return NULL;
}
