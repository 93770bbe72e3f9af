/* The stand-in's GPU: a simplified version of the rules of the hierarchy simulator.
 *
 * Streams are FIFO queues; kernels join one queue per priority and group (green contexts); only the
 * kernel at the head of a queue gets SMs; each block goes to the SM with the most room; copies and
 * memsets wait for copy engines. Blocks with memory traffic slow each other.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#define WARPS 64
#define SLOTS 32
#define COOL_NS 10000000 /* after so long without work a device is idle */

device_t devices[MAX_DEVICES];
static const int carveouts[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
static uint32_t drawn = 1;

void gpu_reset(void)
{
    for (int d = 0; d < MAX_DEVICES; d++) {
        while (devices[d].ops != NULL) {
            op_t *op = devices[d].ops;
            devices[d].ops = op->next;
            free(op);
        }
        free(devices[d].blocks);
        memset(&devices[d], 0, sizeof devices[d]);
        devices[d].last = &devices[d].ops;
        devices[d].idle = -COOL_NS;
    }
    drawn = 1;
}

int gpu_rule(int rule)
{
    if (setting[rule] != RANDOM) {
        return (int)setting[rule];
    }
    drawn = drawn * 1664525u + 1013904223u;
    return (int)(drawn >> 16 & 1);
}

int64_t gpu_timer(int64_t instant)
{
    int64_t gained = instant / 1000000 * setting[S_drift]; /* parts per million */
    return (instant + gained + setting[S_skew]) / setting[S_resolution] * setting[S_resolution];
}

/* Time slices ---------------------------------------------------------------------------------- */

/* Start of this process's turn at or before an instant, or of the next one; *end: its end. */
static int64_t turn_of(int64_t instant, int64_t *end)
{
    int own = 0, all = 1;
    if (setting[S_slice] != 0) {
        processes_of(&own, &all);
    }
    if (all < 2) {
        *end = NEVER;
        return instant;
    }
    int64_t each = setting[S_slice] + setting[S_context_switch], cycle = all * each;
    int64_t begin = instant / cycle * cycle + own * each;
    begin += begin + setting[S_slice] <= instant ? cycle : 0;
    *end = begin + setting[S_slice];
    return begin > instant ? begin : instant;
}

int64_t gpu_turn(int64_t instant)
{
    int64_t end;
    return turn_of(instant, &end);
}

/* The instant at which so much work is done, in the turns of this process. */
static int64_t worked(int64_t instant, int64_t work)
{
    for (;;) {
        int64_t end, begin = turn_of(instant, &end);
        if (work <= end - begin) {
            return begin + work;
        }
        work -= end - begin;
        instant = end;
    }
}

/* SMs ------------------------------------------------------------------------------------------ */

int gpu_smem(int64_t smem)
{
    return (int)((smem + 1024 + 127) / 128 * 128);
}

static int regs_of(const op_t *op)
{
    return (op->regs * 32 + 255) / 256 * 256;
}

static int room(const device_t *device, const op_t *op, int sm)
{
    int64_t rule = setting[S_carveouts];
    if (device->slots[sm] > 0 && ((rule == 1 && device->carveout[sm] != op->carveout) ||
                                  (rule == 2 && device->carveout[sm] < op->carveout))) {
        return 0;
    }
    int most = (WARPS - device->warps[sm]) / op->warps;
    int slots = SLOTS - device->slots[sm];
    int smem = (228 * 1024 - device->smem[sm]) / op->smem;
    int per_warp = regs_of(op);
    int regs = (4 * (16384 / per_warp) * per_warp - device->regs[sm]) / (per_warp * op->warps);
    most = slots < most ? slots : most;
    most = smem < most ? smem : most;
    return regs < most ? regs : most;
}

int gpu_occupancy(const op_t *op)
{
    static const device_t empty;
    return room(&empty, op, 0);
}

int gpu_carveout(const op_t *op, int percent, bool has_smem)
{
    int needed = percent >= 0 ? 228 * 1024 * percent / 100
                 : has_smem   ? gpu_occupancy(op) * op->smem
                              : 0;
    size_t k = 0;
    while (k + 1 < sizeof carveouts / sizeof *carveouts && carveouts[k] * 1024 < needed) {
        k++;
    }
    return carveouts[k];
}

/* SMs that this client of MPS may use. */
static int share_of_client(void)
{
    const char *text = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
    int64_t sms = setting[S_sms], unit = setting[S_share_unit];
    int64_t percent = text == NULL ? 100 : strtol(text, NULL, 10);
    int64_t exact = sms * percent, up = gpu_rule(S_share_rule) ? 100 * unit - 1 : 0;
    int64_t share = (exact + up) / (100 * unit) * unit;
    return (int)(share < unit ? unit : share < sms ? share : sms);
}

static int gpc_of(int sm)
{
    int gpcs = (int)((setting[S_sms] + setting[S_gpc] - 1) / setting[S_gpc]);
    return setting[S_gpc_rule] == 0 ? sm / (int)setting[S_gpc] : sm % gpcs;
}

static int sm_at(const device_t *device, int position)
{
    int sms = (int)setting[S_sms], evens = (sms + 1) / 2;
    switch (setting[S_order]) {
    case 0:
        return position < evens ? 2 * position : 2 * (position - evens) + 1;
    case 2:
        return (position + device->next) % sms;
    default:
        return position;
    }
}

static bool may_use(const op_t *op, int sm)
{
    if (op->stream != NULL && op->stream->sms != 0) {
        return sm >= op->stream->first && sm < op->stream->first + op->stream->sms;
    }
    return true;
}

/* The SM for the next block, -1: none. gpc -1: any. */
static int choose(device_t *device, const op_t *op, int gpc)
{
    int sms = (int)setting[S_sms], best = -1, most = 0;
    bool in_turn = setting[S_policy] != 0;
    for (int p = 0; p < sms && p < op->share; p++) {
        int sm = sm_at(device, in_turn ? (device->next + p) % sms : p);
        if (!may_use(op, sm) || (gpc >= 0 && gpc_of(sm) != gpc)) {
            continue;
        }
        int free = room(device, op, sm);
        if (free > most) {
            best = sm;
            most = free;
            if (in_turn) {
                device->next = (device->next + p + 1) % sms;
                break;
            }
        }
    }
    return best;
}

/* Clusters of a kernel that a GPC can host now. */
static int clusters_in(const device_t *device, const op_t *op, int gpc)
{
    int blocks = 0;
    for (int sm = 0; sm < setting[S_sms]; sm++) {
        blocks += may_use(op, sm) && gpc_of(sm) == gpc ? room(device, op, sm) : 0;
    }
    return blocks / op->cluster;
}

/* The GPC for the next cluster, -1: none. */
static int choose_gpc(const device_t *device, const op_t *op)
{
    int best = -1, most = 0, any = gpu_rule(S_gpc_choice);
    for (int p = 0; p < setting[S_sms]; p++) {
        int gpc = gpc_of(sm_at(device, p)), hosts = clusters_in(device, op, gpc);
        if (hosts > most) {
            best = gpc;
            most = hosts;
            if (any) {
                break;
            }
        }
    }
    return best;
}

/* Blocks --------------------------------------------------------------------------------------- */

static bool copies_run(const device_t *device, int64_t now)
{
    for (const op_t *op = device->ops; op != NULL; op = op->next) {
        if (!op->kernel && op->joined >= 0 && op->end > now) {
            return true;
        }
    }
    return false;
}

/* Blocks with memory traffic slow each other: most on the same SM, then in the same GPC, little
 * elsewhere; a running copy slows them, too. Decided when the block starts. */
static int64_t block_work(device_t *device, const op_t *op, int sm, int64_t now)
{
    int64_t percent = 100;
    if (op->spin.memory != 0) {
        int beside = 0, others = 0;
        for (int s = 0; s < setting[S_sms]; s++) {
            beside += s != sm && gpc_of(s) == gpc_of(sm) ? device->traffic[s] : 0;
            others += gpc_of(s) != gpc_of(sm) ? device->traffic[s] : 0;
        }
        percent += device->traffic[sm] != 0 ? 100 : 0;
        percent += beside != 0 ? 60 : 0;
        percent += others > 0 ? 10 : 0;
        percent += copies_run(device, now) ? 50 : 0;
    }
    if (device->resident == 0 && now - device->idle >= COOL_NS) {
        device->warm = now;
    }
    if (now - device->warm < setting[S_ramp_ns]) {
        int64_t left = setting[S_ramp_ns] - (now - device->warm);
        percent += setting[S_ramp] * left / setting[S_ramp_ns];
    }
    int64_t unit = setting[S_unit] * (op->spin.memory != 0 ? 2 : 1);
    return (int64_t)op->spin.iterations * unit * percent / 100;
}

static void start_block(device_t *device, op_t *op, int sm, int64_t now)
{
    int64_t work = block_work(device, op, sm, now);
    int64_t end = worked(now, work), least = gpu_turn(now + (int64_t)op->spin.ns);
    end = gpu_turn((end > least ? end : least) + 100);
    int64_t trigger = op->spin.trigger == 0 ? end : now + (int64_t)op->spin.trigger;
    if (device->resident == device->room) {
        device->room = device->room == 0 ? 64 : 2 * device->room;
        device->blocks = realloc(device->blocks, (size_t)device->room * sizeof *device->blocks);
        if (device->blocks == NULL) {
            abort();
        }
    }
    device->blocks[device->resident++] =
        (block_t){now, trigger < end ? trigger : end, end, op->assigned, op, sm};
    device->carveout[sm] = device->slots[sm] == 0 ? op->carveout : device->carveout[sm];
    device->warps[sm] += op->warps;
    device->slots[sm]++;
    device->smem[sm] += op->smem;
    device->regs[sm] += regs_of(op) * op->warps;
    device->traffic[sm] += op->spin.memory != 0;
    op->assigned++;
}

/* A kernel that writes where no memory is destroys the context. */
static bool writes(device_t *device, uint64_t address, int64_t bytes)
{
    if (address != 0 && !memory_has(address, bytes)) {
        device->lost = GS_CUDA_API_ILLEGAL_ADDRESS;
    }
    return address != 0 && device->lost == 0;
}

static void write_log(device_t *device, const block_t *block)
{
    const op_t *op = block->op;
    uint64_t row[3] = {(uint64_t)gpu_timer(block->start), (uint64_t)gpu_timer(block->end),
                       (uint64_t)block->sm};
    uint64_t log = op->spin.log + (op->spin.log != 0 ? 24 * (uint64_t)block->number : 0);
    if (op->logs && writes(device, log, sizeof row)) {
        memcpy((void *)(uintptr_t)log, row, sizeof row);
    }
    if (op->logs && writes(device, op->spin.summary, 16)) {
        uint64_t *summary = (uint64_t *)(uintptr_t)op->spin.summary;
        summary[0] = row[0] < summary[0] ? row[0] : summary[0];
        summary[1] = ~row[1] < summary[1] ? ~row[1] : summary[1];
    }
}

static void end_blocks(device_t *device, int64_t now)
{
    for (int b = 0; b < device->resident; b++) {
        block_t *block = &device->blocks[b];
        if (block->end > now) {
            continue;
        }
        op_t *op = block->op;
        write_log(device, block);
        device->warps[block->sm] -= op->warps;
        device->slots[block->sm]--;
        device->smem[block->sm] -= op->smem;
        device->regs[block->sm] -= regs_of(op) * op->warps;
        device->traffic[block->sm] -= op->spin.memory != 0;
        op->done = ++op->finished == op->blocks;
        device->idle = now;
        *block = device->blocks[--device->resident];
        b--;
    }
}

/* The memory changes when the copy or memset ends. */
static void end_copies(device_t *device, int64_t now)
{
    for (op_t *op = device->ops; op != NULL; op = op->next) {
        if (op->kernel || op->joined < 0 || op->end > now || op->done) {
            continue;
        }
        op->done = true;
        if (op->from == 0 && writes(device, op->to, op->bytes)) {
            memset((void *)(uintptr_t)op->to, op->value, (size_t)op->bytes);
        } else if (op->from != 0) {
            memcpy((void *)(uintptr_t)op->to, (void *)(uintptr_t)op->from, (size_t)op->bytes);
        }
    }
    for (op_t **link = &device->ops; *link != NULL;) {
        op_t *op = *link;
        if (op->done) {
            *link = op->next;
            device->last = *link == NULL ? link : device->last;
            free(op);
        } else {
            link = &op->next;
        }
    }
}

/* Queues --------------------------------------------------------------------------------------- */

static bool triggered(const device_t *device, const op_t *op, int64_t now)
{
    bool all = op->kernel && op->assigned == op->blocks;
    for (int b = 0; all && b < device->resident; b++) {
        all = device->blocks[b].op != op || device->blocks[b].trigger <= now;
    }
    return all;
}

/* Whether an operation at rest may join its queue now. */
static bool may_join(const device_t *device, const op_t *op, int64_t now)
{
    const op_t *before = NULL; /* in its stream */
    for (const op_t *other = device->ops; other != op; other = other->next) {
        before = other->stream == op->stream ? other : before;
    }
    for (const op_t *other = device->ops; other != op; other = other->next) {
        bool waits = op->stream == other->stream;
        if (op->stream == NULL || other->stream == NULL) { /* the NULL stream, and blocking ones */
            waits = (op->stream == NULL || op->stream->blocking) &&
                    (other->stream == NULL || other->stream->blocking);
        }
        if (waits && !(op->programmatic && !op->ignores_triggers && other == before &&
                       triggered(device, other, now))) {
            return false;
        }
        int channel = op->stream == NULL ? 0 : op->stream->channel;
        int others = other->stream == NULL ? 0 : other->stream->channel;
        bool released =
            other->kernel && !other->releases_at_end && other->assigned == other->blocks;
        if (setting[S_channels] != 0 && channel == others && !released &&
            other->stream != op->stream) {
            return false;
        }
    }
    return true;
}

static void start_copy(device_t *device, op_t *op, int64_t now)
{
    int engines = (int)setting[S_engines], engine = op->engine < engines ? op->engine : 0;
    bool any = gpu_rule(S_engine_rule) != 0;
    for (int e = 0; e < engines && any; e++) {
        engine = device->engine_free[e] < device->engine_free[engine] ? e : engine;
    }
    int64_t begin = device->engine_free[engine] > now ? device->engine_free[engine] : now;
    op->end = device->engine_free[engine] = begin + op->takes;
}

static bool before(const op_t *a, const op_t *b)
{
    bool differ = a->priority != b->priority && setting[S_priorities] == 0;
    return differ ? a->priority < b->priority : a->joined < b->joined;
}

/* Starts a block or a cluster of the kernel, if there is room. */
static bool start_some(device_t *device, op_t *op, int64_t now)
{
    int gpc = op->cluster > 1 ? choose_gpc(device, op) : -1;
    if (op->cluster > 1 && gpc < 0) {
        return false;
    }
    for (int k = 0; k < op->cluster; k++) {
        int sm = choose(device, op, gpc);
        if (sm < 0) {
            return false;
        }
        start_block(device, op, sm, now);
    }
    if (op->assigned == op->blocks && setting[S_order] == 2) {
        device->next = (device->next + (int)op->blocks) % (int)setting[S_sms];
    }
    return true;
}

/* Starts something of a group, if there is something that may start and has room. */
static bool serve(device_t *device, int group, int64_t now)
{
    int64_t grids = 0;
    for (const op_t *op = device->ops; op != NULL; op = op->next) {
        grids += op->kernel && op->assigned > 0;
    }
    bool only_resident = false;
    const op_t *behind = NULL;
    for (;;) {
        op_t *head = NULL;
        for (op_t *op = device->ops; op != NULL; op = op->next) {
            if (op->kernel && op->group == group && op->joined >= 0 && op->assigned < op->blocks &&
                (behind == NULL || before(behind, op)) && (!only_resident || op->assigned > 0) &&
                (head == NULL || before(op, head))) {
                head = op;
            }
        }
        if (head == NULL) {
            return false;
        }
        if (head->assigned > 0 || grids < setting[S_grids]) {
            return start_some(device, head, now);
        }
        if (head->holds_all) {
            return false;
        }
        only_resident = true;
        behind = head;
    }
}

static void settle(device_t *device, int64_t now)
{
    end_blocks(device, now);
    end_copies(device, now);
    for (bool changed = true; changed;) {
        changed = false;
        for (op_t *op = device->ops; op != NULL; op = op->next) {
            if (op->joined < 0 && op->arrival <= now && may_join(device, op, now)) {
                op->joined = now;
                changed = true;
                if (!op->kernel) {
                    start_copy(device, op, now);
                }
            }
        }
        if (gpu_turn(now) > now) {
            continue;
        }
        int groups = 0;
        for (const op_t *op = device->ops; op != NULL; op = op->next) {
            groups = op->group >= groups ? op->group + 1 : groups;
        }
        for (int group = 0; group < groups; group++) {
            while (serve(device, group, now)) {
                changed = true;
            }
        }
    }
}

int64_t gpu_next(const device_t *device)
{
    int64_t next = NEVER;
    bool waits = false;
    for (int b = 0; b < device->resident; b++) {
        const block_t *block = &device->blocks[b];
        int64_t at = block->trigger > device->time ? block->trigger : block->end;
        next = at < next ? at : next;
    }
    for (const op_t *op = device->ops; op != NULL; op = op->next) {
        waits = waits || (op->kernel && op->joined >= 0 && op->assigned < op->blocks);
        int64_t at = op->joined < 0 ? op->arrival : op->kernel ? NEVER : op->end;
        next = at > device->time && at < next ? at : next;
    }
    int64_t turn = gpu_turn(device->time);
    return waits && turn > device->time && turn < next ? turn : next;
}

void gpu_advance(device_t *device, int64_t instant)
{
    for (;;) {
        settle(device, device->time);
        int64_t next = gpu_next(device);
        if (next > instant) {
            break;
        }
        device->time = next;
    }
    device->time = instant > device->time ? instant : device->time;
}

void gpu_add(device_t *device, op_t op)
{
    op_t *added = malloc(sizeof *added);
    if (added == NULL) {
        abort();
    }
    *added = op;
    added->next = NULL;
    added->joined = -1;
    added->cluster = op.cluster < 1 ? 1 : op.cluster;
    added->priority = op.stream == NULL ? 0 : op.stream->priority;
    added->group = op.stream == NULL || gpu_rule(S_green_rule) == 1 ? 0 : op.stream->group;
    added->releases_at_end = gpu_rule(S_release) == 1;
    added->ignores_triggers = gpu_rule(S_pdl) == 1;
    added->holds_all = gpu_rule(S_grids_rule) == 1;
    added->share = share_of_client();
    *device->last = added;
    device->last = &added->next;
}
