/* Initial state of the machine. */
#include "simulate/machine/machine.h"

#include "core/rng.h"
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_state_t state_t;
typedef gs_simulate_machine_model_t model_t;

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
    self->dirty = array(self, self->clusters / 64, sizeof *self->dirty, &status);
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
        self->dirty[g / 64] |= UINT64_C(1) << g % 64;
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
        for (int32_t k = cluster->begin; k < count; k++) {
            self->thread[self->member[k]].place = k;
        }
        gs_simulate_machine_fail(self, gs_poll(self->ctx, self->threads));
    }
    return self->status;
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
    if (status != GS_OK) {
        return status;
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
                      .job_free = -1};
    self->end_needs_cpu = self->rule->end_needs_cpu;
    machine->worst = array(self, model->n, sizeof *machine->worst, &status);
    machine->late = array(self, model->n, sizeof *machine->late, &status);
    machine->released = array(self, model->n, sizeof *machine->released, &status);
    if (model->count_responses) {
        machine->responses = array(self, model->n, sizeof *machine->responses, &status);
    }
    status = status == GS_OK ? make_threads(self) : status;
    status = status == GS_OK ? gs_simulate_machine_make_devices(self) : status;
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
        gs_simulate_gpu_free(&self->device[d], ctx);
    }
    gs_heap_free(&self->releases, ctx);
    gs_heap_free(&self->alarms, ctx);
    void *const arrays[] = {
        self->thread,      self->cluster, self->member,    self->chosen,      self->cpu,
        self->cpu_log,     self->done,    self->asked,     self->arrival,     self->number,
        self->job,         self->flying,  self->sorted,    self->shape,       self->device,
        self->holds,       self->taken,   self->ring,      self->opens,       self->is_open,
        self->entry,       self->ended,   self->sends,     self->sends_begin, self->sent,
        self->section_end, self->kernel,  self->slice_log, self->dirty,
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
    for (int64_t i = 0; machine->responses != NULL && i < machine->model.n; i++) {
        gs_histogram_free(&machine->responses[i], ctx);
    }
    gs_free(ctx, machine->responses);
    machine->responses = NULL;
    machine->state = NULL;
    machine->worst = machine->late = machine->released = NULL;
    free_columns(ctx, machine->job, GS_SIMULATE_MACHINE_JOB_COLUMNS);
    free_columns(ctx, machine->op, GS_SIMULATE_MACHINE_OP_COLUMNS);
    free_columns(ctx, machine->block_log.column, GS_SIMULATE_GPU_BLOCK_COLUMNS);
    free_columns(ctx, machine->cpu, GS_SIMULATE_MACHINE_CPU_COLUMNS);
    free_columns(ctx, machine->slice, GS_SIMULATE_MACHINE_SLICE_COLUMNS);
}
