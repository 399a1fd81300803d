// Plain decimal numbers from text, strictly: what is not one is an error, never a guess.
#ifndef EMU_XDNA_NUMBERS_H
#define EMU_XDNA_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

// Exactly |n| numbers of at most nine digits with one |separator| between them, and nothing else.
static inline bool emu_numbers(const char *text, char separator, uint32_t *out, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        unsigned digits = 0;
        if (i && *text++ != separator) return false;
        for (out[i] = 0; *text >= '0' && *text <= '9' && digits < 10; digits++)
            out[i] = digits < 9 ? out[i] * 10 + (uint32_t)(*text++ - '0') : 0;
        if (!digits || digits > 9) return false;
    }
    return !*text;
}

#endif
