// The GPU of the program: streams, green contexts and waits, with the driver interface of CUDA.
//
// Without -DGPUSCHED_CUDA a stream is a timer, so that the program runs on any machine.
#pragma once
#include <gpusched/rt.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <vector>

#include "tasks.h"

#ifdef GPUSCHED_CUDA
#include <cuda.h>
using gpu_stream_t = CUstream;
using gpu_mark_t = CUevent;
#else
struct gpu_timer_t {
    std::mutex guard;
    int64_t ends = 0;
};
using gpu_stream_t = gpu_timer_t *;
using gpu_mark_t = int64_t;
#endif

inline void nap(int64_t ns)
{
    const timespec time = {static_cast<time_t>(ns / 1000000000),
                           static_cast<long>(ns % 1000000000)};
    nanosleep(&time, nullptr);
}

#ifdef GPUSCHED_CUDA

inline CUcontext gpu_context = nullptr;
inline CUdevice gpu_device = 0;
inline std::vector<CUgreenCtx> gpu_greens;

inline int gpu_done(CUresult result, const char *call)
{
    if (result == CUDA_SUCCESS) {
        return 0;
    }
    const char *text = nullptr;
    cuGetErrorString(result, &text);
    std::fprintf(stderr, "%s: %s\n", call, text == nullptr ? "unknown error" : text);
    return -1;
}

// A green context with its SMs; those that are left are for the next one.
inline int gpu_green(CUdevResource *rest, unsigned sms, bool last)
{
    CUdevResource part = *rest, left = *rest;
    CUdevResourceDesc description = nullptr;
    CUgreenCtx green = nullptr;
    unsigned groups = 1;
    const unsigned flags = CO_SCHEDULED ? 0 : CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    if ((!last || rest->sm.smCount != sms) &&
        gpu_done(cuDevSmResourceSplitByCount(&part, &groups, rest, &left, flags, sms),
                 "cuDevSmResourceSplitByCount") < 0) {
        return -1;
    }
    if (part.sm.smCount != sms) {
        std::fprintf(stderr, "green context: got %u SMs, expected %u\n", part.sm.smCount, sms);
        return -1;
    }
    CUdevResource resources[2] = {part, part};
    unsigned count = 1;
#if CUDA_VERSION >= 13010
    if (BALANCED) {
        if (gpu_done(cuDeviceGetDevResource(gpu_device, &resources[1],
                                            CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG),
                     "cuDeviceGetDevResource") < 0) {
            return -1;
        }
        resources[1].wqConfig.sharingScope = CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
        count = 2;
    }
#else
    if (BALANCED) {
        std::fprintf(stderr, "green context: got a toolkit before CUDA 13.1, expected one that has "
                             "work queues\n");
        return -1;
    }
#endif
    if (gpu_done(cuDevResourceGenerateDesc(&description, resources, count),
                 "cuDevResourceGenerateDesc") < 0 ||
        gpu_done(cuGreenCtxCreate(&green, description, gpu_device, CU_GREEN_CTX_DEFAULT_STREAM),
                 "cuGreenCtxCreate") < 0) {
        return -1;
    }
    gpu_greens.push_back(green);
    *rest = left;
    return 0;
}

// Opens the device, once, in the mode of the answer: waits block, or spin.
inline int gpu_open()
{
    const unsigned flags = SPIN_GPU ? CU_CTX_SCHED_SPIN : CU_CTX_SCHED_BLOCKING_SYNC;
    if (gpu_done(cuInit(0), "cuInit") < 0 ||
        gpu_done(cuDeviceGet(&gpu_device, 0), "cuDeviceGet") < 0 ||
        gpu_done(cuDevicePrimaryCtxSetFlags(gpu_device, flags), "cuDevicePrimaryCtxSetFlags") < 0 ||
        gpu_done(cuDevicePrimaryCtxRetain(&gpu_context, gpu_device), "cuDevicePrimaryCtxRetain") <
            0) {
        return -1;
    }
    CUdevResource rest;
    if (GROUPS > 0 && gpu_done(cuDeviceGetDevResource(gpu_device, &rest, CU_DEV_RESOURCE_TYPE_SM),
                               "cuDeviceGetDevResource") < 0) {
        return -1;
    }
    for (int group = 0; group < GROUPS; group++) {
        if (gpu_green(&rest, GROUP_SMS[group], group == GROUPS - 1) < 0) {
            return -1;
        }
    }
    return 0;
}

// Makes the context that of the calling thread.
inline int gpu_enter()
{
    static thread_local bool entered = false;
    if (entered) {
        return 0;
    }
    entered = true;
    return gpu_done(cuCtxPushCurrent(gpu_context), "cuCtxPushCurrent");
}

// A stream in a green context (-1: in none), with a priority, of which a smaller one is more
// urgent.
inline int gpu_open_stream(int priority, int group, gpu_stream_t *stream)
{
    int least = 0, greatest = 0;
    if (gpu_done(cuCtxGetStreamPriorityRange(&least, &greatest), "cuCtxGetStreamPriorityRange") <
        0) {
        return -1;
    }
    if (priority < greatest || priority > least) { // it would be clamped without an error
        std::fprintf(stderr, "stream: got priority %d, expected %d to %d\n", priority, greatest,
                     least);
        return -1;
    }
    if (group < 0) {
        return gpu_done(cuStreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, priority),
                        "cuStreamCreateWithPriority");
    }
    return gpu_done(cuGreenCtxStreamCreate(stream, gpu_greens[static_cast<size_t>(group)],
                                           CU_STREAM_NON_BLOCKING, priority),
                    "cuGreenCtxStreamCreate");
}

// Marks the end of the work that is in a stream now. Streams of one task need no event for it.
inline int gpu_record(gpu_stream_t stream, gpu_mark_t *mark)
{
    if (SHARING != ONE_STREAM) {
        return 0;
    }
    const unsigned flags = CU_EVENT_DISABLE_TIMING | (SPIN_GPU ? 0 : CU_EVENT_BLOCKING_SYNC);
    if (*mark == nullptr && gpu_done(cuEventCreate(mark, flags), "cuEventCreate") < 0) {
        return -1;
    }
    return gpu_done(cuEventRecord(*mark, stream), "cuEventRecord");
}

// Whether the work up to a mark has ended: GS_RT_OK, GS_RT_TIMEOUT or an error.
inline int gpu_look(gpu_stream_t stream, gpu_mark_t mark)
{
    const CUresult result = mark == nullptr ? cuStreamQuery(stream) : cuEventQuery(mark);
    return result == CUDA_ERROR_NOT_READY ? GS_RT_TIMEOUT : gpu_done(result, "cuStreamQuery");
}

// Waits for the work up to a mark.
inline int gpu_wait(gpu_stream_t stream, gpu_mark_t mark)
{
    return mark == nullptr ? gpu_done(cuStreamSynchronize(stream), "cuStreamSynchronize")
                           : gpu_done(cuEventSynchronize(mark), "cuEventSynchronize");
}

#else

inline int gpu_open()
{
    return 0;
}

inline int gpu_enter()
{
    return 0;
}

inline int gpu_open_stream(int, int, gpu_stream_t *stream)
{
    *stream = new gpu_timer_t; // until the process ends
    return 0;
}

// Work that takes so long, behind what is in the stream.
inline int gpu_take(gpu_stream_t stream, int64_t ns)
{
    const std::lock_guard<std::mutex> hold(stream->guard);
    const int64_t now = gs_rt_now();
    stream->ends = (stream->ends > now ? stream->ends : now) + ns;
    return 0;
}

inline int gpu_record(gpu_stream_t stream, gpu_mark_t *mark)
{
    const std::lock_guard<std::mutex> hold(stream->guard);
    *mark = stream->ends;
    return 0;
}

inline int gpu_look(gpu_stream_t, gpu_mark_t mark)
{
    return gs_rt_now() < mark ? GS_RT_TIMEOUT : GS_RT_OK;
}

inline int gpu_wait(gpu_stream_t, gpu_mark_t mark)
{
    for (int64_t left; (left = mark - gs_rt_now()) > 0;) {
        if (!SPIN_GPU) {
            nap(left);
        }
    }
    return 0;
}

#endif

// Waits for the work up to a mark until an instant.
inline int gpu_wait_until(gpu_stream_t stream, gpu_mark_t mark, int64_t until)
{
    for (;;) {
        const int status = gpu_look(stream, mark);
        const int64_t left = until - gs_rt_now();
        if (status != GS_RT_TIMEOUT || left <= 0) {
            return status;
        }
        nap(left < 50000 ? left : 50000);
    }
}
