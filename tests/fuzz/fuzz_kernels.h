/* Kernels in FIFO queues from fuzz bytes, and their simulation against bounds. */
#ifndef FUZZ_KERNELS_H
#define FUZZ_KERNELS_H

#include "fuzz.h"
#include "simulate/fifo/fifo.h"

enum { FUZZ_KERNELS_TASKS = 4, FUZZ_KERNELS_PER_TASK = 3, FUZZ_KERNELS_ROWS = 12 };

/* Tasks, with one kernel each or with chains; columns of kernels have a row for each. */
typedef struct {
    int64_t n, m;
    int64_t period[FUZZ_KERNELS_TASKS], level[FUZZ_KERNELS_TASKS], offset[FUZZ_KERNELS_TASKS];
    int64_t stream[FUZZ_KERNELS_TASKS], slack[FUZZ_KERNELS_TASKS], begin[FUZZ_KERNELS_TASKS + 1];
    int64_t blocks[FUZZ_KERNELS_ROWS], threads[FUZZ_KERNELS_ROWS], block_time[FUZZ_KERNELS_ROWS];
    int64_t latency[FUZZ_KERNELS_ROWS], soonest[FUZZ_KERNELS_ROWS], least[FUZZ_KERNELS_ROWS];
    int64_t regs[FUZZ_KERNELS_ROWS], smem[FUZZ_KERNELS_ROWS];
    gs_kernel_tasks_t kernels;
    gs_kernel_chains_t chains;
    gs_gpu_t gpu;
} fuzz_kernels_t;

/* unit: threads come in units of it. */
static inline void fuzz_kernels_read(fuzz_t *f, fuzz_kernels_t *s, bool chains, int64_t unit)
{
    memset(s, 0, sizeof *s);
    s->n = 1 + fuzz_below(f, FUZZ_KERNELS_TASKS);
    s->m = 1 + fuzz_below(f, 12);
    for (int64_t i = 0; i < s->n; i++) {
        s->period[i] = fuzz_time(f, 4, 80);
        s->level[i] = fuzz_number(f, 0, 2);
        s->stream[i] = fuzz_number(f, 0, s->n - 1);
        s->begin[i + 1] = s->begin[i] + 1 + (chains ? fuzz_below(f, FUZZ_KERNELS_PER_TASK) : 0);
        for (int64_t j = s->begin[i]; j < s->begin[i + 1]; j++) {
            s->blocks[j] = fuzz_number(f, 1, 4);
            int64_t threads = fuzz_number(f, 1, s->m);
            s->threads[j] = gs_mul(threads, unit, &s->threads[j]) ? s->threads[j] : threads;
            s->block_time[j] = fuzz_time(f, 1, 10);
            s->latency[j] = fuzz_one_in(f, 3) ? fuzz_time(f, 0, 2) : 0;
            s->regs[j] = fuzz_number(f, 0, 64);
            s->smem[j] = fuzz_number(f, 0, 48);
        }
    }
    s->m *= unit;
    s->kernels = (gs_kernel_tasks_t){s->n, s->period, s->block_time, s->blocks, s->threads};
    s->chains = (gs_kernel_chains_t){s->n,      s->period,  s->level,      s->begin,
                                     s->blocks, s->threads, s->block_time, s->latency};
    if (f->hostile && fuzz_one_in(f, 32)) {
        s->kernels.n = s->chains.n = -fuzz_below(f, 2);
    }
}

/* A GPU with as many SMs, each of which holds s->m threads. */
static inline void fuzz_kernels_device(fuzz_t *f, fuzz_kernels_t *s, int32_t sms)
{
    s->gpu = (gs_gpu_t){.sms = sms,
                        .warps_per_sm = (int32_t)(s->m / GS_GPU_WARP_THREADS),
                        .blocks_per_sm = (int32_t)fuzz_number(f, 1, 16),
                        .regs_per_sm = 32768,
                        .smem_per_sm = 64,
                        .smem_per_block = 64,
                        .smem_unit = 1,
                        .reg_unit = 256,
                        .partitions = 1};
}

/* A system with these tasks, whose releases and times are drawn from the bytes. */
static inline gs_simulate_fifo_model_t fuzz_kernels_model(fuzz_t *f, fuzz_kernels_t *s, bool chains)
{
    int64_t longest = 1, rows = chains ? s->begin[s->n] : s->n;
    for (int64_t i = 0; i < s->n; i++) {
        s->offset[i] = fuzz_time(f, 0, 40);
        s->slack[i] = fuzz_time(f, 0, 9);
        longest = s->period[i] > longest ? s->period[i] : longest;
    }
    for (int64_t j = 0; j < rows; j++) {
        s->least[j] = fuzz_number(f, 1, s->block_time[j]);
        s->soonest[j] = fuzz_number(f, 0, s->latency[j]);
    }
    uint64_t kind = (uint64_t)fuzz_below(f, 256);
    gs_simulate_fifo_model_t model = {.kernels = s->kernels,
                                      .chains = chains ? &s->chains : NULL,
                                      .soonest = chains && (kind & 1) != 0 ? s->soonest : NULL,
                                      .offset = (kind & 2) != 0 ? s->offset : NULL,
                                      .priority = s->level,
                                      .least = (kind & 4) != 0 ? s->least : NULL,
                                      .slack = (kind & 8) != 0 ? s->slack : NULL,
                                      .m = s->m,
                                      .draw = (int)fuzz_number(f, 0, 2),
                                      .until = longest < GS_NEVER / 64 ? 6 * longest : longest,
                                      .victim = -1,
                                      .key = {fuzz_byte(f), 1, 2, 3},
                                      .log_jobs = (kind & 16) != 0,
                                      .log_waves = (kind & 32) != 0};
    if (kind >= 192 && s->n > 0) {
        model.victim = fuzz_number(f, 0, s->n - 1);
        model.triggers = fuzz_number(f, 1, 7);
        model.offset = NULL;
    }
    return model;
}

/* A bound of a task as a fraction; denominator 0: none. */
typedef struct {
    int64_t numerator, denominator;
} fuzz_kernels_bound_t;

/* Jobs keep the order of their events; waves fit the threads. */
static inline void fuzz_kernels_logs(const gs_simulate_fifo_t *run)
{
    for (int64_t k = 0; k < run->job_count && run->model.log_jobs; k++) {
        const gs_simulate_fifo_job_t *job = &run->job[k];
        FUZZ_CHECK(job->start == -1 || job->start >= job->release);
        FUZZ_CHECK(job->dispatched == -1 || job->dispatched >= job->start);
        FUZZ_CHECK(job->end == -1 || job->end > job->dispatched);
        FUZZ_CHECK(job->end == -1 || job->end - job->release <= run->worst[job->task]);
    }
    int64_t count = run->wave_count < 120 ? run->wave_count : 120;
    for (int64_t a = 0; a < count && run->model.log_waves; a++) {
        int64_t busy = 0;
        for (int64_t b = 0; b <= a; b++) {
            bool runs = run->wave[b].end > run->wave[a].start;
            busy += runs && run->model.chains == NULL && run->model.gpu == NULL
                        ? run->wave[b].blocks * run->model.kernels.threads[run->wave[b].task]
                        : 0;
        }
        FUZZ_CHECK(busy <= run->model.m);
        FUZZ_CHECK(a == 0 || run->wave[a - 1].start <= run->wave[a].start);
    }
}

/* Runs a model: no response is above its bound (NULL: no bounds). */
static inline void fuzz_kernels_simulate(fuzz_t *f, const gs_simulate_fifo_model_t *model,
                                         const fuzz_kernels_bound_t *bound)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    ctx.states_limit = 200;
    gs_simulate_fifo_t run;
    int64_t waves = 1 + fuzz_below(f, 256);
    int status = gs_simulate_fifo_init(&run, &ctx, model);
    if (!fuzz_done(&ctx, status)) {
        fuzz_end(&ctx);
        return;
    }
    for (int turn = 0; turn < 32 && status == GS_OK && !run.done; turn++) {
        status = gs_simulate_fifo_run(&run, &ctx, waves);
    }
    fuzz_done(&ctx, status);
    fuzz_kernels_logs(&run);
    for (int64_t i = 0; i < model->kernels.n; i++) {
        FUZZ_CHECK(run.finished[i] <= run.released[i]);
        FUZZ_CHECK(!run.done || run.verdict != GS_SIMULATE_FIFO_OPEN ||
                   run.finished[i] == run.released[i]);
        if (bound != NULL && bound[i].denominator > 0) {
            fuzz_bound(f, run.worst[i], bound[i].numerator / bound[i].denominator);
            FUZZ_CHECK(run.verdict != GS_SIMULATE_FIFO_DIVERGES || run.cycle.grows == NULL ||
                       model->stream != NULL || run.cycle.grows[i] == 0);
        }
    }
    gs_simulate_fifo_free(&run, &ctx);
    fuzz_end(&ctx);
}

#endif
