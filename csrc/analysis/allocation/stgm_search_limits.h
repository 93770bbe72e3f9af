/* Largest sets of the exhaustive search for an STGM allocation. */
#ifndef GS_ANALYSIS_ALLOCATION_STGM_SEARCH_LIMITS_H
#define GS_ANALYSIS_ALLOCATION_STGM_SEARCH_LIMITS_H

enum {
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_TASKS = 16, /* the most tasks */
    GS_ANALYSIS_ALLOCATION_EXHAUSTIVE_USERS = 6   /* the most tasks with GPU segments */
};

#endif
