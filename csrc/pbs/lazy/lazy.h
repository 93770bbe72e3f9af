/* Lazy search: one that learns, only for the classes that it reaches, from which instants on they
 * are dead. */
#ifndef GS_PBS_LAZY_LAZY_H
#define GS_PBS_LAZY_LAZY_H

#include "core/hash_index.h"
#include "model/schedule.h"
#include "pbs/feasible.h"
#include "pbs/latest_start.h"
#include "pbs/prices.h"
#include "pbs/refutation.h"

/* Store of the classes met so far: until when they are alive, from when and where dead.
 *
 * An instant of a class is *alive* if some continuation meets all deadlines, else *dead*. With
 * inserted idle time an earlier instant is never worse, so two numbers bracket the latest start.
 * Without, dead instants are kept as spans. The spans must not serve the question with idle time:
 * a class may be alive at an instant of them if the GPU may wait.
 *
 * Known beforehand may be the latest starts of all classes, and spans that hold F (an outer
 * approximation); else window prices bound a class when it is first met.
 */

typedef struct {
    int64_t k;
    int64_t class_index;
    int64_t low;    /* alive up to here with inserted idle time; before the interval: unknown */
    int64_t latest; /* dead after it, also with inserted idle time */
    gs_pbs_span_t *dead; /* without inserted idle time: sorted, disjoint, not adjacent */
    int32_t count, capacity;
} gs_pbs_lazy_entry_t;

typedef struct {
    const gs_pbs_problem_t *problem;
    const gs_pbs_windows_t *windows;    /* NULL, or prices */
    const gs_pbs_latest_start_t *bound; /* NULL, or the latest starts, exact */
    const gs_pbs_feasible_t *outer;     /* NULL, or spans outside of which all is dead */
    gs_pbs_lazy_entry_t *entries;
    int64_t count, capacity;
    gs_hash_index_t index;
} gs_pbs_lazy_store_t;

/* A class as queries see it. Valid until the store changes. */
typedef struct {
    int64_t first, last; /* of the interval */
    int64_t latest;      /* dead after it */
    bool bounded;        /* dead outside of the following spans */
    const gs_pbs_span_t *alive;
    int64_t alive_count;
    const gs_pbs_span_t *dead;
    int64_t dead_count;
} gs_pbs_lazy_view_t;

/* windows, bound, outer may be NULL; they and the problem must outlive the store. */
void gs_pbs_lazy_store_init(gs_pbs_lazy_store_t *self, const gs_pbs_problem_t *problem,
                            const gs_pbs_windows_t *windows, const gs_pbs_latest_start_t *bound,
                            const gs_pbs_feasible_t *outer);
void gs_pbs_lazy_store_free(gs_pbs_lazy_store_t *self, gs_context_t *ctx);

/* The number of the entry of a class, which is made if there is none; negative: an error or a spent
 * budget, in ctx->status. Not for the empty class. */
int64_t gs_pbs_lazy_store_entry(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t k,
                                int64_t class_index);

/* The last instant of a class at which no pending job has missed its deadline and the prices leave
 * enough time. */
int64_t gs_pbs_lazy_store_bound(const gs_pbs_lazy_store_t *self, int64_t k, int64_t class_index);

/* Adds dead instants of a class without inserted idle time. */
int gs_pbs_lazy_store_add(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t entry,
                          int64_t first, int64_t last);

/* Fills a view. spans: count the dead spans; else only what is dead with inserted idle time. */
int gs_pbs_lazy_store_view(gs_pbs_lazy_store_t *self, gs_context_t *ctx, int64_t k,
                           int64_t class_index, bool spans, gs_pbs_lazy_view_t *view);

/* The end of the known dead time from an instant of the interval on; the instant before it when it
 * is not known to be dead. */
int64_t gs_pbs_lazy_view_dead_until(const gs_pbs_lazy_view_t *view, int64_t instant);

/* The start of the known dead time up to an instant; the instant after it when it is not known to
 * be dead. */
int64_t gs_pbs_lazy_view_dead_from(const gs_pbs_lazy_view_t *view, int64_t instant);

static inline bool gs_pbs_lazy_view_is_dead(const gs_pbs_lazy_view_t *view, int64_t instant)
{
    return instant > view->latest || gs_pbs_lazy_view_dead_until(view, instant) >= instant;
}

/* Moves of a class: deadlines of its batches, their successors, and the best of them by rank.
 *
 * A batch of a state that starts in I_k must end by the deadlines of its own jobs and before those
 * of all others, pending or next. Of all pending jobs only those with the earliest deadline count:
 * a batch may end at that deadline if it holds all of them, else before it.
 */

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

/* State of a lazy search: the store, its moves, and how much more work it may do. */

/* Answers of a query. */
enum { GS_PBS_LAZY_OPEN = -1, GS_PBS_LAZY_DEAD = 0, GS_PBS_LAZY_ALIVE = 1 };

/* A state on the way of a query, and the moves of it that are still to be tried. */
typedef struct {
    int64_t instant, k, class_index;
    uint32_t batch[GS_PBS_LAZY_MOVES_WIDTH];
    int32_t count, next; /* moves found, and those already tried */
    bool fresh;          /* no moves were looked for yet */
    bool all;            /* the moves found are all that may not be dead */
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

/* Whether a state is alive if the GPU may wait while work is ready, decided on demand.
 *
 * Each class has a bracket: alive up to `low`, dead after `latest`. A query follows the moves of
 * its state until one leads below the bracket of its class; when none does, the bracket of the
 * class shrinks to the latest instant before that no known bracket excludes.
 */

/* *answer: GS_PBS_LAZY_*; open when the work limit is reached. Errors and spent budgets as usual.
 */
int gs_pbs_lazy_inserted_idle(gs_pbs_lazy_engine_t *self, int64_t instant, int64_t k,
                              int64_t class_index, int *answer);

/* The frames of a schedule with inserted idle time, after the query for the first state was
 * answered with "alive". */
int gs_pbs_lazy_inserted_idle_schedule(gs_pbs_lazy_engine_t *self, gs_schedule_t *schedule);

/* Whether a state is alive if the GPU never waits while work is ready, decided on demand.
 *
 * A query follows the moves of its state depth first. A state all of whose moves lead into known
 * dead time is dead, and so is the largest span of instants around it of which the same holds: the
 * span is recorded with its class. Every dead state is in some span, so no state is tried twice.
 */

typedef struct {
    int32_t width; /* most moves tried from a state, GS_PBS_LAZY_MOVES_WIDTH at most; 0: all */
    int order;     /* GS_PBS_LAZY_MOVES_SAVES ... */
    bool quick;    /* do not ask about inserted idle time first */
} gs_pbs_lazy_work_conserving_options_t;

/* Asks for the first state. *answer: GS_PBS_LAZY_*; open when the work limit is reached or
 * something was left out. When alive, schedule receives the frames. Errors and spent budgets as
 * usual. */
int gs_pbs_lazy_work_conserving(gs_pbs_lazy_engine_t *self,
                                const gs_pbs_lazy_work_conserving_options_t *options,
                                gs_schedule_t *schedule, int *answer);

/* Lazy search in rounds with budgets that grow fourfold: quick tries, which look at a few moves of
 * a state, and a search that looks at all. Both record what they find in the same store.
 */

typedef struct {
    bool idling;
    bool skip_tries;    /* for tests */
    int64_t first_work; /* work of the first round; 0: the default */
    int64_t most_work;  /* give up after this much work; 0: never */
} gs_pbs_lazy_rounds_options_t;

/* Asks for the first state. *answer: GS_PBS_LAZY_*; open only after most_work. When alive, schedule
 * receives the frames. Errors and spent budgets as usual. */
int gs_pbs_lazy_rounds(gs_pbs_lazy_engine_t *self, const gs_pbs_lazy_rounds_options_t *options,
                       gs_schedule_t *schedule, int *answer);

/* The proof of a negative answer: what is known to be dead and reached from the first state. */

/* Collects a proof of kind GS_PBS_REFUTATION_CLOSED from a store in which the first state is dead;
 * of kind GS_PBS_REFUTATION_NONE if something that is needed is not known to be dead. The prices of
 * self->store.windows need not be those that the search had. Errors and spent budgets as usual. */
int gs_pbs_lazy_closed_set(gs_pbs_lazy_engine_t *self, bool idling, gs_pbs_refutation_t *proof);

#endif
