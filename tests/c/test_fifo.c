/* Tests of the FIFO simulator: [ECRTS17] and its counterexamples, slices, allocation failures,
 * refusals. */
#include "core/rng.h"
#include "simulate/fifo/fifo.h"

#include "faults.h"
#include "minunit.h"

#include <stdlib.h>
#include <string.h>

static gs_simulate_fifo_model_t model_of(int64_t n, const int64_t *period,
                                         const int64_t *block_time, const int64_t *blocks,
                                         const int64_t *threads, int64_t m, int order,
                                         int64_t until)
{
    return (gs_simulate_fifo_model_t){.kernels = {n, period, block_time, blocks, threads},
                                      .m = m,
                                      .order = order,
                                      .until = until,
                                      .victim = -1,
                                      .key = {1, 2, 3, 4},
                                      .log_jobs = true,
                                      .log_waves = true};
}

static int run_to_end(gs_simulate_fifo_t *fifo, gs_context_t *ctx, int64_t slice)
{
    int status = GS_OK;
    while (status == GS_OK && !fifo->done) {
        status = gs_simulate_fifo_run(fifo, ctx, slice);
    }
    return status;
}

/* Examples 1 and 2, times by ten: one job of each task, and a second one of the first. */
static void test_paper_example(void)
{
    const int64_t period[4] = {80, 160, 170, 180}, time[4] = {38, 60, 60, 112};
    const int64_t blocks[4] = {1, 7, 1, 5}, threads[4] = {1024, 512, 1024, 512};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    gs_simulate_fifo_model_t model =
        model_of(4, period, time, blocks, threads, 4096, GS_FIFO_ORDER_HARDWARE, 100);
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    while (fifo.now < 6) {
        MU_CHECK(gs_simulate_fifo_run(&fifo, &ctx, 1) == GS_OK);
    }
    for (int64_t k = 2; k < 4; k++) { /* released, but no block has started */
        const gs_simulate_fifo_job_t *job = &fifo.job[k];
        MU_CHECK(job->release == 0 && job->waiting == blocks[k]);
        MU_CHECK(job->start == -1 && job->dispatched == -1 && job->end == -1);
    }
    MU_CHECK(run_to_end(&fifo, &ctx, 1) == GS_OK && fifo.job_count == 5);
    const int64_t start[5] = {0, 0, 60, 60, 120}, end[5] = {38, 98, 120, 172, 158};
    for (int k = 0; k < 5; k++) {
        MU_CHECK(fifo.job[k].start == start[k] && fifo.job[k].end == end[k]);
    }
    MU_CHECK(fifo.job[1].dispatched == 38 && fifo.job[4].task == 0 && fifo.job[4].release == 80);
    const gs_simulate_fifo_wave_t second = {1, 0, 6, 0, 60};
    MU_CHECK(memcmp(&fifo.wave[1], &second, sizeof second) == 0);
    gs_simulate_fifo_free(&fifo, &ctx);
    gs_simulate_fifo_free(&fifo, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* X1: two tasks on two threads, U = 1.26; the second one's responses grow by 10 a job. */
static void test_diverges(void)
{
    const int64_t blocks[2] = {2, 1}, threads[2] = {1, 1};
    const int64_t attack[3] = {20, 11, 10},
                  verdict[3] = {GS_SIMULATE_FIFO_DIVERGES, GS_SIMULATE_FIFO_DIVERGES,
                                GS_SIMULATE_FIFO_REPEATS};
    for (int k = 0; k < 3; k++) {
        const int64_t period[2] = {attack[k] + 90, 100}, time[2] = {attack[k], 90};
        gs_context_t ctx;
        gs_simulate_fifo_t fifo;
        gs_context_init(&ctx);
        gs_simulate_fifo_model_t model =
            model_of(2, period, time, blocks, threads, 2, GS_FIFO_ORDER_HARDWARE, GS_CHECK_LATEST);
        model.settle = GS_SIMULATE_FIFO_SETTLE_STOP;
        MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&fifo, &ctx, 1000) == GS_OK && fifo.verdict == verdict[k]);
        bool grows = verdict[k] == GS_SIMULATE_FIFO_DIVERGES;
        MU_CHECK(!fifo.cycle.grows[0] && fifo.cycle.grows[1] == grows);
        MU_CHECK(grows || fifo.worst[1] == 100);
        int64_t seen = 0;
        for (int64_t j = 0; j < fifo.job_count && grows; j++) {
            const gs_simulate_fifo_job_t *job = &fifo.job[j];
            if (job->task == 1 && job->end >= 0 && seen < 5) {
                int64_t growth = attack[k] - 10;
                MU_CHECK(job->end - job->release == 100 + growth * ++seen);
            }
        }
        gs_simulate_fifo_free(&fifo, &ctx);
    }
}

/* Two tasks in one stream that need 30 ticks of every 20: the backlog of the stream grows by four
 * jobs, two hyperperiods' worth, in three hyperperiods. */
static void test_shared_stream_diverges(void)
{
    static const int64_t period[2] = {20, 20}, time[2] = {15, 15}, one[2] = {1, 1}, stream[2] = {0};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    gs_simulate_fifo_model_t model =
        model_of(2, period, time, one, one, 1, GS_FIFO_ORDER_HARDWARE, GS_CHECK_LATEST);
    model.stream = stream;
    model.settle = GS_SIMULATE_FIFO_SETTLE_STOP;
    ctx.states_limit = 1000;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, 1000) == GS_OK);
    MU_CHECK(fifo.verdict == GS_SIMULATE_FIFO_DIVERGES && fifo.cycle.grows[0]);
    MU_CHECK(fifo.length == 60);
    gs_simulate_fifo_free(&fifo, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* X2: bounded where jobs may overlap, unbounded by the rules of the hardware. */
static void test_orders(void)
{
    const int64_t period[2] = {100, 3000}, time[2] = {45, 1000}, blocks[2] = {5, 3},
                  threads[2] = {1, 1};
    for (int order = GS_FIFO_ORDER_HARDWARE; order <= GS_FIFO_ORDER_OVERLAP; order++) {
        gs_context_t ctx;
        gs_simulate_fifo_t fifo;
        gs_context_init(&ctx);
        gs_simulate_fifo_model_t model =
            model_of(2, period, time, blocks, threads, 4, order, 60000);
        model.settle = GS_SIMULATE_FIFO_SETTLE_NOTE;
        MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_OK && fifo.job_count == 620);
        bool bounded = order == GS_FIFO_ORDER_OVERLAP;
        MU_CHECK(fifo.verdict == (bounded ? GS_SIMULATE_FIFO_REPEATS : GS_SIMULATE_FIFO_DIVERGES));
        MU_CHECK(bounded ? fifo.worst[0] == 600 : fifo.worst[0] > 5000);
        gs_simulate_fifo_free(&fifo, &ctx);
    }
}

/* Random sets whose runs must not depend on slices, nor on what is logged. */
static void random_set(uint64_t seed, int64_t n, int64_t table[4][8])
{
    for (uint64_t i = 0; i < (uint64_t)n; i++) {
        table[0][i] = 5 + (int64_t)gs_rng_scale(gs_rng_at(seed, 4 * i), 20);
        table[1][i] = 1 + (int64_t)gs_rng_scale(gs_rng_at(seed, 4 * i + 1), 6);
        table[2][i] = 1 + (int64_t)gs_rng_scale(gs_rng_at(seed, 4 * i + 2), 5);
        table[3][i] = 1 + (int64_t)gs_rng_scale(gs_rng_at(seed, 4 * i + 3), 4);
    }
}

static void test_slices(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (uint64_t seed = 0; seed < 200; seed++) {
        int64_t t[4][8], least[8], slack[8];
        random_set(seed, 4, t);
        for (int i = 0; i < 4; i++) {
            least[i] = 1;
            slack[i] = (int64_t)seed % 7;
        }
        gs_simulate_fifo_model_t model =
            model_of(4, t[0], t[1], t[2], t[3], 8, (int)(seed % 4), 500);
        model.least = least;
        model.slack = slack;
        model.draw = (int)(seed % 3);
        if (seed % 5 == 0) {
            model.victim = (int64_t)seed % 4;
            model.triggers = 1 + (int64_t)(seed % 7);
        }
        gs_simulate_fifo_t whole, sliced;
        MU_CHECK(gs_simulate_fifo_init(&whole, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&whole, &ctx, INT64_MAX) == GS_OK);
        model.log_jobs = model.log_waves = false;
        MU_CHECK(gs_simulate_fifo_init(&sliced, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&sliced, &ctx, 3) == GS_OK);
        MU_CHECK(memcmp(whole.worst, sliced.worst, 4 * sizeof(int64_t)) == 0);
        MU_CHECK(memcmp(whole.finished, sliced.finished, 4 * sizeof(int64_t)) == 0);
        MU_CHECK(whole.waves == sliced.waves && whole.wave_count == whole.waves);
        MU_CHECK(sliced.job_count <= whole.job_count && sliced.wave_count == 0);
        for (int64_t w = 0; w < whole.wave_count; w++) {
            int64_t took = whole.wave[w].end - whole.wave[w].start;
            MU_CHECK(took >= 1 && took <= t[1][whole.wave[w].task]);
        }
        gs_simulate_fifo_free(&whole, &ctx);
        gs_simulate_fifo_free(&sliced, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* A pool of equal SMs: two blocks of 2 warps fit each SM. */
static const gs_gpu_t SMALL = {.sms = 2,
                               .warps_per_sm = 4,
                               .blocks_per_sm = 8,
                               .regs_per_sm = 65536,
                               .smem_per_sm = 65536,
                               .smem_per_block = 65536,
                               .smem_unit = 256,
                               .reg_unit = 256,
                               .partitions = 4};
static const int64_t NONE[8] = {0};

static gs_simulate_fifo_model_t on_sms(gs_simulate_fifo_model_t model, const gs_gpu_t *gpu)
{
    model.gpu = gpu;
    model.regs = model.smem = NONE;
    return model;
}

/* Seven blocks of 64 threads: two waves, the first with two blocks on each SM. */
static void test_sms(void)
{
    const int64_t period[1] = {100}, time[1] = {10}, blocks[1] = {7}, threads[1] = {64};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    for (int placement = GS_BLOCK_PLACEMENT_MOST_ROOM; placement <= GS_BLOCK_PLACEMENT_ROUND_ROBIN;
         placement++) {
        gs_simulate_fifo_model_t model =
            on_sms(model_of(1, period, time, blocks, threads, 0, placement, 1), &SMALL);
        model.placement = placement;
        MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
        MU_CHECK(run_to_end(&fifo, &ctx, 1) == GS_OK && fifo.job_count == 1);
        MU_CHECK(fifo.job[0].dispatched == 10 && fifo.job[0].end == 20);
        MU_CHECK(fifo.wave_count == 4 && fifo.wave_sm[0] != fifo.wave_sm[1]);
        int64_t first = 0, second = 0;
        for (int64_t w = 0; w < fifo.wave_count; w++) {
            first += fifo.wave[w].start == 0 ? fifo.wave[w].blocks : 0;
            second += fifo.wave[w].start == 10 ? fifo.wave[w].blocks : 0;
        }
        MU_CHECK(first == 4 && second == 3);
        gs_simulate_fifo_free(&fifo, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* Two tasks with releases and block times of their own. */
static void test_releases(void)
{
    const int64_t period[2] = {10, 10}, time[2] = {4, 6}, ones[2] = {1, 1};
    const int64_t begin[3] = {0, 3, 4}, release[4] = {2, 12, 30, 3}, given[4] = {4, 1, 2, 6};
    const int64_t end[4] = {6, 12, 13, 32}, task[4] = {0, 1, 0, 0};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    gs_simulate_fifo_model_t model =
        model_of(2, period, time, ones, ones, 1, GS_FIFO_ORDER_HARDWARE, 100);
    model.release_begin = begin;
    model.release = release;
    model.given = given;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, 1) == GS_OK && fifo.job_count == 4);
    for (int k = 0; k < 4; k++) {
        MU_CHECK(fifo.job[k].task == task[k] && fifo.job[k].end == end[k]);
    }
    gs_simulate_fifo_free(&fifo, &ctx);
    model.until = 12;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_OK && fifo.job_count == 2);
    gs_simulate_fifo_free(&fifo, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_faults(int kind)
{
    int64_t t[4][8];
    random_set(11, 8, t);
    for (int run = 0; run < 8; run++) {
        int order = run % 4; /* on threads, then on SMs */
        for (fault_t fault = fault_first(kind); fault_next(&fault);) {
            gs_simulate_fifo_t fifo;
            gs_simulate_fifo_model_t model = model_of(8, t[0], t[1], t[2], t[3], 64, order, 2000);
            model.settle = GS_SIMULATE_FIFO_SETTLE_NOTE;
            model.placement = order % 3;
            model = run < 4 ? model : on_sms(model, &SMALL);
            int status = gs_simulate_fifo_init(&fifo, &fault.ctx, &model);
            if (status == GS_OK) {
                status = run_to_end(&fifo, &fault.ctx, INT64_MAX);
            }
            gs_simulate_fifo_free(&fifo, &fault.ctx);
            fault_check(&fault, status);
            MU_CHECK(kind != FAULT_MEMORY || status != GS_OK || fault.at > 25);
        }
    }
}

static int stop_at_once(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* A chain of three kernels with latencies in a more urgent stream than blocks of ten ticks, one
 * thread: it waits for one of them at each kernel. */
static void test_chains(void)
{
    const int64_t period[2] = {100, 10}, level[2] = {0, 1}, begin[3] = {0, 3, 4};
    const int64_t ones[4] = {1, 1, 1, 1}, time[4] = {1, 1, 1, 10}, latency[4] = {1, 1, 1, 0};
    const gs_kernel_chains_t chains = {2, period, level, begin, ones, ones, time, latency};
    const int64_t soonest[4] = {1, 2, 0, 0};
    const int orders[2] = {GS_FIFO_ORDER_HARDWARE, GS_FIFO_ORDER_RELEASE};
    bool ended = false;
    for (int64_t at = 0; !ended; at++) {
        gs_context_t ctx;
        gs_simulate_fifo_t fifo;
        gs_context_init(&ctx);
        ctx.fail_at = at; /* 0: no allocation fails */
        gs_simulate_fifo_model_t model =
            model_of(0, NULL, NULL, NULL, NULL, 1, GS_FIFO_ORDER_HARDWARE, 50);
        model.chains = &chains;
        int status = gs_simulate_fifo_init(&fifo, &ctx, &model);
        if (status == GS_OK) {
            status = run_to_end(&fifo, &ctx, 1);
        }
        MU_CHECK(status == GS_OK || (status == GS_ERR_MEMORY && at > 0));
        if (status == GS_OK) {
            ended = at > 0;
            MU_CHECK(fifo.job_count == 6 && fifo.job[0].end == 33 && fifo.worst[1] == 13);
            MU_CHECK(fifo.wave_kernel[1] == 0 && fifo.wave_kernel[3] == 1);
        }
        gs_simulate_fifo_free(&fifo, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    for (int k = 0; k < 2; k++) {
        gs_simulate_fifo_model_t model = model_of(0, NULL, NULL, NULL, NULL, 1, orders[k], 50);
        model.chains = &chains;
        model.soonest = k == 0 ? soonest : NULL;
        MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_ERR_VALUE);
    }
}

static void test_budgets(void)
{
    const int64_t one[1] = {1};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    gs_simulate_fifo_model_t model =
        model_of(1, one, one, one, one, 1, GS_FIFO_ORDER_HARDWARE, GS_CHECK_LATEST);
    ctx.states_limit = 1000;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_SPENT_STATES && fifo.job_count == 1000);
    gs_simulate_fifo_free(&fifo, &ctx);
    gs_context_init(&ctx);
    ctx.bytes_limit = 1 << 20;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_SPENT_BYTES && fifo.job_count > 1000);
    gs_simulate_fifo_free(&fifo, &ctx);
    gs_context_init(&ctx);
    ctx.poll = stop_at_once;
    model.log_jobs = model.log_waves = false;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_ERR_INTERRUPTED && fifo.job_count < 3);
    gs_simulate_fifo_free(&fifo, &ctx);
}

/* Given releases: positions and values. */
static void refuse_release(gs_simulate_fifo_model_t model, int64_t second, int code)
{
    const int64_t begin[3] = {0, 2, 3}, release[3] = {7, second, 0};
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    model.release_begin = begin;
    model.release = release;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == code);
    MU_CHECK(code == GS_OK || (ctx.fault.row == 1 && ctx.fault.value == second &&
                               strcmp(ctx.fault.field, "release") == 0));
    gs_simulate_fifo_free(&fifo, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void refuse(gs_simulate_fifo_model_t model, int code, const char *field, int64_t row)
{
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == code);
    MU_CHECK(ctx.fault.field != NULL && strcmp(ctx.fault.field, field) == 0);
    MU_CHECK(ctx.fault.row == row && ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    const int64_t good[2] = {4, 5}, ones[2] = {1, 1}, zero[2] = {1, 0}, wide[2] = {1, 9};
    const int64_t negative[2] = {1, -1}, huge[2] = {1, INT64_MAX / 2}, late[2] = {GS_NEVER / 3, 1};
    const gs_simulate_fifo_model_t fine =
        model_of(2, good, ones, ones, ones, 8, GS_FIFO_ORDER_HARDWARE, 100);
    gs_simulate_fifo_model_t model;
#define WITH(change) (model = fine, change, model)
    refuse(WITH(model.kernels.n = 0), GS_ERR_VALUE, "tasks", -1);
    refuse(WITH(model.m = 0), GS_ERR_VALUE, "m", -1);
    refuse(WITH(model.m = (int64_t)1 << 31), GS_ERR_VALUE, "m", -1);
    refuse(WITH(model.kernels.period = zero), GS_ERR_VALUE, "period", 1);
    refuse(WITH(model.kernels.block_time = negative), GS_ERR_VALUE, "block_time", 1);
    refuse(WITH(model.kernels.blocks = zero), GS_ERR_VALUE, "blocks", 1);
    refuse(WITH(model.kernels.threads = wide), GS_ERR_VALUE, "threads", 1);
    refuse(WITH(model.kernels.block_time = huge), GS_ERR_OVERFLOW, "block_time", 1);
    refuse(WITH((model.kernels.blocks = late, model.kernels.block_time = good)), GS_ERR_OVERFLOW,
           "blocks", 0);
    refuse(WITH(model.kernels.period = late), GS_ERR_OVERFLOW, "period", 0);
    refuse(WITH(model.offset = negative), GS_ERR_VALUE, "offset", 1);
    refuse(WITH(model.offset = late), GS_ERR_OVERFLOW, "offset", 0);
    refuse(WITH(model.slack = negative), GS_ERR_VALUE, "slack", 1);
    refuse(WITH(model.least = zero), GS_ERR_VALUE, "least", 1);
    refuse(WITH(model.least = good), GS_ERR_VALUE, "least", 0);
    refuse(WITH(model.order = 4), GS_ERR_VALUE, "order", -1);
    refuse(WITH(model.draw = -1), GS_ERR_VALUE, "draw", -1);
    refuse(WITH(model.settle = 3), GS_ERR_VALUE, "settle", -1);
    refuse(WITH(model.until = -1), GS_ERR_VALUE, "until", -1);
    refuse(WITH(model.until = GS_NEVER), GS_ERR_OVERFLOW, "until", -1);
    refuse(WITH(model.victim = 2), GS_ERR_VALUE, "victim", -1);
    refuse(WITH(model.victim = 0), GS_ERR_VALUE, "triggers", -1);
    refuse(WITH(model.stream = wide), GS_ERR_VALUE, "stream", 1);
    refuse(WITH((model.stream = zero, model.order = GS_FIFO_ORDER_OVERLAP)), GS_ERR_VALUE, "stream",
           -1);
    refuse(WITH((model.stream = zero, model.victim = 0, model.triggers = 1)), GS_ERR_VALUE,
           "victim", -1);
    refuse(WITH((model.slack = ones, model.settle = GS_SIMULATE_FIFO_SETTLE_NOTE)), GS_ERR_VALUE,
           "settle", -1);
    const int64_t begin[3] = {0, 1, 2}, falling[3] = {0, 2, 1}, from_one[3] = {1, 1, 1};
    model = fine;
    model.release_begin = begin;
    model.release = good;
    const gs_simulate_fifo_model_t with = model;
#define GIVEN(change) (model = with, change, model)
    refuse(GIVEN(model.release_begin = falling), GS_ERR_VALUE, "release_begin", 1);
    refuse(GIVEN((model.release_begin = falling, model.closer = true)), GS_ERR_VALUE,
           "release_begin", 1);
    refuse(GIVEN(model.release_begin = from_one), GS_ERR_VALUE, "release_begin", 0);
    refuse(GIVEN(model.release = negative), GS_ERR_VALUE, "release", 1);
    refuse(GIVEN(model.release = huge), GS_ERR_OVERFLOW, "release", 1);
    refuse(GIVEN(model.given = good), GS_ERR_VALUE, "given", 0);
    refuse(GIVEN(model.given = zero), GS_ERR_VALUE, "given", 1);
    refuse(GIVEN(model.slack = ones), GS_ERR_VALUE, "slack", -1);
    refuse(GIVEN((model.victim = 0, model.triggers = 1)), GS_ERR_VALUE, "victim", -1);
    refuse(GIVEN(model.settle = GS_SIMULATE_FIFO_SETTLE_NOTE), GS_ERR_VALUE, "settle", -1);
#undef GIVEN
    refuse(WITH(model.given = ones), GS_ERR_VALUE, "given", -1);
    refuse_release(fine, 10, GS_ERR_VALUE); /* the period is 4 */
    refuse_release(fine, 11, GS_OK);
    refuse_release(WITH(model.closer = true), 6, GS_ERR_VALUE);
    refuse_release(WITH(model.closer = true), 7, GS_OK);
    const gs_gpu_t empty = {0};
    const int64_t many[2] = {1, 1025}, bytes[2] = {0, 65537};
    refuse(on_sms(fine, &empty), GS_ERR_VALUE, "sms", -1);
    refuse(on_sms(WITH(model.kernels.threads = many), &SMALL), GS_ERR_VALUE, "threads", 1);
    refuse(on_sms(WITH(model.placement = 3), &SMALL), GS_ERR_VALUE, "policy", -1);
    model = on_sms(fine, &SMALL);
    model.smem = bytes;
    refuse(model, GS_ERR_VALUE, "threads", 1);
    model.smem = negative;
    refuse(model, GS_ERR_VALUE, "smem", 1);
#undef WITH
    /* The simulation ends at the largest time. */
    const int64_t long_time[2] = {GS_NEVER / 3, GS_NEVER / 3}, rare[2] = {GS_NEVER / 5, 7};
    model = model_of(1, rare, long_time, ones, ones, 1, GS_FIFO_ORDER_HARDWARE, GS_CHECK_LATEST);
    gs_context_t ctx;
    gs_simulate_fifo_t fifo;
    gs_context_init(&ctx);
    model.kernels.period = ones;
    ctx.states_limit = 100;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_SPENT_STATES);
    gs_simulate_fifo_free(&fifo, &ctx);
    gs_context_init(&ctx);
    model.until = 10;
    MU_CHECK(gs_simulate_fifo_init(&fifo, &ctx, &model) == GS_OK);
    MU_CHECK(run_to_end(&fifo, &ctx, INT64_MAX) == GS_ERR_OVERFLOW);
    MU_CHECK(strcmp(ctx.fault.field, "block_time") == 0);
    gs_simulate_fifo_free(&fifo, &ctx);
}

int main(void)
{
    test_paper_example();
    test_diverges();
    test_shared_stream_diverges();
    test_orders();
    test_slices();
    test_sms();
    test_releases();
    for (int kind = 0; kind < FAULT_KINDS; kind++) {
        test_faults(kind);
    }
    test_chains();
    test_budgets();
    test_refusals();
    return MU_END();
}
