/* Depth-first search with dead spans. */
#include "pbs/lazy/work_conserving.h"

#include "pbs/lazy/inserted_idle.h"

/* Moves *first..*last, instants around one whose batch ends in dead time, to those whose batch
 * does. */
static int narrow(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_class_t *facts, uint32_t batch,
                  int64_t instant, int64_t *first, int64_t *last, int64_t *work)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    gs_pbs_lazy_view_t view;
    int64_t c = p->completion[batch];
    int64_t limit = gs_pbs_lazy_moves_limit(&self->moves, facts, batch);
    int64_t rest =
        facts->class_index - gs_pbs_lazy_moves_step(&self->moves, batch) - p->arrived[facts->k];
    int64_t end = instant + c, k = facts->k;
    if (*first + c > limit) {
        return GS_OK; /* every end is too late */
    }
    int64_t at = end < limit ? end : limit; /* the last end that is not too late, or the own one */
    while (p->start[k + 1] <= at) {
        k++;
    }
    int64_t to = *last + c < limit ? *last + c : limit, up = end, here = k;
    while (up <= to) {
        while (p->start[here + 1] <= up) {
            here++;
        }
        int status = gs_pbs_lazy_store_view(&self->store, self->ctx, here, rest + p->arrived[here],
                                            true, &view);
        if (status != GS_OK) {
            return status;
        }
        *work += 16;
        int64_t until = gs_pbs_lazy_view_dead_until(&view, up);
        if (until < up) {
            *last = up - 1 - c;
            break;
        }
        up = until + 1;
    }
    for (int64_t down = at; down >= *first + c; k--) {
        int status =
            gs_pbs_lazy_store_view(&self->store, self->ctx, k, rest + p->arrived[k], true, &view);
        if (status != GS_OK) {
            return status;
        }
        *work += 16;
        int64_t from = gs_pbs_lazy_view_dead_from(&view, down);
        if (from > view.first) {
            *first = from - c > *first ? from - c : *first;
            break;
        }
        down = view.first - 1;
    }
    return GS_OK;
}

/* Records that a state is dead, and what is dead around it for the same reasons. */
static int record(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_class_t *facts, int64_t instant)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    int64_t id = gs_pbs_lazy_store_entry(&self->store, self->ctx, facts->k, facts->class_index);
    if (id < 0) {
        return self->ctx->status;
    }
    int64_t first = facts->first, last = self->store.entries[id].latest, work = 1;
    last = last < facts->last ? last : facts->last;
    if (instant > last) {
        return GS_OK; /* known already */
    }
    for (uint32_t batch = facts->pending; batch != 0; batch = (batch - 1) & facts->pending) {
        work++;
        if (p->completion[batch] != 0) {
            int status = narrow(self, facts, batch, instant, &first, &last, &work);
            if (status != GS_OK) {
                return status;
            }
        }
    }
    self->work += work;
    int status = gs_pbs_lazy_store_add(&self->store, self->ctx, id, first, last);
    return status == GS_OK ? gs_poll(self->ctx, work) : status;
}

/* Whether a state is known to be dead, also by asking about inserted idle time. */
static int is_dead(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_state_t *state, bool quick,
                   bool *dead)
{
    gs_pbs_lazy_view_t view;
    int status =
        gs_pbs_lazy_store_view(&self->store, self->ctx, state->k, state->class_index, true, &view);
    *dead = status == GS_OK && gs_pbs_lazy_view_is_dead(&view, state->instant);
    if (status == GS_OK && !*dead && !quick && self->store.bound == NULL) {
        int answer;
        status =
            gs_pbs_lazy_inserted_idle(self, state->instant, state->k, state->class_index, &answer);
        *dead = answer == GS_PBS_LAZY_DEAD;
    }
    return status;
}

/* Looks for moves of the last state; *dead: there are none, which is recorded. */
static int look(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_work_conserving_options_t *options,
                gs_pbs_lazy_state_t *state, bool *dead)
{
    gs_pbs_lazy_class_t facts;
    gs_pbs_lazy_list_t list;
    int status = gs_count_states(self->ctx, 1);
    gs_pbs_lazy_moves_class(&self->moves, state->k, state->class_index, &facts);
    if (status == GS_OK) {
        status = gs_pbs_lazy_moves_list(&self->moves, self->ctx, &facts, state->instant, true,
                                        options->order, &list, &self->work);
    }
    if (status != GS_OK) {
        return status;
    }
    *dead = list.count == 0;
    if (*dead) {
        return record(self, &facts, state->instant);
    }
    int32_t width = options->width > 0 ? options->width : list.count;
    state->open = options->width > 0 && (list.left_out || list.count > width);
    state->count = list.count < width ? list.count : width;
    state->next = 0;
    for (int32_t i = 0; i < state->count; i++) {
        state->batch[i] = list.batch[i];
    }
    return GS_OK;
}

/* Advances the last state of the path. *answer: dead or left open, and popped; alive when it is the
 * end of a schedule; else GS_PBS_LAZY_OPEN with *popped false. */
static int step(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_work_conserving_options_t *options,
                bool *popped, bool *found)
{
    gs_pbs_lazy_path_t *path = &self->path;
    gs_pbs_lazy_state_t *state = &path->states[path->length - 1];
    bool dead = false;
    int status = GS_OK;
    *popped = *found = false;
    if (state->fresh) {
        state->fresh = false;
        if (state->class_index == 0) {
            *found = true;
            return GS_OK;
        }
        status = is_dead(self, state, options->quick, &dead);
    }
    if (status == GS_OK && !dead && state->next == state->count) {
        if (state->open) {
            *popped = true;
            return GS_OK;
        }
        status = look(self, options, state, &dead);
    }
    if (status != GS_OK || dead) {
        *popped = dead;
        return status;
    }
    int64_t k, c;
    int64_t end = gs_pbs_lazy_moves_take(&self->moves, state->instant, state->k, state->class_index,
                                         state->batch[state->next++], &k, &c);
    return gs_pbs_lazy_engine_push(self, path, end, k, c);
}

static int write_schedule(const gs_pbs_lazy_engine_t *self, gs_schedule_t *schedule)
{
    int status = GS_OK;
    for (int64_t i = 0; i + 1 < self->path.length && status == GS_OK; i++) {
        const gs_pbs_lazy_state_t *state = &self->path.states[i];
        uint32_t batch = state->batch[state->next - 1];
        int64_t end = state->instant + self->moves.problem->completion[batch];
        status = gs_schedule_append(schedule, self->ctx, state->instant, end, batch);
    }
    return status;
}

int gs_pbs_lazy_work_conserving(gs_pbs_lazy_engine_t *self,
                                const gs_pbs_lazy_work_conserving_options_t *options,
                                gs_schedule_t *schedule, int *answer)
{
    gs_pbs_lazy_path_t *path = &self->path;
    path->length = 0;
    *answer = GS_PBS_LAZY_OPEN;
    int status = gs_pbs_lazy_engine_push(self, path, 0, 0, self->moves.problem->arrived[0]);
    while (status == GS_OK && path->length > 0 && self->work < self->work_limit) {
        bool popped, found;
        status = step(self, options, &popped, &found);
        if (status == GS_OK && found) {
            *answer = GS_PBS_LAZY_ALIVE;
            return write_schedule(self, schedule);
        }
        if (popped) {
            bool open = path->states[path->length - 1].open;
            path->length--;
            if (path->length == 0) {
                *answer = open ? GS_PBS_LAZY_OPEN : GS_PBS_LAZY_DEAD;
            } else if (open) {
                path->states[path->length - 1].open = true;
            }
        }
    }
    return status;
}
