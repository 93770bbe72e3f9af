/* First scenarios of the search for a target task, and changes of scenarios. */
#ifndef GS_SIMULATE_CHALLENGE_CHALLENGE_MOVES_H
#define GS_SIMULATE_CHALLENGE_CHALLENGE_MOVES_H

#include "core/rng.h"
#include "simulate/challenge/challenge_scenario.h"

/* Patterns of first scenarios. */
enum {
    GS_SIMULATE_CHALLENGE_SYNCHRONOUS, /* all tasks with the target */
    GS_SIMULATE_CHALLENGE_REQUESTS,    /* requests of the others just before one of the target */
    GS_SIMULATE_CHALLENGE_CARRY_IN,    /* jobs of the others that end late, the next ones early */
    GS_SIMULATE_CHALLENGE_OFFSETS,     /* random */
    GS_SIMULATE_CHALLENGE_GAPS,        /* random, also between the jobs */
    GS_SIMULATE_CHALLENGE_MIXED,       /* one of the above for each task */
    GS_SIMULATE_CHALLENGE_PATTERNS
};

/* Writes a first scenario in which a job of the target is released at `instant`. worst: largest
 * response seen so far of each task. */
void gs_simulate_challenge_start(gs_simulate_challenge_scenario_t *scenario,
                                 const gs_simulate_challenge_space_t *space, gs_rng_t *rng,
                                 int pattern, int64_t target, int64_t instant,
                                 const int64_t *worst);

/* Some parts take less than their worst case. */
void gs_simulate_challenge_shorten(gs_simulate_challenge_scenario_t *scenario,
                                   const gs_simulate_challenge_space_t *space, gs_rng_t *rng);

/* Changes a scenario at random around the job of the target with the largest response in its last
 * simulation. */
void gs_simulate_challenge_change(gs_simulate_challenge_scenario_t *scenario,
                                  const gs_simulate_challenge_space_t *space, gs_rng_t *rng,
                                  int64_t target, const gs_simulate_host_t *last);

#endif
