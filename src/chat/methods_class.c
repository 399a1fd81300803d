/* Methods of strings that ask what their characters are: isdigit and its like. */
#include <utf8proc.h>

#include "chat/methods.h"
#include "tokenizer/unicode.h"

typedef bool char_test(uint32_t cp);

/* Pairs of first and last: digits that are no decimals (superscripts, subscripts, what is circled), and characters that
 * are numbers without being of the category. */
static const uint32_t digits[][2] = {
    {0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
    {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
    {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
    {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A},
};
static const uint32_t words[][2] = {
    {0x3405, 0x3405},   {0x3483, 0x3483},   {0x382A, 0x382A},   {0x3B4D, 0x3B4D},   {0x4E00, 0x4E00},
    {0x4E03, 0x4E03},   {0x4E07, 0x4E07},   {0x4E09, 0x4E09},   {0x4E5D, 0x4E5D},   {0x4E8C, 0x4E8C},
    {0x4E94, 0x4E94},   {0x4E96, 0x4E96},   {0x4EBF, 0x4EC0},   {0x4EDF, 0x4EDF},   {0x4EE8, 0x4EE8},
    {0x4F0D, 0x4F0D},   {0x4F70, 0x4F70},   {0x5104, 0x5104},   {0x5146, 0x5146},   {0x5169, 0x5169},
    {0x516B, 0x516B},   {0x516D, 0x516D},   {0x5341, 0x5341},   {0x5343, 0x5345},   {0x534C, 0x534C},
    {0x53C1, 0x53C4},   {0x56DB, 0x56DB},   {0x58F1, 0x58F1},   {0x58F9, 0x58F9},   {0x5E7A, 0x5E7A},
    {0x5EFE, 0x5EFF},   {0x5F0C, 0x5F0E},   {0x5F10, 0x5F10},   {0x62FE, 0x62FE},   {0x634C, 0x634C},
    {0x67D2, 0x67D2},   {0x6F06, 0x6F06},   {0x7396, 0x7396},   {0x767E, 0x767E},   {0x8086, 0x8086},
    {0x842C, 0x842C},   {0x8CAE, 0x8CAE},   {0x8CB3, 0x8CB3},   {0x8D30, 0x8D30},   {0x9621, 0x9621},
    {0x9646, 0x9646},   {0x964C, 0x964C},   {0x9678, 0x9678},   {0x96F6, 0x96F6},   {0xF96B, 0xF96B},
    {0xF973, 0xF973},   {0xF978, 0xF978},   {0xF9B2, 0xF9B2},   {0xF9D1, 0xF9D1},   {0xF9D3, 0xF9D3},
    {0xF9FD, 0xF9FD},   {0x20001, 0x20001}, {0x20064, 0x20064}, {0x200E2, 0x200E2}, {0x20121, 0x20121},
    {0x2092A, 0x2092A}, {0x20983, 0x20983}, {0x2098C, 0x2098C}, {0x2099C, 0x2099C}, {0x20AEA, 0x20AEA},
    {0x20AFD, 0x20AFD}, {0x20B19, 0x20B19}, {0x22390, 0x22390}, {0x22998, 0x22998}, {0x23B1B, 0x23B1B},
    {0x2626D, 0x2626D}, {0x2F890, 0x2F890},
};

static bool listed(uint32_t cp, const uint32_t (*ranges)[2], size_t n) {
    for (size_t i = 0; i < n; i++)
        if (cp >= ranges[i][0] && cp <= ranges[i][1]) return true;
    return false;
}

static bool is_decimal(uint32_t cp) {
    return utf8proc_category((utf8proc_int32_t)cp) == UTF8PROC_CATEGORY_ND;
}
static bool is_digit(uint32_t cp) {
    return is_decimal(cp) || listed(cp, digits, sizeof digits / sizeof digits[0]);
}
static bool is_numeric(uint32_t cp) {
    return npu__unicode_class_of(cp) & NPU__UC_NUMBER || listed(cp, words, sizeof words / sizeof words[0]);
}
static bool is_alpha(uint32_t cp) {
    return npu__unicode_class_of(cp) & NPU__UC_LETTER;
}
static bool is_alnum(uint32_t cp) {
    return is_alpha(cp) || is_numeric(cp) || is_digit(cp);
}
static bool is_ascii(uint32_t cp) {
    return cp < 0x80;
}
static bool is_printable(uint32_t cp) {
    enum { HIDDEN = NPU__UC_CONTROL | NPU__UC_UNASSIGNED | NPU__UC_SEPARATOR };
    return cp == ' ' || !(npu__unicode_class_of(cp) & HIDDEN);
}

/* Whether all characters pass; |empty| is the answer for none. */
static npu__value *all_of(npu__interp *in, const npu__value *self, char_test *test, bool empty) {
    size_t n = self->u.string.n;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        at += npu_utf8_decode(self->u.string.s + at, n - at, &cp);
        if (!test(cp)) return npu__bool(in, false);
    }
    return npu__bool(in, n || empty);
}

#define ALL(name, test, empty)                                                    \
    static npu__value *name(npu__interp *in, npu__value *self, npu__args *args) { \
        (void)args;                                                               \
        return all_of(in, self, test, empty);                                     \
    }
ALL(s_isdigit, is_digit, false)
ALL(s_isdecimal, is_decimal, false)
ALL(s_isnumeric, is_numeric, false)
ALL(s_isalpha, is_alpha, false)
ALL(s_isalnum, is_alnum, false)
ALL(s_isspace, npu__is_space, false)
ALL(s_isascii, is_ascii, true)
ALL(s_isprintable, is_printable, true)
#undef ALL

/* Whether there are letters with case and all of them have the one asked for. */
static npu__value *changed_case(npu__interp *in, npu__value *self, char how) {
    bool any = false;
    npu__value *other = npu__change_case(in, self, how);
    for (size_t at = 0; at < self->u.string.n && !any;) {
        uint32_t cp;
        at += npu_utf8_decode(self->u.string.s + at, self->u.string.n - at, &cp);
        any = npu__is_cased(cp);
    }
    return other ? npu__bool(in, any && npu__equal(&in->arena, self, other)) : NULL;
}
static npu__value *s_isupper(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return changed_case(in, self, 'u');
}
static npu__value *s_islower(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return changed_case(in, self, 'l');
}

static npu__value *s_istitle(npu__interp *in, npu__value *self, npu__args *args) {
    (void)args;
    return changed_case(in, self, 't');
}

const npu__filter_row npu__class_methods[] = {
    {"isdigit", s_isdigit}, {"isdecimal", s_isdecimal}, {"isnumeric", s_isnumeric}, {"isalpha", s_isalpha},
    {"isalnum", s_isalnum}, {"isspace", s_isspace},     {"isascii", s_isascii},     {"isprintable", s_isprintable},
    {"isupper", s_isupper}, {"islower", s_islower},     {"istitle", s_istitle},     {NULL, NULL},
};
