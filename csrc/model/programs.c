/* Check of programs. */
#include "model/programs.h"

#include "core/checks.h"

static const int64_t LIMIT = GS_NEVER / 2;

static int check_offsets(gs_context_t *ctx, const gs_programs_t *programs)
{
    for (int64_t i = 0; i < programs->n; i++) {
        if ((i == 0 && programs->begin[0] != 0) || programs->begin[i + 1] <= programs->begin[i]) {
            return gs_fail(ctx, GS_ERR_VALUE, "begin", i, programs->begin[i],
                           "offsets that rise from 0, with at least one segment for each task");
        }
    }
    return GS_OK;
}

static int check_shape(gs_context_t *ctx, const gs_programs_t *programs, int64_t j, int64_t most)
{
    if (programs->blocks[j] < 1 || programs->blocks[j] > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "blocks", j, programs->blocks[j],
                       "a positive number below 2**31");
    }
    if (programs->threads[j] < 1 || programs->threads[j] > most) {
        return gs_fail(ctx, GS_ERR_VALUE, "threads", j, programs->threads[j],
                       "a positive number, at most the number of threads of an SM");
    }
    if (programs->block_time[j] < 1 || programs->block_time[j] >= LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, "block_time", j, programs->block_time[j],
                       "a positive time below 2**60 - 1");
    }
    return GS_OK;
}

int gs_programs_check(gs_context_t *ctx, const gs_programs_t *programs, int64_t most)
{
    if (programs->n < 1 || programs->n > INT32_MAX) {
        return gs_fail(ctx, GS_ERR_VALUE, "tasks", -1, programs->n,
                       "a positive number below 2**31");
    }
    int status = check_offsets(ctx, programs);
    int64_t n = programs->n, segments = status == GS_OK ? programs->begin[n] : 0;
    if (status != GS_OK ||
        (status = gs_check_numbers(ctx, "period", programs->period, n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "deadline", programs->deadline, n, 1)) != GS_OK ||
        (status = gs_check_numbers(ctx, "jitter", programs->jitter, n, 0)) != GS_OK ||
        (status = gs_check_numbers(ctx, "core", programs->core, n, 0)) != GS_OK ||
        (status = gs_check_numbers(ctx, "part", programs->part, n, 0)) != GS_OK ||
        (status = gs_check_numbers(ctx, "time", programs->time, segments, 1)) != GS_OK) {
        return status;
    }
    int64_t sum = 0;
    for (int64_t j = 0; j < segments && status == GS_OK; j++) {
        int64_t kind = programs->kind[j], engine = programs->engine[j];
        if (kind < 0 || kind >= GS_PROGRAMS_KINDS) {
            status = gs_fail(ctx, GS_ERR_VALUE, "kind", j, kind, "0, 1 or 2");
        } else if (kind == GS_PROGRAMS_COPY && (engine < 0 || engine >= GS_PROGRAMS_ENGINES)) {
            status = gs_fail(ctx, GS_ERR_VALUE, "engine", j, engine, "0 to 5");
        } else if (programs->waits[j] < 0 || programs->waits[j] > 1) {
            status = gs_fail(ctx, GS_ERR_VALUE, "waits", j, programs->waits[j], "0 or 1");
        } else if (kind == GS_PROGRAMS_KERNEL && most > 0) {
            status = check_shape(ctx, programs, j, most);
        }
        sum += programs->time[j];
        if (status == GS_OK && sum >= LIMIT) {
            status = gs_fail(ctx, GS_ERR_OVERFLOW, "time", j, programs->time[j],
                             "a sum of all times below 2**60 - 1");
        }
    }
    return status;
}
