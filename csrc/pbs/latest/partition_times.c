/* Recursion over the batch that runs the lowest task of a mask. */
#include "pbs/latest/partition_times.h"

int gs_pbs_latest_partition_times_fill(gs_context_t *ctx, int32_t n, const int64_t *completion,
                                       int64_t *time)
{
    uint32_t all = (uint32_t)((UINT64_C(1) << n) - 1);
    time[0] = 0;
    for (uint32_t mask = 1; mask <= all; mask++) {
        uint32_t lowest = mask & (~mask + 1), others = mask ^ lowest, rest = others;
        int64_t least = GS_NEVER, work = 0;
        for (;; rest = (rest - 1) & others, work++) { /* what the batch leaves */
            int64_t own = completion[mask ^ rest];
            int64_t sum = own + time[rest];
            least = own != 0 && sum < least ? sum : least;
            if (rest == 0) {
                break;
            }
        }
        time[mask] = least;
        int status = gs_poll(ctx, work + 1);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}
