/* Order and budgets of the parts of a lazy search. */
#include "pbs/lazy/lazy.h"

enum {
    FIRST_WORK = 1 << 18, /* of the first round ... */
    LOOKS = 16            /* ... or that of so many looks at a state with all jobs pending */
};

/* Lets the next part of a round work so much, but no part work longer than to the end. */
static void allow(gs_pbs_lazy_engine_t *self, int64_t work, int64_t end)
{
    self->work_limit = work < end - self->work ? self->work + work : end;
}

/* Tries of one width, by each order of the moves. */
static int try_all(gs_pbs_lazy_engine_t *self, int32_t width, int64_t work, int64_t end,
                   gs_schedule_t *schedule, int *answer)
{
    int status = GS_OK, orders = self->moves.worth == NULL ? 1 : GS_PBS_LAZY_MOVES_ORDERS;
    for (int order = 0; order < orders && status == GS_OK && *answer == GS_PBS_LAZY_OPEN; order++) {
        gs_pbs_lazy_work_conserving_options_t options = {width, order, true};
        allow(self, work, end);
        status = gs_pbs_lazy_work_conserving(self, &options, schedule, answer);
    }
    return status;
}

static int search_idling(gs_pbs_lazy_engine_t *self, gs_schedule_t *schedule, int *answer)
{
    int status = gs_pbs_lazy_inserted_idle(self, 0, 0, self->moves.problem->arrived[0], answer);
    if (status == GS_OK && *answer == GS_PBS_LAZY_ALIVE) {
        status = gs_pbs_lazy_inserted_idle_schedule(self, schedule);
    }
    return status;
}

int gs_pbs_lazy_rounds(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_rounds_options_t *options,
                       gs_schedule_t *schedule, int *answer)
{
    *answer = GS_PBS_LAZY_OPEN;
    int64_t looks = (int64_t)LOOKS << self->moves.problem->n;
    int64_t work = options->first_work > 0 ? options->first_work
                   : looks > FIRST_WORK    ? looks
                                           : FIRST_WORK;
    int64_t end = options->most_work > 0 ? self->work + options->most_work : INT64_MAX;
    int32_t width = 1;
    int status = GS_OK;
    self->work_limit = end;
    if (options->idling) {
        return search_idling(self, schedule, answer);
    }
    while (status == GS_OK && *answer == GS_PBS_LAZY_OPEN && self->work < end) {
        if (!options->skip_tries) {
            status = try_all(self, width, work / 4, end, schedule, answer);
        }
        if (status == GS_OK && *answer == GS_PBS_LAZY_OPEN) {
            gs_pbs_lazy_work_conserving_options_t all = {0, GS_PBS_LAZY_MOVES_SAVES, false};
            allow(self, work, end);
            status = gs_pbs_lazy_work_conserving(self, &all, schedule, answer);
        }
        work = work < INT64_MAX / 8 ? 4 * work : work;
        width = width < GS_PBS_LAZY_MOVES_WIDTH ? 2 * width : width;
    }
    return status;
}
