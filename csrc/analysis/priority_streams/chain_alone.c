/* The bound of a task that has the SMs to itself.
 *
 * Its kernels run one after the other, and those of a job before those of the next one where a job
 * takes at most a period. Let `places` blocks of a kernel fit the SMs together. Block y = 0, 1, ...
 * of the kernel starts at most floor(y / places) * c after the kernel joins its queue, c being the
 * longest time of a block: by induction, those of the first j * places blocks that still run
 * (j - 1) c later end by j c. If block y >= j * places has not started by then, all places are
 * held by blocks before it that are not among these, so y >= (j + 1) * places. A job therefore
 * takes at most
 *
 *     sum of latency + ceil(blocks / places) * c over its kernels,
 *
 * and exactly that when every block and every latency is as long as it can be.
 */
#include "analysis/priority_streams/chain_state.h"

/* Blocks of kernel j that fit the empty SMs together. */
static int places_of(const gs_analysis_priority_streams_t *self, gs_context_t *ctx, int64_t j,
                     int64_t *places)
{
    const gs_kernel_chains_t *c = self->chains;
    const gs_analysis_priority_streams_device_t *device = self->saturation.device;
    int status = GS_OK;
    *places = self->threads / self->sms / c->threads[j];
    if (device != NULL) {
        gs_gpu_kernel_t kernel = {c->blocks[j], c->threads[j], device->regs[j], device->smem[j]};
        status = gs_gpu_occupancy(ctx, device->gpu, &kernel, j, places, NULL);
    }
    *places *= gs_analysis_priority_streams_sms(self, 0);
    return status;
}

int gs_analysis_priority_streams_alone(gs_analysis_priority_streams_t *self, gs_context_t *ctx)
{
    const gs_kernel_chains_t *c = self->chains;
    gs_int128_t latency = 0, running = 0;
    for (int64_t j = 0; j < c->begin[1]; j++) {
        int64_t places;
        int status = places_of(self, ctx, j, &places);
        if (status != GS_OK) {
            return status;
        }
        latency += c->latency[j];
        running += (gs_int128_t)((c->blocks[j] + places - 1) / places) * c->block_time[j];
    }
    if (latency + running <= c->period[0]) {
        gs_analysis_priority_streams_found_t found = {
            .response = gs_analysis_priority_streams_ticks(latency + running),
            .terms = {.theorem = GS_ANALYSIS_PRIORITY_STREAMS_ALONE,
                      .jobs = 1,
                      .latency = (int64_t)latency,
                      .tail = (int64_t)running}};
        gs_analysis_priority_streams_record(self, 0, &found);
    }
    return gs_poll(ctx, c->begin[1]);
}
