/* Tests of random tasks on cores: bounds of what is drawn, reproducibility, refusals. */
#include "generate/gcaps_sets.h"

#include "minunit.h"

#include <string.h>

static const uint64_t KEY[4] = {1, 2, 3, 4};

enum { CPUS = 3, TASKS = 4, N = CPUS * TASKS, WIDTH = 3 };

typedef struct {
    int64_t period[N], core[N], segments[N], cpu[N][WIDTH + 1], copy_in[N][WIDTH], kernel[N][WIDTH];
} set_t;

static gs_generate_gcaps_t table_three(void)
{
    return (gs_generate_gcaps_t){
        .cpus = CPUS,
        .tasks = {2, TASKS},
        .utilization = {400000, 600000},
        .ticks = 10,
        .period = {30, 500},
        .gpu_share = {400000, 600000},
        .segments = {1, WIDTH},
        .gpu_ratio = {200000, 2000000},
        .copy = {100000, 300000},
    };
}

static int draw(gs_context_t *ctx, gs_generate_gcaps_t spec, uint64_t index, set_t *set,
                int64_t *size)
{
    gs_generate_gcaps_columns_t out = {set->period, set->core,       set->segments,
                                       set->cpu[0], set->copy_in[0], set->kernel[0]};
    return gs_generate_gcaps(ctx, &spec, KEY, index, &out, size);
}

static void check_task(const set_t *set, int64_t i)
{
    int64_t work = set->cpu[i][WIDTH];
    for (int64_t j = 0; j < WIDTH; j++) {
        int64_t segment = set->copy_in[i][j] + set->kernel[i][j];
        MU_CHECK((segment >= 1) == (j < set->segments[i]));
        MU_CHECK(set->copy_in[i][j] * 10 <= segment * 3 + 10);
        MU_CHECK(j < set->segments[i] || set->cpu[i][j + 1] == 0);
        work += set->cpu[i][j] + segment;
    }
    MU_CHECK(set->period[i] >= 300 && set->period[i] <= 5000 && set->period[i] % 10 == 0);
    MU_CHECK(work >= 1 && work <= (set->period[i] * 6 + 9) / 10 + WIDTH);
}

static void test_sets(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t users = 0, size, again;
    set_t set, other;
    for (uint64_t index = 0; index < 300; index++) {
        MU_CHECK(draw(&ctx, table_three(), index, &set, &size) == GS_OK);
        MU_CHECK(draw(&ctx, table_three(), index, &other, &again) == GS_OK);
        MU_CHECK(size == again && memcmp(&set, &other, sizeof set) == 0);
        MU_CHECK(size >= 2 * CPUS && size <= N);
        for (int64_t i = 0; i < size; i++) {
            MU_CHECK(set.core[i] >= 0 && set.core[i] < CPUS);
            MU_CHECK(i == 0 || set.core[i] >= set.core[i - 1]);
            check_task(&set, i);
            users += set.segments[i] > 0;
        }
        for (int64_t i = size; i < N; i++) {
            MU_CHECK(set.period[i] == 0 && set.core[i] == -1 && set.segments[i] == 0);
        }
    }
    MU_CHECK(users > 1000);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    gs_context_t ctx;
    set_t set;
    int64_t size;
    gs_generate_gcaps_t spec[12];
    const char *field[12] = {"cpus",        "cpus",      "tasks",    "tasks",
                             "utilization", "gpu_share", "segments", "gpu_ratio",
                             "ticks",       "periods",   "periods",  "copy_ratio"};
    for (int i = 0; i < 12; i++) {
        spec[i] = table_three();
    }
    spec[0].cpus = 0;
    spec[1].cpus = INT64_MAX;
    spec[2].tasks.least = 0;
    spec[3].tasks.most = INT64_MAX;
    spec[4].utilization.most = GS_GENERATE_PARTS + 1;
    spec[5].gpu_share.least = -1;
    spec[6].segments.least = 4;
    spec[7].gpu_ratio.most = INT64_MAX;
    spec[8].ticks = 0;
    spec[9].period.least = INT64_MIN;
    spec[10].period.most = INT64_MAX;
    spec[11].copy.most = INT64_MAX;
    for (int i = 0; i < 12; i++) {
        gs_context_init(&ctx);
        MU_CHECK(draw(&ctx, spec[i], 0, &set, &size) != GS_OK);
        MU_CHECK(strcmp(ctx.fault.field, field[i]) == 0);
    }
    gs_context_init(&ctx);
    ctx.bytes_limit = 1;
    MU_CHECK(draw(&ctx, table_three(), 0, &set, &size) != GS_OK);
}

int main(void)
{
    test_sets();
    test_refusals();
    return MU_END();
}
