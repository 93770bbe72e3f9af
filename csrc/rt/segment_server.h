/* Server in a thread of the caller, with requests that their threads may leave: for threads that
 * cannot stay until a segment has ended.
 */
#ifndef GS_RT_SEGMENT_SERVER_H
#define GS_RT_SEGMENT_SERVER_H

#include <stdbool.h>

#include "rt/rt.h"
#include "rt/wait_word.h"

/* A request: work, job, urgency and `abandoned` are given, the rest is 0. */
typedef struct gs_rt_request {
    const gs_rt_work_t *work;
    const gs_rt_job_t *job;
    int64_t urgency;
    int result;
    /* Called by the server's thread behind the end of a segment that has been left; the request is
     * not used from then on. NULL: its thread stays until the end. */
    void (*abandoned)(struct gs_rt_request *self);
    struct gs_rt_request *next; /* made earlier */
    int64_t taken;              /* instant */
    bool answered, left;        /* under the server's guard */
    gs_rt_wait_word_t done;
} gs_rt_request_t;

/* A server without a thread: its options for one are left alone. */
int gs_rt_server_make(const gs_rt_server_options_t *options, gs_rt_server_t **server);
/* Runs the segments in the calling thread until the server is stopped. */
void gs_rt_server_serve(gs_rt_server_t *server);
/* Lets `gs_rt_server_serve` return behind the segment that runs. Nothing is done in a process that
 * was forked off the server's. */
void gs_rt_server_stop(gs_rt_server_t *server);
void gs_rt_server_free(gs_rt_server_t *server);

/* gs_rt_server_run with a request that may be left: `stopped` (NULL: never) is looked at every
 * 20 ms. If it returns other than 0, the result is GS_RT_TIMEOUT: the request is withdrawn, or, if
 * its segment has begun, left (*left) to the server's thread. */
int gs_rt_server_ask(gs_rt_server_t *server, gs_rt_request_t *request, int (*stopped)(void *arg),
                     void *arg, bool *left);

#endif
