/* Functions shared by the files of the hierarchy simulator; the rules are those of hierarchy.h. */
#ifndef GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H
#define GS_SIMULATE_HIERARCHY_HIERARCHY_PARTS_H

#include "core/checks.h"
#include "simulate/gpu/gpu_device.h"
#include "simulate/gpu/gpu_parts.h"
#include "simulate/hierarchy/hierarchy_state.h"

/* Whether a launch is a kernel that may start before its primary has ended. */
static inline bool gs_simulate_hierarchy_is_programmatic(const gs_simulate_hierarchy_model_t *model,
                                                         int64_t launch)
{
    return model->programmatic != NULL && model->programmatic[launch] != 0 &&
           model->kind[launch] == GS_SIMULATE_GPU_OP_KERNEL;
}

/* Finds the graphs of a model with some, checks them and gives their nodes adjacent ranks
 * (hierarchy_graphs.c). */
int gs_simulate_hierarchy_make_graphs(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* Refuses partitions that are not possible; streams and contexts must be checked
 * (hierarchy_partitions.c). */
int gs_simulate_hierarchy_check_partitions(gs_context_t *ctx,
                                           const gs_simulate_hierarchy_model_t *model);

/* Makes the streams, rooms and partitions of the GPU, and numbers its channels
 * (hierarchy_partitions.c). */
int gs_simulate_hierarchy_make_rooms(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* The SMs of the partitions of the GPU, which is initialised (hierarchy_partitions.c). */
int gs_simulate_hierarchy_make_limits(gs_simulate_hierarchy_t *self, gs_context_t *ctx);

/* The shape of a launch. Refuses one of which no block fits an SM (hierarchy_feed.c). */
int gs_simulate_hierarchy_shape(const gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                int64_t launch, gs_simulate_gpu_shape_t *shape);

/* Launches the operation at the next position of the order (hierarchy_feed.c). */
int gs_simulate_hierarchy_launch(gs_simulate_hierarchy_t *self, gs_context_t *ctx, int64_t launch);

/* A new operation for a launch, with its shape, not launched; -1 after an error
 * (hierarchy_feed.c). */
int64_t gs_simulate_hierarchy_new_op(gs_simulate_hierarchy_t *self, gs_context_t *ctx,
                                     int64_t launch);

/* Answers of the simulator to the GPU (hierarchy_feed.c). */
extern const gs_simulate_gpu_owner_t gs_simulate_hierarchy_feed;

#endif
