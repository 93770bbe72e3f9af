/* Waiting for SMs where each task has a stream, with priority levels and shared channels.
 *
 * Mates of i are the other tasks whose streams have its channel, a of them; p* is the least urgent
 * level of i and its mates. H are the tasks of levels up to p*, L those behind. A kernel joins the
 * queue of its level when every kernel that entered its channel before has started all its blocks;
 * the head of the most urgent queue alone starts blocks. beta(heads; busy) is the least number of
 * threads that are busy while a kernel of `heads` waits with blocks of `busy` running
 * (analysis/priority_streams/chain_saturation.h); where these can never hold so many at once, none
 * waits. Of the instants between entry and end of the
 * sections of i
 *
 *     in some an own copy is served, or waits for its engine;
 *     in some an own kernel is in its tail: all its blocks have started;
 *     in the others an own kernel *waits*. Let f be the first kernel of its channel that has not
 *     started all its blocks.
 *
 * f has joined its queue: a kernel of a level up to p* waits, so beta(H; all) threads or more are
 * busy, and nothing of L starts. What runs is own blocks but the last of each kernel (the last one
 * starts at the dispatch), blocks of H, blocks of a set B of lower tasks, counted by the work of
 * their jobs, and what is left of the rest of L since a kernel of the channel joined, at most X(t)
 * threads t ticks later: per task the widest of its kernels with blocks longer than t. The kernels
 * of the channel that join meanwhile are those of i and those of mates ahead of them, one per own
 * kernel, or with graphs all of one section per own section. So the waiting takes no longer than
 * the time in which, at the rates beta(H; all) - X(t) for each of these joins and then at the rate
 * beta(H; H and B), the work of A (own), H and B is done; the lowest rates come first. The least
 * over all B holds.
 *
 * Of k in H that is N jobs' worth at most, x being the least time in which k can do the work of a
 * job. Besides, what starts while i waits entered before it:
 *
 *     a mate: one kernel per own kernel, with graphs one section per own section;
 *     a task of the level of i, without mates: one kernel per own kernel; with a mates, all of the
 *     same level and without graphs, one for each of at most a + 1 turns between the dispatches of
 *     mates ahead.
 *
 * With graphs f may not have joined yet: the kernel before it in its stream is in its tail, a copy
 * of a mate is served (both: `hold`, one section of each mate per own section), or such a copy
 * waits for its engine, as own copies do.
 *
 * channel_ended: a kernel joins its queue only when those before it in its channel have ended. Let
 * f be the first kernel of its channel that has not ended. It waits in its queue, which is as
 * above; or it is the kernel of a mate, in its tail: these are the last blocks of the mates ahead,
 * one kernel of each per own kernel, or all of one section per own section. They count in `hold`.
 *
 * Parts of the GPU with SMs of their own. With own queues and channels a part is a GPU by itself.
 * With queues in common classify the waiting instants by the part of the head: in each part
 * beta, work and X are those of its tasks, and the times add up. With own queues but channels in
 * common, f belongs to i or a mate, so those of their parts add up. Limits: a kernel whose task may
 * hold blocks on l SMs at most waits with l SMs full at least, those that its part occupies or all.
 */
#include "analysis/holistic/holistic_state.h"

#include <string.h>

/* Lower tasks of which all subsets are tried; of more, those with the longest and the shortest
 * periods. */
enum { ALL_SUBSETS = 4 };

/* Columns of the chains. */
enum { BLOCKS, THREADS, BLOCK_TIME, REGS, SMEM, WIDTH, COLUMNS };

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

static bool is_parted(const gs_analysis_holistic_t *self)
{
    int64_t parts = self->options->parts;
    return parts != GS_ANALYSIS_HOLISTIC_WHOLE && parts != GS_ANALYSIS_HOLISTIC_LIMITS;
}

/* Whether the SMs of these heads are those of a task. */
static bool is_in(const gs_analysis_holistic_t *self, const gs_analysis_holistic_heads_t *heads,
                  int64_t k)
{
    return self->task[k].kernels > 0 && (heads->part < 0 || self->programs->part[k] == heads->part);
}

static bool is_mate(const gs_analysis_holistic_t *self, int64_t i, int64_t k)
{
    return k != i && self->task[k].kernels > 0 &&
           self->programs->channel[k] == self->programs->channel[i];
}

/* Saturation ---------------------------------------------------------------------------------- */

/* The chains of kernels of all tasks; those without kernels have none. */
static int make_chains(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    size_t segments = (size_t)p->begin[p->n], n = (size_t)p->n;
    int64_t *begin, count = 0;
    self->column = gs_alloc(self->ctx, COLUMNS * segments + n + 1, sizeof *self->column);
    self->flags = gs_alloc(self->ctx, 2 * n, sizeof *self->flags);
    if (self->column == NULL || self->flags == NULL) {
        return self->ctx->status;
    }
    begin = self->column + COLUMNS * segments;
    for (int64_t i = 0; i < p->n; i++) {
        begin[i] = count;
        for (int64_t j = p->begin[i]; j < p->begin[i + 1]; j++) {
            if (p->kind[j] != GS_PROGRAMS_KERNEL) {
                continue;
            }
            int64_t width;
            int status = gs_analysis_holistic_width(self, i, j, &width);
            if (status != GS_OK) {
                return status;
            }
            const int64_t entry[COLUMNS] = {p->blocks[j],     gs_analysis_holistic_threads(self, j),
                                            p->block_time[j], p->regs[j],
                                            p->smem[j],       width};
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
    self->width = self->column + WIDTH * segments;
    self->device = (gs_analysis_priority_streams_device_t){
        self->options->gpu, self->column + REGS * segments, self->column + SMEM * segments};
    return count == 0 ? GS_OK
                      : gs_analysis_priority_streams_saturation_init(
                            &self->saturation, self->ctx, &self->chains, self->options->sm_threads,
                            self->options->gpu == NULL ? NULL : &self->device, false);
}

/* The most threads that blocks of busy tasks hold at once while a block of a head waits, so that
 * not all of its kernel's run. */
static int64_t most_threads(const gs_analysis_holistic_t *self, const bool *head, const bool *busy)
{
    const gs_kernel_chains_t *c = &self->chains;
    int64_t all = 0, least = GS_ANALYSIS_COMMON_LIMIT;
    for (int64_t k = 0; k < c->n; k++) {
        int64_t width = self->task[k].width, waiting = 0;
        if (!busy[k]) {
            continue;
        }
        all = plus(all, width);
        for (int64_t j = c->begin[k]; head[k] && j < c->begin[k + 1]; j++) {
            int64_t others = times(c->blocks[j] - 1, c->threads[j]);
            others = gs_analysis_holistic_least(others, self->width[j]);
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
    int64_t groups = limits ? options->part_count : 1, threads;
    int status = GS_OK;
    *beta = 0;
    for (int64_t group = 0; group < groups && status == GS_OK; group++) {
        int64_t sms = limits ? options->part_sms[group] : 0;
        for (int64_t k = 0; k < p->n; k++) {
            bool is = is_in(self, heads, k), up = p->level[k] <= heads->level;
            head[k] = is && up && (!limits || p->part[k] == group);
            busy[k] = is && (up || counted == NULL || counted[k]);
            if (!limits && head[k]) {
                sms = gs_analysis_holistic_sms(self, k);
            }
        }
        status = gs_analysis_priority_streams_saturation_least(&self->saturation, self->ctx, head,
                                                               busy, &threads);
        threads = times(threads, sms);
        if (most_threads(self, head, busy) < threads) {
            continue; /* they never hold that many */
        }
        if (status == GS_OK && threads > 0 && (*beta == 0 || threads < *beta)) {
            *beta = threads;
        }
    }
    return status;
}

/* The threads that a lower task may still hold so long after a kernel joined, and the age until
 * which that is so; *until is only lowered. */
static int64_t held(const gs_analysis_holistic_t *self, int64_t k, int64_t age, int64_t *until)
{
    const gs_kernel_chains_t *c = &self->chains;
    int64_t most = 0;
    for (int64_t j = c->begin[k]; j < c->begin[k + 1]; j++) {
        if (c->block_time[j] > age) {
            most = self->width[j] > most ? self->width[j] : most;
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
            if (is_in(self, heads, k) && p->level[k] > heads->level && !choice->counted[k]) {
                sum = plus(sum, held(self, k, age, &until));
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
        if (is_in(self, heads, k) && self->programs->level[k] > heads->level) {
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

/* Whether the heads of a part keep the kernels of i waiting. */
static bool concerns(const gs_analysis_holistic_t *self, int64_t i, int64_t part)
{
    if (!is_parted(self)) {
        return part < 0;
    }
    const gs_programs_t *p = self->programs;
    bool found = part >= 0 &&
                 (part == p->part[i] || self->options->parts == GS_ANALYSIS_HOLISTIC_ALL_QUEUES);
    if (part >= 0 && self->options->parts == GS_ANALYSIS_HOLISTIC_OWN_BLOCKS) {
        for (int64_t k = 0; k < p->n && !found; k++) {
            found = is_mate(self, i, k) && p->part[k] == part;
        }
    }
    return found;
}

int gs_analysis_holistic_streams_start(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    const bool parted = is_parted(self);
    int64_t parts = parted ? self->options->part_count : 0, room;
    int status = make_chains(self);
    self->worst_level = gs_alloc(self->ctx, (size_t)p->n, sizeof *self->worst_level);
    if (status != GS_OK || self->worst_level == NULL) {
        return status != GS_OK ? status : self->ctx->status;
    }
    for (int64_t i = 0; i < p->n; i++) {
        self->worst_level[i] = p->level[i];
        for (int64_t k = 0; k < p->n; k++) {
            if (is_mate(self, i, k) && p->level[k] > self->worst_level[i]) {
                self->worst_level[i] = p->level[k];
            }
        }
    }
    room = times(p->n, parts + 1);
    self->heads = gs_alloc(self->ctx, (size_t)room, sizeof *self->heads);
    if (self->heads == NULL) {
        return self->ctx->status;
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        for (int64_t part = parted ? 0 : -1; part < parts && status == GS_OK; part++) {
            if (self->task[i].kernels == 0 || !concerns(self, i, part) ||
                heads_of(self, part, self->worst_level[i]) != NULL) {
                continue;
            }
            gs_analysis_holistic_heads_t *heads = &self->heads[self->heads_count++];
            *heads = (gs_analysis_holistic_heads_t){.part = part, .level = self->worst_level[i]};
            status = make_heads(self, heads);
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
    gs_free(self->ctx, self->flags);
    gs_analysis_priority_streams_saturation_free(&self->saturation, self->ctx);
}

/* Waiting ------------------------------------------------------------------------------------- */

/* The kernels of the first q jobs of a run of i in a window. */
typedef struct {
    int64_t i, window;
    int64_t kernels, sections; /* own, of q jobs; sections: those with kernels */
    int64_t mates;
    bool level_alone; /* the task and its mates are of one level */
    int64_t joins;
} wait_t;

/* Work of a task of H. */
static int64_t work_of(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t k)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_task_t *t = &self->task[k];
    int share = gs_analysis_holistic_share(self, wait->i, k);
    if (share == GS_ANALYSIS_HOLISTIC_NONE) {
        return 0;
    }
    int64_t jobs = gs_analysis_holistic_open(self, k, wait->window);
    int64_t carried = gs_analysis_holistic_carried(self, k, t->carry, wait->window);
    int64_t most =
        share == GS_ANALYSIS_HOLISTIC_SECTION ? t->work.section : times(carried, t->work.sum);
    const gs_analysis_holistic_list_t *list = &t->work;
    int64_t items;
    if (is_mate(self, wait->i, k)) {
        items = self->options->graph ? wait->sections : wait->kernels;
        list = self->options->graph ? &t->section_work : list;
    } else if (p->level[k] == p->level[wait->i] && wait->level_alone &&
               (wait->mates == 0 || !self->options->graph)) {
        items = times(wait->mates + 1, wait->kernels);
    } else {
        return most;
    }
    return gs_analysis_holistic_least(most, gs_analysis_holistic_largest(list, jobs, items));
}

/* work / rate ticks. */
static int64_t quotient(const gs_analysis_holistic_t *self, int64_t work, int64_t rate)
{
    if (work >= GS_ANALYSIS_COMMON_LIMIT) {
        return GS_ANALYSIS_COMMON_LIMIT;
    }
    return work / rate + (!self->options->whole_ticks && work % rate != 0);
}

/* The most time in which no more than `work` is done. */
static int64_t longest(const gs_analysis_holistic_t *self,
                       const gs_analysis_holistic_choice_t *choice, int64_t joins, int64_t work)
{
    int64_t time = 0;
    for (int64_t s = 0; s < choice->steps; s++) {
        int64_t slope = choice->slope[s], length = times(choice->length[s], joins);
        int64_t done = times(slope, length);
        if (slope > 0 && done >= work) {
            return plus(time, quotient(self, work, slope));
        }
        time = plus(time, length);
        work -= done;
    }
    return choice->last == 0 ? time : plus(time, quotient(self, work, choice->last));
}

/* The waiting for these heads. */
static int64_t waiting(const gs_analysis_holistic_t *self, const wait_t *wait,
                       const gs_analysis_holistic_heads_t *heads, int64_t own)
{
    const gs_programs_t *p = self->programs;
    int64_t least = GS_ANALYSIS_COMMON_LIMIT, work = own;
    for (int64_t k = 0; k < p->n; k++) {
        if (k != wait->i && is_in(self, heads, k) && p->level[k] <= heads->level) {
            work = plus(work, work_of(self, wait, k));
        }
    }
    for (int64_t c = 0; c < heads->choices; c++) {
        const gs_analysis_holistic_choice_t *choice = &heads->choice[c];
        int64_t all = work;
        for (int64_t k = 0; k < p->n; k++) {
            if (choice->counted[k] && k != wait->i) {
                all = plus(all, work_of(self, wait, k));
            }
        }
        least = gs_analysis_holistic_least(least, longest(self, choice, wait->joins, all));
    }
    return heads->choices == 0 ? 0 : least;
}

/* Kernels of mates that join while own ones wait. */
static int64_t joins_of(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t k)
{
    const gs_analysis_holistic_task_t *t = &self->task[k];
    int64_t jobs = gs_analysis_holistic_open(self, k, wait->window);
    int64_t ahead = self->options->graph ? times(wait->sections, t->most_kernels) : wait->kernels;
    return gs_analysis_holistic_least(times(jobs, t->kernels), ahead);
}

/* Time in which the channel waits for mates ahead, though none of their kernels has joined. */
static int64_t hold_of(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t k)
{
    const gs_analysis_holistic_list_t *hold = &self->task[k].hold;
    int share = gs_analysis_holistic_share(self, wait->i, k);
    if (hold->sum == 0 || share == GS_ANALYSIS_HOLISTIC_NONE) {
        return 0;
    }
    int64_t jobs = gs_analysis_holistic_open(self, k, wait->window);
    int64_t carried = gs_analysis_holistic_carried(self, k, hold->sum, wait->window);
    int64_t most =
        share == GS_ANALYSIS_HOLISTIC_SECTION ? hold->section : times(carried, hold->sum);
    return gs_analysis_holistic_least(most,
                                      gs_analysis_holistic_largest(hold, jobs, wait->sections));
}

void gs_analysis_holistic_streams(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                  int64_t window, int64_t *terms)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_task_t *t = &self->task[i];
    const bool graph = self->options->graph;
    wait_t wait = {.i = i,
                   .window = window,
                   .kernels = times(q, t->kernels),
                   .sections = times(q, t->kernel_sections),
                   .level_alone = true,
                   .joins = times(q, t->kernels)};
    int64_t requests[GS_PROGRAMS_ENGINES] = {0}, hold = 0, sms = 0;
    for (int64_t k = 0; k < p->n && t->kernels > 0; k++) {
        if (!is_mate(self, i, k)) {
            continue;
        }
        wait.mates++;
        wait.level_alone = wait.level_alone && p->level[k] == p->level[i];
        wait.joins = plus(wait.joins, joins_of(self, &wait, k));
        hold = plus(hold, hold_of(self, &wait, k));
        bool waits = gs_analysis_holistic_share(self, i, k) != GS_ANALYSIS_HOLISTIC_NONE;
        for (int e = 0; e < GS_PROGRAMS_ENGINES && graph && waits; e++) {
            requests[e] = plus(requests[e], times(wait.sections, self->task[k].copies_ahead[e]));
        }
    }
    for (int64_t h = 0; h < self->heads_count && t->kernels > 0; h++) {
        const gs_analysis_holistic_heads_t *heads = &self->heads[h];
        if (heads->level == self->worst_level[i] && concerns(self, i, heads->part)) {
            int64_t own = is_in(self, heads, i) ? times(q, t->rest) : 0;
            sms = plus(sms, waiting(self, &wait, heads, own));
        }
    }
    int64_t job = plus(plus(t->tails, t->copy_time), times(t->sections, self->options->latency));
    const int64_t found[GS_ANALYSIS_HOLISTIC_TERMS] = {
        [GS_ANALYSIS_HOLISTIC_OWN] = times(q, job),
        [GS_ANALYSIS_HOLISTIC_COPY] = gs_analysis_holistic_copy(self, i, q, requests, window),
        [GS_ANALYSIS_HOLISTIC_GPU] = sms,
        [GS_ANALYSIS_HOLISTIC_CHANNEL] = hold};
    for (int c = 0; c < GS_ANALYSIS_HOLISTIC_TERMS; c++) {
        terms[c] = plus(terms[c], found[c]);
    }
}
