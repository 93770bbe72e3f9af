/* NVIDIA driver of this process: its functions, opened at run time, and its errors.
 *
 * CUDA is not linked. A driver belongs to the process that opened it: after a fork every call is
 * refused. A device whose context was destroyed by an error is refused from then on, since the
 * primary context of a process cannot be recreated.
 *
 * Errors in addition to those of core/context.h: GS_CUDA_ERR_DRIVER, where fault.field is the
 * function of the driver and fault.value its code; GS_CUDA_ERR_FORKED; GS_CUDA_ERR_LOST (value: the
 * code that destroyed the context); GS_CUDA_ERR_SYSTEM (value: errno). The reasons of FORKED, LOST
 * and SYSTEM are whole sentences.
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
/* Oldest driver accepted: 1000 times the major version of CUDA that it supports. */
#define GS_CUDA_OLDEST 11000

typedef struct {
    void *opened; /* handle of dlopen, or NULL */
    gs_cuda_api_table_t cu;
    /* Clock and sleep of the host, in ns: those of the system, or gpusched_now and
     * gpusched_sleep_until if the library has them (a stand-in with its own clock). */
    int64_t (*now)(void);
    void (*sleep_until)(int64_t instant);
    int version; /* 1000 * major + 10 * minor of the CUDA version it supports */
    int devices;
    int64_t pid;
    int lost[GS_CUDA_MAX_DEVICES]; /* the code that destroyed a device's context, else 0 */
} gs_cuda_driver_t;

/* Opens and initialises a driver by the name of its library. Without a device it succeeds with
 * devices = 0. GS_ERR_VALUE: the library cannot be opened or lacks a function (field "library";
 * *missing receives the name of the function, else NULL), or the driver is too old (field
 * "version"). The library is never closed, as it may have threads. */
int gs_cuda_driver_open(gs_cuda_driver_t *self, gs_context_t *ctx, const char *path,
                        const char **missing);

/* Refuses use after a fork. */
int gs_cuda_driver_check(const gs_cuda_driver_t *self, gs_context_t *ctx);

/* Converts the result of a function of the driver to a status; every result passes here. device:
 * its index, or -1; it is lost from then on if the error destroyed its context. */
int gs_cuda_result(gs_cuda_driver_t *self, gs_context_t *ctx, int32_t device,
                   gs_cuda_api_result_t result, const char *function);

/* Name and description of an error of the driver; never NULL. */
const char *gs_cuda_error_name(const gs_cuda_driver_t *self, gs_cuda_api_result_t error);
const char *gs_cuda_error_text(const gs_cuda_driver_t *self, gs_cuda_api_result_t error);

#endif
