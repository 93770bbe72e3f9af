/* Declarations of the driver, as NVIDIA's cuda.h has them, that programs of recipes use. Functions
 * that the stand-in driver does not have are made of those that it has. */
#pragma once

#include <cstddef>
#include <cstdint>

#define CUDA_VERSION 13010

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUgreenCtx_st *CUgreenCtx;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUdevResourceDesc_st *CUdevResourceDesc;
enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_NOT_READY = 600 };
enum CUctx_flags { CU_CTX_SCHED_SPIN = 1, CU_CTX_SCHED_BLOCKING_SYNC = 4 };
enum CUstream_flags { CU_STREAM_NON_BLOCKING = 1 };
enum CUevent_flags { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum CUgreenCtxCreate_flags { CU_GREEN_CTX_DEFAULT_STREAM = 1 };
enum { CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING = 1 };
enum CUdevResourceType {
    CU_DEV_RESOURCE_TYPE_SM = 1,
    CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG = 1000
};
enum CUdevWorkqueueConfigScope { CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED = 1 };
struct CUdevSmResource {
    unsigned smCount;
};
struct CUdevWorkqueueConfigResource {
    CUdevice device;
    unsigned wqConcurrencyLimit;
    CUdevWorkqueueConfigScope sharingScope;
};
struct CUdevResource {
    CUdevResourceType type;
    unsigned char padding[92];
    union {
        CUdevSmResource sm;
        CUdevWorkqueueConfigResource wqConfig;
        unsigned char oversize[48];
    };
};

extern "C" {
CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuGetErrorString(CUresult, const char **);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxPushCurrent_v2(CUcontext);
CUresult cuCtxGetStreamPriorityRange(int *, int *);
CUresult cuStreamCreateWithPriority(CUstream *, unsigned, int);
CUresult cuStreamSynchronize(CUstream);
CUresult cuStreamQuery(CUstream);
CUresult cuGraphLaunch(CUgraphExec, CUstream);
CUresult cuDeviceGetDevResource(CUdevice, CUdevResource *, CUdevResourceType);
CUresult cuDevSmResourceSplitByCount(CUdevResource *, unsigned *, const CUdevResource *,
                                     CUdevResource *, unsigned, unsigned);
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *, CUdevResource *, unsigned);
CUresult cuGreenCtxCreate(CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned);
CUresult cuGreenCtxStreamCreate(CUstream *, CUgreenCtx, unsigned, int);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, CUstream);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, CUstream);
void *standin_graph(int64_t);
}
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyHtoDAsync cuMemcpyHtoDAsync_v2
#define cuMemcpyDtoHAsync cuMemcpyDtoHAsync_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2

inline CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned)
{
    return CUDA_SUCCESS;
}

/* An event is the stream in which it was recorded. */
typedef struct CUevent_st {
    CUstream stream;
} * CUevent;

inline CUresult cuEventCreate(CUevent *event, unsigned)
{
    *event = new CUevent_st();
    return CUDA_SUCCESS;
}

inline CUresult cuEventRecord(CUevent event, CUstream stream)
{
    event->stream = stream;
    return CUDA_SUCCESS;
}

inline CUresult cuEventQuery(CUevent event)
{
    return cuStreamQuery(event->stream);
}

inline CUresult cuEventSynchronize(CUevent event)
{
    return cuStreamSynchronize(event->stream);
}
