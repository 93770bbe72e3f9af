/* Copy of a set of host tasks in which some times are multiplied by a factor. */
#include "analysis/sensitivity/scaled_hosts.h"

#include <string.h>

#include "core/int128.h"

int gs_analysis_sensitivity_scaled_hosts_init(gs_analysis_sensitivity_scaled_hosts_t *self,
                                              gs_context_t *ctx, int64_t n, int64_t width)
{
    memset(self, 0, sizeof *self);
    int64_t row, cells;
    if (!gs_mul(4, width, &row) || !gs_add(row, 1, &row) || !gs_mul(n, row, &cells)) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "segments", -1, width, "fewer segments");
    }
    self->cells = gs_alloc(ctx, (size_t)cells, sizeof *self->cells);
    self->times = gs_alloc(ctx, (size_t)cells, sizeof *self->times);
    self->own = gs_alloc(ctx, (size_t)n, sizeof *self->own);
    self->grown = gs_alloc(ctx, (size_t)n, sizeof *self->grown);
    bool made = self->cells != NULL && self->times != NULL && self->own != NULL;
    return made && self->grown != NULL ? GS_OK : ctx->status;
}

void gs_analysis_sensitivity_scaled_hosts_free(gs_analysis_sensitivity_scaled_hosts_t *self,
                                               gs_context_t *ctx)
{
    gs_free(ctx, self->cells);
    gs_free(ctx, self->times);
    gs_free(ctx, self->own);
    gs_free(ctx, self->grown);
    memset(self, 0, sizeof *self);
}

/* Copies a time of task i. */
static void add_time(gs_analysis_sensitivity_scaled_hosts_t *self, int64_t i, int64_t cell,
                     int64_t time, bool grows)
{
    self->cells[cell] = time;
    if (grows && time > 0) {
        self->times[self->count++] = (gs_analysis_sensitivity_time_t){cell, i, time};
        self->grown[i] += time;
    } else {
        self->own[i] += time;
    }
}

void gs_analysis_sensitivity_scaled_hosts_start(gs_analysis_sensitivity_scaled_hosts_t *self,
                                                const gs_host_tasks_t *hosts, const int64_t *sms,
                                                int scale, int64_t task)
{
    int64_t n = hosts->n, width = hosts->width, block = n * width;
    int64_t copy_in = n * (width + 1), kernel = copy_in + block, copy_out = kernel + block;
    self->hosts = *hosts;
    self->hosts.columns = 1;
    self->hosts.cpu = self->cells;
    self->hosts.copy_in = self->cells + copy_in;
    self->hosts.kernel = self->cells + kernel;
    self->hosts.copy_out = self->cells + copy_out;
    self->count = 0;
    bool all = scale == GS_ANALYSIS_SENSITIVITY_ALL;
    bool copies = all || scale == GS_ANALYSIS_SENSITIVITY_COPIES;
    bool kernels = all || scale == GS_ANALYSIS_SENSITIVITY_KERNELS;
    bool cpu = all || scale == GS_ANALYSIS_SENSITIVITY_CPU;
    for (int64_t i = 0; i < n; i++) {
        bool it = task < 0 || task == i;
        const int64_t *row = gs_host_tasks_cpu(hosts, i);
        self->own[i] = self->grown[i] = 0;
        for (int64_t j = 0; j <= hosts->segments[i]; j++) {
            add_time(self, i, i * (width + 1) + j, row[j], it && cpu);
        }
        for (int64_t j = 0; j < hosts->segments[i]; j++) {
            int64_t at = i * width + j;
            add_time(self, i, copy_in + at, gs_host_tasks_copy_in(hosts, i, j), it && copies);
            add_time(self, i, kernel + at, gs_host_tasks_kernel(hosts, i, j, sms[i]),
                     it && kernels);
            add_time(self, i, copy_out + at, gs_host_tasks_copy_out(hosts, i, j), it && copies);
        }
    }
}

bool gs_analysis_sensitivity_scaled_hosts_scale(gs_analysis_sensitivity_scaled_hosts_t *self,
                                                gs_analysis_sensitivity_factor_t factor)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < self->hosts.n; i++) {
        sum += self->own[i]; /* below GS_NEVER / 2, as in the set */
    }
    for (int64_t k = 0; k < self->count; k++) {
        const gs_analysis_sensitivity_time_t *time = &self->times[k];
        gs_int128_t grown =
            gs_int128_ceil_div((gs_int128_t)time->time * factor.numerator, factor.denominator);
        if (grown >= GS_NEVER / 2 - sum) {
            return false;
        }
        self->cells[time->cell] = (int64_t)grown;
        sum += (int64_t)grown;
    }
    return true;
}

double gs_analysis_sensitivity_scaled_hosts_load(const gs_analysis_sensitivity_scaled_hosts_t *self)
{
    const gs_host_tasks_t *hosts = &self->hosts;
    double load = 0;
    for (int64_t i = 0; i < hosts->n; i++) {
        const int64_t *cpu = gs_host_tasks_cpu(hosts, i);
        int64_t job = cpu[0];
        for (int64_t j = 0; j < hosts->segments[i]; j++) {
            job += gs_host_tasks_copy_in(hosts, i, j) + gs_host_tasks_kernel(hosts, i, j, 1) +
                   gs_host_tasks_copy_out(hosts, i, j) + cpu[j + 1];
        }
        load += (double)job / (double)hosts->period[i];
    }
    return load;
}
