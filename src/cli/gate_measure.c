/* The measuring half of npu gate: greedy texts, logits of every row as a hash and some of them whole, and a profile of
 * a fixed piece of work, the fastest of several runs. */
#include <sha256.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "cli/gate.h"
#include "cli/gate_times.h"
#include "cli/kld.h"
#include "cli/profile.h"
#include "tokenizer/detokenizer.h"

static const char *const text_prompts[] = {
    "The capital of France is",
    "Once upon a time there was a small robot who",
    "Water boils at a lower temperature on a mountain because",
};

static const char *const logits_prompts[] = {
    "The sky is blue because sunlight is scattered by the air.",
    "def fibonacci(n):\n    if n < 2:\n        return n\n",
    "In 1969, 12 + 30 = 42 and 7 * 6 = 42; 1,000,000 is a million.",
    "\"Who is there?\" she asked. Nobody answered.",
    "Zürich, São Paulo and Kraków are cities; 東京 is one, too.",
    "{\"name\": \"npu\", \"list\": [1, 2, 3], \"null\": null}",
    "a a a a a a a a a a a a a a a a",
    "Dear Sir or Madam,\n\nThank you for your letter of 3 May.\n",
};

typedef struct measure {
    const cli_options *o;
    npu_context *context, *against;
    npu_model *model;
    uint32_t n_vocab;
    gate_recording *out;
    cli_profile *shown; /* --profile, else NULL */
    int32_t *ids;       /* of the prompt at hand */
    size_t n_ids;
    float *reference; /* rows of |against| for the prompt at hand, the kept ones */
    uint64_t first_kept;
    double kld, kld_max;
    uint64_t compared;
    SHA256_CTX hash;
} measure;

/* At most half of the context, so that there is room for an answer. */
static npu_status tokenize(measure *m, const char *text, npu_error *err) {
    free(m->ids);
    m->ids = NULL;
    NPU_TRY(npu_model_tokenize(m->model, text, strlen(text), NPU_TOKENIZE_BOS, NULL, 0, &m->n_ids, err));
    m->ids = malloc((m->n_ids + 1) * sizeof *m->ids);
    if (!m->ids) return npu_fail(err, NPU_NO_MEMORY, "gate.memory", "no memory for %zu tokens", m->n_ids);
    NPU_TRY(npu_model_tokenize(m->model, text, strlen(text), NPU_TOKENIZE_BOS, m->ids, m->n_ids, &m->n_ids, err));
    uint32_t most = (npu_context_ctx(m->context) + 1) / 2;
    if (m->n_ids > most) m->n_ids = most;
    if (m->n_ids) return NPU_OK;
    return npu_fail(err, NPU_REFUSED, "gate.prompt", "the prompt \"%s\" has no tokens", text);
}

static npu_status decode(npu_context *c, const int32_t *ids, size_t n, bool all, npu_logits_fn *sink, void *user,
                         npu_error *err) {
    npu_row *rows = calloc(n, sizeof *rows);
    if (!rows) return npu_fail(err, NPU_NO_MEMORY, "gate.memory", "no memory for %zu rows", n);
    for (size_t i = 0; i < n; i++) rows[i] = (npu_row){.token = ids[i], .logits = all || i + 1 == n};
    npu_status status = npu_decode_each(c, rows, (uint32_t)n, sink, user, err);
    free(rows);
    return status;
}

static npu_status pick(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)row, (void)err;
    *(int32_t *)user = (int32_t)cli_best(logits, n_vocab);
    return NPU_OK;
}

static npu_status answer(measure *m, int64_t most, json_t *ids, npu_text *text, npu_error *err) {
    npu_detokenizer *d;
    int32_t next = 0;
    const char *piece;
    size_t len;
    NPU_TRY(npu_context_reset(m->context, err));
    NPU_TRY(decode(m->context, m->ids, m->n_ids, false, pick, &next, err));
    NPU_TRY(npu_detokenizer_create(m->model->tokenizer, (npu_decode_flags){.continues = true}, &d, err));
    npu_status status = NPU_OK;
    for (int64_t i = 0; i < most && status == NPU_OK; i++) {
        json_array_append_new(ids, json_integer(next));
        if (npu_model_token_is_end(m->model, next)) break;
        status = npu_detokenizer_push(d, next, &piece, &len, err);
        if (status == NPU_OK) status = npu_text_add(text, piece, len, err);
        if (i + 1 == most || npu_seq_length(m->context, 0) == npu_context_ctx(m->context)) break;
        if (status == NPU_OK) status = decode(m->context, &next, 1, false, pick, &next, err);
    }
    npu_detokenizer_finish(d, &piece, &len);
    if (status == NPU_OK) status = npu_text_add(text, piece, len, err);
    npu_detokenizer_free(d);
    return status;
}

static json_t *id_list(const measure *m) {
    json_t *list = json_array();
    for (size_t i = 0; i < m->n_ids; i++) json_array_append_new(list, json_integer(m->ids[i]));
    return list;
}

static npu_status one_text(measure *m, const char *prompt, json_t *list, npu_error *err) {
    npu_text text = {0};
    json_t *ids = json_array();
    NPU_TRY(tokenize(m, prompt, err));
    npu_status status = answer(m, m->o->given[CLI_OPT_max_tokens] ? m->o->max_tokens : GATE_TOKENS, ids, &text, err);
    json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:s%}", "prompt", prompt, "prompt_ids", id_list(m), "ids",
                                          ids, "text", text.data ? text.data : "", text.n));
    npu_text_free(&text);
    return status;
}

static npu_status keep_reference(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    (void)err;
    measure *m = user;
    if (row >= m->first_kept) memcpy(m->reference + (row - m->first_kept) * n_vocab, logits, n_vocab * sizeof *logits);
    return NPU_OK;
}

static npu_status hash_row(void *user, uint32_t row, const float *logits, uint32_t n_vocab, npu_error *err) {
    measure *m = user;
    gate_recording *r = m->out;
    SHA256Update(&m->hash, (const uint8_t *)logits, n_vocab * sizeof *logits);
    if (row < m->first_kept) return NPU_OK;
    float *more = realloc(r->kept, (size_t)(r->kept_rows + 1) * n_vocab * sizeof *more);
    if (!more) return npu_fail(err, NPU_NO_MEMORY, "gate.memory", "no memory for a row of logits");
    r->kept = more;
    memcpy(r->kept + r->kept_rows++ * n_vocab, logits, n_vocab * sizeof *logits);
    if (!m->against) return NPU_OK;
    const float *reference = m->reference + (row - m->first_kept) * n_vocab;
    double kld = cli_kld(reference, cli_log_sum(reference, n_vocab), logits, cli_log_sum(logits, n_vocab), n_vocab);
    m->kld += kld;
    m->compared++;
    if (kld > m->kld_max) m->kld_max = kld;
    return NPU_OK;
}

static npu_status one_logits(measure *m, const char *prompt, json_t *list, npu_error *err) {
    char hash[SHA256_DIGEST_STRING_LENGTH];
    NPU_TRY(tokenize(m, prompt, err));
    m->first_kept = m->n_ids > GATE_KEPT_ROWS ? m->n_ids - GATE_KEPT_ROWS : 0;
    if (m->against) {
        NPU_TRY(npu_context_reset(m->against, err));
        NPU_TRY(decode(m->against, m->ids, m->n_ids, true, keep_reference, m, err));
    }
    SHA256Init(&m->hash);
    NPU_TRY(npu_context_reset(m->context, err));
    NPU_TRY(decode(m->context, m->ids, m->n_ids, true, hash_row, m, err));
    SHA256End(&m->hash, hash);
    json_array_append_new(list, json_pack("{s:s, s:o, s:s, s:I}", "prompt", prompt, "ids", id_list(m), "sha256", hash,
                                          "kept", (json_int_t)(m->n_ids - m->first_kept)));
    return NPU_OK;
}

/* Every prompt of one kind: those of a recording, or the built-in ones. |what| they are for is shown on a terminal. */
static npu_status each_prompt(measure *m, const char *what, const json_t *recorded, const char *const *own,
                              size_t n_own,
                              npu_status (*run)(measure *m, const char *prompt, json_t *list, npu_error *err),
                              json_t *list, npu_error *err) {
    size_t n = recorded ? json_array_size(recorded) : n_own;
    for (size_t i = 0; i < n; i++) {
        const char *prompt =
            recorded ? json_string_value(json_object_get(json_array_get(recorded, i), "prompt")) : own[i];
        cli_progress(m->o, what, i, n);
        NPU_TRY(run(m, prompt, list, err));
    }
    cli_progress(m->o, what, n, n);
    return NPU_OK;
}

/* A prompt, then a few tokens. */
static npu_status work(measure *m, npu_error *err) {
    int32_t next = 0;
    NPU_TRY(npu_context_reset(m->context, err));
    NPU_TRY(decode(m->context, m->ids, m->n_ids, false, pick, &next, err));
    for (int i = 0; i < GATE_TOKENS && npu_seq_length(m->context, 0) < npu_context_ctx(m->context); i++)
        NPU_TRY(decode(m->context, &next, 1, false, pick, &next, err));
    return NPU_OK;
}

/* Every run does the same, so that its calls are those of any run; its times are the fastest of all. */
static npu_status profile(measure *m, json_t **out, npu_error *err) {
    int runs = m->o->given[CLI_OPT_runs] ? (int)m->o->runs : GATE_RUNS;
    gate_times times;
    cli_profile *p = calloc(1, sizeof *p);
    if (!p) return npu_fail(err, NPU_NO_MEMORY, "gate.memory", "no memory for a profile");
    cli_gate_times_begin(&times);
    npu_status status = tokenize(m, logits_prompts[0], err);
    for (int run = -1; run < runs && status == NPU_OK; run++) {
        cli_progress(m->o, "profiled run", (size_t)run + 1, (size_t)runs + 1);
        *p = (cli_profile){0};
        cli_gate_times_calibrate(&times);
        cli_profile_start(p, m->context);
        status = work(m, err);
        npu_context_profile(m->context, NULL, NULL);
        if (run >= 0) cli_gate_times_add(&times, p);
    }
    if (m->shown) *m->shown = *p;
    cli_progress(m->o, "profiled run", 1, 1);
    *out = cli_gate_times_json(&times, p, runs);
    free(p);
    return status;
}

static npu_status run_all(measure *m, const gate_recording *was, npu_error *err) {
    json_t *texts = json_array(), *logits = json_array(), *table = NULL, *doc = m->out->doc;
    json_object_set_new(doc, "texts", texts);
    json_object_set_new(doc, "logits", logits);
    NPU_TRY(each_prompt(m, "text", was ? json_object_get(was->doc, "texts") : NULL, text_prompts,
                        sizeof text_prompts / sizeof *text_prompts, one_text, texts, err));
    NPU_TRY(each_prompt(m, "logits", was ? json_object_get(was->doc, "logits") : NULL, logits_prompts,
                        sizeof logits_prompts / sizeof *logits_prompts, one_logits, logits, err));
    npu_status status = profile(m, &table, err);
    if (table) json_object_set_new(doc, "profile", table);
    if (m->compared)
        json_object_set_new(doc, "against",
                            json_pack("{s:s, s:f, s:f}", "what", m->o->against, "kld_mean",
                                      m->kld / (double)m->compared, "kld_max", m->kld_max));
    return status;
}

int cli_gate_measure(const cli_options *o, const cli_session *session, const gate_recording *was, gate_recording *out) {
    npu_model_info info;
    npu_error err = {0};
    npu_model_get_info(session->model, &info);
    *out = (gate_recording){.n_vocab = info.n_vocab};
    measure m = {.o = o,
                 .context = session->context,
                 .model = session->model,
                 .n_vocab = info.n_vocab,
                 .out = out,
                 .shown = session->profile};
    out->doc = json_pack("{s:i, s:I, s:s}", "npu_gate", GATE_VERSION, "n_vocab", (json_int_t)info.n_vocab, "plan",
                         session->context->plan->hash);
    int bad = 0;
    if (o->against) {
        bad = cli_open_reference(o, session, &m.against);
        m.reference = malloc((size_t)GATE_KEPT_ROWS * info.n_vocab * sizeof *m.reference);
        if (!bad && !m.reference) bad = cli_error("no memory for rows of logits");
    }
    if (!bad && run_all(&m, was, &err) != NPU_OK) bad = cli_fail(&err);
    npu_context_close(m.against);
    free(m.reference);
    free(m.ids);
    return bad;
}

void cli_gate_free(gate_recording *r) {
    json_decref(r->doc);
    free(r->kept);
    npu_plan_free(r->plan);
    *r = (gate_recording){0};
}
