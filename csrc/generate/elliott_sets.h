/* Random sets of CPU-only and GPU-using tasks, as in section 5.1 of paper 004.
 *
 * Elliott and Anderson: Globally Scheduled Real-Time Multiprocessor Systems with GPUs, RTNS 2010.
 * A set has the same law as in the paper and is made for speed: tasks are drawn independently, so
 * that the first ones serve as "chosen at random" for the GPU, and every draw has a stream of its
 * own, whose numbers do not depend on each other. Most draws are rejected where tasks are heavy. So
 * which draw is taken is found first, for many sets side by side, from whole numbers alone: a cap,
 * a share and utilizations u, of which E / p is only a rounding away. What is too near to call is
 * decided from the tasks themselves, exactly. Set i of a key is the same whatever else is drawn,
 * and on every machine: no number comes from a product and a sum that a compiler may join.
 */
#ifndef GS_GENERATE_ELLIOTT_SETS_H
#define GS_GENERATE_ELLIOTT_SETS_H

#include "core/context.h"

/* A set for which so many draws are rejected is refused. */
#define GS_GENERATE_ELLIOTT_TRIES 100000

/* So many sets are found side by side: enough for the processor to look ahead. */
#define GS_GENERATE_ELLIOTT_ABREAST 256

/* The most tasks that a set may turn out to have. */
#define GS_GENERATE_ELLIOTT_TASKS (1 << 20)

/* How a share of n tasks becomes a number of tasks. */
enum { GS_GENERATE_ELLIOTT_NEAREST = 0, GS_GENERATE_ELLIOTT_DOWN = 1, GS_GENERATE_ELLIOTT_UP = 2 };

/* Why a draw is rejected, or not. */
enum {
    GS_GENERATE_ELLIOTT_TAKEN = 0,
    GS_GENERATE_ELLIOTT_NO_TASK = 1, /* the first task exceeds the cap */
    GS_GENERATE_ELLIOTT_ONE_GPU = 2, /* one task uses the GPU: nothing to arbitrate */
    GS_GENERATE_ELLIOTT_NO_GPU = 3,  /* none does, where that is not wanted */
    GS_GENERATE_ELLIOTT_OVERLOADED =
        4, /* critical sections take more than all of the GPU (Ineq. 7) */
    GS_GENERATE_ELLIOTT_FATES = 5
};

/* A scenario. */
typedef struct {
    int64_t cpus;          /* m: the cap on the utilization is uniform in (0, m] */
    double utilization[2]; /* of a task, E / p, within (0, 1] */
    int64_t period[2];     /* the shortest and the longest, in ticks below 2^31 */
    int64_t gpu;           /* kernel time, per mille of a GPU-using job's work E */
    int64_t overhead;      /* copies, per mille of E; both at most 1000 together */
    double share[2];       /* of the tasks that use the GPU */
    int rounding;          /* GS_GENERATE_ELLIOTT_NEAREST, ... */
    bool empty;            /* whether sets without GPU-using tasks are taken */
} gs_generate_elliott_t;

/* What the first tasks of a set, those with the GPU, add up to. */
typedef struct {
    double sections;       /* critical sections: whole ticks */
    double section_load;   /* sum of cs / p */
    double kernel_load;    /* sum of s / p */
    double load;           /* sum of E / p */
    double inverse;        /* sum of 1 / p */
    double least_slack;    /* of p - E + cs: whole ticks */
    double least_speed_up; /* of (p - E + cs) / s */
} gs_generate_elliott_sums_t;

/* The draw of a set that is taken. */
typedef struct {
    uint64_t seed;  /* of the set */
    uint64_t place; /* of its first task's number, in the sense of gs_rng_mix */
    int64_t n;      /* tasks, of which */
    int64_t gpu;    /* the first so many use the GPU */
} gs_generate_elliott_found_t;

/* Where sets are drawn. Whole numbers below 2^31 as doubles, which is what they are used as. */
typedef struct {
    gs_generate_elliott_t spec;
    uint64_t base;
    uint64_t first_utilization, utilizations; /* in units of 2^-32, like all u, caps and shares */
    uint64_t first_share, shares, up;
    double least;             /* every task's E / p is at least this */
    uint64_t fewest, fullest; /* tasks of a set with the largest cap, in units of 2^-11 */
    int64_t most_users;       /* with more of them, critical sections never fit the GPU */
    int64_t blur;             /* E / p is nearer to u than this */
    int64_t limit;            /* critical sections fit the GPU up to this sum of u, */
    int64_t limit_blur;       /* give or take so much for each of them */
    int64_t room;             /* more than the most tasks a set can have */
    double *period;           /* of the set that was made last; owned, room entries each */
    double *work;             /* E */
    int64_t *numer;           /* scratch */
    int64_t *denom;           /* scratch */
    int64_t *rest;            /* scratch */
    uint64_t *sum;            /* scratch: of the first utilizations */
    int64_t n;                /* tasks, of which */
    int64_t gpu;              /* the first so many use the GPU */
    double load;              /* sum of E / p over all of them */
    gs_generate_elliott_sums_t sums;
    int64_t opens; /* sets that are being found */
    uint16_t open[GS_GENERATE_ELLIOTT_ABREAST];
    gs_generate_elliott_found_t found[GS_GENERATE_ELLIOTT_ABREAST];
    int64_t fates[GS_GENERATE_ELLIOTT_FATES]; /* of all draws so far */
} gs_generate_elliott_sets_t;

/* Prepares to draw sets of a key. Refuses: cpus outside 1..INT32_MAX; utilizations or shares that
 * are NaN or outside (0, 1] and [0, 1] or in the wrong order; periods not positive, in the wrong
 * order or of 31 bits; gpu and overhead negative or above 1000 together; utilizations so small
 * that sets have more than GS_GENERATE_ELLIOTT_TASKS tasks. Free in every case. */
int gs_generate_elliott_init(gs_generate_elliott_sets_t *self, gs_context_t *ctx,
                             const gs_generate_elliott_t *spec, const uint64_t key[4]);
void gs_generate_elliott_free(gs_generate_elliott_sets_t *self, gs_context_t *ctx);

/* Finds the sets first .. first + count - 1, at most GS_GENERATE_ELLIOTT_ABREAST of them. A set is
 *   cap, uniform in (0, m];
 *   tasks, each with u uniform over the utilizations and p uniform over the periods, E = u p to
 *   the nearest tick and at least one, until the sum of E / p exceeds the cap: the last one goes;
 *   share, uniform over the shares: so many of the n tasks, rounded, use the GPU.
 * A set without tasks, with one GPU-using task (or none, unless `empty`), or whose critical
 * sections take more than all of the GPU is rejected, and all of it drawn anew. GS_ERR_VALUE after
 * GS_GENERATE_ELLIOTT_TRIES rejections. Whether the critical sections fit the GPU is decided
 * exactly. */
int gs_generate_elliott_find(gs_generate_elliott_sets_t *self, gs_context_t *ctx, uint64_t first,
                             int64_t count);

/* Makes number i of the sets that were found: its tasks, and what they add up to. */
void gs_generate_elliott_make(gs_generate_elliott_sets_t *self, int64_t i);

/* Finds and makes set `index`. */
int gs_generate_elliott_draw(gs_generate_elliott_sets_t *self, gs_context_t *ctx, uint64_t index);

/* Kernel time s and copies of a GPU-using job with work E: their shares of E to the nearest tick,
 * copies at most what is left beside s. A product of at most 41 bits and half a unit are exact,
 * and the quotient stays 0.0005 away from whole numbers, so that cutting it off is, too. */
static inline double gs_generate_elliott_part(double work, double per_mille)
{
    return (double)(int32_t)((work * per_mille + 500.5) * 0.001);
}

#endif
