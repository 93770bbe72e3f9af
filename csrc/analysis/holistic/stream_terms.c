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
 *     same level, without graphs and gaps, one for each of at most a + 1 turns between the
 *     dispatches of mates ahead.
 *
 * With graphs f may not have joined yet: the kernel before it in its stream is in its tail, a copy
 * of a mate is served (both: `hold`, one section of each mate per own section), or such a copy
 * waits for its engine, as own copies do. With gaps, too, f may not have joined yet: those of the
 * mates ahead count in `hold`. Where the kernels of i enter one by one, each counts as a section.
 *
 * channel_ended: a kernel joins its queue only when those before it in its channel have ended. Let
 * f be the first kernel of its channel that has not ended. It waits in its queue, which is as
 * above; or it is the kernel of a mate, in its tail: these are the last blocks of the mates ahead,
 * one kernel of each per own kernel, or all of one section per own section. They count in `hold`.
 *
 * Threads are one weight of blocks among others: all of this holds for any weights, with beta the
 * least weight of busy blocks during a wait, and the least over several weights holds. By threads
 * alone a wait for registers looks as if few blocks were busy.
 *
 * Parts of the GPU with SMs of their own. With own queues and channels a part is a GPU by itself.
 * With queues in common classify the waiting instants by the part of the head: in each part
 * beta, work and X are those of its tasks, and the times add up. With own queues but channels in
 * common, f belongs to i or a mate, so those of their parts add up. Limits: a kernel whose task may
 * hold blocks on l SMs at most waits with l SMs full at least, those that its part occupies or all.
 * Processes in turns are parts with own queues, each with all SMs (process_terms.c).
 */
#include "analysis/holistic/holistic_state.h"

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

/* The kernels of the first q jobs of a run of i in a window. */
typedef struct {
    int64_t i, window;
    int64_t kernels, sections; /* own, of q jobs; sections: instants at which kernels enter */
    int64_t mates;
    bool level_alone; /* the task and its mates are of one level */
    int64_t joins;
} wait_t;

/* Work of a task of H. */
static int64_t work_of(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t k,
                       int weight)
{
    const gs_programs_t *p = self->programs;
    const gs_analysis_holistic_load_t *t = &self->task[k].load[weight];
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
    if (gs_analysis_holistic_is_mate(self, wait->i, k)) {
        items = self->graph ? wait->sections : wait->kernels;
        list = self->graph ? &t->section_work : list;
    } else if (p->level[k] == p->level[wait->i] && wait->level_alone &&
               (wait->mates == 0 || (!self->graph && self->options->kernel_gap == 0))) {
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
        if (k != wait->i && gs_analysis_holistic_is_in(self, heads, k) &&
            p->level[k] <= heads->level) {
            work = plus(work, work_of(self, wait, k, heads->weight));
        }
    }
    for (int64_t c = 0; c < heads->choices; c++) {
        const gs_analysis_holistic_choice_t *choice = &heads->choice[c];
        int64_t all = work;
        for (int64_t k = 0; k < p->n; k++) {
            if (choice->counted[k] && k != wait->i) {
                all = plus(all, work_of(self, wait, k, heads->weight));
            }
        }
        least = gs_analysis_holistic_least(least, longest(self, choice, wait->joins, all));
    }
    return heads->choices == 0 ? 0 : least;
}

/* The waiting for SMs: of all parts that are concerned, by the weight that gives the least. */
static int64_t waiting_for_sms(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t q)
{
    const gs_analysis_holistic_task_t *t = &self->task[wait->i];
    int64_t least = GS_ANALYSIS_COMMON_LIMIT;
    for (int v = 0; v < self->weights; v++) {
        int64_t sum = 0;
        for (int64_t h = 0; h < self->heads_count; h++) {
            const gs_analysis_holistic_heads_t *heads = &self->heads[h];
            if (heads->weight == v && heads->level == self->worst_level[wait->i] &&
                gs_analysis_holistic_concerns(self, wait->i, heads->part)) {
                bool is_own = gs_analysis_holistic_is_in(self, heads, wait->i);
                int64_t own = is_own ? times(q, t->load[v].rest) : 0;
                sum = plus(sum, waiting(self, wait, heads, own));
            }
        }
        least = gs_analysis_holistic_least(least, sum);
    }
    return least;
}

/* Kernels of mates that join while own ones wait. */
static int64_t joins_of(const gs_analysis_holistic_t *self, const wait_t *wait, int64_t k)
{
    const gs_analysis_holistic_task_t *t = &self->task[k];
    int64_t jobs = gs_analysis_holistic_open(self, k, wait->window);
    int64_t ahead = self->graph ? times(wait->sections, t->most_kernels) : wait->kernels;
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
    const bool graph = self->graph;
    wait_t wait = {.i = i,
                   .window = window,
                   .kernels = times(q, t->kernels),
                   .sections = times(q, t->entries),
                   .level_alone = true,
                   .joins = times(q, t->kernels)};
    int64_t requests[GS_PROGRAMS_ENGINES] = {0}, hold = 0, sms = 0;
    for (int64_t k = 0; k < p->n && t->kernels > 0; k++) {
        if (!gs_analysis_holistic_is_mate(self, i, k)) {
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
    if (t->kernels > 0) {
        sms = waiting_for_sms(self, &wait, q);
    }
    int64_t job = plus(plus(t->tails, t->copy_time), t->delay);
    const int64_t found[GS_ANALYSIS_HOLISTIC_TERMS] = {
        [GS_ANALYSIS_HOLISTIC_OWN] = times(q, job),
        [GS_ANALYSIS_HOLISTIC_COPY] = gs_analysis_holistic_copy(self, i, q, requests, window),
        [GS_ANALYSIS_HOLISTIC_GPU] = sms,
        [GS_ANALYSIS_HOLISTIC_CHANNEL] = hold};
    for (int c = 0; c < GS_ANALYSIS_HOLISTIC_TERMS; c++) {
        terms[c] = plus(terms[c], found[c]);
    }
    if (self->options->parts == GS_ANALYSIS_HOLISTIC_IN_TURNS && t->kernels > 0) {
        gs_analysis_holistic_process(self, i, q, window, sms, terms);
    }
}
