#include "sample/steps.h"

#include <float.h>

#include "wire/math64.h"

/* exp of a difference to the best logit; what is too small to matter (or minus infinity) is 0. */
static double weight(double below_best) {
    return below_best < -700 ? 0 : npu_exp64(below_best);
}

static float clamped(float x) {
    return x > FLT_MAX ? FLT_MAX : x < -FLT_MAX ? -FLT_MAX : x;
}

static int better(const npu__candidate *a, const npu__candidate *b) {
    return a->logit != b->logit ? a->logit > b->logit : a->id < b->id;
}

static void swap(npu__candidate *a, npu__candidate *b) {
    npu__candidate t = *a;
    *a = *b;
    *b = t;
}

/* Heap sort: in place, no recursion, never quadratic. (qsort of the C library may allocate.) */
static void heap_sort(npu__candidate *list, size_t n, int (*before)(const npu__candidate *, const npu__candidate *)) {
    for (size_t unsorted = n, start = n / 2; unsorted > 1;) {
        if (start)
            start--;
        else
            swap(&list[0], &list[--unsorted]);
        for (size_t at = start, child; (child = at * 2 + 1) < unsorted; at = child) {
            if (child + 1 < unsorted && before(&list[child], &list[child + 1])) child++;
            if (!before(&list[at], &list[child])) break;
            swap(&list[at], &list[child]);
        }
    }
}

/* Partitions around the middle one of three; returns how many came before the pivot. */
static size_t partition(npu__candidate *list, size_t n) {
    size_t middle = n / 2;
    if (better(&list[middle], &list[0])) swap(&list[middle], &list[0]);
    if (better(&list[n - 1], &list[0])) swap(&list[n - 1], &list[0]);
    if (better(&list[n - 1], &list[middle])) swap(&list[n - 1], &list[middle]);
    swap(&list[middle], &list[n - 1]);
    size_t store = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (better(&list[i], &list[n - 1])) swap(&list[i], &list[store++]);
    swap(&list[store], &list[n - 1]);
    return store;
}

/* Brings the |k| best to the front, in no order. Gives up after too many poor pivots and sorts. */
static void select_best(npu__candidate *list, size_t n, size_t k) {
    for (int tries = 64; n > 1 && k && k < n; tries--) {
        if (!tries) {
            heap_sort(list, n, better);
            return;
        }
        size_t before = partition(list, n);
        if (before == k) return;
        if (before > k) {
            n = before;
        } else {
            list += before + 1;
            n -= before + 1;
            k -= before + 1;
        }
    }
}

void npu__sort_best(npu_sampler *s, size_t n) {
    if (n > s->n) n = s->n;
    if (n <= s->sorted) return;
    select_best(s->list + s->sorted, s->n - s->sorted, n - s->sorted);
    heap_sort(s->list + s->sorted, n - s->sorted, better);
    s->sorted = n;
}

double npu__weigh(npu_sampler *s) {
    double sum = 0;
    npu__sort_best(s, 1);
    float best = s->list[0].logit;
    for (size_t i = 0; i < s->n; i++) {
        s->list[i].p = weight((double)s->list[i].logit - (double)best);
        sum += s->list[i].p;
    }
    return sum;
}

size_t npu__draw(npu_sampler *s, double sum) {
    double target = npu_rng_unit(&s->rng) * sum, at = 0;
    size_t last = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->list[i].p <= 0) continue;
        last = i;
        at += s->list[i].p;
        if (target < at) return i;
    }
    return last; /* rounding: the parts may add up to a little less than their sum */
}

static void keep(npu_sampler *s, size_t n) {
    s->n = n;
    if (s->sorted > n) s->sorted = n;
}

void npu__step_penalties(npu_sampler *s) {
    float repeat = s->p.repeat_penalty;
    for (size_t i = 0; i < s->n; i++) {
        npu__candidate *c = &s->list[i];
        uint32_t count = s->counts[c->id];
        if (!count) continue;
        if (repeat != 0) c->logit = c->logit > 0 ? c->logit / repeat : c->logit * repeat;
        c->logit = clamped(clamped(c->logit) - ((float)count * s->p.frequency_penalty + s->p.presence_penalty));
    }
    s->sorted = 0;
}

void npu__step_top_k(npu_sampler *s) {
    if (s->p.top_k >= s->n) return;
    npu__sort_best(s, s->p.top_k);
    keep(s, s->p.top_k);
}

/* Sorts only as far as the probability asked for reaches: with large vocabularies most of the list is tail. */
void npu__step_top_p(npu_sampler *s) {
    double sum = npu__weigh(s), at = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (i >= s->sorted) npu__sort_best(s, i < 64 ? 128 : i * 4);
        at += s->list[i].p;
        if (at >= (double)s->p.top_p * sum) {
            keep(s, i + 1);
            return;
        }
    }
}

void npu__step_min_p(npu_sampler *s) {
    npu__weigh(s);
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].p >= (double)s->p.min_p) s->list[n++] = s->list[i]; /* keeps the order; the best one has p = 1 */
    keep(s, n);
}

static int more_typical(const npu__candidate *a, const npu__candidate *b) {
    return a->p != b->p ? a->p < b->p : better(a, b);
}

void npu__step_typical(npu_sampler *s) {
    double sum = npu__weigh(s), entropy = 0, log_sum = npu_log64(sum);
    double best = s->list[0].logit;
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].p > 0) entropy += s->list[i].p / sum * (log_sum - ((double)s->list[i].logit - best));
    for (size_t i = 0; i < s->n; i++) {
        double off = log_sum - ((double)s->list[i].logit - best) - entropy;
        s->list[i].p = off < 0 ? -off : off;
    }
    heap_sort(s->list, s->n, more_typical);
    s->sorted = 0;
    double at = 0;
    for (size_t i = 0; i < s->n; i++) {
        at += weight((double)s->list[i].logit - best) / sum;
        if (at >= (double)s->p.typical_p) {
            keep(s, i + 1);
            return;
        }
    }
}

/* The best becomes 0, so that a small temperature can only send others to minus infinity. */
void npu__step_temp(npu_sampler *s) {
    npu__sort_best(s, 1);
    double best = s->list[0].logit;
    for (size_t i = 0; i < s->n; i++)
        s->list[i].logit = (float)(((double)s->list[i].logit - best) / (double)s->p.temperature);
    s->sorted = 1; /* rounding can make unequal logits equal, whose order is by id */
}

/* Cuts what is more surprising than mu, and after the draw moves mu so that the surprise comes nearer to tau. */
void npu__step_mirostat(npu_sampler *s) {
    const double per_bit = 0.69314718055994530942; /* ln 2 */
    double sum = npu__weigh(s), log_sum = npu_log64(sum);
    npu__candidate best = s->list[0];
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        double surprise = (log_sum - ((double)s->list[i].logit - (double)best.logit)) / per_bit;
        if (surprise <= s->mu) s->list[n++] = s->list[i];
    }
    if (!n) s->list[n++] = best;
    s->sorted = 0;
    keep(s, n);
    sum = npu__weigh(s);
    size_t chosen = npu__draw(s, sum);
    double surprise = -npu_log64(s->list[chosen].p / sum) / per_bit;
    s->mu -= (double)s->p.mirostat_eta * (surprise - (double)s->p.mirostat_tau);
    s->list[0] = s->list[chosen];
    keep(s, 1);
}
