/* Breakdown factor: the largest factor on times at which a test accepts a set. */
#include "analysis/sensitivity/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "core/int128.h"

typedef gs_analysis_sensitivity_factor_t factor_t;

int gs_analysis_sensitivity_breakdown_init(gs_analysis_sensitivity_breakdown_t *self,
                                           gs_context_t *ctx, int64_t n, int64_t width)
{
    memset(self, 0, sizeof *self);
    int status = gs_analysis_sensitivity_scaled_hosts_init(&self->scaled, ctx, n, width);
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
    gs_analysis_sensitivity_scaled_hosts_free(&self->scaled, ctx);
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
    gs_analysis_sensitivity_scaled_hosts_t *scaled = &search->memory->scaled;
    *accepted = false;
    int status = gs_poll(ctx, 100 + scaled->count);
    if (status != GS_OK) {
        return status;
    }
    if (!gs_analysis_sensitivity_scaled_hosts_scale(scaled, factor)) {
        search->found->limiting = -1;
        return GS_OK;
    }
    gs_analysis_common_answer_t *answer = &search->memory->answer;
    status = search->test->run(search->test, ctx, &scaled->hosts, search->place, answer);
    search->found->tests++;
    *accepted = answer->schedulable;
    if (!*accepted) {
        search->found->limiting = answer->failed;
    }
    return status;
}

/* The longest of the times. */
static int64_t longest_of(const gs_analysis_sensitivity_scaled_hosts_t *scaled)
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
    const gs_analysis_sensitivity_scaled_hosts_t *scaled = &search->memory->scaled;
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
        self->sms[i] = gs_analysis_placed_test_sms(test, place, i);
    }
    if (test->options.sms < 1 && test->family != GS_ANALYSIS_PLACED_STGM) {
        return gs_analysis_common_check_sms(ctx, test->options.sms);
    }
    gs_analysis_sensitivity_scaled_hosts_start(&self->scaled, hosts, self->sms, scale, task);
    search_t search = {self, test, place, found};
    status = self->scaled.count == 0 ? decide_fixed(&search, ctx) : search_times(&search, ctx);
    if (status == GS_OK && found->factor.numerator > 0 &&
        gs_analysis_sensitivity_scaled_hosts_scale(&self->scaled, found->factor)) {
        found->load = gs_analysis_sensitivity_scaled_hosts_load(&self->scaled);
    }
    return status;
}

static const char *const SCALE[] = {"all", "kernels", "copies", "cpu", NULL};
static const gs_method_option_t OPTIONS[] = {
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
