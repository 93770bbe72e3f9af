/* Copy of a set of host tasks in which some times are multiplied by a factor.
 *
 * A time t becomes ceil(t * numerator / denominator), in exact arithmetic. Kernels have one time in
 * the copy, that on the SMs of their task.
 */
#ifndef GS_ANALYSIS_SENSITIVITY_SCALED_HOSTS_H
#define GS_ANALYSIS_SENSITIVITY_SCALED_HOSTS_H

#include "model/host_tasks.h"

/* Times that are multiplied. */
enum {
    GS_ANALYSIS_SENSITIVITY_ALL = 0,
    GS_ANALYSIS_SENSITIVITY_KERNELS = 1,
    GS_ANALYSIS_SENSITIVITY_COPIES = 2,
    GS_ANALYSIS_SENSITIVITY_CPU = 3
};

/* A positive factor; both numbers are below GS_NEVER / 2. */
typedef struct {
    int64_t numerator;
    int64_t denominator;
} gs_analysis_sensitivity_factor_t;

/* A time that is multiplied. */
typedef struct {
    int64_t cell; /* of the arrays of the copy, which lie one after the other */
    int64_t task;
    int64_t time; /* as it is in the set, above 0 */
} gs_analysis_sensitivity_time_t;

/* Memory for sets of at most the size that it was made for. The arrays are owned. */
typedef struct {
    gs_host_tasks_t hosts; /* the copy; rows of the set belong to the caller of start */
    int64_t *cells;        /* cpu, copy_in, kernel, copy_out */
    int64_t *own;          /* n: times of a job that are not multiplied */
    int64_t *grown;        /* n: sum of a job's times that are, as they are in the set */
    gs_analysis_sensitivity_time_t *times;
    int64_t count; /* of the times */
} gs_analysis_sensitivity_scaled_hosts_t;

int gs_analysis_sensitivity_scaled_hosts_init(gs_analysis_sensitivity_scaled_hosts_t *self,
                                              gs_context_t *ctx, int64_t n, int64_t width);
void gs_analysis_sensitivity_scaled_hosts_free(gs_analysis_sensitivity_scaled_hosts_t *self,
                                               gs_context_t *ctx);

/* Copies a checked set with the factor 1. sms: n numbers of SMs of the kernels; task: the only one
 * whose times are multiplied, -1 for all. */
void gs_analysis_sensitivity_scaled_hosts_start(gs_analysis_sensitivity_scaled_hosts_t *self,
                                                const gs_host_tasks_t *hosts, const int64_t *sms,
                                                int scale, int64_t task);

/* Multiplies the times of the set by a factor. False where one job of every task take
 * GS_NEVER / 2 or more together; the copy is not to be used then. */
bool gs_analysis_sensitivity_scaled_hosts_scale(gs_analysis_sensitivity_scaled_hosts_t *self,
                                                gs_analysis_sensitivity_factor_t factor);

/* The sum of (C + G) / T over the tasks of the copy. */
double
gs_analysis_sensitivity_scaled_hosts_load(const gs_analysis_sensitivity_scaled_hosts_t *self);

#endif
