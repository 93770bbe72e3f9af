/* A stack of sets with cores and SMs, and the response-time test of a way of sharing the GPU. */
#ifndef GS_PYTHON_SUPPORT_PLACED_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_PLACED_ARGUMENTS_H

#include "python/support/host_arguments.h"
#include "ways/ways.h"

typedef struct {
    gs_python_call_t call;
    gs_python_hosts_t hosts;
    PyArrayObject *core;         /* (N, n), or NULL where they are to be chosen */
    PyArrayObject *sm;           /* uint8 (N, n, M), or NULL */
    PyArrayObject *server;       /* (N,), or NULL */
    PyArrayObject *gpu_priority; /* (N, n), or NULL */
    PyArrayObject *apart;        /* uint8 (n, n), of all sets, or NULL */
    const gs_analysis_placed_method_t *method;
    gs_analysis_placed_options_t options;
    gs_analysis_placed_test_t test;
} gs_python_placed_t;

/* Arguments as they come from Python: those of the functions that run a placed test. */
typedef struct {
    PyObject *hosts, *core, *sm, *server, *gpu_priority, *apart, *stop;
    const char *way;
    long long cpus, sms, timeslice, context_switch, update_cost, server_overhead;
    int mode, variant, fixed_point, stall, jitter;
} gs_python_placed_given_t;

/* Their addresses for gs_python_parse: the arrays first, the options last. */
#define GS_PYTHON_PLACED_ARRAYS_AT(given)                                                          \
    &(given)->hosts, &(given)->core, &(given)->sm, &(given)->server, &(given)->gpu_priority,       \
        &(given)->apart
#define GS_PYTHON_PLACED_OPTIONS_AT(given)                                                         \
    &(given)->cpus, &(given)->sms, &(given)->way, &(given)->mode, &(given)->variant,               \
        &(given)->fixed_point, &(given)->timeslice, &(given)->context_switch,                      \
        &(given)->update_cost, &(given)->server_overhead, &(given)->stall, &(given)->jitter,       \
        &(given)->stop

/* Reads the arguments; with_cores: not without cores. False with an exception. Free in every case.
 */
bool gs_python_placed_init(gs_python_placed_t *self, const gs_python_placed_given_t *given,
                           bool with_cores);
void gs_python_placed_free(gs_python_placed_t *self);

/* Placement of one set of the stack. Needs no GIL. */
gs_analysis_placed_place_t gs_python_placed_at(const gs_python_placed_t *self, npy_intp set);

/* After a set: notes which one a fault is of, and polls. Needs no GIL. */
int gs_python_placed_end(gs_python_placed_t *self, npy_intp set, int status);

#endif
