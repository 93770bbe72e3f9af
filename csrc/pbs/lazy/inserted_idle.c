/* Lazily computed latest starts. */
#include "pbs/lazy/inserted_idle.h"

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
