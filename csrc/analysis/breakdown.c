/* Breakdown factor: the largest factor on times at which a test accepts a set. */
#include "analysis/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/placed_method.h"
#include "core/int128.h"

typedef gs_analysis_sensitivity_factor_t factor_t;
typedef gs_analysis_sensitivity_scaled_hosts_t scaled_t;

static int scaled_init(scaled_t *self, gs_context_t *ctx, int64_t n, int64_t width)
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

static void scaled_free(scaled_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->cells);
    gs_free(ctx, self->times);
    gs_free(ctx, self->own);
    gs_free(ctx, self->grown);
    memset(self, 0, sizeof *self);
}

/* Copies a time of task i. */
static void add_time(scaled_t *self, int64_t i, int64_t cell, int64_t time, bool grows)
{
    self->cells[cell] = time;
    if (grows && time > 0) {
        self->times[self->count++] = (gs_analysis_sensitivity_time_t){cell, i, time};
        self->grown[i] += time;
    } else {
        self->own[i] += time;
    }
}

/* Copies a checked set with the factor 1. sms: n numbers of SMs of the kernels; task: the only one
 * whose times are multiplied, -1 for all. */
static void copy_set(scaled_t *self, const gs_host_tasks_t *hosts, const int64_t *sms, int scale,
                     int64_t task)
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

/* Multiplies the times of the set by a factor. False where one job of every task take
 * GS_NEVER / 2 or more together; the copy is not to be used then. */
static bool scale_set(scaled_t *self, factor_t factor)
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

/* The sum of (C + G) / T over the tasks of the copy. */
static double load_of(const scaled_t *self)
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

int gs_analysis_sensitivity_breakdown_init(gs_analysis_sensitivity_breakdown_t *self,
                                           gs_context_t *ctx, int64_t n, int64_t width)
{
    memset(self, 0, sizeof *self);
    int status = scaled_init(&self->scaled, ctx, n, width);
    if (status != GS_OK) {
        return status;
    }
    size_t cells = (size_t)n * (4 * (size_t)width + 1);
    self->sms = gs_alloc(ctx, (size_t)n, sizeof *self->sms);
    self->fractions = gs_alloc(ctx, cells, sizeof *self->fractions);
    self->answer.response = gs_alloc(ctx, (size_t)n, sizeof *self->answer.response);
    self->answer.terms =
        gs_alloc(ctx, (size_t)n, GS_ANALYSIS_COMMON_TERMS * sizeof *self->answer.terms);
    bool made = self->sms != NULL && self->fractions != NULL && self->answer.response != NULL;
    return made && self->answer.terms != NULL ? GS_OK : ctx->status;
}

void gs_analysis_sensitivity_breakdown_free(gs_analysis_sensitivity_breakdown_t *self,
                                            gs_context_t *ctx)
{
    scaled_free(&self->scaled, ctx);
    gs_free(ctx, self->sms);
    gs_free(ctx, self->fractions);
    gs_free(ctx, self->answer.response);
    gs_free(ctx, self->answer.terms);
    memset(self, 0, sizeof *self);
}

/* One set, its test, and what was found so far. */
typedef struct {
    gs_analysis_sensitivity_breakdown_t *memory;
    gs_analysis_placed_test_t *test;
    const gs_analysis_placed_place_t *place;
    gs_analysis_sensitivity_answer_t *found;
} search_t;

/* Whether the test accepts the set with a factor. Every factor that fails is less than those that
 * failed before. */
static int try_factor(search_t *search, gs_context_t *ctx, factor_t factor, bool *accepted)
{
    scaled_t *scaled = &search->memory->scaled;
    *accepted = false;
    int status = gs_poll(ctx, 100 + scaled->count);
    if (status != GS_OK) {
        return status;
    }
    if (!scale_set(scaled, factor)) {
        search->found->limiting = -1;
        return GS_OK;
    }
    gs_analysis_common_answer_t *answer = &search->memory->answer;
    status = gs_analysis_placed_test_run(search->test, ctx, &scaled->hosts, search->place, answer);
    search->found->tests++;
    *accepted = answer->schedulable;
    if (!*accepted) {
        search->found->limiting = answer->failed;
    }
    return status;
}

/* The longest of the times. */
static int64_t longest_of(const scaled_t *scaled)
{
    int64_t longest = 0;
    for (int64_t k = 0; k < scaled->count; k++) {
        longest = gs_analysis_common_max(longest, scaled->times[k].time);
    }
    return longest;
}

/* The largest k for which no job is longer than its deadline with the factor k / longest, -1 where
 * there is none; `limiting` is the task that has it. */
static int64_t most_by_length(search_t *search, int64_t longest)
{
    const scaled_t *scaled = &search->memory->scaled;
    gs_int128_t most = GS_NEVER;
    for (int64_t i = 0; i < scaled->hosts.n; i++) {
        int64_t left = scaled->hosts.deadline[i] - scaled->own[i];
        if (scaled->grown[i] == 0 && left >= 0) {
            continue;
        }
        gs_int128_t bound =
            left < 0 ? -1
                     : (gs_int128_t)left * longest / (scaled->grown[i] > 0 ? scaled->grown[i] : 1);
        if (bound < most) {
            most = bound;
            search->found->limiting = i;
        }
    }
    return (int64_t)most;
}

static int by_value(const void *a, const void *b)
{
    const factor_t *x = a, *y = b;
    gs_int128_t left = (gs_int128_t)x->numerator * y->denominator,
                right = (gs_int128_t)y->numerator * x->denominator;
    return left < right ? -1 : left > right;
}

/* The fractions k / t between `least` / longest and the next multiple of 1 / longest, in order;
 * returns their number. */
static int64_t fill_fractions(gs_analysis_sensitivity_breakdown_t *self, int64_t longest,
                              int64_t least)
{
    int64_t count = 0, kept = 0;
    for (int64_t k = 0; k < self->scaled.count; k++) {
        int64_t time = self->scaled.times[k].time;
        gs_int128_t next =
            (gs_int128_t)time * least / longest + 1; /* ticks above least / longest */
        if (next * longest < (gs_int128_t)time * (least + 1)) {
            self->fractions[count++] = (factor_t){(int64_t)next, time};
        }
    }
    qsort(self->fractions, (size_t)count, sizeof *self->fractions, by_value);
    for (int64_t k = 0; k < count; k++) {
        if (kept == 0 || by_value(&self->fractions[kept - 1], &self->fractions[k]) != 0) {
            self->fractions[kept++] = self->fractions[k];
        }
    }
    return kept;
}

/* Bisection of the multiples of 1 / longest: the largest accepted one, 0 without. The first test is
 * of the set as it is. */
static int search_multiples(search_t *search, gs_context_t *ctx, int64_t longest, int64_t *least)
{
    bool accepted;
    int64_t most = most_by_length(search, longest), limiting = search->found->limiting;
    int status = try_factor(search, ctx, (factor_t){1, 1}, &accepted);
    *least = accepted ? longest : 0;
    if (most < longest) {
        search->found->limiting = limiting;
    } else if (!accepted) {
        most = longest - 1;
    }
    while (*least < most && status == GS_OK) {
        int64_t middle = *least + (most - *least + 1) / 2;
        status = try_factor(search, ctx, (factor_t){middle, longest}, &accepted);
        if (accepted) {
            *least = middle;
        } else {
            most = middle - 1;
        }
    }
    return status;
}

/* The same of the first `count` fractions in the gap above `factor`, which is kept without. */
static int search_fractions(search_t *search, gs_context_t *ctx, int64_t count, factor_t *factor)
{
    int64_t least = 0; /* accepted fractions */
    int status = GS_OK;
    while (least < count && status == GS_OK) {
        int64_t middle = least + (count - least + 1) / 2;
        bool accepted;
        status = try_factor(search, ctx, search->memory->fractions[middle - 1], &accepted);
        if (accepted) {
            least = middle;
            *factor = search->memory->fractions[middle - 1];
        } else {
            count = middle - 1;
        }
    }
    return status;
}

/* Sets of which nothing is multiplied. */
static int decide_fixed(search_t *search, gs_context_t *ctx)
{
    bool accepted;
    int status = try_factor(search, ctx, (factor_t){1, 1}, &accepted);
    search->found->unlimited = accepted;
    search->found->factor = (factor_t){accepted, 1};
    return status;
}

static void reduce(factor_t *factor)
{
    int64_t divisor = (int64_t)gs_int128_gcd(factor->numerator, factor->denominator);
    factor->numerator /= divisor;
    factor->denominator /= divisor;
}

/* Sets of which some times are multiplied. */
static int search_times(search_t *search, gs_context_t *ctx)
{
    factor_t *factor = &search->found->factor;
    int64_t longest = longest_of(&search->memory->scaled), least;
    int status = search_multiples(search, ctx, longest, &least);
    if (status != GS_OK || least == 0) {
        return status;
    }
    *factor = (factor_t){least, longest};
    int64_t count = fill_fractions(search->memory, longest, least);
    status = search_fractions(search, ctx, count, factor);
    reduce(factor);
    return status;
}

int gs_analysis_sensitivity_breakdown(gs_analysis_sensitivity_breakdown_t *self, gs_context_t *ctx,
                                      gs_analysis_placed_test_t *test, const gs_host_tasks_t *hosts,
                                      const gs_analysis_placed_place_t *place, int scale,
                                      int64_t task, gs_analysis_sensitivity_answer_t *found)
{
    *found = (gs_analysis_sensitivity_answer_t){.factor = {0, 1}, .limiting = -1};
    if (scale < GS_ANALYSIS_SENSITIVITY_ALL || scale > GS_ANALYSIS_SENSITIVITY_CPU) {
        return gs_fail(ctx, GS_ERR_VALUE, "scale", -1, scale,
                       "0 (all), 1 (kernels), 2 (copies) or 3 (cpu)");
    }
    int status = gs_host_tasks_check(ctx, hosts);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < hosts->n; i++) {
        self->sms[i] = gs_analysis_placed_method_sms(test->method, test->options.sms, place->sm, i);
    }
    if (test->options.sms < 1 && !gs_analysis_placed_method_divides(test->method)) {
        return gs_analysis_common_check_sms(ctx, test->options.sms);
    }
    copy_set(&self->scaled, hosts, self->sms, scale, task);
    search_t search = {self, test, place, found};
    status = self->scaled.count == 0 ? decide_fixed(&search, ctx) : search_times(&search, ctx);
    if (status == GS_OK && found->factor.numerator > 0 && scale_set(&self->scaled, found->factor)) {
        found->load = load_of(&self->scaled);
    }
    return status;
}

static const char *const SCALE[] = {"all", "kernels", "copies", "cpu", NULL};
static const gs_method_option_t OPTIONS[] = {
    {"way", "way", NULL, NULL, "the way of sharing the GPU whose test it is"},
    {"scale", "choice", SCALE, "all", "times that are scaled; also the name of a task"},
};

const gs_method_t gs_analysis_sensitivity_breakdown_method = {
    .name = "breakdown",
    .model = "HostTasks",
    .function = "analysis.breakdown",
    .claim = "sufficient",
    .source = "monotonicity of the tests; proof in breakdown.h",
    .summary = "Largest factor on execution times with which a test accepts a set.",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof *OPTIONS,
};
