/* STGM: the vectors of FORMULAS A, its counterexamples, chains, numbers at the edge, failures. */
#include "rta/stgm.h"

#include "host_sets.h"
#include "minunit.h"

static int test(gs_env_t *env, host_set_t *s, bool busy, int paper, gs_host_answer_t *answer)
{
    gs_stgm_t stgm;
    gs_hosts_t hosts = hosts_of(s);
    *answer = answer_of(s);
    int status = gs_stgm_init(&stgm, env, s->n);
    if (status == GS_OK) {
        status = gs_stgm(&stgm, env, &hosts, s->core, s->sm, MOST_SMS, 4, busy, paper, answer);
    }
    gs_stgm_free(&stgm, env);
    return status;
}

/* Whether the responses are these, 0 standing for none. */
static bool gives(int64_t n, const row_t *rows, bool busy, int paper, const int64_t *expected)
{
    gs_env_t env;
    gs_env_init(&env);
    host_set_t s;
    set_make(&s, n, rows);
    gs_host_answer_t answer;
    if (test(&env, &s, busy, paper, &answer) != GS_OK || !terms_add_up(&s)) {
        return false;
    }
    int64_t failed = -1;
    for (int64_t i = n - 1; i >= 0; i--) {
        failed = expected[i] == 0 ? i : failed;
        if (s.response[i] != (expected[i] == 0 ? -1 : expected[i])) {
            fprintf(stderr, "task %d: %lld\n", (int)i, (long long)s.response[i]);
            return false;
        }
    }
    return answer.failed == failed && answer.schedulable == (failed < 0) && env.bytes_used == 0;
}

#define GIVES(rows, busy, paper, ...)                                                              \
    MU_CHECK(gives((int64_t)(sizeof(rows) / sizeof *(rows)), rows, busy, paper,                    \
                   (const int64_t[]){__VA_ARGS__}))

static void test_vector(void)
{
    GIVES(VECTOR_A, false, GS_STGM_PAPER, 29, 43, 17, 75);
    GIVES(VECTOR_A, false, GS_STGM_SOUND, 39, 41, 17, 87);
    GIVES(VECTOR_A, true, GS_STGM_PAPER, 29, 53, 23, 147);
    GIVES(VECTOR_A, true, GS_STGM_PAPER_HIGHER, 29, 53, 39, 0);
    GIVES(VECTOR_A, true, GS_STGM_SOUND, 35, 41, 45, 58);
    static const struct {
        bool busy;
        int64_t blocking[4][3];
    } printed[2] = {{false, {{8, 8, 0}, {6, 16, 4}, {0, 0, 0}, {12, 16, 0}}},
                    {true, {{8, 8, 0}, {6, 16, 14}, {0, 0, 0}, {12, 16, 0}}}};
    for (int mode = 0; mode < 2; mode++) {
        gs_env_t env;
        gs_env_init(&env);
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        gs_host_answer_t answer;
        MU_CHECK(test(&env, &s, printed[mode].busy, GS_STGM_PAPER, &answer) == GS_OK);
        for (int64_t i = 0; i < 4; i++) {
            const int64_t *terms = s.terms + i * GS_HOST_TERMS, *b = printed[mode].blocking[i];
            MU_CHECK(terms[GS_HOST_COPY] == b[0] && terms[GS_HOST_KERNEL] == b[1] &&
                     terms[GS_HOST_LOWER] == b[2] && terms[GS_HOST_REQUEST] == 0);
        }
    }
}

/* The bounds of the counterexamples: printed, then corrected. */
static void test_counterexamples(void)
{
    static const row_t a1[] = {{100, 0, 0, {5}, {{0}}, 0, {0}},
                               {100, 0, 1, {1, 1}, {{2, 1, 2}}, 0, {1}}};
    GIVES(a1, false, GS_STGM_PAPER, 7, 12);
    GIVES(a1, false, GS_STGM_SOUND, 9, 12);

    static const row_t a2[] = {{100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {0, 1}},   /* i */
                               {100, 0, 1, {0, 0}, {{1, 5, 1}}, 1, {1, 1}},   /* u */
                               {100, 0, 1, {0, 0}, {{1, 10, 1}}, 2, {1, 0}}}; /* v */
    GIVES(a2, false, GS_STGM_PAPER, 13, 23, 21);
    GIVES(a2, false, GS_STGM_SOUND, 23, 21, 23);
    static const row_t star[] = {{100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {1, 1}},
                                 {100, 0, 1, {0, 0}, {{1, 5, 1}}, 1, {1, 0}},
                                 {100, 0, 1, {0, 0}, {{1, 10, 1}}, 2, {0, 1}}};
    GIVES(star, false, GS_STGM_PAPER, 23, 13, 18);
    GIVES(star, false, GS_STGM_SOUND, 18, 23, 23);

    static const row_t a3[] = {{100, 0, 1, {1, 0}, {{1, 2, 1}}, 0, {1}},   /* h */
                               {100, 0, 0, {4}, {{0}}, 0, {0}},            /* i */
                               {100, 0, 1, {0, 0}, {{1, 30, 1}}, 1, {1}}}; /* r */
    GIVES(a3, true, GS_STGM_PAPER, 37, 9, 36);
    GIVES(a3, true, GS_STGM_PAPER_HIGHER, 37, 41, 36);
    GIVES(a3, true, GS_STGM_SOUND, 37, 41, 36);

    static const row_t a4[] = {{100, 0, 0, {3}, {{0}}, 0, {0}},            /* i */
                               {100, 0, 1, {0, 0}, {{1, 2, 1}}, 0, {1}},   /* u */
                               {100, 0, 1, {0, 0}, {{1, 30, 1}}, 1, {1}}}; /* r */
    GIVES(a4, true, GS_STGM_PAPER, 7, 71, 36);
    GIVES(a4, true, GS_STGM_SOUND, 39, 39, 36);

    static const row_t a5[] = {{4, 0, 0, {2}, {{0}}, 0, {0}}, {10, 0, 0, {5}, {{0}}, 0, {0}}};
    GIVES(a5, false, GS_STGM_SOUND, 2, 0);
    static const row_t a6[] = {{20, 8, 0, {6}, {{0}}, 0, {0}},
                               {40, 0, 1, {1, 0}, {{4, 2, 4}}, 0, {1}}};
    GIVES(a6, false, GS_STGM_SOUND, 0, 0);
    GIVES(a6, true, GS_STGM_SOUND, 0, 0);
}

int main(void)
{
    test_vector();
    test_counterexamples();
    return MU_END();
}
