/* STGM: sets worked by hand, the counterexamples of notebook 06, chains, numbers near the overflow
 * limits, failures. */
#include "analysis/partitioned/stgm.h"

#include "host_sets.h"
#include "minunit.h"

static int test(gs_context_t *ctx, host_set_t *s, bool busy, int paper,
                gs_analysis_common_answer_t *answer)
{
    gs_analysis_partitioned_stgm_t stgm;
    gs_host_tasks_t hosts = hosts_of(s);
    *answer = answer_of(s);
    int status = gs_analysis_partitioned_stgm_init(&stgm, ctx, s->n);
    if (status == GS_OK) {
        status = gs_analysis_partitioned_stgm(&stgm, ctx, &hosts, s->core, s->sm, NULL, MOST_SMS, 4,
                                              busy, paper, false, answer);
    }
    gs_analysis_partitioned_stgm_free(&stgm, ctx);
    return status;
}

/* Whether the response times are these; 0: none. */
static bool gives(int64_t n, const row_t *rows, bool busy, int paper, const int64_t *expected)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, n, rows);
    gs_analysis_common_answer_t answer;
    return test(&ctx, &s, busy, paper, &answer) == GS_OK && ctx.bytes_used == 0 &&
           answers(&s, &answer, expected);
}

#define GIVES(rows, busy, paper, ...)                                                              \
    MU_CHECK(gives((int64_t)(sizeof(rows) / sizeof *(rows)), rows, busy, paper,                    \
                   (const int64_t[]){__VA_ARGS__}))

static void test_vector(void)
{
    GIVES(VECTOR_A, false, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 29, 43, 17, 75);
    GIVES(VECTOR_A, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 39, 41, 17, 87);
    GIVES(VECTOR_A, true, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 29, 53, 23, 147);
    GIVES(VECTOR_A, true, GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER, 29, 53, 39, 0);
    GIVES(VECTOR_A, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 35, 41, 45, 58);
    static const struct {
        bool busy;
        int64_t blocking[4][3];
    } printed[2] = {{false, {{8, 8, 0}, {6, 16, 4}, {0, 0, 0}, {12, 16, 0}}},
                    {true, {{8, 8, 0}, {6, 16, 14}, {0, 0, 0}, {12, 16, 0}}}};
    for (int mode = 0; mode < 2; mode++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        gs_analysis_common_answer_t answer;
        MU_CHECK(test(&ctx, &s, printed[mode].busy, GS_ANALYSIS_PARTITIONED_STGM_PAPER, &answer) ==
                 GS_OK);
        for (int64_t i = 0; i < 4; i++) {
            const int64_t *terms = s.terms + i * GS_ANALYSIS_COMMON_TERMS,
                          *b = printed[mode].blocking[i];
            MU_CHECK(terms[GS_ANALYSIS_COMMON_COPY] == b[0] &&
                     terms[GS_ANALYSIS_COMMON_KERNEL] == b[1] &&
                     terms[GS_ANALYSIS_COMMON_LOWER] == b[2] &&
                     terms[GS_ANALYSIS_COMMON_REQUEST] == 0);
        }
    }
}

/* The bounds of the counterexamples: printed, then corrected. */
static void test_counterexamples(void)
{
    static const row_t a1[] = {{100, 0, 0, {5}, {{0}}, 0, {0}},
                               {100, 0, 1, {1, 1}, {{2, 1, 2}}, 0, {1}}};
    GIVES(a1, false, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 7, 12);
    GIVES(a1, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 9, 12);

    static const row_t a2[] = {{100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {0, 1}},   /* i */
                               {100, 0, 1, {0, 0}, {{1, 5, 1}}, 1, {1, 1}},   /* u */
                               {100, 0, 1, {0, 0}, {{1, 10, 1}}, 2, {1, 0}}}; /* v */
    GIVES(a2, false, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 13, 23, 21);
    GIVES(a2, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 23, 21, 23);
    static const row_t star[] = {{100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {1, 1}},
                                 {100, 0, 1, {0, 0}, {{1, 5, 1}}, 1, {1, 0}},
                                 {100, 0, 1, {0, 0}, {{1, 10, 1}}, 2, {0, 1}}};
    GIVES(star, false, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 23, 13, 18);
    GIVES(star, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 18, 23, 23);

    static const row_t a3[] = {{100, 0, 1, {1, 0}, {{1, 2, 1}}, 0, {1}},   /* h */
                               {100, 0, 0, {4}, {{0}}, 0, {0}},            /* i */
                               {100, 0, 1, {0, 0}, {{1, 30, 1}}, 1, {1}}}; /* r */
    GIVES(a3, true, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 37, 9, 36);
    GIVES(a3, true, GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER, 37, 41, 36);
    GIVES(a3, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 37, 41, 36);

    static const row_t a4[] = {{100, 0, 0, {3}, {{0}}, 0, {0}},            /* i */
                               {100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {1}},   /* u */
                               {100, 0, 1, {0, 0}, {{1, 30, 1}}, 1, {1}}}; /* r */
    GIVES(a4, true, GS_ANALYSIS_PARTITIONED_STGM_PAPER, 7, 71, 36);
    GIVES(a4, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 39, 39, 36);

    static const row_t a5[] = {{4, 0, 0, {2}, {{0}}, 0, {0}}, {10, 0, 0, {5}, {{0}}, 0, {0}}};
    GIVES(a5, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 2, 0);
    static const row_t a6[] = {{20, 8, 0, {6}, {{0}}, 0, {0}},
                               {40, 0, 1, {1, 0}, {{4, 2, 4}}, 0, {1}}};
    GIVES(a6, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 0, 0);
    GIVES(a6, true, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 0, 0);
}

/* The heaviest simple path by exhaustive search, to check the library. */
static int64_t walk(const gs_analysis_partitioned_request_chain_t *chain, int64_t last,
                    uint64_t used)
{
    int64_t best = 0;
    for (int64_t u = 0; u < chain->n; u++) {
        if ((used >> u & 1) == 0 &&
            gs_analysis_partitioned_request_chain_has_edge(chain, last, u)) {
            int64_t weight = chain->weight[u] + walk(chain, u, used | (uint64_t)1 << u);
            best = weight > best ? weight : best;
        }
    }
    return best;
}

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void test_chains(void)
{
    uint64_t state = 1;
    for (int round = 0; round < 300; round++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_analysis_partitioned_request_chain_t chain;
        int64_t n = 1 + (int64_t)(draw(&state) % 9), all[9], one;
        MU_CHECK(gs_analysis_partitioned_request_chain_init(&chain, &ctx, n) == GS_OK);
        uint64_t density = 1 + draw(&state) % 4;
        for (int64_t a = 0; a < n; a++) {
            chain.weight[a] = (int64_t)(draw(&state) % 20);
            for (int64_t b = 0; b < a; b++) {
                if (draw(&state) % 5 < density) {
                    gs_analysis_partitioned_request_chain_add_edge(&chain, a, b);
                }
            }
        }
        MU_CHECK(gs_analysis_partitioned_request_chain_all(&chain, &ctx, all) == GS_OK);
        for (int64_t i = 0; i < n; i++) {
            uint64_t away = draw(&state);
            MU_CHECK(all[i] == walk(&chain, i, (uint64_t)1 << i));
            MU_CHECK(gs_analysis_partitioned_request_chain_longest(&chain, &ctx, i, &away, &one) ==
                     GS_OK);
            MU_CHECK(one == walk(&chain, i, away | (uint64_t)1 << i));
        }
        gs_analysis_partitioned_request_chain_free(&chain, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* A component of the largest size searched, whose paths have many dead ends (dynamic programming
 * over all sets), and one larger (all other tasks count). */
static void test_large_chains(void)
{
    enum { HUB = 13, LARGE = 80 };
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_partitioned_request_chain_t chain;
    int64_t longest[LARGE];
    MU_CHECK(gs_analysis_partitioned_request_chain_init(&chain, &ctx, 14) == GS_OK);
    for (int64_t a = 0; a < 14; a++) { /* bipartite, sides of 3 and 11 */
        chain.weight[a] = a < 3 ? 1 : a;
        for (int64_t b = 3; b < 14 && a < 3; b++) {
            gs_analysis_partitioned_request_chain_add_edge(&chain, a, b);
        }
    }
    MU_CHECK(gs_analysis_partitioned_request_chain_all(&chain, &ctx, longest) == GS_OK);
    MU_CHECK(longest[0] ==
             13 + 12 + 11 +
                 2); /* alternating paths: 11 side, other, 11 side, other, 11 side, without 0 */
    MU_CHECK(longest[HUB] == 3 + 12 + 11 + 10);
    gs_analysis_partitioned_request_chain_free(&chain, &ctx);
    MU_CHECK(gs_analysis_partitioned_request_chain_init(&chain, &ctx, LARGE) == GS_OK);
    for (int64_t a = 0; a < LARGE; a++) { /* a star: the exact chain is one or two other tasks */
        chain.weight[a] = 1;
        if (a > 0) {
            gs_analysis_partitioned_request_chain_add_edge(&chain, 0, a);
        }
    }
    MU_CHECK(gs_analysis_partitioned_request_chain_all(&chain, &ctx, longest) == GS_OK);
    MU_CHECK(longest[0] == LARGE - 1 && longest[79] == LARGE - 1);
    gs_analysis_partitioned_request_chain_free(&chain, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    for (int which = 0; which < REFUSALS + 3; which++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        gs_analysis_common_answer_t answer;
        refusal_t refusal = {GS_ERR_VALUE, "core", 2};
        int paper = GS_ANALYSIS_PARTITIONED_STGM_SOUND;
        if (which < REFUSALS) {
            refusal = set_spoil(&s, which);
        } else if (which == REFUSALS) {
            s.core[2] = 4;
        } else if (which == REFUSALS + 1) {
            refusal = (refusal_t){GS_ERR_VALUE, "sm", 0};
            s.sm[0] = 0;
        } else {
            refusal = (refusal_t){GS_ERR_VALUE, "paper", -1};
            paper = 3;
        }
        MU_CHECK(names(&ctx, test(&ctx, &s, false, paper, &answer), refusal));
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_edges(void)
{
    for (int busy = 0; busy < 2; busy++) {
        for (int paper = GS_ANALYSIS_PARTITIONED_STGM_SOUND;
             paper <= GS_ANALYSIS_PARTITIONED_STGM_PAPER_HIGHER; paper++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            host_set_t s;
            set_make(&s, 4, VECTOR_A);
            set_stretch(&s);
            gs_analysis_common_answer_t answer;
            MU_CHECK(test(&ctx, &s, busy, paper, &answer) == GS_OK);
            MU_CHECK(!answer.schedulable && terms_add_up(&s));
        }
    }
    /* Utilizations of 1, and of 1/2 over many periods. */
    static const row_t slow[] = {{4, 0, 0, {2}, {{0}}, 0, {0}},
                                 {8, 0, 0, {4}, {{0}}, 0, {0}},
                                 {1000000, 0, 0, {1}, {{0}}, 0, {0}}};
    GIVES(slow, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, 2, 8, 0);
    static const row_t fast[] = {{1000, 0, 0, {500}, {{0}}, 0, {0}},
                                 {INT64_C(1) << 59, 0, 0, {INT64_C(1) << 57}, {{0}}, 0, {0}}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 2, fast);
    gs_analysis_common_answer_t answer;
    MU_CHECK(test(&ctx, &s, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, &answer) == GS_OK &&
             answer.schedulable);
    int64_t w = s.response[1];
    MU_CHECK(w == (INT64_C(1) << 57) + (w + 999) / 1000 * 500 && w < (INT64_C(1) << 58) + 1000);
    MU_CHECK(terms_add_up(&s));
}

static void test_memory(void)
{
    int status = GS_ERR_MEMORY;
    for (int64_t at = 1; status != GS_OK; at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        gs_analysis_common_answer_t answer;
        status = test(&ctx, &s, false, GS_ANALYSIS_PARTITIONED_STGM_SOUND, &answer);
        MU_CHECK((status == GS_ERR_MEMORY) == (ctx.allocations >= at) && ctx.bytes_used == 0);
    }
}

/* Memory that was initialised for the largest of several sets serves them all. */
static void test_sizes(void)
{
    static const row_t small[2] = {{100, 0, 1, {1, 1}, {{0, 8, 0}}, 0, {1, 1}},
                                   {100, 0, 1, {1, 1}, {{0, 7, 0}}, 0, {0, 1}}};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_partitioned_stgm_t stgm;
    MU_CHECK(gs_analysis_partitioned_stgm_init(&stgm, &ctx, 4) == GS_OK);
    for (int turn = 0; turn < 6; turn++) {
        host_set_t s, alone;
        set_make(&s, turn % 2 ? 2 : 4, turn % 2 ? small : VECTOR_A);
        alone = s;
        bool busy = turn > 3;
        gs_analysis_common_answer_t answer = answer_of(&s), expected;
        gs_host_tasks_t hosts = hosts_of(&s);
        MU_CHECK(gs_analysis_partitioned_stgm(&stgm, &ctx, &hosts, s.core, s.sm, NULL, MOST_SMS, 4,
                                              busy, GS_ANALYSIS_PARTITIONED_STGM_SOUND, false,
                                              &answer) == GS_OK);
        MU_CHECK(test(&ctx, &alone, busy, GS_ANALYSIS_PARTITIONED_STGM_SOUND, &expected) == GS_OK);
        MU_CHECK(memcmp(s.response, alone.response, sizeof s.response) == 0);
        MU_CHECK(memcmp(s.terms, alone.terms, sizeof s.terms) == 0);
    }
    gs_analysis_partitioned_stgm_free(&stgm, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_sizes();
    test_chains();
    test_large_chains();
    test_refusals();
    test_edges();
    test_memory();
    test_vector();
    test_counterexamples();
    return MU_END();
}
