/* Tests ("x is y") and global functions. */
#include <string.h>
#include <time.h>

#include "chat/interp.h"

static int64_t whole(const npu__value *v) {
    return v->type == NPU__BOOL ? v->u.boolean : v->u.integer;
}

static int is_case(npu__interp *in, npu__value *v, char how) {
    npu__value *s = npu__to_text(in, v), *changed = s ? npu__change_case(in, s, how) : NULL;
    npu__value *other = changed ? npu__change_case(in, s, how == 'l' ? 'u' : 'l') : NULL;
    return other ? npu__equal(&in->arena, s, changed) && !npu__equal(&in->arena, s, other) : -1;
}

static int divisible(npu__interp *in, const npu__value *v, const npu__value *by) {
    bool numbers = by && (v->type == NPU__INT || v->type == NPU__BOOL) && by->type == NPU__INT && by->u.integer != 0;
    if (numbers) return by->u.integer == -1 || whole(v) % by->u.integer == 0;
    npu__fail(in, "whole numbers are needed, and none can be divided by zero");
    return -1;
}

static bool is_view(const npu__value *v) {
    npu__list_kind kind = v->u.list->kind;
    return kind == NPU__KEYS || kind == NPU__VALUES || kind == NPU__ITEMS;
}

static int simple(const char *name, const npu__value *v) {
    const struct {
        const char *name;
        bool is;
    } rows[] = {
        {"defined", v->type != NPU__UNDEFINED},
        {"undefined", v->type == NPU__UNDEFINED},
        {"none", v->type == NPU__NONE},
        {"boolean", v->type == NPU__BOOL},
        {"true", v->type == NPU__BOOL && v->u.boolean},
        {"false", v->type == NPU__BOOL && !v->u.boolean},
        {"integer", v->type == NPU__INT},
        {"float", v->type == NPU__FLOAT},
        {"number", npu__is_number(v)},
        {"string", v->type == NPU__STRING},
        {"mapping", v->type == NPU__DICT},
        {"sequence", v->type == NPU__STRING || v->type == NPU__DICT || v->type == NPU__UNDEFINED ||
                         (npu__is_list(v) && v->u.list->kind != NPU__LAZY && !is_view(v))},
        {"iterable", v->type == NPU__STRING || v->type == NPU__DICT || npu__is_list(v) || v->type == NPU__UNDEFINED ||
                         v->type == NPU__LOOP},
        {"callable", v->type == NPU__MACRO || v->type == NPU__METHOD || v->type == NPU__FUNCTION ||
                         v->type == NPU__LOOP || v->type == NPU__UNDEFINED || /* the call fails, with its name */
                         (v->type == NPU__TURNS && !v->u.turns->items)},
        {"escaped", v->type == NPU__STRING && v->u.string.markup},
        {"filter", v->type == NPU__STRING && npu__is_filter(v->u.string.s)},
        {"test", v->type == NPU__STRING && npu__is_test(v->u.string.s)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(rows[i].name, name)) return rows[i].is;
    return -1;
}

static const struct {
    const char *name;
    char op;
} relations[] = {{"eq", '='},       {"equalto", '='}, {"==", '='}, {"ne", '!'},          {"!=", '!'}, {"lt", '<'},
                 {"lessthan", '<'}, {"<", '<'},       {"gt", '>'}, {"greaterthan", '>'}, {">", '>'},  {"le", 'l'},
                 {"<=", 'l'},       {"ge", 'g'},      {">=", 'g'}, {"in", 'i'}};
static const char *const other_tests[] = {"divisibleby", "even", "odd", "lower", "upper", "sameas"};

bool npu__is_test(const char *name) {
    const npu__value none = {.type = NPU__NONE};
    for (size_t i = 0; i < sizeof relations / sizeof relations[0]; i++)
        if (!strcmp(relations[i].name, name)) return true;
    for (size_t i = 0; i < sizeof other_tests / sizeof other_tests[0]; i++)
        if (!strcmp(other_tests[i], name)) return true;
    return simple(name, &none) >= 0;
}

int npu__test(npu__interp *in, const char *name, npu__value *v, npu__args *args) {
    bool about_names = v->type == NPU__STRING && (!strcmp(name, "filter") || !strcmp(name, "test"));
    if (about_names && !(v = npu__copy_string(&in->arena, v->u.string.s, v->u.string.n))) {
        npu__fail_memory(in);
        return -1;
    }
    npu__value *arg = npu__arg(in, args, 0, NULL), two = {.type = NPU__INT, .u.integer = 2};
    int is = simple(name, v);
    if (is >= 0) return is;
    for (size_t i = 0; arg && i < sizeof relations / sizeof relations[0]; i++)
        if (!strcmp(relations[i].name, name)) return npu__related(in, relations[i].op, v, arg);
    if (!strcmp(name, "divisibleby")) return divisible(in, v, arg);
    if (!strcmp(name, "even")) return divisible(in, v, &two);
    if (!strcmp(name, "odd")) return (is = divisible(in, v, &two)) < 0 ? is : !is;
    if (!strcmp(name, "lower")) return is_case(in, v, 'l');
    if (!strcmp(name, "upper")) return is_case(in, v, 'u');
    if (!strcmp(name, "sameas") && arg)
        return v == arg || (v->type == arg->type && !npu__is_list(v) && npu__equal(&in->arena, v, arg));
    npu__fail(in, "there is no test '%s' with these arguments", name);
    return -1;
}

static npu__value *raise(npu__interp *in, npu__args *args) {
    npu__value *v = npu__arg(in, args, 0, "message"), *s = v ? npu__to_text(in, v) : NULL;
    if (in->status == NPU_OK)
        in->status = npu_fail(in->err, NPU_INVALID, "chat.raised", "the chat template says: %.*s",
                              s && s->u.string.n < 400 ? (int)s->u.string.n
                              : s                      ? 400
                                                       : 0,
                              s ? s->u.string.s : "");
    return NULL;
}

static npu__value *range(npu__interp *in, npu__args *args) {
    enum { RANGE_MAX = 100000 };
    int64_t n[3] = {0, 0, 1};
    if (!args->list.n || args->list.n > 3) return npu__fail(in, "range needs one to three numbers");
    for (size_t i = 0; i < args->list.n; i++) {
        npu__value *v = args->list.items[i];
        if (v->type != NPU__INT && v->type != NPU__BOOL) return npu__fail(in, "range needs whole numbers");
        n[args->list.n == 1 ? 1 : i] = whole(v);
    }
    if (!n[2]) return npu__fail(in, "the step of a range is zero");
    npu__value *list = npu__new_list(&in->arena, NPU__LIST);
    if (list) list->u.list->kind = NPU__RANGE;
    for (int64_t i = n[0]; n[2] > 0 ? i < n[1] : i > n[1];) {
        if (list && list->u.list->n == RANGE_MAX) return npu__fail_limit(in, "a range has more than 100000 numbers");
        if (!npu__step(in, 1)) return NULL;
        if (!list || !npu__list_add(&in->arena, list->u.list, npu__new_int(&in->arena, i))) return npu__fail_memory(in);
        if (__builtin_add_overflow(i, n[2], &i)) break;
    }
    return npu__made(in, list);
}

static npu__value *from_pairs(npu__interp *in, const npu__list *pairs) {
    npu__value *d = npu__new_dict(&in->arena, NPU__DICT);
    for (size_t i = 0; i < pairs->n; i++) {
        const npu__value *pair = pairs->items[i];
        if (!npu__is_list(pair) || pair->u.list->n != 2 || !npu__is_key(pair->u.list->items[0]))
            return npu__fail(in, "a dict is made of pairs of a key and a value");
        if (!npu__step(in, 1 + i / 16) || !d ||
            !npu__dict_set(&in->arena, d->u.dict, pair->u.list->items[0], pair->u.list->items[1]))
            return npu__fail_memory(in);
    }
    return npu__made(in, d);
}

/* namespace(…) and dict(…): a dict's members, then the named arguments. */
static npu__value *members(npu__interp *in, npu__args *args, npu__type type) {
    npu__value *d = npu__new_dict(&in->arena, type), *from = npu__arg(in, args, 0, NULL);
    if (!d) return npu__fail_memory(in);
    if (from && npu__is_list(from)) from = from_pairs(in, from->u.list);
    if (!from && in->status != NPU_OK) return NULL;
    if (from && from->type != NPU__DICT) return npu__fail(in, "a dict is needed, not %s", npu__type_name(from));
    const npu__dict *parts[] = {from ? from->u.dict : NULL, &args->named};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; parts[k] && i < parts[k]->n; i++)
            if (!npu__dict_set(&in->arena, d->u.dict, parts[k]->keys[i], parts[k]->values[i]))
                return npu__fail_memory(in);
    return d;
}

static npu__value *strftime_now(npu__interp *in, npu__args *args) {
    npu__value *format = npu__arg(in, args, 0, "format");
    char zero_ended[128], text[512];
    if (!format || format->type != NPU__STRING || format->u.string.n >= sizeof zero_ended)
        return npu__fail(in, "strftime_now needs a short format");
    memcpy(zero_ended, format->u.string.s, format->u.string.n);
    zero_ended[format->u.string.n] = 0;
    size_t n = zero_ended[0] ? strftime(text, sizeof text, zero_ended, &in->now) : 0;
    size_t from = in->out.n;
    return npu__write_as(in, format, 0, text, n) ? npu__captured(in, from) : NULL;
}

/* cycler(…): its items in turn; joiner(…): nothing first, then its text. */
static npu__value *turns(npu__interp *in, npu__args *args, bool cycler) {
    npu__value *v = npu__new(&in->arena, NPU__TURNS), *text = npu__arg(in, args, 0, "sep");
    if (v) v->u.turns = npu__arena_alloc(&in->arena, sizeof *v->u.turns);
    if (!v || !v->u.turns) return npu__fail_memory(in);
    if (cycler && !args->list.n) return npu__fail(in, "cycler needs items");
    npu__list *items = cycler ? npu__arena_alloc(&in->arena, sizeof *items) : NULL;
    if (cycler && !items) return npu__fail_memory(in);
    if (cycler) *items = args->list;
    v->u.turns->items = items;
    v->u.turns->text = text ? text : npu__new_string(&in->arena, ", ", 2);
    return v->u.turns->text ? v : npu__fail_memory(in);
}

bool npu__is_function(const char *name) {
    static const char *const names[] = {"raise_exception", "range",  "namespace", "dict",
                                        "strftime_now",    "cycler", "joiner"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

npu__value *npu__function(npu__interp *in, const char *name, npu__args *args) {
    if (!strcmp(name, "raise_exception")) return raise(in, args);
    if (!strcmp(name, "range")) return range(in, args);
    if (!strcmp(name, "namespace")) return members(in, args, NPU__NAMESPACE);
    if (!strcmp(name, "dict")) return members(in, args, NPU__DICT);
    if (!strcmp(name, "cycler")) return turns(in, args, true);
    if (!strcmp(name, "joiner")) return turns(in, args, false);
    return strftime_now(in, args);
}
