/* State of a lazy search: the store, its moves, and how much more work it may do. */
#ifndef GS_PBS_LAZY_ENGINE_H
#define GS_PBS_LAZY_ENGINE_H

#include "model/schedule.h"
#include "pbs/lazy/moves.h"

/* Answers of a query. */
enum { GS_PBS_LAZY_OPEN = -1, GS_PBS_LAZY_DEAD = 0, GS_PBS_LAZY_ALIVE = 1 };

/* A state on the way of a query, and the moves of it that are still to be tried. */
typedef struct {
    int64_t instant, k, class_index;
    uint32_t batch[GS_PBS_LAZY_MOVES_WIDTH];
    int32_t count, next; /* moves found, and those already tried */
    bool fresh;          /* no moves were looked for yet */
    bool open;           /* something was left out or left open below */
} gs_pbs_lazy_state_t;

typedef struct {
    gs_pbs_lazy_state_t *states;
    int64_t length, capacity;
} gs_pbs_lazy_path_t;

typedef struct {
    gs_context_t *ctx;
    gs_pbs_lazy_store_t store;
    gs_pbs_lazy_moves_t moves;
    gs_pbs_lazy_path_t idle_path; /* of inserted_idle */
    gs_pbs_lazy_path_t path;      /* of work_conserving */
    int64_t work, work_limit; /* elementary operations; a query that reaches the limit is open */
} gs_pbs_lazy_engine_t;

/* windows, bound, outer may be NULL; they and the problem must outlive self. Free self in every
 * case. */
int gs_pbs_lazy_engine_init(gs_pbs_lazy_engine_t *self, gs_context_t *ctx,
                            const gs_pbs_problem_t *problem, const gs_pbs_windows_t *windows,
                            const gs_pbs_latest_start_t *bound, const gs_pbs_feasible_t *outer);
void gs_pbs_lazy_engine_free(gs_pbs_lazy_engine_t *self);

/* Appends a state to a path; one of the empty class before the last interval stands for the next
 * arrival. */
int gs_pbs_lazy_engine_push(gs_pbs_lazy_engine_t *self, gs_pbs_lazy_path_t *path, int64_t instant,
                            int64_t k, int64_t class_index);

#endif
