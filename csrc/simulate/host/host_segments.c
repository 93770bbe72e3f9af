/* GPU segments of the host simulator: the protocol that handles their beginning and their parts. */
#include "simulate/host/host_parts.h"

void gs_simulate_host_begin(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_OUT) {
        gs_simulate_host_gcaps_begin(self, r); /* its second update */
        return;
    }
    self->thread[r].part++;
    switch (self->gpu) {
    case GS_SIMULATE_HOST_GPU_STGM:
        gs_simulate_host_stgm_begin(self, r);
        break;
    case GS_SIMULATE_HOST_GPU_SERVER:
        gs_simulate_host_server_begin(self, r);
        break;
    case GS_SIMULATE_HOST_GPU_CONTAINER:
        gs_simulate_host_container_begin(self, r);
        break;
    case GS_SIMULATE_HOST_GPU_SLICES:
        gs_simulate_host_slices_begin(self, r);
        break;
    case GS_SIMULATE_HOST_GPU_GCAPS:
        gs_simulate_host_gcaps_begin(self, r);
        break;
    default:
        gs_simulate_host_lock_begin(self, r);
    }
    if (r == self->victim) {
        gs_simulate_host_release_others(self, r, GS_SIMULATE_HOST_AT_REQUEST);
    }
}

void gs_simulate_host_worked(gs_simulate_host_state_t *self, int32_t r)
{
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (r == self->n) {
        gs_simulate_host_server_worked(self);
    } else if (t->inside != GS_SIMULATE_HOST_OUTSIDE &&
               gs_simulate_host_container_worked(self, r)) {
        return;
    } else if (t->part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_CPU) {
        if (t->part == t->last_part) {
            gs_simulate_host_finish(self, r);
        } else if (self->gpu >= GS_SIMULATE_HOST_GPU_SLICES) {
            gs_simulate_host_begin(self, r);
        } else { /* its GPU segment begins when it is dispatched */
            gs_simulate_host_mark(self, t->cluster);
        }
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_STGM) {
        gs_simulate_host_stgm_copied(self, r);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_SLICES) {
        gs_simulate_host_slices_copied(self, r);
    } else if (self->gpu == GS_SIMULATE_HOST_GPU_GCAPS) {
        gs_simulate_host_gcaps_worked(self, r);
    } else {
        gs_simulate_host_lock_copied(self, r);
    }
}
