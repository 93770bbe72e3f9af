/* Random sets of CPU-only and GPU-using tasks, as in [RTNS10], section 5.1.
 *
 * The distribution is that of the paper; the method is made for speed. Tasks are drawn
 * independently, so the first ones serve as "chosen at random" for the GPU. Every draw has its own
 * stream, whose numbers do not depend on each other. Where tasks are heavy, most draws are
 * rejected; the accepted draw is therefore found first, for many sets in parallel, from integers
 * alone: a cap, a share and utilizations u, which differ from E / p by rounding only. Cases too
 * close to decide this way are decided exactly, from the tasks themselves. Set i of a key does not
 * depend on what else is drawn, and is the same on every machine: no number comes from a product
 * and a sum that a compiler may fuse.
 */
#ifndef GS_GENERATE_ELLIOTT_SETS_H
#define GS_GENERATE_ELLIOTT_SETS_H

#include "core/context.h"

/* A set is refused after this many rejected draws. */
#define GS_GENERATE_ELLIOTT_TRIES 100000

/* Number of sets found in parallel: enough to hide the latency of the processor. */
#define GS_GENERATE_ELLIOTT_ABREAST 256

/* Maximum number of tasks of a set. */
#define GS_GENERATE_ELLIOTT_TASKS (1 << 20)

/* Rounding of a share of n tasks. */
enum { GS_GENERATE_ELLIOTT_NEAREST = 0, GS_GENERATE_ELLIOTT_DOWN = 1, GS_GENERATE_ELLIOTT_UP = 2 };

/* Outcome of a draw. */
enum {
    GS_GENERATE_ELLIOTT_TAKEN = 0,
    GS_GENERATE_ELLIOTT_NO_TASK = 1,    /* the first task exceeds the cap */
    GS_GENERATE_ELLIOTT_ONE_GPU = 2,    /* one task uses the GPU, so there is no contention */
    GS_GENERATE_ELLIOTT_NO_GPU = 3,     /* no task uses the GPU, and `empty` is false */
    GS_GENERATE_ELLIOTT_OVERLOADED = 4, /* the critical sections overload the GPU (Ineq. 7) */
    GS_GENERATE_ELLIOTT_FATES = 5
};

/* A scenario. */
typedef struct {
    int64_t cpus;          /* m: the cap on the utilization is uniform in (0, m] */
    double utilization[2]; /* of a task, E / p, within (0, 1] */
    int64_t period[2];     /* shortest and longest, in ticks below 2^31 */
    int64_t gpu;           /* kernel time, per mille of a GPU-using job's work E */
    int64_t overhead;      /* copies, per mille of E; both at most 1000 together */
    double share[2];       /* of the tasks that use the GPU */
    int rounding;          /* GS_GENERATE_ELLIOTT_NEAREST, ... */
    bool empty;            /* whether sets without GPU-using tasks are taken */
} gs_generate_elliott_t;

/* Sums over the GPU-using tasks, which are the first of a set. */
typedef struct {
    double sections;       /* critical sections: whole ticks */
    double section_load;   /* sum of cs / p */
    double kernel_load;    /* sum of s / p */
    double load;           /* sum of E / p */
    double inverse;        /* sum of 1 / p */
    double least_slack;    /* of p - E + cs: whole ticks */
    double least_speed_up; /* of (p - E + cs) / s */
} gs_generate_elliott_sums_t;

/* Accepted draw of a set. */
typedef struct {
    uint64_t seed;  /* of the set */
    uint64_t place; /* counter of the random number of its first task (gs_rng_mix) */
    int64_t n;      /* number of tasks */
    int64_t gpu;    /* number of GPU-using tasks, which are the first */
} gs_generate_elliott_found_t;

/* Generator. Periods and work are integers below 2^31, stored as doubles for the sums. */
typedef struct {
    gs_generate_elliott_t spec;
    uint64_t base;
    uint64_t first_utilization, utilizations; /* in units of 2^-32, like all u, caps and shares */
    uint64_t first_share, shares, up;
    double least;             /* lower bound on E / p of a task */
    uint64_t fewest, fullest; /* tasks of a set with the largest cap, in units of 2^-11 */
    int64_t most_users;       /* with more of them, the critical sections overload the GPU */
    int64_t blur;             /* upper bound on the distance of E / p and u */
    int64_t limit;            /* the critical sections fit the GPU up to this sum of u, */
    int64_t limit_blur;       /* with this tolerance per GPU-using task */
    int64_t room;             /* more than the maximum number of tasks of a set */
    double *period;           /* of the last set made; owned, room entries each */
    double *work;             /* E */
    int64_t *numer;           /* scratch */
    int64_t *denom;           /* scratch */
    int64_t *rest;            /* scratch */
    uint64_t *sum;            /* scratch: of the first utilizations */
    int64_t n;                /* number of tasks */
    int64_t gpu;              /* number of GPU-using tasks, which are the first */
    double load;              /* sum of E / p over all of them */
    gs_generate_elliott_sums_t sums;
    int64_t opens; /* number of sets not found yet */
    uint16_t open[GS_GENERATE_ELLIOTT_ABREAST];
    gs_generate_elliott_found_t found[GS_GENERATE_ELLIOTT_ABREAST];
    int64_t fates[GS_GENERATE_ELLIOTT_FATES]; /* of all draws so far */
} gs_generate_elliott_sets_t;

/* Prepares the sets of a key. Refuses: cpus outside 1..INT32_MAX; utilizations or shares that are
 * NaN, outside (0, 1] and [0, 1] or in the wrong order; periods outside 1..INT32_MAX or in the
 * wrong order; gpu and overhead negative or above 1000 together; utilizations so small that sets
 * have GS_GENERATE_ELLIOTT_TASKS tasks or more. To be freed even after an error. */
int gs_generate_elliott_init(gs_generate_elliott_sets_t *self, gs_context_t *ctx,
                             const gs_generate_elliott_t *spec, const uint64_t key[4]);
void gs_generate_elliott_free(gs_generate_elliott_sets_t *self, gs_context_t *ctx);

/* Finds the sets first .. first + count - 1, at most GS_GENERATE_ELLIOTT_ABREAST of them. A set is
 *   cap, uniform in (0, m];
 *   tasks, each with u uniform over the utilizations and p uniform over the periods, E = u p to
 *   the nearest tick and at least one, until the sum of E / p exceeds the cap; the last is dropped;
 *   share, uniform over the shares: the part of the n tasks, rounded, that uses the GPU.
 * A set is rejected and drawn again if it has no task, one GPU-using task (or none, unless
 * `empty`), or critical sections that overload the GPU, which is decided exactly. GS_ERR_VALUE
 * after GS_GENERATE_ELLIOTT_TRIES rejections. */
int gs_generate_elliott_find(gs_generate_elliott_sets_t *self, gs_context_t *ctx, uint64_t first,
                             int64_t count);

/* Writes periods and work of n tasks of a draw, from its place on; in ticks, n entries each. */
void gs_generate_elliott_tasks(const gs_generate_elliott_sets_t *self, uint64_t place, int64_t n,
                               int32_t *period, int32_t *work);

/* Makes the tasks and sums of number i of the sets found. */
void gs_generate_elliott_make(gs_generate_elliott_sets_t *self, int64_t i);

/* Share of the work E of a GPU-using job, to the nearest tick (kernel time s; copies, of which the
 * caller takes at most E - s). A product of at most 41 bits and half a unit are exact, and the
 * quotient stays 0.0005 away from integers, so truncation is exact, too. */
static inline double gs_generate_elliott_part(double work, double per_mille)
{
    return (double)(int32_t)((work * per_mille + 500.5) * 0.001);
}

#endif
