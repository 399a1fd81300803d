/* The parsed template: one kind of node for all, in the arena of the template. What the members mean stands at each
 * kind. */
#ifndef NPU_CHAT_AST_H
#define NPU_CHAT_AST_H

#include "chat/lexer.h"

typedef enum npu__node_kind {
    /* Expressions */
    NPU__N_CONST, /* value */
    NPU__N_NAME,  /* s */
    NPU__N_LIST,  /* kids; also N_TUPLE */
    NPU__N_TUPLE,
    NPU__N_DICT,     /* kids: key, value, key, value … */
    NPU__N_ATTR,     /* a.s */
    NPU__N_ITEM,     /* a[b] */
    NPU__N_SLICE,    /* kids: start, stop, step, each perhaps NULL; only as b of an item */
    NPU__N_CALL,     /* a(kids) */
    NPU__N_KEYWORD,  /* s=a, among the arguments of a call */
    NPU__N_SPREAD,   /* *a or **a (op) among the arguments of a call */
    NPU__N_FILTER,   /* a|s(kids); a is NULL in a filter block */
    NPU__N_TEST,     /* a is s(kids) */
    NPU__N_NOT,      /* not a */
    NPU__N_NEGATIVE, /* -a */
    NPU__N_POSITIVE, /* +a */
    NPU__N_BINARY,   /* a op b: + - * / f(//) % p(**) ~ */
    NPU__N_COMPARE,  /* a (op b) …: kids are the b's, their op: = ! < > l(<=) g(>=) i(in) n(not in) */
    NPU__N_AND,      /* a and b */
    NPU__N_OR,
    NPU__N_IF_ELSE, /* a if b else c (c perhaps NULL) */
    /* Statements */
    NPU__N_BODY,         /* kids, one after the other */
    NPU__N_DATA,         /* s */
    NPU__N_PRINT,        /* a */
    NPU__N_FOR,          /* for a in b if c: body, otherwise (each perhaps NULL) */
    NPU__N_IF,           /* if a: body, else otherwise */
    NPU__N_SET,          /* set a = b; a is a name, a tuple or an attribute of a namespace */
    NPU__N_SET_BLOCK,    /* set a: body; filters wrapped in b (a filter chain) or NULL */
    NPU__N_MACRO,        /* macro s(kids: names, each with its default in a): body */
    NPU__N_CALL_BLOCK,   /* call a: body; kids as in a macro */
    NPU__N_FILTER_BLOCK, /* filter a: body */
    NPU__N_WITH,         /* kids: SET nodes; body */
    NPU__N_BREAK,
    NPU__N_CONTINUE,
} npu__node_kind;

/* What a macro's body reads besides its parameters. */
enum { NPU__USES_VARARGS = 1, NPU__USES_KWARGS = 2, NPU__USES_CALLER = 4 };

typedef struct npu__node npu__node;

struct npu__node {
    npu__node_kind kind;
    char op;
    uint8_t uses;   /* of a macro or call block */
    bool recursive; /* of a for loop */
    uint32_t line, column;
    const char *s; /* zero-terminated */
    size_t n;
    npu__value *value;
    npu__node *a, *b, *c, *body, *otherwise;
    npu__node **kids;
    size_t n_kids, kids_capacity;
};

typedef struct npu__parser {
    npu__arena *arena;
    const npu__token *at;
    npu_error *err;
    npu_status status; /* of the failure, when a function gave NULL */
    unsigned depth;
    unsigned loops; /* for loops around */
    unsigned uses;  /* names that the macro around reads: NPU__USES_… */
} npu__parser;

/* NULL: p->status and the error say why. */
npu__node *npu__parse_expression(npu__parser *p); /* a whole one, with "if else" but no bare tuple */
npu__node *npu__parse_tuple(npu__parser *p);      /* one expression, or several with commas between */
npu__node *npu__parse_iterable(npu__parser *p);   /* like a tuple, but an "if" is left to be read */
npu__node *npu__parse_target(npu__parser *p);     /* a name or several, to assign to */
npu__node *npu__parse_filters(npu__parser *p,
                              npu__node *a); /* "|f|g" after a; |a| may be NULL: the first bar is left out */
npu__node *npu__parse_template(npu__parser *p);

/* Shared by the parser's files. */
void *npu__parse_no_memory(npu__parser *p);
bool npu__token_is(const npu__token *t, npu__token_kind kind, const char *s);
npu__node *npu__parse_name(npu__parser *p, npu__node_kind kind); /* a name, in a node of that kind */
npu__node *npu__parse_primary(npu__parser *p);
npu__node *npu__parse_postfix(npu__parser *p, npu__node *a); /* ".b", "[b]" and "(b)" after a */
npu__node *npu__parse_call(npu__parser *p, npu__node *a);
bool npu__parse_arguments(npu__parser *p, npu__node *call); /* after "(", up to ")" */
npu__node *npu__node_new(npu__parser *p, npu__node_kind kind);
bool npu__node_add(npu__parser *p, npu__node *parent, npu__node *kid);
npu__node *npu__parse_fail(npu__parser *p, const char *what);
bool npu__is_op(const npu__parser *p, const char *op);
bool npu__is_name(const npu__parser *p, const char *name);
bool npu__take_op(npu__parser *p, const char *op); /* takes it if it is next */
bool npu__take_name(npu__parser *p, const char *name);
bool npu__expect_op(npu__parser *p, const char *op);              /* false after a failure */
bool npu__enter(npu__parser *p);                                  /* one level deeper; false: too deep, failed */
const char *npu__token_text(npu__parser *p, const npu__token *t); /* a zero-terminated copy */

#endif
