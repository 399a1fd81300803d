/* Filters of text. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "chat/interp.h"
#include "tokenizer/unicode.h"

static npu__value *f_trim(npu__interp *in, npu__value *v, npu__args *args) {
    v = npu__to_text(in, v);
    return v ? npu__strip(in, v, npu__arg(in, args, 0, "chars"), true, true) : NULL;
}

static npu__value *cased(npu__interp *in, npu__value *v, char how) {
    v = npu__to_text(in, v);
    return v ? npu__change_case(in, v, how) : NULL;
}
static npu__value *f_lower(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'l');
}
static npu__value *f_upper(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'u');
}
static npu__value *f_title(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'w');
}
static npu__value *f_capitalize(npu__interp *in, npu__value *v, npu__args *args) {
    return (void)args, cased(in, v, 'c');
}

static npu__value *f_replace(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *from = npu__arg(in, args, 0, "old"), *to = npu__arg(in, args, 1, "new"),
               *count = npu__arg(in, args, 2, "count");
    if (!from || !to) return npu__fail(in, "replace needs two strings");
    v = npu__to_text(in, v);
    from = v ? npu__to_text(in, from) : NULL;
    to = from ? npu__to_text(in, to) : NULL;
    return to ? npu__replace(in, v, from, to, count && count->type == NPU__INT ? count->u.integer : -1) : NULL;
}

static npu__value *f_indent(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *width = npu__arg(in, args, 0, "width"), *lines, *text = npu__to_text(in, v);
    bool first = npu__flag(in, args, 1, "first", false), blank = npu__flag(in, args, 2, "blank", false);
    size_t from = in->out.n;
    if (!text) return NULL;
    if (width && width->type != NPU__STRING && width->type != NPU__INT) return npu__fail(in, "indent needs a width");
    int64_t spaces = width && width->type == NPU__INT ? width->u.integer : 4;
    /* As in the original, a line feed at the end is added, so the text's own one is kept as an empty line. */
    if (!npu__write_text(in, text) || !npu__write(in, "\n", 1)) return NULL;
    text = npu__captured(in, from);
    lines = text ? npu__splitlines(in, text, false) : NULL;
    for (size_t i = 0; lines && i < lines->u.list->n; i++) {
        npu__value *line = lines->u.list->items[i];
        bool indented = i ? blank || line->u.string.n : first;
        if (i && !npu__write(in, "\n", 1)) return NULL;
        if (indented && width && width->type == NPU__STRING && !npu__write_text(in, width)) return NULL;
        for (int64_t k = 0; indented && !(width && width->type == NPU__STRING) && k < spaces; k++)
            if (!npu__write(in, " ", 1)) return NULL;
        if (!npu__write_text(in, line)) return NULL;
    }
    return lines ? npu__captured(in, from) : NULL;
}

static bool set_indent(npu__interp *in, npu__json_style *style, const npu__value *indent) {
    if (!indent || indent->type == NPU__NONE) return true;
    style->lines = true;
    style->item_separator.u.string.n = 1;
    if (indent->type == NPU__STRING) {
        style->indent = *indent;
        return true;
    }
    if (indent->type != NPU__INT && indent->type != NPU__BOOL) return npu__fail(in, "a bad indent") != NULL;
    style->indent_times = indent->type == NPU__INT ? indent->u.integer : indent->u.boolean;
    style->indent.u.string.s = " ";
    return true;
}

static npu__value *f_tojson(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *separators = npu__arg(in, args, 2, "separators");
    npu__json_style style = {.ascii = npu__flag(in, args, 0, "ensure_ascii", false),
                             .sorted = npu__flag(in, args, 3, "sort_keys", false),
                             .indent = {.type = NPU__STRING, .u.string = {.s = "", .n = 1}},
                             .indent_times = 1,
                             .item_separator = {.type = NPU__STRING, .u.string = {.s = ", ", .n = 2}},
                             .key_separator = {.type = NPU__STRING, .u.string = {.s = ": ", .n = 2}}};
    if (!set_indent(in, &style, npu__arg(in, args, 1, "indent"))) return NULL;
    if (separators && separators->type != NPU__NONE) {
        if (!npu__is_list(separators) || separators->u.list->n != 2) return npu__fail(in, "separators are two strings");
        npu__value *const *s = separators->u.list->items;
        if (s[0]->type != NPU__STRING || s[1]->type != NPU__STRING) return npu__fail(in, "separators are two strings");
        style.item_separator = *s[0];
        style.key_separator = *s[1];
    }
    size_t from = in->out.n;
    return npu__write_json(in, v, &style, 0) ? npu__captured(in, from) : NULL;
}

static npu__value *f_escape(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    return npu__escaped(in, v);
}

static npu__value *f_forceescape(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__value *text = npu__to_text(in, v), *plain = text ? npu__part(in, text, 0, text->u.string.n) : NULL;
    return plain ? npu__escaped(in, plain) : NULL;
}

static npu__value *f_format(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value values = {.type = NPU__TUPLE, .u.list = &args->list}, *text = npu__to_text(in, v);
    if (args->named.n) values = (npu__value){.type = NPU__DICT, .u.dict = &args->named};
    if (args->named.n && args->list.n) return npu__fail(in, "format takes values or names, not both");
    size_t from = in->out.n;
    return text && npu__percent(in, text, &values) ? npu__captured(in, from) : NULL;
}

static npu__value *f_center(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value eighty = {.type = NPU__INT, .u.integer = 80}, *width = npu__arg(in, args, 0, "width");
    npu__value *text = npu__to_text(in, v);
    npu__value *items[1] = {width ? width : &eighty};
    npu__args one = {.list = {.items = items, .n = 1}};
    return text ? npu__method(in, text, "center", &one) : NULL;
}

/* Runs of letters, digits and "_". */
static npu__value *f_wordcount(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__value *text = npu__to_text(in, v);
    int64_t count = 0;
    bool inside = false;
    for (size_t at = 0; text && at < text->u.string.n;) {
        uint32_t cp;
        at += npu_utf8_decode(text->u.string.s + at, text->u.string.n - at, &cp);
        bool is = cp == '_' || npu__unicode_class_of(cp) & (NPU__UC_LETTER | NPU__UC_NUMBER);
        count += is && !inside;
        inside = is;
    }
    return text ? npu__made(in, npu__new_int(&in->arena, count)) : NULL;
}

static npu__value *f_truncate(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *length = npu__arg(in, args, 0, "length"), *end = npu__arg(in, args, 2, "end"),
               *leeway = npu__arg(in, args, 3, "leeway");
    npu__value dots = {.type = NPU__STRING, .u.string = {.s = "...", .n = 3}}, *text = npu__to_text(in, v);
    if (!end) end = &dots;
    if (!text) return NULL;
    if (end->type != NPU__STRING || (length && length->type != NPU__INT))
        return npu__fail(in, "truncate needs a length");
    int64_t most = length ? length->u.integer : 255, slack = leeway && leeway->type == NPU__INT ? leeway->u.integer : 5;
    int64_t n = (int64_t)npu__chars(text->u.string.s, text->u.string.n);
    int64_t tail = (int64_t)npu__chars(end->u.string.s, end->u.string.n);
    if (most < tail || slack < 0) return npu__fail(in, "truncate needs a length that is not below that of its end");
    if (n <= most || n - most <= slack) return text;
    size_t keep = npu__char_offset(text->u.string.s, text->u.string.n, (size_t)(most - tail)), from = in->out.n;
    const char *space = npu__flag(in, args, 1, "killwords", false) ? NULL : memrchr(text->u.string.s, ' ', keep);
    if (space) keep = (size_t)(space - text->u.string.s);
    return npu__write_part(in, text, 0, keep) && npu__write_text(in, end) ? npu__captured(in, from) : NULL;
}

static bool write_quoted(npu__interp *in, npu__value *v, bool form) {
    npu__value *text = npu__to_text(in, v);
    for (size_t i = 0; text && i < text->u.string.n; i++) {
        uint8_t c = (uint8_t)text->u.string.s[i];
        bool plain =
            (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c && strchr("_.-~", c));
        char s[4];
        snprintf(s, sizeof s, plain || (!form && c == '/') ? "%c" : form && c == ' ' ? "+" : "%%%02X", c);
        if (!npu__write_as(in, text, i, s, strlen(s))) return false;
    }
    return text != NULL;
}

static npu__value *f_urlencode(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    size_t from = in->out.n;
    if (v->type != NPU__DICT && !npu__is_list(v)) return write_quoted(in, v, false) ? npu__captured(in, from) : NULL;
    npu__value *pairs = v->type == NPU__DICT ? npu__dict_list(in, v->u.dict, NPU__ITEMS) : v;
    for (size_t i = 0; pairs && i < pairs->u.list->n; i++) {
        const npu__value *pair = pairs->u.list->items[i];
        if (!npu__is_list(pair) || pair->u.list->n != 2) return npu__fail(in, "urlencode needs pairs");
        if ((i && !npu__write(in, "&", 1)) || !write_quoted(in, pair->u.list->items[0], true) ||
            !npu__write(in, "=", 1) || !write_quoted(in, pair->u.list->items[1], true))
            return NULL;
    }
    return pairs ? npu__captured(in, from) : NULL;
}

static npu__value *f_xmlattr(npu__interp *in, npu__value *v, npu__args *args) {
    size_t from = in->out.n;
    bool space = npu__flag(in, args, 0, "autospace", true);
    if (v->type != NPU__DICT) return npu__fail(in, "xmlattr needs a dict, not %s", npu__type_name(v));
    for (size_t i = 0; i < v->u.dict->n; i++) {
        npu__value *key = v->u.dict->keys[i], *value = v->u.dict->values[i];
        if (value->type == NPU__NONE || value->type == NPU__UNDEFINED) continue;
        if (key->type != NPU__STRING || strcspn(key->u.string.s, " \t\n\r\f\v/>=") < key->u.string.n)
            return npu__fail(in, "a key of xmlattr has a character that attributes can't have");
        if (((space || in->out.n > from) && !npu__write(in, " ", 1)) || !(key = npu__escaped(in, key)) ||
            !npu__write_text(in, key) || !npu__write(in, "=\"", 2) || !(value = npu__escaped(in, value)) ||
            !npu__write_text(in, value) || !npu__write(in, "\"", 1))
            return NULL;
    }
    return npu__captured(in, from);
}

const npu__filter_row npu__text_filters[] = {
    {"trim", f_trim},
    {"lower", f_lower},
    {"upper", f_upper},
    {"title", f_title},
    {"capitalize", f_capitalize},
    {"replace", f_replace},
    {"indent", f_indent},
    {"tojson", f_tojson},
    {"escape", f_escape},
    {"e", f_escape},
    {"forceescape", f_forceescape},
    {"format", f_format},
    {"center", f_center},
    {"wordcount", f_wordcount},
    {"truncate", f_truncate},
    {"urlencode", f_urlencode},
    {"xmlattr", f_xmlattr},
    {NULL, NULL},
};
