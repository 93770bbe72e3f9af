/* Check of the options of an execution, before anything is opened. */
#include "execute/execute_options.h"

#include "core/checks.h"

/* Whether rows are a permutation: n rows of 0 .. n - 1, of which none is twice. */
static int check_rows(gs_context_t *ctx, const int64_t *row, int64_t n)
{
    int status = gs_check_range(ctx, "row", row, n, 0, n - 1, "a row of the log");
    bool *taken = status == GS_OK ? gs_alloc(ctx, (size_t)n, sizeof *taken) : NULL;
    if (taken == NULL) {
        return status == GS_OK ? ctx->status : status;
    }
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        if (taken[row[i]]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "row", i, row[i], "a row that no task has");
        }
        taken[row[i]] = true;
    }
    gs_free(ctx, taken);
    return status;
}

/* Kernels of a plan: at most 64 items of each, and between the first and the last one of a job no
 * other work. */
static int check_kernels(gs_context_t *ctx, const gs_simulate_machine_model_t *m,
                         const gs_execute_options_t *options)
{
    int64_t items = m->item_begin[m->n];
    int status = gs_check_range(ctx, "kernel", options->kernel, items, -1, INT32_MAX,
                                "-1 or the number of a kernel");
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        int64_t last = -1, behind = -1, same = 0;
        for (int64_t k = m->item_begin[i]; k < m->item_begin[i + 1] && status == GS_OK; k++) {
            int64_t number = options->kernel[k];
            if (number >= 0 && (behind >= 0 || number < last || number > last + 1)) {
                status = gs_fail(ctx, GS_ERR_VALUE, "kernel", k, number,
                                 "the kernels of a job one after the other");
            }
            same = number == last ? same + 1 : 1;
            if (number >= 0 && same > 64) {
                status = gs_fail(ctx, GS_ERR_VALUE, "kernel", k, number, "at most 64 items");
            }
            behind = last >= 0 && number < 0 ? k : behind;
            last = number >= 0 ? number : last;
        }
    }
    return status;
}

/* Tasks that others release: not with a plan, and no more jobs than the others release. */
static int check_links(gs_context_t *ctx, const gs_simulate_machine_model_t *m,
                       const gs_execute_options_t *options)
{
    for (int64_t i = 0; i < m->n && m->after_begin != NULL; i++) {
        for (int64_t k = m->after_begin[i]; k < m->after_begin[i + 1]; k++) {
            int64_t jobs = options->jobs[i], others = options->jobs[m->after[k]];
            if (options->sharing == GS_EXECUTE_PLANNED) {
                return gs_fail(ctx, GS_ERR_VALUE, "after", k, m->after[k], "none with a plan");
            }
            if (jobs > 0 && (others < 1 || jobs - 1 > (others - 1) / m->every[i])) {
                return gs_fail(ctx, GS_ERR_VALUE, "jobs", i, jobs,
                               "at most as many as the tasks before it release");
            }
        }
    }
    return GS_OK;
}

int gs_execute_check_options(gs_context_t *ctx, const gs_simulate_machine_model_t *m,
                             const gs_execute_options_t *o)
{
    const int64_t n = m->n, longest = GS_CHECK_LATEST;
    if (o->sharing < 0 || o->sharing >= GS_EXECUTE_SHARINGS) {
        return gs_fail(ctx, GS_ERR_VALUE, "sharing", -1, o->sharing, "a known sharing");
    }
    if (o->lead < 0 || o->lead > longest || o->cycles < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "lead", -1, o->lead, "times of at least 0 ns");
    }
    if (o->events < 2 || o->events > 1 << 24) {
        return gs_fail(ctx, GS_ERR_VALUE, "events", -1, o->events, "a power of 2 up to 2**24");
    }
    if (o->supervisor < 0 || o->supervisor > 99) {
        return gs_fail(ctx, GS_ERR_VALUE, "supervisor", -1, o->supervisor, "0 to 99");
    }
    if (n < 1 || n > 1024 || o->controls < 0 || o->controls > 1024) {
        return gs_fail(ctx, GS_ERR_VALUE, "period", -1, n, "1 to 1024 tasks");
    }
    if (m->policy != GS_SIMULATE_MACHINE_PARTITIONED) {
        return gs_fail(ctx, GS_ERR_VALUE, "policy", -1, m->policy, "tasks that have their cores");
    }
    const struct {
        const char *field;
        const int64_t *column;
        int64_t least, most;
        const char *expected;
    } ranges[] = {
        {"jobs", o->jobs, 0, INT32_MAX, "0 to 2147483647"},
        {"cpu", o->cpu, -1, INT32_MAX, "-1 or the number of a CPU"},
        {"fifo", o->fifo, 0, 99, "0 to 99"},
        {"ceiling", o->ceiling, 0, 99, "0 to 99"},
        {"urgency", o->urgency, 0, INT32_MAX, "0 to 2147483647"},
        {"lock", o->lock, -1, GS_EXECUTE_LOCKS - 1, "-1 to 63"},
        {"due", o->due, -longest, longest, "a time below 2**59 ns"},
    };
    int status = check_rows(ctx, o->row, n);
    for (size_t r = 0; status == GS_OK && r < sizeof ranges / sizeof *ranges; r++) {
        status = gs_check_range(ctx, ranges[r].field, ranges[r].column, n, ranges[r].least,
                                ranges[r].most, ranges[r].expected);
    }
    for (int64_t i = 0; status == GS_OK && i < n; i++) {
        if (o->jobs[i] > longest / m->period[i]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "jobs", i, o->jobs[i], "a run below 2**59 ns");
        }
    }
    if (status == GS_OK && o->sharing == GS_EXECUTE_PLANNED) {
        status = check_kernels(ctx, m, o);
    }
    return status == GS_OK ? check_links(ctx, m, o) : status;
}
