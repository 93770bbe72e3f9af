/* Paper 004's study: how many random sets does each method schedule?
 *
 * Sets of generate/elliott_sets.h are drawn, tested and counted one after the other; nothing is
 * kept of them. Verdicts are exact: utilizations are summed up in floating point, and again in
 * whole numbers where a sum comes near its bound. The count of sets per bin and the histogram of
 * speed-ups are as good as floating point.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_STUDY_H
#define GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_STUDY_H

#include "generate/elliott_sets.h"

/* What is counted, in this order; behind them the CPUs alone for each speed-up. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SRM = 0, /* with whichever lock passes */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_CONTAINER = 1,
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_FMLP = 2,   /* SRM with this lock */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EITHER = 3, /* SRM or Container */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS = 4
};

/* The histogram of the largest speed-up up to which the CPUs alone do: eighths, and beyond 32. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS = 8 * 32 + 1,
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS = 16
};

typedef struct {
    bool paper;        /* OMLP with 2 (m - 1) blocking requests, Eq. 2 */
    int64_t speed_ups; /* how many */
    int64_t speed_up[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS]; /* c, 1 .. 1000000 */
    int64_t bins;                                               /* of equal width, over (0, m] */
} gs_analysis_global_edf_elliott_tests_t;

/* Counters of the caller's, which are added to. */
typedef struct {
    int64_t *sets;    /* bins entries: sets by the sum of E / p */
    int64_t *without; /* bins: those of them without a GPU-using task */
    int64_t *passed;  /* (GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + speed_ups) rows of bins */
    int64_t *eighths; /* GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS */
    int64_t *fates;   /* GS_GENERATE_ELLIOTT_FATES: of all draws */
    int64_t *tasks;   /* one: tasks of the counted sets */
} gs_analysis_global_edf_elliott_counts_t;

/* Draws and tests the sets first .. first + count - 1 of a key. Refuses what
 * gs_generate_elliott_init refuses, no bins, and speed-ups outside 1 .. 1000000 or more than fit;
 * errors of gs_generate_elliott_draw. */
int gs_analysis_global_edf_elliott_study(gs_context_t *ctx, const gs_generate_elliott_t *spec,
                                         const uint64_t key[4], uint64_t first, uint64_t count,
                                         const gs_analysis_global_edf_elliott_tests_t *tests,
                                         const gs_analysis_global_edf_elliott_counts_t *counts);

#endif
