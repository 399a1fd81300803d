/* Inside of formatting: one value by one specification. Seen by format.c, format_fields.c and format_percent.c. */
#ifndef NPU_CHAT_FORMAT_H
#define NPU_CHAT_FORMAT_H

#include "chat/interp.h"

enum { NPU__WIDTH_MAX = 10000, NPU__PRECISION_MAX = 100 };

typedef struct npu__spec {
    const char *fill; /* one character */
    size_t fill_n;
    char align; /* < > ^ =, or 0 */
    char sign;  /* + or space, or 0 */
    char group; /* , or _, or 0 */
    char kind;  /* 0: as the value is */
    bool alternate;
    int64_t width, precision; /* -1: none */
} npu__spec;

bool npu__bad_format(npu__interp *in); /* always false */

/* Digits at *at, if there are any, as a number; false if it is above |most|. */
bool npu__read_number(const char *s, size_t n, size_t *at, int64_t most, int64_t *out);

/* Writes |v|; what fills the width gets the marks of |format| at |place|. */
bool npu__write_value(npu__interp *in, npu__value *v, const npu__spec *f, const npu__value *format, size_t place);

#endif
