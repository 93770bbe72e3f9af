/* Check of the arguments of a play. */
#include "cuda/player_check.h"

#define MOST_JOBS 10000000
#define MOST_AWAKE_NS 10000000

int gs_cuda_play_check(gs_context_t *ctx, const gs_cuda_device_t *device,
                       const gs_cuda_play_t *play, int64_t *jobs)
{
    int32_t n = play->tasks.n;
    int64_t total = 0, length;
    if (play->strategy < GS_CUDA_PLAY_TABLE || play->strategy > GS_CUDA_PLAY_POLICY) {
        return gs_fail(ctx, GS_ERR_VALUE, "strategy", -1, play->strategy, "a known strategy");
    }
    if (play->wait < GS_CUDA_WAIT_CONTEXT || play->wait > GS_CUDA_WAIT_POLL) {
        return gs_fail(ctx, GS_ERR_VALUE, "wait", -1, play->wait, "a known way to wait");
    }
    const struct {
        const char *name;
        int64_t value, least, most;
        const char *expected;
    } numbers[] = {
        {"tick", play->tick, 1, GS_NEVER, "1 to 2**61 - 1 ns"},
        {"cycles", play->cycles, 1, GS_NEVER, "1 to 2**61 - 1 cycles"},
        {"awake", play->awake, 0, MOST_AWAKE_NS, "0 to 10000000 ns"},
        {"lead", play->lead, 0, GS_CUDA_MAX_NS, "0 to 10000000000 ns"},
        {"realtime", play->realtime, 0, INT32_MAX, "a number of at least 0"},
    };
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        if (numbers[k].value < numbers[k].least || numbers[k].value > numbers[k].most) {
            return gs_fail(ctx, GS_ERR_VALUE, numbers[k].name, -1, numbers[k].value,
                           numbers[k].expected);
        }
    }
    if (!gs_mul(play->hyperperiod, play->cycles, &length) || !gs_mul(length, play->tick, &length) ||
        length > GS_NEVER / 4) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "cycles", -1, play->cycles,
                       "a play of at most 2**59 - 1 ns");
    }
    for (int32_t i = 0; i < n; i++) {
        int64_t own = gs_periodic_tasks_jobs_before(&play->tasks, i, play->hyperperiod), latest;
        if (!gs_mul(own, play->cycles, &own) || own > MOST_JOBS - total) {
            return gs_fail(ctx, GS_ERR_VALUE, "cycles", -1, play->cycles,
                           "at most 10000000 jobs in all");
        }
        total += own;
        if (!gs_mul(play->tasks.deadline[i], play->tick, &latest) || latest > GS_NEVER / 4 ||
            gs_periodic_tasks_offset(&play->tasks, i) > play->hyperperiod) {
            return gs_fail(ctx, GS_ERR_VALUE, "deadline", i, play->tasks.deadline[i],
                           "at most 2**59 - 1 ns, and an offset within the hyperperiod");
        }
    }
    for (int64_t f = 0; play->strategy != GS_CUDA_PLAY_POLICY && f < play->count; f++) {
        uint32_t batch = play->frames[f].batch;
        if (batch == 0 || batch >> n != 0) {
            return gs_fail(ctx, GS_ERR_VALUE, "batch", f, batch, "a batch of the tasks");
        }
        if (play->frames[f].start < 0 || play->frames[f].start > play->hyperperiod) {
            return gs_fail(ctx, GS_ERR_VALUE, "start", f, play->frames[f].start,
                           "an instant of the hyperperiod");
        }
    }
    /* One launch of all tasks must be a valid plan of gs_cuda_run. */
    int64_t kind[GS_PERIODIC_TASKS_MAX] = {0}, stream[GS_PERIODIC_TASKS_MAX] = {0},
            at[GS_PERIODIC_TASKS_MAX] = {0}, blocks;
    int64_t one = GS_CUDA_NON_BLOCKING, zero = 0;
    gs_cuda_plan_t plan = {.count = n,
                           .kind = kind,
                           .stream = stream,
                           .at = at,
                           .variant = play->variant,
                           .blocks = play->blocks,
                           .threads = play->threads,
                           .smem = play->smem,
                           .ns = play->ns,
                           .iterations = play->iterations,
                           .bytes = play->bytes,
                           .graph = play->graph,
                           .streams = 1,
                           .stream_kind = &one,
                           .stream_priority = &zero,
                           .repeats = 1};
    *jobs = total;
    return gs_cuda_plan_check(ctx, device, &plan, &blocks);
}
