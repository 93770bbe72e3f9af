/* Which set of CPU-only and GPU-using tasks has this number, for this scenario and seed? */
#include "model/generate_elliott.h"

#include "core/rng.h"
#include "core/load.h"

#include <math.h>

/* A sum of 2^20 quotients is off by less than this share of it: one this near to 1 is decided in
 * whole numbers. */
#define NEAR 1e-9

static int check_interval(gs_env_t *env, const char *field, const double interval[2], bool zero)
{
    for (int i = 0; i < 2; i++) {
        if (!(interval[i] >= 0 && interval[i] <= 1) || (!zero && interval[i] * 0x1p32 < 1)) {
            return gs_fail(env, GS_ERR_VALUE, field, -1, -1,
                           zero ? "must be two shares from 0 to 1"
                                : "must be two utilizations above 0, at most 1");
        }
    }
    if (interval[1] < interval[0]) {
        return gs_fail(env, GS_ERR_VALUE, field, -1, -1, "the first must not exceed the second");
    }
    return GS_OK;
}

static int check(gs_env_t *env, const gs_elliott_t *spec)
{
    if (spec->cpus < 1 || spec->cpus > INT32_MAX) {
        return gs_fail(env, GS_ERR_VALUE, "cpus", -1, spec->cpus,
                       "must be a positive number of CPUs within 31 bits");
    }
    int status = check_interval(env, "utilization", spec->utilization, false);
    if (status == GS_OK) {
        status = check_interval(env, "share", spec->share, true);
    }
    if (status != GS_OK) {
        return status;
    }
    if (spec->period[0] < 1 || spec->period[1] < spec->period[0]) {
        return gs_fail(env, GS_ERR_VALUE, "period", spec->period[0] >= 1,
                       spec->period[spec->period[0] >= 1], "must be positive, the shortest first");
    }
    if (spec->period[1] > INT32_MAX) {
        return gs_fail(env, GS_ERR_OVERFLOW, "period", 1, spec->period[1],
                       "must be within 31 bits");
    }
    if (spec->gpu < 0 || spec->gpu > 1000) {
        return gs_fail(env, GS_ERR_VALUE, "gpu", -1, spec->gpu, "must be 0 to 1000 per mille");
    }
    if (spec->overhead < 0 || spec->overhead > 1000 - spec->gpu) {
        return gs_fail(env, GS_ERR_VALUE, "overhead", -1, spec->overhead,
                       "must be 0 to 1000 per mille, with the kernel's share");
    }
    if (spec->rounding < GS_ELLIOTT_NEAREST || spec->rounding > GS_ELLIOTT_UP) {
        return gs_fail(env, GS_ERR_VALUE, "rounding", -1, spec->rounding, "is no way to round");
    }
    return GS_OK;
}

static uint64_t fixed_point(double share)
{
    return (uint64_t)(share * 0x1p32 + 0.5); /* the product is exact */
}

static uint64_t work_of(uint64_t utilization, uint64_t period)
{
    uint64_t work = (utilization * period + (UINT64_C(1) << 31)) >> 32;
    return work > 0 ? work : 1;
}

/* What is known of every task before it is drawn. */
static void find_limits(gs_elliott_sets_t *self)
{
    /* E / p is at most half a tick away from u, and no less than a tick. */
    double shortest = (double)self->spec.period[0], longest = (double)self->spec.period[1];
    double least = (double)self->first_utilization * 0x1p-32, most = 1 / shortest;
    double high = least + (double)self->utilizations * 0x1p-32 + 0.5 / shortest;
    least -= 0.5 / shortest;
    least = least > 1 / longest ? least : 1 / longest;
    most = high > most ? high : most;
    self->least = least * (1 - NEAR);
    self->most = most * (1 + NEAR);
    self->fewest = (1 - 2 * NEAR) / most;
    /* Both parts of a critical section are rounded, or it is all of E. */
    self->part = (double)(self->spec.gpu + self->spec.overhead) / 1000 * (1 - NEAR);
    self->cut = 1 / shortest;
}

int gs_elliott_init(gs_elliott_sets_t *self, gs_env_t *env, const gs_elliott_t *spec,
                    const uint64_t key[4])
{
    *self = (gs_elliott_sets_t){.spec = *spec};
    int status = check(env, spec);
    if (status != GS_OK) {
        return status;
    }
    self->first_utilization = fixed_point(spec->utilization[0]);
    self->utilizations = fixed_point(spec->utilization[1]) - self->first_utilization;
    self->first_share = fixed_point(spec->share[0]);
    self->shares = fixed_point(spec->share[1]) - self->first_share;
    static const uint64_t ups[] = {UINT64_C(1) << 31, 0, UINT32_MAX};
    self->up = ups[spec->rounding];
    find_limits(self);
    double most = (double)spec->cpus / self->least;
    if (!(most < GS_ELLIOTT_TASKS)) {
        return gs_fail(env, GS_ERR_VALUE, "cpus", -1, spec->cpus,
                       "sets could have more than a million tasks, with utilizations this small");
    }
    self->room = (int64_t)most + 2;
    gs_rng_t rng;
    gs_rng_init(&rng, key, 0, GS_STREAM_ELLIOTT);
    self->base = gs_rng_next(&rng);
    size_t room = (size_t)self->room;
    self->period = gs_alloc(env, room, sizeof *self->period);
    self->work = self->period == NULL ? NULL : gs_alloc(env, room, sizeof *self->work);
    self->numer = self->work == NULL ? NULL : gs_alloc(env, room, sizeof *self->numer);
    self->denom = self->numer == NULL ? NULL : gs_alloc(env, room, sizeof *self->denom);
    self->rest = self->denom == NULL ? NULL : gs_alloc(env, room, sizeof *self->rest);
    return self->rest == NULL ? env->status : GS_OK;
}

void gs_elliott_free(gs_elliott_sets_t *self, gs_env_t *env)
{
    gs_free(env, self->period);
    gs_free(env, self->work);
    gs_free(env, self->numer);
    gs_free(env, self->denom);
    gs_free(env, self->rest);
    self->period = self->work = NULL;
    self->numer = self->denom = self->rest = NULL;
}

/* Draw number `tries` of a set starts at this position of its stream: far from all others. */
static uint64_t start_of(uint64_t tries)
{
    return tries * UINT64_C(0xd1342543de82ef95);
}

/* Where a draw begins. */
typedef struct {
    uint64_t seed;
    uint64_t at; /* of the first task's number */
    double cap;
    uint64_t share;
} head_t;

static head_t head_of(const gs_elliott_sets_t *self, uint64_t seed, uint64_t tries)
{
    uint64_t at = start_of(tries), bits = gs_rng_at(seed, at);
    double cap = (double)(int64_t)((bits >> 32) + 1) * 0x1p-32 * (double)self->spec.cpus;
    uint64_t share = self->first_share + ((bits & UINT32_MAX) * self->shares >> 32);
    return (head_t){seed, at + 1, cap, share};
}

static void draw_task(gs_elliott_sets_t *self, const head_t *head, int64_t k)
{
    const uint64_t periods = (uint64_t)(self->spec.period[1] - self->spec.period[0]) + 1;
    uint64_t bits = gs_rng_at(head->seed, head->at + (uint64_t)k);
    uint64_t p = (uint64_t)self->spec.period[0] + ((bits & UINT32_MAX) * periods >> 32);
    uint64_t u = self->first_utilization + ((bits >> 32) * self->utilizations >> 32);
    self->period[k] = (double)(int64_t)p;
    self->work[k] = (double)(int64_t)work_of(u, p);
}

/* The first `sure` tasks, which are below the cap together. */
static void draw_sure(gs_elliott_sets_t *self, const head_t *head, int64_t sure)
{
    double load = 0;
    for (int64_t k = 0; k < sure; k++) {
        draw_task(self, head, k);
        load += self->work[k] / self->period[k];
    }
    self->n = sure;
    self->load = load;
}

/* More tasks, up to the cap. */
static void draw_rest(gs_elliott_sets_t *self, const head_t *head)
{
    double load = self->load;
    int64_t n = self->n, last = self->room - 1;
    for (;;) {
        draw_task(self, head, n);
        double more = load + self->work[n] / self->period[n];
        if (more > head->cap || n == last) { /* n never gets there: see room */
            break;
        }
        load = more;
        n++;
    }
    self->n = n;
    self->load = load;
}

/* What the GPU-using tasks add up to. */
static void add_up(gs_elliott_sets_t *self)
{
    const double *period = self->period, *work = self->work;
    const double gpu = (double)self->spec.gpu, overhead = (double)self->spec.overhead;
    gs_elliott_sums_t sums = {.least_slack = INFINITY, .least_speed_up = INFINITY};
    for (int64_t i = 0; i < self->gpu; i++) {
        double s = gs_elliott_part(work[i], gpu), copies = gs_elliott_part(work[i], overhead);
        copies = copies < work[i] - s ? copies : work[i] - s;
        double cs = s + copies, inverse = 1 / period[i], slack = period[i] - work[i] + cs;
        double speed_up = slack / s;
        sums.sections += cs;
        sums.section_load += cs * inverse;
        sums.kernel_load += s * inverse;
        sums.load += work[i] * inverse;
        sums.inverse += inverse;
        sums.least_slack = slack < sums.least_slack ? slack : sums.least_slack;
        sums.least_speed_up = speed_up < sums.least_speed_up ? speed_up : sums.least_speed_up;
    }
    self->sums = sums;
}

static int sections_fit(gs_elliott_sets_t *self, gs_env_t *env, bool *fit)
{
    *fit = self->sums.section_load <= 1;
    if (fabs(self->sums.section_load - 1) > NEAR) {
        return GS_OK;
    }
    for (int64_t i = 0; i < self->gpu; i++) {
        double s = gs_elliott_part(self->work[i], (double)self->spec.gpu);
        double copies = gs_elliott_part(self->work[i], (double)self->spec.overhead);
        copies = copies < self->work[i] - s ? copies : self->work[i] - s;
        self->numer[i] = (int64_t)(s + copies);
        self->denom[i] = (int64_t)self->period[i];
    }
    int sign = 0;
    int status = gs_load_compare(env, self->numer, self->denom, self->gpu, 1, self->rest, &sign);
    *fit = sign <= 0;
    return status;
}

/* Of `n` tasks, how many use the GPU. */
static int64_t users(const gs_elliott_sets_t *self, uint64_t share, int64_t n)
{
    return (int64_t)((share * (uint64_t)n + self->up) >> 32);
}

/* Whether n tasks with a load, whatever they are, have too much for the GPU in the first `gpu`. */
static bool is_too_much(const gs_elliott_sets_t *self, double load, int64_t n, int64_t gpu)
{
    double of_gpu = load * (1 - NEAR) - (double)(n - gpu) * self->most;
    double least = (double)gpu * self->least;
    of_gpu = of_gpu > least ? of_gpu : least;
    return of_gpu * self->part - (double)gpu * self->cut > 1 + NEAR;
}

/* One draw. It ends as soon as it is certain how: more tasks never mean fewer with the GPU. */
static int draw_once(gs_elliott_sets_t *self, gs_env_t *env, const head_t *head, int *fate)
{
    int64_t sure = (int64_t)(head->cap * self->fewest), gpu = users(self, head->share, sure);
    self->n = 0;
    *fate = GS_ELLIOTT_NO_TASK;
    if (head->cap < self->least) {
        return GS_OK;
    }
    *fate = GS_ELLIOTT_OVERLOADED;
    if (is_too_much(self, 0, sure, gpu)) {
        return GS_OK;
    }
    draw_sure(self, head, sure);
    if (is_too_much(self, self->load, sure, gpu)) {
        return GS_OK;
    }
    draw_rest(self, head);
    gpu = self->gpu = users(self, head->share, self->n);
    if (self->n == 0) {
        *fate = GS_ELLIOTT_NO_TASK;
        return GS_OK;
    }
    if (gpu <= 1 && (gpu == 1 || !self->spec.empty)) {
        *fate = gpu == 1 ? GS_ELLIOTT_ONE_GPU : GS_ELLIOTT_NO_GPU;
        return GS_OK;
    }
    if (is_too_much(self, self->load, self->n, gpu)) {
        return GS_OK;
    }
    add_up(self);
    bool fit = false;
    int status = sections_fit(self, env, &fit);
    *fate = fit ? GS_ELLIOTT_TAKEN : GS_ELLIOTT_OVERLOADED;
    return status;
}

int gs_elliott_draw(gs_elliott_sets_t *self, gs_env_t *env, uint64_t index)
{
    uint64_t seed = gs_rng_at(self->base, index);
    head_t next = head_of(self, seed, 0);
    for (uint64_t tries = 0; tries < GS_ELLIOTT_TRIES; tries++) {
        head_t head = next;
        next = head_of(self, seed, tries + 1); /* in the shadow of this draw */
        int fate;
        int status = draw_once(self, env, &head, &fate);
        if (status == GS_OK) {
            status = gs_poll(env, 10 * self->n + 10);
        }
        if (status != GS_OK) {
            return status;
        }
        self->fates[fate]++;
        if (fate == GS_ELLIOTT_TAKEN) {
            return GS_OK;
        }
    }
    return gs_fail(env, GS_ERR_VALUE, "set", -1, (int64_t)index,
                   "100000 draws in a row were rejected: there are hardly any sets like this");
}
