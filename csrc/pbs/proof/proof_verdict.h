/* Outcome of the check of a proof: it holds, or what is wrong and where. */
#ifndef GS_PBS_PROOF_PROOF_VERDICT_H
#define GS_PBS_PROOF_PROOF_VERDICT_H

#include <stdint.h>

/* Parts of a proof that do not hold. */
enum {
    GS_PBS_PROOF_HOLDS,
    GS_PBS_PROOF_TASKS,    /* tasks that are none, or not in rising order; row: their position */
    GS_PBS_PROOF_RANGE,    /* prices, scale or window of GS_NEVER or more in size; row: window */
    GS_PBS_PROOF_SCALE,    /* scale below 1; row: window */
    GS_PBS_PROOF_BATCH,    /* a batch is worth more than its completion time; row: window, batch */
    GS_PBS_PROOF_LOAD,     /* jobs that are not worth more than the time there is */
    GS_PBS_PROOF_QUESTION, /* jobs may end after the hyperperiod: long-run load says nothing about
                              one hyperperiod, and one hyperperiod nothing about all jobs */
    GS_PBS_PROOF_JOB,      /* no job of a task falls into the interval; row: task */
    GS_PBS_PROOF_COVER,    /* another least time of the tasks' batches; instant: that time */
    GS_PBS_PROOF_ROOM,     /* an interval as long as that time */
    GS_PBS_PROOF_CLASS,    /* no class of states has this start and these jobs; row: entry */
    GS_PBS_PROOF_TWICE,    /* a class that an earlier entry has; row: entry */
    GS_PBS_PROOF_SPAN,     /* spans outside the interval, or not in rising order; row: entry,
                              instant: the first of the span */
    GS_PBS_PROOF_FIRST,    /* no entry says that the first instant is dead */
    GS_PBS_PROOF_FINAL,    /* nothing is left to run; row: entry */
    GS_PBS_PROOF_WAIT,     /* waiting leads to a state that is not dead; row: entry, instant */
    GS_PBS_PROOF_MOVE, /* a batch leads to a state that is not dead; row: entry, batch, instant */
    GS_PBS_PROOF_FAULTS
};

typedef struct {
    int fault;       /* GS_PBS_PROOF_* */
    int64_t row;     /* entry, window or task, -1 where there is none */
    int64_t batch;   /* bit mask, 0 where there is none */
    int64_t instant; /* ticks, 0 where there is none */
} gs_pbs_proof_verdict_t;

#endif
