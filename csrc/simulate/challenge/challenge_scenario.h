/* Scenarios of the search: releases and execution times of the jobs of each task. */
#ifndef GS_SIMULATE_CHALLENGE_CHALLENGE_SCENARIO_H
#define GS_SIMULATE_CHALLENGE_CHALLENGE_SCENARIO_H

#include "simulate/challenge/challenge.h"

typedef struct {
    int64_t *count;   /* per task: jobs */
    int64_t *release; /* of task i from slot[i] on */
    int64_t *time;    /* a row per release */
    int64_t last;     /* task whose requests are ordered last, -1: none */
    bool full;        /* all times are worst cases */
} gs_simulate_challenge_scenario_t;

/* The space of scenarios of a set, and arrays for their simulation. */
typedef struct {
    gs_simulate_host_model_t model;
    int64_t n;
    int64_t width;                   /* of a row of times */
    int64_t end;                     /* releases are before it */
    int64_t slots;                   /* of all tasks */
    int64_t *slot;                   /* n + 1 positions: room for the jobs of each task */
    int64_t *most;                   /* n rows: worst cases */
    int64_t *begin, *release, *time; /* the scenario that is simulated, without gaps */
} gs_simulate_challenge_space_t;

/* The worst case of each part of a task, a row of space->width. */
static inline const int64_t *gs_simulate_challenge_most(const gs_simulate_challenge_space_t *space,
                                                        int64_t i)
{
    return space->most + i * space->width;
}

/* Checks the model as challenge.h says and allocates room for `room` jobs in all at most; free it
 * in every case. */
int gs_simulate_challenge_space_init(gs_simulate_challenge_space_t *self, gs_context_t *ctx,
                                     const gs_simulate_host_model_t *model, int64_t room);
void gs_simulate_challenge_space_free(gs_simulate_challenge_space_t *self, gs_context_t *ctx);

/* Divides the room for releases before `end`. */
void gs_simulate_challenge_space_divide(gs_simulate_challenge_space_t *self, int64_t end);

int gs_simulate_challenge_scenario_init(gs_simulate_challenge_scenario_t *self, gs_context_t *ctx,
                                        const gs_simulate_challenge_space_t *space);
void gs_simulate_challenge_scenario_free(gs_simulate_challenge_scenario_t *self, gs_context_t *ctx);
void gs_simulate_challenge_scenario_copy(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_scenario_t *from,
                                         const gs_simulate_challenge_space_t *space);

/* Releases a task at an instant, and a period apart before and after it. */
void gs_simulate_challenge_scenario_anchor(gs_simulate_challenge_scenario_t *self,
                                           const gs_simulate_challenge_space_t *space, int64_t i,
                                           int64_t instant);

/* Moves job k of a task; the others keep their releases as far as the period allows. */
void gs_simulate_challenge_scenario_move(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_space_t *space, int64_t i,
                                         int64_t k, int64_t instant);

/* Delays the jobs of a task from k on. */
void gs_simulate_challenge_scenario_delay(gs_simulate_challenge_scenario_t *self,
                                          const gs_simulate_challenge_space_t *space, int64_t i,
                                          int64_t k, int64_t delay);

/* The last job of a task released at an instant or before, or its first one; -1 without jobs. */
int64_t gs_simulate_challenge_scenario_job(const gs_simulate_challenge_scenario_t *self,
                                           const gs_simulate_challenge_space_t *space, int64_t i,
                                           int64_t instant);

/* All parts of all jobs take their worst case. */
void gs_simulate_challenge_scenario_fill(gs_simulate_challenge_scenario_t *self,
                                         const gs_simulate_challenge_space_t *space);

/* Simulates it with a log of jobs, to be freed also after an error. */
int gs_simulate_challenge_scenario_run(const gs_simulate_challenge_scenario_t *self,
                                       gs_simulate_challenge_space_t *space, gs_context_t *ctx,
                                       gs_simulate_host_t *host);

#endif
