/* Device in use: its primary context with the spin kernels.
 *
 * The primary context is shared with PyTorch, CuPy and the CUDA runtime, so graphs captured there
 * can be played here. It is current only inside a call, between gs_cuda_enter and gs_cuda_leave.
 * One thread uses a device at a time.
 */
#ifndef GS_CUDA_DEVICE_H
#define GS_CUDA_DEVICE_H

#include "cuda/driver.h"

/* Number of variants of the spin kernel, ordered by registers per thread. */
#define GS_CUDA_VARIANTS 8

/* Attributes of a device, in the order of gs_cuda_device_limits. */
enum {
    GS_CUDA_SMS,
    GS_CUDA_THREADS_PER_SM,
    GS_CUDA_BLOCKS_PER_SM,
    GS_CUDA_REGS_PER_SM,
    GS_CUDA_REGS_PER_BLOCK,
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

#define GS_CUDA_DRIVER_CARVEOUT (-1)
#define GS_CUDA_USUAL_CARVEOUT 100

/* Arguments of the spin kernel; same layout as gs_spin_t in spin.cu. */
typedef struct {
    uint64_t log;
    uint64_t summary;
    uint64_t ns;
    uint64_t iterations;
    uint64_t memory;
    uint64_t words;
    uint64_t trigger;
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
    int32_t least, greatest; /* range of stream priorities; a smaller number is more urgent */
    int32_t was_active;      /* whether the context was active before */
    int64_t smem_per_block;
    int64_t sms;
} gs_cuda_device_t;

/* Reads the limits of a device without creating a context. Refuses an index out of range. */
int gs_cuda_device_limits(gs_cuda_driver_t *driver, gs_context_t *ctx, int32_t index,
                          int64_t values[GS_CUDA_LIMITS], char name[GS_CUDA_NAME_BYTES]);

/* Retains the primary context and loads the kernels of a fatbin into it. After an error nothing is
 * left to close. */
int gs_cuda_device_open(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_driver_t *driver,
                        int32_t index, const void *image);

/* Releases everything; safe twice, in a forked process, and when the context is lost. Returns the
 * first error of the driver; the rest is still released. */
int gs_cuda_device_close(gs_cuda_device_t *self, gs_context_t *ctx);

/* Makes the context current. Refuses after a fork, and when the context is lost. */
int gs_cuda_enter(gs_cuda_device_t *self, gs_context_t *ctx);
/* Undoes gs_cuda_enter. Returns status, or if that is GS_OK the error of the call. */
int gs_cuda_leave(gs_cuda_device_t *self, gs_context_t *ctx, int status);

/* gs_cuda_result for this device. */
int gs_cuda_done(gs_cuda_device_t *self, gs_context_t *ctx, gs_cuda_api_result_t result,
                 const char *function);

/* Resident blocks per SM of a variant of the spin kernel, as computed by the driver. */
int gs_cuda_occupancy(gs_cuda_device_t *self, gs_context_t *ctx, int64_t variant, int64_t threads,
                      int64_t smem, int64_t *blocks);

/* Preferred carve-out for shared memory of all variants, in percent of the largest, or
 * GS_CUDA_DRIVER_CARVEOUT: the driver chooses one for each launch. After gs_cuda_device_open it is
 * GS_CUDA_USUAL_CARVEOUT, as kernels with different ones wait for each other ([RTAS20], section
 * III-C2). */
int gs_cuda_carveout(gs_cuda_device_t *self, gs_context_t *ctx, int64_t percent);

/* Launches a kernel that writes to address 0, and waits for it: on a GPU this returns the error,
 * and the device is lost to this process. */
int gs_cuda_fault(gs_cuda_device_t *self, gs_context_t *ctx);

#endif
