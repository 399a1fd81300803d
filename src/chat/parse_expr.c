/* Parsing of expressions, by precedence: if-else, or, and, not, comparison, + -, ~, * / // %, sign, power, filters and
 * tests.
 */
#include "chat/ast.h"

/* "is [not] name [arguments]": one argument may stand without brackets. */
static npu__node *test(npu__parser *p, npu__node *a) {
    p->at++;
    bool negated = npu__take_name(p, "not");
    npu__node *t = npu__parse_name(p, NPU__N_TEST);
    if (!t) return NULL;
    t->a = a;
    static const char *const operators[] = {"else", "or", "and", "is", "in", "if", "not"};
    bool bare = p->at->kind == NPU__TK_NAME || p->at->kind == NPU__TK_STRING || p->at->kind == NPU__TK_INT ||
                p->at->kind == NPU__TK_FLOAT || npu__is_op(p, "[") || npu__is_op(p, "{");
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (npu__is_name(p, operators[i])) bare = false;
    if (npu__take_op(p, "(")) {
        if (!npu__parse_arguments(p, t)) return NULL;
    } else if (npu__is_name(p, "is")) {
        return npu__parse_fail(p, "tests can't be chained with 'is'");
    } else if (bare) {
        npu__node *arg = npu__parse_postfix(p, npu__parse_primary(p));
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
            a = npu__parse_call(p, a);
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
    npu__node *a = npu__is_op(p, "-") || npu__is_op(p, "+") ? signed_value(p) : npu__parse_primary(p);
    a = npu__parse_postfix(p, a);
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
    if (npu__is_name(p, "not") && npu__token_is(p->at + 1, NPU__TK_NAME, "in")) {
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

static npu__node *one_target(npu__parser *p) {
    static const char *const constants[] = {"true", "True", "false", "False", "none", "None"};
    if (npu__take_op(p, "(")) {
        if (!npu__enter(p)) return NULL;
        npu__node *a = npu__parse_target(p);
        p->depth--;
        return a && npu__expect_op(p, ")") ? a : NULL;
    }
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
        if (npu__is_name(p, constants[i])) return npu__parse_fail(p, "a constant can't be assigned to");
    return npu__parse_name(p, NPU__N_NAME);
}

npu__node *npu__parse_target(npu__parser *p) {
    npu__node *tuple = NULL;
    for (;;) {
        npu__node *a = one_target(p);
        if (!a) return NULL;
        if (!tuple && !npu__is_op(p, ",")) return a;
        if (!tuple) tuple = npu__node_new(p, NPU__N_TUPLE);
        if (!tuple || !npu__node_add(p, tuple, a)) return NULL;
        bool more = npu__take_op(p, ",") && (p->at->kind == NPU__TK_NAME || npu__is_op(p, "("));
        if (!more || npu__is_name(p, "in")) return tuple;
    }
}
