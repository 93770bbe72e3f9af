/* Descriptors of methods: what a test, search or simulator is called, takes and claims.
 *
 * A descriptor stands beside the implementation of its method; registry.h lists all of them. The
 * Python package reads them for its arguments, its command line and its documentation.
 */
#ifndef GS_CORE_METHOD_H
#define GS_CORE_METHOD_H

#include <stdint.h>

typedef struct {
    const char *name;
    const char *type;           /* "choice", "boolean", "integer", "positive integer", "number",
                                   "time", "positive time" (ticks), "integers", "times", "way",
                                   "data" */
    const char *const *choices; /* of a choice, ended by NULL; else NULL */
    const char *standard;       /* the default, as text */
    const char *meaning;
} gs_method_option_t;

typedef struct {
    const char *name;     /* unique, in the field's words: "fmlp_plus" */
    const char *model;    /* "KernelTasks", "KernelChains", "BatchTable", "HostTasks", "Launches",
                             "Workload" */
    const char *function; /* its name in the package: "analysis.fmlp_plus", "mig" */
    const char *claim;    /* "exact", "sufficient", "necessary", "simulation" */
    const char *source;   /* keys and equations */
    const char *summary;  /* one sentence */
    const gs_method_option_t *options;
    int32_t option_count;
} gs_method_t;

#endif
