/* Saturation of the SMs: the least weight of busy blocks while a kernel waits, and of what is left
 * of less urgent tasks since it joined its queue.
 *
 * By threads it is that of the bounds of priority streams, by subset sums. By any other weight: if
 * a block of a kernel does not fit an SM, a resource of it is short, so that running blocks use at
 * least `shortage` of it. The least weight of blocks that do, in fractions of blocks, is that of
 * those with the least weight per unit first, of each kernel as many as it has; of the waiting one
 * one less. Where carve-outs do not suit, one block of another kernel keeps it out.
 */
#include "analysis/holistic/holistic_state.h"

#include <stdlib.h>

#include "model/occupancy.h"

/* Lower tasks of which all subsets are tried; of more, those with the longest and the shortest
 * periods. */
enum { ALL_SUBSETS = 4 };

/* Columns of the chains. */
enum { BLOCKS, THREADS, BLOCK_TIME, REGS, SMEM, COLUMNS };

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

/* Whether two kernels take the same of an SM, and belong to one task. */
static bool are_alike(const gs_analysis_holistic_kernel_t *a,
                      const gs_analysis_holistic_kernel_t *b)
{
    bool alike = a->task == b->task && a->carveout == b->carveout;
    for (int r = 0; r < GS_ANALYSIS_HOLISTIC_RESOURCES && alike; r++) {
        alike = a->need[r] == b->need[r];
    }
    return alike;
}

/* Whether a unit of a resource weighs less in one kernel than in another, by the dominant share. */
static bool is_before(const gs_analysis_holistic_kernel_t *a,
                      const gs_analysis_holistic_kernel_t *b, int resource)
{
    return a->weight[GS_ANALYSIS_HOLISTIC_SHARE] * b->need[resource] <
           b->weight[GS_ANALYSIS_HOLISTIC_SHARE] * a->need[resource];
}

/* Fills in the shapes, for each resource in its order. */
static void find_shapes(gs_analysis_holistic_t *self, int64_t kernels)
{
    const gs_analysis_holistic_kernel_t **first = self->shape;
    int64_t begin = 0; /* the first shape of the task */
    for (int64_t j = 0; j < kernels; j++) {
        const gs_analysis_holistic_kernel_t *kernel = &self->kernel[j];
        int64_t at = j > 0 && kernel->task == self->kernel[j - 1].task ? begin : self->shapes;
        begin = at;
        while (at < self->shapes && !are_alike(first[at], kernel)) {
            at++;
        }
        if (at == self->shapes || kernel->blocks > first[at]->blocks) {
            self->shapes += at == self->shapes;
            first[at] = kernel;
        }
    }
    for (int r = GS_ANALYSIS_HOLISTIC_RESOURCES - 1; r >= 0; r--) {
        const gs_analysis_holistic_kernel_t **order = self->shape + r * self->shapes;
        for (int64_t s = 0; s < self->shapes; s++) {
            order[s] = first[s];
        }
    }
    for (int r = 0; r < GS_ANALYSIS_HOLISTIC_RESOURCES; r++) {
        const gs_analysis_holistic_kernel_t **order = self->shape + r * self->shapes;
        for (int64_t s = 1; s < self->shapes; s++) {
            const gs_analysis_holistic_kernel_t *kernel = order[s];
            int64_t at = s;
            for (; at > 0 && is_before(kernel, order[at - 1], r); at--) {
                order[at] = order[at - 1];
            }
            order[at] = kernel;
        }
    }
}

/* The chains of kernels of all tasks; those without kernels have none. */
static int make_chains(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    size_t segments = (size_t)p->begin[p->n], n = (size_t)p->n;
    int64_t *begin, count = 0;
    self->column = gs_alloc(self->ctx, COLUMNS * segments + n + 1, sizeof *self->column);
    self->flags = gs_alloc(self->ctx, 2 * n, sizeof *self->flags);
    self->kernel = gs_alloc(self->ctx, segments, sizeof *self->kernel);
    self->shape =
        gs_alloc(self->ctx, GS_ANALYSIS_HOLISTIC_RESOURCES * segments, sizeof *self->shape);
    if (self->column == NULL || self->flags == NULL || self->kernel == NULL ||
        self->shape == NULL) {
        return self->ctx->status;
    }
    begin = self->column + COLUMNS * segments;
    for (int64_t i = 0; i < p->n; i++) {
        begin[i] = count;
        for (int64_t j = p->begin[i]; j < p->begin[i + 1]; j++) {
            if (p->kind[j] != GS_PROGRAMS_KERNEL) {
                continue;
            }
            int status = gs_analysis_holistic_kernel(self, i, j, &self->kernel[count]);
            if (status != GS_OK) {
                return status;
            }
            const int64_t entry[COLUMNS] = {p->blocks[j], gs_analysis_holistic_threads(self, j),
                                            p->block_time[j], p->regs[j], p->smem[j]};
            for (size_t c = 0; c < COLUMNS; c++) {
                self->column[c * segments + (size_t)count] = entry[c];
            }
            count++;
        }
    }
    begin[p->n] = count;
    self->chains = (gs_kernel_chains_t){.n = p->n,
                                        .period = p->period,
                                        .level = p->level,
                                        .begin = begin,
                                        .blocks = self->column + BLOCKS * segments,
                                        .threads = self->column + THREADS * segments,
                                        .block_time = self->column + BLOCK_TIME * segments};
    self->device = (gs_analysis_priority_streams_device_t){
        self->options->gpu, self->column + REGS * segments, self->column + SMEM * segments};
    find_shapes(self, count);
    return count == 0 ? GS_OK
                      : gs_analysis_priority_streams_saturation_init(
                            &self->saturation, self->ctx, &self->chains, self->options->sm_threads,
                            self->options->gpu == NULL ? NULL : &self->device, false);
}

/* The least share, in fractions of blocks, of blocks of busy tasks that use so much of a resource
 * that a block of the waiting kernel does not fit; LIMIT where there are not enough. */
static int64_t least_share(const gs_analysis_holistic_t *self, const bool *busy, int resource,
                           const gs_analysis_holistic_kernel_t *waiting)
{
    const gs_analysis_holistic_kernel_t *const *order = self->shape + resource * self->shapes;
    int64_t sum = 0, shortage = waiting->shortage[resource];
    for (int64_t s = 0; s < self->shapes; s++) {
        const gs_analysis_holistic_kernel_t *kernel = order[s];
        int64_t need = kernel->need[resource], weight = kernel->weight[GS_ANALYSIS_HOLISTIC_SHARE];
        int64_t blocks = kernel->blocks - (kernel == waiting);
        if (!busy[kernel->task] || need == 0) {
            continue;
        }
        if (blocks >= (shortage + need - 1) / need) {
            return sum + (shortage * weight + need - 1) / need;
        }
        sum += blocks * weight;
        shortage -= blocks * need;
    }
    return GS_ANALYSIS_COMMON_LIMIT;
}

/* The least share of an SM that is busy while a kernel of these head tasks waits; 0: none does. */
static int64_t saturation_by_share(const gs_analysis_holistic_t *self, const bool *head,
                                   const bool *busy)
{
    int64_t least = GS_ANALYSIS_COMMON_LIMIT;
    for (int64_t s = 0; s < self->shapes; s++) {
        const gs_analysis_holistic_kernel_t *kernel = self->shape[s];
        for (int r = 0; r < GS_ANALYSIS_HOLISTIC_RESOURCES && head[kernel->task]; r++) {
            if (kernel->need[r] > 0) {
                least = gs_analysis_holistic_least(least, least_share(self, busy, r, kernel));
            }
        }
        for (int64_t o = 0; o < self->shapes && head[kernel->task]; o++) {
            const gs_analysis_holistic_kernel_t *other = self->shape[o];
            if (busy[other->task] && !gs_occupancy_carveout_suits(
                                         self->options->gpu, other->carveout, kernel->carveout)) {
                least =
                    gs_analysis_holistic_least(least, other->weight[GS_ANALYSIS_HOLISTIC_SHARE]);
            }
        }
    }
    return least == GS_ANALYSIS_COMMON_LIMIT ? 0 : least;
}

/* The most that blocks of busy tasks weigh at once while a block of a head waits, so that not all
 * of its kernel's run. */
static int64_t most_busy(const gs_analysis_holistic_t *self, int weight, const bool *head,
                         const bool *busy)
{
    const gs_kernel_chains_t *c = &self->chains;
    int64_t all = 0, least = GS_ANALYSIS_COMMON_LIMIT;
    for (int64_t k = 0; k < c->n; k++) {
        int64_t width = self->task[k].load[weight].width, waiting = 0;
        if (!busy[k]) {
            continue;
        }
        all = plus(all, width);
        for (int64_t j = c->begin[k]; head[k] && j < c->begin[k + 1]; j++) {
            const gs_analysis_holistic_kernel_t *kernel = &self->kernel[j];
            int64_t others = times(kernel->blocks - 1, kernel->weight[weight]);
            others = gs_analysis_holistic_least(others, kernel->width[weight]);
            waiting = others > waiting ? others : waiting;
        }
        if (head[k]) {
            least = gs_analysis_holistic_least(least, width - waiting);
        }
    }
    return least == GS_ANALYSIS_COMMON_LIMIT ? 0 : all - least;
}

/* beta of the heads with blocks of tasks of levels up to theirs and of `counted` running; NULL: of
 * all tasks. 0: none waits. */
static int saturate(gs_analysis_holistic_t *self, const gs_analysis_holistic_heads_t *heads,
                    const bool *counted, int64_t *beta)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_options_t *options = self->options;
    const bool limits = options->parts == GS_ANALYSIS_HOLISTIC_LIMITS;
    bool *head = self->flags, *busy = self->flags + p->n;
    int64_t groups = limits ? options->part_count : 1, least;
    int status = GS_OK;
    *beta = 0;
    for (int64_t group = 0; group < groups && status == GS_OK; group++) {
        int64_t sms = limits ? options->part_sms[group] : 0;
        for (int64_t k = 0; k < p->n; k++) {
            bool is = gs_analysis_holistic_is_in(self, heads, k), up = p->level[k] <= heads->level;
            head[k] = is && up && (!limits || p->part[k] == group);
            busy[k] = is && (up || counted == NULL || counted[k]);
            if (!limits && head[k]) {
                sms = gs_analysis_holistic_sms(self, k);
            }
        }
        if (heads->weight == GS_ANALYSIS_HOLISTIC_SHARE) {
            least = saturation_by_share(self, head, busy);
        } else {
            status = gs_analysis_priority_streams_saturation_least(&self->saturation, self->ctx,
                                                                   head, busy, &least);
        }
        least = times(least, sms);
        if (most_busy(self, heads->weight, head, busy) < least) {
            continue; /* they never hold that much */
        }
        if (status == GS_OK && least > 0 && (*beta == 0 || least < *beta)) {
            *beta = least;
        }
    }
    return status;
}

/* The weight that a lower task may still hold so long after a kernel joined, and the age until
 * which that is so; *until is only lowered. */
static int64_t held(const gs_analysis_holistic_t *self, int64_t k, int weight, int64_t age,
                    int64_t *until)
{
    const gs_kernel_chains_t *c = &self->chains;
    int64_t most = 0;
    for (int64_t j = c->begin[k]; j < c->begin[k + 1]; j++) {
        if (c->block_time[j] > age) {
            int64_t width = self->kernel[j].width[weight];
            most = width > most ? width : most;
            *until = gs_analysis_holistic_least(*until, c->block_time[j]);
        }
    }
    return most;
}

/* Fills in a choice: the rest of the lower tasks that are not counted, and beta. */
static int make_choice(gs_analysis_holistic_t *self, const gs_analysis_holistic_heads_t *heads,
                       gs_analysis_holistic_choice_t *choice, int64_t all)
{
    const gs_programs_t *p = self->programs;
    int status = saturate(self, heads, choice->counted, &choice->last);
    size_t kernels = (size_t)self->chains.begin[p->n];
    if (status != GS_OK) {
        return status;
    }
    choice->slope = gs_alloc(self->ctx, 2 * kernels, sizeof *choice->slope);
    if (choice->slope == NULL) {
        return self->ctx->status;
    }
    choice->length = choice->slope + kernels;
    for (int64_t age = 0;;) {
        int64_t until = GS_ANALYSIS_COMMON_LIMIT, sum = 0;
        for (int64_t k = 0; k < p->n; k++) {
            if (gs_analysis_holistic_is_in(self, heads, k) && p->level[k] > heads->level &&
                !choice->counted[k]) {
                sum = plus(sum, held(self, k, heads->weight, age, &until));
            }
        }
        if (sum == 0) {
            return gs_poll(self->ctx, (int64_t)kernels);
        }
        choice->slope[choice->steps] = sum < all ? all - sum : 0;
        choice->length[choice->steps++] = until - age;
        age = until;
    }
}

/* The lower tasks of heads, by falling periods. */
static int64_t lower_tasks(const gs_analysis_holistic_t *self,
                           const gs_analysis_holistic_heads_t *heads, int64_t *tasks)
{
    const int64_t *period = self->programs->period;
    int64_t count = 0;
    for (int64_t k = 0; k < self->programs->n; k++) {
        if (gs_analysis_holistic_is_in(self, heads, k) && self->programs->level[k] > heads->level) {
            int64_t at = count++;
            for (; at > 0 && period[tasks[at - 1]] < period[k]; at--) {
                tasks[at] = tasks[at - 1];
            }
            tasks[at] = k;
        }
    }
    return count;
}

/* Whether choice number c counts the t-th of `count` lower tasks: all subsets, or the first ones
 * and the last ones. */
static bool counts(int64_t c, int64_t t, int64_t count)
{
    if (count <= ALL_SUBSETS) {
        return (c >> t & 1) != 0;
    }
    return c <= count ? t < c : t >= c - count;
}

static int make_heads(gs_analysis_holistic_t *self, gs_analysis_holistic_heads_t *heads)
{
    size_t n = (size_t)self->programs->n;
    int64_t all, count, *tasks;
    int status = saturate(self, heads, NULL, &all);
    heads->waits = all > 0;
    if (status != GS_OK || !heads->waits) {
        return status;
    }
    if ((tasks = gs_alloc(self->ctx, n, sizeof *tasks)) == NULL) {
        return self->ctx->status;
    }
    count = lower_tasks(self, heads, tasks);
    int64_t choices = count <= ALL_SUBSETS ? INT64_C(1) << count : 2 * count;
    heads->choice = gs_alloc(self->ctx, (size_t)choices, sizeof *heads->choice);
    status = heads->choice == NULL ? self->ctx->status : GS_OK;
    for (int64_t c = 0; c < choices && status == GS_OK; c++) {
        gs_analysis_holistic_choice_t *choice = &heads->choice[heads->choices++];
        choice->counted = gs_alloc(self->ctx, n, sizeof *choice->counted);
        if (choice->counted == NULL) {
            status = self->ctx->status;
            break;
        }
        for (int64_t t = 0; t < count; t++) {
            choice->counted[tasks[t]] = counts(c, t, count);
        }
        status = make_choice(self, heads, choice, all);
    }
    gs_free(self->ctx, tasks);
    return status;
}

/* The heads of a part and level; NULL where they are not known yet. */
static gs_analysis_holistic_heads_t *heads_of(const gs_analysis_holistic_t *self, int64_t part,
                                              int64_t level)
{
    for (int64_t h = 0; h < self->heads_count; h++) {
        if (self->heads[h].part == part && self->heads[h].level == level) {
            return &self->heads[h];
        }
    }
    return NULL;
}

bool gs_analysis_holistic_concerns(const gs_analysis_holistic_t *self, int64_t i, int64_t part)
{
    if (!gs_analysis_holistic_is_parted(self)) {
        return part < 0;
    }
    const gs_programs_t *p = self->programs;
    bool found = part >= 0 &&
                 (part == p->part[i] || self->options->parts == GS_ANALYSIS_HOLISTIC_ALL_QUEUES);
    if (part >= 0 && self->options->parts == GS_ANALYSIS_HOLISTIC_OWN_BLOCKS) {
        for (int64_t k = 0; k < p->n && !found; k++) {
            found = gs_analysis_holistic_is_mate(self, i, k) && p->part[k] == part;
        }
    }
    return found;
}

int gs_analysis_holistic_streams_start(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    const bool parted = gs_analysis_holistic_is_parted(self);
    int64_t parts = parted ? self->options->part_count : 0, room;
    int status = make_chains(self);
    self->worst_level = gs_alloc(self->ctx, (size_t)p->n, sizeof *self->worst_level);
    if (status != GS_OK || self->worst_level == NULL) {
        return status != GS_OK ? status : self->ctx->status;
    }
    for (int64_t i = 0; i < p->n; i++) {
        self->worst_level[i] = p->level[i];
        for (int64_t k = 0; k < p->n; k++) {
            if (gs_analysis_holistic_is_mate(self, i, k) && p->level[k] > self->worst_level[i]) {
                self->worst_level[i] = p->level[k];
            }
        }
    }
    room = times(p->n, (parts + 1) * GS_ANALYSIS_HOLISTIC_WEIGHTS);
    self->heads = gs_alloc(self->ctx, (size_t)room, sizeof *self->heads);
    if (self->heads == NULL) {
        return self->ctx->status;
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        for (int64_t part = parted ? 0 : -1; part < parts && status == GS_OK; part++) {
            if (self->task[i].kernels == 0 || !gs_analysis_holistic_concerns(self, i, part) ||
                heads_of(self, part, self->worst_level[i]) != NULL) {
                continue;
            }
            for (int v = 0; v < self->weights && status == GS_OK; v++) {
                gs_analysis_holistic_heads_t *heads = &self->heads[self->heads_count++];
                *heads = (gs_analysis_holistic_heads_t){
                    .part = part, .level = self->worst_level[i], .weight = v};
                status = make_heads(self, heads);
            }
        }
    }
    return status;
}

void gs_analysis_holistic_streams_free(gs_analysis_holistic_t *self)
{
    for (int64_t h = 0; h < self->heads_count; h++) {
        for (int64_t c = 0; c < self->heads[h].choices; c++) {
            gs_free(self->ctx, self->heads[h].choice[c].counted);
            gs_free(self->ctx, self->heads[h].choice[c].slope);
        }
        gs_free(self->ctx, self->heads[h].choice);
    }
    gs_free(self->ctx, self->heads);
    gs_free(self->ctx, self->worst_level);
    gs_free(self->ctx, self->column);
    gs_free(self->ctx, self->kernel);
    gs_free(self->ctx, self->shape);
    gs_free(self->ctx, self->flags);
    gs_analysis_priority_streams_saturation_free(&self->saturation, self->ctx);
}
