/* FLASH_ATTN on vectors: how threads share the work. A template as kernels_map.h; part of kernels_attn.h.
 *
 * All (run, chunk, KV head, row) in this order are one sequence; each thread takes a piece of it that is as long as the
 * others', whole rows of a run and, where there are many, whole vectors of rows. So a thread has heads that lie side by
 * side, as few as can be are read by two threads, and a chunk is cut only where a share ends.
 */

/* What a tile of few rows reads of a key's row at most: longer pieces are not read faster, and of blocks of them two of
 * keys and two of values fit the L2 caches. */
enum { PASS_BYTES = 2048 };

/* A run's keys in a chunk, or, when chunks are not split, in all. */
typedef struct attn_piece {
    attn_run run;
    uint32_t chunk;
} attn_piece;

/* The one behind |p|; behind one of zeros the first. */
static bool next_piece(const attn_work *w, attn_piece *p) {
    if (w->split && p->chunk + CHUNK < p->run.end) {
        p->chunk += CHUNK;
        return true;
    }
    if (p->run.last == w->call->src[0].t.ne[2]) return false;
    p->run = next_run(w, p->run.last);
    p->chunk = p->run.lo / CHUNK * CHUNK;
    return true;
}

/* What a row costs: the keys that the run's rows see together. Those that a row does not see cost as much where there
 * are many, because rows end within a step, at ends of their own (measured: 64 rows that see 1 to 64 keys take as long
 * as 64 do). At least 1: a row that sees nothing has a result too. */
static uint32_t keys_in(const attn_work *w, const attn_piece *p) {
    uint32_t lo = p->run.lo > p->chunk ? p->run.lo : p->chunk, end = p->run.end;
    if (w->split && end > p->chunk + CHUNK) end = p->chunk + CHUNK;
    return end > lo ? end - lo : 1;
}

/* Rows of a run that read one KV head. */
static uint32_t rows_of_head(const attn_work *w, const attn_run *run) {
    return (run->last - run->m) * w->group;
}

/* KV heads of a tile. */
static uint32_t heads_together(const attn_work *w, const attn_tile *t, const attn_run *run) {
    if (!w->few) return 1;
    uint32_t heads = PASS_BYTES / t->piece[1], most = TILE / rows_of_head(w, run);
    if (heads > most) heads = most;
    return heads ? heads : 1;
}

/* The keys that a tile of a piece begins with, from KV head |head| on. */
static attn_lines first_keys(const attn_work *w, const attn_tile *t, const attn_piece *p, uint32_t head) {
    uint32_t heads = heads_together(w, t, &p->run), left = w->call->src[1].t.ne[1] - head;
    uint32_t block = p->run.lo / BLOCK * BLOCK, end = p->run.end;
    if (block < p->chunk) block = p->chunk;
    if (block >= end) return (attn_lines){0};
    return lines_at(t, 1, head, heads < left ? heads : left, (uint64_t)span_of(w->call, p->run.m)[0] + block,
                    end - block < BLOCK ? end - block : BLOCK);
}

/* Rows |from| to before |to| of a piece, all KV heads counted, in tiles of as many heads as are read together. |then|:
 * what the thread reads behind them. */
static void take_share(const attn_work *w, attn_tile *t, const attn_piece *p, uint32_t from, uint32_t to,
                       attn_lines then) {
    uint32_t each = rows_of_head(w, &p->run), heads = heads_together(w, t, &p->run);
    for (uint32_t end; from < to; from = end) {
        end = (from / each + heads) * each;
        if (end > from + TILE) end = from + TILE;
        if (end > to) end = to;
        t->then = end < to ? first_keys(w, t, p, end / each) : then;
        take_rows(w, t, &p->run, from, end, p->chunk);
    }
}

/* Rows of a piece of |keys| keys that begin before |share| of all work, when the piece begins at |at|. */
static uint32_t rows_before(const attn_work *w, const attn_piece *p, uint64_t share, uint64_t at, uint32_t keys) {
    if (share <= at) return 0;
    uint32_t each = rows_of_head(w, &p->run), rows = each * w->call->src[1].t.ne[1];
    uint64_t n = (share - at + keys - 1) / keys;
    if (n >= rows) return rows;
    if (w->few) return (uint32_t)n;
    uint32_t of_head = (uint32_t)n % each, whole = (of_head + VW / 2) / VW * VW;
    return (uint32_t)n - of_head + (whole < each ? whole : each);
}

/* One pass over all pieces, in the order in which threads share them: their work when |t| is NULL, else this thread
 * takes what begins in from .. to - 1 of it. */
static uint64_t walk(const attn_work *w, attn_tile *t, uint64_t from, uint64_t to) {
    uint64_t at = 0;
    attn_piece now = {0}, next;
    for (bool more = next_piece(w, &now); more; now = next) {
        uint32_t keys = keys_in(w, &now), rows = (now.run.last - now.run.m) * w->call->src[0].t.ne[1];
        uint64_t end = at + (uint64_t)keys * rows;
        next = now;
        more = next_piece(w, &next);
        if (t && from < end && at < to) {
            attn_lines then = more && end < to ? first_keys(w, t, &next, 0) : (attn_lines){0};
            take_share(w, t, &now, rows_before(w, &now, from, at, keys), rows_before(w, &now, to, at, keys), then);
        }
        at = end;
    }
    return at;
}
