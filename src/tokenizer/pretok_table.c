/* The pre-tokenizers by name: one row for each value of tokenizer.ggml.pre that is known. The facts (which name splits
 * how, and which defaults go with it) are those of the model authors' tokenizer files as the mainstream engine reads
 * them; rows of one family share their passes. A new name is a row here; a new family is a rule, or a pass in
 * pretok_pass.c.
 */
#include <string.h>

#include "tokenizer/pretok.h"

enum { L = NPU__UC_LETTER, N = NPU__UC_NUMBER, M = NPU__UC_MARK, P = NPU__UC_PUNCTUATION, S = NPU__UC_SYMBOL };
enum { SP = NPU__UC_SPACE };

#define RANGES(list) \
    { list, sizeof list / sizeof list[0] }

/* Letters with case and their like, as deepseek-llm lists them. */
static const npu__range cased_letters[] = {
    {0x41, 0x5A},       {0x61, 0x7A},       {0xB5, 0xB5},       {0xC0, 0xD6},       {0xD8, 0xF6},
    {0xF8, 0x1BA},      {0x1BC, 0x1BF},     {0x1C4, 0x293},     {0x295, 0x2AF},     {0x370, 0x373},
    {0x376, 0x377},     {0x37B, 0x37D},     {0x37F, 0x37F},     {0x386, 0x386},     {0x388, 0x38A},
    {0x38C, 0x38C},     {0x38E, 0x3A1},     {0x3A3, 0x3F5},     {0x3F7, 0x481},     {0x48A, 0x52F},
    {0x531, 0x556},     {0x10A0, 0x10C5},   {0x13A0, 0x13F5},   {0x13F8, 0x13FD},   {0x1C90, 0x1CBA},
    {0x1CBD, 0x1CBF},   {0x1D00, 0x1D2B},   {0x1D6B, 0x1D77},   {0x1D79, 0x1D9A},   {0x1E00, 0x1F15},
    {0x1F18, 0x1F1D},   {0x1F20, 0x1F45},   {0x1F48, 0x1F4D},   {0x1F50, 0x1F57},   {0x1F59, 0x1F59},
    {0x1F5B, 0x1F5B},   {0x1F5D, 0x1F5D},   {0x1F5F, 0x1F7D},   {0x1F80, 0x1FB4},   {0x1FB6, 0x1FBC},
    {0x1FBE, 0x1FBE},   {0x1FC2, 0x1FC4},   {0x1FC6, 0x1FCC},   {0x1FD0, 0x1FD3},   {0x1FD6, 0x1FDB},
    {0x1FE0, 0x1FEC},   {0x1FF2, 0x1FF4},   {0x1FF6, 0x1FFC},   {0x2102, 0x2102},   {0x2107, 0x2107},
    {0x210A, 0x2113},   {0x2115, 0x2115},   {0x2119, 0x211D},   {0x2124, 0x2124},   {0x2126, 0x2126},
    {0x2128, 0x2128},   {0x212A, 0x212D},   {0x212F, 0x2134},   {0x2139, 0x2139},   {0x213C, 0x213F},
    {0x2145, 0x2149},   {0x214E, 0x214E},   {0x2183, 0x2184},   {0x2C00, 0x2C7B},   {0x2C7E, 0x2CE4},
    {0x2CEB, 0x2CEE},   {0x2CF2, 0x2CF3},   {0xA640, 0xA66D},   {0xA680, 0xA69B},   {0xA722, 0xA76F},
    {0xA771, 0xA787},   {0xA78B, 0xA78E},   {0xAB70, 0xABBF},   {0xFB00, 0xFB06},   {0xFB13, 0xFB17},
    {0xFF21, 0xFF3A},   {0xFF41, 0xFF5A},   {0x10400, 0x1044F}, {0x104B0, 0x104D3}, {0x104D8, 0x104FB},
    {0x10C80, 0x10CB2}, {0x10CC0, 0x10CF2}, {0x118A0, 0x118DF}, {0x1E900, 0x1E943},
};
static const npu__range wide_punctuation[] = {{0x21, 0x2F},     {0x3A, 0x7E},     {0x2018, 0x201F},
                                              {0x3000, 0x3002}, {0xFF01, 0xFF0F}, {0xFF1A, 0xFF5E}};
static const npu__range asian[] = {{0x800, 0x9FA5}, {0xAC00, 0xD7FF}};
static const npu__range han_kana[] = {{0x3040, 0x30FF}, {0x4E00, 0x9FA5}};
static const npu__range hangul[] = {{0x3131, 0x318E}, {0xAC00, 0xD7A3}};
static const npu__range youtu_marks[] = {{0x2014, 0x2014}, {0x2018, 0x2019}, {0x201C, 0x201D},
                                         {0x2026, 0x2026}, {0x3001, 0x303F}, {0xFE30, 0xFE4F},
                                         {0xFF01, 0xFF01}, {0xFF0C, 0xFF0C}, {0xFF1A, 0xFF1B}};
static const npu__range bopomofo[] = {{0x3105, 0x312F}};
static const npu__range afmoe_scripts[] = {{0xE40, 0xEFF},   {0x1000, 0x109F}, {0x1100, 0x11FF},
                                           {0x1780, 0x17FF}, {0x2F00, 0x2FDF}, {0x3040, 0x30FF},
                                           {0x3400, 0x4DBF}, {0x4E00, 0xFAFF}, {0xFF65, 0xFF9F}};
static const npu__range bloom_stops[] = {{'!', '!'},     {'(', ')'},       {',', ','},       {'.', '.'},
                                         {'?', '?'},     {'|', '|'},       {0x60C, 0x60C},   {0x6D4, 0x6D4},
                                         {0x964, 0x964}, {0x2026, 0x2026}, {0x3001, 0x3002}, {0xFF0C, 0xFF0C}};

static const npu__range_rule letter_words[] = {{RANGES(cased_letters), 1}, {{0}}};
static const npu__range_rule punctuation_words[] = {{RANGES(wide_punctuation), 1}, {{0}}};
static const npu__range_rule asian_runs[] = {{RANGES(asian)}, {{0}}};
static const npu__range_rule han_kana_runs[] = {{RANGES(han_kana)}, {{0}}};
static const npu__range_rule youtu_runs[] = {
    {RANGES(hangul)}, {RANGES(youtu_marks)}, {RANGES(bopomofo)}, {RANGES(han_kana)}, {{0}}};
static const npu__range_rule afmoe_runs[] = {{RANGES(afmoe_scripts)}, {{0}}};
static const npu__ranges bloom_set = RANGES(bloom_stops);

static const npu__run_rule number_one = {.classes = N, .most = 1};
static const npu__run_rule number_three = {.classes = N, .most = 3};
static const npu__run_rule number_any = {.classes = N, .most = SIZE_MAX};
static const npu__run_rule line_end_one = {.extra = "\r\n", .most = 1};
static const npu__run_rule letters_spaced = {.classes = L, .space_before = 1, .most = SIZE_MAX};
static const npu__run_rule punct_spaced = {.classes = P, .space_before = 1, .most = SIZE_MAX};
static const npu__run_rule punct_falcon = {.classes = P, .extra = "$+<=>^~|`", .most = SIZE_MAX};
static const npu__run_rule punct_default = {.classes = P, .extra = "$+<=>^~|", .most = SIZE_MAX};
static const npu__run_rule punct_one = {.classes = P, .extra = "$+<=>^`|~", .most = 1};

/* Defaults of most rules: contractions in any case, prefixed letters, line ends after punctuation, runs of line ends.
 */
#define MODERN                                                                                           \
    .contraction = NPU__CONTRACTION_ANY_CASE, .letters = NPU__LETTERS_PREFIXED, .not_punct = SP | L | N, \
    .tail = "\r\n", .line_end = NPU__LINE_RUN
#define CASED .suffix = NPU__CONTRACTION_ANY_CASE, .not_punct = SP | L | N, .tail = "\r\n/", .line_end = NPU__LINE_RUN

static const npu__word_rule gpt2 = {.contraction = NPU__CONTRACTION_EXACT,
                                    .letters = NPU__LETTERS_SPACED,
                                    .digits = 255,
                                    .spaced_digits = 1,
                                    .not_punct = SP | L | N,
                                    .tail = ""};
static const npu__word_rule llama3 = {MODERN, .digits = 3};
static const npu__word_rule jais2 = {MODERN, .digits = 3, .halving = 1};
static const npu__word_rule qwen2 = {MODERN, .digits = 1};
static const npu__word_rule minicpm5 = {MODERN, .digits = 255};
static const npu__word_rule qwen35 = {.contraction = NPU__CONTRACTION_ANY_CASE,
                                      .letters = NPU__LETTERS_MARKS,
                                      .digits = 1,
                                      .not_punct = SP | L | M | N,
                                      .tail = "\r\n",
                                      .line_end = NPU__LINE_RUN};
static const npu__word_rule seed_coder = {.contraction = NPU__CONTRACTION_ANY_CASE,
                                          .letters = NPU__LETTERS_PREFIXED,
                                          .digits = 1,
                                          .not_punct = SP | L | N,
                                          .tail = "",
                                          .line_end = NPU__LINE_RUN};
static const npu__word_rule ufakzeka = {
    .letters = NPU__LETTERS_PREFIXED, .digits = 1, .not_punct = SP | L | N, .tail = "\r\n", .line_end = NPU__LINE_RUN};
static const npu__word_rule exaone_moe = {.contraction = NPU__CONTRACTION_ANY_CASE,
                                          .letters = NPU__LETTERS_PHRASE,
                                          .digits = 1,
                                          .not_punct = SP | L | N,
                                          .tail = "\r\n/",
                                          .tail_one = 1,
                                          .line_end = NPU__LINE_RUN};
static const npu__word_rule tekken = {
    .letters = NPU__LETTERS_CASED, .digits = 1, .not_punct = SP | L | N, .tail = "\r\n/", .line_end = NPU__LINE_RUN};
static const npu__word_rule gpt4o = {CASED, .letters = NPU__LETTERS_CASED, .digits = 3};
static const npu__word_rule granite_multi = {CASED, .letters = NPU__LETTERS_CASED_MARKS, .digits = 3};
static const npu__word_rule tiny_aya = {CASED, .letters = NPU__LETTERS_MARKS, .digits = 3};
static const npu__word_rule youtu = {CASED, .letters = NPU__LETTERS_MARKS, .digits = 1};
static const npu__word_rule kimi = {.letters = NPU__LETTERS_NO_HAN,
                                    .suffix = NPU__CONTRACTION_ANY_CASE,
                                    .digits = 3,
                                    .not_punct = SP | L | N,
                                    .tail = "\r\n",
                                    .line_end = NPU__LINE_RUN};
static const npu__word_rule deepseek3 = {
    .letters = NPU__LETTERS_PUNCT, .only_punct = P | S, .tail = "\r\n", .line_end = NPU__LINE_RUN};
static const npu__word_rule spark = {
    .letters = NPU__LETTERS_PUNCT, .only_punct = P | S, .tail = "", .line_end = NPU__LINE_ONE};

#undef MODERN
#undef CASED

#define WORD(r) \
    { .match = npu__match_word, .rule = &r }
#define RUN(r) \
    { .match = npu__match_run, .rule = &r }
#define RANGE(r) \
    { .match = npu__match_range_run, .rule = r }

#define GPT2 \
    { WORD(gpt2) }
#define DIGITS \
    { RUN(number_one), WORD(gpt2) }
#define LLAMA3 \
    { WORD(llama3) }
#define QWEN2 \
    { WORD(qwen2) }
#define DEEPSEEK3 \
    { RUN(number_three), RANGE(han_kana_runs), WORD(deepseek3) }
#define BLOOM                                                          \
    {                                                                  \
        { .match = npu__match_optional_space_run, .rule = &bloom_set } \
    }
#define NEWLINES                     \
    {                                \
        { .cut = npu__cut_newlines } \
    }
#define THREE \
    { .match = npu__match_three_digits }
#define DEFAULT \
    { RUN(punct_default), WORD(gpt2), RUN(number_any), THREE }
#define DEEPSEEK                                                                                        \
    {                                                                                                   \
        RUN(line_end_one), RANGE(letter_words), RANGE(punctuation_words), {.cut = npu__cut_tail_space}, \
            RANGE(asian_runs), RUN(number_any)                                                          \
    }
#define CODER \
    { RUN(line_end_one), RUN(letters_spaced), RUN(punct_spaced), RANGE(asian_runs), RUN(number_one) }
#define CHAMELEON \
    { {.match = npu__match_sentinel}, {.match = npu__match_indent}, RUN(number_one), RUN(punct_one), WORD(gpt2) }
#define AYA \
    { {.cut = npu__cut_digit_groups}, WORD(tiny_aya) }
#define BYTES3     NPU__PRE_WHOLE_WORDS | NPU__PRE_ADD_BOS
#define NO_CLEAN   NPU__PRE_NO_CLEAN
#define GEMMA4_PRE NPU__PRE_RAW | NPU__PRE_ESCAPE | NPU__PRE_FORCE_BOS | NPU__PRE_NEWLINE_RUNS

static const npu__pretok rows[] = {
    {"default", 0, DEFAULT},
    {"llama3", BYTES3, LLAMA3},
    {"llama-v3", BYTES3, LLAMA3},
    {"llama-bpe", BYTES3, LLAMA3},
    {"falcon3", BYTES3, LLAMA3},
    {"falcon-h1", BYTES3, LLAMA3},
    {"pixtral", BYTES3, LLAMA3},
    {"midm-2.0", BYTES3, LLAMA3},
    {"lfm2", BYTES3, LLAMA3},
    {"jina-v5-nano", BYTES3, LLAMA3},
    {"dbrx", 0, LLAMA3},
    {"smaug-bpe", 0, LLAMA3},
    {"chatglm-bpe", NPU__PRE_NO_BOS, LLAMA3},
    {"glm4", NPU__PRE_NO_BOS | NPU__PRE_WHOLE_WORDS, LLAMA3},
    {"glm5", NPU__PRE_NO_BOS | NPU__PRE_WHOLE_WORDS, LLAMA3},
    {"jais-2", 0, {WORD(jais2)}},
    {"minicpm5", NPU__PRE_WHOLE_WORDS, {RUN(number_three), WORD(minicpm5)}},
    {"deepseek-llm", NO_CLEAN, DEEPSEEK},
    {"deepseek-coder", NO_CLEAN, CODER},
    {"deepseek-v3", NO_CLEAN, DEEPSEEK3},
    {"hunyuan-dense", NO_CLEAN, DEEPSEEK3},
    {"joyai-llm", NO_CLEAN, DEEPSEEK3},
    {"hy_v4", NO_CLEAN, DEEPSEEK3},
    {"spark2_5", NO_CLEAN, {RUN(number_three), RANGE(han_kana_runs), WORD(spark), RUN(number_one)}},
    {"youtu", NO_CLEAN | NPU__PRE_WHOLE_WORDS, {RANGE(youtu_runs), WORD(youtu)}},
    {"falcon", 0, {RUN(punct_falcon), WORD(gpt2), THREE}},
    {"starcoder", 0, DIGITS},
    {"refact", 0, DIGITS},
    {"command-r", NO_CLEAN, DIGITS},
    {"smollm", NO_CLEAN, DIGITS},
    {"codeshell", 0, DIGITS},
    {"exaone", 0, DIGITS},
    {"minerva-7b", 0, DIGITS},
    {"mellum2", 0, DIGITS},
    {"gpt-2", 0, GPT2},
    {"phi-2", 0, GPT2},
    {"jina-es", 0, GPT2},
    {"jina-de", 0, GPT2},
    {"gigachat", 0, GPT2},
    {"jina-v2-es", 0, GPT2},
    {"jina-v2-de", 0, GPT2},
    {"a.x-4.0", 0, GPT2},
    {"mellum", 0, GPT2},
    {"modern-bert", 0, GPT2},
    {"jina-v1-en", NPU__PRE_ADD_SEP, GPT2},
    {"jina-v2-code", NPU__PRE_ADD_SEP, GPT2},
    {"roberta-bpe", NPU__PRE_ADD_SEP, GPT2},
    {"mpt", 0, GPT2},
    {"olmo", 0, GPT2},
    {"jais", 0, GPT2},
    {"exaone4", 0, GPT2},
    {"trillion", NO_CLEAN, GPT2},
    {"granite-docling", NO_CLEAN, GPT2},
    {"qwen2", NO_CLEAN, QWEN2},
    {"deepseek-r1-qwen", NO_CLEAN, QWEN2},
    {"kormo", NO_CLEAN, QWEN2},
    {"f2llmv2", NO_CLEAN, QWEN2},
    {"megrez", 0, QWEN2},
    {"stablelm2", 0, QWEN2},
    {"hunyuan", NO_CLEAN, QWEN2},
    {"solar-open", NO_CLEAN, QWEN2},
    {"grok-2", NO_CLEAN, QWEN2},
    {"bailingmoe", NO_CLEAN, QWEN2},
    {"bailingmoe2", NO_CLEAN, QWEN2},
    {"llada-moe", NO_CLEAN, QWEN2},
    {"qwen35", NO_CLEAN, {WORD(qwen35)}},
    {"seed-coder", NO_CLEAN, {WORD(seed_coder)}},
    {"ufakzeka", NO_CLEAN, {WORD(ufakzeka)}},
    {"laguna", NO_CLEAN, {{.cut = npu__cut_newlines}, WORD(qwen2)}},
    {"exaone-moe", 0, {WORD(exaone_moe)}},
    {"poro-chat", NO_CLEAN, BLOOM},
    {"bloom", 0, BLOOM},
    {"gpt3-finnish", 0, BLOOM},
    {"viking", NO_CLEAN, {{.match = npu__match_optional_space_run, .rule = &bloom_set}, RUN(number_one)}},
    {"tekken", NO_CLEAN | NPU__PRE_WHOLE_WORDS | NPU__PRE_ADD_BOS, {WORD(tekken)}},
    {"gpt-4o", NO_CLEAN, {WORD(gpt4o)}},
    {"llama4", NO_CLEAN, {WORD(gpt4o)}},
    {"kanana2", NO_CLEAN, {WORD(gpt4o)}},
    {"talkie", NO_CLEAN, {WORD(gpt4o)}},
    {"minimax-m2", NO_CLEAN, {WORD(gpt4o)}},
    {"granite-embed-multi-97m", NO_CLEAN | NPU__PRE_WHOLE_WORDS, {WORD(granite_multi)}},
    {"tiny_aya", NO_CLEAN, AYA},
    {"cohere2moe", NO_CLEAN, AYA},
    {"kimi-k2", NO_CLEAN, {WORD(kimi)}},
    {"superbpe", NO_CLEAN, {RUN(number_any), {.cut = npu__cut_thousands}}},
    {"afmoe", NO_CLEAN, {{.cut = npu__cut_digit_groups}, RANGE(afmoe_runs), WORD(deepseek3)}},
    {"chameleon", NO_CLEAN | NPU__PRE_ADD_BOS, CHAMELEON},
    {"gemma4", GEMMA4_PRE, NEWLINES},
    {"granite-embed-multi-311m", GEMMA4_PRE, NEWLINES},
    {"sarvam-moe", NO_CLEAN | NPU__PRE_RAW | NPU__PRE_ESCAPE, NEWLINES},
};

const npu__pretok *npu__pretok_find(const char *name, size_t n) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].name) == n && memcmp(rows[i].name, name, n) == 0) return &rows[i];
    return NULL;
}
