/* States of the host simulator between two ticks as strings of bytes, relative to the instant.
 *
 * A state is taken after an instant, and restored at the instant GS_SIMULATE_CHALLENGE_NOW, so that
 * time does not grow. It has what later instants depend on, and nothing else: two runs in equal
 * states have equal futures for equal releases and execution times. Deadlines are at most the
 * periods and no job is late yet, so each task has at most one job.
 */
#ifndef GS_SIMULATE_CHALLENGE_CHALLENGE_STATE_H
#define GS_SIMULATE_CHALLENGE_CHALLENGE_STATE_H

#include "simulate/challenge/challenge.h"
#include "simulate/host/host_parts.h"

/* The instant at which states are restored, later than every age. */
#define GS_SIMULATE_CHALLENGE_NOW 1000

/* Most bytes of a state. */
#define GS_SIMULATE_CHALLENGE_STATE_BYTES                                                          \
    (8 + GS_SIMULATE_CHALLENGE_TASKS + 9 * (GS_SIMULATE_CHALLENGE_TASKS + 1))

/* Bytes of a state of n tasks. */
size_t gs_simulate_challenge_state_bytes(int64_t n);

/* Writes the state after the instant self->now. wait: per thread, the time to its next possible
 * release. */
void gs_simulate_challenge_state_take(const gs_simulate_host_state_t *self, const int64_t *wait,
                                      uint8_t *state);

/* Restores a state; fails without memory. */
int gs_simulate_challenge_state_restore(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                        const uint8_t *state, int64_t *wait);

#endif
