/* FLASH_ATTN on vectors: how threads share the work where no KV head has more than a few rows. A template as
 * kernels_map.h; part of kernels_attn.h.
 *
 * All (run, chunk, KV head, row) in this order are one sequence; each thread takes a piece of it that is as long as the
 * others', whole rows of a run. So a thread has heads that lie side by side, as few as can be are read by two threads,
 * and a chunk is cut only where a share ends.
 */

/* What a tile reads of a key's row at most: longer pieces are not read faster, and of blocks of them two of keys and
 * two of values fit the L2 caches. */
enum { PASS_BYTES = 2048 };

/* The keys that the rows of a run see in a chunk, or, when chunks are not split, in all. At least 1: a row that sees
 * nothing has a result too. */
static uint32_t keys_in(const attn_work *w, const attn_run *run, uint32_t chunk) {
    uint32_t lo = run->lo > chunk ? run->lo : chunk, end = run->end;
    if (w->split && end > chunk + CHUNK) end = chunk + CHUNK;
    return end > lo ? end - lo : 1;
}

/* Rows |from| to before |to| of a run, all KV heads counted, in tiles of as many heads as are read together. */
static void take_few_rows(const attn_work *w, attn_tile *t, const attn_run *run, uint32_t chunk, uint32_t from,
                          uint32_t to) {
    uint32_t each = (run->last - run->m) * w->group, heads = PASS_BYTES / t->piece[1];
    if (heads > TILE / each) heads = TILE / each;
    if (heads < 1) heads = 1;
    for (uint32_t end; from < to; from = end) {
        end = (from / each + heads) * each;
        if (end > to) end = to;
        take_rows(w, t, run, (attn_rows){.heads = w->group, .from = from, .to = end}, chunk);
    }
}

/* Rows of a piece of |keys| keys that begin before |share| of all work, when the piece begins at |at|. */
static uint32_t rows_before(uint64_t share, uint64_t at, uint32_t keys, uint32_t rows) {
    if (share <= at) return 0;
    uint64_t n = (share - at + keys - 1) / keys;
    return n < rows ? (uint32_t)n : rows;
}

/* One pass over all pieces, in the order in which threads share them: their work when |t| is NULL, else this thread
 * takes what begins in from .. to - 1 of it. */
static uint64_t walk_few(const attn_work *w, attn_tile *t, uint64_t from, uint64_t to) {
    const npu_tensor *q = &w->call->src[0].t;
    uint64_t at = 0;
    for (attn_run run = {0}; run.last < q->ne[2];) {
        run = next_run(w, run.last);
        uint32_t rows = (run.last - run.m) * q->ne[1], chunk = run.lo / CHUNK * CHUNK;
        do {
            uint32_t keys = keys_in(w, &run, chunk);
            if (t) take_few_rows(w, t, &run, chunk, rows_before(from, at, keys, rows), rows_before(to, at, keys, rows));
            at += (uint64_t)keys * rows;
            chunk += CHUNK;
        } while (w->split && chunk < run.end);
    }
    return at;
}
