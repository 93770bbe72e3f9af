/* Ways of sharing the GPU that the host simulator plays: a row of traits and hooks for each.
 *
 * host.h states their rules. Each row stands in the file that implements it; nothing else decides
 * by the way. A hook may be NULL where the comment says what that means.
 */
#ifndef GS_SIMULATE_HOST_HOST_WAY_H
#define GS_SIMULATE_HOST_HOST_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context.h"

enum { GS_SIMULATE_HOST_PARTITIONED = 0, GS_SIMULATE_HOST_GEDF = 1, GS_SIMULATE_HOST_POLICIES };

enum {
    GS_SIMULATE_HOST_MODE_SUSPEND = 0,
    GS_SIMULATE_HOST_MODE_BUSY = 1,
    GS_SIMULATE_HOST_MODE_SPIN = 2
};

/* Sets of modes, as bits. */
enum {
    GS_SIMULATE_HOST_SUSPEND = 1 << GS_SIMULATE_HOST_MODE_SUSPEND,
    GS_SIMULATE_HOST_BUSY = 1 << GS_SIMULATE_HOST_MODE_BUSY,
    GS_SIMULATE_HOST_SPIN = 1 << GS_SIMULATE_HOST_MODE_SPIN
};

/* The modes of all ways under global EDF. */
#define GS_SIMULATE_HOST_MODES_OF_GEDF                                                             \
    "with global EDF suspend (also driver: spin; container: busy)"

struct gs_simulate_host_model;
struct gs_simulate_host_state;

typedef struct gs_simulate_host_way {
    const char *name;                         /* of the protocol: "mpcp" */
    uint8_t modes[GS_SIMULATE_HOST_POLICIES]; /* under each CPU scheduler; 0: not under it */
    const char *expected_modes;               /* in words, for messages; NULL: all modes */
    bool at_end_of_work; /* a GPU segment begins with the end of the CPU work before it; else when
                            its thread is dispatched after that */
    bool one_piece;      /* copies and kernel of a segment are one piece of GPU work */
    bool own_sms;        /* kernels run on the SMs of their task; else on all */
    bool server;         /* a server, thread n, executes the segments on the core model.server */
    bool sliced;         /* a turn on the GPU consists of slices of model.slice */
    bool cpus_first;     /* of an instant, the work on CPUs ends before the kernels do */

    /* Checks the options of the model; NULL: none to check. */
    int (*check)(gs_context_t *ctx, const struct gs_simulate_host_model *model);

    /* Whether the order of requests of one instant matters, as they are served first come, first
     * served; NULL: it does not. */
    bool (*by_arrival)(const struct gs_simulate_host_model *model);

    /* Prepares the state of the way, after threads and CPUs; NULL: nothing to prepare. What it
     * allocates is freed with the state. */
    int (*init)(struct gs_simulate_host_state *self, gs_context_t *ctx,
                const struct gs_simulate_host_model *model);

    /* A GPU segment of the thread begins; its part is the copy in. Also called when a thread that
     * entered without work inside its segment is dispatched, which changes no part. */
    void (*begin)(struct gs_simulate_host_state *self, int32_t r);

    /* Work of the thread on a CPU has ended: other work than a CPU segment, or any work of a thread
     * that is `by_way`. */
    void (*worked)(struct gs_simulate_host_state *self, int32_t r);

    /* A kernel of gs_simulate_host_start_kernel has ended; NULL: the way starts none. */
    void (*kernel_ended)(struct gs_simulate_host_state *self, int32_t r);

    /* It is the time of `alarm`; NULL: `released` or `grant` handles it. */
    void (*alarm)(struct gs_simulate_host_state *self);

    /* The jobs of an instant have been released; NULL: nothing to do. */
    void (*released)(struct gs_simulate_host_state *self);

    /* CPUs have been dispatched and the requests that this led to are known: grants what can be
     * granted. Called until nothing changes. */
    void (*grant)(struct gs_simulate_host_state *self);

    /* The instant ends; NULL: nothing to do. */
    void (*settle)(struct gs_simulate_host_state *self);

    /* Dispatching key of the thread that holds the lock; NULL: there is no lock. */
    int64_t (*key)(const struct gs_simulate_host_state *self, int32_t r);

    /* A thread that is `by_way` begins a CPU segment; its job has ended. NULL: no thread of a task
     * is. */
    void (*enter)(struct gs_simulate_host_state *self, int32_t r, int64_t work);
    void (*leave)(struct gs_simulate_host_state *self, int32_t r);
} gs_simulate_host_way_t;

extern const gs_simulate_host_way_t gs_simulate_host_stgm;
extern const gs_simulate_host_way_t gs_simulate_host_mpcp;
extern const gs_simulate_host_way_t gs_simulate_host_fmlp_plus;
extern const gs_simulate_host_way_t gs_simulate_host_gpu_server;
extern const gs_simulate_host_way_t gs_simulate_host_time_slices;
extern const gs_simulate_host_way_t gs_simulate_host_gcaps;
extern const gs_simulate_host_way_t gs_simulate_host_fmlp;
extern const gs_simulate_host_way_t gs_simulate_host_omlp;
extern const gs_simulate_host_way_t gs_simulate_host_driver;
extern const gs_simulate_host_way_t gs_simulate_host_container;

#endif
