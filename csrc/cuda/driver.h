/* The NVIDIA driver of this process: its functions, opened at run time, and its errors.
 *
 * Nothing of CUDA is linked. A driver belongs to the process that opened it: after a fork every
 * call is refused. A device whose context an error has destroyed is refused from then on, since
 * the primary context of a process cannot be had anew.
 *
 * Errors beside those of core/context.h: GS_CUDA_ERR_DRIVER, where fault.field names the driver's
 * function and fault.value has its code; GS_CUDA_ERR_FORKED; GS_CUDA_ERR_LOST (value: the code that
 * destroyed the context); GS_CUDA_ERR_SYSTEM (value: errno).
 */
#ifndef GS_CUDA_DRIVER_H
#define GS_CUDA_DRIVER_H

#include "core/context.h"
#include "cuda/api.h"

enum {
    GS_CUDA_ERR_DRIVER = -16,
    GS_CUDA_ERR_FORKED = -17,
    GS_CUDA_ERR_LOST = -18,
    GS_CUDA_ERR_SYSTEM = -19
};

#define GS_CUDA_MAX_DEVICES 64
/* The oldest driver: 1000 times the major number of the CUDA version that it supports. */
#define GS_CUDA_OLDEST 11000

typedef struct {
    void *opened; /* what dlopen gave, or NULL */
    gs_cuda_api_table_t cu;
    /* Clock and sleep of the host, in ns: those of the system, or what the library brings along
     * (gpusched_now and gpusched_sleep_until), which a stand-in with a clock of its own does. */
    int64_t (*now)(void);
    void (*sleep_until)(int64_t instant);
    int version; /* 1000 * major + 10 * minor of the CUDA version it supports */
    int devices;
    int64_t pid;
    int lost[GS_CUDA_MAX_DEVICES]; /* the code that destroyed a device's context, else 0 */
} gs_cuda_driver_t;

/* Opens a driver by the name of its library and starts it. Without a device it succeeds and has
 * devices = 0. `missing` receives the name of what the library lacks, or NULL: with it the error
 * is GS_ERR_VALUE, as for a library that is not there (field "library") and a driver that is too
 * old (field "version"). The library stays open for ever: it may have threads. */
int gs_cuda_driver_open(gs_cuda_driver_t *self, gs_context_t *ctx, const char *path,
                        const char **missing);

/* Refuses use after a fork. */
int gs_cuda_driver_check(const gs_cuda_driver_t *self, gs_context_t *ctx);

/* GS_OK or the error for what a driver's function returned. Every result passes here. device: the
 * one concerned, or -1; it is lost from now on if the error destroyed its context. */
int gs_cuda_result(gs_cuda_driver_t *self, gs_context_t *ctx, int32_t device,
                   gs_cuda_api_result_t result, const char *function);

/* The driver's name of an error and its sentence; never NULL. */
const char *gs_cuda_error_name(const gs_cuda_driver_t *self, gs_cuda_api_result_t error);
const char *gs_cuda_error_text(const gs_cuda_driver_t *self, gs_cuda_api_result_t error);

#endif
