/* References inside a schema document. */
#include <stdlib.h>
#include <string.h>

#include "grammar/schema_parts.h"

/* Two hexadecimal digits as a byte; 256: there are none. */
static unsigned hex_pair(const char *s) {
    char text[3] = {s[0], s[0] ? s[1] : 0, 0}, *end;
    unsigned long v = strtoul(text, &end, 16);
    bool digits = text[0] && text[0] != '-' && text[0] != '+' && text[0] != ' ' && end == text + 2;
    return digits ? (unsigned)v : 256;
}

npu_status npu__schema_resolve(const npu__schema *c, const json_t *ref, json_t **out, npu_error *err) {
    const char *s = json_string_value(ref);
    if (!s || s[0] != '#' || (s[1] && s[1] != '/'))
        return npu_fail(err, NPU_REFUSED, "schema.ref", "$ref %.100s: only \"#\" and \"#/…\" are supported",
                        s ? s : "is no text");
    json_t *at = c->root;
    for (const char *p = s + 1; at && *p;) {
        char name[256];
        size_t n = 0;
        for (p++; *p && *p != '/'; p++) {
            char ch = *p;
            unsigned percent = ch == '%' ? hex_pair(p + 1) : 256;
            if (percent < 256) {
                ch = (char)percent;
                p += 2;
            }
            if (ch == '~' && (p[1] == '0' || p[1] == '1')) ch = *++p == '0' ? '~' : '/';
            if (n + 1 < sizeof name) name[n++] = ch;
        }
        name[n] = 0;
        if (json_is_array(at)) {
            char *end;
            unsigned long i = strtoul(name, &end, 10);
            at = n && !*end ? json_array_get(at, i) : NULL;
        } else {
            at = json_object_get(at, name);
        }
    }
    if (!at) return npu_fail(err, NPU_INVALID, "schema.ref", "$ref \"%.100s\" leads nowhere", s);
    *out = at;
    return NPU_OK;
}

static npu_status check_begins(npu__schema *c, const json_t *schema, unsigned depth, npu_error *err) {
    const json_t *ref = json_object_get(schema, "$ref"), *any = json_object_get(schema, "anyOf");
    json_t *target;
    if (depth > 100 || ++c->n_checked > 1u << 20)
        return npu_fail(err, NPU_INVALID, "schema.ref", "$ref leads back to itself, or through too many others");
    if (ref) {
        NPU_TRY(npu__schema_resolve(c, ref, &target, err));
        NPU_TRY(check_begins(c, target, depth + 1, err));
    }
    for (size_t i = 0; i < json_array_size(any); i++) NPU_TRY(check_begins(c, json_array_get(any, i), depth + 1, err));
    return NPU_OK;
}

npu_status npu__schema_begins(npu__schema *c, const json_t *schema, npu_error *err) {
    return check_begins(c, schema, 0, err);
}
