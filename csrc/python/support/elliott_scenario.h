/* A scenario of [RTNS10] and the numbers of its sets, from arguments. */
#ifndef GS_PYTHON_SUPPORT_ELLIOTT_SCENARIO_H
#define GS_PYTHON_SUPPORT_ELLIOTT_SCENARIO_H

#include "python/module.h"

/* The arguments, as gs_python_parse stores them. */
typedef struct {
    PyObject *key, *utilization, *periods, *share;
    long long cpus, gpu, overhead, first, count;
    int rounding, empty;
} gs_python_scenario_arguments_t;

typedef struct {
    gs_generate_elliott_t spec;
    uint64_t key[4];
    int64_t first; /* first + count does not overflow */
    int64_t count;
} gs_python_scenario_t;

/* False with an exception set. */
bool gs_python_scenario_init(gs_python_scenario_t *self, const gs_python_scenario_arguments_t *in);

#endif
