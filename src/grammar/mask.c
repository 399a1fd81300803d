#include "grammar/mask.h"

#include <stdlib.h>
#include <string.h>

/* The tree in depth-first order: what follows a node up to |end| begins with its bytes. */
typedef struct node {
    uint32_t end, depth; /* depth: bytes up to and with this one */
    int32_t token;       /* that ends here, or NPU_TOKEN_NONE */
    uint8_t byte;
} node;

struct npu__masks {
    const npu_tokenizer *tok;
    npu__machine *machine;
    uint32_t n_words, state;
    node *nodes;
    uint32_t n_nodes, deepest;
    uint32_t *path;   /* states along the branch at work, by depth */
    uint64_t **masks; /* by state; NULL: not made yet */
    uint32_t n_masks; /* length of the list */
    uint64_t *ends;   /* the end tokens */
    size_t kept;      /* bytes in masks */
};

enum { KEPT_MAX = 64 << 20 };

static npu_status no_memory(npu_error *err) {
    return npu_fail(err, NPU_NO_MEMORY, "grammar.no_memory", "no memory for the grammar's masks");
}

/* A token's bytes; none for those that are no text. */
static const char *bytes_of(const npu_tokenizer *tok, int32_t id, size_t *n) {
    const char *s = npu_tokenizer_piece(tok, id, false, n);
    if (npu_tokenizer_is_end(tok, id)) *n = 0;
    return s;
}

typedef struct entry {
    const char *s;
    size_t n;
    int32_t id;
} entry;

static int by_bytes(const void *a, const void *b) {
    const entry *x = a, *y = b;
    size_t n = x->n < y->n ? x->n : y->n;
    int order = memcmp(x->s, y->s, n);
    if (order) return order;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static size_t common(const entry *a, const entry *b) {
    size_t n = 0;
    while (n < a->n && n < b->n && a->s[n] == b->s[n]) n++;
    return n;
}

/* Writes the tree of sorted entries. |open|: the nodes along the branch, by depth. */
static void grow(npu__masks *m, const entry *list, uint32_t n, uint32_t *open) {
    uint32_t depth = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t same = i ? (uint32_t)common(&list[i - 1], &list[i]) : 0;
        if (same == list[i].n) same--; /* the same bytes again: a node of its own */
        while (depth > same) m->nodes[open[depth--]].end = m->n_nodes;
        for (uint32_t k = same; k < list[i].n; k++) {
            open[++depth] = m->n_nodes;
            m->nodes[m->n_nodes++] = (node){0, depth, NPU_TOKEN_NONE, (uint8_t)list[i].s[k]};
        }
        m->nodes[m->n_nodes - 1].token = list[i].id;
    }
    while (depth) m->nodes[open[depth--]].end = m->n_nodes;
}

static npu_status build_tree(npu__masks *m, uint32_t n_tokens, npu_error *err) {
    entry *list = malloc((n_tokens + 1) * sizeof *list);
    uint32_t n = 0, *open;
    size_t bytes = 0;
    if (!list) return no_memory(err);
    for (uint32_t id = 0; id < n_tokens; id++) {
        entry e = {.id = (int32_t)id};
        e.s = bytes_of(m->tok, e.id, &e.n);
        if (npu_tokenizer_is_end(m->tok, e.id)) m->ends[id / 64] |= (uint64_t)1 << id % 64;
        if (!e.n) continue;
        bytes += e.n;
        if (e.n > m->deepest) m->deepest = (uint32_t)e.n;
        list[n++] = e;
    }
    open = malloc((m->deepest + 1) * sizeof *open);
    m->path = malloc((m->deepest + 1) * sizeof *m->path);
    m->nodes = bytes < UINT32_MAX ? malloc((bytes + 1) * sizeof *m->nodes) : NULL;
    npu_status status = open && m->path && m->nodes ? NPU_OK : no_memory(err);
    if (status == NPU_OK) {
        qsort(list, n, sizeof *list, by_bytes);
        grow(m, list, n, open);
        node *fit = realloc(m->nodes, (m->n_nodes + 1) * sizeof *fit);
        if (fit) m->nodes = fit;
    }
    free(open);
    free(list);
    return status;
}

npu_status npu__masks_create(const npu_tokenizer *tok, uint32_t n_tokens, const npu__program *program, npu__masks **out,
                             npu_error *err) {
    npu__masks *m = *out = calloc(1, sizeof *m);
    if (!m) return no_memory(err);
    m->tok = tok;
    m->n_words = (n_tokens + 63) / 64;
    m->ends = calloc(m->n_words + 1, sizeof *m->ends);
    npu_status status = m->ends ? build_tree(m, n_tokens, err) : no_memory(err);
    if (status == NPU_OK) status = npu__machine_create(program, m->deepest, &m->machine, err);
    if (status == NPU_OK) status = npu__masks_start(m, err);
    if (status == NPU_OK) return NPU_OK;
    npu__masks_free(m);
    *out = NULL;
    return status;
}

static void drop_masks(npu__masks *m) {
    for (uint32_t i = 0; i < m->n_masks; i++) free(m->masks[i]);
    memset(m->masks, 0, m->n_masks * sizeof(uint64_t *));
    m->kept = 0;
}

void npu__masks_free(npu__masks *m) {
    if (!m) return;
    if (m->n_masks) drop_masks(m);
    npu__machine_free(m->machine);
    free(m->masks);
    free(m->nodes);
    free(m->path);
    free(m->ends);
    free(m);
}

npu_status npu__masks_start(npu__masks *m, npu_error *err) {
    return npu__machine_start(m->machine, &m->state, err);
}

/* The tokens that may follow a state. */
static npu_status walk(npu__masks *m, uint32_t state, uint64_t *mask, npu_error *err) {
    m->path[0] = state;
    for (uint32_t i = 0; i < m->n_nodes;) {
        const node *n = &m->nodes[i];
        uint32_t next;
        NPU_TRY(npu__machine_step(m->machine, m->path[n->depth - 1], n->byte, &next, err));
        if (next == NPU__STATE_DEAD) {
            i = n->end;
            continue;
        }
        m->path[n->depth] = next;
        if (n->token != NPU_TOKEN_NONE) mask[n->token / 64] |= (uint64_t)1 << n->token % 64;
        i++;
    }
    if (npu__machine_may_end(m->machine, state))
        for (uint32_t i = 0; i < m->n_words; i++) mask[i] |= m->ends[i];
    return NPU_OK;
}

npu_status npu__masks_allowed(npu__masks *m, const uint64_t **out, npu_error *err) {
    uint32_t near;
    if (npu__machine_full(m->machine) || m->kept > KEPT_MAX) {
        if (m->n_masks) drop_masks(m);
        NPU_TRY(npu__machine_forget(m->machine, &m->state, err));
    }
    NPU_TRY(npu__machine_near(m->machine, m->state, &near, err));
    if (near >= m->n_masks) {
        uint32_t n = npu__machine_count(m->machine) * 2;
        uint64_t **more = realloc(m->masks, n * sizeof *more);
        if (!more) return no_memory(err);
        memset(more + m->n_masks, 0, (n - m->n_masks) * sizeof *more);
        m->masks = more;
        m->n_masks = n;
    }
    if (!m->masks[near]) {
        uint64_t *mask = calloc(m->n_words + 1, sizeof *mask);
        if (!mask) return no_memory(err);
        npu_status status = walk(m, near, mask, err);
        if (status != NPU_OK) {
            free(mask);
            return status;
        }
        m->masks[near] = mask;
        m->kept += m->n_words * sizeof *mask;
    }
    *out = m->masks[near];
    return NPU_OK;
}

npu_status npu__masks_accept(npu__masks *m, int32_t id, bool *taken, npu_error *err) {
    size_t n;
    uint32_t state = m->state;
    const char *s = bytes_of(m->tok, id, &n);
    *taken = n > 0;
    if (!n && npu_tokenizer_is_end(m->tok, id)) *taken = npu__machine_may_end(m->machine, state);
    for (size_t i = 0; i < n && *taken; i++) {
        NPU_TRY(npu__machine_step(m->machine, state, (uint8_t)s[i], &state, err));
        *taken = state != NPU__STATE_DEAD;
    }
    if (*taken) m->state = state;
    return NPU_OK;
}

bool npu__masks_may_end(const npu__masks *m) {
    return npu__machine_may_end(m->machine, m->state);
}

bool npu__masks_may_go_on(const npu__masks *m) {
    return npu__machine_may_go_on(m->machine, m->state);
}
