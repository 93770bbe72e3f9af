/* Sets of host tasks from fuzz bytes, and their simulation. */
#ifndef FUZZ_HOSTS_H
#define FUZZ_HOSTS_H

#include "fuzz.h"
#include "analysis/common/host_test.h"
#include "simulate/host/host.h"

enum { FUZZ_HOSTS_TASKS = 4, FUZZ_HOSTS_WIDTH = 2, FUZZ_HOSTS_SMS = 3, FUZZ_HOSTS_CPUS = 3 };

typedef struct {
    gs_host_tasks_t hosts;
    int64_t cpus, sms;
    int64_t period[FUZZ_HOSTS_TASKS], deadline[FUZZ_HOSTS_TASKS], priority[FUZZ_HOSTS_TASKS];
    int64_t segments[FUZZ_HOSTS_TASKS];
    int64_t cpu[FUZZ_HOSTS_TASKS * (FUZZ_HOSTS_WIDTH + 1)];
    int64_t copy_in[FUZZ_HOSTS_TASKS * FUZZ_HOSTS_WIDTH];
    int64_t copy_out[FUZZ_HOSTS_TASKS * FUZZ_HOSTS_WIDTH];
    int64_t kernel[FUZZ_HOSTS_TASKS * FUZZ_HOSTS_WIDTH * FUZZ_HOSTS_SMS];
    int64_t core[FUZZ_HOSTS_TASKS];
    int64_t gpu_priority[FUZZ_HOSTS_TASKS];
    int64_t offset[FUZZ_HOSTS_TASKS];
    uint8_t sm[FUZZ_HOSTS_TASKS * FUZZ_HOSTS_SMS];
} fuzz_hosts_t;

static inline void fuzz_hosts_segment(fuzz_t *f, fuzz_hosts_t *s, int64_t at)
{
    s->copy_in[at] = fuzz_time(f, 0, 3);
    s->copy_out[at] = fuzz_time(f, 0, 3);
    int64_t columns = s->hosts.columns, *kernel = s->kernel + at * columns;
    kernel[columns - 1] = fuzz_time(f, 0, 6);
    for (int64_t k = columns - 2; k >= 0; k--) { /* not shorter on fewer SMs */
        int64_t more = fuzz_time(f, 0, 2);
        if (!gs_add(kernel[k + 1], more, &kernel[k])) {
            kernel[k] = more;
        }
    }
}

/* implicit: deadlines that are the periods. */
static inline void fuzz_hosts_read(fuzz_t *f, fuzz_hosts_t *s, bool implicit)
{
    static const int64_t periods[] = {6,  8,  10, 12, 15, 16, 20, 24,
                                      30, 40, 48, 60, 80, 90, 96, 120};
    memset(s, 0, sizeof *s);
    int64_t n = 1 + fuzz_below(f, FUZZ_HOSTS_TASKS);
    s->cpus = fuzz_number(f, 1, FUZZ_HOSTS_CPUS);
    s->sms = 1 + fuzz_below(f, FUZZ_HOSTS_SMS);
    int64_t width = 1 + fuzz_below(f, FUZZ_HOSTS_WIDTH);
    s->hosts = (gs_host_tasks_t){n,           width,       1 + fuzz_below(f, FUZZ_HOSTS_SMS),
                                 s->period,   s->deadline, s->priority,
                                 s->segments, s->cpu,      s->copy_in,
                                 s->kernel,   s->copy_out, NULL};
    for (int64_t i = 0; i < n; i++) {
        int64_t period = periods[fuzz_below(f, 16)];
        s->period[i] = fuzz_time(f, period, period);
        s->deadline[i] = implicit || fuzz_below(f, 3) != 2 ? s->period[i] : fuzz_time(f, 1, period);
        s->priority[i] = 4 * (fuzz_below(f, 64) - 8) + i; /* all differ */
        s->segments[i] = fuzz_number(f, 0, width);
        for (int64_t j = 0; j <= width; j++) {
            s->cpu[i * (width + 1) + j] = fuzz_time(f, j == 0, 5);
        }
        for (int64_t j = 0; j < width; j++) {
            fuzz_hosts_segment(f, s, i * width + j);
        }
        s->core[i] = s->cpus >= 1 && s->cpus <= FUZZ_HOSTS_CPUS ? fuzz_number(f, 0, s->cpus - 1)
                                                                : fuzz_below(f, 4);
        s->gpu_priority[i] = s->priority[i]; /* in the order of each core */
        uint64_t set = 1 + (uint64_t)fuzz_below(f, (1 << s->sms) - 1);
        for (int64_t m = 0; m < s->sms && m < FUZZ_HOSTS_SMS; m++) {
            s->sm[i * s->sms + m] = (uint8_t)(set >> m & 1);
        }
    }
    if (f->hostile && fuzz_one_in(f, 16)) {
        s->gpu_priority[0] = fuzz_number(f, 0, 100);
        s->sm[0] = 0;
    }
    if (f->hostile && fuzz_one_in(f, 32)) {
        s->hosts.n = -fuzz_below(f, 2);
    }
}

/* A system with these tasks, whose releases and execution times are drawn from the bytes. */
static inline gs_simulate_host_model_t fuzz_hosts_model(fuzz_t *f, fuzz_hosts_t *s)
{
    int64_t longest = 1;
    for (int64_t i = 0; i < s->hosts.n; i++) {
        longest = s->period[i] > longest ? s->period[i] : longest;
        s->offset[i] = fuzz_time(f, 0, 40);
    }
    gs_simulate_host_model_t model = {.hosts = s->hosts,
                                      .offset = s->offset,
                                      .core = s->core,
                                      .sm = s->sm,
                                      .cpus = s->cpus,
                                      .sms = s->sms,
                                      .slice = 1,
                                      .server_period = 1,
                                      .low = {1, 1},
                                      .high = {1, 1},
                                      .gap = {0, 1},
                                      .until = longest < GS_NEVER / 64 ? 4 * longest : longest,
                                      .victim = -1,
                                      .key = {fuzz_byte(f), 1, 2, 3},
                                      .log_jobs = true,
                                      .log_intervals = true};
    int64_t kind = fuzz_below(f, 8);
    if ((kind & 1) != 0) {
        model.low = (gs_simulate_host_share_t){fuzz_number(f, 0, 2), 2};
    }
    if ((kind & 2) != 0) {
        model.gap = (gs_simulate_host_share_t){fuzz_number(f, 0, 4), fuzz_number(f, 1, 5)};
    }
    if ((kind & 4) != 0 && s->hosts.n > 0) {
        model.victim = fuzz_number(f, 0, s->hosts.n - 1);
        model.triggers = fuzz_number(f, 1, 15);
        model.offset = NULL;
    }
    return model;
}

/* Jobs and intervals of a run keep the order of time. */
static inline void fuzz_hosts_logs(const gs_simulate_host_t *run)
{
    int64_t *const *job = run->job, *const *interval = run->interval;
    for (int64_t k = 0; k < run->job_count; k++) {
        int64_t release = job[GS_SIMULATE_HOST_JOB_RELEASE][k];
        int64_t start = job[GS_SIMULATE_HOST_JOB_START][k];
        int64_t finish = job[GS_SIMULATE_HOST_JOB_END][k];
        FUZZ_CHECK(k == 0 || job[GS_SIMULATE_HOST_JOB_RELEASE][k - 1] <= release);
        FUZZ_CHECK(start == -1 || start >= release);
        int64_t task = job[GS_SIMULATE_HOST_JOB_TASK][k];
        gs_analysis_common_sums_t sums =
            gs_analysis_common_sums(&run->model.hosts, task, run->model.sms);
        bool starts = sums.cpu + sums.gpu > 0; /* a job without work has no start */
        FUZZ_CHECK(finish == -1 || (finish >= start && (start >= 0 || !starts)));
        FUZZ_CHECK(finish != -1 || !run->done);
        FUZZ_CHECK(finish == -1 || finish - release <= run->worst[task]);
    }
    int64_t count = run->interval_count < 120 ? run->interval_count : 120;
    for (int64_t a = 0; a < count; a++) {
        int64_t begin = interval[GS_SIMULATE_HOST_INTERVAL_START][a];
        int64_t end = interval[GS_SIMULATE_HOST_INTERVAL_END][a];
        int64_t core = interval[GS_SIMULATE_HOST_INTERVAL_CORE][a];
        FUZZ_CHECK(begin < end && core < run->model.cpus + 1);
        for (int64_t b = 0; b < a && core >= 0; b++) { /* a core runs one job at a time */
            FUZZ_CHECK(core != interval[GS_SIMULATE_HOST_INTERVAL_CORE][b] ||
                       end <= interval[GS_SIMULATE_HOST_INTERVAL_START][b] ||
                       interval[GS_SIMULATE_HOST_INTERVAL_END][b] <= begin);
        }
    }
}

/* Runs a model; no response is above its bound (NULL: none). Whether it ran to its end. */
static inline bool fuzz_hosts_simulate(fuzz_t *f, const gs_simulate_host_model_t *model,
                                       const int64_t *bound)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    ctx.states_limit = 300;
    gs_simulate_host_t run;
    int64_t steps = 1 + fuzz_below(f, 256);
    int status = gs_simulate_host_init(&run, &ctx, model);
    if (!fuzz_done(&ctx, status)) {
        fuzz_end(&ctx);
        return false;
    }
    for (int turn = 0; turn < 64 && status == GS_OK && !run.done; turn++) {
        status = gs_simulate_host_run(&run, &ctx, steps);
    }
    fuzz_done(&ctx, status);
    fuzz_hosts_logs(&run);
    for (int64_t i = 0; i < model->hosts.n; i++) {
        FUZZ_CHECK(run.finished[i] <= run.released[i] && run.late[i] <= run.finished[i]);
        FUZZ_CHECK(!run.done || run.finished[i] == run.released[i]);
        if (bound != NULL) {
            fuzz_bound(f, run.worst[i], bound[i]);
        }
    }
    bool done = run.done;
    gs_simulate_host_free(&run, &ctx);
    fuzz_end(&ctx);
    return done;
}

#endif
