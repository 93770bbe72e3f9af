/* Rule on the number of kernels that run at once.
 *
 * A kernel certainly runs from the recorded start of its first block until a tolerance before the
 * recorded end of its last one, and may run from a tolerance before that start until that end.
 */
#include "io/rules/rules_state.h"

/* The kernels of a context that have started, or ended, up to an instant. */
static int32_t count_until(const gs_io_rules_state_t *self, const gs_io_rules_part_t *part,
                           bool ended, int64_t instant)
{
    int32_t low = part->kernels_from, high = part->kernels_to;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int64_t time = ended ? self->kernel[self->by_ended[middle]].ended
                             : self->kernel[self->by_first[middle]].first;
        if (time <= instant) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low - part->kernels_from;
}

bool gs_io_rules_may_be_full(const gs_io_rules_state_t *self, const gs_io_rules_part_t *part,
                             int32_t kernel, int64_t start)
{
    if (self->by_first == NULL) {
        return false;
    }
    int64_t tolerance = self->options->tolerance;
    int64_t running = count_until(self, part, false, start + tolerance) -
                      count_until(self, part, true, start - tolerance);
    running -= self->kernel[kernel].first <= start + tolerance;
    return running >= self->options->resident_grids;
}

static int check_part(gs_io_rules_state_t *self, gs_context_t *ctx, const gs_io_rules_part_t *part)
{
    int64_t tolerance = self->options->tolerance, most = self->options->resident_grids;
    int64_t running = 0;
    int32_t end = part->kernels_from;
    int status = gs_poll(ctx, part->kernels_to - part->kernels_from);
    for (int32_t i = part->kernels_from; i < part->kernels_to && status == GS_OK; i++) {
        const gs_io_rules_kernel_t *kernel = &self->kernel[self->by_first[i]];
        for (; end < part->kernels_to; end++) {
            const gs_io_rules_kernel_t *other = &self->kernel[self->by_ended[end]];
            if (other->ended - tolerance > kernel->first) {
                break;
            }
            running -= other->first < other->ended - tolerance;
        }
        if (kernel->first >= kernel->ended - tolerance) {
            continue; /* it is too short to run for certain at any instant */
        }
        if (++running > most) {
            const gs_io_rules_item_t *item = &self->item[self->grouped[kernel->begin]];
            const gs_io_rules_finding_t finding = {
                GS_IO_RULES_GRIDS, item->kernel, item->number, item->start, {running, most}};
            status = gs_io_rules_add(self->findings, ctx, finding);
        }
    }
    return status;
}

int gs_io_rules_grids(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    int status = GS_OK;
    for (int32_t c = 0; c < self->contexts && self->by_first != NULL && status == GS_OK; c++) {
        status = check_part(self, ctx, &self->part[c]);
    }
    return status;
}
