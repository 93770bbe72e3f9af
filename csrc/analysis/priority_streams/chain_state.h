/* State of the theorems of priority_streams.h for one set; internal to the files of this folder.
 *
 * Symbols: m threads, C the work of a kernel or job, T a period, p a level, R a response-time
 * bound, beta of a level the fewest busy threads while a kernel of that level or a more urgent one
 * waits.
 */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_STATE_H
#define GS_ANALYSIS_PRIORITY_STREAMS_CHAIN_STATE_H

#include "analysis/priority_streams/chain_saturation.h"
#include "core/int128.h"

/* A time of numerator / denominator ticks, below 2^60, the denominator below 2^31; denominator 0:
 * none. */
typedef struct {
    gs_int128_t numerator;
    int64_t denominator;
} gs_analysis_priority_streams_time_t;

typedef struct {
    const gs_kernel_chains_t *chains;
    int64_t threads; /* of all SMs */
    int64_t sms;
    const gs_analysis_priority_streams_partitions_t *partitions; /* shared or limits; NULL: none */
    int64_t levels;
    int64_t *rank; /* owned, per task: its level, from 0 for the most urgent one */
    int64_t *beta; /* owned, per level; 0: no kernel of it ever waits, or queues are shared */
    /* Owned. Shared queues: beta per level and partition. Limits: per partition, the threads that
     * are busy while a kernel of a level waits for SMs of its partition, as of the last call of
     * saturate. */
    int64_t *part_beta;
    int64_t *work;    /* owned, per task: of a job */
    int64_t *largest; /* owned, per kernel: the works of the kernels of its task, descending */
    int64_t *height;  /* owned, per task: the most threads that it occupies at once */
    gs_analysis_priority_streams_time_t *response; /* owned, per task: the least bound so far */
    int64_t improvements;                          /* bounds recorded so far */
    gs_analysis_priority_streams_bound_t *out;     /* the caller's */
    gs_analysis_priority_streams_saturation_t saturation;
    bool *heads, *busy; /* owned, scratch of the saturation, per task */
} gs_analysis_priority_streams_t;

/* Terms of a bound; see gs_analysis_priority_streams_bound_t. */
typedef struct {
    gs_analysis_priority_streams_time_t response;
    gs_analysis_priority_streams_time_t waiting;
    gs_int128_t demand;
    gs_analysis_priority_streams_bound_t terms;
} gs_analysis_priority_streams_found_t;

/* Tasks that a theorem treats in a special way, flags per task. */
typedef struct {
    const bool *fluid; /* more urgent ones, by the threads that they occupy at most */
    const bool *lower; /* less urgent ones, by the work of their jobs */
    int64_t height;    /* threads of the fluid ones */
    int64_t
        saturation; /* beta with blocks of the levels up to the task's and of `lower`; 0: none */
} gs_analysis_priority_streams_roles_t;

static inline bool gs_analysis_priority_streams_is(const gs_analysis_priority_streams_t *self,
                                                   int64_t kind)
{
    return self->partitions != NULL && self->partitions->kind == kind;
}

/* The partition of a task; 0 without partitions. */
static inline int64_t gs_analysis_priority_streams_part(const gs_analysis_priority_streams_t *self,
                                                        int64_t i)
{
    return self->partitions == NULL ? 0 : self->partitions->of[i];
}

/* The most SMs that hold blocks of a task at once. */
static inline int64_t gs_analysis_priority_streams_sms(const gs_analysis_priority_streams_t *self,
                                                       int64_t i)
{
    return self->partitions == NULL ? self->sms : self->partitions->sms[self->partitions->of[i]];
}

/* The most threads that blocks of kernel j of task i hold at once: those of its blocks for which
 * the SMs have room. */
static inline int64_t gs_analysis_priority_streams_width(const gs_analysis_priority_streams_t *self,
                                                         int64_t i, int64_t j)
{
    const gs_kernel_chains_t *c = self->chains;
    int64_t sms = gs_analysis_priority_streams_sms(self, i);
    int64_t blocks = sms * (self->threads / self->sms / c->threads[j]);
    return (c->blocks[j] < blocks ? c->blocks[j] : blocks) * c->threads[j];
}

static inline gs_analysis_priority_streams_time_t
gs_analysis_priority_streams_ticks(gs_int128_t ticks)
{
    return (gs_analysis_priority_streams_time_t){ticks, 1};
}

static inline bool gs_analysis_priority_streams_is_less(gs_analysis_priority_streams_time_t a,
                                                        gs_analysis_priority_streams_time_t b)
{
    return a.numerator * b.denominator < b.numerator * a.denominator;
}

/* Jobs released in a window of length a + b + ticks, open at one end: its length over the period,
 * rounded up. */
static inline gs_int128_t gs_analysis_priority_streams_jobs(gs_analysis_priority_streams_time_t a,
                                                            gs_analysis_priority_streams_time_t b,
                                                            gs_int128_t ticks, int64_t period)
{
    gs_int128_t whole = (gs_int128_t)a.denominator * b.denominator;
    gs_int128_t length = a.numerator * b.denominator + b.numerator * a.denominator + ticks * whole;
    return gs_int128_ceil_div(length, whole * period);
}

/* chain_state.c */

/* Fills in what follows from the set; chains, threads, sms, partitions and out are given, the rest
 * is zero. `threads`: of one SM. Free in every case. Errors: those of
 * gs_analysis_priority_streams_saturation_init, GS_ERR_MEMORY. */
int gs_analysis_priority_streams_prepare(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                         int64_t threads,
                                         const gs_analysis_priority_streams_device_t *device,
                                         bool overlap);
void gs_analysis_priority_streams_free(gs_analysis_priority_streams_t *self, gs_context_t *ctx);

/* Records a bound of task k with its terms if it is the least so far; whether it is. */
bool gs_analysis_priority_streams_record(gs_analysis_priority_streams_t *self, int64_t k,
                                         const gs_analysis_priority_streams_found_t *found);

/* The saturation levels of a task level, over all SMs; lower: of less urgent tasks, blocks of these
 * alone run (NULL: of all). Fills in part_beta for limits. */
int gs_analysis_priority_streams_saturate(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                          int64_t level, const bool *lower, int64_t *beta);

/* The saturation levels of all task levels: beta, and with shared queues part_beta. */
int gs_analysis_priority_streams_saturate_all(gs_analysis_priority_streams_t *self,
                                              gs_context_t *ctx);

/* Utilizations in units of 1 / scale, rounded up where the scale is no common multiple of the
 * periods. */
int64_t gs_analysis_priority_streams_scale(const gs_analysis_priority_streams_t *self);
gs_int128_t gs_analysis_priority_streams_utilization(const gs_analysis_priority_streams_t *self,
                                                     int64_t i, int64_t scale);

/* whole + numerator / denominator ticks, in lowest terms, or rounded up to 2^-20 ticks; false where
 * it is not below 2^60. */
bool gs_analysis_priority_streams_make_time(int64_t whole, gs_int128_t numerator,
                                            gs_int128_t denominator,
                                            gs_analysis_priority_streams_time_t *made);

/* chain_waiting.c */

/* Residue: threads that blocks of less urgent tasks still hold some time after a kernel joined its
 * queue. Up to age `age` (from that of the step before) they hold at most `held`. */
typedef struct {
    int64_t age;
    int64_t held;
} gs_analysis_priority_streams_step_t;

typedef struct {
    int64_t block_time;
    int64_t threads; /* of a block */
    int64_t width;   /* of all blocks that run at once */
    int64_t task;
} gs_analysis_priority_streams_lower_kernel_t;

/* Steps for the kernels that join under one kap, computed once each. */
typedef struct {
    int64_t kap;
    int64_t begin, count;
} gs_analysis_priority_streams_residue_of_t;

typedef struct {
    int64_t tasks;
    gs_analysis_priority_streams_lower_kernel_t *kernel; /* owned, the longest block first */
    int64_t kernels;
    int64_t *held; /* owned, scratch: per task */
    gs_analysis_priority_streams_step_t *step;
    gs_analysis_priority_streams_residue_of_t *known;
    int64_t steps, step_room, known_count, known_room;
} gs_analysis_priority_streams_residue_t;

/* Collects the kernels of levels behind `level`, but for the tasks with a flag in `without`; part:
 * of this partition alone, -1: of all. Free in every case. */
int gs_analysis_priority_streams_residue_init(gs_analysis_priority_streams_residue_t *self,
                                              gs_context_t *ctx,
                                              const gs_analysis_priority_streams_t *state,
                                              int64_t level, const bool *without, int64_t part);
void gs_analysis_priority_streams_residue_free(gs_analysis_priority_streams_residue_t *self,
                                               gs_context_t *ctx);

/* The steps where lower blocks hold at most kap threads in all and none is wider than that; *step
 * is valid until the next call. */
int gs_analysis_priority_streams_residue_steps(gs_analysis_priority_streams_residue_t *self,
                                               gs_context_t *ctx, int64_t kap,
                                               const gs_analysis_priority_streams_step_t **step,
                                               int64_t *steps);

/* The most threads that lower blocks may hold when kernel j of a task joins its queue; with shared
 * queues, on the SMs of the task's partition. first: it is the first one of a run of jobs. */
int64_t gs_analysis_priority_streams_kap(const gs_analysis_priority_streams_t *self, int64_t k,
                                         int64_t j, bool first);

/* Time that the kernels of a run may wait at one rate. */
typedef struct {
    int64_t rate;
    gs_int128_t length;
    gs_int128_t length_so_far, work_so_far; /* up to the end of this phase */
} gs_analysis_priority_streams_phase_t;

/* Partition with a limit for whose SMs kernels wait at a lower rate than for all SMs. */
typedef struct {
    int64_t part;
    int64_t rate;  /* of counted work, at least */
    int64_t width; /* threads that its own blocks hold at least, while a kernel waits for its SMs */
} gs_analysis_priority_streams_limited_t;

/* The longest time that the kernels of a run of task k may wait for the work that is counted. */
typedef struct {
    gs_analysis_priority_streams_t *state;
    gs_context_t *ctx;
    const gs_analysis_priority_streams_roles_t *roles;
    int64_t k;
    bool waits;          /* false: no kernel ever does */
    int64_t parts;       /* partitions; 1 without */
    gs_int128_t *demand; /* owned, per partition: thread-ticks of counted work */
    gs_analysis_priority_streams_residue_t
        *residue; /* owned: per partition, if queues are shared */
    int64_t residues;
    /* One pool of SMs: phases before the residue has ended, by rising rate. */
    gs_analysis_priority_streams_phase_t *phase;  /* owned */
    gs_analysis_priority_streams_phase_t *merged; /* owned, scratch */
    int64_t phases, room, merged_room;
    int64_t last_rate; /* once no residue is left; 0: then no kernel waits */
    gs_analysis_priority_streams_limited_t *limited; /* owned, by rising rate */
    int64_t limits;
    /* Shared queues. */
    gs_int128_t *lost; /* owned, per partition: thread-ticks of residue */
    int64_t *share;    /* owned, per partition: unit / beta, rounded up; 0: none waits for it */
    int64_t unit;
    int64_t left; /* unit, less the shares of the threads of fluid tasks */
} gs_analysis_priority_streams_waiting_t;

/* Free in every case. */
int gs_analysis_priority_streams_waiting_init(gs_analysis_priority_streams_waiting_t *self,
                                              gs_context_t *ctx,
                                              gs_analysis_priority_streams_t *state, int64_t k,
                                              const gs_analysis_priority_streams_roles_t *roles);
void gs_analysis_priority_streams_waiting_free(gs_analysis_priority_streams_waiting_t *self);

/* Adds kernel j of the task to the run. */
int gs_analysis_priority_streams_waiting_add(gs_analysis_priority_streams_waiting_t *self,
                                             int64_t j, bool first);

/* The longest waiting in which no more than `demand` is done; 2^60 ticks where it is longer. */
gs_analysis_priority_streams_time_t
gs_analysis_priority_streams_waiting_longest(const gs_analysis_priority_streams_waiting_t *self);

/* chain_endless.c */

/* Whether a run that has not ended before that number of jobs, at least 2, never does; false where
 * this is not found out. */
int gs_analysis_priority_streams_is_endless(const gs_analysis_priority_streams_waiting_t *run,
                                            int64_t jobs, bool *endless);

/* chain_theorem_m.c, chain_theorem_a.c */

/* Theorem M for task k; found->response.denominator is 0 where it gives no bound. */
int gs_analysis_priority_streams_theorem_m(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                           int64_t k,
                                           const gs_analysis_priority_streams_roles_t *roles,
                                           gs_analysis_priority_streams_found_t *found);

/* Theorem A for the tasks of a level without a bound, where all more urgent ones have one;
 * *changed: whether a task got a bound. */
int gs_analysis_priority_streams_theorem_a(gs_analysis_priority_streams_t *self, gs_context_t *ctx,
                                           int64_t level, bool *changed);

/* Theorem O for all tasks: jobs are single kernels, which may overlap. */
void gs_analysis_priority_streams_theorem_o(gs_analysis_priority_streams_t *self);

#endif
