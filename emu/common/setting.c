// See setting.h.
#include "setting.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool emu_setting_number(const char *text, bool units, uint64_t least, uint64_t most, uint64_t *number) {
    static const char names[] = "KMG";
    char *end;
    if (*text < '0' || *text > '9') return false;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    const char *unit = units && *end ? strchr(names, *end) : NULL;
    unsigned shift = unit ? 10 * (unsigned)(unit - names + 1) : 0;
    if (errno || end[unit != NULL] || value > UINT64_MAX >> shift) return false;
    *number = (uint64_t)value << shift;
    return *number >= least && *number <= most;
}

static _Thread_local char refusal[EMU_REFUSAL_BYTES];

void emu_setting_refuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(refusal, sizeof refusal, format, arguments);
    va_end(arguments);
}

const char *emu_setting_refusal(void) {
    return refusal;
}
