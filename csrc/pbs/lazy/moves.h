/* Moves of a class: deadlines of its batches, their successors, and the best of them by rank.
 *
 * A batch of a state that starts in I_k must end by the deadlines of its own jobs and before those
 * of all others, pending or next. Of all pending jobs only those with the earliest deadline count:
 * a batch may end at that deadline if it holds all of them, else before it.
 */
#ifndef GS_PBS_LAZY_MOVES_H
#define GS_PBS_LAZY_MOVES_H

#include "pbs/lazy/class_store.h"

enum {
    GS_PBS_LAZY_MOVES_WIDTH = 8, /* most moves that one look at a state keeps */
    GS_PBS_LAZY_MOVES_WAIT = 0   /* the move that waits for the next arrival */
};

/* Orders of the moves of a state. */
enum {
    GS_PBS_LAZY_MOVES_SAVES = 0,        /* most urgent job, then most time saved over one by one */
    GS_PBS_LAZY_MOVES_URGENT_WASTE = 1, /* most urgent job, then least waste by the prices */
    GS_PBS_LAZY_MOVES_WASTE = 2,        /* least waste */
    GS_PBS_LAZY_MOVES_ORDERS = 3
};

/* Sums over the tasks of a batch, each of two table look-ups. */
typedef struct {
    gs_pbs_lazy_store_t *store;
    const gs_pbs_problem_t *problem;
    int32_t low;    /* tasks of the first part */
    double *serial; /* completion times one by one: first part, then second part */
    int64_t *step;  /* differences of classes; NULL where that is the mask itself */
    int64_t *worth; /* by the prices of the last window; NULL without prices */
} gs_pbs_lazy_moves_t;

/* A class whose moves are looked at. */
typedef struct {
    int64_t k, class_index;
    int64_t first, last; /* of the interval */
    uint32_t pending;
    uint32_t urgent; /* those with the earliest deadline */
    int64_t due;     /* that deadline; GS_NEVER without pending jobs */
    int64_t absent;  /* the latest end that the next jobs of the other tasks allow */
    int64_t demand;  /* worth of the jobs left, by the prices of the last window */
} gs_pbs_lazy_class_t;

typedef struct {
    uint32_t batch[GS_PBS_LAZY_MOVES_WIDTH];
    double rank[GS_PBS_LAZY_MOVES_WIDTH];
    int32_t count;
    bool left_out; /* there are more */
    bool alive;    /* a successor is known to be alive with inserted idle time (batch[0]) */
} gs_pbs_lazy_list_t;

int gs_pbs_lazy_moves_init(gs_pbs_lazy_moves_t *self, gs_context_t *ctx,
                           gs_pbs_lazy_store_t *store);
void gs_pbs_lazy_moves_free(gs_pbs_lazy_moves_t *self, gs_context_t *ctx);

void gs_pbs_lazy_moves_class(const gs_pbs_lazy_moves_t *self, int64_t k, int64_t class_index,
                             gs_pbs_lazy_class_t *facts);

/* The difference of classes that a batch makes. */
int64_t gs_pbs_lazy_moves_step(const gs_pbs_lazy_moves_t *self, uint32_t batch);

/* The latest end of a batch: deadlines, and the time that the prices leave. */
int64_t gs_pbs_lazy_moves_limit(const gs_pbs_lazy_moves_t *self, const gs_pbs_lazy_class_t *facts,
                                uint32_t batch);

/* Whether waiting for the next arrival is a move with inserted idle time. */
static inline bool gs_pbs_lazy_moves_waits(const gs_pbs_lazy_moves_t *self,
                                           const gs_pbs_lazy_class_t *facts)
{
    return facts->k + 1 < self->problem->intervals &&
           self->problem->start[facts->k + 1] < facts->due;
}

/* The state after a move: interval and class; returns the instant. */
int64_t gs_pbs_lazy_moves_take(const gs_pbs_lazy_moves_t *self, int64_t instant, int64_t k,
                               int64_t class_index, uint32_t batch, int64_t *to_k,
                               int64_t *to_class);

/* The best moves of a state whose successors are not known to be dead. spans: without inserted idle
 * time; else waiting is a move, and the list ends at once with a successor that is alive. Polls,
 * and adds the work to *work. */
int gs_pbs_lazy_moves_list(gs_pbs_lazy_moves_t *self, gs_context_t *ctx,
                           const gs_pbs_lazy_class_t *facts, int64_t instant, bool spans, int order,
                           gs_pbs_lazy_list_t *list, int64_t *work);

#endif
