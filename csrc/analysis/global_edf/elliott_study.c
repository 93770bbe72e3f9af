/* Tests of the study of [RTNS10] on one random set.
 *
 * E = e + s is the work of a job, b its blocking. SRM: E + b <= p for all tasks, and the sum of (E
 * + b) / p is at most m. Container: at most 1 over the GPU-using tasks, at most m over all. CPUs
 * alone, at speed-up c: E - cs + c s <= p, and the sum at most m. Sums over the CPU-only tasks are
 * the total minus those over the GPU-using tasks.
 */
#include "analysis/global_edf/elliott_study.h"

#include "core/rational.h"

#include <math.h>

/* Error bound of a floating-point sum of n quotients whose absolute terms add up to `size`: half a
 * unit in the last place (2^-53) for each of n additions and a few roundings of each term, doubled.
 * A sum this near to its bound is computed again in whole numbers. */
static double off(int64_t n, double size)
{
    return (double)(n + 8) * 0x1p-52 * size;
}

/* Demand that a job of a GPU-using task adds to its work. */
typedef struct {
    bool fmlp;
    bool cpus; /* CPUs alone */
    double speed_up;
    double blocking; /* of all tasks but those in top */
    int64_t tops;
    const struct top *top;
} demand_t;

/* A GPU-using task with one of the longest critical sections. */
typedef struct top {
    int64_t task;
    double section;
    double blocking;
} top_t;

typedef struct {
    gs_generate_elliott_sets_t sets;
    const gs_analysis_global_edf_elliott_tests_t *tests;
    top_t *top; /* owned, top_room + 1 entries */
    int64_t top_room;
} study_t;

static double section_of(const gs_generate_elliott_sets_t *sets, int64_t i, double *kernel)
{
    double s = gs_generate_elliott_part(sets->work[i], (double)sets->spec.gpu);
    double copies = gs_generate_elliott_part(sets->work[i], (double)sets->spec.overhead);
    *kernel = s;
    return s + (copies < sets->work[i] - s ? copies : sets->work[i] - s);
}

/* The demand of a job, a whole number of ticks. */
static double demand_of(const study_t *self, const demand_t *demand, int64_t i)
{
    const gs_generate_elliott_sets_t *sets = &self->sets;
    if (i >= sets->gpu) {
        return sets->work[i];
    }
    double kernel, section = section_of(sets, i, &kernel);
    if (demand->cpus) {
        return sets->work[i] - section + demand->speed_up * kernel;
    }
    if (demand->fmlp) {
        return sets->work[i] + (sets->sums.sections - section);
    }
    for (int64_t j = 0; j < demand->tops; j++) {
        if (demand->top[j].task == i) {
            return sets->work[i] + demand->top[j].blocking;
        }
    }
    return sets->work[i] + demand->blocking;
}

/* Whether a utilization that floating point gives as `load` is at most m; size: see off. */
static int within(study_t *self, gs_context_t *ctx, double load, double size,
                  const demand_t *demand, bool *ok)
{
    gs_generate_elliott_sets_t *sets = &self->sets;
    double m = (double)sets->spec.cpus;
    *ok = load <= m;
    if (fabs(load - m) > off(sets->n, size + m)) {
        return GS_OK;
    }
    for (int64_t i = 0; i < sets->n; i++) {
        sets->numer[i] = (int64_t)demand_of(self, demand, i);
        sets->denom[i] = (int64_t)sets->period[i];
    }
    int sign = 0;
    int status = gs_rational_compare(ctx, sets->numer, sets->denom, sets->n, sets->spec.cpus,
                                     sets->rest, &sign);
    *ok = sign <= 0;
    return status;
}

/* FMLP: b = all critical sections but its own, so E + b <= p is slack >= sections. */
static int test_fmlp(study_t *self, gs_context_t *ctx, bool *ok)
{
    const gs_generate_elliott_sums_t *sums = &self->sets.sums;
    *ok = sums->least_slack >= sums->sections;
    if (!*ok) {
        return GS_OK;
    }
    double more = sums->sections * sums->inverse;
    double load = self->sets.load - sums->section_load + more;
    double size = self->sets.load + sums->section_load + more;
    return within(self, ctx, load, size, &(demand_t){.fmlp = true}, ok);
}

/* Finds the longest critical sections, descending, at most `room` of them; returns their number. */
static int64_t find_top(study_t *self, int64_t room)
{
    const gs_generate_elliott_sets_t *sets = &self->sets;
    top_t *top = self->top;
    int64_t count = 0;
    for (int64_t i = 0; i < sets->gpu; i++) {
        double kernel, section = section_of(sets, i, &kernel);
        if (count == room && section <= top[count - 1].section) {
            continue;
        }
        int64_t at = count < room ? count++ : count - 1;
        while (at > 0 && top[at - 1].section < section) {
            top[at] = top[at - 1];
            at--;
        }
        top[at] = (top_t){i, section, 0};
    }
    return count;
}

/* Whether OMLP loads the CPUs with more than m even if the longest critical sections are no longer
 * than the mean of the others. Most rejected sets fail here, without a pass over single tasks. */
static bool is_too_long(const gs_generate_elliott_sets_t *sets, int64_t requests)
{
    const gs_generate_elliott_sums_t *sums = &sets->sums;
    double each = (double)requests / (double)(sets->gpu - 1);
    double load = sets->load + each * (sums->sections * sums->inverse - sums->section_load);
    double size = sets->load + each * (sums->sections * sums->inverse + sums->section_load);
    return load - (double)sets->spec.cpus > off(sets->n, size);
}

/* OMLP with more than m + 1 GPU-using tasks: the longest critical sections of other tasks, two of
 * each: 2m - 1 of them, m - 1 pairs and a single one (Eq. 2: only the pairs; or, with one request
 * of each task, the 2m - 2 longest). A task among the longest has the next one instead of its own.
 * With fewer tasks OMLP is FIFO, and as printed no better than FMLP unless m = 1, so there is
 * nothing to test. */
static int test_omlp(study_t *self, gs_context_t *ctx, bool *ok)
{
    const gs_generate_elliott_sets_t *sets = &self->sets;
    bool sound = self->tests->paper == GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND,
         once = self->tests->paper == GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER_ONCE;
    int64_t m = sets->spec.cpus, requests = 2 * (m - 1), full = once ? requests : m - 1;
    *ok = false;
    if (sets->gpu <= (once ? requests : m) + 1 && (sound || m > 1)) {
        return GS_OK;
    }
    if (is_too_long(sets, sound ? requests + 1 : requests)) {
        return GS_OK;
    }
    top_t *top = self->top;
    int64_t count = find_top(self, full + 2);
    double single = sound ? 1 : 0, each = once ? 1 : 2, sum = 0;
    for (int64_t r = 0; r < full; r++) {
        sum += each * top[r].section;
    }
    demand_t demand = {.blocking = sum + single * top[full].section, .tops = count, .top = top};
    double load = sets->load + demand.blocking * sets->sums.inverse, size = 2 * load;
    for (int64_t r = 0; r < count; r++) {
        if (r < full) {
            top[r].blocking = sum - each * top[r].section + each * top[full].section +
                              single * top[full + 1].section;
        } else {
            top[r].blocking = sum + single * top[r == full ? full + 1 : full].section;
        }
        load -= (demand.blocking - top[r].blocking) / sets->period[top[r].task];
    }
    if (load - (double)m > off(sets->n, size)) {
        return GS_OK;
    }
    for (int64_t i = 0; i < sets->gpu; i++) {
        if (sets->work[i] + demand.blocking > sets->period[i] &&
            demand_of(self, &demand, i) > sets->period[i]) {
            return GS_OK;
        }
    }
    return within(self, ctx, load, size, &demand, ok);
}

/* The bandwidth of the container is at most 1. The total utilization is at most the cap, but for
 * rounding. */
static int test_container(study_t *self, gs_context_t *ctx, bool *ok)
{
    gs_generate_elliott_sets_t *sets = &self->sets;
    *ok = sets->sums.load <= 1;
    if (fabs(sets->sums.load - 1) <= off(sets->gpu, 2)) {
        for (int64_t i = 0; i < sets->gpu; i++) {
            sets->numer[i] = (int64_t)sets->work[i];
            sets->denom[i] = (int64_t)sets->period[i];
        }
        int sign = 0;
        int status =
            gs_rational_compare(ctx, sets->numer, sets->denom, sets->gpu, 1, sets->rest, &sign);
        *ok = sign <= 0;
        if (status != GS_OK) {
            return status;
        }
    }
    return *ok ? within(self, ctx, sets->load, sets->load, &(demand_t){.cpus = false}, ok) : GS_OK;
}

/* slack / s is a quotient of whole numbers below 2^32, c a whole number below 2^20: rounding cannot
 * move one past the other. */
static int test_cpus(study_t *self, gs_context_t *ctx, double c, bool *ok)
{
    const gs_generate_elliott_sums_t *sums = &self->sets.sums;
    *ok = sums->least_speed_up >= c;
    if (!*ok) {
        return GS_OK;
    }
    double more = c * sums->kernel_load;
    double load = self->sets.load - sums->section_load + more;
    double size = self->sets.load + sums->section_load + more;
    return within(self, ctx, load, size, &(demand_t){.cpus = true, .speed_up = c}, ok);
}

/* The eighth that holds the largest speed-up at which the CPUs alone suffice. */
static int64_t last_eighth(const gs_generate_elliott_sets_t *sets)
{
    const gs_generate_elliott_sums_t *sums = &sets->sums;
    double room = (double)sets->spec.cpus - (sets->load - sums->section_load);
    double most = room / sums->kernel_load; /* infinite or NaN where no kernel runs */
    most = most < sums->least_speed_up ? most : sums->least_speed_up;
    if (!(most * 8 < GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS - 1)) {
        return GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS - 1;
    }
    return most > 0 ? (int64_t)(most * 8) : 0;
}

static int test_set(study_t *self, gs_context_t *ctx,
                    const gs_analysis_global_edf_elliott_counts_t *counts)
{
    const gs_generate_elliott_sets_t *sets = &self->sets;
    const gs_analysis_global_edf_elliott_tests_t *tests = self->tests;
    int64_t bin = (int64_t)(sets->load * (double)tests->bins / (double)sets->spec.cpus);
    bin = bin < tests->bins ? bin : tests->bins - 1;
    bool fmlp, omlp = false, container = false;
    int status = test_fmlp(self, ctx, &fmlp);
    if (status == GS_OK && !fmlp) {
        status = test_omlp(self, ctx, &omlp);
    }
    if (status == GS_OK) {
        status = test_container(self, ctx, &container);
    }
    const bool passed[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS] = {fmlp || omlp, container, fmlp,
                                                                 fmlp || omlp || container};
    int64_t *count = counts->passed + bin;
    for (int i = 0; i < GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS; i++) {
        *count += passed[i];
        count += tests->bins;
    }
    for (int64_t i = 0; i < tests->speed_ups && status == GS_OK; i++) {
        bool ok;
        status = test_cpus(self, ctx, (double)tests->speed_up[i], &ok);
        *count += ok;
        count += tests->bins;
    }
    counts->sets[bin]++;
    counts->without[bin] += sets->gpu == 0;
    counts->eighths[last_eighth(sets)]++;
    *counts->tasks += sets->n;
    return status;
}

/* Sets are drawn in blocks of growing size: where nearly all draws are rejected, the first set
 * shows it. */
static int test_all(study_t *self, gs_context_t *ctx, uint64_t first, uint64_t count,
                    const gs_analysis_global_edf_elliott_counts_t *counts)
{
    uint64_t abreast = 1;
    while (count > 0) {
        uint64_t now = count < abreast ? count : abreast;
        int status = gs_generate_elliott_find(&self->sets, ctx, first, (int64_t)now);
        for (uint64_t i = 0; i < now && status == GS_OK; i++) {
            gs_generate_elliott_make(&self->sets, (int64_t)i);
            status = test_set(self, ctx, counts);
        }
        if (status != GS_OK) {
            return status;
        }
        first += now;
        count -= now;
        abreast = 2 * now < GS_GENERATE_ELLIOTT_ABREAST ? 2 * now : GS_GENERATE_ELLIOTT_ABREAST;
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_analysis_global_edf_elliott_tests_t *tests)
{
    if (tests->paper < GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND ||
        tests->paper > GS_ANALYSIS_GLOBAL_EDF_SRM_PAPER_ONCE) {
        return gs_fail(ctx, GS_ERR_VALUE, "paper", -1, tests->paper,
                       "0 (sound), 1 (paper) or 2 (once)");
    }
    if (tests->bins < 1 || tests->bins > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "bins", -1, tests->bins,
                       "a positive number of bins below 2**31");
    }
    if (tests->speed_ups < 0 || tests->speed_ups > GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS) {
        return gs_fail(ctx, GS_ERR_VALUE, "speed_up", -1, tests->speed_ups, "0 to 16 speed-ups");
    }
    for (int64_t i = 0; i < tests->speed_ups; i++) {
        if (tests->speed_up[i] < 1 || tests->speed_up[i] > 1000000) {
            return gs_fail(ctx, GS_ERR_VALUE, "speed_up", i, tests->speed_up[i],
                           "a speed-up of 1 to 1000000");
        }
    }
    return GS_OK;
}

int gs_analysis_global_edf_elliott_study(gs_context_t *ctx, const gs_generate_elliott_t *spec,
                                         const uint64_t key[4], uint64_t first, uint64_t count,
                                         const gs_analysis_global_edf_elliott_tests_t *tests,
                                         const gs_analysis_global_edf_elliott_counts_t *counts)
{
    study_t self = {.tests = tests};
    int status = check(ctx, tests);
    if (status != GS_OK) {
        return status;
    }
    status = gs_generate_elliott_init(&self.sets, ctx, spec, key);
    if (status != GS_OK) {
        goto out;
    }
    /* No more than the tasks that a set can have are needed. */
    self.top_room = 2 * spec->cpus < self.sets.room ? 2 * spec->cpus : self.sets.room;
    self.top = gs_alloc(ctx, (size_t)self.top_room, sizeof *self.top);
    if (self.top == NULL) {
        status = ctx->status;
        goto out;
    }
    status = test_all(&self, ctx, first, count, counts);
    for (int i = 0; i < GS_GENERATE_ELLIOTT_FATES; i++) {
        counts->fates[i] += self.sets.fates[i];
    }
out:
    gs_free(ctx, self.top);
    gs_generate_elliott_free(&self.sets, ctx);
    return status;
}
