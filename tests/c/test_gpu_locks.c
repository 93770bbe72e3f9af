/* MPCP, FMLP+ and the GPU server: sets worked by hand, numbers near the overflow limits,
 * failures. */
#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/partitioned/mpcp.h"
#include "analysis/allocation/partition.h"
#include "analysis/placed_method.h"
#include "ways/ways.h"

#include "host_sets.h"
#include "minunit.h"

enum { MPCP, FMLP_PLUS, GCAPS, SERVER, TESTS, CPUS = 4 };

/* One of the tests in a mode; of the server, the mode is its core, the overhead is 1. */
typedef struct {
    int test;
    int mode;
    bool plain; /* one pass, jitter */
} which_t;

static int test(gs_context_t *ctx, host_set_t *s, which_t which,
                gs_analysis_common_answer_t *answer)
{
    gs_analysis_partitioned_lock_test_t lock;
    gs_host_tasks_t hosts = hosts_of(s);
    *answer = answer_of(s);
    static const char *const names[TESTS] = {"mpcp", "fmlp_plus", "fmlp_plus", "gpu_server"};
    bool served = which.test == SERVER;
    const gs_analysis_partitioned_lock_options_t options = {
        .cpus = CPUS,
        .sms = 1,
        .mode = served ? 0 : which.mode,
        .paper = which.test == GCAPS,
        .server = which.mode,
        .overhead = 1,
        .one_pass = which.plain,
        .jitter = which.plain,
    };
    int status = gs_analysis_partitioned_lock_test_init(&lock, ctx, s->n);
    if (status == GS_OK) {
        status = gs_ways_find(names[which.test])
                     ->placed->lock(&lock, ctx, &hosts, s->core, &options, answer);
    }
    gs_analysis_partitioned_lock_test_free(&lock, ctx);
    return status;
}

/* Whether the response times are these; 0: none. */
static bool gives(int64_t n, const row_t *rows, int which, int mode, const int64_t *expected)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, n, rows);
    gs_analysis_common_answer_t answer;
    return test(&ctx, &s, (which_t){which, mode, true}, &answer) == GS_OK && ctx.bytes_used == 0 &&
           answers(&s, &answer, expected);
}

#define GIVES(rows, which, mode, ...)                                                              \
    MU_CHECK(gives((int64_t)(sizeof(rows) / sizeof *(rows)), rows, which, mode,                    \
                   (const int64_t[]){__VA_ARGS__}))

static void test_vector(void)
{
    GIVES(VECTOR_A, MPCP, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, 27, 47, 17, 85);
    GIVES(VECTOR_A, MPCP, GS_ANALYSIS_PARTITIONED_LOCK_BUSY, 27, 67, 23, 101);
    GIVES(VECTOR_A, MPCP, GS_ANALYSIS_PARTITIONED_LOCK_SPIN, 27, 53, 37, 145);
    GIVES(VECTOR_A, FMLP_PLUS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, 38, 47, 17, 85);
    GIVES(VECTOR_A, FMLP_PLUS, GS_ANALYSIS_PARTITIONED_LOCK_BUSY, 38, 53, 23, 79);
    GIVES(VECTOR_A, GCAPS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, 38, 53, 17, 63);
    GIVES(VECTOR_A, GCAPS, GS_ANALYSIS_PARTITIONED_LOCK_BUSY, 38, 53, 23, 79);
    GIVES(VECTOR_A, SERVER, 0, 60, 52, 58, 108);
    GIVES(VECTOR_A, SERVER, 1, 30, 0, 0, 0);
    GIVES(VECTOR_A, SERVER, CPUS, 30, 52, 15, 108);
}

/* Notebook 06, section 6: the holder suspends for its kernel, so it is not only a demand on the
 * core. */
static void test_counterexample(void)
{
    static const row_t b1[] = {{100, 0, 1, {1, 0}, {{1, 10, 1}}, 0, {1}},
                               {100, 0, 1, {1, 0}, {{1, 1, 1}}, 0, {1}}};
    GIVES(b1, GCAPS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, 16, 7);
    GIVES(b1, FMLP_PLUS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND, 19, 19);
}

static const which_t ALL[] = {{MPCP, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND},
                              {MPCP, GS_ANALYSIS_PARTITIONED_LOCK_BUSY},
                              {MPCP, GS_ANALYSIS_PARTITIONED_LOCK_SPIN},
                              {FMLP_PLUS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND},
                              {FMLP_PLUS, GS_ANALYSIS_PARTITIONED_LOCK_BUSY},
                              {GCAPS, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND},
                              {GCAPS, GS_ANALYSIS_PARTITIONED_LOCK_BUSY},
                              {SERVER, 0}};
enum { COUNT = sizeof ALL / sizeof *ALL };

static void test_refusals(void)
{
    for (int kind = 0; kind < COUNT; kind++) {
        for (int which = 0; which <= REFUSALS; which++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            host_set_t s;
            set_make(&s, 4, VECTOR_A);
            gs_analysis_common_answer_t answer;
            refusal_t refusal = {GS_ERR_VALUE, "core", 1};
            if (which < REFUSALS) {
                refusal = set_spoil(&s, which);
            } else {
                s.core[1] = -1;
            }
            MU_CHECK(names(&ctx, test(&ctx, &s, ALL[kind], &answer), refusal));
            MU_CHECK(ctx.bytes_used == 0);
        }
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    host_set_t s;
    set_make(&s, 4, VECTOR_A);
    gs_analysis_common_answer_t answer;
    refusal_t refusal = {GS_ERR_VALUE, "server", -1};
    MU_CHECK(names(&ctx, test(&ctx, &s, (which_t){SERVER, CPUS + 1}, &answer), refusal));
    MU_CHECK(names(&ctx, test(&ctx, &s, (which_t){SERVER, -1}, &answer), refusal));
}

static void test_edges(void)
{
    for (int kind = 0; kind < COUNT; kind++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        set_stretch(&s);
        gs_analysis_common_answer_t answer;
        MU_CHECK(test(&ctx, &s, ALL[kind], &answer) == GS_OK);
        MU_CHECK(!answer.schedulable && terms_add_up(&s));
    }
}

static void test_memory(void)
{
    for (int kind = 0; kind < COUNT; kind++) {
        int status = GS_ERR_MEMORY;
        for (int64_t at = 1; status != GS_OK; at++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            ctx.fail_at = at;
            host_set_t s;
            set_make(&s, 4, VECTOR_A);
            gs_analysis_common_answer_t answer;
            status = test(&ctx, &s, ALL[kind], &answer);
            MU_CHECK((status == GS_ERR_MEMORY) == (ctx.allocations >= at) && ctx.bytes_used == 0);
        }
    }
}

/* Worst fit by 7/60, 9/80, 10/120, 15/160; with a server by 5/60, 6/80, 10/120, 9/160 and 22/60 +
 * 23/80 + 46/160 for the server itself. */
static void test_partition(void)
{
    static const struct {
        const char *way;
        int64_t core[4], server;
    } expected[] = {{"mpcp", {0, 1, 0, 1}, -1}, {"gpu_server", {1, 1, 1, 1}, 0}};
    for (size_t k = 0; k < sizeof expected / sizeof *expected; k++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_analysis_allocation_partition_t work;
        gs_analysis_placed_test_t test;
        gs_analysis_placed_options_t options = {
            .cpus = 2, .sms = 1, .server_overhead = k == 0 ? 0 : 10};
        const gs_analysis_placed_method_t *method = gs_ways_find(expected[k].way)->placed;
        host_set_t s;
        set_make(&s, 4, VECTOR_A);
        gs_host_tasks_t hosts = hosts_of(&s);
        gs_analysis_common_answer_t answer = answer_of(&s);
        int64_t core[4], server;
        gs_analysis_placed_place_t place = {.core = core};
        MU_CHECK(gs_analysis_placed_test_init(&test, &ctx, method, &options, 4) == GS_OK);
        MU_CHECK(gs_analysis_allocation_partition_init(&work, &ctx, 4) == GS_OK);
        MU_CHECK(gs_analysis_allocation_partition(&work, &ctx, &test, &hosts, &place, core,
                                                  &server) == GS_OK);
        MU_CHECK(memcmp(core, expected[k].core, sizeof core) == 0);
        MU_CHECK(server == expected[k].server);
        place.server = server;
        MU_CHECK(gs_analysis_placed_test_run(&test, &ctx, &hosts, &place, &answer) == GS_OK);
        MU_CHECK(terms_add_up(&s));
        test.options.cpus = 0;
        MU_CHECK(gs_analysis_allocation_partition(&work, &ctx, &test, &hosts, &place, core,
                                                  &server) == GS_ERR_VALUE);
        gs_analysis_allocation_partition_free(&work, &ctx);
        gs_analysis_placed_test_free(&test, &ctx);
        options.mode = 3; /* no test has four */
        MU_CHECK(gs_analysis_placed_test_init(&test, &ctx, method, &options, 4) == GS_ERR_VALUE);
        gs_analysis_placed_test_free(&test, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(gs_ways_find("stgm")->placed->lock == NULL);
}

/* Memory that was initialised for the largest of several sets serves them all. */
static void test_sizes(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_partitioned_lock_test_t lock;
    const gs_analysis_partitioned_lock_options_t options = {.cpus = CPUS, .sms = 1};
    MU_CHECK(gs_analysis_partitioned_lock_test_init(&lock, &ctx, 4) == GS_OK);
    for (int64_t n = 4; n > 0; n--) {
        host_set_t s, alone;
        set_make(&s, n, VECTOR_A);
        alone = s;
        gs_host_tasks_t hosts = hosts_of(&s);
        gs_analysis_common_answer_t answer = answer_of(&s), expected;
        const which_t which = {MPCP, GS_ANALYSIS_PARTITIONED_LOCK_SUSPEND};
        MU_CHECK(gs_analysis_partitioned_mpcp(&lock, &ctx, &hosts, s.core, &options, &answer) ==
                 GS_OK);
        MU_CHECK(test(&ctx, &alone, which, &expected) == GS_OK);
        MU_CHECK(memcmp(s.response, alone.response, sizeof s.response) == 0);
    }
    gs_analysis_partitioned_lock_test_free(&lock, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_sizes();
    test_refusals();
    test_edges();
    test_memory();
    test_partition();
    test_vector();
    test_counterexample();
    return MU_END();
}
