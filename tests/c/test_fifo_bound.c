/* Response-time bounds in FIFO order: known fractions, numbers near the overflow limits,
 * failures. */
#include "analysis/fifo/fifo_bound.h"
#include "analysis/fifo/saturation.h"

#include "minunit.h"

enum {
    MOST = 16,
    ALL = (1 << GS_ANALYSIS_FIFO_THEOREMS) - 1,
    ORDERS = 4,
    WITHOUT_SINGLE = ALL & ~(1 << GS_ANALYSIS_FIFO_THEOREM_A_SINGLE)
};

typedef struct {
    int64_t period[MOST], block_time[MOST], blocks[MOST], threads[MOST];
    int64_t n, m;
} set_t;

static gs_kernel_tasks_t kernels(const set_t *s)
{
    return (gs_kernel_tasks_t){s->n, s->period, s->block_time, s->blocks, s->threads};
}

static int bound(gs_context_t *ctx, const set_t *s, int order, int64_t theorems,
                 gs_analysis_fifo_bound_t *out)
{
    gs_kernel_tasks_t k = kernels(s);
    int64_t beta;
    int status = gs_kernel_tasks_check(ctx, &k, s->m);
    if (status == GS_OK) {
        status = gs_analysis_fifo_saturation(ctx, &k, s->m, order == GS_FIFO_ORDER_OVERLAP, &beta);
    }
    return status != GS_OK ? status
                           : gs_analysis_fifo_bound(ctx, &k, s->m, 1, beta, order, theorems, out);
}

static const set_t three = {{40, 30, 24}, {4, 3, 6}, {2, 4, 1}, {3, 2, 4}, 3, 8};
static const set_t late = {{8, 100}, {2, 10}, {1, 3}, {1, 2}, 2, 4};
static const set_t tight = {{100, 100}, {10, 90}, {2, 1}, {1, 1}, 2, 2};
static const set_t single = {{20, 30, 25}, {10, 8, 12}, {1, 1, 1}, {4, 3, 2}, 3, 8};
static const set_t example_2 = {
    {80, 160, 170, 180}, {38, 60, 60, 112}, {1, 7, 1, 5}, {1024, 512, 1024, 512}, 4, 4096};

static const struct {
    const set_t *set;
    int order;
    int64_t theorems;
    int64_t theorem;
    int64_t expected[MOST][2];
} VECTORS[] = {
    {&three, GS_FIFO_ORDER_OVERLAP, ALL, GS_ANALYSIS_FIFO_THEOREM_P, {{104, 5}, {21, 1}, {102, 5}}},
    {&three,
     GS_FIFO_ORDER_HARDWARE,
     ALL,
     GS_ANALYSIS_FIFO_THEOREM_V1_FIRST,
     {{16, 1}, {81, 5}, {78, 5}}},
    {&three,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A,
     GS_ANALYSIS_FIFO_THEOREM_A,
     {{301, 4}, {1221, 17}, {66, 1}}},
    {&three,
     GS_FIFO_ORDER_HARDWARE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A,
     GS_ANALYSIS_FIFO_THEOREM_A,
     {{301, 4}, {1221, 17}, {66, 1}}},
    {&three,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A | 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
     GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
     {{128, 5}, {129, 5}, {102, 5}}},
    {&three,
     GS_FIFO_ORDER_RELEASE,
     ALL,
     GS_ANALYSIS_FIFO_THEOREM_A_SINGLE,
     {{16, 1}, {81, 5}, {78, 5}}},
    {&three,
     GS_FIFO_ORDER_STRICT,
     ALL,
     GS_ANALYSIS_FIFO_THEOREM_V3,
     {{143, 5}, {144, 5}, {141, 5}}},
    {&late,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A,
     GS_ANALYSIS_FIFO_THEOREM_A,
     {{487, 6}, {798, 11}}},
    {&late,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A | 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
     GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
     {{22, 1}, {80, 3}}},
    {&tight, GS_FIFO_ORDER_HARDWARE, ALL, GS_ANALYSIS_FIFO_THEOREM_V1_FIRST, {{60, 1}, {100, 1}}},
    {&tight, GS_FIFO_ORDER_STRICT, ALL, GS_ANALYSIS_FIFO_NO_THEOREM, {{0, 0}, {0, 0}}},
    {&single,
     GS_FIFO_ORDER_HARDWARE,
     ALL,
     GS_ANALYSIS_FIFO_THEOREM_V1_FIRST,
     {{98, 5}, {104, 5}, {124, 5}}},
    {&single,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_V2 | 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
     GS_ANALYSIS_FIFO_THEOREM_V2,
     {{26, 1}, {136, 5}, {156, 5}}},
    {&single,
     GS_FIFO_ORDER_RELEASE,
     ALL,
     GS_ANALYSIS_FIFO_THEOREM_A_SINGLE,
     {{98, 5}, {104, 5}, {124, 5}}},
    {&single,
     GS_FIFO_ORDER_RELEASE,
     1 << GS_ANALYSIS_FIFO_THEOREM_A,
     GS_ANALYSIS_FIFO_NO_THEOREM,
     {{0, 0}, {0, 0}, {0, 0}}},
    {&single, GS_FIFO_ORDER_STRICT, ALL, GS_ANALYSIS_FIFO_NO_THEOREM, {{0, 0}, {0, 0}, {0, 0}}},
    {&example_2,
     GS_FIFO_ORDER_HARDWARE,
     ALL,
     GS_ANALYSIS_FIFO_NO_THEOREM,
     {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
};

static void test_vectors(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (size_t v = 0; v < sizeof VECTORS / sizeof *VECTORS; v++) {
        gs_analysis_fifo_bound_t out[MOST];
        MU_CHECK(bound(&ctx, VECTORS[v].set, VECTORS[v].order, VECTORS[v].theorems, out) == GS_OK);
        for (int64_t k = 0; k < VECTORS[v].set->n; k++) {
            MU_CHECK(out[k].numerator == VECTORS[v].expected[k][0]);
            MU_CHECK(out[k].denominator == VECTORS[v].expected[k][1]);
            MU_CHECK(out[k].theorem == VECTORS[v].theorem);
            MU_CHECK((out[k].status == GS_ANALYSIS_FIFO_BOUNDED) == (out[k].denominator != 0));
        }
    }
    /* V1 on a chain: F = 22, 24, 26, 28 <= 4 T. The other task is case 1. */
    gs_analysis_fifo_bound_t out[MOST];
    MU_CHECK(bound(&ctx, &late, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(out[0].numerator == 22 && out[0].theorem == GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN);
    MU_CHECK(out[1].numerator == 24 && out[1].theorem == GS_ANALYSIS_FIFO_THEOREM_V1_FIRST);
    MU_CHECK(ctx.bytes_used == 0);
}

static int why(const gs_analysis_fifo_bound_t *out, int theorem)
{
    return (int)(out->reasons >> (4 * theorem) & 15);
}

static void test_reasons(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_fifo_bound_t out[MOST];
    MU_CHECK(bound(&ctx, &single, GS_FIFO_ORDER_RELEASE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[2], GS_ANALYSIS_FIFO_THEOREM_A) == GS_ANALYSIS_FIFO_REASON_SC1);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_A) == GS_ANALYSIS_FIFO_REASON_SC1_OTHER);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V2) == GS_ANALYSIS_FIFO_REASON_BOUND);
    gs_kernel_tasks_t k = kernels(&single); /* two SMs of four threads */
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 2, 5, GS_FIFO_ORDER_RELEASE, WITHOUT_SINGLE,
                                    out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V2) == GS_ANALYSIS_FIFO_REASON_SMS);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_A_SINGLE) == GS_ANALYSIS_FIFO_REASON_SKIPPED);
    MU_CHECK(out[0].status == GS_ANALYSIS_FIFO_UNKNOWN);
    MU_CHECK(bound(&ctx, &single, GS_FIFO_ORDER_RELEASE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_P) == GS_ANALYSIS_FIFO_REASON_ORDER);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_FITS) == GS_ANALYSIS_FIFO_REASON_WAITS);
    MU_CHECK(bound(&ctx, &single, GS_FIFO_ORDER_RELEASE, 0, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V2) == GS_ANALYSIS_FIFO_REASON_SKIPPED);
    MU_CHECK(bound(&ctx, &single, GS_FIFO_ORDER_RELEASE, 1 << GS_ANALYSIS_FIFO_THEOREM_A_REFINED,
                   out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_A_REFINED) == GS_ANALYSIS_FIFO_REASON_NO_START);
    MU_CHECK(bound(&ctx, &three, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_A) == GS_ANALYSIS_FIFO_REASON_DOMINATED);
    MU_CHECK(bound(&ctx, &late, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V1_FIRST) == GS_ANALYSIS_FIFO_REASON_LONG);
    MU_CHECK(bound(&ctx, &three, GS_FIFO_ORDER_RELEASE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V2) == GS_ANALYSIS_FIFO_REASON_BLOCKS);
    MU_CHECK(bound(&ctx, &example_2, GS_FIFO_ORDER_STRICT, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V3) == GS_ANALYSIS_FIFO_REASON_UTILIZATION);
    /* X1 with a = 20: the recurrence of the victim grows by 10 each job. */
    const set_t victim = {{110, 100}, {20, 90}, {2, 1}, {1, 1}, 2, 2};
    MU_CHECK(bound(&ctx, &victim, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[1], GS_ANALYSIS_FIFO_THEOREM_V1_CHAIN) == GS_ANALYSIS_FIFO_REASON_JOB_LIMIT);
    MU_CHECK(out[1].status == GS_ANALYSIS_FIFO_UNKNOWN);
    set_t slow = single;
    slow.block_time[1] = 31;
    MU_CHECK(bound(&ctx, &slow, GS_FIFO_ORDER_RELEASE, ALL, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_V2) == GS_ANALYSIS_FIFO_REASON_BLOCK_TIME);
}

static void test_status(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_fifo_bound_t out[MOST];
    /* Three waves of 4 within 11. */
    set_t s = {{11, 1000}, {4, 1}, {5, 1}, {3, 1}, 2, 6};
    for (int order = 0; order < ORDERS; order++) {
        MU_CHECK(bound(&ctx, &s, order, ALL, out) == GS_OK);
        MU_CHECK(out[0].status == (order == GS_FIFO_ORDER_OVERLAP
                                       ? GS_ANALYSIS_FIFO_UNKNOWN
                                       : GS_ANALYSIS_FIFO_UNBOUNDED_LONG));
    }
    /* Overload: every task is unbounded, or the only one without a bound. */
    set_t heavy = {{1000, 10, 10}, {2, 9, 9}, {1, 1, 2}, {1, 2, 1}, 3, 3};
    static const int64_t expected[ORDERS][3] = {
        {GS_ANALYSIS_FIFO_BOUNDED, GS_ANALYSIS_FIFO_UNKNOWN, GS_ANALYSIS_FIFO_UNKNOWN},
        {GS_ANALYSIS_FIFO_UNKNOWN, GS_ANALYSIS_FIFO_UNKNOWN, GS_ANALYSIS_FIFO_UNKNOWN},
        {GS_ANALYSIS_FIFO_UNBOUNDED_LOAD, GS_ANALYSIS_FIFO_UNBOUNDED_LOAD,
         GS_ANALYSIS_FIFO_UNBOUNDED_LOAD},
        {GS_ANALYSIS_FIFO_UNBOUNDED_LOAD, GS_ANALYSIS_FIFO_UNBOUNDED_LOAD,
         GS_ANALYSIS_FIFO_UNBOUNDED_LOAD},
    };
    for (int order = 0; order < ORDERS; order++) {
        MU_CHECK(bound(&ctx, &heavy, order, ALL, out) == GS_OK);
        for (int k = 0; k < 3; k++) {
            MU_CHECK(out[k].status == expected[order][k]);
        }
    }
    set_t one = {{1000, 100}, {2, 30}, {1, 7}, {1, 1}, 2, 2};
    MU_CHECK(bound(&ctx, &one, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(out[0].status == GS_ANALYSIS_FIFO_BOUNDED &&
             out[1].status == GS_ANALYSIS_FIFO_UNBOUNDED_LONG);
    set_t rest = {{1000, 100}, {600, 99}, {1, 2}, {1, 1}, 2, 2};
    MU_CHECK(bound(&ctx, &rest, GS_FIFO_ORDER_HARDWARE, ALL, out) == GS_OK);
    MU_CHECK(out[0].status == GS_ANALYSIS_FIFO_BOUNDED &&
             out[1].status == GS_ANALYSIS_FIFO_UNBOUNDED_LOAD);
}

/* No block ever waits: R = c, in the strict order only if all blocks end within their periods. */
static void test_fits(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_fifo_bound_t out[MOST];
    set_t s = {{10, 20}, {9, 7}, {2, 3}, {2, 1}, 2, 8};
    for (int order = 0; order < GS_FIFO_ORDER_OVERLAP; order++) {
        MU_CHECK(bound(&ctx, &s, order, ALL, out) == GS_OK);
        MU_CHECK(out[0].theorem == GS_ANALYSIS_FIFO_THEOREM_FITS && out[0].numerator == 9);
        MU_CHECK(out[1].theorem == GS_ANALYSIS_FIFO_THEOREM_FITS && out[1].numerator == 7);
        s.period[0] = 8;
        MU_CHECK(bound(&ctx, &s, order, ALL, out) == GS_OK);
        MU_CHECK(out[0].status == GS_ANALYSIS_FIFO_UNBOUNDED_LONG);
        MU_CHECK((out[1].status == GS_ANALYSIS_FIFO_BOUNDED) == (order != GS_FIFO_ORDER_STRICT));
        s.period[0] = 10;
    }
}

static int64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 1);
}

/* Numbers of any length, up to the overflow limits: nothing overflows (checked by the sanitizers),
 * and a bound is a fraction in lowest terms, at least the block time. */
static void test_extremes(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    uint64_t state = 7;
    int64_t checked = 0, bounded = 0;
    for (int round = 0; round < 40000; round++) {
        set_t s = {.n = 1 + draw(&state) % 5};
        s.m = 1 + (draw(&state) >> (32 + draw(&state) % 31));
        bool unit = draw(&state) % 3 == 0, same = draw(&state) % 3 == 0; /* period: a long scale */
        for (int64_t i = 0; i < s.n; i++) {
            s.period[i] = 1 + (draw(&state) >> (3 + draw(&state) % 59));
            s.period[i] = same ? s.period[0] : s.period[i];
            s.block_time[i] = 1 + (draw(&state) >> (3 + draw(&state) % 60));
            s.blocks[i] = unit ? 1 : 1 + (draw(&state) >> (53 + draw(&state) % 10));
            s.threads[i] = 1 + draw(&state) % s.m;
        }
        gs_kernel_tasks_t k = kernels(&s);
        if (gs_kernel_tasks_check(&ctx, &k, s.m) != GS_OK) {
            continue;
        }
        for (int order = 0; order < ORDERS; order++) {
            gs_analysis_fifo_bound_t out[MOST];
            int64_t beta = draw(&state) % 2 == 0 ? s.m : gs_analysis_fifo_saturation_paper(&k, s.m);
            MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, s.m, 1, beta, order, ALL, out) == GS_OK);
            for (int64_t i = 0; i < s.n; i++) {
                checked++;
                if (out[i].status != GS_ANALYSIS_FIFO_BOUNDED) {
                    MU_CHECK(out[i].denominator == 0 &&
                             out[i].theorem == GS_ANALYSIS_FIFO_NO_THEOREM);
                    continue;
                }
                bounded++;
                MU_CHECK(out[i].denominator > 0 && out[i].theorem > 0);
                MU_CHECK(out[i].numerator / out[i].denominator >= s.block_time[i]);
                MU_CHECK(out[i].numerator / out[i].denominator < GS_NEVER);
                int64_t a = out[i].numerator, b = out[i].denominator;
                while (b != 0) {
                    int64_t r = a % b;
                    a = b;
                    b = r;
                }
                MU_CHECK(a == 1 || out[i].denominator == 1);
            }
        }
    }
    MU_CHECK(checked > 10000 && bounded > 2000);
    MU_CHECK(ctx.bytes_used == 0);
}

/* U = 1 - 1 / (T_1 T_2): Theorem A needs 155 bits, and more precision than its coarse scale. The
 * bounds of the exact scale must stay. */
static void test_long_scale(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const int64_t t = ((int64_t)1 << 31) - 1;
    const set_t s = {{t, t + 1}, {t - 1, 1}, {1, 1}, {1, 1}, 2, 1};
    gs_analysis_fifo_bound_t out[MOST];
    MU_CHECK(bound(&ctx, &s, GS_FIFO_ORDER_RELEASE, WITHOUT_SINGLE, out) == GS_OK);
    MU_CHECK(why(&out[0], GS_ANALYSIS_FIFO_THEOREM_A) == GS_ANALYSIS_FIFO_REASON_UTILIZATION);
    for (int k = 0; k < 2; k++) {
        MU_CHECK(out[k].theorem == GS_ANALYSIS_FIFO_THEOREM_V2);
        MU_CHECK(out[k].numerator == t && out[k].denominator == 1);
    }
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_fifo_bound_t out[MOST];
    gs_kernel_tasks_t k = kernels(&three);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 1, 9, 0, ALL, out) == GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 1, -1, 0, ALL, out) == GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 1, 0, GS_FIFO_ORDER_OVERLAP, ALL, out) ==
             GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 0, 5, 0, ALL, out) == GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 3, 5, 0, ALL, out) == GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 1, 5, 4, ALL, out) == GS_ERR_VALUE);
    MU_CHECK(gs_analysis_fifo_bound(&ctx, &k, 8, 4, 5, 0, ALL, out) ==
             GS_ERR_VALUE); /* 2 on an SM */
    MU_CHECK(ctx.fault.row == 0 && ctx.fault.value == 3);
}

typedef struct {
    gs_context_t *ctx;
    int left;
} polls_t;

/* Polls at every occasion: the work done is set to the polling threshold. */
static int interrupt_later(void *arg)
{
    polls_t *polls = arg;
    polls->ctx->work = 1000000;
    return polls->left-- == 0 ? GS_ERR_INTERRUPTED : GS_OK;
}

static void test_failures(void)
{
    const set_t *const sets[] = {&three, &late, &tight, &single};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        for (int order = 0; order < ORDERS; order++) {
            int status = GS_ERR_MEMORY;
            int64_t fail_at = 1;
            for (; status != GS_OK && fail_at < 100; fail_at++) {
                gs_context_t ctx;
                gs_context_init(&ctx);
                ctx.fail_at = fail_at;
                gs_analysis_fifo_bound_t out[MOST];
                status = bound(&ctx, sets[i], order, ALL, out);
                MU_CHECK(status == GS_OK || status == GS_ERR_MEMORY);
                MU_CHECK(ctx.bytes_used == 0);
            }
            MU_CHECK(status == GS_OK && fail_at > 5);
        }
    }
}

static void test_interrupt(void)
{
    const set_t *const sets[] = {&three, &late, &single};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        for (int order = 0; order < ORDERS; order++) {
            int status = GS_ERR_INTERRUPTED;
            for (int left = 0; status != GS_OK && left < 1000; left++) {
                gs_context_t ctx;
                gs_context_init(&ctx);
                polls_t polls = {&ctx, left};
                ctx.poll = interrupt_later;
                ctx.poll_arg = &polls;
                ctx.work = 1000000;
                gs_analysis_fifo_bound_t out[MOST];
                status = bound(&ctx, sets[i], order, ALL, out);
                MU_CHECK(status == GS_OK || status == GS_ERR_INTERRUPTED);
                MU_CHECK(status == GS_ERR_INTERRUPTED || left > 0);
                MU_CHECK(ctx.bytes_used == 0);
            }
            MU_CHECK(status == GS_OK);
        }
    }
}

int main(void)
{
    test_vectors();
    test_reasons();
    test_status();
    test_fits();
    test_extremes();
    test_long_scale();
    test_refusals();
    test_failures();
    test_interrupt();
    return MU_END();
}
