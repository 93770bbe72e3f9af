/* MPCP, FMLP+ and the GPU server: the vectors of FORMULAS B, numbers at the edge, failures. */
#include "rta/fmlp_plus.h"
#include "rta/gpu_server.h"
#include "rta/mpcp.h"

#include "host_sets.h"
#include "minunit.h"

enum { MPCP, FMLP_PLUS, GCAPS, SERVER, TESTS, CPUS = 4 };

/* One of the tests in a mode; of the server, the mode is its core, the overhead is 1. */
typedef struct {
    int test;
    int mode;
} which_t;

static int test(gs_env_t *env, host_set_t *s, which_t which, gs_host_answer_t *answer)
{
    gs_host_lock_t lock;
    gs_hosts_t hosts = hosts_of(s);
    *answer = answer_of(s);
    int status = gs_host_lock_init(&lock, env, s->n);
    if (status == GS_OK && which.test == MPCP) {
        status = gs_mpcp(&lock, env, &hosts, s->core, CPUS, 1, which.mode, answer);
    } else if (status == GS_OK && which.test == SERVER) {
        status = gs_gpu_server(&lock, env, &hosts, s->core, which.mode, CPUS, 1, 1, answer);
    } else if (status == GS_OK) {
        status = gs_fmlp_plus(&lock, env, &hosts, s->core, CPUS, 1, which.mode == GS_LOCK_BUSY,
                              which.test == GCAPS, answer);
    }
    gs_host_lock_free(&lock, env);
    return status;
}

/* Whether the responses are these, 0 standing for none. */
static bool gives(int64_t n, const row_t *rows, int which, int mode, const int64_t *expected)
{
    gs_env_t env;
    gs_env_init(&env);
    host_set_t s;
    set_make(&s, n, rows);
    gs_host_answer_t answer;
    if (test(&env, &s, (which_t){which, mode}, &answer) != GS_OK || !terms_add_up(&s)) {
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

#define GIVES(rows, which, mode, ...)                                                              \
    MU_CHECK(gives((int64_t)(sizeof(rows) / sizeof *(rows)), rows, which, mode,                    \
                   (const int64_t[]){__VA_ARGS__}))

static void test_vector(void)
{
    GIVES(VECTOR_A, MPCP, GS_LOCK_SUSPEND, 27, 47, 17, 85);
    GIVES(VECTOR_A, MPCP, GS_LOCK_BUSY, 27, 67, 23, 101);
    GIVES(VECTOR_A, MPCP, GS_LOCK_SPIN, 27, 53, 37, 145);
    GIVES(VECTOR_A, FMLP_PLUS, GS_LOCK_SUSPEND, 38, 47, 17, 85);
    GIVES(VECTOR_A, FMLP_PLUS, GS_LOCK_BUSY, 38, 53, 23, 79);
    GIVES(VECTOR_A, GCAPS, GS_LOCK_SUSPEND, 38, 53, 17, 63);
    GIVES(VECTOR_A, GCAPS, GS_LOCK_BUSY, 38, 53, 23, 79);
    GIVES(VECTOR_A, SERVER, 0, 60, 52, 58, 108);
    GIVES(VECTOR_A, SERVER, 1, 30, 0, 0, 0);
    GIVES(VECTOR_A, SERVER, CPUS, 30, 52, 15, 108);
}

/* FORMULAS B3: the holder suspends for its kernel, and is not only a demand on the core then. */
static void test_counterexample(void)
{
    static const row_t b1[] = {{100, 0, 1, {1, 0}, {{1, 10, 1}}, 0, {1}},
                               {100, 0, 1, {1, 0}, {{1, 1, 1}}, 0, {1}}};
    GIVES(b1, GCAPS, GS_LOCK_SUSPEND, 16, 7);
    GIVES(b1, FMLP_PLUS, GS_LOCK_SUSPEND, 19, 19);
}

int main(void)
{
    test_vector();
    test_counterexample();
    return MU_END();
}
