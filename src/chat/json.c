/* Values as JSON, as Python's json.dumps writes them. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"

static bool write_json_escape(npu__interp *in, const npu__value *v, size_t at, uint32_t cp) {
    char s[16];
    if (cp >= 0x10000)
        snprintf(s, sizeof s, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((cp - 0x10000) >> 10)),
                 (unsigned)(0xDC00 + (cp & 0x3FF)));
    else
        snprintf(s, sizeof s, "\\u%04x", (unsigned)cp);
    return npu__write_as(in, v, at, s, strlen(s));
}

static bool write_json_string(npu__interp *in, const npu__value *v, bool ascii) {
    const char *s = v->u.string.s;
    size_t n = v->u.string.n;
    static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
    if (!npu__write_str(in, "\"")) return false;
    for (size_t at = 0; at < n;) {
        uint32_t cp;
        size_t len = npu_utf8_decode(s + at, n - at, &cp);
        const char *simple = cp && cp < 0x80 ? strchr(from, (int)cp) : NULL;
        bool ok;
        if (simple)
            ok = npu__write_as(in, v, at, "\\", 1) && npu__write_as(in, v, at, &to[simple - from], 1);
        else if (cp < 0x20 || (ascii && cp > 0x7E))
            ok = cp == 0x7F ? npu__write_part(in, v, at, len) : write_json_escape(in, v, at, cp);
        else
            ok = npu__write_part(in, v, at, len);
        if (!ok) return false;
        at += len;
    }
    return npu__write_str(in, "\"");
}

static bool new_line(npu__interp *in, const npu__json_style *style, size_t depth) {
    if (!style->lines) return true;
    if (!npu__write_str(in, "\n")) return false;
    for (size_t i = 0; i < depth; i++)
        for (int64_t k = 0; k < style->indent_times; k++)
            if (!npu__write_text(in, &style->indent)) return false;
    return true;
}

static bool json_key(npu__interp *in, const npu__value *key, const npu__json_style *style) {
    if (key->type == NPU__STRING) return write_json_string(in, key, style->ascii);
    if (npu__is_list(key)) return npu__fail(in, "a %s can't be a key in JSON", npu__type_name(key)) != NULL;
    return npu__write_str(in, "\"") && npu__write_json(in, key, style, 0) && npu__write_str(in, "\"");
}

/* The members in order, sorted by key when asked: *keys and *values. */
static bool members_of(npu__interp *in, const npu__dict *dict, bool sorted, npu__value ***keys, npu__value ***values) {
    *keys = dict->keys;
    *values = dict->values;
    if (!sorted) return true;
    *keys = npu__arena_alloc(&in->arena, dict->n * sizeof **keys);
    *values = npu__arena_alloc(&in->arena, dict->n * sizeof **values);
    if (!*keys || !*values) return npu__fail_memory(in) != NULL;
    memcpy(*keys, dict->keys, dict->n * sizeof **keys);
    memcpy(*values, dict->values, dict->n * sizeof **values);
    return npu__sort_pairs(in, *keys, *values, dict->n, false);
}

static bool json_dict(npu__interp *in, const npu__dict *dict, const npu__json_style *style, size_t depth) {
    if (!dict->n) return npu__write_str(in, "{}");
    npu__value **keys, **values;
    if (!members_of(in, dict, style->sorted, &keys, &values) || !npu__write_str(in, "{")) return false;
    for (size_t i = 0; i < dict->n; i++) {
        if (i && !npu__write_text(in, &style->item_separator)) return false;
        if (!new_line(in, style, depth + 1) || !json_key(in, keys[i], style)) return false;
        if (!npu__write_text(in, &style->key_separator)) return false;
        if (!npu__write_json(in, values[i], style, depth + 1)) return false;
    }
    return new_line(in, style, depth) && npu__write_str(in, "}");
}

static bool json_list(npu__interp *in, const npu__list *list, const npu__json_style *style, size_t depth) {
    if (!list->n) return npu__write_str(in, "[]");
    if (!npu__write_str(in, "[")) return false;
    for (size_t i = 0; i < list->n; i++) {
        if (i && !npu__write_text(in, &style->item_separator)) return false;
        if (!new_line(in, style, depth + 1) || !npu__write_json(in, list->items[i], style, depth + 1)) return false;
    }
    return new_line(in, style, depth) && npu__write_str(in, "]");
}

bool npu__write_json(npu__interp *in, const npu__value *v, const npu__json_style *style, size_t depth) {
    bool ok;
    if (!npu__enter_value(in)) return false;
    switch (v->type) {
    case NPU__NONE:
        ok = npu__write_str(in, "null");
        break;
    case NPU__BOOL:
        ok = npu__write_str(in, v->u.boolean ? "true" : "false");
        break;
    case NPU__INT:
        ok = npu__write_repr(in, v);
        break;
    case NPU__FLOAT:
        ok = npu__write_float(in, v->u.number, true);
        break;
    case NPU__STRING:
        ok = write_json_string(in, v, style->ascii);
        break;
    case NPU__LIST:
    case NPU__TUPLE:
        if (v->u.list->kind != NPU__PLAIN && v->u.list->kind != NPU__GROUP)
            return npu__fail(in, "a generator, range or view can't be written as JSON") != NULL;
        ok = json_list(in, v->u.list, style, depth);
        break;
    case NPU__DICT:
        ok = json_dict(in, v->u.dict, style, depth);
        break;
    default:
        return npu__fail(in, "a value of type %s can't be written as JSON", npu__type_name(v)) != NULL;
    }
    in->depth--;
    return ok;
}
