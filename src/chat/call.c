/* Calls: their arguments, macros, recursive loops. */
#include <string.h>

#include "chat/interp.h"

npu__value *npu__arg(npu__interp *in, const npu__args *args, size_t index, const char *name) {
    if (index < args->list.n) return args->list.items[index];
    return name ? npu__dict_find(&in->arena, &args->named, name, strlen(name)) : NULL;
}

static bool spread(npu__interp *in, const npu__node *node, npu__args *args) {
    npu__value *v = npu__eval(in, node->a);
    if (!v) return false;
    if (node->op == '*') {
        npu__list *items = npu__iterate(in, v);
        for (size_t i = 0; items && i < items->n; i++)
            if (!npu__step(in, 1) || !npu__list_add(&in->arena, &args->list, items->items[i]))
                return npu__fail_memory(in) != NULL;
        return items != NULL;
    }
    if (v->type != NPU__DICT) return npu__fail(in, "** needs a dict, not %s", npu__type_name(v)) != NULL;
    for (size_t i = 0; i < v->u.dict->n; i++) {
        if (v->u.dict->keys[i]->type != NPU__STRING) return npu__fail(in, "the names of arguments are strings") != NULL;
        if (!npu__dict_set(&in->arena, &args->named, v->u.dict->keys[i], v->u.dict->values[i]))
            return npu__fail_memory(in) != NULL;
    }
    return true;
}

bool npu__eval_arguments(npu__interp *in, const npu__node *call, npu__args *args) {
    for (size_t i = 0; i < call->n_kids; i++) {
        const npu__node *kid = call->kids[i];
        if (kid->kind == NPU__N_SPREAD) {
            if (!spread(in, kid, args)) return false;
            continue;
        }
        npu__value *v = npu__eval(in, kid->kind == NPU__N_KEYWORD ? kid->a : kid);
        if (!v) return false;
        bool ok = kid->kind == NPU__N_KEYWORD
                      ? npu__dict_set(&in->arena, &args->named, npu__new_string(&in->arena, kid->s, kid->n), v)
                      : npu__list_add(&in->arena, &args->list, v);
        if (!ok) return npu__fail_memory(in) != NULL;
    }
    return true;
}

static bool is_key(const npu__value *key, const char *s, size_t n) {
    return key->u.string.n == n && (!n || !memcmp(key->u.string.s, s, n));
}

/* Named arguments that are no parameters: the caller, and what goes to kwargs if the body reads it. */
static bool bind_named(npu__interp *in, const npu__node *macro, const npu__args *args) {
    npu__value *rest = npu__new_dict(&in->arena, NPU__DICT), *caller = NULL;
    for (size_t i = 0; i < args->named.n; i++) {
        npu__value *key = args->named.keys[i], *v = args->named.values[i];
        bool known = false;
        for (size_t k = args->list.n; k < macro->n_kids; k++)
            known |= is_key(key, macro->kids[k]->s, macro->kids[k]->n);
        if (known) continue;
        if (is_key(key, "caller", 6) && macro->uses & NPU__USES_CALLER)
            caller = v;
        else if (!(macro->uses & NPU__USES_KWARGS))
            return npu__fail(in, "'%s' takes no argument '%.*s'", macro->s,
                             (int)(key->u.string.n < 60 ? key->u.string.n : 60), key->u.string.s) != NULL;
        else if (!rest || !npu__dict_set(&in->arena, rest->u.dict, key, v))
            return npu__fail_memory(in) != NULL;
    }
    if (!rest) return npu__fail_memory(in) != NULL;
    if (macro->uses & NPU__USES_KWARGS && !npu__assign(in, "kwargs", rest)) return false;
    if (!(macro->uses & NPU__USES_CALLER)) return true;
    if (!caller) caller = npu__new_undefined(&in->arena, "caller");
    return caller ? npu__assign(in, "caller", caller) : npu__fail_memory(in) != NULL;
}

static bool bind_rest(npu__interp *in, const npu__node *macro, const npu__args *args) {
    if (!(macro->uses & NPU__USES_VARARGS))
        return args->list.n <= macro->n_kids ||
               npu__fail(in, "'%s' takes %zu arguments, not %zu", macro->s, macro->n_kids, args->list.n) != NULL;
    npu__value *rest = npu__new_list(&in->arena, NPU__TUPLE);
    if (!rest) return npu__fail_memory(in) != NULL;
    for (size_t i = macro->n_kids; i < args->list.n; i++)
        if (!npu__list_add(&in->arena, rest->u.list, args->list.items[i])) return npu__fail_memory(in) != NULL;
    return npu__assign(in, "varargs", rest);
}

/* Binds a macro's parameters in a new scope; a default may use the parameters before it. */
static bool bind(npu__interp *in, const npu__node *macro, npu__args *args) {
    if (!bind_rest(in, macro, args) || !bind_named(in, macro, args)) return false;
    for (size_t i = 0; i < macro->n_kids; i++) {
        const npu__node *p = macro->kids[i];
        npu__value *v = npu__arg(in, args, i, p->s);
        if (!v && p->a && !(v = npu__eval(in, p->a))) return false;
        if (!v && !(v = npu__new_undefined(&in->arena, p->s))) return npu__fail_memory(in) != NULL;
        if (!npu__assign(in, p->s, v)) return false;
    }
    return true;
}

static npu__value *call_macro(npu__interp *in, npu__value *f, npu__args *args) {
    npu__scope *caller = in->scope;
    const npu__node *at = in->at;
    size_t from = in->out.n;
    in->scope = npu__push_scope(in, f->u.macro.scope);
    bool ok = in->scope && bind(in, f->u.macro.node, args) && npu__exec(in, f->u.macro.node->body) != NPU__FLOW_FAIL;
    in->scope = caller;
    in->at = at;
    return ok ? npu__captured(in, from) : NULL;
}

/* "loop(items)" inside a recursive loop: the same tag once more, over them. */
static npu__value *call_loop(npu__interp *in, const npu__loop *loop, npu__args *args) {
    npu__scope *caller = in->scope;
    const npu__node *at = in->at;
    size_t from = in->out.n;
    if (!loop->tag) return npu__fail(in, "the loop is not marked as recursive");
    if (args->list.n != 1) return npu__fail(in, "loop(…) needs what to run over");
    in->scope = loop->scope;
    bool ok = npu__run_for(in, loop->tag, args->list.items[0], loop->depth + 1) != NPU__FLOW_FAIL;
    in->scope = caller;
    in->at = at;
    return ok ? npu__captured(in, from) : NULL;
}

npu__value *npu__call(npu__interp *in, npu__value *f, npu__args *args) {
    switch (f->type) {
    case NPU__MACRO:
        return call_macro(in, f, args);
    case NPU__METHOD:
        return npu__method(in, f->u.ref.self, f->u.ref.name, args);
    case NPU__FUNCTION:
        return npu__function(in, f->u.ref.name, args);
    case NPU__LOOP:
        return call_loop(in, f->u.loop, args);
    case NPU__TURNS:
        if (!f->u.turns->items) return npu__turn(in, f->u.turns);
        return npu__fail(in, "a cycler can't be called");
    case NPU__UNDEFINED:
        return npu__fail(in, "'%s' is undefined and can't be called", f->u.ref.name);
    default:
        return npu__fail(in, "%s can't be called", npu__type_name(f));
    }
}

npu__value *npu__eval_call(npu__interp *in, const npu__node *node) {
    npu__value *f = npu__eval(in, node->a);
    npu__args args = {0};
    if (!f || !npu__eval_arguments(in, node, &args)) return NULL;
    in->at = node;
    return npu__call(in, f, &args);
}
