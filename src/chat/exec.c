/* Execution of statements. */
#include <string.h>

#include "chat/interp.h"

enum { DEPTH_MAX = 1000 };

static npu__flow ok(bool done) {
    return done ? NPU__FLOW_NEXT : NPU__FLOW_FAIL;
}

static npu__flow run_body(npu__interp *in, const npu__node *node) {
    for (size_t i = 0; i < node->n_kids; i++) {
        npu__flow flow = npu__exec(in, node->kids[i]);
        if (flow != NPU__FLOW_NEXT) return flow;
    }
    return NPU__FLOW_NEXT;
}

static bool assign_to(npu__interp *in, const npu__node *target, npu__value *v) {
    if (target->kind == NPU__N_NAME) return npu__assign(in, target->s, v);
    if (target->kind == NPU__N_ATTR) {
        npu__value *ns = npu__lookup(in, target->a->s);
        if (!ns) return false;
        if (ns->type != NPU__NAMESPACE)
            return npu__fail(in, "'%s' is no namespace: its attributes can't be set", target->a->s) != NULL;
        npu__value *key = npu__new_string(&in->arena, target->s, target->n);
        return npu__dict_set(&in->arena, ns->u.dict, key, v) || npu__fail_memory(in) != NULL;
    }
    npu__list *items = npu__iterate(in, v);
    if (!items) return false;
    if (items->n != target->n_kids) return npu__fail(in, "%zu values for %zu names", items->n, target->n_kids) != NULL;
    for (size_t i = 0; i < items->n; i++)
        if (!assign_to(in, target->kids[i], items->items[i])) return false;
    return true;
}

/* The items that pass the loop's condition. */
static npu__list *loop_items(npu__interp *in, const npu__node *node, npu__value *over) {
    npu__list *all = npu__iterate(in, over);
    if (!all || !node->c) return all;
    npu__value *kept = npu__new_list(&in->arena, NPU__LIST);
    if (!kept) return npu__fail_memory(in);
    npu__scope *outer = in->scope;
    for (size_t i = 0; i < all->n; i++) {
        in->scope = npu__push_scope(in, outer);
        npu__value *is = in->scope && assign_to(in, node->a, all->items[i]) ? npu__eval(in, node->c) : NULL;
        if (!is) return NULL;
        if (npu__truth(is) && !npu__list_add(&in->arena, kept->u.list, all->items[i])) return npu__fail_memory(in);
    }
    in->scope = outer;
    return kept->u.list;
}

static npu__value *new_loop(npu__interp *in, const npu__node *node, npu__list *items, size_t depth) {
    npu__value *loop = npu__new(&in->arena, NPU__LOOP);
    if (loop) loop->u.loop = npu__arena_alloc(&in->arena, sizeof *loop->u.loop);
    if (!loop || !loop->u.loop) return npu__fail_memory(in);
    *loop->u.loop =
        (npu__loop){.items = items, .depth = depth, .tag = node->recursive ? node : NULL, .scope = in->scope};
    return loop;
}

static npu__flow run_else(npu__interp *in, const npu__node *body) {
    npu__scope *outer = in->scope;
    if (!body) return NPU__FLOW_NEXT;
    in->scope = npu__push_scope(in, outer);
    npu__flow flow = in->scope ? npu__exec(in, body) : NPU__FLOW_FAIL;
    in->scope = outer;
    return flow;
}

npu__flow npu__run_for(npu__interp *in, const npu__node *node, npu__value *over, size_t depth) {
    npu__list *items = loop_items(in, node, over);
    if (!items) return NPU__FLOW_FAIL;
    if (!items->n) return run_else(in, node->otherwise);
    npu__value *loop = new_loop(in, node, items, depth);
    if (!loop) return NPU__FLOW_FAIL;
    npu__scope *outer = in->scope;
    npu__flow flow = NPU__FLOW_NEXT;
    for (size_t i = 0; i < items->n && flow != NPU__FLOW_BREAK; i++) {
        loop->u.loop->index = i;
        in->scope = npu__push_scope(in, outer);
        if (!in->scope || !npu__assign(in, "loop", loop) || !assign_to(in, node->a, items->items[i]))
            return NPU__FLOW_FAIL;
        flow = npu__exec(in, node->body);
        if (flow == NPU__FLOW_FAIL) return flow;
    }
    in->scope = outer;
    return NPU__FLOW_NEXT;
}

static npu__flow run_if(npu__interp *in, const npu__node *node) {
    npu__value *v = npu__eval(in, node->a);
    if (!v) return NPU__FLOW_FAIL;
    if (npu__truth(v)) return npu__exec(in, node->body);
    return node->otherwise ? npu__exec(in, node->otherwise) : NPU__FLOW_NEXT;
}

/* A filter chain without a beginning, applied to |v|. */
static npu__value *filtered(npu__interp *in, const npu__node *filter, npu__value *v) {
    npu__node bound = *filter,
              text = {.kind = NPU__N_CONST, .line = filter->line, .column = filter->column, .value = v};
    if (filter->a) {
        text.value = filtered(in, filter->a, v);
        if (!text.value) return NULL;
    }
    bound.a = &text;
    v = npu__eval(in, &bound);
    in->at = filter;
    return v;
}

/* Text that a body makes, in a scope of its own. */
static npu__value *body_text(npu__interp *in, const npu__node *body) {
    npu__scope *outer = in->scope;
    size_t from = in->out.n;
    in->scope = npu__push_scope(in, outer);
    bool done = in->scope && npu__exec(in, body) != NPU__FLOW_FAIL;
    in->scope = outer;
    return done ? npu__captured(in, from) : NULL;
}

static npu__flow run_set_block(npu__interp *in, const npu__node *node) {
    npu__value *v = body_text(in, node->body);
    if (v && node->b) v = filtered(in, node->b, v);
    return ok(v && assign_to(in, node->a, v));
}

static npu__flow run_filter_block(npu__interp *in, const npu__node *node) {
    npu__value *v = body_text(in, node->body);
    if (v) v = filtered(in, node->a, v);
    return ok(v && npu__write_text(in, v));
}

static npu__value *new_macro(npu__interp *in, const npu__node *node) {
    npu__value *m = npu__new(&in->arena, NPU__MACRO);
    if (!m) return npu__fail_memory(in);
    m->u.macro.node = node;
    m->u.macro.scope = in->scope;
    return m;
}

/* The block becomes the macro "caller", an extra argument of the call. */
static npu__flow run_call_block(npu__interp *in, const npu__node *node) {
    npu__value *caller = new_macro(in, node);
    if (!caller) return NPU__FLOW_FAIL;
    npu__node value = {.kind = NPU__N_CONST, .line = node->line, .column = node->column, .value = caller};
    npu__node keyword = {.kind = NPU__N_KEYWORD, .s = "caller", .n = 6, .a = &value};
    npu__node call = *node->a;
    npu__node **kids = npu__arena_alloc(&in->arena, (call.n_kids + 1) * sizeof *kids);
    if (!kids) return ok(npu__fail_memory(in) != NULL);
    if (call.n_kids) memcpy(kids, call.kids, call.n_kids * sizeof *kids);
    kids[call.n_kids++] = &keyword;
    call.kids = kids;
    npu__value *v = npu__eval(in, &call);
    in->at = node;
    return ok(v && npu__write_text(in, v));
}

static npu__flow run_with(npu__interp *in, const npu__node *node) {
    npu__scope *outer = in->scope, *inner = npu__push_scope(in, outer);
    if (!inner) return NPU__FLOW_FAIL;
    for (size_t i = 0; i < node->n_kids; i++) {
        npu__value *v = npu__eval(in, node->kids[i]->b);
        in->scope = inner;
        if (!v || !assign_to(in, node->kids[i]->a, v)) return NPU__FLOW_FAIL;
        in->scope = outer;
    }
    in->scope = inner;
    npu__flow flow = npu__exec(in, node->body);
    in->scope = outer;
    return flow;
}

static npu__flow execute(npu__interp *in, const npu__node *node) {
    npu__value *v;
    switch (node->kind) {
    case NPU__N_BODY:
        return run_body(in, node);
    case NPU__N_DATA:
        return ok(npu__write(in, node->s, node->n));
    case NPU__N_PRINT:
        return ok((v = npu__eval(in, node->a)) && npu__write_text(in, v));
    case NPU__N_FOR:
        return (v = npu__eval(in, node->b)) ? npu__run_for(in, node, v, 0) : NPU__FLOW_FAIL;
    case NPU__N_IF:
        return run_if(in, node);
    case NPU__N_SET:
        return ok((v = npu__eval(in, node->b)) && assign_to(in, node->a, v));
    case NPU__N_SET_BLOCK:
        return run_set_block(in, node);
    case NPU__N_MACRO:
        return ok((v = new_macro(in, node)) && npu__assign(in, node->s, v));
    case NPU__N_CALL_BLOCK:
        return run_call_block(in, node);
    case NPU__N_FILTER_BLOCK:
        return run_filter_block(in, node);
    case NPU__N_WITH:
        return run_with(in, node);
    case NPU__N_BREAK:
        return NPU__FLOW_BREAK;
    case NPU__N_CONTINUE:
        return NPU__FLOW_CONTINUE;
    default:
        npu__fail(in, "not a statement");
        return NPU__FLOW_FAIL;
    }
}

npu__flow npu__exec(npu__interp *in, const npu__node *node) {
    in->at = node;
    if (!npu__step(in, 1)) return NPU__FLOW_FAIL;
    if (++in->depth > DEPTH_MAX) return ok(npu__fail_limit(in, "calls are nested too deeply") != NULL);
    npu__flow flow = execute(in, node);
    in->depth--;
    return flow;
}
