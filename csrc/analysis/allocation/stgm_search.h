/* State of the exhaustive search for an STGM allocation of one set, shared by the parts of
 * gs_analysis_allocation_stgm_exhaustive; internal to csrc/analysis/allocation.
 *
 *   stgm_search_cores.c  whether cores exist for given kernel times and waits
 *   stgm_exhaustive.c    pairs of tasks that share SMs, divisions of the SMs, and the answer
 *
 * Users, the tasks with GPU segments, are numbered from 0 by index. Sets of users are bits of an
 * unsigned. Sets of tasks are bits, too: bit k is the task with the k-th highest priority.
 */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_SEARCH_H
#define GS_ANALYSIS_ALLOCATION_STGM_SEARCH_H

#include "analysis/partitioned/stgm.h"

enum {
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS = 16, /* the most tasks */
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS = 6,  /* the most tasks with GPU segments */
    GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES = 9,    /* most maximal cliques of six users: 3^(6/3) */
    GS_ANALYSIS_ALLOCATION_SEARCH_SETS = 64,      /* sets of users */
    GS_ANALYSIS_ALLOCATION_SEARCH_POINTS = 1024,
    GS_ANALYSIS_ALLOCATION_SEARCH_REFUTED = 128,
    GS_ANALYSIS_ALLOCATION_SEARCH_ACCEPTED = 64
};

/* All that the tests of cores depend on besides the set and, in the sound busy test, the cores of
 * the users. By user:
 * - suspend: {G + B^e, 0, 0}, as a response time depends on their sum only;
 * - busy: {G, the longest GPU segment, the longest chain of kernels waited for}.
 * Every test is monotone in all of them: with a point that is at most another one, no response time
 * is longer on the same cores. */
typedef struct {
    int64_t value[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS][3];
} gs_analysis_allocation_stgm_point_t;

/* A point for which cores exist: the tasks of every core. */
typedef struct {
    gs_analysis_allocation_stgm_point_t point;
    unsigned part[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS];
} gs_analysis_allocation_stgm_cover_t;

typedef struct gs_analysis_allocation_stgm_search {
    gs_context_t *ctx;
    const gs_host_tasks_t *hosts;
    gs_analysis_partitioned_stgm_t *test;
    int64_t n;
    int64_t cpus; /* usable cores: at most the number of tasks */
    int64_t sms;
    bool busy;
    int paper;

    int64_t users;
    int64_t user[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS];      /* its task */
    unsigned user_bit[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS]; /* its task, as a set */
    gs_analysis_allocation_stgm_point_t best; /* all SMs for every user, and no kernel waited for */
    double share[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS]; /* by bit: a lower bound of the
                                                          utilization on the core */

    /* Cores of the users, in the sound busy test only. */
    bool fixed;
    unsigned seed[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS]; /* by core: the users there, as tasks */
    unsigned mates[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS]; /* by user: the users of its core;
                                                            unless fixed only itself */
    int64_t
        copies[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS]; /* by user: longest copies of other cores
                                                          */

    /* stgm_search_cores.c. The tables have 2^n entries and belong to the exhaustive search. */
    uint16_t *passed; /* by part: number of a point with which it passed last; 0: none */
    uint16_t *failed;
    uint16_t *uncovered; /* by rest of tasks: bits of the numbers of cores that cannot take it with
                            the current point */
    gs_analysis_allocation_stgm_point_t
        point[GS_ANALYSIS_ALLOCATION_SEARCH_POINTS]; /* those of the tables, from 1 on */
    int64_t points;
    unsigned part[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS]; /* by core: its tasks */
    gs_analysis_allocation_stgm_point_t refuted[GS_ANALYSIS_ALLOCATION_SEARCH_REFUTED];
    int64_t refuted_count;
    gs_analysis_allocation_stgm_cover_t accepted[GS_ANALYSIS_ALLOCATION_SEARCH_ACCEPTED];
    int64_t accepted_count;

    /* stgm_exhaustive.c */
    int64_t least[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS]; /* SMs without which no cores exist */
    unsigned neighbours[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS]; /* users that share an SM */
    unsigned apart[GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS];      /* users that must share none */
    unsigned needed; /* all users and the pairs that share, see bits_of */
    int64_t cliques;
    unsigned clique[GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES]; /* the users of an SM */
    unsigned has[GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES];    /* bits_of each clique */
    unsigned left[GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES];   /* bits_of all cliques after it */
    unsigned later[GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES];  /* users of these */
    int64_t given[GS_ANALYSIS_ALLOCATION_SEARCH_CLIQUES];   /* number of SMs of each */
    unsigned ends[GS_ANALYSIS_ALLOCATION_SEARCH_SETS]; /* by set: users at which a path through all
                                                          of it can end */
    int64_t divisions;                                 /* complete ones that were tried */
    bool found; /* then the shares of the cliques and the parts are an allocation */
} gs_analysis_allocation_stgm_search_t;

/* Forgets all points: for a new set, or new cores of the users. */
void gs_analysis_allocation_stgm_search_forget(gs_analysis_allocation_stgm_search_t *self);

/* Whether cores exist with that point; then self->part has them. */
int gs_analysis_allocation_stgm_search_cores(gs_analysis_allocation_stgm_search_t *self,
                                             const gs_analysis_allocation_stgm_point_t *point,
                                             bool *exist);

#endif
