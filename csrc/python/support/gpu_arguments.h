/* Arguments that describe a GPU: limits and the order of its SMs. */
#ifndef GS_PYTHON_SUPPORT_GPU_ARGUMENTS_H
#define GS_PYTHON_SUPPORT_GPU_ARGUMENTS_H

#include "python/module.h"

typedef struct {
    gs_gpu_t gpu;
    PyArrayObject *sm_order; /* int32, what gpu.sm_order points into; NULL without an order */
} gs_python_device_t;

/* Reads limits, an int64 array of the first twelve fields of gs_gpu_t in their order and behind
 * them the carve-outs, and sm_order, an array of SM ids or None (ascending). False with an
 * exception set. The GPU is not checked yet (gs_gpu_check, gs_block_placement_init). Free in every
 * case.
 */
bool gs_python_device_init(gs_python_device_t *self, PyObject *limits, PyObject *sm_order);
void gs_python_device_free(gs_python_device_t *self);

#endif
