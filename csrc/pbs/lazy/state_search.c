/* Searches of single states, with inserted idle time and without. */
#include "pbs/lazy/lazy.h"

/* The latest instant of a class before a dead one from which some batch leads into time that is not
 * known to be dead; before the interval if there is none. */
static int lower(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_class_t *facts, int64_t instant,
                 int64_t low, int64_t *latest)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    int64_t best = low >= facts->first ? low : facts->first - 1, work = 1;
    for (uint32_t batch = facts->pending; batch != 0; batch = (batch - 1) & facts->pending) {
        int64_t c = p->completion[batch];
        work++;
        if (c == 0) {
            continue;
        }
        int64_t limit = gs_pbs_lazy_moves_limit(&self->moves, facts, batch);
        int64_t end = instant - 1 + c < limit ? instant - 1 + c : limit, k = facts->k;
        if (end - c <= best) {
            continue;
        }
        int64_t rest =
            facts->class_index - gs_pbs_lazy_moves_step(&self->moves, batch) - p->arrived[k];
        while (p->start[k + 1] <= end) {
            k++;
        }
        while (end - c > best) {
            gs_pbs_lazy_view_t view;
            int status = gs_pbs_lazy_store_view(&self->store, self->ctx, k, rest + p->arrived[k],
                                                false, &view);
            if (status != GS_OK) {
                return status;
            }
            work += 8;
            int64_t when = end < view.latest ? end : view.latest;
            if (when >= view.first) {
                best = when - c > best ? when - c : best;
                break;
            }
            end = view.first - 1;
            k--;
        }
    }
    *latest = best;
    self->work += work;
    return gs_poll(self->ctx, work);
}

/* Tries the next move of the last state, or decides it: *answer of the last state, which is then
 * popped; open while it has moves. */
static int step(gs_pbs_lazy_engine_t *self, int *answer)
{
    gs_pbs_lazy_path_t *path = &self->idle_path;
    gs_pbs_lazy_state_t *state = &path->states[path->length - 1];
    *answer = GS_PBS_LAZY_OPEN;
    if (state->class_index == 0) { /* in the last interval, with nothing left */
        *answer = GS_PBS_LAZY_ALIVE;
        return GS_OK;
    }
    int64_t id = gs_pbs_lazy_store_entry(&self->store, self->ctx, state->k, state->class_index);
    if (id < 0) {
        return self->ctx->status;
    }
    gs_pbs_lazy_entry_t *entry = &self->store.entries[id];
    if (state->instant <= entry->low || state->instant > entry->latest) {
        *answer = state->instant <= entry->low ? GS_PBS_LAZY_ALIVE : GS_PBS_LAZY_DEAD;
        return GS_OK;
    }
    if (state->next == state->count) {
        gs_pbs_lazy_class_t facts;
        gs_pbs_lazy_list_t list;
        gs_pbs_lazy_moves_class(&self->moves, state->k, state->class_index, &facts);
        int status = gs_count_states(self->ctx, 1);
        if (status == GS_OK) {
            status = gs_pbs_lazy_moves_list(&self->moves, self->ctx, &facts, state->instant, false,
                                            GS_PBS_LAZY_MOVES_SAVES, &list, &self->work);
        }
        if (status != GS_OK) {
            return status;
        }
        entry = &self->store.entries[id]; /* the store may have grown */
        if (list.alive) {
            bool waits = list.batch[0] == GS_PBS_LAZY_MOVES_WAIT;
            entry->low = waits ? entry->latest : state->instant;
            *answer = GS_PBS_LAZY_ALIVE;
            return GS_OK;
        }
        if (list.count == 0) {
            int64_t latest = entry->latest;
            status = lower(self, &facts, state->instant, entry->low, &latest);
            entry = &self->store.entries[id];
            entry->latest = latest;
            *answer = GS_PBS_LAZY_DEAD;
            return status;
        }
        for (int32_t i = 0; i < list.count; i++) {
            state->batch[i] = list.batch[i];
        }
        state->count = list.count;
        state->next = 0;
    }
    int64_t k, c;
    uint32_t batch = state->batch[state->next++];
    int64_t end = gs_pbs_lazy_moves_take(&self->moves, state->instant, state->k, state->class_index,
                                         batch, &k, &c);
    return gs_pbs_lazy_engine_push(self, path, end, k, c);
}

int gs_pbs_lazy_inserted_idle(gs_pbs_lazy_engine_t *self, int64_t instant, int64_t k,
                              int64_t class_index, int *answer)
{
    gs_pbs_lazy_path_t *path = &self->idle_path;
    path->length = 0;
    *answer = GS_PBS_LAZY_OPEN;
    int status = gs_pbs_lazy_engine_push(self, path, instant, k, class_index);
    while (status == GS_OK && path->length > 0 && self->work < self->work_limit) {
        int found;
        status = step(self, &found);
        if (found != GS_PBS_LAZY_OPEN) {
            path->length--;
            *answer = path->length == 0 ? found : GS_PBS_LAZY_OPEN;
            if (found == GS_PBS_LAZY_ALIVE && path->length > 0) {
                /* The move that led here keeps the state before it alive. */
                gs_pbs_lazy_state_t *state = &path->states[path->length - 1];
                int64_t id =
                    gs_pbs_lazy_store_entry(&self->store, self->ctx, state->k, state->class_index);
                if (id < 0) {
                    return self->ctx->status;
                }
                gs_pbs_lazy_entry_t *entry = &self->store.entries[id];
                bool waits = state->batch[state->next - 1] == GS_PBS_LAZY_MOVES_WAIT;
                int64_t low = waits ? entry->latest : state->instant;
                entry->low = low > entry->low ? low : entry->low;
            }
        }
    }
    return status;
}

/* A batch that leads from a state to one that is known to be alive; 0 if there is none. */
static int alive_batch(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_class_t *facts,
                       int64_t instant, uint32_t *found)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    *found = 0;
    int64_t work = 1;
    for (uint32_t batch = facts->pending; batch != 0 && *found == 0;
         batch = (batch - 1) & facts->pending) {
        work++;
        int64_t k, c;
        if (p->completion[batch] == 0 ||
            instant + p->completion[batch] > gs_pbs_lazy_moves_limit(&self->moves, facts, batch)) {
            continue;
        }
        int64_t end = gs_pbs_lazy_moves_take(&self->moves, instant, facts->k, facts->class_index,
                                             batch, &k, &c);
        if (c == 0 && k + 1 < p->intervals) { /* nothing to do before the next arrival */
            k++;
            end = p->start[k];
            c = p->arrived[k] - p->arrived[k - 1];
        }
        if (c == 0) {
            *found = batch;
            continue;
        }
        int64_t id = gs_pbs_lazy_store_entry(&self->store, self->ctx, k, c);
        if (id < 0) {
            return self->ctx->status;
        }
        if (end <= self->store.entries[id].low) {
            *found = batch;
        }
    }
    return gs_poll(self->ctx, work);
}

int gs_pbs_lazy_inserted_idle_schedule(gs_pbs_lazy_engine_t *self, gs_schedule_t *schedule)
{
    const gs_pbs_problem_t *p = self->moves.problem;
    int64_t instant = 0, k = 0, c = p->arrived[0];
    for (;;) {
        while (c == 0 && k + 1 < p->intervals) {
            k++;
            instant = p->start[k];
            c = p->arrived[k] - p->arrived[k - 1];
        }
        if (c == 0) {
            return GS_OK;
        }
        int64_t id = gs_pbs_lazy_store_entry(&self->store, self->ctx, k, c);
        if (id < 0) {
            return self->ctx->status;
        }
        gs_pbs_lazy_class_t facts;
        gs_pbs_lazy_moves_class(&self->moves, k, c, &facts);
        uint32_t batch;
        int status = alive_batch(self, &facts, instant, &batch);
        int64_t low = self->store.entries[id].low;
        if (status == GS_OK && batch == 0 && low > instant) {
            instant = low; /* what keeps the class alive starts later */
            status = alive_batch(self, &facts, instant, &batch);
        }
        if (status != GS_OK) {
            return status;
        }
        if (batch == 0) { /* only waiting is left */
            c += p->arrived[k + 1] - p->arrived[k];
            instant = p->start[++k];
            continue;
        }
        int64_t end = instant + p->completion[batch];
        status = gs_schedule_append(schedule, self->ctx, instant, end, batch);
        if (status != GS_OK) {
            return status;
        }
        instant = gs_pbs_lazy_moves_take(&self->moves, instant, k, c, batch, &k, &c);
    }
}

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
    gs_pbs_lazy_moves_class(&self->moves, state->k, state->class_index, &facts);
    if (state->all) { /* and each was tried, and is dead */
        *dead = true;
        return record(self, &facts, state->instant);
    }
    int status = gs_count_states(self->ctx, 1);
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
    state->all = !list.left_out;
    state->count = list.count < width ? list.count : width;
    state->next = 0;
    for (int32_t i = 0; i < state->count; i++) {
        state->batch[i] = list.batch[i];
    }
    return GS_OK;
}

/* Advances the last state of the path. *answer: dead or left open, and popped; alive when it is the
 * end of a schedule; else GS_PBS_LAZY_OPEN with *popped false. */
static int follow(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_work_conserving_options_t *options,
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
        status = follow(self, options, &popped, &found);
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
