/* State of a holistic test, for the files of this folder: facts of each task, bounds so far, terms.
 *
 * Numbers are in 0..LIMIT (GS_ANALYSIS_COMMON_LIMIT) and saturate there: a response of LIMIT is one
 * without a bound, a window of LIMIT one without an end.
 */
#ifndef GS_ANALYSIS_HOLISTIC_HOLISTIC_STATE_H
#define GS_ANALYSIS_HOLISTIC_HOLISTIC_STATE_H

#include "analysis/common/host_test.h"
#include "analysis/holistic/holistic_rules.h"
#include "analysis/priority_streams/chain_saturation.h"

/* So many items of a job that take so long each, or do so much work. */
typedef struct {
    int64_t value, count;
} gs_analysis_holistic_item_t;

typedef struct {
    gs_analysis_holistic_item_t *item; /* of the state's memory; largest first once sorted */
    int64_t kinds;
    int64_t sum;     /* of all items of a job */
    int64_t section; /* largest sum of those of one section */
} gs_analysis_holistic_list_t;

/* Weights of a block, by which work on the SMs is counted: its threads; with a GPU also its
 * dominant share, the largest part that it takes of a resource of an SM. */
enum {
    GS_ANALYSIS_HOLISTIC_THREADS = 0,
    GS_ANALYSIS_HOLISTIC_SHARE = 1,
    GS_ANALYSIS_HOLISTIC_WEIGHTS = 2
};

/* Resources of an SM; without a GPU only the first one, in threads. */
enum {
    GS_ANALYSIS_HOLISTIC_WARPS = 0,
    GS_ANALYSIS_HOLISTIC_SLOTS = 1,
    GS_ANALYSIS_HOLISTIC_REGS = 2,
    GS_ANALYSIS_HOLISTIC_SMEM = 3,
    GS_ANALYSIS_HOLISTIC_RESOURCES = 4
};

/* Blocks of a kernel on the SMs that it may use. */
typedef struct {
    int64_t task;
    int64_t blocks;
    int64_t weight[GS_ANALYSIS_HOLISTIC_WEIGHTS];     /* of a block */
    int64_t width[GS_ANALYSIS_HOLISTIC_WEIGHTS];      /* most that its blocks weigh at once */
    int64_t need[GS_ANALYSIS_HOLISTIC_RESOURCES];     /* of a block */
    int64_t shortage[GS_ANALYSIS_HOLISTIC_RESOURCES]; /* use of an SM at which none fits */
    int64_t carveout;
} gs_analysis_holistic_kernel_t;

/* Work of a task on the SMs, by one weight. */
typedef struct {
    gs_analysis_holistic_list_t work;         /* of kernels: weight times ticks */
    gs_analysis_holistic_list_t section_work; /* of sections with kernels */
    int64_t rest;                             /* of a job without the last block of each kernel */
    int64_t width;                            /* most that its blocks weigh at once */
    int64_t carry; /* least time in which it does the work of a job, rounded down */
} gs_analysis_holistic_load_t;

/* Facts of a task that follow from its program. */
typedef struct {
    int64_t cpu;     /* CPU work of a job */
    int64_t on_core; /* most that a job takes of its core while it does not wait */
    int64_t blocks;  /* ticks of updates of less urgent tasks in a ready interval, at most */
    gs_analysis_holistic_list_t
        piece;       /* ready intervals: CPU work before each section, 0 included, and at the end */
    int64_t delay;   /* latencies, gaps and wake-ups of a job */
    int64_t entries; /* instants at which kernels of a job enter their stream */
    int64_t kernels;
    int64_t most_kernels; /* of a section */
    int64_t copies[GS_PROGRAMS_ENGINES];
    int64_t copies_ahead[GS_PROGRAMS_ENGINES]; /* most before the last kernel of a section */
    gs_analysis_holistic_list_t copy[GS_PROGRAMS_ENGINES];
    int64_t copy_time; /* of all engines */
    /* One stream: sections, by the time of their operations. Time slices, and a task that has a
     * process for itself: slices with their switches. */
    gs_analysis_holistic_list_t turn;
    int64_t turns;       /* of a job; GCAPS: its sections */
    int64_t switch_cost; /* of a turn; 0 for a single context */
    int64_t alone;       /* time of the kernels of a job, alone on all SMs */
    int64_t runs; /* of kernels of a job that follow each other without a copy, gap or call */
    /* GCAPS. */
    gs_analysis_holistic_list_t inner; /* pieces in open sections */
    int64_t pieces;                    /* of a job */
    int64_t calls;                     /* CPU work in open sections */
    int64_t held;                      /* H */
    /* Streams. */
    gs_analysis_holistic_load_t load[GS_ANALYSIS_HOLISTIC_WEIGHTS];
    gs_analysis_holistic_list_t hold; /* per section: last blocks of all kernels, the last one only
                                         with channel_ended, and copies before the last kernel */
    int64_t tails;                    /* ticks of the last blocks */
} gs_analysis_holistic_task_t;

/* Lower tasks that are counted by the work of their jobs, and what is left of the others: blocks
 * that run when a kernel joins its queue. */
typedef struct {
    bool *counted;   /* per task */
    int64_t last;    /* weight that is busy while a kernel waits and no such block is left; 0: then
                        none waits */
    int64_t *slope;  /* per step: weight that is busy besides these blocks */
    int64_t *length; /* of the step, ticks */
    int64_t steps;
} gs_analysis_holistic_choice_t;

/* Kernels of levels up to one that wait for the SMs of a part, or of all parts. */
typedef struct {
    int64_t part; /* -1: of all */
    int64_t level;
    int weight;                            /* by which busy blocks are counted */
    bool waits;                            /* false: none ever does */
    gs_analysis_holistic_choice_t *choice; /* owned */
    int64_t choices;
} gs_analysis_holistic_heads_t;

typedef struct gs_analysis_holistic_test gs_analysis_holistic_t;

/* The share of other tasks in the waiting of a task on its core: all of it; none; of one section,
 * all that is left of a less urgent task of a core that is never given up. */
enum {
    GS_ANALYSIS_HOLISTIC_ALL = 0,
    GS_ANALYSIS_HOLISTIC_NONE = 1,
    GS_ANALYSIS_HOLISTIC_SECTION = 2
};

/* Ticks of the first q jobs of a run of task i in a window of length w in which its sections are
 * with the GPU; adds its parts to the terms. */
typedef void gs_analysis_holistic_gpu_t(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                        int64_t window, int64_t *terms);

/* Tasks that are released by others, and those that release them. */
typedef struct {
    int64_t *source;  /* owned, per task: the timed one that it goes back to, itself included */
    int64_t *order;   /* owned: tasks, each behind those that release it */
    uint64_t *ahead;  /* owned, per task: the set of tasks that it goes back to */
    int64_t words;    /* of such a set */
    bool *apart;      /* owned, per source: a job of its group has ended when the next one of the
                         source arrives */
    int64_t *jitter;  /* owned, per task */
    int64_t *least;   /* owned, per task: earliest release, from the arrival of the source */
    int64_t *latest;  /* owned, per task: latest release */
    int64_t *alone;   /* owned, per task: response from the release, with `apart` */
    int64_t *delayed; /* owned, per task: response from the release */
    int64_t *path;    /* owned, scratch: tasks of a path, the last one first */
    int64_t *choice;  /* owned, scratch: per task of a path, the number among its predecessors */
    int64_t *horizon; /* owned, per source: ends behind it are none */
} gs_analysis_holistic_groups_t;

struct gs_analysis_holistic_test {
    gs_context_t *ctx;
    const gs_programs_t *programs;
    const gs_analysis_holistic_options_t *options;
    gs_analysis_holistic_gpu_t *gpu;
    gs_analysis_holistic_task_t *task; /* owned */
    gs_analysis_holistic_item_t *item; /* owned: of all lists */
    int64_t *response;                 /* owned: bounds so far */
    int64_t *window;                   /* owned: of one job, in the last round */
    int64_t *ready;      /* owned, scratch: per more urgent task, its jobs in the ready
                            intervals of a job; LIMIT: not known */
    int64_t *spinning;   /* owned, scratch: per more urgent task, G_h */
    int64_t switch_cost; /* between contexts; 0 for a single one */
    bool graph;          /* sections of some task may have several operations */
    gs_analysis_holistic_groups_t *groups; /* NULL: no task is released by others */
    /* Streams. */
    int weights;                                 /* that are tried */
    gs_kernel_chains_t chains;                   /* kernels of all tasks, which may have none */
    int64_t *column;                             /* owned: of the chains */
    gs_analysis_holistic_kernel_t *kernel;       /* owned: those of the chains */
    const gs_analysis_holistic_kernel_t **shape; /* owned: of kernels of a task that take the
                                                    same, the one with most blocks; by each
                                                    resource, the least weight of a unit first */
    int64_t shapes;
    gs_analysis_priority_streams_device_t device; /* with registers and shared memory in column */
    gs_analysis_priority_streams_saturation_t saturation;
    bool *flags;                         /* owned, scratch: heads and busy tasks */
    gs_analysis_holistic_heads_t *heads; /* owned */
    int64_t heads_count;
    int64_t *worst_level; /* owned, per task: p*, the least urgent level of its channel */
};

static inline int64_t gs_analysis_holistic_plus(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_add(a, b);
}

static inline int64_t gs_analysis_holistic_times(int64_t a, int64_t b)
{
    return gs_analysis_common_saturating_mul(a, b);
}

static inline int64_t gs_analysis_holistic_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gs_analysis_holistic_jobs(int64_t length, int64_t period)
{
    return length / period + (length % period != 0);
}

/* n_k: jobs of k that do anything in a window. */
static inline int64_t gs_analysis_holistic_open(const gs_analysis_holistic_t *self, int64_t k,
                                                int64_t window)
{
    int64_t response = self->response[k];
    return response >= GS_ANALYSIS_COMMON_LIMIT || window >= GS_ANALYSIS_COMMON_LIMIT
               ? GS_ANALYSIS_COMMON_LIMIT
               : gs_analysis_holistic_jobs(window + response, self->programs->period[k]);
}

/* N: of jobs of k that do at most x of something, as many as their share of a window amounts to. */
static inline int64_t gs_analysis_holistic_carried(const gs_analysis_holistic_t *self, int64_t k,
                                                   int64_t x, int64_t window)
{
    int64_t response = self->response[k];
    if (response >= GS_ANALYSIS_COMMON_LIMIT || window >= GS_ANALYSIS_COMMON_LIMIT) {
        return GS_ANALYSIS_COMMON_LIMIT;
    }
    return gs_analysis_holistic_jobs(window + response - gs_analysis_holistic_least(x, response),
                                     self->programs->period[k]);
}

/* Whether tasks of one group keep apart, each job of the group from the next one. */
static inline bool gs_analysis_holistic_is_apart(const gs_analysis_holistic_t *self, int64_t i,
                                                 int64_t k)
{
    const gs_analysis_holistic_groups_t *groups = self->groups;
    return groups != NULL && groups->source[i] == groups->source[k] &&
           groups->apart[groups->source[i]];
}

/* Whether task i goes back to task k. */
static inline bool gs_analysis_holistic_is_behind(const gs_analysis_holistic_t *self, int64_t i,
                                                  int64_t k)
{
    const gs_analysis_holistic_groups_t *groups = self->groups;
    return (groups->ahead[i * groups->words + k / 64] >> (k % 64) & 1) != 0;
}

/* Of `count` jobs of k those that can delay a job of i: in a group that keeps apart at most the one
 * of the same arrival, and none if one task goes back to the other. */
static inline int64_t gs_analysis_holistic_limited(const gs_analysis_holistic_t *self, int64_t i,
                                                   int64_t k, int64_t count)
{
    if (!gs_analysis_holistic_is_apart(self, i, k)) {
        return count;
    }
    if (gs_analysis_holistic_is_behind(self, i, k) || gs_analysis_holistic_is_behind(self, k, i)) {
        return 0;
    }
    return gs_analysis_holistic_least(count, 1);
}

/* S: the `most` largest items of n jobs. */
int64_t gs_analysis_holistic_largest(const gs_analysis_holistic_list_t *list, int64_t n,
                                     int64_t most);

/* Whether i and k are in different GPU instances, so that they share CPUs and DLAs alone. */
static inline bool gs_analysis_holistic_is_elsewhere(const gs_analysis_holistic_t *self, int64_t i,
                                                     int64_t k)
{
    return self->options->instances && self->programs->part[i] != self->programs->part[k];
}

/* Whether contexts have the GPU in turns. */
static inline bool gs_analysis_holistic_has_turns(const gs_analysis_holistic_t *self)
{
    return self->options->rule == GS_ANALYSIS_HOLISTIC_TIME_SLICES ||
           self->options->parts == GS_ANALYSIS_HOLISTIC_IN_TURNS;
}

/* The share of k in the waiting of i: GS_ANALYSIS_HOLISTIC_ALL, ... */
static inline int gs_analysis_holistic_share(const gs_analysis_holistic_t *self, int64_t i,
                                             int64_t k)
{
    const gs_programs_t *p = self->programs;
    if (!self->options->busy || p->core[k] != p->core[i]) {
        return GS_ANALYSIS_HOLISTIC_ALL;
    }
    return p->priority[k] <= p->priority[i] ? GS_ANALYSIS_HOLISTIC_NONE
                                            : GS_ANALYSIS_HOLISTIC_SECTION;
}

/* Whether h is more urgent than i on the same core, or as urgent. */
static inline bool gs_analysis_holistic_is_higher(const gs_analysis_holistic_t *self, int64_t h,
                                                  int64_t i)
{
    const gs_programs_t *p = self->programs;
    return h != i && p->core[h] == p->core[i] && p->priority[h] <= p->priority[i];
}

/* Whether the SMs are divided into parts, so that a kernel waits for those of a part. */
static inline bool gs_analysis_holistic_is_parted(const gs_analysis_holistic_t *self)
{
    int64_t parts = self->options->parts;
    return parts != GS_ANALYSIS_HOLISTIC_WHOLE && parts != GS_ANALYSIS_HOLISTIC_LIMITS;
}

/* Whether the SMs of these heads are those of a task with kernels. */
static inline bool gs_analysis_holistic_is_in(const gs_analysis_holistic_t *self,
                                              const gs_analysis_holistic_heads_t *heads, int64_t k)
{
    return self->task[k].kernels > 0 && (heads->part < 0 || self->programs->part[k] == heads->part);
}

/* Whether k is a mate of i: another task with kernels whose stream has the same channel. */
static inline bool gs_analysis_holistic_is_mate(const gs_analysis_holistic_t *self, int64_t i,
                                                int64_t k)
{
    return k != i && self->task[k].kernels > 0 &&
           self->programs->channel[k] == self->programs->channel[i] &&
           !gs_analysis_holistic_is_elsewhere(self, i, k);
}

/* program_facts.c */

/* CPU work of a call of task i. */
int64_t gs_analysis_holistic_call(const gs_analysis_holistic_t *self, int64_t i);

/* Fills in the facts; the rest is zero. Errors: GS_ERR_VALUE for a block that fits no SM,
 * GS_ERR_MEMORY. */
int gs_analysis_holistic_facts(gs_analysis_holistic_t *self);

/* The most SMs that hold blocks of a task at once. */
int64_t gs_analysis_holistic_sms(const gs_analysis_holistic_t *self, int64_t i);

/* Threads of a block, on a GPU in whole warps. */
int64_t gs_analysis_holistic_threads(const gs_analysis_holistic_t *self, int64_t j);

/* The blocks of kernel j of task i. Errors: as above. */
int gs_analysis_holistic_kernel(const gs_analysis_holistic_t *self, int64_t i, int64_t j,
                                gs_analysis_holistic_kernel_t *kernel);

/* cpu_terms.c */

/* Fills in what the CPU terms of a task need, from the bounds so far. */
int gs_analysis_holistic_cpu_start(gs_analysis_holistic_t *self, int64_t i);

/* The length of the ready interval of task i whose own work is m; LIMIT where it is longer than a
 * window may be. */
int gs_analysis_holistic_interval(const gs_analysis_holistic_t *self, int64_t i, int64_t m,
                                  int64_t *length);

/* CPU_i; with busy the whole of more urgent jobs, their sections included. */
int64_t gs_analysis_holistic_cpu(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                 int64_t window);

/* Items of k, of a share that is not NONE, for which so many requests of i wait in a window. */
int64_t gs_analysis_holistic_items(const gs_analysis_holistic_t *self, int64_t i, int64_t k,
                                   const gs_analysis_holistic_list_t *list, int share,
                                   int64_t requests, int64_t window);

/* COPY_i; extra: requests on each engine besides those of the q jobs. */
int64_t gs_analysis_holistic_copy(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                  const int64_t *extra, int64_t window);

/* job_runs.c */

/* F_i(q, w) and its terms. */
int64_t gs_analysis_holistic_demand(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                    int64_t window, int64_t *terms);

/* A bound from the bounds so far, no less than the one that there is. delayed: not NULL: the bound
 * from the release. */
int gs_analysis_holistic_run(gs_analysis_holistic_t *self, int64_t i, int64_t *delayed,
                             gs_analysis_holistic_answer_t *answer);

/* path_windows.c */

/* The latest end of task i after the arrival of its source, of a group whose jobs keep apart; LIMIT
 * where it is later than the period of the source. Sets `alone` and the terms of the task. */
int gs_analysis_holistic_window(gs_analysis_holistic_t *self, int64_t i, int64_t *end,
                                gs_analysis_holistic_answer_t *answer);

/* triggered_tasks.c */

/* Groups of tasks; free in every case. Errors: GS_ERR_VALUE for links that make no groups,
 * GS_ERR_MEMORY. */
int gs_analysis_holistic_groups_init(gs_analysis_holistic_t *self,
                                     gs_analysis_holistic_groups_t *groups);
void gs_analysis_holistic_groups_free(gs_analysis_holistic_t *self,
                                      gs_analysis_holistic_groups_t *groups);

/* The least joint fixed point with groups. */
int gs_analysis_holistic_groups_solve(gs_analysis_holistic_t *self,
                                      gs_analysis_holistic_answer_t *answer);

/* The latest release of a task, from the bounds so far, and its jitter. */
void gs_analysis_holistic_find_release(gs_analysis_holistic_t *self, int64_t i);

/* The answer for a task; terms of a bound that there is not are 0. */
void gs_analysis_holistic_report(const gs_analysis_holistic_t *self, int64_t i,
                                 gs_analysis_holistic_answer_t *answer);

/* edf_terms.c */

/* The answer for one unit at a time, with groups or without. */
int gs_analysis_holistic_edf(gs_analysis_holistic_t *self, gs_analysis_holistic_answer_t *answer);

/* queue_terms.c */

gs_analysis_holistic_gpu_t gs_analysis_holistic_queue;

/* Operations of a job of k, with its switches. */
int64_t gs_analysis_holistic_operations(const gs_analysis_holistic_t *self, int64_t k);

/* F_i(q, w) of a core that is never given up, its more urgent jobs and the q own ones counted
 * together: sets all terms, which are 0. */
gs_analysis_holistic_gpu_t gs_analysis_holistic_group;

/* gcaps_terms.c */

/* Fills in what a job takes of its core. Errors: GS_ERR_VALUE for levels that disagree with the
 * priorities of a core. */
int gs_analysis_holistic_gcaps_facts(gs_analysis_holistic_t *self);

/* Fills in what the terms of a task need, from the bounds so far. */
int gs_analysis_holistic_gcaps_start(gs_analysis_holistic_t *self, int64_t i);

/* F_i(q, w): sets all terms, which are 0. */
void gs_analysis_holistic_gcaps(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                int64_t window, int64_t *terms);

/* stream_terms.c */

gs_analysis_holistic_gpu_t gs_analysis_holistic_streams;

/* process_terms.c */

/* Adds the turns of other processes, or sets the terms of a task with a process for itself.
 * sms: ticks in which kernels of the q jobs wait for SMs. */
void gs_analysis_holistic_process(const gs_analysis_holistic_t *self, int64_t i, int64_t q,
                                  int64_t window, int64_t sms, int64_t *terms);

/* stream_saturation.c */

/* Whether the heads of a part keep the kernels of i waiting. */
bool gs_analysis_holistic_concerns(const gs_analysis_holistic_t *self, int64_t i, int64_t part);

/* Saturation of the SMs for each set of heads. Errors: GS_ERR_VALUE for block sizes of too many
 * combinations, GS_ERR_MEMORY. */
int gs_analysis_holistic_streams_start(gs_analysis_holistic_t *self);
void gs_analysis_holistic_streams_free(gs_analysis_holistic_t *self);

#endif
