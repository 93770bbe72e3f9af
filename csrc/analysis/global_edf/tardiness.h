/* Tardiness and response-time bounds under global EDF on m CPUs.
 *
 * Sporadic tasks, each job with a demand e' of CPU time (suspension-oblivious: time spent off the
 * CPUs is part of it). Tardiness is bounded when e' <= p for every task and the utilization is at
 * most m (Devi and Anderson 2008; Ineqs. 3 and 4 of [RTNS10]). The bounds:
 *
 *   Devi and Anderson (implicit deadlines, d = p):   response <= p + x + e',
 *     x = max(0, L largest e' - least e') / (m - L-1 largest u'),  L = ceil(U) - 1;
 *   compliant vector (Erickson, Devi and Baruah 2010; Erickson and Anderson 2012), for jobs whose
 *     priority is their release + Y (here d minus the least d):   response <= Y + e' + s - e' / m,
 *     where s is the root of  sum of S + sum of the L largest (u' s + e' - e' u' / m - S) = m s,
 *     S = max(0, e' (1 - Y / p));
 *   at most m tasks: response <= e';   one CPU, implicit deadlines: response <= p.
 *
 * Bounds are exact fractions where the least common multiple of the periods is small enough.
 * Otherwise utilizations are rounded up, and so are the bounds.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_TARDINESS_H
#define GS_ANALYSIS_GLOBAL_EDF_TARDINESS_H

#include "core/context.h"
#include "core/method.h"

enum {
    GS_ANALYSIS_GLOBAL_EDF_BOUNDED = 0,
    GS_ANALYSIS_GLOBAL_EDF_LONG = 1, /* the demand of a job exceeds its period: see failed */
    GS_ANALYSIS_GLOBAL_EDF_LOAD = 2, /* the utilization exceeds m */
    GS_ANALYSIS_GLOBAL_EDF_CONTAINER =
        3 /* the utilization of the tasks in the container exceeds 1 */
};

/* The source of a bound; also a selection of bounds to try, as bits 1 <<
 * GS_ANALYSIS_GLOBAL_EDF_*. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_NONE = 0, /* no bound, or one of 2**61 - 1 ticks or more */
    GS_ANALYSIS_GLOBAL_EDF_ALONE = 1,
    GS_ANALYSIS_GLOBAL_EDF_UNIPROCESSOR = 2,
    GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON = 3,
    GS_ANALYSIS_GLOBAL_EDF_COMPLIANT = 4,
    GS_ANALYSIS_GLOBAL_EDF_FIFO = 5, /* in a container */
    GS_ANALYSIS_GLOBAL_EDF_METHODS = 6
};

typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *deadline;
    const int64_t *demand; /* e' */
} gs_analysis_global_edf_t;

typedef struct {
    int64_t numerator; /* of the response-time bound, in lowest terms; 0 / 0 without one */
    int64_t denominator;
    int64_t method;
} gs_analysis_global_edf_bound_t;

/* Checks n, periods and deadlines positive, demands not negative, all times and the sum of all
 * demands below 2**60 - 1 ticks, 1 <= m < 2**31. Errors: GS_ERR_VALUE, GS_ERR_OVERFLOW. */
int gs_analysis_global_edf_check(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                 int64_t m);

/* Decides exactly whether tardiness is bounded: *verdict is GS_ANALYSIS_GLOBAL_EDF_BOUNDED,
 * GS_ANALYSIS_GLOBAL_EDF_LONG (*failed: the first such task) or GS_ANALYSIS_GLOBAL_EDF_LOAD
 * (*failed: -1). The set must have passed gs_analysis_global_edf_check. Errors: GS_ERR_MEMORY,
 * GS_ERR_INTERRUPTED. */
int gs_analysis_global_edf_bounded(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                   int64_t m, int *verdict, int64_t *failed);

/* The least response-time bound of each task among those of the methods (bits), for a set with
 * bounded tardiness. bound: n entries of the caller; method GS_ANALYSIS_GLOBAL_EDF_NONE where no
 * selected method applies (Devi and Anderson without implicit deadlines) or its numbers exceed 126
 * bits. Errors: GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_analysis_global_edf_response(gs_context_t *ctx, const gs_analysis_global_edf_t *tasks,
                                    int64_t m, int64_t methods,
                                    gs_analysis_global_edf_bound_t *bound);

extern const gs_method_t gs_analysis_global_edf_gedf_tardiness_method;
extern const gs_method_t gs_analysis_global_edf_cpu_only_method;

#endif
