/* GPU lock of the host simulator: MPCP, FMLP+, FMLP-Long, OMLP, and the driver without a lock. */
#include "simulate/host/host_parts.h"

/* Minimum of `key` and the keys of the threads of a queue. */
static int64_t earliest(const gs_simulate_host_state_t *self, const gs_simulate_host_queue_t *queue,
                        int64_t key)
{
    for (int32_t r = queue->head; r >= 0; r = self->thread[r].next) {
        key = self->thread[r].base < key ? self->thread[r].base : key;
    }
    return key;
}

/* Keys of the holder: boosted, inherited, its own. */
static int64_t boosted_key(const gs_simulate_host_state_t *self, int32_t r)
{
    (void)self;
    (void)r;
    return GS_SIMULATE_HOST_BOOST;
}

static int64_t inherited_key(const gs_simulate_host_state_t *self, int32_t r)
{
    return earliest(self, &self->overflow, earliest(self, &self->waiting, self->thread[r].base));
}

static int64_t own_key(const gs_simulate_host_state_t *self, int32_t r)
{
    return self->thread[r].base;
}

static void begin(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->mode == GS_SIMULATE_HOST_MODE_SPIN) {
        gs_simulate_host_enter(self, r, self->thread[r].base, GS_NEVER, GS_SIMULATE_HOST_DOES_SPIN);
    } else {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_WAIT_GPU);
    }
    gs_simulate_host_insert(self, &self->asking, r, self->victim);
}

static void release(gs_simulate_host_state_t *self, int32_t r)
{
    self->holder = -1;
    self->places++;
    gs_simulate_host_resume(self, r);
}

static void kernel_ended(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        release(self, r);
    } else {
        gs_simulate_host_enter(self, r, self->way->key(self, r),
                               gs_simulate_host_time(self, t, t->part),
                               GS_SIMULATE_HOST_DOES_COPY_OUT);
    }
}

/* The holder starts its kernel, or skips it. */
static void run_kernel(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    t->part++;
    if (t->most[t->part] == 0) {
        kernel_ended(self, r);
        return;
    }
    if (self->mode == GS_SIMULATE_HOST_MODE_SUSPEND) {
        gs_simulate_host_leave(self, r, GS_SIMULATE_HOST_DOES_KERNEL);
    } else {
        gs_simulate_host_enter(self, r, self->way->key(self, r), GS_NEVER,
                               GS_SIMULATE_HOST_DOES_SPIN);
    }
    gs_simulate_host_start_kernel(self, r);
}

static void worked(gs_simulate_host_state_t *self, int32_t r)
{
    if (self->thread[r].part % GS_SIMULATE_HOST_PARTS == GS_SIMULATE_HOST_PART_IN) {
        run_kernel(self, r);
    } else {
        release(self, r);
    }
}

/* Grants -------------------------------------------------------------------------------------- */

/* Whether neither a request nor the end of a segment asks for a grant. */
static bool is_settled(const gs_simulate_host_state_t *self)
{
    return self->asking.head < 0 && self->holder >= 0;
}

/* Queues a request, first come, first served. */
static void line_up(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_line_up(self, &self->waiting, r);
    self->places--;
}

static void line_up_all(gs_simulate_host_state_t *self)
{
    while (self->asking.head >= 0) {
        line_up(self, gs_simulate_host_pop(self, &self->asking));
    }
}

/* Grants the lock to the first one that waits; false if it is held or nobody waits. */
static bool grant_first(gs_simulate_host_state_t *self)
{
    if (self->holder >= 0 || self->waiting.head < 0) {
        return false;
    }
    int32_t r = self->holder = gs_simulate_host_pop(self, &self->waiting);
    const gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->most[t->part] == 0) {
        run_kernel(self, r);
    } else {
        gs_simulate_host_enter(self, r, self->way->key(self, r),
                               gs_simulate_host_time(self, t, t->part),
                               GS_SIMULATE_HOST_DOES_COPY_IN);
    }
    return true;
}

/* The same; a holder inherits from new requests. */
static void grant_or_inherit(gs_simulate_host_state_t *self)
{
    if (!grant_first(self) && self->holder >= 0) {
        gs_simulate_host_rekey(self, self->holder, inherited_key(self, self->holder));
    }
}

static void grant_by_priority(gs_simulate_host_state_t *self)
{
    if (is_settled(self)) {
        return;
    }
    while (self->asking.head >= 0) {
        gs_simulate_host_insert(self, &self->waiting, gs_simulate_host_pop(self, &self->asking),
                                -1);
    }
    grant_first(self);
}

static void grant_in_order(gs_simulate_host_state_t *self)
{
    if (!is_settled(self)) {
        line_up_all(self);
        grant_first(self);
    }
}

static void fmlp_grant(gs_simulate_host_state_t *self)
{
    if (!is_settled(self)) {
        line_up_all(self);
        grant_or_inherit(self);
    }
}

static void omlp_grant(gs_simulate_host_state_t *self)
{
    if (is_settled(self)) {
        return;
    }
    for (; self->places > 0 && self->overflow.head >= 0; self->places--) {
        gs_simulate_host_append(self, &self->waiting, gs_simulate_host_pop(self, &self->overflow));
    }
    while (self->asking.head >= 0) {
        int32_t r = gs_simulate_host_pop(self, &self->asking);
        if (self->places == 0) {
            gs_simulate_host_insert(self, &self->overflow, r, -1);
        } else {
            line_up(self, r);
        }
    }
    grant_or_inherit(self);
}

/* Rows ---------------------------------------------------------------------------------------- */

static bool by_arrival(const gs_simulate_host_model_t *model)
{
    (void)model;
    return true;
}

const gs_simulate_host_way_t gs_simulate_host_mpcp = {
    .name = "mpcp",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] =
                  GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY | GS_SIMULATE_HOST_SPIN},
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = grant_by_priority,
    .key = boosted_key,
};

const gs_simulate_host_way_t gs_simulate_host_fmlp_plus = {
    .name = "fmlp_plus",
    .modes = {[GS_SIMULATE_HOST_PARTITIONED] =
                  GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_BUSY | GS_SIMULATE_HOST_SPIN},
    .by_arrival = by_arrival,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = grant_in_order,
    .key = boosted_key,
};

const gs_simulate_host_way_t gs_simulate_host_fmlp = {
    .name = "fmlp",
    .modes = {[GS_SIMULATE_HOST_GEDF] = GS_SIMULATE_HOST_SUSPEND},
    .expected_modes = GS_SIMULATE_HOST_MODES_OF_GEDF,
    .by_arrival = by_arrival,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = fmlp_grant,
    .key = inherited_key,
};

const gs_simulate_host_way_t gs_simulate_host_omlp = {
    .name = "omlp",
    .modes = {[GS_SIMULATE_HOST_GEDF] = GS_SIMULATE_HOST_SUSPEND},
    .expected_modes = GS_SIMULATE_HOST_MODES_OF_GEDF,
    .by_arrival = by_arrival,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = omlp_grant,
    .key = inherited_key,
};

const gs_simulate_host_way_t gs_simulate_host_driver = {
    .name = "driver",
    .modes = {[GS_SIMULATE_HOST_GEDF] = GS_SIMULATE_HOST_SUSPEND | GS_SIMULATE_HOST_SPIN},
    .expected_modes = GS_SIMULATE_HOST_MODES_OF_GEDF,
    .one_piece = true,
    .by_arrival = by_arrival,
    .begin = begin,
    .worked = worked,
    .kernel_ended = kernel_ended,
    .grant = grant_in_order,
    .key = own_key,
};
