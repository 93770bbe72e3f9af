/* Stand-in for the CUDA driver, with simple GPUs and its own clock.
 *
 * A library that exports the functions of the driver that gpusched uses. Every call takes a fixed
 * time on its clock, so all times are known beforehand. Kernels run when they are waited for, by a
 * simplified version of the rules of the hierarchy simulator: streams are FIFO queues, one queue
 * per priority, only the kernel at its head gets SMs, each block goes to the SM with the most room,
 * and copies and memsets share one copy engine. The setting "carveouts" is the rule for kernels
 * with different carve-outs for shared memory: 0 none, 1 they share no SM, 2 only a smaller one
 * joins.
 *
 * standin_set and standin_fail, or GPUSCHED_STANDIN="devices=2,fail=cuMemAlloc_v2:3:2", configure
 * it; standin_live returns what has not been released.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/api.h"
#include "cuda/device.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_DEVICES 4
#define MAX_SMS 256
#define MAX_OPS 4096
#define WARPS 64
#define SLOTS 32

typedef struct {
    const char *name;
    int regs;
} function_t;

static const function_t functions[] = {
    {"gs_spin_0", 24},  {"gs_spin_1", 32},  {"gs_spin_2", 40},
    {"gs_spin_3", 56},  {"gs_spin_4", 88},  {"gs_spin_5", 120},
    {"gs_spin_6", 160}, {"gs_spin_7", 248}, {"gs_fault", 8},
};

/* Per function: the preferred carve-out in percent, -1: the least that costs no occupancy. */
static int preferred[sizeof functions / sizeof *functions];
static const int carveouts[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

typedef struct {
    int device, blocking, priority, channel;
    int sms; /* the first so many SMs; 0: all */
} stream_t;

typedef struct {
    const stream_t *stream; /* NULL: the NULL stream */
    int kernel;
    int64_t arrival, joined, end;
    int64_t blocks, assigned, finished;
    int warps, regs, smem, carveout;
    gs_cuda_spin_t spin;
    int logs, priority, sms, done;
} op_t;

typedef struct {
    int64_t end;
    int op, sm;
} block_t;

typedef struct {
    int retained, lost, streams, modules;
    int64_t used; /* bytes */
    op_t ops[MAX_OPS];
    int count;
    block_t *blocks;
    int resident, room;
    int warps[MAX_SMS], slots[MAX_SMS], smem[MAX_SMS], regs[MAX_SMS], traffic[MAX_SMS];
    int carveout[MAX_SMS]; /* of the first block of those that run */
    int next;              /* of round robin */
    int64_t copy_free, idle;
} device_t;

/* Settings. */
static struct {
    char name[32];
    int64_t value, usual;
} settings[] = {
    {"devices", 0, 1},     {"version", 0, 13000}, {"sms", 0, 16},         {"order", 0, 0},
    {"policy", 0, 0},      {"channels", 0, 0},    {"call", 0, 200},       {"launch", 0, 2500},
    {"latency", 0, 3000},  {"wake", 0, 1500},     {"memory", 0, 1 << 30}, {"occupancy", 0, 0},
    {"resolution", 0, 32}, {"unit", 0, 2},        {"active", 0, 0},       {"skew", 0, 1000000007},
    {"fault", 0, 700},     {"drift", 0, 0},       {"carveouts", 0, 1},
};

static device_t devices[MAX_DEVICES];
static int64_t now_ns = 1000000000;
static int current[64], depth, unmatched; /* contexts entered; left without having been */
static int live;                          /* handles and memory not given back */
static struct {
    char name[64];
    int count, fail_at, code;
} calls[64];
static int known_calls;

static int64_t get(const char *name)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return settings[i].value;
        }
    }
    abort();
}

static int call_of(const char *name)
{
    for (int i = 0; i < known_calls; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return i;
        }
    }
    if (known_calls == 64) {
        abort();
    }
    strncpy(calls[known_calls].name, name, sizeof calls->name - 1);
    return known_calls++;
}

EXPORT void standin_set(const char *name, int64_t value)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (strcmp(settings[i].name, name) == 0) {
            settings[i].value = value;
            return;
        }
    }
    abort();
}

/* Lets the function's call number k from now on fail with a code; k = 0: none. */
EXPORT void standin_fail(const char *name, int k, int code)
{
    int i = call_of(name);
    calls[i].count = 0;
    calls[i].fail_at = k;
    calls[i].code = code;
}

EXPORT int standin_calls(const char *name)
{
    return calls[call_of(name)].count;
}

EXPORT int standin_live(void)
{
    int all = live + depth + unmatched;
    for (int d = 0; d < MAX_DEVICES; d++) {
        all += devices[d].retained + devices[d].modules;
    }
    return all;
}

EXPORT void standin_reset(void)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        settings[i].value = settings[i].usual;
    }
    known_calls = 0;
    memset(calls, 0, sizeof calls);
    live = depth = unmatched = 0;
    for (int d = 0; d < MAX_DEVICES; d++) {
        free(devices[d].blocks);
    }
    memset(devices, 0, sizeof devices);
}

__attribute__((constructor)) static void start(void)
{
    standin_reset();
    const char *text = getenv("GPUSCHED_STANDIN");
    char copy[512] = "", *rest = NULL;
    strncpy(copy, text == NULL ? "" : text, sizeof copy - 1);
    for (char *part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest)) {
        char name[64];
        long value;
        int k, code;
        if (sscanf(part, "fail=%63[^:]:%d:%d", name, &k, &code) == 3) {
            standin_fail(name, k, code);
        } else if (sscanf(part, "%63[^=]=%ld", name, &value) == 2) {
            standin_set(name, value);
        }
    }
}

EXPORT int64_t gpusched_now(void)
{
    return now_ns += 20;
}

EXPORT void gpusched_sleep_until(int64_t instant)
{
    if (now_ns < instant) {
        now_ns = instant;
    }
}

/* The code to answer with, 0 to go on. */
static int enter(const char *name, int64_t takes)
{
    int i = call_of(name);
    now_ns += takes;
    calls[i].count++;
    return calls[i].count == calls[i].fail_at ? calls[i].code : 0;
}

#define ENTER(takes)                                                                               \
    do {                                                                                           \
        int code_ = enter(__func__, takes);                                                        \
        if (code_ != 0) {                                                                          \
            return code_;                                                                          \
        }                                                                                          \
    } while (0)

/* For functions that need a context. */
#define ENTER_IN_CONTEXT(takes)                                                                    \
    if (depth == 0) {                                                                              \
        return 201;                                                                                \
    }                                                                                              \
    device_t *device = &devices[current[depth - 1]];                                               \
    if (device->lost != 0) {                                                                       \
        return device->lost;                                                                       \
    }                                                                                              \
    ENTER(takes)

/* The GPU -------------------------------------------------------------------------------------- */

static int smem_of(int64_t smem)
{
    return (int)((smem + 1024 + 127) / 128 * 128);
}

static int room(const device_t *device, const op_t *op, int sm)
{
    if (device->slots[sm] > 0 && ((get("carveouts") == 1 && device->carveout[sm] != op->carveout) ||
                                  (get("carveouts") == 2 && device->carveout[sm] < op->carveout))) {
        return 0;
    }
    int most = (WARPS - device->warps[sm]) / op->warps;
    int slots = SLOTS - device->slots[sm];
    int smem = (228 * 1024 - device->smem[sm]) / op->smem;
    int per_warp = (op->regs * 32 + 255) / 256 * 256;
    int regs = (4 * (16384 / per_warp) * per_warp - device->regs[sm]) / (per_warp * op->warps);
    most = slots < most ? slots : most;
    most = smem < most ? smem : most;
    return regs < most ? regs : most;
}

static int carveout_of(const op_t *op, int percent, int has_smem)
{
    static const device_t empty;
    int needed = percent >= 0 ? 228 * 1024 * percent / 100
                 : has_smem   ? room(&empty, op, 0) * op->smem
                              : 0;
    size_t k = 0;
    while (k + 1 < sizeof carveouts / sizeof *carveouts && carveouts[k] * 1024 < needed) {
        k++;
    }
    return carveouts[k];
}

/* Evens then odds, or ascending. */
static int sm_at(int position)
{
    int sms = (int)get("sms"), evens = (sms + 1) / 2;
    if (get("order") != 0) {
        return position;
    }
    return position < evens ? 2 * position : 2 * (position - evens) + 1;
}

static int choose(device_t *device, const op_t *op)
{
    int sms = (int)get("sms"), best = -1, most = 0;
    for (int p = 0; p < sms; p++) {
        int sm = sm_at(get("policy") == 0 ? p : (device->next + p) % sms);
        if (op->sms != 0 && sm >= op->sms) {
            continue;
        }
        int free = room(device, op, sm);
        if (free > most) {
            best = sm;
            most = free;
            if (get("policy") != 0) {
                device->next = (device->next + p + 1) % sms;
                break;
            }
        }
    }
    return best;
}

static int copies(const device_t *device, int64_t now)
{
    int running = 0;
    for (int i = 0; i < device->count; i++) {
        const op_t *op = &device->ops[i];
        running += !op->kernel && op->joined >= 0 && !op->done && op->end > now;
    }
    return running;
}

/* Blocks with memory traffic slow each other: most on the same SM, then in the same pair of SMs,
 * little elsewhere; a running copy slows them, too. Decided when the block starts. */
static int64_t block_time(const device_t *device, const op_t *op, int sm, int64_t now)
{
    int64_t percent = 100;
    if (op->spin.memory != 0) {
        int others = 0;
        for (int s = 0; s < MAX_SMS; s++) {
            others += device->traffic[s];
        }
        int beside = device->traffic[sm ^ 1];
        percent += device->traffic[sm] != 0 ? 100 : 0;
        percent += beside != 0 ? 60 : 0;
        percent += others - beside - device->traffic[sm] > 0 ? 10 : 0;
        percent += copies(device, now) != 0 ? 50 : 0;
    }
    int64_t unit = get("unit") * (op->spin.memory != 0 ? 2 : 1);
    int64_t work = (int64_t)op->spin.iterations * unit * percent / 100;
    return work > (int64_t)op->spin.ns ? work : (int64_t)op->spin.ns;
}

static int64_t timer(int64_t instant)
{
    int64_t gained = instant / 1000000 * get("drift"); /* parts per million */
    return (instant + gained + get("skew")) / get("resolution") * get("resolution");
}

static void start_block(device_t *device, int i, int sm, int64_t now)
{
    op_t *op = &device->ops[i];
    int64_t end = now + block_time(device, op, sm, now) + 100;
    if (device->resident == device->room) {
        device->room = device->room == 0 ? 64 : 2 * device->room;
        device->blocks = realloc(device->blocks, (size_t)device->room * sizeof *device->blocks);
        if (device->blocks == NULL) {
            abort();
        }
    }
    device->blocks[device->resident++] = (block_t){end, i, sm};
    device->carveout[sm] = device->slots[sm] == 0 ? op->carveout : device->carveout[sm];
    device->warps[sm] += op->warps;
    device->slots[sm]++;
    device->smem[sm] += op->smem;
    device->regs[sm] += (op->regs * 32 + 255) / 256 * 256 * op->warps;
    device->traffic[sm] += op->spin.memory != 0;
    uint64_t row[3] = {(uint64_t)timer(now), (uint64_t)timer(end), (uint64_t)sm};
    if (op->logs && op->spin.log != 0) {
        memcpy((char *)(uintptr_t)op->spin.log + 24 * op->assigned, row, sizeof row);
    }
    if (op->logs && op->spin.summary != 0) {
        uint64_t *summary = (uint64_t *)(uintptr_t)op->spin.summary;
        summary[0] = row[0] < summary[0] ? row[0] : summary[0];
        summary[1] = ~row[1] < summary[1] ? ~row[1] : summary[1];
    }
    op->assigned++;
}

static void end_blocks(device_t *device, int64_t now)
{
    for (int b = 0; b < device->resident; b++) {
        block_t *block = &device->blocks[b];
        if (block->end > now) {
            continue;
        }
        op_t *op = &device->ops[block->op];
        device->warps[block->sm] -= op->warps;
        device->slots[block->sm]--;
        device->smem[block->sm] -= op->smem;
        device->regs[block->sm] -= (op->regs * 32 + 255) / 256 * 256 * op->warps;
        device->traffic[block->sm] -= op->spin.memory != 0;
        op->done = ++op->finished == op->blocks;
        *block = device->blocks[--device->resident];
        b--;
    }
    for (int i = 0; i < device->count; i++) {
        op_t *op = &device->ops[i];
        if (!op->kernel && op->joined >= 0 && op->end <= now) {
            op->done = 1;
        }
    }
}

/* Whether an operation at rest may join its queue now. */
static int may_join(const device_t *device, int i)
{
    const op_t *op = &device->ops[i];
    for (int j = 0; j < i; j++) {
        const op_t *other = &device->ops[j];
        int blocks = op->stream == other->stream;
        if (op->stream == NULL || other->stream == NULL) { /* the NULL stream, and blocking ones */
            blocks = (op->stream == NULL || op->stream->blocking) &&
                     (other->stream == NULL || other->stream->blocking);
        }
        if (blocks && !other->done) {
            return 0;
        }
        int channel = op->stream == NULL ? 0 : op->stream->channel;
        int others = other->stream == NULL ? 0 : other->stream->channel;
        if (get("channels") != 0 && channel == others && !other->done &&
            (!other->kernel || other->assigned < other->blocks)) {
            return 0;
        }
    }
    return 1;
}

static void join_and_place(device_t *device, int64_t now)
{
    int changed = 1;
    while (changed) {
        changed = 0;
        for (int i = 0; i < device->count; i++) {
            op_t *op = &device->ops[i];
            if (op->joined < 0 && op->arrival <= now && may_join(device, i)) {
                op->joined = now;
                changed = 1;
                if (!op->kernel) {
                    int64_t begin = device->copy_free > now ? device->copy_free : now;
                    op->end = device->copy_free = begin + 1000 + op->blocks / 16;
                }
            }
        }
        for (;;) {
            int head = -1;
            for (int i = 0; i < device->count; i++) {
                const op_t *op = &device->ops[i], *first = &device->ops[head < 0 ? 0 : head];
                if (op->kernel && op->joined >= 0 && op->assigned < op->blocks &&
                    (head < 0 || op->priority < first->priority ||
                     (op->priority == first->priority && op->joined < first->joined))) {
                    head = i;
                }
            }
            int sm = head < 0 ? -1 : choose(device, &device->ops[head]);
            if (sm < 0) {
                break;
            }
            start_block(device, head, sm, now);
            changed = 1;
        }
    }
}

/* Runs all that was launched to its end. */
static void simulate(device_t *device)
{
    int64_t now = 0;
    for (;;) {
        end_blocks(device, now);
        join_and_place(device, now);
        int64_t next = INT64_MAX;
        for (int b = 0; b < device->resident; b++) {
            next = device->blocks[b].end < next ? device->blocks[b].end : next;
        }
        for (int i = 0; i < device->count; i++) {
            const op_t *op = &device->ops[i];
            if (op->joined < 0 && op->arrival > now && op->arrival < next) {
                next = op->arrival;
            }
            if (!op->kernel && op->joined >= 0 && !op->done && op->end < next) {
                next = op->end;
            }
        }
        if (next == INT64_MAX) {
            break;
        }
        now = next;
    }
    if (device->count != 0) {
        device->idle = now;
    }
    device->count = 0;
}

static int add(device_t *device, const stream_t *stream, op_t op)
{
    if (device->count == MAX_OPS) {
        simulate(device);
    }
    op.stream = stream;
    op.arrival = now_ns + get("latency");
    op.joined = -1;
    op.priority = stream == NULL ? 0 : stream->priority;
    op.sms = stream == NULL ? 0 : stream->sms;
    device->ops[device->count++] = op;
    return 0;
}

static int wait_for(device_t *device)
{
    simulate(device);
    if (now_ns < device->idle) {
        now_ns = device->idle;
    }
    now_ns += get("wake");
    return device->lost;
}

/* The driver's functions ----------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    ENTER(0);
    return get("devices") == 0 ? 100 : 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
    ENTER(0);
    *version = (int)get("version");
    return 0;
}

EXPORT int cuGetErrorName(int error, const char **text)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{1, "CUDA_ERROR_INVALID_VALUE"},     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {100, "CUDA_ERROR_NO_DEVICE"},       {201, "CUDA_ERROR_INVALID_CONTEXT"},
                 {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].code == error) {
            *text = names[i].name;
            return 0;
        }
    }
    return 1;
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = "the stand-in was told to say so";
    return error == 0;
}

EXPORT int cuDeviceGetCount(int *count)
{
    ENTER(0);
    *count = (int)get("devices");
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    ENTER(0);
    *device = ordinal;
    return ordinal < get("devices") ? 0 : 101;
}

EXPORT int cuDeviceGetName(char *name, int length, int device)
{
    ENTER(0);
    snprintf(name, (size_t)length, "Stand-in %d", device);
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static const struct {
        int attribute, value;
    } known[] = {{39, 2048},       {106, 32},     {82, 65536}, {12, 65536}, {81, 228 * 1024},
                 {97, 227 * 1024}, {111, 1024},   {40, 1},     {75, 9},     {76, 0},
                 {31, 1},          {38, 1 << 22}, {18, 0},     {17, 0},     {20, 0}};
    ENTER(0);
    (void)device;
    if (attribute == 16) {
        *value = (int)get("sms");
        return 0;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return 0;
        }
    }
    return 1;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    ENTER(0);
    (void)device;
    *bytes = (size_t)get("memory");
    return 0;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER(0);
    *flags = 0;
    *active = get("active") != 0 || devices[device].retained != 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER(get("call"));
    devices[device].retained++;
    *context = &devices[device];
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    devices[device].modules *= --devices[device].retained > 0; /* they go with the context */
    ENTER(get("call"));
    return devices[device].lost;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
    ENTER(0);
    current[depth++ % 64] = (int)((device_t *)context - devices);
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
    if (depth == 0) {
        unmatched++;
        return 201;
    }
    depth--;
    *context = &devices[current[depth]];
    ENTER(0);
    return 0;
}

EXPORT int cuCtxSynchronize(void)
{
    ENTER_IN_CONTEXT(0);
    return wait_for(device);
}

EXPORT int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER_IN_CONTEXT(0);
    *least = 0;
    *greatest = -5;
    return 0;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
    ENTER_IN_CONTEXT(get("call"));
    (void)image;
    device->modules++;
    *module = device;
    return 0;
}

EXPORT int cuModuleUnload(void *module)
{
    ((device_t *)module)->modules--;
    ENTER_IN_CONTEXT(get("call"));
    return 0;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    ENTER_IN_CONTEXT(0);
    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (strcmp(functions[i].name, name) == 0) {
            *function = (void *)(uintptr_t)&functions[i];
            return 0;
        }
    }
    return 500;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    ENTER_IN_CONTEXT(0);
    *value = ((const function_t *)function)->regs;
    return attribute == 4 ? 0 : 1;
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
    ENTER_IN_CONTEXT(0);
    if (attribute == 9 && value >= -1 && value <= 100) {
        preferred[(const function_t *)function - functions] = value;
        return 0;
    }
    return attribute == 8 && value >= 0 ? 0 : 1;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                       size_t smem)
{
    ENTER_IN_CONTEXT(0);
    static const device_t empty;
    op_t op = {.warps = (threads + 31) / 32, .regs = ((const function_t *)function)->regs};
    op.smem = smem_of((int64_t)smem);
    (void)device;
    *blocks = room(&empty, &op, 0) + (int)get("occupancy");
    return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    ENTER_IN_CONTEXT(get("call"));
    if ((int64_t)bytes > get("memory") - device->used) {
        return 2;
    }
    size_t *block = calloc(1, bytes + 16);
    if (block == NULL) {
        return 2;
    }
    *block = bytes;
    device->used += (int64_t)bytes;
    live++;
    *pointer = (uint64_t)(uintptr_t)(block + 2);
    return 0;
}

EXPORT int cuMemFree_v2(uint64_t pointer)
{
    if (depth != 0) {
        size_t *block = (size_t *)(uintptr_t)pointer - 2;
        devices[current[depth - 1]].used -= (int64_t)*block;
        simulate(&devices[current[depth - 1]]);
        free(block);
        live--;
    }
    ENTER_IN_CONTEXT(get("call"));
    return 0;
}

EXPORT int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    ENTER_IN_CONTEXT(get("call"));
    (void)flags;
    if ((int64_t)bytes > get("memory") || (*pointer = malloc(bytes)) == NULL) {
        return 2;
    }
    live++;
    return 0;
}

EXPORT int cuMemFreeHost(void *pointer)
{
    free(pointer);
    live--;
    ENTER_IN_CONTEXT(get("call"));
    return 0;
}

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    ENTER_IN_CONTEXT(get("call"));
    int lost = wait_for(device);
    if (lost == 0) {
        memcpy(to, (void *)(uintptr_t)from, bytes);
    }
    return lost;
}

static int copy(device_t *device, size_t bytes, void *stream)
{
    return add(device, stream, (op_t){.blocks = (int64_t)bytes});
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(get("launch"));
    memcpy(to, (void *)(uintptr_t)from, bytes);
    return copy(device, bytes, stream);
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(get("launch"));
    memcpy((void *)(uintptr_t)to, from, bytes);
    return copy(device, bytes, stream);
}

EXPORT int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes)
{
    ENTER_IN_CONTEXT(get("call"));
    memset((void *)(uintptr_t)to, value, bytes);
    return 0;
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(get("launch"));
    memset((void *)(uintptr_t)to, value, bytes);
    return copy(device, bytes, stream);
}

static int make_stream(void **stream, int device, unsigned flags, int priority, int sms)
{
    stream_t *made = malloc(sizeof *made);
    if (made == NULL) {
        return 2;
    }
    int channels = (int)get("channels");
    *made = (stream_t){.device = device,
                       .blocking = flags == 0,
                       .priority = priority,
                       .channel = channels == 0 ? 0 : devices[device].streams++ % channels,
                       .sms = sms};
    live++;
    *stream = made;
    return 0;
}

EXPORT int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    ENTER_IN_CONTEXT(get("call"));
    return make_stream(stream, (int)(device - devices), flags, priority, 0);
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    simulate(&devices[((stream_t *)stream)->device]);
    free(stream);
    live--;
    ENTER_IN_CONTEXT(get("call"));
    return 0;
}

EXPORT int cuStreamSynchronize(void *stream)
{
    ENTER_IN_CONTEXT(0);
    (void)stream;
    return wait_for(device);
}

EXPORT int cuStreamQuery(void *stream)
{
    ENTER_IN_CONTEXT(300);
    (void)stream;
    simulate(device);
    return now_ns < device->idle ? 600 : 0;
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned smem,
                          void *stream, void **parameters, void **extra)
{
    ENTER_IN_CONTEXT(get("launch"));
    const function_t *kernel = function;
    if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1 || extra != NULL) {
        return 1;
    }
    op_t op = {.kernel = 1, .logs = 1, .blocks = grid_x, .warps = ((int)block_x + 31) / 32};
    op.regs = kernel->regs;
    op.smem = smem_of(smem);
    op.carveout = carveout_of(&op, preferred[kernel - functions], smem != 0);
    static const device_t empty;
    if (strcmp(kernel->name, "gs_fault") == 0) {
        device->lost = (int)get("fault");
        return 0;
    }
    memcpy(&op.spin, parameters[0], sizeof op.spin);
    return room(&empty, &op, 0) < 1 ? 701 : add(device, stream, op);
}

static int64_t graphs[16];
static int made_graphs;

/* A graph is one kernel on one SM that takes so long. */
EXPORT void *standin_graph(int64_t ns)
{
    if (made_graphs == 16) {
        return NULL;
    }
    graphs[made_graphs] = ns;
    return &graphs[made_graphs++];
}

EXPORT int cuGraphLaunch(void *graph, void *stream)
{
    ENTER_IN_CONTEXT(get("launch"));
    uintptr_t handle = (uintptr_t)graph, first = (uintptr_t)graphs;
    if (handle < first || handle >= first + (size_t)made_graphs * sizeof *graphs ||
        (handle - first) % sizeof *graphs != 0) {
        return 400;
    }
    op_t op = {.kernel = 1, .blocks = 1, .warps = 1, .regs = 24, .smem = smem_of(0)};
    op.spin.ns = (uint64_t) * (int64_t *)graph;
    return add(device, stream, op);
}

/* Green contexts: partitions of whole groups of 8 SMs. */

EXPORT int cuDeviceGetDevResource(int device, gs_cuda_api_resource_t *resource, int type)
{
    ENTER(0);
    (void)device;
    resource->type = type;
    resource->is.sm.sm_count = (unsigned)get("sms");
    return type == 1 ? 0 : 1;
}

EXPORT int cuDevSmResourceSplitByCount(gs_cuda_api_resource_t *result, unsigned *groups,
                                       const gs_cuda_api_resource_t *input,
                                       gs_cuda_api_resource_t *remaining, unsigned flags,
                                       unsigned least)
{
    ENTER(0);
    (void)flags;
    unsigned sms = (least + 7) / 8 * 8;
    *result = *remaining = *input;
    *groups = sms <= input->is.sm.sm_count;
    result->is.sm.sm_count = sms;
    return 0;
}

EXPORT int cuDevResourceGenerateDesc(void **descriptor, gs_cuda_api_resource_t *resources,
                                     unsigned count)
{
    ENTER(0);
    *descriptor = (void *)(uintptr_t)resources->is.sm.sm_count;
    return count == 1 ? 0 : 1;
}

EXPORT int cuGreenCtxCreate(void **context, void *descriptor, int device, unsigned flags)
{
    ENTER(get("call"));
    (void)device;
    stream_t *green = malloc(sizeof *green);
    if (green == NULL || flags != 1) {
        return 1;
    }
    *green = (stream_t){.device = device, .sms = (int)(uintptr_t)descriptor};
    live++;
    *context = green;
    return 0;
}

EXPORT int cuGreenCtxDestroy(void *context)
{
    free(context);
    live--;
    ENTER(get("call"));
    return 0;
}

EXPORT int cuGreenCtxStreamCreate(void **stream, void *context, unsigned flags, int priority)
{
    ENTER(get("call"));
    const stream_t *green = context;
    return flags != 1 ? 1 : make_stream(stream, green->device, flags, priority, green->sms);
}
