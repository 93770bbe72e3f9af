/* Study of [RTNS10]: the fraction of random sets that each method accepts.
 *
 * Sets of generate/elliott_sets.h are drawn, tested and counted one after the other, and not
 * stored. Verdicts are exact: utilizations are summed in floating point, and again in whole numbers
 * where a sum comes near its bound. The bin of a set and the histogram of speed-ups have the
 * accuracy of floating point.
 */
#ifndef GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_STUDY_H
#define GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_STUDY_H

#include "analysis/global_edf/srm.h"
#include "generate/elliott_sets.h"

/* Counted verdicts, in this order; after them the CPUs alone for each speed-up. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SRM = 0, /* with either lock */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_CONTAINER = 1,
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_FMLP = 2,   /* SRM with this lock */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EITHER = 3, /* SRM or Container */
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS = 4
};

/* Histogram of the largest speed-up at which the CPUs alone suffice: eighths up to 32, and
 * above. */
enum {
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS = 8 * 32 + 1,
    GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS = 16
};

typedef struct {
    int paper;         /* form of OMLP's bound, GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND, ... */
    int64_t speed_ups; /* number of speed-ups */
    int64_t speed_up[GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_SPEED_UPS]; /* c, 1 .. 1000000 */
    int64_t bins;                                               /* of equal width, over (0, m] */
} gs_analysis_global_edf_elliott_tests_t;

/* Counters, owned by the caller and added to. */
typedef struct {
    int64_t *sets;    /* bins: sets by the sum of E / p */
    int64_t *without; /* bins: sets without a GPU-using task */
    int64_t *passed;  /* (GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_METHODS + speed_ups) rows of bins */
    int64_t *eighths; /* GS_ANALYSIS_GLOBAL_EDF_ELLIOTT_EIGHTHS */
    int64_t *fates;   /* GS_GENERATE_ELLIOTT_FATES: outcomes of all draws */
    int64_t *tasks;   /* 1: tasks of the counted sets */
} gs_analysis_global_edf_elliott_counts_t;

/* Draws, tests and counts the sets first .. first + count - 1 of a key. Errors: those of
 * gs_generate_elliott_init and gs_generate_elliott_find; GS_ERR_VALUE for fewer than 1 bin, more
 * than 16 speed-ups, speed-ups outside 1 .. 1000000, or an unknown form. */
int gs_analysis_global_edf_elliott_study(gs_context_t *ctx, const gs_generate_elliott_t *spec,
                                         const uint64_t key[4], uint64_t first, uint64_t count,
                                         const gs_analysis_global_edf_elliott_tests_t *tests,
                                         const gs_analysis_global_edf_elliott_counts_t *counts);

#endif
