/* Numbers in decimal notation, with and without bounds. Bounds are compared digit by digit, so what is written is
 * within them exactly; reading it as a double keeps that, because rounding keeps order and the bounds are doubles.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grammar/program.h"

enum { DIGITS_MAX = 15 }; /* of unbounded parts: more would say nothing that a double can hold */

static void digit(npu__program *p, int low, int high) {
    npu__emit_range(p, (uint8_t)('0' + low), (uint8_t)('0' + high));
}

static void digits(npu__program *p, uint32_t min, uint32_t max) {
    if (!max) return;
    uint32_t loop = npu__open(p, min, max);
    digit(p, 0, 9);
    npu__close(p, loop);
}

/* |n| digits that make up at least |s| (way 1) or at most (way -1). */
static void same_length(npu__program *p, const char *s, size_t n, int way) {
    for (size_t i = 0; i < n; i++) { /* one more level of the same choice for each digit */
        int d = s[i] - '0';
        if (way > 0 ? d == 9 : d == 0) {
            digit(p, d, d);
            continue;
        }
        npu__choice c;
        npu__either(p, &c);
        digit(p, way > 0 ? d + 1 : 0, way > 0 ? 9 : d - 1);
        digits(p, (uint32_t)(n - i - 1), (uint32_t)(n - i - 1));
        npu__or(p, &c);
        digit(p, d, d);
        same_length(p, s + i + 1, n - i - 1, way);
        npu__end(p, &c);
        return;
    }
}

/* |n| digits from |a| to |b|. */
static void between(npu__program *p, const char *a, const char *b, size_t n) {
    size_t i = 0;
    for (; i < n && a[i] == b[i]; i++) digit(p, a[i] - '0', a[i] - '0');
    if (i == n) return;
    int low = a[i] - '0', high = b[i] - '0';
    npu__choice c;
    npu__either(p, &c);
    digit(p, low, low);
    same_length(p, a + i + 1, n - i - 1, 1);
    npu__or(p, &c);
    digit(p, high, high);
    same_length(p, b + i + 1, n - i - 1, -1);
    if (high - low > 1) {
        npu__or(p, &c);
        digit(p, low + 1, high - 1);
        digits(p, (uint32_t)(n - i - 1), (uint32_t)(n - i - 1));
    }
    npu__end(p, &c);
}

/* Whole numbers from |low| to |high|, low <= high, without a sign. */
static void unsigned_range(npu__program *p, uint64_t low, uint64_t high) {
    char a[24], b[24];
    npu__choice c;
    npu__either(p, &c);
    for (uint64_t from = low;;) {
        int n = snprintf(a, sizeof a, "%llu", (unsigned long long)from);
        uint64_t last = 9; /* the largest of as many digits */
        for (int i = 1; i < n; i++) last = last > (UINT64_MAX - 9) / 10 ? UINT64_MAX : last * 10 + 9;
        if (last > high) last = high;
        snprintf(b, sizeof b, "%llu", (unsigned long long)last);
        between(p, a, b, (size_t)n);
        if (last == high) break;
        from = last + 1;
        npu__or(p, &c);
    }
    npu__end(p, &c);
}

void npu__emit_whole(npu__program *p, int64_t low, int64_t high) {
    npu__choice c;
    npu__either(p, &c);
    if (low < 0) {
        npu__emit_text(p, "-", 1);
        unsigned_range(p, high < 0 ? (uint64_t) - (high + 1) + 1 : 1, (uint64_t) - (low + 1) + 1);
    }
    if (low < 0 && high >= 0) npu__or(p, &c);
    if (high >= 0) unsigned_range(p, low < 0 ? 0 : (uint64_t)low, (uint64_t)high);
    npu__end(p, &c);
}

/* A bound that is not negative, as digits before and after the point, the latter without zeros at the end. */
typedef struct decimal {
    uint64_t whole;
    char part[40];
    size_t n;
} decimal;

static decimal decimal_of(double x) {
    decimal d = {.whole = (uint64_t)x};
    char s[64];
    int digits_after = 0; /* the fewest that give the same number back */
    do snprintf(s, sizeof s, "%.*f", digits_after, x);
    while (strtod(s, NULL) != x && ++digits_after < 30);
    const char *point = strchr(s, '.');
    d.whole = strtoull(s, NULL, 10);
    if (point) {
        d.n = strlen(point + 1);
        memcpy(d.part, point + 1, d.n);
    }
    while (d.n && d.part[d.n - 1] == '0') d.n--;
    return d;
}

/* Digits after the point that make up at least, resp. at most |s|; the first is there already or must come. */
static void part_from(npu__program *p, const char *s, size_t n) {
    if (!n) {
        digits(p, 0, DIGITS_MAX);
        return;
    }
    int d = s[0] - '0';
    npu__choice c;
    npu__either(p, &c);
    digit(p, d, d);
    part_from(p, s + 1, n - 1);
    if (d < 9) {
        npu__or(p, &c);
        digit(p, d + 1, 9);
        digits(p, 0, DIGITS_MAX);
    }
    npu__end(p, &c);
}

static void part_to(npu__program *p, const char *s, size_t n, bool may_stop) {
    if (!n) return;
    int d = s[0] - '0';
    npu__choice c;
    npu__either(p, &c);
    digit(p, d, d);
    part_to(p, s + 1, n - 1, true);
    if (d > 0) {
        npu__or(p, &c);
        digit(p, 0, d - 1);
        digits(p, 0, DIGITS_MAX);
    }
    if (may_stop) npu__or(p, &c);
    npu__end(p, &c);
}

static void part_between(npu__program *p, const char *a, size_t na, const char *b, size_t nb) {
    if (!na) {
        part_to(p, b, nb, true);
        return;
    }
    int low = a[0] - '0', high = b[0] - '0';
    if (low == high) {
        digit(p, low, low);
        part_between(p, a + 1, na - 1, b + 1, nb - 1);
        return;
    }
    npu__choice c;
    npu__either(p, &c);
    digit(p, low, low);
    part_from(p, a + 1, na - 1);
    npu__or(p, &c);
    digit(p, high, high);
    part_to(p, b + 1, nb - 1, true);
    if (high - low > 1) {
        npu__or(p, &c);
        digit(p, low + 1, high - 1);
        digits(p, 0, DIGITS_MAX);
    }
    npu__end(p, &c);
}

/* ".5" and the like, or nothing. */
static void any_part(npu__program *p) {
    npu__choice c;
    npu__either(p, &c);
    npu__emit_text(p, ".", 1);
    digits(p, 1, DIGITS_MAX);
    npu__or(p, &c);
    npu__end(p, &c);
}

static void last_part(npu__program *p, const decimal *high) {
    npu__choice c;
    npu__either(p, &c);
    npu__emit_text(p, ".", 1);
    part_to(p, high->n ? high->part : "0", high->n ? high->n : 1, false);
    npu__or(p, &c);
    npu__end(p, &c);
}

static void first_part(npu__program *p, const decimal *low) {
    if (!low->n) {
        any_part(p);
        return;
    }
    npu__emit_text(p, ".", 1);
    part_from(p, low->part, low->n);
}

static void positive_range(npu__program *p, double from, double to) {
    decimal low = decimal_of(from), high = decimal_of(to);
    npu__choice c;
    npu__either(p, &c);
    unsigned_range(p, low.whole, low.whole);
    if (low.whole == high.whole) {
        if (low.n) {
            npu__emit_text(p, ".", 1);
            part_between(p, low.part, low.n, high.part, high.n);
        } else {
            last_part(p, &high);
        }
    } else {
        first_part(p, &low);
        npu__or(p, &c);
        unsigned_range(p, high.whole, high.whole);
        last_part(p, &high);
        if (high.whole - low.whole > 1) {
            npu__or(p, &c);
            unsigned_range(p, low.whole + 1, high.whole - 1);
            any_part(p);
        }
    }
    npu__end(p, &c);
}

static void free_number(npu__program *p) {
    npu__choice c;
    npu__either(p, &c);
    npu__emit_text(p, "-", 1);
    npu__or(p, &c);
    npu__end(p, &c);
    npu__either(p, &c);
    npu__emit_text(p, "0", 1);
    npu__or(p, &c);
    digit(p, 1, 9);
    digits(p, 0, DIGITS_MAX);
    npu__end(p, &c);
    any_part(p);
    npu__either(p, &c);
    npu__emit_set(p, (npu__byte_set){{0, (uint64_t)1 << ('e' - 64) | (uint64_t)1 << ('E' - 64), 0, 0}});
    npu__choice sign;
    npu__either(p, &sign);
    npu__emit_set(p, (npu__byte_set){{(uint64_t)1 << '+' | (uint64_t)1 << '-', 0, 0, 0}});
    npu__or(p, &sign);
    npu__end(p, &sign);
    digits(p, 1, 2);
    npu__or(p, &c);
    npu__end(p, &c);
}

void npu__emit_real(npu__program *p, const double *low, const double *high) {
    const double most = 999999999999999.0;
    double from = low && *low > -most ? *low : -most, to = high && *high < most ? *high : most;
    if (!low && !high) {
        free_number(p);
        return;
    }
    npu__choice c;
    npu__either(p, &c);
    if (from < 0) {
        npu__emit_text(p, "-", 1);
        positive_range(p, to < 0 ? -to : 0, -from);
    }
    if (from < 0 && to >= 0) npu__or(p, &c);
    if (to >= 0) positive_range(p, from < 0 ? 0 : from, to);
    npu__end(p, &c);
}
