/* Parsing of statements: the tags and the text between them. */
#include <stdio.h>
#include <string.h>

#include "chat/ast.h"

/* Reads statements up to a tag whose name is one of |ends| (separated by spaces), which is left to be read. */
static npu__node *body(npu__parser *p, const char *ends);

static bool end_block(npu__parser *p) {
    if (p->at->kind == NPU__TK_BLOCK_END) {
        p->at++;
        return true;
    }
    npu__parse_fail(p, "expected the end of the tag");
    return false;
}

static bool listed(const npu__token *t, const char *names) {
    while (*names) {
        size_t n = strcspn(names, " ");
        if (t->n == n && memcmp(names, t->s, n) == 0) return true;
        names += n + (names[n] == ' ');
    }
    return false;
}

/* The body of a block tag and its end tag. */
static npu__node *block_body(npu__parser *p, const char *end) {
    if (!end_block(p)) return NULL;
    npu__node *n = body(p, end);
    if (!n) return NULL;
    p->at += 2; /* the begin of the end tag, and its name */
    return end_block(p) ? n : NULL;
}

static npu__node *if_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_IF);
    if (!n || !npu__enter(p)) return NULL;
    n->a = npu__parse_tuple(p);
    if (!n->a || !end_block(p)) return NULL;
    n->body = body(p, "elif else endif");
    if (!n->body) return NULL;
    p->at++;
    if (npu__take_name(p, "elif"))
        n->otherwise = if_tag(p);
    else if (npu__take_name(p, "else"))
        n->otherwise = block_body(p, "endif");
    else {
        p->at++;
        p->depth--;
        return end_block(p) ? n : NULL;
    }
    p->depth--;
    return n->otherwise ? n : NULL;
}

static npu__node *for_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_FOR);
    if (!n) return NULL;
    n->a = npu__parse_target(p);
    if (!n->a) return NULL;
    if (!npu__take_name(p, "in")) return npu__parse_fail(p, "expected 'in'");
    /* The condition would be taken for an if-else: read the list without one. */
    n->b = npu__parse_iterable(p);
    if (!n->b) return NULL;
    if (npu__take_name(p, "if") && !(n->c = npu__parse_expression(p))) return NULL;
    n->recursive = npu__take_name(p, "recursive");
    if (!end_block(p)) return NULL;
    p->loops++;
    n->body = body(p, "else endfor");
    p->loops--;
    if (!n->body) return NULL;
    p->at++;
    if (npu__take_name(p, "else")) {
        n->otherwise = block_body(p, "endfor");
        return n->otherwise ? n : NULL;
    }
    p->at++;
    return end_block(p) ? n : NULL;
}

static npu__node *name_or_attribute(npu__parser *p) {
    if (p->at->kind != NPU__TK_NAME || p->at[1].kind != NPU__TK_OPERATOR || p->at[1].n != 1 || p->at[1].s[0] != '.')
        return npu__parse_target(p);
    npu__node *name = npu__node_new(p, NPU__N_NAME), *attr = npu__node_new(p, NPU__N_ATTR);
    if (!name || !attr || !(name->s = npu__token_text(p, p->at))) return NULL;
    name->n = p->at->n;
    p->at += 2;
    if (p->at->kind != NPU__TK_NAME) return npu__parse_fail(p, "expected a name");
    if (!(attr->s = npu__token_text(p, p->at))) return NULL;
    attr->n = p->at++->n;
    attr->a = name;
    return attr;
}

static npu__node *set_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_SET);
    if (!n || !(n->a = name_or_attribute(p))) return NULL;
    if (npu__take_op(p, "=")) {
        n->b = npu__parse_tuple(p);
        return n->b && end_block(p) ? n : NULL;
    }
    n->kind = NPU__N_SET_BLOCK;
    if (npu__take_op(p, "|") && !(n->b = npu__parse_filters(p, NULL))) return NULL;
    n->body = block_body(p, "endset");
    return n->body ? n : NULL;
}

/* "(a, b=1)" as NAME kids with their defaults in a. */
static bool parameters(npu__parser *p, npu__node *macro) {
    if (!npu__expect_op(p, "(")) return false;
    while (!npu__is_op(p, ")")) {
        npu__node *name = npu__node_new(p, NPU__N_NAME);
        if (!name) return false;
        if (p->at->kind != NPU__TK_NAME) return npu__parse_fail(p, "expected a name") != NULL;
        if (!(name->s = npu__token_text(p, p->at))) return false;
        name->n = p->at++->n;
        if (npu__take_op(p, "=") && !(name->a = npu__parse_expression(p))) return false;
        if (!name->a && macro->n_kids && macro->kids[macro->n_kids - 1]->a)
            return npu__parse_fail(p, "a parameter without a default follows one that has one") != NULL;
        if (!npu__node_add(p, macro, name)) return false;
        if (!npu__take_op(p, ",")) break;
    }
    return npu__expect_op(p, ")");
}

/* Loops outside a macro are not loops inside it. */
static bool separate_body(npu__parser *p, npu__node *macro, const char *end) {
    unsigned loops = p->loops, uses = p->uses;
    p->loops = p->uses = 0;
    macro->body = block_body(p, end);
    macro->uses = (uint8_t)p->uses;
    p->loops = loops;
    p->uses |= uses;
    return macro->body != NULL;
}

static npu__node *macro_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_MACRO);
    if (!n) return NULL;
    if (p->at->kind != NPU__TK_NAME) return npu__parse_fail(p, "expected a name");
    if (!(n->s = npu__token_text(p, p->at))) return NULL;
    n->n = p->at++->n;
    if (!parameters(p, n)) return NULL;
    return separate_body(p, n, "endmacro") ? n : NULL;
}

static npu__node *call_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_CALL_BLOCK);
    if (!n) return NULL;
    n->s = "caller";
    n->n = 6;
    if (npu__is_op(p, "(") && !parameters(p, n)) return NULL;
    n->a = npu__parse_expression(p);
    if (!n->a) return NULL;
    if (n->a->kind != NPU__N_CALL) return npu__parse_fail(p, "expected a call");
    return separate_body(p, n, "endcall") ? n : NULL;
}

static npu__node *filter_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_FILTER_BLOCK);
    if (!n || !(n->a = npu__parse_filters(p, NULL))) return NULL;
    n->body = block_body(p, "endfilter");
    return n->body ? n : NULL;
}

static npu__node *with_tag(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_WITH);
    while (n && p->at->kind != NPU__TK_BLOCK_END) {
        npu__node *set = npu__node_new(p, NPU__N_SET);
        if (!set || !(set->a = npu__parse_target(p)) || !npu__expect_op(p, "=")) return NULL;
        if (!(set->b = npu__parse_expression(p)) || !npu__node_add(p, n, set)) return NULL;
        if (!npu__take_op(p, ",")) break;
    }
    if (!n) return NULL;
    n->body = block_body(p, "endwith");
    return n->body ? n : NULL;
}

static npu__node *loop_control(npu__parser *p, npu__node_kind kind) {
    npu__node *n = npu__node_new(p, kind);
    if (n && !p->loops) return npu__parse_fail(p, "break and continue belong into a loop");
    return n && end_block(p) ? n : NULL;
}

static npu__node *unknown_tag(npu__parser *p) {
    char what[80];
    int n = p->at->kind == NPU__TK_NAME && p->at->n < 40 ? (int)p->at->n : 0;
    snprintf(what, sizeof what, "an unknown tag '%.*s'", n, n ? p->at->s : "");
    return npu__parse_fail(p, what);
}

static npu__node *statement(npu__parser *p) {
    if (npu__take_name(p, "if")) return if_tag(p);
    if (npu__take_name(p, "for")) return for_tag(p);
    if (npu__take_name(p, "set")) return set_tag(p);
    if (npu__take_name(p, "macro")) return macro_tag(p);
    if (npu__take_name(p, "call")) return call_tag(p);
    if (npu__take_name(p, "filter")) return filter_tag(p);
    if (npu__take_name(p, "with")) return with_tag(p);
    if (npu__take_name(p, "generation")) return block_body(p, "endgeneration");
    if (npu__take_name(p, "break")) return loop_control(p, NPU__N_BREAK);
    if (npu__take_name(p, "continue")) return loop_control(p, NPU__N_CONTINUE);
    return unknown_tag(p);
}

static npu__node *text(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_DATA);
    if (!n) return NULL;
    n->s = p->at->s;
    n->n = p->at->n;
    p->at++;
    return n;
}

static npu__node *print(npu__parser *p) {
    npu__node *n = npu__node_new(p, NPU__N_PRINT);
    p->at++;
    if (!n || !(n->a = npu__parse_tuple(p))) return NULL;
    if (p->at->kind != NPU__TK_VARIABLE_END) return npu__parse_fail(p, "expected '}}'");
    p->at++;
    return n;
}

static npu__node *body(npu__parser *p, const char *ends) {
    npu__node *n = npu__node_new(p, NPU__N_BODY);
    if (!n || !npu__enter(p)) return NULL;
    for (;;) {
        npu__node *kid;
        if (p->at->kind == NPU__TK_END) {
            if (*ends) return npu__parse_fail(p, "the template ends inside a block");
            break;
        }
        if (p->at->kind == NPU__TK_BLOCK_BEGIN) {
            if (p->at[1].kind == NPU__TK_NAME && listed(p->at + 1, ends)) break;
            p->at++;
            kid = statement(p);
        } else {
            kid = p->at->kind == NPU__TK_DATA ? text(p) : print(p);
        }
        if (!kid || !npu__node_add(p, n, kid)) return NULL;
    }
    p->depth--;
    return n;
}

npu__node *npu__parse_template(npu__parser *p) {
    return body(p, "");
}
