/* Rules on kernels: streams, queues and their priorities, and the number that run at once.
 *
 * A kernel certainly runs from the recorded start of its first block until a tolerance before the
 * recorded end of its last one, and may run from a tolerance before that start until that end.
 */
#include "core/radix_sort.h"
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

/* Whether so many other kernels of a context may run when a block starts that a kernel, which
 * starts its last block later, has to wait. */
static bool may_be_full(const gs_io_rules_state_t *self, const gs_io_rules_part_t *part,
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

static int check_running(gs_io_rules_state_t *self, gs_context_t *ctx,
                         const gs_io_rules_part_t *part)
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
        status = check_running(self, ctx, &self->part[c]);
    }
    return status;
}

static const gs_io_rules_item_t *first_block(const gs_io_rules_state_t *self, int32_t kernel)
{
    return &self->item[self->grouped[self->kernel[kernel].begin]];
}

static gs_io_rules_finding_t finding_at(const gs_io_rules_item_t *item, int rule, int64_t detail)
{
    return (gs_io_rules_finding_t){rule, item->kernel, item->number, item->start, {detail}};
}

int gs_io_rules_streams(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    const gs_io_rules_log_t *log = self->log;
    int64_t tolerance = self->options->tolerance;
    int32_t *order = gs_alloc(ctx, (size_t)self->kernels, sizeof *order);
    if (order == NULL) {
        return ctx->status;
    }
    gs_radix_sort_identity(self->kernels, order);
    int status = gs_radix_sort(ctx, log->launch, self->kernels, order);
    if (status == GS_OK) {
        status = gs_radix_sort(ctx, log->stream, self->kernels, order);
    }
    for (int32_t i = 0; i < self->kernels && status == GS_OK; i++) {
        int32_t k = order[i], before = i == 0 ? -1 : order[i - 1];
        const gs_io_rules_item_t *item = first_block(self, k);
        if (item->start < log->launch[k] - tolerance) {
            status = gs_io_rules_add(self->findings, ctx, finding_at(item, GS_IO_RULES_STREAM, -1));
        } else if (before >= 0 && log->stream[before] == log->stream[k] &&
                   item->start < self->kernel[before].ended - tolerance) {
            status =
                gs_io_rules_add(self->findings, ctx, finding_at(item, GS_IO_RULES_STREAM, before));
        }
    }
    gs_free(ctx, order);
    return status;
}

static bool same_queue(const gs_io_rules_state_t *self, int32_t a, int32_t b)
{
    return self->kernel[a].priority == self->kernel[b].priority &&
           self->kernel[a].context == self->kernel[b].context;
}

int gs_io_rules_queues(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    int64_t tolerance = self->options->tolerance;
    int32_t next = 0, last = -1; /* the latest dispatched of those that joined before */
    int status = gs_poll(ctx, self->kernels);
    for (int32_t i = 0; i < self->kernels && status == GS_OK; i++) {
        int32_t k = self->by_joined[i];
        if (i > 0 && !same_queue(self, k, self->by_joined[i - 1])) {
            next = i;
            last = -1;
        }
        /* Ends at k at the latest, which is ready no earlier than it joins. */
        for (; self->kernel[self->by_ready[next]].ready < self->kernel[k].joined - tolerance &&
               same_queue(self, k, self->by_ready[next]);
             next++) {
            int32_t other = self->by_ready[next];
            if (last < 0 || self->kernel[other].dispatched > self->kernel[last].dispatched) {
                last = other;
            }
        }
        const gs_io_rules_item_t *item = first_block(self, k);
        if (last >= 0 && self->kernel[last].dispatched - tolerance > item->start) {
            status =
                gs_io_rules_add(self->findings, ctx, finding_at(item, GS_IO_RULES_QUEUE, last));
        }
    }
    return status;
}

/* Latest dispatched of the kernels that were added, by priority: a Fenwick tree of maxima. A
 * kernel is known by its place in ready_order; among equals the first one counts. */
static bool later(const gs_io_rules_state_t *self, int32_t a, int32_t b)
{
    if (b < 0) {
        return true;
    }
    int64_t one = self->kernel[self->ready_order[a]].dispatched;
    int64_t other = self->kernel[self->ready_order[b]].dispatched;
    return one > other || (one == other && a < b);
}

static void add_kernel(const gs_io_rules_state_t *self, int32_t *latest, int32_t place)
{
    int32_t priority = self->kernel[self->ready_order[place]].priority;
    for (int32_t p = priority + 1; p <= self->priorities; p += p & -p) {
        if (later(self, place, latest[p])) {
            latest[p] = place;
        }
    }
}

static void remove_kernel(const gs_io_rules_state_t *self, int32_t *latest, int32_t place)
{
    int32_t priority = self->kernel[self->ready_order[place]].priority;
    for (int32_t p = priority + 1; p <= self->priorities; p += p & -p) {
        latest[p] = -1;
    }
}

/* The kernel, -1 without one, among those of more urgent priorities. */
static int32_t latest_above(const gs_io_rules_state_t *self, const int32_t *latest,
                            int32_t priority)
{
    int32_t found = -1;
    for (int32_t p = priority; p > 0; p -= p & -p) {
        if (latest[p] >= 0 && later(self, latest[p], found)) {
            found = latest[p];
        }
    }
    return found < 0 ? -1 : self->ready_order[found];
}

/* The blocks of one context, with an empty tree before and after. */
static int check_priorities(gs_io_rules_state_t *self, gs_context_t *ctx,
                            const gs_io_rules_part_t *part, int32_t *latest, bool *told)
{
    int64_t tolerance = self->options->tolerance;
    int32_t next = part->kernels_from;
    int status = GS_OK;
    for (int32_t i = part->from; i < part->to && status == GS_OK; i++) {
        const gs_io_rules_item_t *item = &self->item[i];
        while (next < part->kernels_to &&
               self->kernel[self->ready_order[next]].ready < item->start - tolerance) {
            add_kernel(self, latest, next++);
        }
        int32_t other = latest_above(self, latest, self->kernel[item->kernel].priority);
        if (other >= 0 && !told[item->kernel] &&
            self->kernel[other].dispatched - tolerance > item->start &&
            !may_be_full(self, part, other, item->start)) {
            told[item->kernel] = true;
            status =
                gs_io_rules_add(self->findings, ctx, finding_at(item, GS_IO_RULES_PRIORITY, other));
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, 4);
        }
    }
    while (next > part->kernels_from) {
        remove_kernel(self, latest, --next);
    }
    return status;
}

int gs_io_rules_priorities(gs_io_rules_state_t *self, gs_context_t *ctx)
{
    if (self->priorities < 2) {
        return GS_OK;
    }
    int status = GS_OK;
    int32_t *latest = gs_alloc(ctx, (size_t)self->priorities + 1, sizeof *latest);
    bool *told = gs_alloc(ctx, (size_t)self->kernels, sizeof *told);
    if (latest == NULL || told == NULL) {
        status = ctx->status;
        goto out;
    }
    for (int32_t p = 0; p <= self->priorities; p++) {
        latest[p] = -1;
    }
    for (int32_t c = 0; c < self->contexts && status == GS_OK; c++) {
        status = check_priorities(self, ctx, &self->part[c], latest, told);
    }
out:
    gs_free(ctx, latest);
    gs_free(ctx, told);
    return status;
}
