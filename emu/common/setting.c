// See setting.h.
#include "setting.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char names[] = "KMG";

static bool read_number(const char *text, bool units, uint64_t least, uint64_t most, uint64_t *number) {
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

// In the largest unit that it is a multiple of.
static void print_number(char text[24], bool units, uint64_t number) {
    unsigned unit = 0;
    while (units && unit < 3 && number && number % 1024 == 0) number /= 1024, unit++;
    snprintf(text, 24, "%llu%.*s", (unsigned long long)number, unit != 0, &names[unit ? unit - 1 : 0]);
}

void emu_setting_range(char *text, bool units, uint64_t least, uint64_t most) {
    char first[24], last[24];
    print_number(first, units, least);
    print_number(last, units, most);
    snprintf(text, EMU_RANGE_BYTES, "%s..%s", first, last);
}

bool emu_setting_number(const char *text, bool units, uint64_t least, uint64_t most, uint64_t *number) {
    char range[EMU_RANGE_BYTES];
    if (read_number(text, units, least, most, number)) return true;
    emu_setting_range(range, units, least, most);
    emu_setting_refuse("takes %s", range);
    return false;
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
