/* Checks of the machine's model. */
#include "simulate/machine/machine_parts.h"

typedef gs_simulate_machine_model_t model_t;

#define TASKS (INT64_C(1) << 20)

static int check_different(gs_context_t *ctx, const char *field, const int64_t *entry,
                           int64_t count)
{
    gs_heap_t heap = {0};
    int status = GS_OK;
    for (int64_t i = 0; i < count && status == GS_OK; i++) {
        status = gs_heap_push(&heap, ctx, entry[i], i);
    }
    for (int64_t last = -1; heap.count > 0 && status == GS_OK; gs_heap_pop(&heap)) {
        int64_t i = heap.entry[0].item;
        if (last >= 0 && entry[last] == entry[i]) {
            status = gs_fail(ctx, GS_ERR_VALUE, field, i, entry[i], "numbers that all differ");
        }
        last = i;
    }
    gs_heap_free(&heap, ctx);
    return status;
}

/* The container's server. */
static int check_server(gs_context_t *ctx, const model_t *m)
{
    if (m->policy != GS_SIMULATE_MACHINE_GLOBAL_EDF) {
        return gs_fail(ctx, GS_ERR_VALUE, "policy", -1, m->policy, "global EDF for the container");
    }
    int status = gs_check_times(ctx, "server_period", &m->server_period, 1, 1);
    if (status == GS_OK && (m->server_budget < 1 || m->server_budget > m->server_period)) {
        status = gs_fail(ctx, GS_ERR_VALUE, "server_budget", -1, m->server_budget,
                         "a time of 1 to the server's period");
    }
    return status;
}

static int check_options(gs_context_t *ctx, const model_t *m)
{
    const struct {
        const char *field;
        int64_t value, least, most;
        const char *reason;
    } options[] = {
        {"n", m->n, 1, TASKS - 1, "1 to 2**20 - 1 tasks"},
        {"cpus", m->cpus, 1, INT32_MAX - 1, "a positive number below 2**31 - 1"},
        {"devices", m->devices, 1, INT32_MAX, "a positive number below 2**31"},
        {"policy", m->policy, 0, GS_SIMULATE_MACHINE_POLICIES - 1, "a known CPU scheduler"},
        {"rule", m->rule, 0, GS_SIMULATE_MACHINE_RULES - 1, "a known rule"},
        {"mode", m->mode, 0, GS_SIMULATE_MACHINE_MODES - 1, "a known mode"},
        {"ring", m->ring, 0, GS_SIMULATE_MACHINE_RING_CYCLIC, "a known ring"},
        {"draw", m->draw, 0, GS_SIMULATE_MACHINE_DRAWS - 1, "a known kind of draws"},
        {"server_core", m->server_core, 0, m->cpus, "a core, or the number of cores"},
        {"victim", m->victim, -1, m->n - 1, "a task, or -1"},
        {"gap", m->gap.over, 0, INT32_MAX, "a share of at least 0"},
        {"gap", m->gap.under, 1, INT32_MAX, "a share with a divisor below 2**31"},
        {"grain", m->grain, 1, GS_CHECK_LATEST, "a positive number"},
        {"last", m->last, 0, GS_NEVER, "an instant"},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].value < options[i].least || options[i].value > options[i].most) {
            return gs_fail(ctx, GS_ERR_VALUE, options[i].field, -1, options[i].value,
                           options[i].reason);
        }
    }
    const struct {
        const char *field;
        int64_t value, least;
    } times[] = {
        {"latency", m->latency, 0},
        {"kernel_gap", m->kernel_gap, 0},
        {"wake_latency", m->wake_latency, 0},
        {"timeslice", m->timeslice, m->rule == GS_SIMULATE_MACHINE_RULE_TIME_SLICES},
        {"context_switch", m->context_switch, 0},
        {"update_cost", m->update_cost, 0},
        {"server_overhead", m->server_overhead, 0},
        {"until", m->until, 0},
    };
    int status = m->rule == GS_SIMULATE_MACHINE_RULE_CONTAINER ? check_server(ctx, m) : GS_OK;
    for (size_t i = 0; i < sizeof times / sizeof *times && status == GS_OK; i++) {
        status = gs_check_times(ctx, times[i].field, &times[i].value, 1, times[i].least);
    }
    return status;
}

static int check_devices(gs_context_t *ctx, const model_t *m)
{
    int status = GS_OK;
    for (int64_t d = 0; d < m->devices && status == GS_OK; d++) {
        status = gs_gpu_check(ctx, &m->gpu[d]);
    }
    if (status == GS_OK) {
        status = gs_check_range(ctx, "grids", m->grids, m->devices, 0, INT32_MAX,
                                "a number of kernels, or 0");
    }
    if (status == GS_OK) {
        status = gs_check_range(ctx, "engines", m->engines, m->devices, 0,
                                (INT64_C(1) << 2 * GS_SIMULATE_MACHINE_ENGINES) - 1,
                                "the directions of at most 31 copy engines");
    }
    for (int64_t d = 0; d < m->devices && status == GS_OK; d++) {
        for (int64_t left = m->engines[d]; left > 0 && status == GS_OK; left >>= 2) {
            if ((left & 3) == 0) {
                status = gs_fail(ctx, GS_ERR_VALUE, "engines", d, m->engines[d],
                                 "a direction for each copy engine");
            }
        }
    }
    if (status == GS_OK) {
        status = gs_check_offsets(ctx, "gpc_begin", m->gpc_begin, m->devices, 0);
    }
    for (int64_t d = 0; m->gpc_begin != NULL && d < m->devices && status == GS_OK; d++) {
        status = gs_simulate_gpu_check_gpcs(ctx, &m->gpu[d], m->gpc_sms + m->gpc_begin[d],
                                            m->gpc_begin[d + 1] - m->gpc_begin[d]);
    }
    bool one = m->rule == GS_SIMULATE_MACHINE_RULE_TIME_SLICES ||
               m->rule == GS_SIMULATE_MACHINE_RULE_GCAPS ||
               m->rule == GS_SIMULATE_MACHINE_RULE_STGM;
    if (status == GS_OK && one && m->devices > 1) {
        status = gs_fail(ctx, GS_ERR_VALUE, "devices", -1, m->devices, "one device for this rule");
    }
    return status;
}

static int check_tasks(gs_context_t *ctx, const model_t *m)
{
    int status = gs_check_times(ctx, "period", m->period, m->n, 1);
    status = status != GS_OK ? status : gs_check_times(ctx, "deadline", m->deadline, m->n, 1);
    status = status != GS_OK ? status : gs_check_times(ctx, "offset", m->offset, m->n, 0);
    status = status != GS_OK ? status : gs_check_times(ctx, "jitter", m->jitter, m->n, 0);
    status = status != GS_OK ? status
                             : gs_check_range(ctx, "priority", m->priority, m->n, 0, INT32_MAX,
                                              "a number of at least 0 below 2**31");
    if (status == GS_OK && m->policy == GS_SIMULATE_MACHINE_PARTITIONED) {
        status = gs_check_range(ctx, "core", m->core, m->n, 0, m->cpus - 1, "the index of a CPU");
    }
    if (status == GS_OK && m->rule == GS_SIMULATE_MACHINE_RULE_GCAPS) {
        status = check_different(ctx, "gpu_priority", m->gpu_priority, m->n);
    }
    if (status == GS_OK && m->rule == GS_SIMULATE_MACHINE_RULE_EDF_SERIAL) {
        status = gs_check_times(ctx, "tail", m->tail, m->n, 0);
    }
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        if (m->gap.over / m->gap.under >= GS_CHECK_LATEST / m->period[i]) {
            status = gs_fail(ctx, GS_ERR_OVERFLOW, "gap", i, m->gap.over, "gaps below 2**59 ticks");
        }
    }
    return status;
}

/* Tasks of one client have one limit, on one device. */
static int check_clients(gs_context_t *ctx, const model_t *m)
{
    int status = GS_OK;
    int64_t *first = gs_alloc(ctx, (size_t)m->n, sizeof *first); /* task of each client, from 1 */
    if (first == NULL) {
        return ctx->status;
    }
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        int64_t k = first[m->client[i]] - 1;
        if (k < 0) {
            first[m->client[i]] = i + 1;
        } else if (m->limit[i] != m->limit[k]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "limit", i, m->limit[i], "one limit of a client");
        } else if (m->limit[i] > 0 && m->device[i] != m->device[k]) {
            status =
                gs_fail(ctx, GS_ERR_VALUE, "client", i, m->client[i], "a client of one device");
        }
    }
    gs_free(ctx, first);
    return status;
}

static int check_rooms(gs_context_t *ctx, const model_t *m)
{
    int status =
        gs_check_range(ctx, "device", m->device, m->n, 0, m->devices - 1, "the index of a device");
    const struct {
        const char *field;
        const int64_t *entry;
        int64_t least;
    } rooms[] = {
        {"stream", m->stream, 0}, {"context", m->context, -1}, {"group", m->group, 0},
        {"level", m->level, 0},   {"channel", m->channel, -1}, {"client", m->client, 0},
    };
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms && status == GS_OK; i++) {
        status = gs_check_range(ctx, rooms[i].field, rooms[i].entry, m->n, rooms[i].least, m->n - 1,
                                "a number below that of the tasks");
    }
    if (status == GS_OK) {
        status = gs_check_range(ctx, "limit", m->limit, m->n, 0, GS_GPU_MAX_SMS, "a number of SMs");
    }
    status = status == GS_OK ? check_clients(ctx, m) : status;
    if (status == GS_OK) {
        status = gs_check_offsets(ctx, "set_begin", m->set_begin, m->n, 0);
    }
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        status = gs_check_range(ctx, "set", m->set + m->set_begin[i],
                                m->set_begin[i + 1] - m->set_begin[i], 0,
                                m->gpu[m->device[i]].sms - 1, "an SM of the device");
    }
    return status;
}

/* The steps of a task: sections alternate, calls are waited for, and the last one is the STOP. */
static int check_steps(gs_context_t *ctx, const model_t *m, int64_t i)
{
    bool open = false, called = false;
    int64_t items = m->item_begin[i + 1] - m->item_begin[i];
    for (int64_t s = m->step_begin[i]; s < m->step_begin[i + 1]; s++) {
        int64_t kind = m->step_kind[s], item = m->step_item[s];
        if (kind < 0 || kind >= GS_SIMULATE_MACHINE_STEPS) {
            return gs_fail(ctx, GS_ERR_VALUE, "step_kind", s, kind, "a known kind of step");
        }
        if ((kind == GS_SIMULATE_MACHINE_STOP) != (s == m->step_begin[i + 1] - 1)) {
            return gs_fail(ctx, GS_ERR_VALUE, "step_kind", s, kind, "a STOP at the end, and there");
        }
        bool work = kind == GS_SIMULATE_MACHINE_WORK, call = kind == GS_SIMULATE_MACHINE_CALL;
        if ((work || call) && (item < 0 || item >= items)) {
            return gs_fail(ctx, GS_ERR_VALUE, "step_item", s, item, "an item of the task");
        }
        if ((kind == GS_SIMULATE_MACHINE_BEGIN && open) ||
            (kind == GS_SIMULATE_MACHINE_END && (!open || called)) ||
            (kind == GS_SIMULATE_MACHINE_STOP && (open || called))) {
            return gs_fail(ctx, GS_ERR_VALUE, "step_kind", s, kind,
                           "sections that begin and end in turn, after a WAIT for what was called");
        }
        open = (open || kind == GS_SIMULATE_MACHINE_BEGIN) && kind != GS_SIMULATE_MACHINE_END;
        called = (called || call) && kind != GS_SIMULATE_MACHINE_WAIT;
        bool on_gpu =
            (work || call) && m->item_kind[m->item_begin[i] + item] != GS_SIMULATE_MACHINE_ITEM_CPU;
        if (call && !on_gpu) {
            return gs_fail(ctx, GS_ERR_VALUE, "step_item", s, item, "a copy or a kernel to call");
        }
    }
    return gs_poll(ctx, items);
}

/* Whether an engine of a device serves a direction. */
static bool serves(const model_t *m, int64_t d, int64_t direction)
{
    bool found = direction >= 2 && direction < GS_SIMULATE_GPU_DIRECTIONS; /* DLAs */
    for (int64_t left = m->engines[d]; left > 0; left >>= 2) {
        found = found || (direction < 2 && (left >> direction & 1) != 0);
    }
    return found;
}

static int check_item(gs_context_t *ctx, const model_t *m, int64_t i, int64_t k)
{
    int64_t kind = m->item_kind[k], d = m->device[i], sms = m->gpu[d].sms;
    if (kind < 0 || kind >= GS_SIMULATE_MACHINE_ITEMS) {
        return gs_fail(ctx, GS_ERR_VALUE, "item_kind", k, kind, "a known kind of item");
    }
    if (kind == GS_SIMULATE_MACHINE_ITEM_COPY &&
        (m->item_engine[k] < 0 || !serves(m, d, m->item_engine[k]))) {
        return gs_fail(ctx, GS_ERR_VALUE, "item_engine", k, m->item_engine[k],
                       "a direction that an engine of the device has, or 2 to 5 for a DLA");
    }
    if (kind != GS_SIMULATE_MACHINE_ITEM_KERNEL) {
        return GS_OK;
    }
    if (m->context[i] < 0 || m->channel[i] < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, m->context[i] < 0 ? "context" : "channel", i, -1,
                       "one for a task with kernels");
    }
    if (m->set_begin[i] < m->set_begin[i + 1]) {
        sms = m->set_begin[i + 1] - m->set_begin[i];
    }
    sms = m->limit[i] > 0 && m->limit[i] < sms ? m->limit[i] : sms;
    if (m->item_whole[k] > 0 &&
        (m->item_interference != NULL || m->item_cooperative != NULL || m->item_cluster != NULL)) {
        return gs_fail(ctx, GS_ERR_VALUE, "item_whole", k, m->item_whole[k],
                       "0 with clusters, cooperative kernels or interference");
    }
    if (m->item_whole[k] < 0 || m->item_whole[k] > sms) {
        return gs_fail(ctx, GS_ERR_VALUE, "item_whole", k, m->item_whole[k],
                       "at most the SMs that the task may use");
    }
    return GS_OK;
}

static int check_knots(gs_context_t *ctx, const model_t *m)
{
    int64_t items = m->item_begin[m->n];
    int status = gs_check_offsets(ctx, "knot_begin", m->knot_begin, items, 0);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        int64_t last = m->item_begin[i + 1];
        for (int64_t k = m->item_begin[i]; k < last && status == GS_OK; k++) {
            if (m->item_drawn[k] < 0 || m->item_drawn[k] >= last - m->item_begin[i]) {
                status = gs_fail(ctx, GS_ERR_VALUE, "item_drawn", k, m->item_drawn[k],
                                 "the number of an item of the task");
            }
        }
    }
    for (int64_t k = 0; k < items && status == GS_OK; k++) {
        int64_t rank = -1, time = 1;
        for (int64_t j = m->knot_begin[k]; j < m->knot_begin[k + 1] && status == GS_OK; j++) {
            if (m->knot_rank[j] <= rank) {
                status = gs_fail(ctx, GS_ERR_VALUE, "knot_rank", j, m->knot_rank[j],
                                 "ranks from 0 on that ascend in an item");
            } else if (m->knot_time[j] < time || m->knot_time[j] > m->item_time[k]) {
                status = gs_fail(ctx, GS_ERR_VALUE, "knot_time", j, m->knot_time[j],
                                 "positive times that ascend in an item, at most item_time");
            }
            rank = m->knot_rank[j];
            time = m->knot_time[j];
        }
    }
    return status != GS_OK ? status : gs_poll(ctx, items);
}

static int check_programs(gs_context_t *ctx, const model_t *m)
{
    int status = gs_check_offsets(ctx, "item_begin", m->item_begin, m->n, 1);
    status = status != GS_OK ? status : gs_check_offsets(ctx, "step_begin", m->step_begin, m->n, 1);
    if (status != GS_OK) {
        return status;
    }
    status = gs_check_times(ctx, "item_time", m->item_time, m->item_begin[m->n], 1);
    for (int64_t k = 0; k < m->item_begin[m->n] && status == GS_OK; k++) {
        if (m->item_least[k] < 1 || m->item_least[k] > m->item_time[k]) {
            status = gs_fail(ctx, GS_ERR_VALUE, "item_least", k, m->item_least[k],
                             "a positive time of at most item_time");
        }
    }
    const gs_simulate_gpu_kernels_t kernels = {
        m->item_begin[m->n],  m->item_kind,
        m->item_blocks,       GS_SIMULATE_MACHINE_ITEM_KERNEL,
        m->item_cluster,      m->item_cooperative,
        m->item_interference,
    };
    status = status == GS_OK ? gs_simulate_gpu_check_kernels(ctx, &kernels) : status;
    status = status == GS_OK && m->knot_begin != NULL ? check_knots(ctx, m) : status;
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        for (int64_t k = m->item_begin[i]; k < m->item_begin[i + 1] && status == GS_OK; k++) {
            status = check_item(ctx, m, i, k);
        }
        status = status == GS_OK ? check_steps(ctx, m, i) : status;
    }
    return status;
}

static int check_frames(gs_context_t *ctx, const model_t *m)
{
    if (m->frames < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "frames", -1, m->frames, "a number of at least 0");
    }
    int status = gs_check_times(ctx, "frame_period", &m->frame_period, 1, 1);
    status =
        status != GS_OK ? status : gs_check_times(ctx, "frame_start", m->frame_start, m->frames, 0);
    status = status != GS_OK ? status
                             : gs_check_offsets(ctx, "entry_begin", m->entry_begin, m->frames, 0);
    if (status != GS_OK) {
        return status;
    }
    int64_t entries = m->entry_begin[m->frames];
    status = gs_check_range(ctx, "entry_task", m->entry_task, entries, 0, m->n - 1,
                            "the index of a task");
    status = status != GS_OK ? status
                             : gs_check_range(ctx, "entry_job", m->entry_job, entries, 0, INT32_MAX,
                                              "the number of a job");
    return status != GS_OK ? status
                           : gs_check_range(ctx, "entry_kernel", m->entry_kernel, entries, 0,
                                            INT32_MAX, "the number of a kernel");
}

/* Given releases: ascending, each not before its arrival. */
static int check_releases(gs_context_t *ctx, const model_t *m)
{
    int status = gs_check_offsets(ctx, "release_begin", m->release_begin, m->n, 0);
    if (status != GS_OK) {
        return status;
    }
    int64_t count = m->release_begin[m->n];
    status = gs_check_times(ctx, "arrival", m->arrival, count, 0);
    status = status != GS_OK ? status : gs_check_times(ctx, "release", m->release, count, 0);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        for (int64_t k = m->release_begin[i]; k < m->release_begin[i + 1]; k++) {
            if (m->release[k] < m->arrival[k] ||
                (k > m->release_begin[i] && m->release[k] < m->release[k - 1])) {
                return gs_fail(ctx, GS_ERR_VALUE, "release", k, m->release[k],
                               "releases that rise, each not before its arrival");
            }
        }
    }
    return status;
}

/* Links: tasks before each task. */
static int check_links(gs_context_t *ctx, const model_t *m)
{
    int status = gs_check_offsets(ctx, "after_begin", m->after_begin, m->n, 0);
    if (status != GS_OK) {
        return status;
    }
    status = gs_check_range(ctx, "after", m->after, m->after_begin[m->n], 0, m->n - 1,
                            "the index of a task");
    return status != GS_OK ? status
                           : gs_check_range(ctx, "every", m->every, m->n, 1, INT32_MAX,
                                            "a positive number below 2**31");
}

static int check_given(gs_context_t *ctx, const model_t *m)
{
    int status = gs_check_offsets(ctx, "given_begin", m->given_begin, m->n, 0);
    for (int64_t i = 0; i < m->n && status == GS_OK; i++) {
        int64_t items = m->item_begin[i + 1] - m->item_begin[i];
        if ((m->given_begin[i + 1] - m->given_begin[i]) % items != 0) {
            status = gs_fail(ctx, GS_ERR_VALUE, "given_begin", i, m->given_begin[i + 1],
                             "whole rows of the task's items");
        }
    }
    return status;
}

int gs_simulate_machine_check(gs_context_t *ctx, const model_t *m)
{
    int status = check_options(ctx, m);
    status = status != GS_OK ? status : check_devices(ctx, m);
    status = status != GS_OK ? status : check_tasks(ctx, m);
    status = status != GS_OK ? status : check_rooms(ctx, m);
    status = status != GS_OK ? status : check_programs(ctx, m);
    if (status == GS_OK && m->rule == GS_SIMULATE_MACHINE_RULE_FRAMES) {
        status = check_frames(ctx, m);
    }
    if (status == GS_OK && m->release_begin != NULL) {
        status = check_releases(ctx, m);
    }
    if (status == GS_OK && m->given_begin != NULL) {
        status = check_given(ctx, m);
    }
    if (status == GS_OK && m->after_begin != NULL) {
        status = check_links(ctx, m);
    }
    return status;
}
