/* Ways of sharing the GPU between tasks: one row each, in a file of its name.
 *
 * A row says what the way is called, what it takes, which test it has, and what the proof of the
 * test takes for granted of the rest of the machine. The Python package reads the rows: its values
 * (gs.ways.<Name>), the choices of its functions and commands, the rows of a comparison.
 */
#ifndef GS_WAYS_WAY_H
#define GS_WAYS_WAY_H

#include "analysis/placed_test.h"
#include "core/method.h"
#include "simulate/host/host_way.h"

typedef struct {
    const char *name;                          /* unique, in the field's words: "fmlp_plus" */
    const char *title;                         /* the rule in a phrase */
    const char *source;                        /* keys of papers, or documentation */
    const gs_method_t *test;                   /* NULL: the package has no test of it */
    const gs_analysis_placed_method_t *placed; /* the test of tasks with cores; NULL: not of such */
    const gs_simulate_host_way_t *const *host; /* its rules in the host simulator, ended by NULL:
                                                  one, or one for each lock (srm); or NULL */
    bool one_row;    /* of a comparison, although its test has modes: its simulation has none */
    bool in_turns;   /* no two kernels of different tasks run at once */
    bool global_edf; /* jobs run on any CPU, the earliest deadline first */
    /* Parameters beside the options of the test, which replace those of the same name. One that a
     * platform has, too, has its name there. */
    const gs_method_option_t *options;
    int32_t option_count;
    const char *const *without;  /* options of the test that are not the way's, ended by NULL */
    const char *const *premises; /* what the test takes for granted, ended by NULL; or NULL */
} gs_ways_way_t;

#endif
