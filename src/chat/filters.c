/* Filters, "value | name(arguments)": those of any value, and the search through the tables of all. */
#include <string.h>

#include "chat/interp.h"

static npu__value *new_int(npu__interp *in, int64_t i) {
    return npu__made(in, npu__new_int(&in->arena, i));
}

bool npu__flag(npu__interp *in, const npu__args *args, size_t i, const char *name, bool missing) {
    const npu__value *v = npu__arg(in, args, i, name);
    return v ? npu__truth(v) : missing;
}

static npu__value *f_length(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    if (v->type == NPU__STRING) return new_int(in, (int64_t)npu__chars(v->u.string.s, v->u.string.n));
    if (npu__is_list(v) && !npu__is_lazy(v)) return new_int(in, (int64_t)v->u.list->n);
    if (v->type == NPU__DICT) return new_int(in, (int64_t)v->u.dict->n);
    if (v->type == NPU__UNDEFINED) return new_int(in, 0);
    return npu__fail(in, "%s has no length", v->type == NPU__LIST ? "generator" : npu__type_name(v));
}

static npu__value *f_default(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *other = npu__arg(in, args, 0, "default_value");
    bool missing = v->type == NPU__UNDEFINED || (npu__flag(in, args, 1, "boolean", false) && !npu__truth(v));
    if (!missing) return v;
    return other ? other : npu__made(in, npu__new_string(&in->arena, "", 0));
}

static npu__value *f_string(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    return npu__to_text(in, v);
}

static npu__value *f_safe(npu__interp *in, npu__value *v, npu__args *args) {
    (void)args;
    npu__value *text = npu__to_text(in, v);
    npu__value *safe = text ? npu__part(in, text, 0, text->u.string.n) : NULL;
    if (safe) safe->u.string.markup = true;
    return safe;
}

static npu__value *f_attr(npu__interp *in, npu__value *v, npu__args *args) {
    npu__value *name = npu__arg(in, args, 0, "name"), *copy;
    if (!name || name->type != NPU__STRING) return npu__fail(in, "attr needs a name");
    if (!(copy = npu__copy_string(&in->arena, name->u.string.s, name->u.string.n))) return npu__fail_memory(in);
    if (v->type == NPU__DICT && !npu__has_method(v, copy->u.string.s))
        return npu__made(in, npu__new_undefined(&in->arena, copy->u.string.s));
    return npu__attribute(in, v, copy->u.string.s, copy->u.string.n);
}

static const npu__filter_row filters[] = {
    {"length", f_length}, {"count", f_length}, {"default", f_default}, {"d", f_default},
    {"string", f_string}, {"safe", f_safe},    {"attr", f_attr},       {NULL, NULL},
};

static npu__filter_fn *find(const char *name) {
    const npu__filter_row *const tables[] = {filters, npu__list_filters, npu__sort_filters, npu__text_filters,
                                             npu__number_filters};
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++)
        for (const npu__filter_row *row = tables[k]; row->name; row++)
            if (!strcmp(row->name, name)) return row->fn;
    return NULL;
}

bool npu__is_filter(const char *name) {
    return find(name) != NULL;
}

npu__value *npu__filter(npu__interp *in, const char *name, npu__value *v, npu__args *args) {
    npu__filter_fn *fn = find(name);
    if (!fn) return npu__fail(in, "there is no filter '%s'", name);
    if (!npu__step(in, v->type == NPU__STRING ? v->u.string.n / 64 : 0)) return NULL;
    if (++in->depth > 1000) return npu__fail_limit(in, "calls are nested too deeply");
    v = fn(in, v, args);
    in->depth--;
    return v;
}
