/* Tests of random tasks with CPU and GPU segments: ranges, reproducibility, refusals. */
#include "generate/host_sets.h"

#include "model/host_tasks.h"

#include "minunit.h"

#include <string.h>

static const uint64_t KEY[4] = {1, 2, 3, 4};
static const int64_t PROFILES[2][3] = {{GS_GENERATE_PARTS, 600000, 333333},
                                       {GS_GENERATE_PARTS, GS_GENERATE_PARTS, 1}};

enum { N = 6, WIDTH = 3, SMS = 3 };

typedef struct {
    int64_t period[N], segments[N], cpu[N][WIDTH + 1], copy_in[N][WIDTH], kernel[N][WIDTH][SMS],
        copy_out[N][WIDTH], profile[N];
} set_t;

static gs_generate_hosts_t table_one(void)
{
    return (gs_generate_hosts_t){
        .n = N,
        .ticks = 1000,
        .period = {100, 500},
        .utilization = {50000, 300000},
        .gpu_ratio = {200000, 2000000},
        .segments = {1, WIDTH},
        .cpu_ratio = {300000, 700000},
        .kernel = {700000, 900000},
        .columns = SMS,
        .at = 1,
        .profile = PROFILES[0],
        .profiles = 2,
    };
}

static int draw(gs_context_t *ctx, gs_generate_hosts_t spec, uint64_t index, set_t *set)
{
    gs_generate_host_columns_t out = {set->period,     set->segments,     set->cpu[0],
                                      set->copy_in[0], set->kernel[0][0], set->copy_out[0],
                                      set->profile};
    return gs_generate_hosts(ctx, &spec, KEY, index, &out);
}

static int64_t copies(const set_t *set, int i)
{
    int64_t sum = 0;
    for (int j = 0; j < WIDTH; j++) {
        sum += set->copy_in[i][j] + set->copy_out[i][j];
    }
    return sum;
}

static int64_t job(const set_t *set, int i, int64_t sms)
{
    int64_t sum = set->cpu[i][WIDTH] + copies(set, i);
    for (int j = 0; j < WIDTH; j++) {
        sum += set->cpu[i][j] + set->kernel[i][j][sms - 1];
    }
    return sum;
}

static void check_task(const gs_generate_hosts_t *spec, const set_t *set, int i)
{
    int64_t period = set->period[i], low = spec->utilization.least, high = spec->utilization.most;
    MU_CHECK(period % spec->ticks == 0);
    MU_CHECK(period >= spec->period.least * spec->ticks);
    MU_CHECK(period <= spec->period.most * spec->ticks);
    int64_t work = spec->cpu_only ? job(set, i, 1) : job(set, i, spec->at);
    if (spec->cpu_only) {
        for (int j = 0; j < WIDTH; j++) {
            work -= set->kernel[i][j][0];
        }
    }
    MU_CHECK(work * GS_GENERATE_PARTS >= (low - 1) * period - GS_GENERATE_PARTS);
    MU_CHECK(work * GS_GENERATE_PARTS <= (high + 1) * period + GS_GENERATE_PARTS);
    for (int j = 0; j < WIDTH; j++) {
        const int64_t *part = PROFILES[set->profile[i]];
        for (int k = 0; k < SMS; k++) {
            int64_t scaled = set->kernel[i][j][0] * part[k];
            MU_CHECK(set->kernel[i][j][k] ==
                     scaled / GS_GENERATE_PARTS + (scaled % GS_GENERATE_PARTS != 0));
        }
        if (j >= set->segments[i]) {
            MU_CHECK(set->copy_in[i][j] == 0 && set->copy_out[i][j] == 0);
            MU_CHECK(set->kernel[i][j][0] == 0 && set->cpu[i][j + 1] == 0);
        }
    }
}

static void test_sets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    set_t set;
    for (uint64_t index = 0; index < 600; index++) {
        gs_generate_hosts_t spec = table_one();
        spec.at = 1 + (int64_t)(index % 3);
        spec.even = index % 5 == 0;
        spec.even_copy = index % 7 == 0;
        spec.cpu_only = index % 2 == 0;
        memset(&set, 0x55, sizeof set);
        MU_CHECK(draw(&ctx, spec, index, &set) == GS_OK);
        int64_t users = 0;
        for (int i = 0; i < N; i++) {
            users += set.segments[i] > 0;
            check_task(&spec, &set, i);
        }
        MU_CHECK(users >= 1 && users <= 4); /* n r / (1 + r), r in [0.2, 2] */
        gs_host_tasks_t hosts = {N,
                                 WIDTH,
                                 SMS,
                                 set.period,
                                 set.period,
                                 set.profile,
                                 set.segments,
                                 set.cpu[0],
                                 set.copy_in[0],
                                 set.kernel[0][0],
                                 set.copy_out[0],
                                 NULL};
        MU_CHECK(gs_host_tasks_check(&ctx, &hosts) == GS_OK);
    }
}

/* Draws for one purpose do not shift those for another. */
static void test_streams(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    set_t one, other;
    gs_generate_hosts_t spec = table_one();
    MU_CHECK(draw(&ctx, spec, 3, &one) == GS_OK);
    spec.segments.least = 2;
    spec.even = true;
    spec.cpu_ratio.most = 300000;
    spec.utilization.most = 60000;
    MU_CHECK(draw(&ctx, spec, 3, &other) == GS_OK);
    MU_CHECK(memcmp(one.period, other.period, sizeof one.period) == 0);
    MU_CHECK(memcmp(one.profile, other.profile, sizeof one.profile) == 0);
    for (int i = 0; i < N; i++) {
        MU_CHECK((one.segments[i] > 0) == (other.segments[i] > 0));
    }
}

static int status(gs_context_t *ctx, gs_generate_hosts_t spec)
{
    set_t set;
    gs_context_init(ctx);
    return draw(ctx, spec, 0, &set);
}

#define REFUSED(change, code, name)                                                                \
    do {                                                                                           \
        gs_generate_hosts_t spec = table_one();                                                    \
        change;                                                                                    \
        MU_CHECK(status(&ctx, spec) == (code));                                                    \
        MU_CHECK(strcmp(ctx.fault.field, name) == 0);                                              \
    } while (0)

static void test_refusals(void)
{
    gs_context_t ctx;
    const int64_t starts[3] = {999999, 5, 4}, grows[3] = {GS_GENERATE_PARTS, 5, 6},
                  ends[3] = {GS_GENERATE_PARTS};
    MU_CHECK(status(&ctx, table_one()) == GS_OK);
    REFUSED(spec.n = 0, GS_ERR_VALUE, "tasks");
    REFUSED(spec.ticks = 0, GS_ERR_VALUE, "ticks");
    REFUSED(spec.ticks = INT64_MAX, GS_ERR_OVERFLOW, "periods");
    REFUSED(spec.ticks = GS_NEVER / 2 / GS_GENERATE_PARTS / 500 + 1, GS_ERR_OVERFLOW, "periods");
    REFUSED(spec.period.least = 0, GS_ERR_VALUE, "periods");
    REFUSED(spec.period.most = 99, GS_ERR_VALUE, "periods");
    REFUSED(spec.utilization.most = GS_GENERATE_PARTS + 1, GS_ERR_VALUE, "utilization");
    REFUSED(spec.utilization.least = -1, GS_ERR_VALUE, "utilization");
    REFUSED(spec.gpu_ratio.least = -1, GS_ERR_VALUE, "gpu_ratio");
    REFUSED(spec.segments.least = 0, GS_ERR_VALUE, "segments");
    REFUSED(spec.cpu_ratio.most = INT64_MAX, GS_ERR_VALUE, "cpu_ratio");
    REFUSED(spec.kernel.most = GS_GENERATE_PARTS + 1, GS_ERR_VALUE, "kernel_ratio");
    REFUSED(spec.at = 4, GS_ERR_VALUE, "at");
    REFUSED(spec.at = 0, GS_ERR_VALUE, "at");
    REFUSED(spec.columns = 0, GS_ERR_VALUE, "sms");
    REFUSED(spec.profiles = 0, GS_ERR_VALUE, "profiles");
    REFUSED((spec.profile = starts, spec.profiles = 1), GS_ERR_VALUE, "profiles");
    REFUSED((spec.profile = grows, spec.profiles = 1), GS_ERR_VALUE, "profiles");
    REFUSED((spec.profile = ends, spec.profiles = 1), GS_ERR_VALUE, "profiles");
    /* No copies and no CPU time: what the CPU does says nothing about the GPU. */
    REFUSED((spec.cpu_only = true, spec.cpu_ratio = (gs_generate_range_t){0, 0},
             spec.kernel = (gs_generate_range_t){GS_GENERATE_PARTS, GS_GENERATE_PARTS},
             spec.ticks = 1000000000),
            GS_ERR_OVERFLOW, "kernel_ratio");
}

/* The shortest and the longest periods, and tasks that do next to nothing. */
static void test_extremes(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    set_t set;
    gs_generate_hosts_t spec = table_one();
    spec.ticks = 1;
    spec.period = (gs_generate_range_t){1, 1};
    spec.utilization = (gs_generate_range_t){0, 0};
    MU_CHECK(draw(&ctx, spec, 0, &set) == GS_OK);
    for (int i = 0; i < N; i++) {
        MU_CHECK(job(&set, i, 1) >= 1);
        MU_CHECK(job(&set, i, 1) <= (set.segments[i] > 1 ? set.segments[i] : 1));
    }
    spec.period = (gs_generate_range_t){GS_NEVER / 2 / GS_GENERATE_PARTS - 1,
                                        GS_NEVER / 2 / GS_GENERATE_PARTS - 1};
    spec.utilization = (gs_generate_range_t){GS_GENERATE_PARTS, GS_GENERATE_PARTS};
    spec.at = 3;
    for (uint64_t index = 0; index < 50; index++) {
        MU_CHECK(draw(&ctx, spec, index, &set) == GS_OK);
        for (int i = 0; i < N; i++) {
            int64_t gap = job(&set, i, 3) - set.period[i];
            MU_CHECK(gap == 0);
            MU_CHECK(job(&set, i, 1) > 0 && job(&set, i, 1) < GS_NEVER);
        }
    }
}

static int give_up(void *arg)
{
    (*(int *)arg)++;
    return GS_ERR_INTERRUPTED;
}

static void test_poll(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int polls = 0;
    ctx.poll = give_up;
    ctx.poll_arg = &polls;
    set_t set;
    int found = GS_OK;
    for (uint64_t index = 0; index < 100000 && found == GS_OK; index++) {
        found = draw(&ctx, table_one(), index, &set);
    }
    MU_CHECK(found == GS_ERR_INTERRUPTED && polls == 1);
}

int main(void)
{
    test_sets();
    test_streams();
    test_refusals();
    test_extremes();
    test_poll();
    return MU_END();
}
