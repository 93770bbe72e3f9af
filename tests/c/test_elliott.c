/* Sets, stacks and counts of [RTNS10]: independent of the chunks, and failures. */
#include "analysis/global_edf/elliott_study.h"
#include "generate/elliott_stack.h"

#include "minunit.h"

#include <string.h>

enum { BINS = 8, CURVES = GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + 2 };

static const uint64_t KEY[4] = {1, 2, 3, 4};

typedef struct {
    int64_t sets[BINS], without[BINS], passed[CURVES * BINS],
        eighths[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS];
    int64_t fates[GS_GENERATE_ELLIOTT_FATES], tasks;
} counted_t;

static const gs_generate_elliott_t SPEC = {.cpus = 4,
                                           .utilization = {0.1, 0.4},
                                           .period = {15000000, 60000000},
                                           .gpu = 500,
                                           .overhead = 50,
                                           .share = {0.3, 0.4},
                                           .empty = true};
static const gs_analysis_global_edf_elliott_tests_t TESTS = {
    .speed_ups = 2, .speed_up = {2, 8}, .bins = BINS};

static int study(gs_context_t *ctx, const gs_generate_elliott_t *spec, uint64_t first,
                 uint64_t count, counted_t *counted)
{
    gs_analysis_global_edf_elliott_counts_t counts = {counted->sets,   counted->without,
                                                      counted->passed, counted->eighths,
                                                      counted->fates,  &counted->tasks};
    return gs_analysis_global_edf_elliott_study(ctx, spec, KEY, first, count, &TESTS, &counts);
}

static void test_chunks(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    counted_t whole = {0}, parts = {0};
    MU_CHECK(study(&ctx, &SPEC, 0, 1000, &whole) == GS_OK);
    MU_CHECK(study(&ctx, &SPEC, 600, 400, &parts) == GS_OK);
    MU_CHECK(study(&ctx, &SPEC, 0, 600, &parts) == GS_OK);
    MU_CHECK(memcmp(&whole, &parts, sizeof whole) == 0);
    int64_t sets = 0, srm = 0, fmlp = 0, either = 0, container = 0;
    for (int b = 0; b < BINS; b++) {
        sets += whole.sets[b];
        srm += whole.passed[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SRM * BINS + b];
        fmlp += whole.passed[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_FMLP * BINS + b];
        either += whole.passed[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EITHER * BINS + b];
        container += whole.passed[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_CONTAINER * BINS + b];
    }
    MU_CHECK(sets == 1000 && whole.fates[GS_GENERATE_ELLIOTT_TAKEN] == 1000);
    MU_CHECK(0 < fmlp && fmlp <= srm && srm <= either && container <= either && either < sets);
    /* The numbers of this key, which tests/analysis/test_elliott.py holds against the twin. */
    MU_CHECK(srm == 560 && fmlp == 560 && either == 702 && container == 698);
    int64_t faster[2] = {0};
    for (int b = 0; b < BINS; b++) {
        for (int k = 0; k < 2; k++) {
            faster[k] += whole.passed[(GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + k) * BINS + b];
        }
    }
    MU_CHECK(faster[0] == 872 && faster[1] == 125); /* without a GPU, 2 and 8 times as slow */
    MU_CHECK(ctx.bytes_used == 0);
}

/* The parts of a job equal those in whole numbers, for every remainder. */
static void test_parts(void)
{
    for (int64_t share = 0; share <= 1000; share += 25) {
        for (int64_t work = 1; work < 3000; work++) {
            int64_t exact = (work * share + 500) / 1000;
            MU_CHECK(gs_generate_elliott_part((double)work, (double)share) == (double)exact);
        }
        for (int64_t work = INT32_MAX - 2000; work < INT32_MAX; work++) {
            int64_t exact = (work * share + 500) / 1000;
            MU_CHECK(gs_generate_elliott_part((double)work, (double)share) == (double)exact);
        }
    }
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    counted_t counted = {0};
    gs_generate_elliott_t spec = SPEC;
    spec.utilization[1] = 1.5;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_VALUE);
    spec = SPEC;
    spec.utilization[0] = 1e-7;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_VALUE);
    spec = SPEC;
    spec.overhead = 600;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_VALUE);
    spec = SPEC;
    spec.period[1] = (int64_t)INT32_MAX + 1;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_OVERFLOW);
    spec = SPEC;
    spec.cpus = 0;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_VALUE);
    spec = SPEC;
    spec.empty = false;
    spec.share[0] = spec.share[1] = 0;
    MU_CHECK(study(&ctx, &spec, 0, 1, &counted) == GS_ERR_VALUE);
    MU_CHECK(counted.fates[GS_GENERATE_ELLIOTT_NO_GPU] > 0 && ctx.bytes_used == 0);
}

static int interrupt(void *arg)
{
    int *calls = arg;
    return ++*calls > 2 ? GS_ERR_INTERRUPTED : GS_OK;
}

static void test_failures(void)
{
    for (int64_t at = 0; at <= 7; at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        counted_t counted = {0};
        int status = study(&ctx, &SPEC, 0, 10, &counted);
        MU_CHECK(status == (at == 0 ? GS_OK : GS_ERR_MEMORY));
        MU_CHECK(at > 0 || ctx.allocations == 7);
        MU_CHECK(ctx.bytes_used == 0);
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    int calls = 0;
    ctx.poll = interrupt;
    ctx.poll_arg = &calls;
    counted_t counted = {0};
    MU_CHECK(study(&ctx, &SPEC, 0, 100000000, &counted) == GS_ERR_INTERRUPTED && calls == 3);
    MU_CHECK(counted.fates[GS_GENERATE_ELLIOTT_TAKEN] < 100000 && ctx.bytes_used == 0);
}

/* A stack of all sets has those that are drawn one by one, whatever its first set. */
static void test_stack(void)
{
    enum { COUNT = 300, MOST = 700 };
    static int64_t size[COUNT];
    static int64_t period[COUNT * MOST], priority[COUNT * MOST], segments[COUNT * MOST],
        cpu[2 * COUNT * MOST], copy_in[COUNT * MOST], kernel[COUNT * MOST];
    const gs_generate_elliott_columns_t columns = {period, priority, segments,
                                                   cpu,    copy_in,  kernel};
    enum { LARGE = 1, NARROW = 2 }; /* many tasks; few different periods */
    for (int kind = 0; kind <= NARROW; kind++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_generate_elliott_t spec = SPEC;
        spec.utilization[0] = kind == LARGE ? 0.01 : 0.1;
        spec.period[1] = kind == NARROW ? spec.period[0] + 3 : spec.period[1];
        memset(period, 255, sizeof period);
        memset(segments, 255, sizeof segments);
        memset(cpu, 255, sizeof cpu);
        memset(copy_in, 255, sizeof copy_in);
        memset(kernel, 255, sizeof kernel);
        int64_t count = kind == LARGE ? 20 : COUNT;
        gs_generate_elliott_stack_t stack;
        gs_generate_elliott_sets_t sets;
        spec.utilization[1] = kind == LARGE ? 0.011 : 0.4;
        MU_CHECK(gs_generate_elliott_stack_init(&stack, &ctx, &spec, KEY, 7, count, size) == GS_OK);
        MU_CHECK(stack.most <= MOST && (kind != LARGE || stack.most > 256));
        MU_CHECK(gs_generate_elliott_stack_write(&stack, &ctx, &columns) == GS_OK);
        MU_CHECK(gs_generate_elliott_init(&sets, &ctx, &spec, KEY) == GS_OK);
        for (int64_t set = 0; set < count; set++) {
            MU_CHECK(gs_generate_elliott_find(&sets, &ctx, 7 + (uint64_t)set, 1) == GS_OK);
            gs_generate_elliott_make(&sets, 0);
            MU_CHECK(size[set] == sets.n && stack.gpu[set] == sets.gpu);
            for (int64_t k = 0; k < sets.n; k++) {
                int64_t at = set * stack.most + k, before = 0;
                MU_CHECK(period[at] == (int64_t)sets.period[k]);
                MU_CHECK(cpu[2 * at] + copy_in[at] + kernel[at] == (int64_t)sets.work[k]);
                MU_CHECK(cpu[2 * at + 1] == 0);
                MU_CHECK(segments[at] == (k < sets.gpu) && (kernel[at] > 0) == (k < sets.gpu));
                for (int64_t j = 0; j < sets.n; j++) {
                    before += sets.period[j] < sets.period[k] ||
                              (j < k && !(sets.period[j] > sets.period[k]));
                }
                MU_CHECK(priority[at] == before);
            }
            for (int64_t at = set * stack.most + sets.n; at < (set + 1) * stack.most; at++) {
                MU_CHECK(period[at] == 0 && cpu[2 * at] == 0 && cpu[2 * at + 1] == 0);
                MU_CHECK(priority[at] == 0 && copy_in[at] == 0 && kernel[at] == 0);
                MU_CHECK(segments[at] == 0);
            }
        }
        gs_generate_elliott_free(&sets, &ctx);
        gs_generate_elliott_stack_free(&stack, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Memory that runs out at any allocation, and sets that are too rare. */
static void test_stack_failures(void)
{
    int64_t size[40];
    int64_t allocations = 0;
    for (int64_t at = 0; at <= allocations; at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        gs_generate_elliott_stack_t stack;
        int status = gs_generate_elliott_stack_init(&stack, &ctx, &SPEC, KEY, 0, 40, size);
        MU_CHECK(status == (at == 0 ? GS_OK : GS_ERR_MEMORY));
        allocations = at == 0 ? ctx.allocations : allocations;
        gs_generate_elliott_stack_free(&stack, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    MU_CHECK(allocations > 8);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_generate_elliott_t spec = SPEC;
    spec.empty = false;
    spec.share[0] = spec.share[1] = 0;
    gs_generate_elliott_stack_t stack;
    MU_CHECK(gs_generate_elliott_stack_init(&stack, &ctx, &spec, KEY, 0, 40, size) == GS_ERR_VALUE);
    gs_generate_elliott_stack_free(&stack, &ctx);
    spec.cpus = 0;
    MU_CHECK(gs_generate_elliott_stack_init(&stack, &ctx, &spec, KEY, 0, 40, size) == GS_ERR_VALUE);
    gs_generate_elliott_stack_free(&stack, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_chunks();
    test_stack();
    test_stack_failures();
    test_parts();
    test_refusals();
    test_failures();
    return MU_END();
}
