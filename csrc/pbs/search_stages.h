/* Stages of a search: what they share, and the functions that the rows of their table name.
 *
 * Each stage decides the search or leaves it open. Errors and spent budgets as usual.
 */
#ifndef GS_PBS_SEARCH_STAGES_H
#define GS_PBS_SEARCH_STAGES_H

#include "pbs/lazy/lazy.h"
#include "pbs/reductions.h"

/* A search while its stages run. */
typedef struct {
    gs_pbs_search_t *search; /* borrowed, as all that the question consists of */
    gs_context_t *ctx;
    const gs_periodic_tasks_t *tasks;
    const gs_batch_table_t *table;
    const gs_pbs_search_options_t *options;
    gs_pbs_search_function_t *run; /* of smaller problems */
    bool rated;                    /* overload in the long run was tested, or is not to be */
    gs_pbs_rates_t rates;
    gs_pbs_dead_interval_t interval;
    int64_t wcet[GS_PERIODIC_TASKS_MAX];
    gs_pbs_reductions_t reductions; /* once a round was tried */
    bool bounded;                   /* the latest starts of all classes are known */
    gs_pbs_transitions_t transitions;
    gs_pbs_latest_start_t bound;
    bool learns; /* windows and engine are those of a lazy search, for the stage that runs */
    gs_pbs_windows_t windows;
    gs_pbs_lazy_engine_t engine;
} gs_pbs_stages_t;

typedef struct {
    const char *name;
    bool (*applies)(const gs_pbs_stages_t *self);
    int (*run)(gs_pbs_stages_t *self);
    /* The proof of "not schedulable", while what the stage found is there. NULL: the stage never
     * says so, or gives the proof itself. */
    int (*certificate)(gs_pbs_stages_t *self);
} gs_pbs_stage_t;

/* Without classes: the EDF schedulers, overload in the long run (which comes first where there are
 * many jobs), time divided at the arrivals, a short depth-first search, a dead interval (hardly
 * ever found where no deadline is shorter than its period). */
bool gs_pbs_stage_has_many_jobs(const gs_pbs_stages_t *self);
bool gs_pbs_stage_is_unrated(const gs_pbs_stages_t *self);
int gs_pbs_stage_overload(gs_pbs_stages_t *self);
bool gs_pbs_stage_tries_edf(const gs_pbs_stages_t *self);
int gs_pbs_stage_edf_serial(gs_pbs_stages_t *self);
int gs_pbs_stage_edf_parallel(gs_pbs_stages_t *self);
bool gs_pbs_stage_needs_arrivals(const gs_pbs_stages_t *self);
int gs_pbs_stage_arrivals(gs_pbs_stages_t *self);
bool gs_pbs_stage_dives(const gs_pbs_stages_t *self);
int gs_pbs_stage_depth_first(gs_pbs_stages_t *self);
bool gs_pbs_stage_has_short_deadlines(const gs_pbs_stages_t *self);
int gs_pbs_stage_dead_interval(gs_pbs_stages_t *self);

/* With the classes that are reached: groups and cores, and the lazy search with more of these
 * between its rounds. */
bool gs_pbs_stage_is_reducible(const gs_pbs_stages_t *self);
int gs_pbs_stage_reductions(gs_pbs_stages_t *self);
bool gs_pbs_stage_has_many_classes(const gs_pbs_stages_t *self);
int gs_pbs_stage_lazy(gs_pbs_stages_t *self);

/* With all classes: their latest starts, a depth-first search along these, all feasible instants,
 * the lazy search within a part of them, the policy. */
bool gs_pbs_stage_looks_at_all(const gs_pbs_stages_t *self);
int gs_pbs_stage_latest_start(gs_pbs_stages_t *self);
bool gs_pbs_stage_dives_bounded(const gs_pbs_stages_t *self);
int gs_pbs_stage_depth_first_bounded(gs_pbs_stages_t *self);
bool gs_pbs_stage_is_thorough(const gs_pbs_stages_t *self);
int gs_pbs_stage_feasible(gs_pbs_stages_t *self);
bool gs_pbs_stage_is_bounded(const gs_pbs_stages_t *self);
int gs_pbs_stage_lazy_bounded(gs_pbs_stages_t *self);
bool gs_pbs_stage_wants_policy(const gs_pbs_stages_t *self);
int gs_pbs_stage_policy(gs_pbs_stages_t *self);

/* Depth-first search with a bound or within feasible instants, which may be NULL; states: limit
 * beyond one per job, 0: no limit; stage: GS_PBS_STAGE_*. */
int gs_pbs_stage_dive(gs_pbs_stages_t *self, const gs_pbs_latest_start_t *bound,
                      const gs_pbs_feasible_t *feasible, bool idling, int64_t states, int stage);

/* Opens a lazy search unless one is open; closes it, if one is. */
int gs_pbs_stage_learn(gs_pbs_stages_t *self);
void gs_pbs_stage_forget(gs_pbs_stages_t *self);

/* Proofs: the prices of an overload; a dead interval; if it is asked for, one window or the classes
 * that are reached, about which the lazy search, which may know nothing yet, searches on. The last
 * leaves the proof empty where it finds none. */
int gs_pbs_certificate_of_prices(gs_pbs_stages_t *self);
int gs_pbs_certificate_of_interval(gs_pbs_stages_t *self);
int gs_pbs_certificate_of_classes(gs_pbs_stages_t *self);

#endif
