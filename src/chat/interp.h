/* The interpreter's state and the parts that its files share. Functions that give a value give NULL after a failure,
 * which is then recorded in the state.
 */
#ifndef NPU_CHAT_INTERP_H
#define NPU_CHAT_INTERP_H

#include "chat/ast.h"
#include "chat/template.h"

typedef struct npu__scope npu__scope;
struct npu__scope {
    npu__scope *parent;
    const char **names;
    npu__value **values;
    size_t n, capacity;
};

typedef struct npu__out {
    char *data, *marks; /* marks: as in a string value, a byte for each of data */
    size_t n, capacity, limit;
} npu__out;

typedef struct npu__interp {
    npu__arena arena;
    npu__scope *scope;
    npu__out out; /* captured text (macros, blocks) grows at its end and is cut off again */
    uint64_t steps, max_steps;
    unsigned depth;
    const npu__node *at; /* where we are, for messages */
    struct tm now;
    npu_status status;
    npu_error *err;
} npu__interp;

/* Arguments of a call. */
typedef struct npu__args {
    npu__list list;
    npu__dict named;
} npu__args;

void *npu__fail(npu__interp *in, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *npu__fail_limit(npu__interp *in, const char *what);
void *npu__fail_memory(npu__interp *in);
bool npu__step(npu__interp *in, uint64_t n); /* false: the limit is reached, failed */

/* Passes a new value on, or fails when there was no memory for it. */
static inline npu__value *npu__made(npu__interp *in, npu__value *v) {
    return v ? v : npu__fail_memory(in);
}

bool npu__write(npu__interp *in, const char *s, size_t n); /* the template's own text */
bool npu__write_str(npu__interp *in, const char *s);
bool npu__write_float(npu__interp *in, double x, bool json);
bool npu__enter_value(npu__interp *in); /* one level deeper into a value; the caller takes it from in->depth again */
/* |n| bytes of the string |v| from |at| on, and other text that stands for what is at |at|: both keep its marks. */
bool npu__write_part(npu__interp *in, const npu__value *v, size_t at, size_t n);
bool npu__write_as(npu__interp *in, const npu__value *v, size_t at, const char *s, size_t n);
npu__value *npu__part(npu__interp *in, const npu__value *v, size_t at, size_t n); /* a part of a string, as a string */
bool npu__write_text(npu__interp *in, const npu__value *v);                       /* as str() gives it */
bool npu__write_repr(npu__interp *in, const npu__value *v);
npu__value *npu__captured(npu__interp *in,
                          size_t from); /* cuts the output back to |from| and gives what stood after it */
npu__value *npu__to_text(npu__interp *in, npu__value *v); /* str(v) */

typedef struct npu__json_style {
    bool ascii, sorted, lines; /* lines: each item on its own, indented */
    npu__value indent;         /* of one level, written indent_times */
    int64_t indent_times;
    npu__value item_separator, key_separator;
} npu__json_style;
bool npu__write_json(npu__interp *in, const npu__value *v, const npu__json_style *style, size_t depth);

npu__value *npu__eval(npu__interp *in, const npu__node *node);
npu__value *npu__call(npu__interp *in, npu__value *f, npu__args *args);
npu__value *npu__eval_call(npu__interp *in, const npu__node *node);
bool npu__eval_arguments(npu__interp *in, const npu__node *call, npu__args *args);
npu__value *npu__turn(npu__interp *in, npu__turns *turns); /* the next of a cycler or joiner */
npu__value *npu__attribute(npu__interp *in, npu__value *v, const char *name, size_t n);
npu__value *npu__item(npu__interp *in, npu__value *v, npu__value *key);
npu__value *npu__slice(npu__interp *in, npu__value *v, npu__value *const parts[3]);
npu__value *npu__binary(npu__interp *in, char op, npu__value *a, npu__value *b);
/* a op b for the operators of a comparison: 1, 0, -1 after a failure. */
int npu__related(npu__interp *in, char op, npu__value *a, npu__value *b);
/* Rows of filters, and of methods, ended by one without a name. */
typedef npu__value *npu__filter_fn(npu__interp *in, npu__value *v, npu__args *args);
typedef struct npu__filter_row {
    const char *name;
    npu__filter_fn *fn;
} npu__filter_row;
extern const npu__filter_row npu__list_filters[], npu__sort_filters[], npu__text_filters[], npu__number_filters[];

bool npu__is_filter(const char *name);
bool npu__is_test(const char *name);
bool npu__flag(npu__interp *in, const npu__args *args, size_t i, const char *name, bool missing);
/* A stable sort: keys and values move together. False after a failure. */
bool npu__sort_pairs(npu__interp *in, npu__value **keys, npu__value **values, size_t n, bool reverse);
npu__value *npu__filter(npu__interp *in, const char *name, npu__value *v, npu__args *args);
int npu__test(npu__interp *in, const char *name, npu__value *v, npu__args *args); /* 1, 0, -1 after a failure */
bool npu__has_method(const npu__value *v, const char *name);
npu__value *npu__dict_list(npu__interp *in, const npu__dict *dict, npu__list_kind kind); /* keys, values or items */
npu__value *npu__splitlines(npu__interp *in, npu__value *s, bool keep_ends);
/* Text as a number, as int() and float() read it; false: it is none (or, after a failure, too large). */
bool npu__parse_int(npu__interp *in, const npu__value *s, int64_t base, int64_t *out);
bool npu__parse_float(npu__interp *in, const npu__value *s, double *out);
npu__value *npu__method(npu__interp *in, npu__value *self, const char *name, npu__args *args);
npu__value *npu__function(npu__interp *in, const char *name, npu__args *args);
bool npu__is_function(const char *name);
bool npu__format(npu__interp *in, const npu__value *format, npu__args *args);   /* str.format, written out */
bool npu__percent(npu__interp *in, const npu__value *format, npu__value *args); /* format % args, written out */

/* What a loop runs over, as a list; NULL after a failure. */
npu__list *npu__iterate(npu__interp *in, npu__value *v);

npu__value *npu__lookup(npu__interp *in, const char *name);
bool npu__assign(npu__interp *in, const char *name, npu__value *v);
npu__scope *npu__push_scope(npu__interp *in, npu__scope *parent);

typedef enum npu__flow { NPU__FLOW_FAIL, NPU__FLOW_NEXT, NPU__FLOW_BREAK, NPU__FLOW_CONTINUE } npu__flow;
npu__flow npu__exec(npu__interp *in, const npu__node *node);
/* A for tag over |over|, in the present scope; |depth| recursive loops of the same tag are around it. */
npu__flow npu__run_for(npu__interp *in, const npu__node *node, npu__value *over, size_t depth);

/* Argument |index|, or the one named |name|; NULL when it was not given. */
npu__value *npu__arg(npu__interp *in, const npu__args *args, size_t index, const char *name);

/* Python's idea of white space. */
bool npu__is_space(uint32_t cp);

/* v without the characters of |chars| (white space when NULL) at its left and right end, as asked. */
npu__value *npu__strip(npu__interp *in, npu__value *v, npu__value *chars, bool left, bool right);
npu__value *npu__replace(npu__interp *in, npu__value *v, npu__value *from, npu__value *to, int64_t count);
/* l(ower), u(pper), s(wapped), c(apitalize), t(itle): after what has no case, w(ords): after space, "-" and opening
 * brackets. */
npu__value *npu__change_case(npu__interp *in, npu__value *v, char how);
bool npu__is_cased(uint32_t cp);
npu__value *npu__escaped(npu__interp *in, npu__value *v); /* for HTML; markup stays as it is */

#endif
