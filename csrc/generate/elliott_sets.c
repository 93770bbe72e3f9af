/* Random sets of CPU-only and GPU-using tasks, [RTNS10], section 5.1. */
#include "generate/elliott_sets.h"

#include "core/rng.h"
#include "core/rational.h"

#include <math.h>
#include <stdlib.h>

/* Upper bound on the relative error of a sum of 2^20 quotients; a sum this close to 1 is decided in
 * integers. */
#define NEAR 1e-9

enum {
    STEP = 4,                             /* tasks per iteration */
    COUNT_BITS = 11,                      /* fractional bits of numbers of tasks */
    UNDECIDED = GS_GENERATE_ELLIOTT_FATES /* not decided yet */
};

static int check_interval(gs_context_t *ctx, const char *field, const double interval[2], bool zero)
{
    for (int i = 0; i < 2; i++) {
        if (!(interval[i] >= 0 && interval[i] <= 1) || (!zero && interval[i] * 0x1p32 < 1)) {
            return gs_fail_number(ctx, GS_ERR_VALUE, field, i, interval[i],
                                  zero ? "two shares from 0 to 1"
                                       : "two utilizations above 0, at most 1");
        }
    }
    if (interval[1] < interval[0]) {
        return gs_fail_number(ctx, GS_ERR_VALUE, field, 0, interval[0], "the smaller number first");
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_generate_elliott_t *spec)
{
    if (spec->cpus < 1 || spec->cpus > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, spec->cpus,
                       "a positive number of CPUs below 2**31");
    }
    int status = check_interval(ctx, "utilization", spec->utilization, false);
    if (status == GS_OK) {
        status = check_interval(ctx, "share", spec->share, true);
    }
    if (status != GS_OK) {
        return status;
    }
    if (spec->period[0] < 1 || spec->period[1] < spec->period[0]) {
        return gs_fail(ctx, GS_ERR_VALUE, "period", spec->period[0] >= 1,
                       spec->period[spec->period[0] >= 1], "positive periods, the shortest first");
    }
    if (spec->period[1] > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "period", 1, spec->period[1],
                       "a period below 2**31 ticks");
    }
    if (spec->gpu < 0 || spec->gpu > 1000) {
        return gs_fail(ctx, GS_ERR_VALUE, "gpu", -1, spec->gpu, "0 to 1000 per mille");
    }
    if (spec->overhead < 0 || spec->overhead > 1000 - spec->gpu) {
        return gs_fail(ctx, GS_ERR_VALUE, "overhead", -1, spec->overhead,
                       "0 to 1000 per mille, together with the kernel's share");
    }
    if (spec->rounding < GS_GENERATE_ELLIOTT_NEAREST || spec->rounding > GS_GENERATE_ELLIOTT_UP) {
        return gs_fail(ctx, GS_ERR_VALUE, "rounding", -1, spec->rounding, "a known rounding mode");
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

/* Bounds on tasks and numbers of tasks that hold before they are drawn. */
static void find_limits(gs_generate_elliott_sets_t *self)
{
    /* E is within half a tick of u p, and at least one tick. */
    double shortest = (double)self->spec.period[0], longest = (double)self->spec.period[1];
    double least = (double)self->first_utilization * 0x1p-32, most = 1 / shortest;
    double high = least + (double)self->utilizations * 0x1p-32 + 0.5 / shortest;
    least -= 0.5 / shortest;
    least = least > 1 / longest ? least : 1 / longest;
    most = high > most ? high : most;
    self->least = least * (1 - NEAR);
    double all = (double)self->spec.cpus * (1 << COUNT_BITS) / self->least;
    all = all < 0x1p32 ? all : 0x1p32; /* refused by the caller */
    self->fullest = (uint64_t)(all * (1 + 2 * NEAR)) + 1;
    self->fewest = (uint64_t)(all * self->least * (1 - 2 * NEAR) / most);
}

/* Bounds on the critical sections. */
static void find_section_limits(gs_generate_elliott_sets_t *self)
{
    double shortest = (double)self->spec.period[0];
    double part = (double)(self->spec.gpu + self->spec.overhead) / 1000;
    /* Both parts of a critical section are rounded, or it is all of E. */
    double section = self->least * part * (1 - NEAR) - 1 / shortest;
    self->most_users = section * GS_GENERATE_ELLIOTT_TASKS > 1 ? (int64_t)(1 / section)
                                                               : GS_GENERATE_ELLIOTT_TASKS;
    self->blur = (INT64_C(1) << 32) / self->spec.period[0] + 2;
    self->limit = INT64_MAX / 2;
    self->limit_blur = 0;
    if (part > 0) {
        double blur = 2 * (double)self->blur / part + 2;
        self->limit = (int64_t)(0x1p32 / part);
        self->limit_blur = blur < 0x1p42 ? (int64_t)blur : INT64_C(1) << 42; /* more than any u */
    }
}

int gs_generate_elliott_init(gs_generate_elliott_sets_t *self, gs_context_t *ctx,
                             const gs_generate_elliott_t *spec, const uint64_t key[4])
{
    *self = (gs_generate_elliott_sets_t){.spec = *spec};
    int status = check(ctx, spec);
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
    find_section_limits(self);
    double most = (double)spec->cpus / self->least;
    if (!(most < GS_GENERATE_ELLIOTT_TASKS)) {
        return gs_fail(ctx, GS_ERR_VALUE, "cpus", -1, spec->cpus,
                       "fewer CPUs or larger utilizations: a set has fewer than 2**20 tasks");
    }
    self->room = (int64_t)most + 2;
    gs_rng_t rng;
    gs_rng_init(&rng, key, 0, GS_RNG_STREAM_ELLIOTT);
    self->base = gs_rng_next(&rng);
    size_t room = (size_t)self->room;
    self->period = gs_alloc(ctx, room, sizeof *self->period);
    self->work = self->period == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->work);
    self->numer = self->work == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->numer);
    self->denom = self->numer == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->denom);
    self->rest = self->denom == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->rest);
    room += STEP + 2; /* from 0 tasks on, and beyond the cap */
    self->sum = self->rest == NULL ? NULL : gs_alloc(ctx, room, sizeof *self->sum);
    return self->sum == NULL ? ctx->status : GS_OK;
}

void gs_generate_elliott_free(gs_generate_elliott_sets_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->period);
    gs_free(ctx, self->work);
    gs_free(ctx, self->numer);
    gs_free(ctx, self->denom);
    gs_free(ctx, self->rest);
    gs_free(ctx, self->sum);
    self->period = self->work = NULL;
    self->numer = self->denom = self->rest = NULL;
    self->sum = NULL;
}

/* Position in the stream at which draw number `tries` of a set starts, far from all others. */
static uint64_t start_of(uint64_t tries)
{
    return tries * UINT64_C(0xd1342543de82ef95);
}

/* Start of a draw. */
typedef struct {
    uint64_t place; /* counter of the random number of the first task */
    uint64_t cap;   /* in units of 2^-32 */
    uint64_t share;
    int64_t users; /* lower bound on the number of GPU-using tasks */
    int64_t set;
} head_t;

static uint64_t utilization_of(const gs_generate_elliott_sets_t *self, uint64_t bits)
{
    return self->first_utilization + ((bits >> 32) * self->utilizations >> 32);
}

static uint64_t period_of(const gs_generate_elliott_sets_t *self, uint64_t bits)
{
    const uint64_t periods = (uint64_t)(self->spec.period[1] - self->spec.period[0]) + 1;
    return (uint64_t)self->spec.period[0] + ((bits & UINT32_MAX) * periods >> 32);
}

static void draw_task(gs_generate_elliott_sets_t *self, uint64_t place, int64_t k)
{
    uint64_t bits = gs_rng_at(place, (uint64_t)k), p = period_of(self, bits);
    self->period[k] = (double)(int64_t)p;
    self->work[k] = (double)(int64_t)work_of(utilization_of(self, bits), p);
}

void gs_generate_elliott_tasks(const gs_generate_elliott_sets_t *self, uint64_t place, int64_t n,
                               int32_t *period, int32_t *work)
{
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = gs_rng_at(place, (uint64_t)k), p = period_of(self, bits);
        period[k] = (int32_t)p;
        work[k] = (int32_t)work_of(utilization_of(self, bits), p);
    }
}

/* Number of GPU-using tasks among n. */
static int64_t users(const gs_generate_elliott_sets_t *self, uint64_t share, int64_t n)
{
    return (int64_t)((share * (uint64_t)n + self->up) >> 32);
}

/* Sums over the GPU-using tasks. */
static void add_up(gs_generate_elliott_sets_t *self)
{
    const double *period = self->period, *work = self->work;
    const double gpu = (double)self->spec.gpu, overhead = (double)self->spec.overhead;
    gs_generate_elliott_sums_t sums = {.least_slack = INFINITY, .least_speed_up = INFINITY};
    for (int64_t i = 0; i < self->gpu; i++) {
        double s = gs_generate_elliott_part(work[i], gpu),
               copies = gs_generate_elliott_part(work[i], overhead);
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

static int sections_fit(gs_generate_elliott_sets_t *self, gs_context_t *ctx, bool *fit)
{
    *fit = self->sums.section_load <= 1;
    if (fabs(self->sums.section_load - 1) > NEAR) {
        return GS_OK;
    }
    for (int64_t i = 0; i < self->gpu; i++) {
        double s = gs_generate_elliott_part(self->work[i], (double)self->spec.gpu);
        double copies = gs_generate_elliott_part(self->work[i], (double)self->spec.overhead);
        copies = copies < self->work[i] - s ? copies : self->work[i] - s;
        self->numer[i] = (int64_t)(s + copies);
        self->denom[i] = (int64_t)self->period[i];
    }
    int sign = 0;
    int status =
        gs_rational_compare(ctx, self->numer, self->denom, self->gpu, 1, self->rest, &sign);
    *fit = sign <= 0;
    return status;
}

/* Draws tasks up to the cap. */
static void draw_to_cap(gs_generate_elliott_sets_t *self, const head_t *head)
{
    double load = 0, cap = (double)(int64_t)head->cap * 0x1p-32;
    int64_t n = 0, last = self->room - 1;
    for (;;) {
        draw_task(self, head->place, n);
        load += self->work[n] / self->period[n];
        if (load > cap || n == last) { /* never reached: see room */
            break;
        }
        n++;
    }
    self->n = n;
    self->gpu = users(self, head->share, n);
}

/* Outcome of a draw, from its tasks, exactly. */
static int decide(gs_generate_elliott_sets_t *self, gs_context_t *ctx, const head_t *head,
                  int *fate)
{
    draw_to_cap(self, head);
    if (self->n == 0) {
        *fate = GS_GENERATE_ELLIOTT_NO_TASK;
        return GS_OK;
    }
    if (self->gpu <= 1 && (self->gpu == 1 || !self->spec.empty)) {
        *fate = self->gpu == 1 ? GS_GENERATE_ELLIOTT_ONE_GPU : GS_GENERATE_ELLIOTT_NO_GPU;
        return GS_OK;
    }
    add_up(self);
    bool fit = false;
    int status = sections_fit(self, ctx, &fit);
    *fate = fit ? GS_GENERATE_ELLIOTT_TAKEN : GS_GENERATE_ELLIOTT_OVERLOADED;
    return status;
}

/* First number of draw number `tries` of all open sets. Sets whose draw it decides stay open; the
 * others are stored in `left`. Returns their number. The number of GPU-using tasks does not fall
 * with that of tasks. Sums replace branches here and below: a mispredicted branch takes longer than
 * a draw. */
static int64_t draw_heads(gs_generate_elliott_sets_t *self, uint64_t tries, head_t *left)
{
    int64_t open = 0, undecided = 0, nones = 0, loners = 0, heavies = 0;
    const uint64_t at = start_of(tries);
    for (int64_t i = 0; i < self->opens; i++) {
        int64_t set = self->open[i];
        uint64_t place = self->found[set].seed + (at + 1) * GS_RNG_GAMMA;
        uint64_t bits = gs_rng_mix(place), cap = (bits >> 32) + 1;
        uint64_t share = self->first_share + ((bits & UINT32_MAX) * self->shares >> 32);
        int64_t fewest = (int64_t)(cap * self->fewest >> (32 + COUNT_BITS));
        int64_t most = (int64_t)(cap * self->fullest >> (32 + COUNT_BITS));
        int64_t low = users(self, share, fewest), high = users(self, share, most);
        bool none = most == 0, loner = (low == 1) & (high == 1), heavy = low > self->most_users;
        bool decided = none | loner | heavy;
        nones += none;
        loners += loner;
        heavies += heavy;
        left[undecided] = (head_t){place, cap * (uint64_t)self->spec.cpus, share, low, set};
        undecided += !decided;
        self->open[open] = (uint16_t)set;
        open += decided;
    }
    self->opens = open;
    self->fates[GS_GENERATE_ELLIOTT_NO_TASK] += nones;
    self->fates[GS_GENERATE_ELLIOTT_ONE_GPU] += loners;
    self->fates[GS_GENERATE_ELLIOTT_OVERLOADED] += heavies;
    return undecided;
}

/* Sums utilizations, sum[k] over k tasks, until they exceed the cap or the GPU-using tasks
 * certainly overload the GPU; the last entry is followed by INT64_MAX / 2. Returns the number of
 * sums within the cap. */
static int64_t add_utilizations(gs_generate_elliott_sets_t *self, const head_t *head)
{
    uint64_t total = 0, place = head->place, *sum = self->sum, end;
    int64_t n = 0, k = 0, too_much = self->limit + head->users * self->limit_blur;
    do {
        for (int64_t last = k + STEP; k < last; k++) {
            place += GS_RNG_GAMMA;
            total += utilization_of(self, gs_rng_mix(place));
            n += total <= head->cap;
            sum[k + 1] = total;
        }
        end = head->cap * ((int64_t)sum[head->users <= k ? head->users : 0] <= too_much);
    } while (total <= end && k < self->room);
    sum[k + 1] = INT64_MAX / 2;
    return n;
}

/* Outcome of a draw from its utilizations, which nearly always decide it, as E / p is close to
 * u. */
static int judge(gs_generate_elliott_sets_t *self, const head_t *head,
                 gs_generate_elliott_found_t *found)
{
    int64_t n = add_utilizations(self, head), gpu = users(self, head->share, n);
    gpu = gpu > head->users ? gpu : head->users;
    found->place = head->place;
    found->n = n;
    found->gpu = gpu;
    int64_t cap = (int64_t)head->cap, doubt = (n + 1) * self->blur;
    int64_t below = (int64_t)self->sum[n], above = (int64_t)self->sum[n + 1];
    int64_t beyond = (int64_t)self->sum[gpu] - self->limit;
    if ((below + doubt > cap) | (above - doubt <= cap) | (n >= self->room) |
        (llabs(beyond) <= gpu * self->limit_blur)) {
        return UNDECIDED;
    }
    bool none = n == 0, loner = gpu == 1, heavy = beyond > 0;
    bool unwanted = (gpu == 0) & (n > 0) & !self->spec.empty;
    return GS_GENERATE_ELLIOTT_NO_TASK * none + GS_GENERATE_ELLIOTT_ONE_GPU * loner +
           GS_GENERATE_ELLIOTT_NO_GPU * unwanted + GS_GENERATE_ELLIOTT_OVERLOADED * heavy;
}

/* Draw number `tries` of all open sets. */
static int draw_all(gs_generate_elliott_sets_t *self, gs_context_t *ctx, uint64_t tries)
{
    head_t left[GS_GENERATE_ELLIOTT_ABREAST];
    int64_t work = self->opens, undecided = draw_heads(self, tries, left);
    for (int64_t i = 0; i < undecided; i++) {
        gs_generate_elliott_found_t *found = &self->found[left[i].set];
        int fate = judge(self, &left[i], found);
        if (fate == UNDECIDED) {
            int status = decide(self, ctx, &left[i], &fate);
            if (status != GS_OK) {
                return status;
            }
            found->n = self->n;
            found->gpu = self->gpu;
        }
        self->fates[fate]++;
        work += found->n;
        self->open[self->opens] = (uint16_t)left[i].set;
        self->opens += fate != GS_GENERATE_ELLIOTT_TAKEN;
    }
    return gs_poll(ctx, 10 * work);
}

/* The first open set. */
static int64_t first_open(const gs_generate_elliott_sets_t *self)
{
    int64_t first = GS_GENERATE_ELLIOTT_ABREAST;
    for (int64_t i = 0; i < self->opens; i++) {
        first = self->open[i] < first ? self->open[i] : first;
    }
    return first;
}

int gs_generate_elliott_find(gs_generate_elliott_sets_t *self, gs_context_t *ctx, uint64_t first,
                             int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        self->open[i] = (uint16_t)i;
        self->found[i].seed = gs_rng_at(self->base, first + (uint64_t)i);
    }
    self->opens = count;
    for (uint64_t tries = 0; tries < GS_GENERATE_ELLIOTT_TRIES; tries++) {
        int status = draw_all(self, ctx, tries);
        if (status != GS_OK || self->opens == 0) {
            return status;
        }
    }
    return gs_fail(ctx, GS_ERR_VALUE, "set", -1, (int64_t)first + first_open(self),
                   "a set that is accepted within 100000 draws; such sets are too rare");
}

void gs_generate_elliott_make(gs_generate_elliott_sets_t *self, int64_t i)
{
    const gs_generate_elliott_found_t *found = &self->found[i];
    double load = 0;
    for (int64_t k = 0; k < found->n; k++) {
        draw_task(self, found->place, k);
        load += self->work[k] / self->period[k];
    }
    self->n = found->n;
    self->gpu = found->gpu;
    self->load = load;
    add_up(self);
}
