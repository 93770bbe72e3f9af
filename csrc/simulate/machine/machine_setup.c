/* Initial state of the machine. */
#include "simulate/machine/machine.h"

#include "core/rng.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_model_t model_t;
typedef gs_simulate_machine_device_t device_t;
typedef gs_simulate_machine_context_t context_t;

static const gs_simulate_machine_rule_t *const RULES[GS_SIMULATE_MACHINE_RULES] = {
    [GS_SIMULATE_MACHINE_RULE_STREAMS] = &gs_simulate_machine_streams,
    [GS_SIMULATE_MACHINE_RULE_TIME_SLICES] = &gs_simulate_machine_time_slices,
    [GS_SIMULATE_MACHINE_RULE_GCAPS] = &gs_simulate_machine_gcaps,
    [GS_SIMULATE_MACHINE_RULE_MPCP] = &gs_simulate_machine_mpcp,
    [GS_SIMULATE_MACHINE_RULE_FMLP_PLUS] = &gs_simulate_machine_fmlp_plus,
    [GS_SIMULATE_MACHINE_RULE_SRM] = &gs_simulate_machine_srm,
    [GS_SIMULATE_MACHINE_RULE_OMLP] = &gs_simulate_machine_omlp,
    [GS_SIMULATE_MACHINE_RULE_DRIVER] = &gs_simulate_machine_driver,
    [GS_SIMULATE_MACHINE_RULE_EDF_SERIAL] = &gs_simulate_machine_edf_serial,
    [GS_SIMULATE_MACHINE_RULE_STGM] = &gs_simulate_machine_stgm,
    [GS_SIMULATE_MACHINE_RULE_GPU_SERVER] = &gs_simulate_machine_gpu_server,
    [GS_SIMULATE_MACHINE_RULE_CONTAINER] = &gs_simulate_machine_container,
    [GS_SIMULATE_MACHINE_RULE_FRAMES] = &gs_simulate_machine_frames,
};

/* An array for `count` items, which failure to allocate sets *status. */
static void *array(state_t *self, int64_t count, size_t size, int *status)
{
    void *made = *status == GS_OK ? gs_alloc(self->ctx, (size_t)count + 1, size) : NULL;
    if (made == NULL && *status == GS_OK) {
        *status = self->ctx->status;
    }
    return made;
}

static void fill(int64_t *entry, int64_t count, int64_t value)
{
    for (int64_t k = 0; k < count; k++) {
        entry[k] = value;
    }
}

/* Threads and their clusters: the tasks', then the server's. */
static int make_threads(state_t *self)
{
    const model_t *m = self->model;
    bool server = m->rule == GS_SIMULATE_MACHINE_RULE_GPU_SERVER;
    bool partitioned = m->policy == GS_SIMULATE_MACHINE_PARTITIONED;
    bool apart = server && (!partitioned || m->server_core == m->cpus);
    int status = GS_OK;
    self->n = (int32_t)m->n;
    self->threads = self->n + server;
    self->clusters = (int32_t)(partitioned ? m->cpus : 1) + apart;
    self->cpus = (int32_t)m->cpus + apart;
    self->thread = array(self, self->n, sizeof *self->thread, &status);
    self->cluster = array(self, self->clusters, sizeof *self->cluster, &status);
    self->member = array(self, self->threads, sizeof *self->member, &status);
    self->chosen = array(self, self->cpus, sizeof *self->chosen, &status);
    self->cpu = array(self, self->cpus, sizeof *self->cpu, &status);
    self->cpu_log = array(self, self->cpus, sizeof *self->cpu_log, &status);
    self->done = array(self, self->cpus, sizeof *self->done, &status);
    self->asked = array(self, self->n, sizeof *self->asked, &status);
    if (status != GS_OK) {
        return status;
    }
    for (int32_t c = 0; c < self->cpus; c++) {
        self->cpu[c] = -1;
        self->cpu_log[c] = -1;
    }
    for (int32_t r = 0; r < self->threads; r++) {
        gs_simulate_machine_thread_t *t = &self->thread[r];
        *t = (gs_simulate_machine_thread_t){.item = -1,
                                            .job = -1,
                                            .queued = -1,
                                            .queued_last = -1,
                                            .boost = 2,
                                            .lent = GS_NEVER,
                                            .server_key = -1,
                                            .cpu = -1};
        t->base = r == self->n ? -1 : m->priority[r];
        if (r == self->n) {
            t->cluster = apart ? self->clusters - 1 : (int32_t)m->server_core;
        } else {
            t->cluster = partitioned ? (int32_t)m->core[r] : 0;
        }
    }
    int32_t count = 0;
    for (int32_t g = 0; g < self->clusters; g++) {
        gs_simulate_machine_cluster_t *cluster = &self->cluster[g];
        bool own = apart && g == self->clusters - 1;
        cluster->first = own ? (int32_t)m->cpus : g;
        cluster->width = partitioned || own ? 1 : (int32_t)m->cpus;
        cluster->begin = count;
        cluster->dirty = true;
        for (int32_t r = 0; partitioned && r < self->threads; r++) {
            if (self->thread[r].cluster == g) {
                self->member[count++] = r;
            }
        }
        if (!partitioned && own) {
            self->member[count++] = self->n;
        }
        for (int32_t r = 0; !partitioned && !own && r < self->n; r++) {
            self->member[count++] = r;
        }
        cluster->end = count;
        gs_simulate_machine_fail(self, gs_poll(self->ctx, self->threads));
    }
    return self->status;
}

/* Streams, channels and contexts of the devices, as many as their numbers say. */
static int make_devices(state_t *self)
{
    const model_t *m = self->model;
    int status = GS_OK;
    self->device = array(self, m->devices, sizeof *self->device, &status);
    for (int64_t d = 0; d < m->devices && status == GS_OK; d++) {
        device_t *device = &self->device[d];
        *device = (device_t){.gpu = &m->gpu[d],
                             .stream = self->streams,
                             .channel = self->channels,
                             .context = self->contexts,
                             .owner = -1,
                             .last = -1,
                             .copy = {{-1, -1}, {-1, -1}},
                             .log = -1};
        for (int64_t left = m->engines[d]; left > 0; left >>= 2) {
            device->directions[device->engines] = left & 3;
            device->copy_end[device->engines++] = GS_NEVER;
        }
        int64_t streams = 0, channels = 0;
        for (int64_t i = 0; i < m->n; i++) {
            if (m->device[i] == d) {
                streams = m->stream[i] >= streams ? m->stream[i] + 1 : streams;
                channels = m->channel[i] >= channels ? m->channel[i] + 1 : channels;
                device->contexts =
                    m->context[i] >= device->contexts ? m->context[i] + 1 : device->contexts;
            }
        }
        self->streams += streams;
        self->channels += channels;
        self->contexts += device->contexts;
        device->sm_room = device->gpu->sms;
        device->sm = array(self, device->sm_room, sizeof *device->sm, &status);
        device->on_sm = array(self, device->gpu->sms, sizeof *device->on_sm, &status);
        device->at = array(self, device->gpu->sms, sizeof *device->at, &status);
        if (device->contexts == 1) { /* it is loaded from the start */
            device->owner = device->last = 0;
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, m->n);
        }
    }
    self->stream = array(self, self->streams, sizeof *self->stream, &status);
    self->channel = array(self, self->channels, sizeof *self->channel, &status);
    self->heads = array(self, self->streams, sizeof *self->heads, &status);
    self->context = array(self, self->contexts, sizeof *self->context, &status);
    for (int64_t k = 0; status == GS_OK && k < self->streams; k++) {
        self->stream[k] = (gs_simulate_machine_list_t){-1, -1};
    }
    for (int64_t k = 0; status == GS_OK && k < self->channels; k++) {
        self->channel[k] = (gs_simulate_machine_list_t){-1, -1};
    }
    for (int64_t d = 0; d < m->devices; d++) {
        for (int64_t c = 0; status == GS_OK && c < self->device[d].contexts; c++) {
            status = gs_block_placement_init(&self->context[self->device[d].context + c].placer,
                                             self->ctx, &m->gpu[d], GS_BLOCK_PLACEMENT_MOST_ROOM);
        }
    }
    return status;
}

/* Whether two tasks have the same queue. */
static bool share_queue(const model_t *m, int64_t i, int64_t k)
{
    return m->device[i] == m->device[k] && m->context[i] == m->context[k] &&
           m->group[i] == m->group[k] && m->level[i] == m->level[k];
}

/* Whether the queue of one task is before that of another, of the same context. */
static bool queue_precedes(const model_t *m, int64_t i, int64_t k)
{
    return m->group[i] != m->group[k] ? m->group[i] < m->group[k] : m->level[i] < m->level[k];
}

/* The queues of a context: one for each group and level, in this order. */
static int make_queues(state_t *self, int64_t d, int64_t c)
{
    const model_t *m = self->model;
    context_t *context = &self->context[self->device[d].context + c];
    context->queue_begin = self->queues;
    for (int64_t left = 1; left > 0;) {
        int64_t first = -1; /* task with the first queue of those without a number */
        left = 0;
        for (int64_t i = 0; i < m->n; i++) {
            if (m->device[i] == d && m->context[i] == c && self->queue_of[i] < 0) {
                left++;
                first = first < 0 || queue_precedes(m, i, first) ? i : first;
            }
        }
        for (int64_t i = 0; first >= 0 && i < m->n; i++) {
            if (i != first && share_queue(m, i, first)) {
                self->queue_of[i] = self->queues;
            }
        }
        if (first >= 0) {
            self->queue_of[first] = self->queues;
            self->queue[self->queues++] = (gs_simulate_machine_queue_t){
                .op = {-1, -1}, .group = m->group[first], .level = m->level[first]};
        }
        int status = gs_poll(self->ctx, 2 * m->n);
        if (status != GS_OK) {
            return status;
        }
    }
    context->queue_end = self->queues;
    return GS_OK;
}

/* SMs of the tasks as positions in the SM order, ascending; and what clients with limits hold. */
static int make_sets(state_t *self)
{
    const model_t *m = self->model;
    int status = GS_OK;
    int64_t most = 0, held = 0;
    for (int64_t d = 0; d < m->devices; d++) {
        most = m->gpu[d].sms > most ? m->gpu[d].sms : most;
    }
    self->at = array(self, m->set_begin[m->n], sizeof *self->at, &status);
    self->at_begin = array(self, m->n, sizeof *self->at_begin, &status);
    self->held_of = array(self, m->n, sizeof *self->held_of, &status);
    self->used = array(self, m->n, sizeof *self->used, &status);
    bool *is_in = array(self, most, sizeof *is_in, &status);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        const gs_gpu_t *gpu = &m->gpu[m->device[i]];
        int64_t count = self->at_begin[i];
        for (int64_t k = m->set_begin[i]; k < m->set_begin[i + 1]; k++) {
            is_in[m->set[k]] = true;
        }
        for (int32_t p = 0; p < gpu->sms; p++) {
            if (is_in[gs_gpu_sm_at(gpu, p)]) {
                self->at[count++] = p;
                is_in[gs_gpu_sm_at(gpu, p)] = false;
            }
        }
        self->at_begin[i + 1] = count;
        status = gs_poll(self->ctx, gpu->sms);
    }
    gs_free(self->ctx, is_in);
    if (status != GS_OK) {
        return status;
    }
    fill(self->held_of, m->n, -1);
    for (int64_t i = 0; i < m->n; i++) {
        if (m->limit[i] > 0 && self->held_of[m->client[i]] < 0) {
            self->held_of[m->client[i]] = held;
            held += most;
        }
    }
    self->held = array(self, held, sizeof *self->held, &status);
    return status;
}

/* Footprints of the kernels. Refuses those of which no block fits an SM. */
static int make_shapes(state_t *self)
{
    const model_t *m = self->model;
    int status = GS_OK;
    self->shape = array(self, m->item_begin[m->n], sizeof *self->shape, &status);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        int64_t number = 0;
        for (int64_t k = m->item_begin[i]; k < m->item_begin[i + 1] && status == GS_OK; k++) {
            if (m->item_kind[k] != GS_SIMULATE_MACHINE_ITEM_KERNEL) {
                continue;
            }
            self->shape[k].number = number++;
            if (m->item_whole[k] > 0) {
                continue;
            }
            gs_gpu_kernel_t kernel = {m->item_blocks[k], m->item_threads[k], m->item_regs[k],
                                      m->item_smem[k]};
            int64_t blocks;
            int limit;
            status = gs_occupancy_footprint(self->ctx, &m->gpu[m->device[i]], &kernel, k,
                                            &self->shape[k].take, &blocks, &limit);
            if (status == GS_OK && blocks == 0) {
                status = gs_fail(self->ctx, GS_ERR_VALUE, "item_threads", k, m->item_threads[k],
                                 "a block that fits an SM");
            }
        }
    }
    return status;
}

/* The tasks that each task may release. */
static int make_sends(state_t *self)
{
    const model_t *m = self->model;
    int status = GS_OK;
    self->ended = array(self, m->n, sizeof *self->ended, &status);
    self->sent = array(self, m->n, sizeof *self->sent, &status);
    self->sends_begin = array(self, m->n + 1, sizeof *self->sends_begin, &status);
    self->sends = array(self, m->after_begin[m->n], sizeof *self->sends, &status);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t k = 0; k < m->after_begin[m->n]; k++) {
        self->sends_begin[m->after[k] + 2]++;
    }
    for (int64_t i = 2; i <= m->n; i++) {
        self->sends_begin[i] += self->sends_begin[i - 1];
    }
    for (int64_t i = 0; i < m->n; i++) { /* the offsets behind move to their places */
        for (int64_t k = m->after_begin[i]; k < m->after_begin[i + 1]; k++) {
            self->sends[self->sends_begin[m->after[k] + 1]++] = i;
        }
    }
    return gs_poll(self->ctx, m->n + m->after_begin[m->n]);
}

static int make_rest(state_t *self)
{
    const model_t *m = self->model;
    int status = GS_OK;
    self->arrival = array(self, m->n, sizeof *self->arrival, &status);
    self->number = array(self, m->n, sizeof *self->number, &status);
    self->queue = array(self, m->n, sizeof *self->queue, &status);
    self->queue_of = array(self, m->n, sizeof *self->queue_of, &status);
    if (status != GS_OK) {
        return status;
    }
    fill(self->queue_of, m->n, -1);
    for (int64_t d = 0; d < m->devices; d++) {
        for (int64_t c = 0; c < self->device[d].contexts && status == GS_OK; c++) {
            status = make_queues(self, d, c);
        }
    }
    gs_rng_t rng;
    gs_rng_init(&rng, m->key, m->index, GS_RNG_STREAM_EXECUTION);
    self->time_seed = gs_rng_next(&rng);
    gs_rng_init(&rng, m->key, m->index, GS_RNG_STREAM_RELEASE);
    self->release_seed = gs_rng_next(&rng);
    self->tie_seed = gs_rng_next(&rng);
    return status;
}

int gs_simulate_machine_init(gs_simulate_machine_t *machine, gs_context_t *ctx,
                             const gs_simulate_machine_model_t *model)
{
    *machine = (gs_simulate_machine_t){.model = *model};
    int status = gs_simulate_machine_check(ctx, model);
    if (status != GS_OK) {
        return status;
    }
    state_t *self = machine->state = gs_alloc(ctx, 1, sizeof *self);
    if (self == NULL) {
        return ctx->status;
    }
    *self = (state_t){.ctx = ctx,
                      .machine = machine,
                      .model = &machine->model,
                      .rule = RULES[model->rule],
                      .holder = -1,
                      .job_free = -1,
                      .op_free = -1,
                      .flight_free = -1};
    self->end_needs_cpu = self->rule->end_needs_cpu;
    machine->worst = array(self, model->n, sizeof *machine->worst, &status);
    machine->late = array(self, model->n, sizeof *machine->late, &status);
    machine->released = array(self, model->n, sizeof *machine->released, &status);
    status = status == GS_OK ? make_threads(self) : status;
    status = status == GS_OK ? make_devices(self) : status;
    status = status == GS_OK ? make_sets(self) : status;
    status = status == GS_OK ? make_shapes(self) : status;
    status = status == GS_OK ? make_rest(self) : status;
    if (status == GS_OK && model->after_begin != NULL) {
        status = make_sends(self);
    }
    if (status == GS_OK && self->rule->init != NULL) {
        status = self->rule->init(self);
    }
    status = status == GS_OK ? gs_simulate_machine_first_releases(self) : status;
    if (status != GS_OK) {
        gs_simulate_machine_free(machine, ctx);
    }
    return status;
}

static void free_state(state_t *self, gs_context_t *ctx)
{
    for (int64_t d = 0; self->device != NULL && d < self->model->devices; d++) {
        gs_free(ctx, self->device[d].sm);
        gs_free(ctx, self->device[d].on_sm);
        gs_free(ctx, self->device[d].at);
    }
    for (int64_t c = 0; self->context != NULL && c < self->contexts; c++) {
        gs_block_placement_free(&self->context[c].placer, ctx);
        gs_heap_free(&self->context[c].ends, ctx);
    }
    gs_heap_free(&self->releases, ctx);
    gs_heap_free(&self->alarms, ctx);
    void *const arrays[] = {
        self->thread,   self->cluster,     self->member,  self->chosen,      self->cpu,
        self->cpu_log,  self->done,        self->asked,   self->arrival,     self->number,
        self->job,      self->op,          self->flying,  self->sorted,      self->shape,
        self->stream,   self->channel,     self->heads,   self->device,      self->context,
        self->queue,    self->at,          self->held,    self->held_of,     self->used,
        self->queue_of, self->flight,      self->holds,   self->taken,       self->ring,
        self->opens,    self->at_begin,    self->is_open, self->entry,       self->ended,
        self->sends,    self->sends_begin, self->sent,    self->section_end,
    };
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        gs_free(ctx, arrays[k]);
    }
}

static void free_columns(gs_context_t *ctx, int64_t **columns, int count)
{
    for (int c = 0; c < count; c++) {
        gs_free(ctx, columns[c]);
        columns[c] = NULL;
    }
}

void gs_simulate_machine_free(gs_simulate_machine_t *machine, gs_context_t *ctx)
{
    if (machine->state != NULL) {
        free_state(machine->state, ctx);
    }
    gs_free(ctx, machine->state);
    gs_free(ctx, machine->worst);
    gs_free(ctx, machine->late);
    gs_free(ctx, machine->released);
    machine->state = NULL;
    machine->worst = machine->late = machine->released = NULL;
    free_columns(ctx, machine->job, GS_SIMULATE_MACHINE_JOB_COLUMNS);
    free_columns(ctx, machine->op, GS_SIMULATE_MACHINE_OP_COLUMNS);
    free_columns(ctx, machine->block, GS_SIMULATE_MACHINE_BLOCK_COLUMNS);
    free_columns(ctx, machine->cpu, GS_SIMULATE_MACHINE_CPU_COLUMNS);
    free_columns(ctx, machine->slice, GS_SIMULATE_MACHINE_SLICE_COLUMNS);
}
