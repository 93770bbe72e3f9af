/* The stand-in's functions of the driver. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "standin.h"

#define EXPORT __attribute__((visibility("default")))
#define MAX_DEPTH 64
#define MAX_PROCESSES 64
#define NO_CONTEXT 201
#define INVALID_HANDLE 400

typedef struct {
    const char *name;
    int regs;
} function_t;

static const function_t functions[] = {
    {"gs_spin_0", 24},  {"gs_spin_1", 32},  {"gs_spin_2", 40},
    {"gs_spin_3", 56},  {"gs_spin_4", 88},  {"gs_spin_5", 120},
    {"gs_spin_6", 160}, {"gs_spin_7", 248}, {"gs_fault", 8},
};
#define FUNCTIONS (sizeof functions / sizeof *functions)

/* Per function: the preferred carve-out in percent, -1: the least that costs no occupancy. */
static int preferred[FUNCTIONS];
static bool loaded[MAX_DEVICES][FUNCTIONS];

#define NAME(name, usual) #name,
#define USUAL(name, usual) usual,
static const char *const names[] = {SETTINGS(NAME)};
static const int64_t usual[] = {SETTINGS(USUAL)};
int64_t setting[NUMBER_OF_SETTINGS];

/* All state is that of the process, but for the contexts of a thread. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local int current[MAX_DEPTH], depth; /* contexts entered */
static int64_t now_ns;         /* virtual clocks of two processes are far apart */
static int entered, unmatched; /* contexts entered by all threads; left without having been */
static int live;               /* handles and memory not given back */
static stream_t *streams;
typedef struct memory {
    struct memory *next;
    size_t bytes;
    uint64_t align;
    unsigned char data[];
} memory_t;
static memory_t *allocated;
static struct {
    char name[64];
    int count, fail_at, code;
} calls[64];
static int known_calls;
static int *processes; /* that share the GPU, each as its pid; 0: free */

/* Clock ---------------------------------------------------------------------------------------- */

static void unlock(int *taken)
{
    (void)taken;
    pthread_mutex_unlock(&mutex);
}

#define LOCKED int taken_ __attribute__((cleanup(unlock), unused)) = pthread_mutex_lock(&mutex)

static int64_t clock_now(void)
{
    if (setting[S_clock] != 0) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        now_ns = t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
    }
    return now_ns;
}

/* Lets time pass until an instant; other threads may call meanwhile if it is the system's. */
static void pass_until(int64_t instant)
{
    if (setting[S_clock] == 0) {
        now_ns = now_ns < instant ? instant : now_ns;
        return;
    }
    struct timespec t = {instant / 1000000000, instant % 1000000000};
    pthread_mutex_unlock(&mutex);
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    pthread_mutex_lock(&mutex);
}

EXPORT int64_t gpusched_now(void)
{
    LOCKED;
    now_ns += 20;
    return clock_now();
}

EXPORT void gpusched_sleep_until(int64_t instant)
{
    LOCKED;
    pass_until(instant);
}

/* Settings and records ------------------------------------------------------------------------- */

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
    LOCKED;
    for (int i = 0; i < NUMBER_OF_SETTINGS; i++) {
        if (strcmp(names[i], name) == 0) {
            setting[i] = value;
            return;
        }
    }
    abort();
}

/* Lets the function's call number k from now on fail with a code; k = 0: none. */
EXPORT void standin_fail(const char *name, int k, int code)
{
    LOCKED;
    int i = call_of(name);
    calls[i].count = 0;
    calls[i].fail_at = k;
    calls[i].code = code;
}

EXPORT int standin_calls(const char *name)
{
    LOCKED;
    return calls[call_of(name)].count;
}

EXPORT int standin_live(void)
{
    LOCKED;
    int all = live + entered + unmatched;
    for (int d = 0; d < MAX_DEVICES; d++) {
        all += devices[d].retained + devices[d].modules;
    }
    return all;
}

EXPORT void standin_reset(void)
{
    LOCKED;
    memcpy(setting, usual, sizeof setting);
    known_calls = 0;
    memset(calls, 0, sizeof calls);
    memset(loaded, 0, sizeof loaded);
    memset(preferred, 0, sizeof preferred);
    live = depth = entered = unmatched = 0;
    gpu_reset();
}

void processes_of(int *own, int *all)
{
    *own = *all = 0;
    for (int p = 0; processes != NULL && p < MAX_PROCESSES; p++) {
        int pid = __atomic_load_n(&processes[p], __ATOMIC_SEQ_CST);
        if (pid == getpid()) {
            *own = *all;
        }
        *all += pid != 0;
    }
}

/* Enters this process in the list of those that share the GPU, or takes it out. */
static void share(bool on)
{
    int from = on ? 0 : getpid(), to = on ? getpid() : 0;
    for (int p = 0; processes != NULL && p < MAX_PROCESSES; p++) {
        int expected = from;
        if (__atomic_compare_exchange_n(&processes[p], &expected, to, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {
            return;
        }
    }
}

__attribute__((destructor)) static void leave(void)
{
    share(false);
}

__attribute__((constructor)) static void start(void)
{
    now_ns = 1000000000 + getpid() % 997 * (int64_t)1000000000000;
    standin_reset();
    const char *text = getenv("GPUSCHED_STANDIN"), *path = getenv("GPUSCHED_STANDIN_PROCESSES");
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
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0) {
        size_t bytes = MAX_PROCESSES * sizeof *processes;
        void *shared = ftruncate(file, (off_t)bytes) == 0
                           ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                           : MAP_FAILED;
        processes = shared == MAP_FAILED ? NULL : shared;
        close(file);
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
    LOCKED;                                                                                        \
    do {                                                                                           \
        int code_ = enter(__func__, takes);                                                        \
        if (code_ != 0) {                                                                          \
            return code_;                                                                          \
        }                                                                                          \
    } while (0)

/* For functions that need a context of this thread: its device, or an error. */
static int enter_in_context(const char *name, int64_t takes, device_t **device)
{
    if (depth == 0) {
        return NO_CONTEXT;
    }
    *device = &devices[current[depth - 1]];
    return (*device)->lost != 0 ? (*device)->lost : enter(name, takes);
}

#define ENTER_IN_CONTEXT(takes)                                                                    \
    LOCKED;                                                                                        \
    device_t *device;                                                                              \
    do {                                                                                           \
        int code_ = enter_in_context(__func__, takes, &device);                                    \
        if (code_ != 0) {                                                                          \
            return code_;                                                                          \
        }                                                                                          \
    } while (0)

/* Lets time pass until at most `most` operations are not done: of a stream, or of all. */
static int wait_for(device_t *device, bool all, const stream_t *stream, int most)
{
    for (;;) {
        gpu_advance(device, clock_now());
        int left = 0;
        for (const op_t *op = device->ops; op != NULL; op = op->next) {
            left += all || op->stream == stream;
        }
        if (left <= most) {
            return device->lost;
        }
        int64_t next = gpu_next(device);
        if (next == NEVER) { /* what waits has no room: the driver would wait, too */
            return device->lost = GS_CUDA_API_LAUNCH_TIMEOUT;
        }
        pass_until(next);
    }
}

static int wait_and_wake(device_t *device, bool all, const stream_t *stream)
{
    int lost = wait_for(device, all, stream, 0);
    now_ns += setting[S_wake];
    return lost;
}

static bool is_stream(const void *handle)
{
    const stream_t *stream = streams;
    while (stream != NULL && stream != handle) {
        stream = stream->next;
    }
    return handle == NULL || stream != NULL;
}

bool memory_has(uint64_t address, int64_t bytes)
{
    for (const memory_t *block = allocated; block != NULL; block = block->next) {
        uint64_t first = (uint64_t)(uintptr_t)block->data;
        if (address >= first && address + (uint64_t)bytes <= first + block->bytes) {
            return true;
        }
    }
    return false;
}

/* Launches an operation; waits where the stream's queue is full. */
static int launch_op(device_t *device, void *stream, op_t op)
{
    if (!is_stream(stream)) {
        return INVALID_HANDLE;
    }
    op.stream = stream;
    int lost = wait_for(device, false, stream, (int)setting[S_queue] - 1);
    op.arrival = clock_now() + setting[S_latency];
    gpu_add(device, op);
    return lost;
}

/* The driver's functions ----------------------------------------------------------------------- */

EXPORT int cuInit(unsigned flags)
{
    (void)flags;
    ENTER(0);
    return setting[S_devices] == 0 ? 100 : 0;
}

EXPORT int cuDriverGetVersion(int *version)
{
    ENTER(0);
    *version = (int)setting[S_version];
    return 0;
}

EXPORT int cuGetErrorName(int error, const char **text)
{
    static const struct {
        int code;
        const char *name;
    } errors[] = {{1, "CUDA_ERROR_INVALID_VALUE"},     {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                  {100, "CUDA_ERROR_NO_DEVICE"},       {201, "CUDA_ERROR_INVALID_CONTEXT"},
                  {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {719, "CUDA_ERROR_LAUNCH_FAILED"}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].code == error) {
            *text = errors[i].name;
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
    *count = (int)setting[S_devices];
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    ENTER(0);
    *device = ordinal;
    return ordinal < setting[S_devices] ? 0 : 101;
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
    } known[] = {{39, 2048},       {106, 32},   {82, 65536}, {12, 65536}, {81, 228 * 1024},
                 {97, 227 * 1024}, {111, 1024}, {75, 9},     {76, 0},     {31, 1},
                 {38, 1 << 22},    {18, 0},     {17, 0},     {20, 0}};
    ENTER(0);
    (void)device;
    if (attribute == 16 || attribute == 40) {
        *value = (int)setting[attribute == 16 ? S_sms : S_engines];
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
    *bytes = (size_t)setting[S_memory];
    return 0;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
    ENTER(0);
    *flags = 0;
    *active = setting[S_active] != 0 || devices[device].retained != 0;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    ENTER(setting[S_call]);
    if (devices[device].retained++ == 0) {
        share(true);
    }
    *context = &devices[device];
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    LOCKED;
    if (--devices[device].retained == 0) {
        devices[device].modules = 0; /* they go with the context */
        share(false);
    }
    int code = enter(__func__, setting[S_call]);
    return code != 0 ? code : devices[device].lost;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
    ENTER(0);
    current[depth++ % MAX_DEPTH] = (int)((device_t *)context - devices);
    entered++;
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
    LOCKED;
    if (depth == 0) {
        unmatched++;
        return NO_CONTEXT;
    }
    depth--;
    entered--;
    *context = &devices[current[depth]];
    return enter(__func__, 0);
}

EXPORT int cuCtxSynchronize(void)
{
    ENTER_IN_CONTEXT(0);
    return wait_and_wake(device, true, NULL);
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
    ENTER_IN_CONTEXT(setting[S_call]);
    (void)image;
    device->modules++;
    *module = device;
    return 0;
}

EXPORT int cuModuleUnload(void *module)
{
    LOCKED;
    device_t *device;
    ((device_t *)module)->modules--;
    return enter_in_context(__func__, setting[S_call], &device);
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
    return (attribute == 8 && value >= 0) || (attribute == 14 && value == 1) ? 0 : 1;
}

EXPORT int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads,
                                                       size_t smem)
{
    ENTER_IN_CONTEXT(0);
    op_t op = {.warps = (threads + 31) / 32, .regs = ((const function_t *)function)->regs};
    op.smem = gpu_smem((int64_t)smem);
    (void)device;
    *blocks = gpu_occupancy(&op) + (int)setting[S_occupancy];
    return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *pointer, size_t bytes)
{
    ENTER_IN_CONTEXT(setting[S_call]);
    if ((int64_t)bytes > setting[S_memory] - device->used) {
        return 2;
    }
    memory_t *block = malloc(sizeof *block + bytes);
    if (block == NULL) {
        return 2;
    }
    memset(block->data, 0xa5, bytes < 1 << 24 ? bytes : 0); /* what it holds is not known */
    block->bytes = bytes;
    block->next = allocated;
    allocated = block;
    device->used += (int64_t)bytes;
    live++;
    *pointer = (uint64_t)(uintptr_t)block->data;
    return 0;
}

/* Waits for all operations, as they may use the memory. */
EXPORT int cuMemFree_v2(uint64_t pointer)
{
    LOCKED;
    device_t *device = depth == 0 ? NULL : &devices[current[depth - 1]];
    memory_t **link = &allocated;
    while (*link != NULL && (uint64_t)(uintptr_t)(*link)->data != pointer) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        return 1;
    }
    if (device != NULL) {
        wait_for(device, true, NULL, 0);
        memory_t *block = *link;
        *link = block->next;
        device->used -= (int64_t)block->bytes;
        free(block);
        live--;
    }
    return enter_in_context(__func__, setting[S_call], &device);
}

EXPORT int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags)
{
    ENTER_IN_CONTEXT(setting[S_call]);
    (void)flags;
    if ((int64_t)bytes > setting[S_memory] || (*pointer = malloc(bytes)) == NULL) {
        return 2;
    }
    live++;
    return 0;
}

EXPORT int cuMemFreeHost(void *pointer)
{
    LOCKED;
    device_t *device;
    if (depth != 0) {
        wait_for(&devices[current[depth - 1]], true, NULL, 0);
    }
    free(pointer);
    live--;
    return enter_in_context(__func__, setting[S_call], &device);
}

static int copy(device_t *device, uint64_t to, uint64_t from, size_t bytes, void *stream)
{
    op_t op = {.to = to, .from = from, .bytes = (int64_t)bytes};
    op.takes = 1000 + (int64_t)bytes / 16;
    op.engine = memory_has(to, (int64_t)bytes) ? 0 : 1;
    bool known = op.engine == 0 || memory_has(from, (int64_t)bytes);
    return known ? launch_op(device, stream, op) : 1;
}

/* In the NULL stream: kernels of streams that do not block may still run. */
EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    ENTER_IN_CONTEXT(setting[S_call]);
    int code = copy(device, (uint64_t)(uintptr_t)to, from, bytes, NULL);
    return code != 0 ? code : wait_and_wake(device, false, NULL);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(setting[S_launch]);
    return copy(device, (uint64_t)(uintptr_t)to, from, bytes, stream);
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(setting[S_launch]);
    return copy(device, to, (uint64_t)(uintptr_t)from, bytes, stream);
}

static int set(device_t *device, uint64_t to, unsigned char value, size_t bytes, void *stream,
               int64_t more)
{
    op_t op = {.to = to, .value = value, .bytes = (int64_t)bytes};
    op.takes = 1000 + (int64_t)bytes / 16 + more;
    return memory_has(to, (int64_t)bytes) ? launch_op(device, stream, op) : 1;
}

/* The host does not wait for it. */
EXPORT int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes)
{
    ENTER_IN_CONTEXT(setting[S_call]);
    return set(device, to, value, bytes, NULL, setting[S_memset]);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream)
{
    ENTER_IN_CONTEXT(setting[S_launch]);
    return set(device, to, value, bytes, stream, 0);
}

typedef struct {
    int device, first, sms, group;
} green_t;

static int make_stream(void **stream, const green_t *green, unsigned flags, int priority)
{
    stream_t *made = malloc(sizeof *made);
    if (made == NULL) {
        return 2;
    }
    int channels = (int)setting[S_channels];
    *made = (stream_t){.next = streams,
                       .device = green->device,
                       .blocking = flags == 0,
                       .priority = priority,
                       .channel = channels == 0 ? 0 : devices[green->device].streams++ % channels,
                       .first = green->first,
                       .sms = green->sms,
                       .group = green->group};
    streams = made;
    live++;
    *stream = made;
    return 0;
}

EXPORT int cuStreamCreateWithPriority(void **stream, unsigned flags, int priority)
{
    ENTER_IN_CONTEXT(setting[S_call]);
    green_t whole = {.device = (int)(device - devices)};
    return make_stream(stream, &whole, flags, priority);
}

EXPORT int cuStreamDestroy_v2(void *stream)
{
    LOCKED;
    device_t *device;
    stream_t **link = &streams;
    while (*link != NULL && *link != stream) {
        link = &(*link)->next;
    }
    if (*link == NULL) {
        return INVALID_HANDLE;
    }
    wait_for(&devices[(*link)->device], false, stream, 0);
    *link = ((stream_t *)stream)->next;
    free(stream);
    live--;
    return enter_in_context(__func__, setting[S_call], &device);
}

EXPORT int cuStreamSynchronize(void *stream)
{
    ENTER_IN_CONTEXT(0);
    return is_stream(stream) ? wait_and_wake(device, false, stream) : INVALID_HANDLE;
}

EXPORT int cuStreamQuery(void *stream)
{
    ENTER_IN_CONTEXT(300);
    if (!is_stream(stream)) {
        return INVALID_HANDLE;
    }
    gpu_advance(device, clock_now());
    for (const op_t *op = device->ops; op != NULL; op = op->next) {
        if (op->stream == stream) {
            return 600;
        }
    }
    return device->lost;
}

/* Launch of a kernel. Its first one loads it, and waits for all that runs. */
static int launch(device_t *device, const gs_cuda_api_launch_t *config, void *function,
                  void **parameters)
{
    const function_t *kernel = function;
    op_t op = {.kernel = true, .logs = true, .blocks = config->grid_x, .cluster = 1};
    for (unsigned a = 0; a < config->count; a++) {
        const gs_cuda_api_attribute_t *attribute = &config->attributes[a];
        if (attribute->id == GS_CUDA_API_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            op.cluster = (int)attribute->value.cluster[0];
        } else {
            op.programmatic = attribute->value.programmatic != 0;
        }
    }
    if (config->grid_y != 1 || config->grid_z != 1 || config->block_y != 1 ||
        config->block_z != 1 || op.cluster < 1 || config->grid_x % (unsigned)op.cluster != 0) {
        return 1;
    }
    if (!loaded[device - devices][kernel - functions]) {
        loaded[device - devices][kernel - functions] = true;
        wait_for(device, true, NULL, 0);
        now_ns += setting[S_first];
    }
    if (strcmp(kernel->name, "gs_fault") == 0) {
        device->lost = (int)setting[S_fault];
        return 0;
    }
    op.warps = ((int)config->block_x + 31) / 32;
    op.regs = kernel->regs;
    op.smem = gpu_smem(config->smem);
    op.carveout = gpu_carveout(&op, preferred[kernel - functions], config->smem != 0);
    memcpy(&op.spin, parameters[0], sizeof op.spin);
    int64_t of_gpc = setting[S_gpc] < setting[S_sms] ? setting[S_gpc] : setting[S_sms];
    int64_t hosts = gpu_occupancy(&op) * of_gpc;
    if (op.cluster > 1 && hosts < op.cluster) {
        return 912;
    }
    return hosts < 1 ? 701 : launch_op(device, config->stream, op);
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned smem,
                          void *stream, void **parameters, void **extra)
{
    ENTER_IN_CONTEXT(setting[S_launch]);
    gs_cuda_api_launch_t config = {.grid_x = grid_x,
                                   .grid_y = grid_y,
                                   .grid_z = grid_z,
                                   .block_x = block_x,
                                   .block_y = block_y,
                                   .block_z = block_z,
                                   .smem = smem,
                                   .stream = stream};
    return extra != NULL ? 1 : launch(device, &config, function, parameters);
}

EXPORT int cuLaunchKernelEx(const gs_cuda_api_launch_t *config, void *function, void **parameters,
                            void **extra)
{
    ENTER_IN_CONTEXT(setting[S_launch]);
    return extra != NULL ? 1 : launch(device, config, function, parameters);
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
    ENTER_IN_CONTEXT(setting[S_launch]);
    uintptr_t handle = (uintptr_t)graph, first = (uintptr_t)graphs;
    if (handle < first || handle >= first + (size_t)made_graphs * sizeof *graphs ||
        (handle - first) % sizeof *graphs != 0) {
        return INVALID_HANDLE;
    }
    op_t op = {.kernel = true, .blocks = 1, .warps = 1, .regs = 24, .smem = gpu_smem(0)};
    op.carveout = gpu_carveout(&op, 0, false);
    op.spin.ns = (uint64_t) * (int64_t *)graph;
    return launch_op(device, stream, op);
}

/* Green contexts: partitions of whole groups of 8 SMs. A resource has its first SM behind their
 * number, a descriptor is their number and first SM. */

EXPORT int cuDeviceGetDevResource(int device, gs_cuda_api_resource_t *resource, int type)
{
    ENTER(0);
    (void)device;
    resource->type = type;
    resource->is.sm.sm_count = (unsigned)setting[S_sms];
    resource->is.oversize[8] = 0;
    return type == 1 ? 0 : 1;
}

EXPORT int cuDevSmResourceSplitByCount(gs_cuda_api_resource_t *result, unsigned *groups,
                                       const gs_cuda_api_resource_t *input,
                                       gs_cuda_api_resource_t *remaining, unsigned flags,
                                       unsigned least)
{
    ENTER(0);
    (void)flags;
    unsigned sms = (least + 7) / 8 * 8, most = input->is.sm.sm_count / sms;
    *groups = *groups < most ? *groups : most;
    *remaining = *input;
    for (unsigned g = 0; g < *groups; g++) {
        result[g] = *input;
        result[g].is.sm.sm_count = sms;
        result[g].is.oversize[8] = (unsigned char)(input->is.oversize[8] + g * sms);
        remaining->is.sm.sm_count -= sms;
        remaining->is.oversize[8] = (unsigned char)(result[g].is.oversize[8] + sms);
    }
    return 0;
}

EXPORT int cuDevResourceGenerateDesc(void **descriptor, gs_cuda_api_resource_t *resources,
                                     unsigned count)
{
    ENTER(0);
    uintptr_t first = resources->is.oversize[8];
    *descriptor = (void *)(resources->is.sm.sm_count | first << 16);
    return count == 1 ? 0 : 1;
}

EXPORT int cuGreenCtxCreate(void **context, void *descriptor, int device, unsigned flags)
{
    ENTER(setting[S_call]);
    static int groups;
    green_t *green = malloc(sizeof *green);
    if (green == NULL || flags != 1) {
        return 1;
    }
    uintptr_t part = (uintptr_t)descriptor;
    groups = groups % 64 + 1; /* group 0 is that of other streams */
    *green = (green_t){device, (int)(part >> 16), (int)(part & 0xffff), groups};
    live++;
    *context = green;
    return 0;
}

EXPORT int cuGreenCtxDestroy(void *context)
{
    LOCKED;
    free(context);
    live--;
    return enter(__func__, setting[S_call]);
}

EXPORT int cuGreenCtxStreamCreate(void **stream, void *context, unsigned flags, int priority)
{
    ENTER(setting[S_call]);
    return flags != 1 ? 1 : make_stream(stream, context, flags, priority);
}
