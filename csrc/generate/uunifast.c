/* UUniFast and UUniFast-Discard, with exact gaps of sorted uniforms in place of roots. */
#include "generate/uunifast.h"

/* Polls once for so many entries of a long vector; i counts up. */
static int poll_entry(gs_context_t *ctx, int64_t i)
{
    const int64_t part = 1 << 16;
    return (i + 1) % part == 0 ? gs_poll(ctx, part) : GS_OK;
}

/* Shell's sort: vectors are usually short, and it needs no memory. */
static int sort(gs_context_t *ctx, double *x, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (int64_t i = gap; i < n; i++) {
            int status = poll_entry(ctx, i);
            if (status != GS_OK) {
                return status;
            }
            double moved = x[i];
            int64_t j = i;
            while (j >= gap && x[j - gap] > moved) {
                x[j] = x[j - gap];
                j -= gap;
            }
            x[j] = moved;
        }
    }
    return GS_OK;
}

/* The gaps that n - 1 uniform points leave in [0, 1] follow the law that UUniFast draws one share
 * at a time by (n-i)-th roots. The points are multiples of 2^-53, so the gaps are exact, where a
 * root's last bit depends on the machine's library. */
static int draw(gs_context_t *ctx, gs_rng_t *rng, int64_t n, double utilization, double *share)
{
    int status = GS_OK;
    for (int64_t i = 0; status == GS_OK && i < n - 1; i++) {
        share[i] = gs_rng_double(rng);
        status = poll_entry(ctx, i);
    }
    if (status == GS_OK) {
        status = sort(ctx, share, n - 1);
    }
    share[n - 1] = 1.0;
    double before = 0;
    for (int64_t i = 0; status == GS_OK && i < n; i++) {
        double point = share[i];
        share[i] = (point - before) * utilization;
        before = point;
        status = poll_entry(ctx, i);
    }
    return status == GS_OK ? gs_poll(ctx, n) : status;
}

static int check(gs_context_t *ctx, int64_t n, double utilization, double most)
{
    if (n < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n, "at least one task");
    }
    if (!(utilization >= 0 && utilization <= most)) { /* NaN too */
        return gs_fail_number(ctx, GS_ERR_VALUE, "utilization", -1, utilization,
                              "a finite number of at least 0, at most what n tasks can have");
    }
    return GS_OK;
}

int gs_generate_uunifast(gs_context_t *ctx, gs_rng_t *rng, int64_t n, double utilization,
                         double *share)
{
    int status = check(ctx, n, utilization, 0x1.fffffffffffffp+1023);
    if (status == GS_OK) {
        status = draw(ctx, rng, n, utilization, share);
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

int gs_generate_uunifast_discard(gs_context_t *ctx, gs_rng_t *rng, int64_t n, double utilization,
                                 double *share)
{
    int status = check(ctx, n, utilization, (double)n);
    if (status != GS_OK) {
        return status;
    }
    bool reflect = utilization > (double)n / 2;
    double drawn = reflect ? (double)n - utilization : utilization;
    for (int64_t tries = 0; tries < GS_GENERATE_UUNIFAST_TRIES; tries++) {
        status = draw(ctx, rng, n, drawn, share);
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
    return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, n,
                   "fewer tasks or another utilization: none of 1000000 draws of UUniFast-Discard "
                   "had shares of at most 1 only");
}
