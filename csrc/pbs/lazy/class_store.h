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
#ifndef GS_PBS_LAZY_CLASS_STORE_H
#define GS_PBS_LAZY_CLASS_STORE_H

#include "core/hash_index.h"
#include "pbs/feasible.h"
#include "pbs/windows.h"

typedef struct {
    int64_t k;
    int64_t class_index;
    int64_t low;    /* alive up to here with inserted idle time; before the interval: unknown */
    int64_t latest; /* dead after it, also with inserted idle time */
    gs_pbs_span_t *dead; /* without inserted idle time: sorted, disjoint, not adjacent */
    int32_t count, capacity;
    int64_t swept; /* most spans of the last sweep; 0: none yet */
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

/* The first known dead instant at or after one of the interval; last + 1 if there is none. */
int64_t gs_pbs_lazy_view_next_dead(const gs_pbs_lazy_view_t *view, int64_t instant);

static inline bool gs_pbs_lazy_view_is_dead(const gs_pbs_lazy_view_t *view, int64_t instant)
{
    return instant > view->latest || gs_pbs_lazy_view_dead_until(view, instant) >= instant;
}

#endif
