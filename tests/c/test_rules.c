/* Tests of the check of block logs: each rule, refusals, failing allocations, interrupts. */
#include <stdlib.h>
#include <string.h>

#include "io/rules/rules.h"

#include "minunit.h"

/* Two SMs of 64 warps, three streams, of which the last one is urgent. */
enum { KERNELS = 4, BLOCKS = 11 };

static const gs_gpu_t gpu = {.sms = 2,
                             .warps_per_sm = 64,
                             .blocks_per_sm = 32,
                             .regs_per_sm = 65536,
                             .smem_per_sm = 65536,
                             .smem_per_block = 49152,
                             .smem_unit = 256,
                             .reg_unit = 256,
                             .partitions = 4};

typedef struct {
    int64_t stream[KERNELS], launch[KERNELS], joined[KERNELS], threads[KERNELS], regs[KERNELS],
        smem[KERNELS], priority[KERNELS], context[KERNELS];
    int64_t kernel[BLOCKS], block[BLOCKS], sm[BLOCKS], start[BLOCKS], end[BLOCKS];
} columns_t;

static const columns_t example = {
    .stream = {0, 1, 2, 0},
    .launch = {0, 10, 120, 20},
    .joined = {0, 10, 120, 100},
    .threads = {1024, 1024, 512, 256},
    .priority = {0, 0, -1, 0},
    .kernel = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3},
    .block = {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 0},
    .sm = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0},
    .start = {0, 0, 0, 0, 100, 100, 100, 100, 200, 200, 200},
    .end = {100, 100, 100, 100, 200, 200, 200, 200, 250, 260, 300},
};

static gs_io_rules_log_t log_of(const columns_t *c)
{
    return (gs_io_rules_log_t){KERNELS,   c->stream, c->launch,   c->joined,  c->threads,
                               c->regs,   c->smem,   c->priority, c->context, BLOCKS,
                               c->kernel, c->block,  c->sm,       c->start,   c->end};
}

static const gs_io_rules_options_t exact = {.placement = true};
/* The same where two kernels run at once. */
static const gs_io_rules_options_t limited = {.placement = true, .resident_grids = 2};

/* Checks a log; the findings are freed by the caller. */
static int check(gs_context_t *ctx, const columns_t *columns, const gs_io_rules_options_t *options,
                 gs_io_rules_findings_t *findings)
{
    gs_io_rules_log_t log = log_of(columns);
    return gs_io_rules_check(ctx, &gpu, &log, options, findings);
}

/* The first finding of a rule is this one. */
static bool finds(const columns_t *columns, const gs_io_rules_options_t *options, int rule,
                  int32_t kernel, int64_t block, int64_t time)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_rules_findings_t found;
    bool is = false;
    MU_CHECK(check(&ctx, columns, options, &found) == GS_OK);
    for (int64_t i = 0; i < found.count; i++) {
        const gs_io_rules_finding_t *one = &found.finding[i];
        if (one->rule == rule) {
            is = one->kernel == kernel && one->block == block && one->time == time;
            break;
        }
    }
    gs_io_rules_free(&found, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return is;
}

static void test_rules(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_rules_findings_t found;
    MU_CHECK(check(&ctx, &example, &exact, &found) == GS_OK && found.count == 0);
    gs_io_rules_free(&found, &ctx);
    columns_t c = example;
    c.sm[8] = 1, c.sm[9] = 0;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_PLACEMENT, 2, 0, 200));
    c = example, c.sm[6] = 1;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_LIMITS, 1, 3, 100));
    c = example, c.start[10] = 90;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_STREAM, 3, 0, 90));
    c = example, c.launch[0] = c.joined[0] = -5, c.launch[1] = c.joined[1] = -9;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_QUEUE, 0, 0, 0));
    c = example, c.start[8] = c.start[9] = 220, c.end[8] = c.end[9] = 270;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_PRIORITY, 3, 0, 200));
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_IDLE, 2, 0, 200));
    c = example, c.start[10] = 230;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_IDLE, 3, 0, 200));
    c.context[3] = 1; /* time slices are not in a log */
    MU_CHECK(!finds(&c, &exact, GS_IO_RULES_IDLE, 3, 0, 200));
}

/* Kernels 2 and 3 run from 200 on, kernel 1 until then. */
static void test_grids(void)
{
    columns_t c = example;
    MU_CHECK(!finds(&c, &limited, GS_IO_RULES_GRIDS, 0, 0, 0));
    c.end[7] = 201;
    MU_CHECK(finds(&c, &limited, GS_IO_RULES_GRIDS, 3, 0, 200));
    const gs_io_rules_options_t loose = {.tolerance = 1, .placement = true, .resident_grids = 2};
    MU_CHECK(!finds(&c, &loose, GS_IO_RULES_GRIDS, 3, 0, 200));
    c.context[1] = 1;
    MU_CHECK(!finds(&c, &limited, GS_IO_RULES_GRIDS, 3, 0, 200));
    /* Kernel 2 waits until kernel 0 ends at 150, or 1 and 3 at 200 and 300: two others run. */
    c = example;
    c.end[3] = 150, c.start[8] = c.start[9] = 300, c.end[8] = c.end[9] = 350;
    c.joined[3] = c.launch[3] = 0, c.stream[3] = 5, c.start[10] = 150, c.sm[10] = 1;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_PRIORITY, 3, 0, 150));
    MU_CHECK(!finds(&c, &limited, GS_IO_RULES_PRIORITY, 3, 0, 150));
    /* A kernel that has room, but no place, is not late. */
    c = example, c.start[10] = 250;
    MU_CHECK(finds(&c, &exact, GS_IO_RULES_IDLE, 3, 0, 200));
    const gs_io_rules_options_t alone = {.placement = true, .resident_grids = 1};
    c.start[10] = 260; /* at the end of kernel 2 */
    MU_CHECK(!finds(&c, &alone, GS_IO_RULES_IDLE, 3, 0, 200));
}

static void test_refusals(void)
{
    struct {
        size_t column;
        int64_t row, value;
        int status;
        const char *field;
    } cases[] = {
        {offsetof(columns_t, kernel), 3, KERNELS, GS_ERR_VALUE, "kernel"},
        {offsetof(columns_t, kernel), 3, -1, GS_ERR_VALUE, "kernel"},
        {offsetof(columns_t, kernel), 10, 2, GS_ERR_VALUE, "kernel"}, /* none of kernel 3 */
        {offsetof(columns_t, block), 3, -1, GS_ERR_VALUE, "block"},
        {offsetof(columns_t, block), 3, 4, GS_ERR_VALUE, "block"},
        {offsetof(columns_t, block), 3, 2, GS_ERR_VALUE, "block"},
        {offsetof(columns_t, block), 3, INT64_MAX, GS_ERR_VALUE, "block"},
        {offsetof(columns_t, sm), 3, 2, GS_ERR_VALUE, "sm"},
        {offsetof(columns_t, sm), 3, -1, GS_ERR_VALUE, "sm"},
        {offsetof(columns_t, end), 3, -1, GS_ERR_VALUE, "end"},
        {offsetof(columns_t, end), 3, INT64_MAX, GS_ERR_OVERFLOW, "end"},
        {offsetof(columns_t, start), 3, INT64_MIN, GS_ERR_OVERFLOW, "start"},
        {offsetof(columns_t, launch), 3, GS_IO_RULES_LATEST, GS_ERR_OVERFLOW, "launch"},
        {offsetof(columns_t, joined), 3, -GS_IO_RULES_LATEST, GS_ERR_OVERFLOW, "joined"},
        {offsetof(columns_t, threads), 3, 0, GS_ERR_VALUE, "threads"},
        {offsetof(columns_t, threads), 3, 1025, GS_ERR_VALUE, "threads"},
        {offsetof(columns_t, regs), 3, -1, GS_ERR_VALUE, "regs"},
        {offsetof(columns_t, smem), 3, INT64_MAX, GS_ERR_VALUE, "threads"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        columns_t columns = example;
        memcpy((char *)&columns + cases[k].column + (size_t)cases[k].row * sizeof(int64_t),
               &cases[k].value, sizeof cases[k].value);
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_rules_findings_t found;
        MU_CHECK(check(&ctx, &columns, &exact, &found) == cases[k].status);
        MU_CHECK(ctx.fault.field != NULL && strcmp(ctx.fault.field, cases[k].field) == 0);
        gs_io_rules_free(&found, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    const gs_io_rules_options_t wrong[] = {
        {.tolerance = -1},      {.tolerance = GS_IO_RULES_LATEST},
        {.latency = -1},        {.latency = INT64_MAX},
        {.resident_grids = -1}, {.resident_grids = INT64_MAX}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_rules_findings_t found;
        gs_io_rules_log_t log = log_of(&example);
        MU_CHECK(gs_io_rules_check(&ctx, &gpu, &log, &wrong[k], &found) < 0);
        gs_io_rules_free(&found, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

/* Times, tolerance and latency at their bounds. */
static void test_extremes(void)
{
    columns_t columns = example;
    columns.start[0] = columns.launch[0] = columns.joined[0] = 1 - GS_IO_RULES_LATEST;
    columns.end[10] = GS_IO_RULES_LATEST - 1;
    gs_io_rules_log_t log = log_of(&columns);
    for (int which = 0; which < 4; which++) {
        gs_io_rules_options_t options = {which & 1 ? GS_IO_RULES_LATEST - 1 : 0,
                                         which & 2 ? GS_IO_RULES_LATEST - 1 : 0, true,
                                         1 + which % 3};
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_rules_findings_t found;
        MU_CHECK(gs_io_rules_check(&ctx, &gpu, &log, &options, &found) == GS_OK);
        gs_io_rules_free(&found, &ctx);
    }
    log = (gs_io_rules_log_t){0};
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_rules_findings_t found;
    MU_CHECK(gs_io_rules_check(&ctx, &gpu, &log, &exact, &found) == GS_OK && found.count == 0);
    gs_io_rules_free(&found, &ctx);
}

static void test_failing_allocations(const gs_io_rules_options_t *options, int64_t least)
{
    columns_t columns = example; /* a log with findings of several rules, in two orders */
    columns.start[8] = columns.start[9] = 220;
    columns.sm[6] = 1;
    int64_t failed = 0;
    for (int64_t at = 1;; at++, failed++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        gs_io_rules_findings_t found;
        int status = check(&ctx, &columns, options, &found);
        gs_io_rules_free(&found, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
        if (status == GS_OK) {
            break;
        }
        MU_CHECK(status == GS_ERR_MEMORY);
    }
    MU_CHECK(failed >= least);
}

static int give_up(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* From every part of the work, a long check returns. */
static void test_interrupt(void)
{
    columns_t columns = example;
    int interrupted = 0;
    for (int64_t work = 999999; work > 999000; work -= 7) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.poll = give_up;
        ctx.work = work;
        gs_io_rules_findings_t found;
        int status = check(&ctx, &columns, &limited, &found);
        gs_io_rules_free(&found, &ctx);
        MU_CHECK(status == GS_OK || status == GS_ERR_INTERRUPTED);
        MU_CHECK(ctx.bytes_used == 0);
        interrupted += status != GS_OK;
    }
    MU_CHECK(interrupted > 20);
}

int main(void)
{
    test_rules();
    test_grids();
    test_refusals();
    test_extremes();
    test_failing_allocations(&exact, 30);
    test_failing_allocations(&limited, 32);
    test_interrupt();
    return MU_END();
}
