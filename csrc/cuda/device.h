/* One device that is in use: its primary context, and the spin kernels in it.
 *
 * The primary context is shared with PyTorch, CuPy and the CUDA runtime, so graphs captured there
 * can be played here. It is current only inside a call, between gs_cuda_enter and gs_cuda_leave.
 * One thread uses a device at a time.
 */
#ifndef GS_CUDA_DEVICE_H
#define GS_CUDA_DEVICE_H

#include "cuda/driver.h"

/* The spin kernel's variants, in the order of the registers that their threads have. */
#define GS_CUDA_VARIANTS 8

/* What a device says of itself, in the order of gs_cuda_device_limits. */
enum {
    GS_CUDA_SMS,
    GS_CUDA_THREADS_PER_SM,
    GS_CUDA_BLOCKS_PER_SM,
    GS_CUDA_REGS_PER_SM,
    GS_CUDA_SMEM_PER_SM,
    GS_CUDA_SMEM_PER_BLOCK,
    GS_CUDA_SMEM_RESERVED,
    GS_CUDA_COPY_ENGINES,
    GS_CUDA_CC_MAJOR,
    GS_CUDA_CC_MINOR,
    GS_CUDA_CONCURRENT,
    GS_CUDA_L2_BYTES,
    GS_CUDA_INTEGRATED,
    GS_CUDA_TIMEOUT,
    GS_CUDA_COMPUTE_MODE,
    GS_CUDA_MEMORY_BYTES,
    GS_CUDA_LIMITS
};

#define GS_CUDA_NAME_BYTES 256

/* What the spin kernel is told; as gs_spin_t in spin.cu. */
typedef struct {
    uint64_t log;
    uint64_t summary;
    uint64_t ns;
    uint64_t iterations;
    uint64_t memory;
    uint64_t words;
} gs_cuda_spin_t;

typedef struct {
    gs_cuda_driver_t *driver; /* borrowed */
    int32_t index;
    gs_cuda_api_device_t device;
    gs_cuda_api_handle_t context; /* retained */
    gs_cuda_api_handle_t module;
    gs_cuda_api_handle_t spin[GS_CUDA_VARIANTS];
    gs_cuda_api_handle_t fault;
    int32_t regs[GS_CUDA_VARIANTS]; /* per thread */
    int32_t least, greatest;        /* of the stream priorities: the numbers fall with urgency */
    int32_t was_active;             /* whether someone else had made the context before */
    int64_t smem_per_block;
    int64_t sms;
} gs_cuda_device_t;

/* Asks a device for its limits, without making a context. Refuses an index that is not there. */
int gs_cuda_device_limits(gs_cuda_driver_t *driver, gs_context_t *ctx, int32_t index,
                          int64_t values[GS_CUDA_LIMITS], char name[GS_CUDA_NAME_BYTES]);

/* Retains the primary context and loads the kernels of a fatbin into it. After an error nothing is
 * left to close. */
int gs_cuda_device_open(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_driver_t *driver,
                        int32_t index, const void *image);

/* Gives all back; safe twice, in a forked process, and when the context is lost. An error of the
 * driver in here is returned, and the rest is still given back. */
int gs_cuda_device_close(gs_cuda_device_t *self, gs_context_t *ctx);

/* Makes the context current; refuses after a fork, and when it is lost. */
int gs_cuda_enter(gs_cuda_device_t *self, gs_context_t *ctx);
/* Takes it off again and returns status, or the error of doing so. */
int gs_cuda_leave(gs_cuda_device_t *self, gs_context_t *ctx, int status);

/* gs_cuda_result for this device. */
int gs_cuda_done(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_api_result_t result,
                 const char *function);

/* The driver's own answer: how many blocks of a variant of the spin kernel an SM holds. */
int gs_cuda_occupancy(gs_cuda_device_t *self, gs_context_t *ctx, int64_t variant, int64_t threads,
                      int64_t smem, int64_t *blocks);

/* Launches a kernel that writes to address 0 and waits for it: on a GPU this returns the error,
 * and the device is lost to this process. */
int gs_cuda_fault(gs_cuda_device_t *self, gs_context_t *ctx);

#endif
