/* Player of schedules and policies on a device.
 *
 * [RTNS24], section 4.1: one stream per task, all of equal priority; a frame submits the kernels of
 * one batch, each in its stream, and waits for all of them. A dedicated thread dispatches, with
 * sleeps to absolute instants, and optionally with real-time priority and locked memory.
 */
#ifndef GS_CUDA_PLAYER_H
#define GS_CUDA_PLAYER_H

#include "cuda/player_check.h"

/* Plays; the calling thread waits and polls meanwhile. After an error or a stop, `played` holds the
 * records up to then. */
int gs_cuda_play(gs_cuda_device_t *device, gs_context_t *ctx, const gs_cuda_play_t *play,
                 gs_cuda_played_t *played);

#endif
