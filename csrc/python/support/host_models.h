/* Models of the host simulator from the arguments of a call: tasks, platform, protocol, releases.
 */
#ifndef GS_PYTHON_SUPPORT_HOST_MODELS_H
#define GS_PYTHON_SUPPORT_HOST_MODELS_H

#include "python/support/host_arguments.h"
#include "simulate/host/host.h"

/* The arguments of a call, as they come. offset, shares, until and victim may be NULL. */
typedef struct {
    PyObject *hosts, *offset, *core, *sm, *server, *shares, *until, *victim, *key;
    PyObject *gpu_priority;                   /* NULL or None: none */
    PyObject *release_begin, *release, *time; /* likewise */
    long long cpus, sms, overhead, triggers, slice, switching;
    const char *way; /* name of a gs_simulate_host_way_t */
    int policy, mode, ring, stall;
} gs_python_host_call_t;

/* The arrays behind them; what the core reads points into them. */
typedef struct {
    gs_python_hosts_t hosts;
    const gs_simulate_host_way_t *way;
    PyArrayObject *offset, *core, *sm;             /* a row per set; core and sm may be NULL */
    PyArrayObject *gpu_priority;                   /* likewise */
    PyArrayObject *release_begin, *release, *time; /* of a single set; may be NULL */
    PyArrayObject *server, *until, *victim;        /* a number per set */
    gs_simulate_host_share_t share[3];             /* low, high, gap */
    uint64_t key[4];
} gs_python_host_arrays_t;

/* False with an exception set. The arrays have to be freed in every case; they start zeroed. */
bool gs_python_host_arrays_init(gs_python_host_arrays_t *self, const gs_python_host_call_t *in);
void gs_python_host_arrays_free(gs_python_host_arrays_t *self);

/* The model of a set, without index and logs. Needs no GIL. */
gs_simulate_host_model_t gs_python_host_model_at(const gs_python_host_arrays_t *self,
                                                 const gs_python_host_call_t *in, npy_intp set);

#endif
