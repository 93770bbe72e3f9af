/* Shared declarations of the Python module: state, arrays, calls into the core, errors.
 *
 * The module is a set of functions on arrays, so there is no object to share or to protect; what
 * users hold are the frozen dataclasses of the Python package. One file per exposed part.
 */
#ifndef GS_PYTHON_MODULE_H
#define GS_PYTHON_MODULE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h> /* the headers of NumPy need it, which Python.h leaves out of the limited API */
#include <string.h>

#define PY_ARRAY_UNIQUE_SYMBOL gpusched_ARRAY_API
#ifndef GS_PYTHON_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include "internal.h"

/* The heap types of the module. */
typedef enum {
    GS_PYTHON_POLICY,
    GS_PYTHON_FIFO,
    GS_PYTHON_HOST,
    GS_PYTHON_HIERARCHY,
    GS_PYTHON_MACHINE,
    GS_PYTHON_DRIVER,
    GS_PYTHON_DEVICE,
    GS_PYTHON_RUNTIME_LOG,
    GS_PYTHON_RUNTIME_ENDS,
    GS_PYTHON_RUNTIME_JOBS,
    GS_PYTHON_RUNTIME_LOCK,
    GS_PYTHON_RUNTIME_SECTION,
    GS_PYTHON_RUNTIME_PLAYER,
    GS_PYTHON_RUNTIME_SERVER,
    GS_PYTHON_KINDS
} gs_python_kind_t;

typedef struct {
    PyObject *cancelled;  /* the exception Cancelled */
    PyObject *spent;      /* the exception BudgetSpent */
    PyObject *cuda_error; /* the exception CudaError */
    PyObject *types[GS_PYTHON_KINDS];
} gs_python_state_t;

/* A type whose instances are handles (support/handle.h). */
typedef struct {
    const char *name; /* gpusched._core.Name */
    const char *doc;
    destructor dealloc;
    PyMethodDef *methods;
} gs_python_type_t;

extern const gs_python_type_t gs_python_policy_type;
extern const gs_python_type_t gs_python_fifo_type;
extern const gs_python_type_t gs_python_host_sim_type;
extern const gs_python_type_t gs_python_hierarchy_type;
extern const gs_python_type_t gs_python_machine_type;
extern const gs_python_type_t gs_python_driver_type;
extern const gs_python_type_t gs_python_device_type;
extern const gs_python_type_t gs_python_runtime_log_type;
extern const gs_python_type_t gs_python_runtime_ends_type;
extern const gs_python_type_t gs_python_runtime_jobs_type;
extern const gs_python_type_t gs_python_runtime_lock_type;
extern const gs_python_type_t gs_python_runtime_section_type;
extern const gs_python_type_t gs_python_runtime_player_type;
extern const gs_python_type_t gs_python_runtime_server_type;

/* An entry of a method table: a function that takes its arguments as an array, with keywords. */
#define GS_PYTHON_FUNCTION(name, function)                                                         \
    {                                                                                              \
        name, (PyCFunction)(void (*)(void))function, METH_FASTCALL | METH_KEYWORDS, function##_doc \
    }

/* Each exposed part: its methods, added to the module at start. */
extern PyMethodDef gs_python_bandwidth_methods[];
extern PyMethodDef gs_python_gpu_methods[];
extern PyMethodDef gs_python_host_set_methods[];
extern PyMethodDef gs_python_generate_methods[];
extern PyMethodDef gs_python_generate_gcaps_methods[];
extern PyMethodDef gs_python_generate_hosts_methods[];
extern PyMethodDef gs_python_generate_elliott_methods[];
extern PyMethodDef gs_python_oracle_methods[];
extern PyMethodDef gs_python_schedule_methods[];
extern PyMethodDef gs_python_search_methods[];
extern PyMethodDef gs_python_function_methods[];
extern PyMethodDef gs_python_graph_methods[];
extern PyMethodDef gs_python_policy_methods[];
extern PyMethodDef gs_python_proof_methods[];
extern PyMethodDef gs_python_partition_methods[];
extern PyMethodDef gs_python_fifo_bound_methods[];
extern PyMethodDef gs_python_priority_streams_methods[];
extern PyMethodDef gs_python_holistic_methods[];
extern PyMethodDef gs_python_fifo_methods[];
extern PyMethodDef gs_python_hierarchy_methods[];
extern PyMethodDef gs_python_machine_methods[];
extern PyMethodDef gs_python_warps_methods[];
extern PyMethodDef gs_python_event_scan_methods[];
extern PyMethodDef gs_python_sm_usage_methods[];
extern PyMethodDef gs_python_rules_methods[];
extern PyMethodDef gs_python_row_text_methods[];
extern PyMethodDef gs_python_host_tests_methods[];
extern PyMethodDef gs_python_demand_methods[];
extern PyMethodDef gs_python_sensitivity_methods[];
extern PyMethodDef gs_python_host_sim_methods[];
extern PyMethodDef gs_python_host_challenge_methods[];
extern PyMethodDef gs_python_gedf_methods[];
extern PyMethodDef gs_python_elliott_methods[];
extern PyMethodDef gs_python_arrow_methods[];
extern PyMethodDef gs_python_cuda_methods[];
extern PyMethodDef gs_python_job_log_methods[];
extern PyMethodDef gs_python_job_loop_methods[];
extern PyMethodDef gs_python_gpu_lock_methods[];
extern PyMethodDef gs_python_plan_player_methods[];
extern PyMethodDef gs_python_segment_server_methods[];

/* Arrays (arrays.c) -------------------------------------------------------------------------- */

/* A copy of obj as a new contiguous, aligned array of ndim dimensions, or NULL with an exception
 * that names it. Only safe casts: for int64, floating point is refused.
 *
 * It is always a copy, since NumPy cannot tell whether memory may still change: a view that was
 * made before its owner became read-only keeps writing. What is validated is therefore what the
 * core reads, whatever other threads do. A call holds its arrays twice while it runs; a simulation
 * or a policy keeps its copies. */
PyArrayObject *gs_python_int64(PyObject *obj, const char *name, int ndim);
PyArrayObject *gs_python_array(PyObject *obj, const char *name, int ndim, int typenum);

/* The four words of a random stream's key; false with an exception. */
bool gs_python_key(PyObject *obj, uint64_t key[4]);

/* Checks the length of a dimension; false with a ValueError that names the array. */
bool gs_python_length(PyArrayObject *array, const char *name, int axis, npy_intp length);

static inline int64_t *gs_python_i64(PyArrayObject *array)
{
    return array == NULL ? NULL : (int64_t *)PyArray_DATA(array);
}

/* A new zeroed array, or NULL with MemoryError. */
PyArrayObject *gs_python_new(int ndim, const npy_intp *shape, int typenum);

/* New zeroed int64 columns of one length, or false with MemoryError and all of them NULL. */
bool gs_python_new_columns(PyArrayObject **columns, int count, npy_intp length);

/* The column, of gs_alloc, as an array that frees it; *column is NULL then. NULL with MemoryError,
 * also where rows are expected of a column without memory. */
PyObject *gs_python_adopt(int64_t **column, npy_intp length);

/* Writes row k of a table, one number per column. */
typedef void gs_python_row_t(const void *of, int64_t k, int64_t *row);

enum { GS_PYTHON_TABLE_COLUMNS = 17 }; /* at most */

/* A table of so many rows as a tuple of new int64 columns, or NULL with MemoryError or what a
 * signal raised. Handlers of signals run: what is read must not change in calls from Python. */
PyObject *gs_python_table(gs_python_row_t *row, const void *of, int columns, int64_t rows);

/* Calls into the core (call.c) ---------------------------------------------------------------- */

/* Everything one call into the core needs: its ctx, whose poll looks at the stop flag, the time
 * and, 20 times a second, at pending signals. */
typedef struct {
    gs_context_t ctx;
    PyThreadState *thread;     /* saved while the GIL is released */
    const unsigned char *stop; /* read atomically */
    Py_buffer stop_buffer;
    int64_t stop_ns;     /* an instant that stops the call like the byte; 0: none */
    bool late;           /* whether it did */
    int64_t end_ns;      /* when the budget of time ends; 0: none */
    int64_t deadline_ns; /* when the share of the present task set ends; 0: none */
    int64_t signals_ns;  /* when signals were last looked at */
} gs_python_call_t;

/* Prepares a call. stop: None, or a writable buffer of one byte that another thread sets to stop
 * the call, or a pair of one of these and an instant of gs_python_now, from which on the call is
 * stopped, too (Deadline of gpusched/_support/budget.py). seconds and bytes: budgets, 0 for none;
 * with seconds, that instant ends this budget instead. False with an exception set. */
bool gs_python_call_init(gs_python_call_t *call, PyObject *stop, double seconds, long long bytes);
void gs_python_call_free(gs_python_call_t *call);

void gs_python_release(gs_python_call_t *call); /* the GIL */
void gs_python_acquire(gs_python_call_t *call);

/* Gives the next of so many task sets its share of the time that is left; false if none is left.
 * Needs no GIL. */
bool gs_python_call_share(gs_python_call_t *call, npy_intp sets);
int64_t gs_python_now(void); /* monotonic nanoseconds */

/* Sets a MemoryError that says what it is about; returns NULL. */
PyObject *gs_python_no_memory(void);

/* Sets the exception for an error status (negative) or a budget that a function cannot report in
 * its result; always returns NULL. Needs the GIL. */
PyObject *gs_python_raise(PyObject *module, const gs_python_call_t *call, int status);

#endif
