/* Parsing of what expressions are made of: constants, names, lists and dicts, and the attributes, subscripts, calls and
 * filters that follow them; and what the parser's files share.
 */
#include <string.h>

#include "chat/ast.h"

enum { DEPTH_MAX = 200 };

npu__node *npu__parse_fail(npu__parser *p, const char *what) {
    if (p->status == NPU_OK) p->status = npu__syntax_error(p->err, p->at->line, p->at->column, "%s", what);
    return NULL;
}

void *npu__parse_no_memory(npu__parser *p) {
    if (p->status == NPU_OK)
        p->status = npu_fail(p->err, NPU_NO_MEMORY, "chat.no_memory", "no memory for the chat template");
    return NULL;
}

bool npu__enter(npu__parser *p) {
    if (++p->depth <= DEPTH_MAX) return true;
    if (p->status == NPU_OK)
        p->status =
            npu_fail(p->err, NPU_RANGE, "chat.limit", "chat template, line %u, column %u: nested more than %d deep",
                     p->at->line, p->at->column, DEPTH_MAX);
    return false;
}

npu__node *npu__node_new(npu__parser *p, npu__node_kind kind) {
    npu__node *n = npu__arena_alloc(p->arena, sizeof *n);
    if (!n) return npu__parse_no_memory(p);
    n->kind = kind;
    n->line = p->at->line;
    n->column = p->at->column;
    return n;
}

bool npu__node_add(npu__parser *p, npu__node *parent, npu__node *kid) {
    if (p->status != NPU_OK) return false;
    if (parent->n_kids == parent->kids_capacity) {
        size_t capacity = parent->kids_capacity * 2 + 4;
        npu__node **kids = npu__arena_alloc(p->arena, capacity * sizeof *kids);
        if (!kids) return npu__parse_no_memory(p) != NULL;
        if (parent->n_kids) memcpy(kids, parent->kids, parent->n_kids * sizeof *kids);
        parent->kids = kids;
        parent->kids_capacity = capacity;
    }
    parent->kids[parent->n_kids++] = kid;
    return true;
}

bool npu__token_is(const npu__token *t, npu__token_kind kind, const char *s) {
    return t->kind == kind && strlen(s) == t->n && memcmp(t->s, s, t->n) == 0;
}

bool npu__is_op(const npu__parser *p, const char *op) {
    return npu__token_is(p->at, NPU__TK_OPERATOR, op);
}
bool npu__is_name(const npu__parser *p, const char *name) {
    return npu__token_is(p->at, NPU__TK_NAME, name);
}

bool npu__take_op(npu__parser *p, const char *op) {
    bool is = npu__is_op(p, op);
    p->at += is;
    return is;
}

bool npu__take_name(npu__parser *p, const char *name) {
    bool is = npu__is_name(p, name);
    p->at += is;
    return is;
}

bool npu__expect_op(npu__parser *p, const char *op) {
    char what[32] = "expected '";
    if (npu__take_op(p, op)) return true;
    strcat(strcat(what, op), "'");
    npu__parse_fail(p, what);
    return false;
}

const char *npu__token_text(npu__parser *p, const npu__token *t) {
    char *s = npu__arena_alloc(p->arena, t->n + 1);
    if (!s) return npu__parse_no_memory(p);
    if (t->n) memcpy(s, t->s, t->n);
    return s;
}

npu__node *npu__parse_name(npu__parser *p, npu__node_kind kind) {
    if (p->at->kind != NPU__TK_NAME) return npu__parse_fail(p, "expected a name");
    npu__node *n = npu__node_new(p, kind);
    if (!n || !(n->s = npu__token_text(p, p->at))) return NULL;
    n->n = p->at++->n;
    return n;
}

/* Arguments after "(" up to ")". */
bool npu__parse_arguments(npu__parser *p, npu__node *call) {
    while (!npu__is_op(p, ")")) {
        npu__node *arg;
        if (npu__is_op(p, "*") || npu__is_op(p, "**")) {
            arg = npu__node_new(p, NPU__N_SPREAD);
            if (!arg) return false;
            arg->op = p->at++->n == 2 ? 'p' : '*';
            arg->a = npu__parse_expression(p);
            if (!arg->a) return false;
        } else if (p->at->kind == NPU__TK_NAME && npu__token_is(p->at + 1, NPU__TK_OPERATOR, "=")) {
            arg = npu__parse_name(p, NPU__N_KEYWORD);
            if (!arg) return false;
            p->at++;
            arg->a = npu__parse_expression(p);
            if (!arg->a) return false;
        } else {
            arg = npu__parse_expression(p);
        }
        if (!arg || !npu__node_add(p, call, arg)) return false;
        if (!npu__take_op(p, ",")) break;
    }
    return npu__expect_op(p, ")");
}

static npu__node *constant(npu__parser *p, npu__value *v) {
    npu__node *n = npu__node_new(p, NPU__N_CONST);
    if (!n) return NULL;
    if (!v) return npu__parse_no_memory(p);
    n->value = v;
    p->at++;
    return n;
}

static npu__node *list(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_LIST);
    p->at++;
    while (n && !npu__is_op(p, "]")) {
        npu__node *item = npu__parse_expression(p);
        if (!item || !npu__node_add(p, n, item)) return NULL;
        if (!npu__take_op(p, ",")) break;
    }
    return n && npu__expect_op(p, "]") ? n : NULL;
}

static npu__node *dict(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_DICT);
    p->at++;
    while (n && !npu__is_op(p, "}")) {
        npu__node *key = npu__parse_expression(p);
        if (!key || !npu__expect_op(p, ":")) return NULL;
        npu__node *value = npu__parse_expression(p);
        if (!value || !npu__node_add(p, n, key) || !npu__node_add(p, n, value)) return NULL;
        if (!npu__take_op(p, ",")) break;
    }
    return n && npu__expect_op(p, "}") ? n : NULL;
}

static npu__node *parenthesis(npu__parser *p) {
    p->at++;
    if (npu__is_op(p, ")")) {
        npu__node *empty = npu__node_new(p, NPU__N_TUPLE);
        p->at++;
        return empty;
    }
    npu__node *n = npu__parse_tuple(p);
    return n && npu__expect_op(p, ")") ? n : NULL;
}

/* Neighbouring string literals are one. */
static npu__node *string(npu__parser *p) {
    size_t total = 0, used = 0;
    for (const npu__token *t = p->at; t->kind == NPU__TK_STRING; t++) total += t->n;
    char *s = npu__arena_alloc(p->arena, total + 1);
    if (!s) return npu__parse_no_memory(p);
    const npu__token *first = p->at;
    while (p->at->kind == NPU__TK_STRING) {
        memcpy(s + used, p->at->s, p->at->n);
        used += p->at++->n;
    }
    p->at--;
    npu__node *n = constant(p, npu__new_string(p->arena, s, total));
    if (n) {
        n->line = first->line;
        n->column = first->column;
    }
    return n;
}

/* A macro gets these only if its body reads them. */
static void note_use(npu__parser *p) {
    static const char *const names[] = {"varargs", "kwargs", "caller"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (npu__is_name(p, names[i])) p->uses |= 1u << i;
}

npu__node *npu__parse_primary(npu__parser *p) {
    static const char *const words[] = {"true", "True", "false", "False", "none", "None"};
    switch (p->at->kind) {
    case NPU__TK_STRING:
        return string(p);
    case NPU__TK_INT:
        return constant(p, npu__new_int(p->arena, p->at->integer));
    case NPU__TK_FLOAT:
        return constant(p, npu__new_float(p->arena, p->at->number));
    case NPU__TK_NAME:
        for (size_t i = 0; i < 6; i++)
            if (npu__is_name(p, words[i]))
                return constant(p, i < 4 ? npu__new_bool(p->arena, i < 2) : npu__new(p->arena, NPU__NONE));
        note_use(p);
        return npu__parse_name(p, NPU__N_NAME);
    default:
        break;
    }
    if (npu__is_op(p, "(")) return parenthesis(p);
    if (npu__is_op(p, "[")) return list(p);
    if (npu__is_op(p, "{")) return dict(p);
    return npu__parse_fail(p, "expected an expression");
}

static bool ends_slice_part(const npu__parser *p) {
    return npu__is_op(p, ":") || npu__is_op(p, "]") || npu__is_op(p, ",");
}

static npu__node *subscript(npu__parser *p, npu__node *a) {
    npu__node *item = npu__node_new(p, NPU__N_ITEM);
    if (!item) return NULL;
    p->at++;
    item->a = a;
    npu__node *parts[3] = {NULL, NULL, NULL};
    size_t colons = 0;
    for (;;) {
        if (!ends_slice_part(p)) {
            parts[colons] = npu__parse_expression(p);
            if (!parts[colons]) return NULL;
        }
        if (colons == 2 || !npu__take_op(p, ":")) break;
        colons++;
    }
    if (!npu__expect_op(p, "]")) return NULL;
    item->b = parts[0];
    if (colons) {
        item->b = npu__node_new(p, NPU__N_SLICE);
        for (size_t i = 0; i < 3; i++)
            if (!item->b || !npu__node_add(p, item->b, parts[i])) return NULL;
    }
    return item->b ? item : npu__parse_fail(p, "expected an index");
}

npu__node *npu__parse_call(npu__parser *p, npu__node *a) {
    npu__node *n = npu__node_new(p, NPU__N_CALL);
    if (!n) return NULL;
    p->at++;
    n->a = a;
    return npu__parse_arguments(p, n) ? n : NULL;
}

static npu__node *attribute(npu__parser *p, npu__node *a) {
    p->at++;
    if (p->at->kind == NPU__TK_INT) {
        npu__node *item = npu__node_new(p, NPU__N_ITEM);
        if (!item) return NULL;
        item->a = a;
        item->b = constant(p, npu__new_int(p->arena, p->at->integer));
        return item->b ? item : NULL;
    }
    npu__node *n = npu__parse_name(p, NPU__N_ATTR);
    if (n) n->a = a;
    return n;
}

npu__node *npu__parse_postfix(npu__parser *p, npu__node *a) {
    while (a) {
        if (npu__is_op(p, "."))
            a = attribute(p, a);
        else if (npu__is_op(p, "["))
            a = subscript(p, a);
        else if (npu__is_op(p, "("))
            a = npu__parse_call(p, a);
        else
            break;
    }
    return a;
}

npu__node *npu__parse_filters(npu__parser *p, npu__node *a) {
    bool bar = a != NULL;
    for (;; bar = true) {
        if (bar && !npu__take_op(p, "|")) return a;
        npu__node *f = npu__parse_name(p, NPU__N_FILTER);
        if (!f) return NULL;
        f->a = a;
        if (npu__take_op(p, "(") && !npu__parse_arguments(p, f)) return NULL;
        a = f;
    }
}
