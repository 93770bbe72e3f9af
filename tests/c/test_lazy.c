/* Parts of the lazy search against definitions that are checked instant by instant. */
#include "minunit.h"
#include "pbs/lazy/lazy.h"
#include "pbs_sets.h"

enum { LONG = 24, SETS = 150 };

/* Sorted spans of 1 to 3 instants in [first, first + LONG), not adjacent; returns their number. */
static int64_t draw_spans(gs_rng_t *rng, int64_t first, gs_pbs_span_t *spans)
{
    int64_t count = 0, at = first + (int64_t)gs_rng_below(rng, 6);
    while (gs_rng_below(rng, 5) > 0) {
        int64_t last = at + (int64_t)gs_rng_below(rng, 3);
        if (last >= first + LONG) {
            break;
        }
        spans[count++] = (gs_pbs_span_t){at, last};
        at = last + 2 + (int64_t)gs_rng_below(rng, 4);
    }
    return count;
}

static bool holds(const gs_pbs_span_t *spans, int64_t count, int64_t instant)
{
    for (int64_t i = 0; i < count; i++) {
        if (spans[i].first <= instant && instant <= spans[i].last) {
            return true;
        }
    }
    return false;
}

/* The definition of a view's known dead time. */
static bool is_dead(const gs_pbs_lazy_view_t *view, int64_t instant)
{
    return instant > view->latest || holds(view->dead, view->dead_count, instant) ||
           (view->bounded && !holds(view->alive, view->alive_count, instant));
}

/* Both queries of a view, at every instant of its interval. */
static void check_view(const gs_pbs_lazy_view_t *view)
{
    for (int64_t t = view->first; t <= view->last; t++) {
        int64_t until = t, from = t;
        while (until <= view->last && is_dead(view, until)) {
            until++;
        }
        while (from >= view->first && is_dead(view, from)) {
            from--;
        }
        MU_CHECK(gs_pbs_lazy_view_dead_until(view, t) == until - 1);
        MU_CHECK(gs_pbs_lazy_view_dead_from(view, t) == from + 1);
        MU_CHECK(gs_pbs_lazy_view_is_dead(view, t) == is_dead(view, t));
    }
}

static void test_views(void)
{
    static const uint64_t key[4] = {1};
    gs_rng_t rng;
    gs_rng_init(&rng, key, 0, 0);
    for (int k = 0; k < 600; k++) {
        /* The span before the ones of the class belongs to another one. */
        gs_pbs_span_t dead[1 + LONG], alive[1 + LONG];
        int64_t first = 100 * (k % 3), last = first + LONG - 1;
        dead[0] = alive[0] = (gs_pbs_span_t){first + LONG / 2, first + LONG / 2};
        gs_pbs_lazy_view_t view = {
            .first = first, .last = last, .dead = dead + 1, .alive = alive + 1};
        view.latest = first - 1 + (int64_t)gs_rng_below(&rng, LONG + 3);
        view.bounded = k % 2 == 0;
        view.dead_count = draw_spans(&rng, first, dead + 1);
        view.alive_count = draw_spans(&rng, first, alive + 1);
        check_view(&view);
    }
}

/* Dead time added in any order is kept as sorted spans with a gap between any two. */
static void test_dead_time_is_joined(void)
{
    static const uint64_t key[4] = {2};
    gs_context_t ctx;
    gs_rng_t rng;
    gs_context_init(&ctx);
    gs_rng_init(&rng, key, 0, 0);
    for (int k = 0; k < 200; k++) {
        gs_pbs_lazy_entry_t entry = {.k = 0};
        gs_pbs_lazy_store_t store = {.entries = &entry, .count = 1};
        bool dead[LONG + 4] = {false};
        for (int added = 0; added < 10; added++) {
            int64_t first = (int64_t)gs_rng_below(&rng, LONG);
            int64_t last = first + (int64_t)gs_rng_below(&rng, 4);
            MU_CHECK(gs_pbs_lazy_store_add(&store, &ctx, 0, first, last) == GS_OK);
            for (int64_t t = first; t <= last; t++) {
                dead[t] = true;
            }
            for (int64_t t = 0; t < LONG + 4; t++) {
                MU_CHECK(holds(entry.dead, entry.count, t) == dead[t]);
            }
            for (int32_t i = 1; i < entry.count; i++) {
                MU_CHECK(entry.dead[i - 1].last + 1 < entry.dead[i].first);
            }
        }
        gs_free(&ctx, entry.dead);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* The deadline of the job of a task that a class of I_k has pending, or of its next one: tasks
 * without offsets, with deadlines up to the periods. */
static int64_t due_of(const gs_pbs_problem_t *p, int64_t k, int64_t mask, int32_t i)
{
    int64_t release = p->start[k] / p->tasks.period[i] * p->tasks.period[i];
    release += (mask >> i & 1) != 0 ? 0 : p->tasks.period[i];
    return release < p->hyperperiod ? release + p->tasks.deadline[i] : GS_NEVER;
}

/* Whether a batch that ends then meets the deadlines of its jobs and makes no other one late. */
static bool in_time(const gs_pbs_problem_t *p, int64_t k, int64_t mask, int64_t batch, int64_t end)
{
    for (int32_t i = 0; i < p->n; i++) {
        int64_t due = due_of(p, k, mask, i);
        if ((batch >> i & 1) != 0 ? end > due : end >= due) {
            return false;
        }
    }
    return true;
}

/* Whether no work-conserving schedule meets all deadlines from a state on. */
static bool is_lost(const gs_pbs_problem_t *p, int64_t k, int64_t mask, int64_t instant)
{
    if (mask == 0 && k + 1 == p->intervals) {
        return false;
    }
    if (mask == 0) {
        return is_lost(p, k + 1, p->arrived[k + 1] - p->arrived[k], p->start[k + 1]);
    }
    for (int64_t batch = mask; batch != 0; batch = (batch - 1) & mask) {
        int64_t end = instant + p->completion[batch], to = k;
        if (p->completion[batch] == 0 || !in_time(p, k, mask, batch, end)) {
            continue;
        }
        while (p->start[to + 1] <= end) {
            to++;
        }
        if (!is_lost(p, to, mask - batch + p->arrived[to] - p->arrived[k], end)) {
            return false;
        }
    }
    return true;
}

/* The facts of every class of an interval, by the deadlines. */
static void check_classes(const gs_pbs_lazy_moves_t *moves)
{
    const gs_pbs_problem_t *p = moves->problem;
    for (int64_t k = 0; k < p->intervals; k++) {
        for (int64_t mask = 1; mask < INT64_C(1) << p->n; mask++) {
            gs_pbs_lazy_class_t facts;
            int64_t due = GS_NEVER, absent = GS_NEVER, urgent = 0;
            for (int32_t i = 0; i < p->n; i++) {
                int64_t d = due_of(p, k, mask, i);
                if ((mask >> i & 1) == 0) {
                    absent = d - 1 < absent ? d - 1 : absent;
                } else {
                    urgent = d < due ? 0 : urgent;
                    urgent |= d <= due ? INT64_C(1) << i : 0;
                    due = d < due ? d : due;
                }
            }
            gs_pbs_lazy_moves_class(moves, k, mask, &facts);
            MU_CHECK(facts.k == k && facts.class_index == mask && facts.pending == mask);
            MU_CHECK(facts.first == p->start[k] && facts.last == p->start[k + 1] - 1);
            MU_CHECK(facts.due == due && facts.urgent == urgent && facts.absent == absent);
            for (int64_t batch = mask; batch != 0; batch = (batch - 1) & mask) {
                int64_t limit = gs_pbs_lazy_moves_limit(moves, &facts, (uint32_t)batch);
                MU_CHECK(limit < p->start[k] || in_time(p, k, mask, batch, limit));
                MU_CHECK(!in_time(p, k, mask, batch, limit + 1));
            }
        }
    }
}

/* A search decides about the first state, and all that it takes to be dead is an instant from which
 * every schedule is late. */
static void check_search(gs_pbs_lazy_engine_t *engine, bool tries, int64_t *dead)
{
    const gs_pbs_problem_t *p = engine->moves.problem;
    const gs_pbs_lazy_rounds_options_t options = {.skip_tries = !tries, .first_work = 16};
    gs_schedule_t schedule = {0};
    gs_pbs_lazy_view_t view;
    int answer;
    MU_CHECK(gs_pbs_lazy_rounds(engine, &options, &schedule, &answer) == GS_OK);
    gs_schedule_free(&schedule, engine->ctx);
    bool late = is_lost(p, 0, p->arrived[0], 0);
    MU_CHECK(answer == (late ? GS_PBS_LAZY_DEAD : GS_PBS_LAZY_ALIVE));
    for (int64_t id = 0; id < engine->store.count; id++) {
        const gs_pbs_lazy_entry_t *entry = &engine->store.entries[id];
        int64_t k = entry->k, mask = entry->class_index;
        int64_t last = k + 1 < p->intervals ? p->start[k + 1] - 1 : p->hyperperiod + 1;
        MU_CHECK(gs_pbs_lazy_store_view(&engine->store, engine->ctx, k, mask, true, &view) ==
                 GS_OK);
        for (int64_t t = p->start[k]; t <= last; t++) {
            bool known = gs_pbs_lazy_view_is_dead(&view, t);
            MU_CHECK(!known || is_lost(p, k, mask, t));
            *dead += known && t <= entry->latest;
        }
    }
}

/* Whether a move leads to a state that its class is known to be alive at, with idle time. */
static bool leads_to_life(gs_pbs_lazy_engine_t *engine, const gs_pbs_lazy_class_t *facts,
                          int64_t instant, uint32_t batch)
{
    int64_t k, c;
    int64_t end = gs_pbs_lazy_moves_take(&engine->moves, instant, facts->k, facts->class_index,
                                         batch, &k, &c);
    int64_t id = c == 0 ? -1 : gs_pbs_lazy_store_entry(&engine->store, engine->ctx, k, c);
    return id >= 0 && end <= engine->store.entries[id].low;
}

/* The moves of a state are said to keep it alive if and only if one of them is known to, and the
 * first one listed is such a move. */
static void check_living_moves(gs_pbs_lazy_engine_t *engine, int64_t k, int64_t mask,
                               int64_t instant, int64_t *alive)
{
    const gs_pbs_problem_t *p = engine->moves.problem;
    gs_pbs_lazy_class_t facts;
    gs_pbs_lazy_list_t list;
    int64_t work = 0;
    gs_pbs_lazy_moves_class(&engine->moves, k, mask, &facts);
    bool waits = gs_pbs_lazy_moves_waits(&engine->moves, &facts);
    bool lives = waits && leads_to_life(engine, &facts, instant, GS_PBS_LAZY_MOVES_WAIT);
    for (int64_t batch = mask; batch != 0 && !lives; batch = (batch - 1) & mask) {
        int64_t time = p->completion[batch];
        lives = time != 0 && in_time(p, k, mask, batch, instant + time) &&
                leads_to_life(engine, &facts, instant, (uint32_t)batch);
    }
    MU_CHECK(gs_pbs_lazy_moves_list(&engine->moves, engine->ctx, &facts, instant, false,
                                    GS_PBS_LAZY_MOVES_SAVES, &list, &work) == GS_OK);
    MU_CHECK(list.alive == lives);
    MU_CHECK(!list.alive || leads_to_life(engine, &facts, instant, list.batch[0]));
    *alive += list.alive;
}

/* Every state, after the first one was decided with inserted idle time. */
static void check_lists(gs_pbs_lazy_engine_t *engine, int64_t *alive)
{
    const gs_pbs_problem_t *p = engine->moves.problem;
    int answer;
    MU_CHECK(gs_pbs_lazy_inserted_idle(engine, 0, 0, p->arrived[0], &answer) == GS_OK);
    MU_CHECK(answer != GS_PBS_LAZY_OPEN);
    for (int64_t k = 0; k < p->intervals; k++) {
        int64_t last = k + 1 < p->intervals ? p->start[k + 1] - 1 : p->hyperperiod + 1;
        for (int64_t mask = 1; mask < INT64_C(1) << p->n; mask++) {
            for (int64_t t = p->start[k]; t <= last; t++) {
                check_living_moves(engine, k, mask, t, alive);
            }
        }
    }
}

static void test_small_sets(void)
{
    static const uint64_t key[4] = {3};
    gs_context_t ctx;
    gs_rng_t rng;
    int64_t dead = 0, alive = 0;
    gs_context_init(&ctx);
    gs_rng_init(&rng, key, 0, 0);
    for (int k = 0; k < SETS; k++) {
        set_t set;
        gs_pbs_problem_t problem;
        gs_pbs_lazy_engine_t engine;
        draw(&set, &rng, 2 + k % 2, 0);
        MU_CHECK(gs_pbs_problem_init(&problem, &ctx, &set.tasks, &set.table, false) == GS_OK);
        MU_CHECK(gs_pbs_lazy_engine_init(&engine, &ctx, &problem, NULL, NULL, NULL) == GS_OK);
        check_classes(&engine.moves);
        check_search(&engine, k / 2 % 2 == 0, &dead);
        gs_pbs_lazy_engine_free(&engine);
        MU_CHECK(gs_pbs_lazy_engine_init(&engine, &ctx, &problem, NULL, NULL, NULL) == GS_OK);
        engine.work_limit = INT64_MAX / 8;
        check_lists(&engine, &alive);
        gs_pbs_lazy_engine_free(&engine);
        gs_pbs_problem_free(&problem, &ctx);
    }
    MU_CHECK(dead > 100); /* beyond what the deadlines of the class say */
    MU_CHECK(alive > 100);
    MU_CHECK(ctx.bytes_used == 0);
}

int main(void)
{
    test_views();
    test_dead_time_is_joined();
    test_small_sets();
    return MU_END();
}
