/* Declarations of the NVIDIA driver interface, as far as it is used.
 *
 * The driver is opened at run time, and its binary interface is stable: with these declarations the
 * host side is built and tested everywhere, also without a toolkit. Tests compare them with the
 * cuda.h of an installed toolkit, in CI with those of CUDA 12.9 and 13. Names are those of the
 * driver, prefixed by gs_cuda_api_; a table entry is named like the symbol without "cu" and its
 * version.
 */
#ifndef GS_CUDA_API_H
#define GS_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

typedef int gs_cuda_api_result_t;   /* CUresult */
typedef int gs_cuda_api_device_t;   /* CUdevice */
typedef uint64_t gs_cuda_api_ptr_t; /* CUdeviceptr */
typedef void
    *gs_cuda_api_handle_t; /* CUcontext, CUmodule, CUfunction, CUstream, CUgraphExec, ... */

enum {
    GS_CUDA_API_SUCCESS = 0,
    GS_CUDA_API_OUT_OF_MEMORY = 2,
    GS_CUDA_API_NO_DEVICE = 100,
    GS_CUDA_API_ECC_UNCORRECTABLE = 214,
    GS_CUDA_API_NVLINK_UNCORRECTABLE = 220,
    GS_CUDA_API_CONTAINED = 226,
    GS_CUDA_API_NOT_READY = 600,
    GS_CUDA_API_ILLEGAL_ADDRESS = 700,
    GS_CUDA_API_LAUNCH_TIMEOUT = 702,
    GS_CUDA_API_CONTEXT_IS_DESTROYED = 709,
    GS_CUDA_API_ASSERT = 710,
    GS_CUDA_API_HARDWARE_STACK_ERROR = 714,
    GS_CUDA_API_ILLEGAL_INSTRUCTION = 715,
    GS_CUDA_API_MISALIGNED_ADDRESS = 716,
    GS_CUDA_API_INVALID_ADDRESS_SPACE = 717,
    GS_CUDA_API_INVALID_PC = 718,
    GS_CUDA_API_LAUNCH_FAILED = 719,
    GS_CUDA_API_TENSOR_MEMORY_LEAK = 721,
    GS_CUDA_API_MPS_CLIENT_TERMINATED = 810,
    GS_CUDA_API_EXTERNAL_DEVICE = 911,
    GS_CUDA_API_INVALID_RESOURCE_CONFIGURATION = 915
};

enum { /* CUdevice_attribute */
       GS_CUDA_API_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
       GS_CUDA_API_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
       GS_CUDA_API_ATTRIBUTE_KERNEL_EXEC_TIMEOUT = 17,
       GS_CUDA_API_ATTRIBUTE_INTEGRATED = 18,
       GS_CUDA_API_ATTRIBUTE_COMPUTE_MODE = 20,
       GS_CUDA_API_ATTRIBUTE_CONCURRENT_KERNELS = 31,
       GS_CUDA_API_ATTRIBUTE_L2_CACHE_SIZE = 38,
       GS_CUDA_API_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
       GS_CUDA_API_ATTRIBUTE_ASYNC_ENGINE_COUNT = 40,
       GS_CUDA_API_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
       GS_CUDA_API_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
       GS_CUDA_API_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
       GS_CUDA_API_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
       GS_CUDA_API_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
       GS_CUDA_API_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
       GS_CUDA_API_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111
};

enum { /* CUfunction_attribute */
       GS_CUDA_API_FUNC_NUM_REGS = 4,
       GS_CUDA_API_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
       GS_CUDA_API_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
       GS_CUDA_API_FUNC_NON_PORTABLE_CLUSTER_SIZE_ALLOWED = 14
};

enum {
    GS_CUDA_API_STREAM_DEFAULT = 0,
    GS_CUDA_API_STREAM_NON_BLOCKING = 1,
    GS_CUDA_API_DEV_RESOURCE_TYPE_SM = 1,
    GS_CUDA_API_GREEN_CTX_DEFAULT_STREAM = 1
};

enum { /* CUlaunchAttributeID */
       GS_CUDA_API_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
       GS_CUDA_API_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6
};

/* CUdevResource: a type and opaque data of the driver. */
typedef struct {
    int type;
    unsigned char padding[92];
    union {
        struct {
            unsigned sm_count; /* more follows since CUDA 13 */
        } sm;
        unsigned char oversize[48];
    } is;
} gs_cuda_api_resource_t;

/* CUlaunchAttribute and CUlaunchConfig. */
typedef struct {
    int id;
    int padding;
    union {
        unsigned cluster[3]; /* dimensions of a cluster in blocks */
        int programmatic;
        uint64_t oversize[8];
    } value;
} gs_cuda_api_attribute_t;

typedef struct {
    unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, smem;
    gs_cuda_api_handle_t stream;
    gs_cuda_api_attribute_t *attributes;
    unsigned count;
} gs_cuda_api_launch_t;

/* Functions of the driver. LaunchKernelEx (CUDA 11.8) and those of green contexts (CUDA 12.4, their
 * streams 12.5) may be NULL. */
typedef struct {
    gs_cuda_api_result_t (*Init)(unsigned flags);
    gs_cuda_api_result_t (*DriverGetVersion)(int *version);
    gs_cuda_api_result_t (*GetErrorName)(gs_cuda_api_result_t error, const char **text);
    gs_cuda_api_result_t (*GetErrorString)(gs_cuda_api_result_t error, const char **text);
    gs_cuda_api_result_t (*DeviceGetCount)(int *count);
    gs_cuda_api_result_t (*DeviceGet)(gs_cuda_api_device_t *device, int ordinal);
    gs_cuda_api_result_t (*DeviceGetName)(char *name, int length, gs_cuda_api_device_t device);
    gs_cuda_api_result_t (*DeviceGetAttribute)(int *value, int attribute,
                                               gs_cuda_api_device_t device);
    gs_cuda_api_result_t (*DeviceTotalMem)(size_t *bytes, gs_cuda_api_device_t device);
    gs_cuda_api_result_t (*DevicePrimaryCtxGetState)(gs_cuda_api_device_t device, unsigned *flags,
                                                     int *active);
    gs_cuda_api_result_t (*DevicePrimaryCtxRetain)(gs_cuda_api_handle_t *context,
                                                   gs_cuda_api_device_t device);
    gs_cuda_api_result_t (*DevicePrimaryCtxRelease)(gs_cuda_api_device_t device);
    gs_cuda_api_result_t (*CtxPushCurrent)(gs_cuda_api_handle_t context);
    gs_cuda_api_result_t (*CtxPopCurrent)(gs_cuda_api_handle_t *context);
    gs_cuda_api_result_t (*CtxSynchronize)(void);
    gs_cuda_api_result_t (*CtxGetStreamPriorityRange)(int *least, int *greatest);
    gs_cuda_api_result_t (*ModuleLoadData)(gs_cuda_api_handle_t *module, const void *image);
    gs_cuda_api_result_t (*ModuleUnload)(gs_cuda_api_handle_t module);
    gs_cuda_api_result_t (*ModuleGetFunction)(gs_cuda_api_handle_t *function,
                                              gs_cuda_api_handle_t module, const char *name);
    gs_cuda_api_result_t (*FuncGetAttribute)(int *value, int attribute,
                                             gs_cuda_api_handle_t function);
    gs_cuda_api_result_t (*FuncSetAttribute)(gs_cuda_api_handle_t function, int attribute,
                                             int value);
    gs_cuda_api_result_t (*OccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks,
                                                                      gs_cuda_api_handle_t function,
                                                                      int threads, size_t smem);
    gs_cuda_api_result_t (*MemAlloc)(gs_cuda_api_ptr_t *pointer, size_t bytes);
    gs_cuda_api_result_t (*MemFree)(gs_cuda_api_ptr_t pointer);
    gs_cuda_api_result_t (*MemHostAlloc)(void **pointer, size_t bytes, unsigned flags);
    gs_cuda_api_result_t (*MemFreeHost)(void *pointer);
    gs_cuda_api_result_t (*MemcpyDtoH)(void *to, gs_cuda_api_ptr_t from, size_t bytes);
    gs_cuda_api_result_t (*MemcpyDtoHAsync)(void *to, gs_cuda_api_ptr_t from, size_t bytes,
                                            gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*MemcpyHtoDAsync)(gs_cuda_api_ptr_t to, const void *from, size_t bytes,
                                            gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*MemsetD8)(gs_cuda_api_ptr_t to, unsigned char value, size_t bytes);
    gs_cuda_api_result_t (*MemsetD8Async)(gs_cuda_api_ptr_t to, unsigned char value, size_t bytes,
                                          gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*StreamCreateWithPriority)(gs_cuda_api_handle_t *stream, unsigned flags,
                                                     int priority);
    gs_cuda_api_result_t (*StreamDestroy)(gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*StreamSynchronize)(gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*StreamQuery)(gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*LaunchKernel)(gs_cuda_api_handle_t function, unsigned grid_x,
                                         unsigned grid_y, unsigned grid_z, unsigned block_x,
                                         unsigned block_y, unsigned block_z, unsigned smem,
                                         gs_cuda_api_handle_t stream, void **parameters,
                                         void **extra);
    gs_cuda_api_result_t (*LaunchKernelEx)(const gs_cuda_api_launch_t *config,
                                           gs_cuda_api_handle_t function, void **parameters,
                                           void **extra);
    gs_cuda_api_result_t (*GraphLaunch)(gs_cuda_api_handle_t graph, gs_cuda_api_handle_t stream);
    gs_cuda_api_result_t (*DeviceGetDevResource)(gs_cuda_api_device_t device,
                                                 gs_cuda_api_resource_t *resource, int type);
    gs_cuda_api_result_t (*DevSmResourceSplitByCount)(gs_cuda_api_resource_t *result,
                                                      unsigned *groups,
                                                      const gs_cuda_api_resource_t *input,
                                                      gs_cuda_api_resource_t *remaining,
                                                      unsigned flags, unsigned least);
    gs_cuda_api_result_t (*DevResourceGenerateDesc)(gs_cuda_api_handle_t *descriptor,
                                                    gs_cuda_api_resource_t *resources,
                                                    unsigned count);
    gs_cuda_api_result_t (*GreenCtxCreate)(gs_cuda_api_handle_t *context,
                                           gs_cuda_api_handle_t descriptor,
                                           gs_cuda_api_device_t device, unsigned flags);
    gs_cuda_api_result_t (*GreenCtxDestroy)(gs_cuda_api_handle_t context);
    gs_cuda_api_result_t (*GreenCtxStreamCreate)(gs_cuda_api_handle_t *stream,
                                                 gs_cuda_api_handle_t context, unsigned flags,
                                                 int priority);
} gs_cuda_api_table_t;

#endif
