/* Explorer of the integer schedules of a small set: instants, execution times, visited states. */
#ifndef GS_SIMULATE_CHALLENGE_CHALLENGE_EXPLORER_H
#define GS_SIMULATE_CHALLENGE_CHALLENGE_EXPLORER_H

#include "core/hash_index.h"
#include "simulate/challenge/challenge_scenario.h"
#include "simulate/challenge/challenge_state.h"

/* Most execution times chosen at one instant: a thread begins a part or two. */
enum { GS_SIMULATE_CHALLENGE_CHOICES = 64 };

/* A part that begins at an instant, with its time. */
typedef struct {
    int32_t thread;
    int32_t part;
    int64_t most;
    int64_t ways; /* numbers of ticks from the least time to `most` */
    int64_t less; /* below `most` */
} gs_simulate_challenge_choice_t;

/* The state of an exploration. */
typedef struct {
    gs_context_t *ctx;
    gs_simulate_challenge_t *result;
    gs_simulate_challenge_space_t space;
    gs_simulate_host_t host;
    size_t bytes;    /* of a state */
    uint8_t *state;  /* visited ones, in order */
    int64_t room;    /* of both arrays */
    int64_t *parent; /* number of the state before */
    int64_t parent_room;
    int64_t count;
    gs_hash_index_t index;
    int64_t wait[GS_SIMULATE_CHALLENGE_TASKS];
    int32_t *entry;    /* per task: where its parts stand in a row of times */
    uint32_t released; /* bits of threads */
    gs_simulate_challenge_choice_t choice[GS_SIMULATE_CHALLENGE_CHOICES];
    int32_t chosen; /* of this instant */
    int32_t fixed;  /* choices that this pass repeats */
} gs_simulate_challenge_explorer_t;

/* Called after each instant that follows a state; other results than GO_ON end the enumeration. */
enum { GS_SIMULATE_CHALLENGE_GO_ON = 0, GS_SIMULATE_CHALLENGE_END = 100 };
typedef int gs_simulate_challenge_after_t(gs_simulate_challenge_explorer_t *self, void *of);

/* The entries of a row of times for the parts of a thread: segments without any part are left
 * out. */
void gs_simulate_challenge_map_parts(const gs_simulate_challenge_space_t *space, int64_t i,
                                     int32_t *entry);

/* The CPU segment after one whose GPU segment is left out, -1: none. */
int64_t gs_simulate_challenge_joined(const gs_simulate_challenge_space_t *space, int64_t i,
                                     int64_t at);

/* The least time of a part: a tick for each CPU segment in it. */
int64_t gs_simulate_challenge_least_time(const gs_simulate_challenge_explorer_t *self, int64_t i,
                                         int32_t part);

/* The execution time of a part that begins; for gs_simulate_host_state_t. */
int64_t gs_simulate_challenge_choose(void *of, int32_t r, int32_t part, int64_t most);

/* Whether a job has reached its deadline without finishing. */
bool gs_simulate_challenge_is_late(const gs_simulate_challenge_explorer_t *self);

/* Passes the instant after state k in all ways: every subset of the possible releases, all
 * execution times of the parts that begin. */
int gs_simulate_challenge_enumerate(gs_simulate_challenge_explorer_t *self, int64_t k,
                                    gs_simulate_challenge_after_t *after, void *of);

/* Writes the shortest path to the late job that follows state `end` as the counterexample. */
int gs_simulate_challenge_trace_back(gs_simulate_challenge_explorer_t *self, int64_t end);

/* A visited state. */
static inline const uint8_t *
gs_simulate_challenge_state_at(const gs_simulate_challenge_explorer_t *self, int64_t k)
{
    return self->state + (size_t)k * self->bytes;
}

#endif
