/* Partitions into groups, choices of cores, their tables and searches, and the rounds of both. */
#include "pbs/reductions.h"

#include "model/periodic_tasks_internal.h"
#include "pbs/subset.h"

enum {
    TABLE_WORK = 1 << 23,
    STEPS = 5,  /* of the first round: groups split 1 .. 5 times, cores of 5, 7, 9, 11, 12 */
    MERGED = 3, /* from this step on: single tasks merged to PARTS, PARTS - 2, ... parts */
    PARTS = 12,
    SMALLEST = 5,
    LARGEST = 12,
    MOST_DOUBLINGS = 10,
    LOW_BITS = 12 /* of a batch, looked up at once */
};

/* Whether two tasks are ready and due together. */
static bool alike(const gs_periodic_tasks_t *tasks, int32_t i, int32_t j)
{
    return tasks->period[i] == tasks->period[j] && tasks->deadline[i] == tasks->deadline[j] &&
           gs_periodic_tasks_offset(tasks, i) == gs_periodic_tasks_offset(tasks, j);
}

/* The tasks not yet in a part that are ready and due with the first of them, the longest kernel
 * first; returns their number. */
static int32_t next_class(const gs_pbs_reductions_problem_t *p, uint64_t left, int32_t *order)
{
    int32_t first = __builtin_ctzll(left), count = 0;
    for (uint64_t rest = left; rest != 0; rest &= rest - 1) {
        int32_t i = __builtin_ctzll(rest);
        if (alike(p->tasks, i, first)) {
            int32_t at = count++;
            for (; at > 0 && p->wcet[order[at - 1]] < p->wcet[i]; at--) {
                order[at] = order[at - 1];
            }
            order[at] = i;
        }
    }
    return count;
}

int gs_pbs_reductions_split(const gs_pbs_reductions_problem_t *p, gs_context_t *ctx, int32_t split,
                            gs_pbs_reductions_groups_t *groups, bool *fits)
{
    int32_t order[GS_PBS_REDUCTIONS_TASKS];
    uint64_t left = ~UINT64_C(0) >> (GS_PBS_REDUCTIONS_TASKS - p->tasks->n);
    groups->count = 0;
    *fits = true;
    while (left != 0) {
        int32_t count = next_class(p, left, order);
        int32_t size = (count + split - 1) / split;
        for (int32_t j = 0; j < count;) {
            uint64_t part = UINT64_C(1) << order[j++];
            for (int32_t held = 1; held < size && j < count; held++, j++) {
                uint64_t larger = part | UINT64_C(1) << order[j];
                int64_t time;
                int status = p->time(p->times, ctx, larger, &time);
                if (status != GS_OK) {
                    return status;
                }
                if (time == 0) {
                    break;
                }
                part = larger;
            }
            if (groups->count == GS_PBS_REDUCTIONS_PARTS) {
                *fits = false;
                return GS_OK;
            }
            groups->part[groups->count++] = part;
            left &= ~part;
        }
    }
    return GS_OK;
}

int gs_pbs_reductions_merge(const gs_pbs_reductions_problem_t *p, gs_context_t *ctx, int32_t most,
                            gs_rng_t *rng, gs_pbs_reductions_groups_t *groups, bool *fits)
{
    uint64_t part[GS_PBS_REDUCTIONS_TASKS];
    int64_t length[GS_PBS_REDUCTIONS_TASKS];
    double factor[GS_PBS_REDUCTIONS_TASKS];
    int32_t count = p->tasks->n;
    for (int32_t i = 0; i < count; i++) {
        part[i] = UINT64_C(1) << i;
        length[i] = p->wcet[i];
        factor[i] = rng == NULL ? 1 : 0.25 + gs_rng_double(rng);
    }
    *fits = true;
    while (count > most) {
        int32_t first = -1, second = -1;
        int64_t joined = 0;
        double least = 0;
        for (int32_t a = 0; a < count; a++) {
            for (int32_t b = a + 1; b < count; b++) {
                int32_t i = __builtin_ctzll(part[a]), j = __builtin_ctzll(part[b]);
                if (!alike(p->tasks, i, j)) {
                    continue;
                }
                int64_t time, longer = length[a] > length[b] ? length[a] : length[b];
                int status = p->time(p->times, ctx, part[a] | part[b], &time);
                if (status != GS_OK) {
                    return status;
                }
                double extra = (double)(time - longer) * factor[i] * factor[j];
                if (time != 0 && (first < 0 || extra < least)) {
                    least = extra;
                    joined = time;
                    first = a;
                    second = b;
                }
            }
        }
        if (first < 0) {
            *fits = false;
            return GS_OK;
        }
        part[first] |= part[second];
        length[first] = joined;
        part[second] = part[--count];
        length[second] = length[count];
    }
    groups->count = count;
    for (int32_t g = 0; g < count; g++) {
        groups->part[g] = part[g];
    }
    return gs_poll(ctx, p->tasks->n * p->tasks->n);
}

uint64_t gs_pbs_reductions_tasks_of(const gs_pbs_reductions_groups_t *self, uint32_t parts)
{
    uint64_t mask = 0;
    for (uint32_t rest = parts; rest != 0; rest &= rest - 1) {
        mask |= self->part[__builtin_ctz(rest)];
    }
    return mask;
}

/* Searches for a schedule of the parts. */
static int search_groups(const gs_pbs_reductions_t *self, gs_context_t *ctx,
                         const gs_pbs_reductions_groups_t *groups, bool *found)
{
    const gs_pbs_reductions_problem_t *p = &self->problem;
    gs_pbs_subset_t leaders;
    gs_pbs_subset_init(&leaders);
    *found = false;
    int64_t *completion = gs_alloc(ctx, (size_t)1 << groups->count, sizeof *completion);
    if (completion == NULL) {
        return ctx->status;
    }
    for (int32_t g = 0; g < groups->count; g++) {
        gs_pbs_subset_add(&leaders, p->tasks, __builtin_ctzll(groups->part[g]));
    }
    int status = GS_OK;
    for (uint32_t parts = 1; parts < UINT32_C(1) << groups->count && status == GS_OK; parts++) {
        status =
            p->time(p->times, ctx, gs_pbs_reductions_tasks_of(groups, parts), &completion[parts]);
    }
    gs_batch_table_t table = {groups->count, completion, NULL, NULL};
    gs_pbs_search_options_t options = {
        .idling = self->idling, .most_work = self->work, .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search = {0};
    if (status == GS_OK) {
        status = p->search(&search, ctx, &leaders.tasks, &table, &options);
    }
    if (status == GS_OK && search.answer == 1) {
        status = p->keep(p->schedule, ctx, &search.schedule, groups);
        *found = status == GS_OK; /* not where memory ends before the schedule does */
    } else if (status == GS_OK) {
        status = search.spent;
    }
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, completion);
    return status;
}

/* The task outside of a mask with the longest kernel, the shortest period, or the greatest share of
 * the GPU; ties go to the longer kernel. */
static uint64_t greatest(const gs_periodic_tasks_t *tasks, const int64_t *wcet, uint64_t mask,
                         bool length, bool period)
{
    double best = -1, longest = -1;
    uint64_t found = 0;
    for (int32_t i = 0; i < tasks->n; i++) {
        double own = (double)wcet[i], key = length ? own : 1;
        key /= period ? (double)tasks->period[i] : 1;
        if ((mask >> i & 1) == 0 && (key > best || (key == best && own > longest))) {
            best = key;
            longest = own;
            found = UINT64_C(1) << i;
        }
    }
    return found;
}

uint64_t gs_pbs_reductions_core(const gs_periodic_tasks_t *tasks, const int64_t *wcet, int32_t size,
                                int choice)
{
    uint64_t mask = 0;
    for (int32_t j = 0; j < size; j++) {
        bool length = choice != GS_PBS_REDUCTIONS_MIXED || j % 2 == 0;
        bool period = choice == GS_PBS_REDUCTIONS_BUSIEST || !length;
        mask |= greatest(tasks, wcet, mask, length, period);
    }
    return mask;
}

int gs_pbs_reductions_cores(const gs_periodic_tasks_t *tasks, const int64_t *wcet, int32_t size,
                            uint64_t core[GS_PBS_REDUCTIONS_CHOICES])
{
    int count = 0;
    for (int choice = 0; choice < GS_PBS_REDUCTIONS_CHOICES; choice++) {
        uint64_t mask = gs_pbs_reductions_core(tasks, wcet, size, choice);
        bool again = false;
        for (int other = 0; other < count; other++) {
            again = again || core[other] == mask;
        }
        if (!again) {
            core[count++] = mask;
        }
    }
    return count;
}

uint64_t gs_pbs_reductions_drawn_core(const gs_periodic_tasks_t *tasks, const int64_t *wcet,
                                      int32_t size, gs_rng_t *rng)
{
    int choice = (int)gs_rng_below(rng, GS_PBS_REDUCTIONS_CHOICES);
    uint64_t mask = gs_pbs_reductions_core(tasks, wcet, size / 2, choice);
    while (__builtin_popcountll(mask) < size) {
        mask |= UINT64_C(1) << gs_rng_below(rng, (uint64_t)tasks->n);
    }
    return mask;
}

bool gs_pbs_reductions_core_applies(const gs_periodic_tasks_t *core,
                                    const gs_periodic_tasks_t *whole)
{
    bool in_time = true;
    for (int32_t i = 0; i < core->n; i++) {
        in_time =
            in_time && gs_periodic_tasks_offset(core, i) <= core->period[i] - core->deadline[i];
    }
    int64_t own = gs_periodic_tasks_hyperperiod_or_never(core);
    return in_time || (own != GS_NEVER && own == gs_periodic_tasks_hyperperiod_or_never(whole));
}

/* Asks whether a core is schedulable; proof: NULL, or receives the proof. */
static int search_core(const gs_pbs_reductions_problem_t *p, gs_context_t *ctx, uint64_t core,
                       int64_t work, gs_pbs_refutation_t *proof, bool *dead)
{
    gs_pbs_subset_t own;
    *dead = false;
    gs_pbs_subset_of(&own, p->tasks, core);
    if (!gs_pbs_reductions_core_applies(&own.tasks, p->tasks)) {
        return GS_OK;
    }
    int64_t *least = gs_alloc(ctx, (size_t)1 << own.tasks.n, sizeof *least);
    if (least == NULL) {
        return ctx->status;
    }
    gs_batch_table_t table = {own.tasks.n, least, NULL, NULL};
    gs_pbs_search_options_t options = {.idling = true,
                                       .proof = proof != NULL,
                                       .most_work = work,
                                       .skip = GS_PBS_SEARCH_SKIP_REDUCED};
    gs_pbs_search_t search = {0};
    int status = p->least(p->times, ctx, core, least);
    if (status == GS_OK) {
        status = p->search(&search, ctx, &own.tasks, &table, &options);
    }
    if (status == GS_OK && search.answer == 0) {
        *dead = true;
        if (proof != NULL) {
            *proof = search.proof;
            search.proof = (gs_pbs_refutation_t){0};
        }
    } else if (status == GS_OK) {
        status = search.spent;
    }
    gs_pbs_search_free(&search, ctx);
    gs_free(ctx, least);
    return status;
}

static bool is_open(const gs_pbs_reductions_t *self, int status)
{
    return status == GS_OK && self->answer < 0;
}

/* The status of a smaller problem, less what others may not need. */
static int tried(gs_pbs_reductions_t *self, int status)
{
    if (status == GS_SPENT_BYTES && self->goes_on) {
        self->spent = status;
        return GS_OK;
    }
    return status;
}

static int try_groups(gs_pbs_reductions_t *self, gs_context_t *ctx,
                      const gs_pbs_reductions_groups_t *groups)
{
    bool found;
    /* Rows of which one waits for the other are no group, nor are two groups that wait for each
     * other. */
    if (gs_periodic_tasks_has_precedence(self->problem.tasks)) {
        return GS_OK;
    }
    self->groups++;
    int status = search_groups(self, ctx, groups, &found);
    self->answer = found ? 1 : -1;
    return tried(self, status);
}

static int try_merged(gs_pbs_reductions_t *self, gs_context_t *ctx, int32_t most, gs_rng_t *rng)
{
    gs_pbs_reductions_groups_t groups;
    bool fits;
    int status = gs_pbs_reductions_merge(&self->problem, ctx, most, rng, &groups, &fits);
    return status == GS_OK && fits ? try_groups(self, ctx, &groups) : status;
}

static int try_core(gs_pbs_reductions_t *self, gs_context_t *ctx, uint64_t core)
{
    bool dead;
    self->cores++;
    int status = search_core(&self->problem, ctx, core, self->work,
                             self->proof ? &self->refutation : NULL, &dead);
    if (dead) {
        self->answer = 0;
        self->core = core;
    }
    return tried(self, status);
}

/* The cores of one size. */
static int try_cores(gs_pbs_reductions_t *self, gs_context_t *ctx, int32_t size)
{
    const gs_pbs_reductions_problem_t *p = &self->problem;
    uint64_t core[GS_PBS_REDUCTIONS_CHOICES];
    int status = GS_OK, count = gs_pbs_reductions_cores(p->tasks, p->wcet, size, core);
    for (int c = 0; c < count && is_open(self, status); c++) {
        status = try_core(self, ctx, core[c]);
    }
    return status;
}

/* The natural groups and cores. */
static int first_round(gs_pbs_reductions_t *self, gs_context_t *ctx)
{
    const gs_pbs_reductions_problem_t *p = &self->problem;
    int status = GS_OK;
    int32_t parts = 0;
    for (int32_t step = 1; step <= STEPS && is_open(self, status); step++) {
        int32_t size = SMALLEST + 2 * (step - 1);
        size = size < LARGEST ? size : LARGEST;
        if (!self->no_groups) {
            gs_pbs_reductions_groups_t groups;
            bool fits;
            status = gs_pbs_reductions_split(p, ctx, step, &groups, &fits);
            if (status == GS_OK && fits && groups.count > parts) {
                parts = groups.count;
                status = try_groups(self, ctx, &groups);
            }
            if (is_open(self, status) && step >= MERGED) {
                status = try_merged(self, ctx, PARTS - 2 * (step - MERGED), NULL);
            }
        }
        if (is_open(self, status) && !self->no_cores) {
            status = try_cores(self, ctx, size < p->tasks->n ? size : p->tasks->n);
        }
    }
    return status;
}

/* Groups and cores drawn at random. */
static int later_round(gs_pbs_reductions_t *self, gs_context_t *ctx, int32_t round)
{
    const gs_pbs_reductions_problem_t *p = &self->problem;
    int32_t n = p->tasks->n, most = LARGEST < n ? LARGEST : n;
    int32_t least = SMALLEST < most ? SMALLEST : most;
    int64_t drawn = (int64_t)self->drawn
                    << (round - 1 < MOST_DOUBLINGS ? round - 1 : MOST_DOUBLINGS);
    int status = GS_OK;
    for (int64_t j = 0; j < drawn && is_open(self, status); j++) {
        if (!self->no_groups) {
            status = try_merged(self, ctx, PARTS - (int32_t)(j % 3), &self->rng);
        }
        if (is_open(self, status) && !self->no_cores && (j + 1) % self->per_core == 0 &&
            n >= self->fewest) {
            int32_t size = least + (int32_t)gs_rng_below(&self->rng, (uint64_t)(most - least) + 1);
            status = try_core(self, ctx,
                              gs_pbs_reductions_drawn_core(p->tasks, p->wcet, size, &self->rng));
        }
    }
    return status;
}

int gs_pbs_reductions_next(gs_pbs_reductions_t *self, gs_context_t *ctx)
{
    int32_t round = self->round++;
    self->answer = -1;
    return round == 0 ? first_round(self, ctx) : later_round(self, ctx, round);
}

static int time_of_table(void *times, gs_context_t *ctx, uint64_t batch, int64_t *time)
{
    (void)ctx;
    *time = ((const gs_batch_table_t *)times)->completion[batch];
    return GS_OK;
}

static void lower(int64_t *least, int64_t time)
{
    *least = *least == 0 || time < *least ? time : *least;
}

static int least_of_table(void *times, gs_context_t *ctx, uint64_t core, int64_t *least)
{
    const gs_batch_table_t *table = times;
    int32_t low = table->n < LOW_BITS ? table->n : LOW_BITS;
    uint32_t size = UINT32_C(1) << low, highs = UINT32_C(1) << (table->n - low);
    uint32_t *own = gs_alloc(ctx, (size_t)size + highs, sizeof *own);
    if (own == NULL) {
        return ctx->status;
    }
    for (uint32_t b = 0; b < size; b++) {
        own[b] = gs_pbs_subset_numbers(core, b);
    }
    for (uint32_t high = 0; high < highs; high++) {
        own[size + high] = gs_pbs_subset_numbers(core, high << low);
    }
    int status = GS_OK;
    for (int64_t j = 0; table->list != NULL && j < table->list->count; j++) {
        uint32_t b = table->list->batch[j];
        lower(&least[own[size + (b >> low)] | own[b & (size - 1)]], table->list->time[j]);
    }
    for (uint32_t high = 0; table->list == NULL && high < highs && status == GS_OK; high++) {
        const int64_t *completion = table->completion + ((size_t)high << low);
        for (uint32_t b = 0; b < size; b++) {
            if (completion[b] != 0) {
                lower(&least[own[size + high] | own[b]], completion[b]);
            }
        }
        status = gs_poll(ctx, size);
    }
    if (table->list != NULL) {
        status = gs_poll(ctx, table->list->count);
    }
    least[0] = 0;
    gs_free(ctx, own);
    return status;
}

static int keep_frames(void *schedule, gs_context_t *ctx, const gs_schedule_t *found,
                       const gs_pbs_reductions_groups_t *groups)
{
    gs_schedule_t *kept = schedule;
    int status = GS_OK;
    kept->count = 0;
    for (int64_t f = 0; f < found->count && status == GS_OK; f++) {
        const gs_schedule_frame_t *frame = &found->frames[f];
        status = gs_schedule_append(kept, ctx, frame->start, frame->end,
                                    (uint32_t)gs_pbs_reductions_tasks_of(groups, frame->batch));
    }
    return status;
}

/* The problem of a table, without a schedule. */
static gs_pbs_reductions_problem_t problem_of(gs_pbs_search_function_t *search,
                                              const gs_periodic_tasks_t *tasks,
                                              const gs_batch_table_t *table)
{
    return (gs_pbs_reductions_problem_t){.search = search,
                                         .tasks = tasks,
                                         .times = (void *)table,
                                         .time = time_of_table,
                                         .least = least_of_table,
                                         .keep = keep_frames};
}

void gs_pbs_reductions_init(gs_pbs_reductions_t *self, gs_pbs_search_function_t *search,
                            const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                            int64_t *wcet, gs_schedule_t *schedule)
{
    static const uint64_t key[4] = {0};
    *self = (gs_pbs_reductions_t){.problem = problem_of(search, tasks, table),
                                  .work = TABLE_WORK,
                                  .drawn = 4,
                                  .per_core = 2,
                                  .fewest = SMALLEST + 1};
    for (int32_t i = 0; i < tasks->n; i++) {
        wcet[i] = table->completion[UINT32_C(1) << i];
    }
    self->problem.wcet = wcet;
    self->problem.schedule = schedule;
    gs_rng_init(&self->rng, key, 0, 0);
}

int gs_pbs_reductions_try_core(gs_context_t *ctx, gs_pbs_search_function_t *search,
                               const gs_periodic_tasks_t *tasks, const gs_batch_table_t *table,
                               uint32_t core, int64_t work, gs_pbs_refutation_t *proof, bool *dead)
{
    gs_pbs_reductions_problem_t problem = problem_of(search, tasks, table);
    int status = search_core(&problem, ctx, core, work, proof, dead);
    if (*dead && proof != NULL) {
        proof->core = core;
    }
    return status;
}
