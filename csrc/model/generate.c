/* Which task set has this number, for this seed? */
#include "model/generate.h"

#include <math.h>

/* Shell's sort: short vectors as a rule, and no memory beside them. */
static void sort(double *x, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (int64_t i = gap; i < n; i++) {
            double moved = x[i];
            int64_t j = i;
            while (j >= gap && x[j - gap] > moved) {
                x[j] = x[j - gap];
                j -= gap;
            }
            x[j] = moved;
        }
    }
}

/* The gaps that n - 1 uniform points leave in [0, 1] follow the law that UUniFast draws one share
 * at a time by (n-i)-th roots. The points are multiples of 2^-53, so the gaps are exact, where a
 * root's last bit depends on the machine's library. */
static void draw(gs_rng_t *rng, int64_t n, double utilization, double *share)
{
    for (int64_t i = 0; i < n - 1; i++) {
        share[i] = gs_rng_double(rng);
    }
    sort(share, n - 1);
    share[n - 1] = 1.0;
    for (int64_t i = n - 1; i > 0; i--) {
        share[i] -= share[i - 1];
    }
    for (int64_t i = 0; i < n; i++) {
        share[i] *= utilization;
    }
}

static int check(gs_env_t *env, int64_t n, double utilization, double most)
{
    if (n < 1) {
        return gs_fail(env, GS_ERR_VALUE, "tasks", -1, n, "must be at least 1");
    }
    if (!(utilization >= 0 && utilization <= most)) { /* NaN too */
        return gs_fail(env, GS_ERR_VALUE, "utilization", -1, -1,
                       "must not be negative, nor beyond what n tasks can have");
    }
    return GS_OK;
}

int gs_generate_uunifast(gs_env_t *env, gs_rng_t *rng, int64_t n, double utilization, double *share)
{
    int status = check(env, n, utilization, 0x1.fffffffffffffp+1023);
    if (status == GS_OK) {
        draw(rng, n, utilization, share);
        status = gs_poll(env, n);
    }
    return status;
}

static bool all_at_most_one(const double *share, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (share[i] > 1.0) {
            return false;
        }
    }
    return true;
}

int gs_generate_uunifast_discard(gs_env_t *env, gs_rng_t *rng, int64_t n, double utilization,
                                 double *share)
{
    int status = check(env, n, utilization, (double)n);
    if (status != GS_OK) {
        return status;
    }
    bool reflect = utilization > (double)n / 2;
    double drawn = reflect ? (double)n - utilization : utilization;
    for (int64_t tries = 0; tries < GS_GENERATE_TRIES; tries++) {
        draw(rng, n, drawn, share);
        status = gs_poll(env, n);
        if (status != GS_OK) {
            return status;
        }
        if (all_at_most_one(share, n)) {
            for (int64_t i = 0; reflect && i < n; i++) {
                share[i] = 1.0 - share[i];
            }
            return GS_OK;
        }
    }
    return gs_fail(env, GS_ERR_VALUE, "tasks", -1, n,
                   "1000000 draws gave no set whose shares are all at most 1; UUniFast-Discard "
                   "is no method for so many tasks at this utilization");
}

static int check_spec(gs_env_t *env, const gs_generate_kernels_t *spec)
{
    if (spec->period_count < 1) {
        return gs_fail(env, GS_ERR_VALUE, "periods", -1, spec->period_count,
                       "the list of periods is empty");
    }
    for (int64_t i = 0; i < spec->period_count; i++) {
        if (spec->periods[i] < 1) {
            return gs_fail(env, GS_ERR_VALUE, "periods", i, spec->periods[i], "must be positive");
        }
        if (spec->periods[i] >= GS_NEVER / 2) {
            return gs_fail(env, GS_ERR_OVERFLOW, "periods", i, spec->periods[i],
                           "is too large for the clock");
        }
    }
    if (spec->capacity < 1 || spec->capacity > INT32_MAX) {
        return gs_fail(env, GS_ERR_VALUE, "capacity", -1, spec->capacity,
                       "must be a positive number of blocks within 31 bits");
    }
    return GS_OK;
}

static int64_t between(int64_t least, int64_t x, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

int gs_generate_kernels(gs_env_t *env, const gs_generate_kernels_t *spec, const uint64_t key[4],
                        uint64_t index, double utilization, double *share, int64_t *period,
                        int64_t *wcet, int64_t *blocks)
{
    int status = check_spec(env, spec);
    if (status != GS_OK) {
        return status;
    }
    gs_rng_t rng;
    gs_rng_init(&rng, key, index, GS_STREAM_UTILIZATION);
    status = gs_generate_uunifast_discard(env, &rng, spec->n, utilization, share);
    if (status != GS_OK) {
        return status;
    }
    gs_rng_init(&rng, key, index, GS_STREAM_PERIOD);
    for (int64_t i = 0; i < spec->n; i++) {
        period[i] = spec->periods[gs_rng_below(&rng, (uint64_t)spec->period_count)];
        double time = share[i] * (double)period[i];
        double held = share[i] * (double)spec->capacity;
        wcet[i] = between(1, llround(time), period[i]);
        blocks[i] = between(1, (int64_t)held, spec->capacity);
    }
    return GS_OK;
}
