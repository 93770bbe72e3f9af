/* Shared parts of the tests of tasks that share the GPU by contexts: one context per task, the GPU
 * passes from one to another without a lock (time_slices.h, gcaps.h).
 *
 * Partitioned fixed priorities, constrained deadlines, release jitter (common/host_test.h: bounds R
 * count from the arrival, windows w from the release). A copy is CPU work at its task's own
 * priority. Mode suspend: a task leaves its core while it waits for the GPU and during its kernels;
 * mode busy: it spins at its own priority, and can be preempted.
 *
 * A test gives task i a right-hand side f_i(w, R), where R are assumed bounds of all responses, and
 * W_i(R) is J_i more than its least fixed point in w. The common step of the proofs (Lemma 0): if a
 * job of k takes at most x of something, only between its arrival and its end, and responses are at
 * most R, a window of length w holds at most
 *
 *     N(w, R, x, T) x,  N = ceil((w + R - min(x, R)) / T)
 *
 * of it. (If the first job that contributes arrived more than R - x before the window, it
 * contributes at most x - d, with d the excess; if the count from its arrival is one too many, the
 * last job arrived less than d before the end.) What a job takes between its release and its end
 * only is at most R - J of it.
 *
 * JOINT: the least R with W(R) = R, from R = J + C + G upwards. Any R with W(R) <= R <= D is valid:
 * at the first instant at which a job exceeds its R all others have kept theirs. ONE_PASS: R = W
 * for more urgent tasks, else the deadline. ORDER_FREE: R = D, so that W of a task depends on the
 * set of more urgent tasks and not on their order. DEADLINES: R = D alone, in the equations of
 * ONE_PASS.
 *
 * Tasks are numbered by priority here (rank 0: the most urgent), and cores by groups of the tasks
 * on them. All numbers are in 0..GS_ANALYSIS_COMMON_LIMIT and saturate there.
 */
#ifndef GS_ANALYSIS_CONTEXTS_CONTEXT_TEST_H
#define GS_ANALYSIS_CONTEXTS_CONTEXT_TEST_H

#include "analysis/common/host_test.h"
#include "analysis/common/jitter.h"
#include "core/method.h"

enum { GS_ANALYSIS_CONTEXTS_SUSPEND = 0, GS_ANALYSIS_CONTEXTS_BUSY = 1 };

/* Way to find the bounds. */
enum {
    GS_ANALYSIS_CONTEXTS_JOINT = 0,
    GS_ANALYSIS_CONTEXTS_ONE_PASS = 1,
    GS_ANALYSIS_CONTEXTS_ORDER_FREE = 2,
    GS_ANALYSIS_CONTEXTS_DEADLINES = 3
};

/* Choices of the options of the tests. */
extern const char *const gs_analysis_contexts_mode_choices[];
extern const char *const gs_analysis_contexts_fixed_point_choices[];
extern const char *const gs_analysis_contexts_variant_choices[];

/* Platform and options; each test reads those that it has. */
typedef struct {
    int64_t cpus;
    int64_t sms;                 /* that every kernel runs on */
    int mode;                    /* GS_ANALYSIS_CONTEXTS_SUSPEND, ... */
    int fixed_point;             /* GS_ANALYSIS_CONTEXTS_JOINT, ... */
    bool paper;                  /* the printed equations, which are unsound; ONE_PASS only */
    int64_t timeslice;           /* time slices: its length, ticks */
    int64_t context_switch;      /* to another context, ticks */
    int64_t update_cost;         /* GCAPS: of an update, ticks */
    bool stall;                  /* GCAPS: every update stops the GPU */
    const int64_t *gpu_priority; /* GCAPS: per task; NULL: the order of the CPU priorities */
    int64_t
        skip; /* ranks that are not solved, before `take` that are; take 0: all are. Bounds of */
    int64_t take; /* other tasks stay as assumed at the start: C + G (JOINT) or the deadline */
} gs_analysis_contexts_options_t;

/* A number of jobs in a growing window: ceil((w + shift) / period). */
typedef struct {
    int64_t until; /* jobs is right for windows up to this */
    int64_t jobs;
    int64_t shift;
    int64_t period;
} gs_analysis_contexts_count_t;

/* Kinds of counts of a task: four of a test, and that of gs_analysis_contexts_test_piece. */
enum { GS_ANALYSIS_CONTEXTS_COUNT_PIECE = 4, GS_ANALYSIS_CONTEXTS_COUNTS = 5 };

typedef struct {
    int64_t task;     /* its index in the set */
    int64_t period;   /* T */
    int64_t deadline; /* D */
    int64_t jitter;   /* J */
    int64_t window;   /* D - J, from the release of a job on */
    int64_t response; /* R, the assumed bound */
    int64_t group;    /* of its core */
    int64_t place;    /* among the tasks of the core, by priority */
    int64_t cpu;      /* C */
    int64_t copies;   /* G^m */
    int64_t gpu;      /* G, with kernels */
    int64_t kernels;  /* G^e */
    int64_t segments; /* eta */
    int64_t on_core;  /* most that a job takes of its core while it does not wait (x) */
    double share;     /* on_core / period */
    bool crowded;     /* more urgent tasks take all of its core: no window suffices */
    double rate;      /* 1 / period */
    int64_t cap;      /* most jobs that meet the ready intervals of the task under test */
    /* Time slices. */
    int64_t slices; /* Q */
    int64_t ring;   /* y: on the GPU, with the switches to it */
    int64_t turn;   /* v: its longest slice with the switch to it */
    int64_t one;    /* its longest kernel with the switches to it */
    /* GCAPS. */
    int64_t level;  /* GPU priority */
    int64_t ready;  /* ready intervals of a job, at most */
    int64_t local;  /* g: on the GPU or for the mutex, against a less urgent task of its core */
    int64_t hold;   /* H: a job keeps the GPU from less urgent tasks, at most */
    int64_t remote; /* z: the same, without what other tasks of its core do */
    int64_t low;    /* number of the tasks of its core, the most urgent ones, that the bound by
                       their core includes (of the first task of a core) */
    int64_t back;   /* how long after its end it can delay others: the switch after a segment */
    bool above;     /* has a higher GPU priority than the task under test needs */
    bool hold_is_known;
    gs_analysis_contexts_count_t count[GS_ANALYSIS_CONTEXTS_COUNTS];
} gs_analysis_contexts_task_t;

/* Work that a right-hand side counts without a limit. */
typedef struct {
    const gs_analysis_contexts_count_t *count;
    int64_t work; /* of each job */
} gs_analysis_contexts_growing_t;

/* Memory for tests of sets of at most as many tasks as it was made for, and the state of one test.
 * The arrays are owned. */
typedef struct {
    int64_t n;                         /* tasks of the last set */
    int64_t *order;                    /* n: tasks by descending priority */
    gs_analysis_contexts_task_t *task; /* n, by rank */
    int64_t *member;                   /* n: ranks, core by core, by priority in each */
    int64_t *first;                    /* n + 1: where each group begins in `member` */
    int64_t groups;
    int64_t users;    /* tasks with GPU segments */
    int64_t *scratch; /* 3 n */
    const gs_host_tasks_t *hosts;
    const gs_analysis_contexts_options_t *options;
    /* Of the task under test. */
    int64_t terms[GS_ANALYSIS_COMMON_TERMS]; /* of the last window */
    double load;                             /* a lower bound of the growth of f per tick */
    gs_analysis_contexts_growing_t *growing; /* 2 n: parts of f that grow without a limit */
    int64_t growing_count;
    bool capped;     /* `cap` bounds the jobs of more urgent tasks */
    bool crosses;    /* GCAPS, busy: other cores delay it */
    int64_t carried; /* GCAPS, busy: rest of a switch at the start of the window */
} gs_analysis_contexts_test_t;

int gs_analysis_contexts_test_init(gs_analysis_contexts_test_t *self, gs_context_t *ctx, int64_t n);
void gs_analysis_contexts_test_free(gs_analysis_contexts_test_t *self, gs_context_t *ctx);

/* Checks the set and the options that all tests have, and fills the tasks but for what the tests
 * derive: on_core, share and all below. Errors: those of gs_analysis_common_check_and_sort,
 * _check_cores and _check_sms, GS_ERR_VALUE and GS_ERR_OVERFLOW for the costs. */
int gs_analysis_contexts_test_start(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                    const gs_host_tasks_t *hosts, const int64_t *core,
                                    const gs_analysis_contexts_options_t *options);

/* Sets what a job takes of its core. */
void gs_analysis_contexts_test_on_core(gs_analysis_contexts_task_t *task, int64_t work);

/* Right-hand side of a test. */
typedef struct {
    /* Prepares task i for the assumed bounds: the counts, self->load. */
    void (*prepare)(gs_analysis_contexts_test_t *self, int64_t i);
    /* Sets self->terms for a window no shorter than the last one. */
    void (*evaluate)(gs_analysis_contexts_test_t *self, int64_t i, int64_t window);
    /* The assumed bound of task i has changed; may be NULL. */
    void (*change)(gs_analysis_contexts_test_t *self, int64_t i);
} gs_analysis_contexts_side_t;

/* Finds the bounds. JOINT: where the set is not accepted no bound is known, and `failed` is the
 * first task whose bound passed its deadline. */
int gs_analysis_contexts_test_run(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                  const gs_analysis_contexts_side_t *side,
                                  gs_analysis_common_answer_t *answer);

/* Longest ready interval of task h with `work` of its own and `blocks` ticks of others' updates:
 * the least L = work + blocks + sum over more urgent tasks k of its core of n_k on_core_k, where
 * n_k = N(L, R_k, on_core_k, T_k), or for work = 0 floor((L + R_k - on_core_k) / T_k) + 1. -1 if it
 * exceeds D - J. With `caps` the n_k are added to the caps of these tasks. */
int64_t gs_analysis_contexts_test_piece(gs_analysis_contexts_test_t *self, int64_t h, int64_t work,
                                        int64_t blocks, bool caps);

/* Says that f includes the work of all jobs of a count; at most two counts of a task. */
static inline void gs_analysis_contexts_test_grows(gs_analysis_contexts_test_t *self,
                                                   const gs_analysis_contexts_task_t *task,
                                                   int kind, int64_t work)
{
    self->load += (double)work * task->rate;
    self->growing[self->growing_count++] =
        (gs_analysis_contexts_growing_t){&task->count[kind], work};
}

/* Starts a count of the jobs of a task of which each takes at most `work`: N(w, R, work, T). */
static inline void gs_analysis_contexts_count_start(gs_analysis_contexts_task_t *task, int kind,
                                                    int64_t work)
{
    int64_t response = task->response;
    task->count[kind] =
        (gs_analysis_contexts_count_t){0, 0, work < response ? response - work : 0, task->period};
}

/* The same without carry-in, of the jobs that are released in the window: ceil((w + J) / T). */
static inline void gs_analysis_contexts_count_releases(gs_analysis_contexts_task_t *task, int kind)
{
    task->count[kind] = (gs_analysis_contexts_count_t){0, 0, task->jitter, task->period};
}

/* A count of the jobs of a more urgent task of the core, as `own` sees it in suspend mode. */
static inline void gs_analysis_contexts_count_higher(const gs_analysis_contexts_task_t *own,
                                                     gs_analysis_contexts_task_t *task, int kind)
{
    gs_analysis_contexts_count_start(task, kind, task->on_core);
    task->count[kind].shift = gs_analysis_common_jitter(own->segments, task->segments,
                                                        task->count[kind].shift, 0, task->jitter);
}

/* The jobs in a window, no shorter than the last one. */
static inline int64_t gs_analysis_contexts_count_jobs(gs_analysis_contexts_count_t *count,
                                                      int64_t window)
{
    if (window > count->until) {
        count->jobs = (window + count->shift - 1) / count->period + 1;
        count->until = count->jobs * count->period - count->shift;
    }
    return count->jobs;
}

static inline int64_t gs_analysis_contexts_count_work(gs_analysis_contexts_task_t *task, int kind,
                                                      int64_t window, int64_t work)
{
    int64_t jobs = gs_analysis_contexts_count_jobs(&task->count[kind], window);
    return gs_analysis_common_saturating_mul(jobs, work);
}

static inline int64_t gs_analysis_contexts_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b rounded up; b > 0. */
static inline int64_t gs_analysis_contexts_parts(int64_t a, int64_t b)
{
    return a == 0 ? 0 : (a - 1) / b + 1;
}

/* The rank at a place of a core. */
static inline int64_t gs_analysis_contexts_test_at(const gs_analysis_contexts_test_t *self,
                                                   int64_t group, int64_t place)
{
    return self->member[self->first[group] + place];
}

static inline int64_t gs_analysis_contexts_test_size(const gs_analysis_contexts_test_t *self,
                                                     int64_t group)
{
    return self->first[group + 1] - self->first[group];
}

/* A test for one set of tasks on cores 0..cpus-1. Refuses what gs_analysis_contexts_test_start
 * refuses, and options out of range. */
typedef int (*gs_analysis_contexts_run_t)(gs_analysis_contexts_test_t *self, gs_context_t *ctx,
                                          const gs_host_tasks_t *hosts, const int64_t *core,
                                          const gs_analysis_contexts_options_t *options,
                                          gs_analysis_common_answer_t *answer);

#endif
