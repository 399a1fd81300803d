/* Parsing of expressions, by precedence: if-else, or, and, not, comparison, + -, ~, * / // %, sign, power, filters. */
#include <string.h>

#include "chat/ast.h"

enum { DEPTH_MAX = 200 };

npu__node *npu__parse_fail(npu__parser *p, const char *what) {
    if (p->status == NPU_OK) p->status = npu__syntax_error(p->err, p->at->line, p->at->column, "%s", what);
    return NULL;
}

static void *no_memory(npu__parser *p) {
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
    if (!n) return no_memory(p);
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
        if (!kids) return no_memory(p) != NULL;
        if (parent->n_kids) memcpy(kids, parent->kids, parent->n_kids * sizeof *kids);
        parent->kids = kids;
        parent->kids_capacity = capacity;
    }
    parent->kids[parent->n_kids++] = kid;
    return true;
}

static bool token_is(const npu__token *t, npu__token_kind kind, const char *s) {
    return t->kind == kind && strlen(s) == t->n && memcmp(t->s, s, t->n) == 0;
}

bool npu__is_op(const npu__parser *p, const char *op) {
    return token_is(p->at, NPU__TK_OPERATOR, op);
}
bool npu__is_name(const npu__parser *p, const char *name) {
    return token_is(p->at, NPU__TK_NAME, name);
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
    if (!s) return no_memory(p);
    if (t->n) memcpy(s, t->s, t->n);
    return s;
}

static npu__node *take_name(npu__parser *p, npu__node_kind kind) {
    if (p->at->kind != NPU__TK_NAME) return npu__parse_fail(p, "expected a name");
    npu__node *n = npu__node_new(p, kind);
    if (!n || !(n->s = npu__token_text(p, p->at))) return NULL;
    n->n = p->at++->n;
    return n;
}

/* Arguments after "(" up to ")". */
static bool arguments(npu__parser *p, npu__node *call) {
    while (!npu__is_op(p, ")")) {
        npu__node *arg;
        if (npu__is_op(p, "*") || npu__is_op(p, "**")) {
            arg = npu__node_new(p, NPU__N_SPREAD);
            if (!arg) return false;
            arg->op = p->at++->n == 2 ? 'p' : '*';
            arg->a = npu__parse_expression(p);
            if (!arg->a) return false;
        } else if (p->at->kind == NPU__TK_NAME && token_is(p->at + 1, NPU__TK_OPERATOR, "=")) {
            arg = take_name(p, NPU__N_KEYWORD);
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
    if (!v) return no_memory(p);
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
    if (!s) return no_memory(p);
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

static npu__node *primary(npu__parser *p) {
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
        return take_name(p, NPU__N_NAME);
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

static npu__node *call(npu__parser *p, npu__node *a) {
    npu__node *n = npu__node_new(p, NPU__N_CALL);
    if (!n) return NULL;
    p->at++;
    n->a = a;
    return arguments(p, n) ? n : NULL;
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
    npu__node *n = take_name(p, NPU__N_ATTR);
    if (n) n->a = a;
    return n;
}

static npu__node *postfix(npu__parser *p, npu__node *a) {
    while (a) {
        if (npu__is_op(p, "."))
            a = attribute(p, a);
        else if (npu__is_op(p, "["))
            a = subscript(p, a);
        else if (npu__is_op(p, "("))
            a = call(p, a);
        else
            break;
    }
    return a;
}

npu__node *npu__parse_filters(npu__parser *p, npu__node *a) {
    bool bar = a != NULL;
    for (;; bar = true) {
        if (bar && !npu__take_op(p, "|")) return a;
        npu__node *f = take_name(p, NPU__N_FILTER);
        if (!f) return NULL;
        f->a = a;
        if (npu__take_op(p, "(") && !arguments(p, f)) return NULL;
        a = f;
    }
}

/* "is [not] name [arguments]": one argument may stand without brackets. */
static npu__node *test(npu__parser *p, npu__node *a) {
    p->at++;
    bool negated = npu__take_name(p, "not");
    npu__node *t = take_name(p, NPU__N_TEST);
    if (!t) return NULL;
    t->a = a;
    static const char *const operators[] = {"else", "or", "and", "is", "in", "if", "not"};
    bool bare = p->at->kind == NPU__TK_NAME || p->at->kind == NPU__TK_STRING || p->at->kind == NPU__TK_INT ||
                p->at->kind == NPU__TK_FLOAT || npu__is_op(p, "[") || npu__is_op(p, "{");
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (npu__is_name(p, operators[i])) bare = false;
    if (npu__take_op(p, "(")) {
        if (!arguments(p, t)) return NULL;
    } else if (bare) {
        npu__node *arg = postfix(p, primary(p));
        if (!arg || !npu__node_add(p, t, arg)) return NULL;
    }
    if (!negated) return t;
    npu__node *n = npu__node_new(p, NPU__N_NOT);
    if (n) n->a = t;
    return n;
}

static npu__node *filters_and_tests(npu__parser *p, npu__node *a) {
    while (a) {
        if (npu__is_op(p, "|"))
            a = npu__parse_filters(p, a);
        else if (npu__is_name(p, "is"))
            a = test(p, a);
        else if (npu__is_op(p, "("))
            a = call(p, a);
        else
            break;
    }
    return a;
}

static npu__node *unary(npu__parser *p, bool with_filters);

static npu__node *binary(npu__parser *p, npu__node *a, char op, npu__node *b) {
    npu__node *n = npu__node_new(p, NPU__N_BINARY);
    if (!n || !a || !b) return NULL;
    n->a = a;
    n->b = b;
    n->op = op;
    return n;
}

static npu__node *signed_value(npu__parser *p) {
    npu__node *n = npu__node_new(p, npu__is_op(p, "-") ? NPU__N_NEGATIVE : NPU__N_POSITIVE);
    p->at++;
    if (!n || !npu__enter(p)) return NULL;
    n->a = unary(p, false);
    p->depth--;
    return n->a ? n : NULL;
}

static npu__node *unary(npu__parser *p, bool with_filters) {
    npu__node *a = npu__is_op(p, "-") || npu__is_op(p, "+") ? signed_value(p) : primary(p);
    a = postfix(p, a);
    return with_filters ? filters_and_tests(p, a) : a;
}

static npu__node *power(npu__parser *p) {
    npu__node *a = unary(p, true);
    while (a && npu__take_op(p, "**")) a = binary(p, a, 'p', unary(p, true));
    return a;
}

static npu__node *product(npu__parser *p) {
    npu__node *a = power(p);
    while (a) {
        char op = npu__is_op(p, "*")    ? '*'
                  : npu__is_op(p, "/")  ? '/'
                  : npu__is_op(p, "//") ? 'f'
                  : npu__is_op(p, "%")  ? '%'
                                        : 0;
        if (!op) break;
        p->at++;
        a = binary(p, a, op, power(p));
    }
    return a;
}

static npu__node *concatenation(npu__parser *p) {
    npu__node *a = product(p);
    while (a && npu__take_op(p, "~")) a = binary(p, a, '~', product(p));
    return a;
}

static npu__node *sum(npu__parser *p) {
    npu__node *a = concatenation(p);
    while (a && (npu__is_op(p, "+") || npu__is_op(p, "-"))) {
        char op = *p->at++->s;
        a = binary(p, a, op, concatenation(p));
    }
    return a;
}

/* The comparison operator that is next, which is taken; 0 if there is none. */
static char comparison(npu__parser *p) {
    static const struct {
        const char *s;
        char op;
    } ops[] = {{"==", '='}, {"!=", '!'}, {"<=", 'l'}, {">=", 'g'}, {"<", '<'}, {">", '>'}};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (npu__take_op(p, ops[i].s)) return ops[i].op;
    if (npu__take_name(p, "in")) return 'i';
    if (npu__is_name(p, "not") && token_is(p->at + 1, NPU__TK_NAME, "in")) {
        p->at += 2;
        return 'n';
    }
    return 0;
}

/* Each right side is wrapped in a node that carries the operator. */
static npu__node *compare(npu__parser *p) {
    npu__node *a = sum(p), *n = NULL;
    char op;
    while (a && (op = comparison(p)) != 0) {
        if (!n) {
            n = npu__node_new(p, NPU__N_COMPARE);
            if (!n) return NULL;
            n->a = a;
        }
        npu__node *right = binary(p, a, op, sum(p));
        if (!right || !npu__node_add(p, n, right)) return NULL;
    }
    return n ? n : a;
}

static npu__node *negation(npu__parser *p) {
    if (!npu__is_name(p, "not")) return compare(p);
    npu__node *n = npu__node_new(p, NPU__N_NOT);
    p->at++;
    if (!n || !npu__enter(p)) return NULL;
    n->a = negation(p);
    p->depth--;
    return n->a ? n : NULL;
}

static npu__node *joined(npu__parser *p, npu__node_kind kind) {
    bool is_and = kind == NPU__N_AND;
    npu__node *a = is_and ? negation(p) : joined(p, NPU__N_AND);
    while (a && npu__take_name(p, is_and ? "and" : "or")) {
        npu__node *n = npu__node_new(p, kind);
        if (!n) return NULL;
        n->a = a;
        n->b = is_and ? negation(p) : joined(p, NPU__N_AND);
        a = n->b ? n : NULL;
    }
    return a;
}

npu__node *npu__parse_expression(npu__parser *p) {
    if (!npu__enter(p)) return NULL;
    npu__node *a = joined(p, NPU__N_OR);
    while (a && npu__take_name(p, "if")) {
        npu__node *n = npu__node_new(p, NPU__N_IF_ELSE);
        if (!n) return NULL;
        n->a = a;
        n->b = joined(p, NPU__N_OR);
        if (!n->b) return NULL;
        if (npu__take_name(p, "else")) {
            n->c = npu__parse_expression(p);
            if (!n->c) return NULL;
        }
        a = n;
    }
    p->depth--;
    return a;
}

npu__node *npu__parse_iterable(npu__parser *p) {
    if (!npu__enter(p)) return NULL;
    npu__node *a = joined(p, NPU__N_OR), *t = NULL;
    while (a && npu__take_op(p, ",")) {
        if (!t && (!(t = npu__node_new(p, NPU__N_TUPLE)) || !npu__node_add(p, t, a))) return NULL;
        if (p->at->kind == NPU__TK_BLOCK_END) break;
        a = joined(p, NPU__N_OR);
        if (!a || !npu__node_add(p, t, a)) return NULL;
    }
    p->depth--;
    return t && a ? t : a;
}

static bool ends_tuple(const npu__parser *p) {
    return p->at->kind == NPU__TK_BLOCK_END || p->at->kind == NPU__TK_VARIABLE_END || npu__is_op(p, ")") ||
           npu__is_name(p, "in");
}

npu__node *npu__parse_tuple(npu__parser *p) {
    npu__node *a = npu__parse_expression(p);
    if (!a || !npu__is_op(p, ",")) return a;
    npu__node *t = npu__node_new(p, NPU__N_TUPLE);
    if (!t || !npu__node_add(p, t, a)) return NULL;
    while (npu__take_op(p, ",") && !ends_tuple(p)) {
        a = npu__parse_expression(p);
        if (!a || !npu__node_add(p, t, a)) return NULL;
    }
    return t;
}

npu__node *npu__parse_target(npu__parser *p) {
    npu__node *tuple = NULL;
    for (;;) {
        npu__node *a;
        if (npu__take_op(p, "(")) {
            if (!npu__enter(p)) return NULL;
            a = npu__parse_target(p);
            p->depth--;
            if (!a || !npu__expect_op(p, ")")) return NULL;
        } else {
            a = take_name(p, NPU__N_NAME);
        }
        if (!a) return NULL;
        if (!tuple && !npu__is_op(p, ",")) return a;
        if (!tuple) tuple = npu__node_new(p, NPU__N_TUPLE);
        if (!tuple || !npu__node_add(p, tuple, a)) return NULL;
        if (!npu__take_op(p, ",") || p->at->kind != NPU__TK_NAME || npu__is_name(p, "in")) return tuple;
    }
}
