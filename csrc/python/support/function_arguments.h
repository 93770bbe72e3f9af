/* Arguments that describe a batch function: times of batches as a function. */
#ifndef GS_PYTHON_SUPPORT_FUNCTION_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_FUNCTION_ARGUMENTS_H

#include "python/support/gpu_arguments.h"

/* A batch function and what it refers to. */
typedef struct {
    gs_python_device_t device;
    PyArrayObject *period, *wcet, *shapes;
    gs_gpu_kernel_t kernels[GS_PBS_LARGE_TASKS];
    int32_t n;
    bool placed;
    long long least, most, first;
    uint64_t key[4];
} gs_python_function_t;

/* Reads a tuple (period, wcet, shapes, limits, sm_order, key, first, least, most): arrays of length
 * n, then of shape (n, 4) with blocks, threads, regs and smem, or None for eligibility by
 * utilization; limits and sm_order as in gpu_arguments.h; the key and number of the set in its
 * seed; slowdown factors in billionths. False with an exception set. Free in every case. */
bool gs_python_function_init(gs_python_function_t *self, PyObject *function);
void gs_python_function_free(gs_python_function_t *self);

/* The function itself, which self must outlive. Needs no GIL. */
int gs_python_function_open(const gs_python_function_t *self, gs_context_t *ctx,
                            gs_pbs_large_function_t *function);

#endif
