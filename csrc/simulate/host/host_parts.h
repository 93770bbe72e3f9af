/* Functions shared by the files of the host simulator; see host.h for the rules,
 * host_state.h for the state.
 *
 *   host.c            instants
 *   host_jobs.c       jobs: their parts from release to end
 *   host_dispatch.c   dispatching: ready threads get CPUs
 *   host_cpu.c        CPUs: ready and running threads
 *   host_stgm.c       copy engine and shared SMs
 *   host_lock.c       GPU lock
 *   host_container.c  container of the tasks that use the GPU
 *   host_server.c     GPU server
 *   host_turns.c      turns of contexts on the GPU
 *   host_slices.c     time slices
 *   host_gcaps.c      GCAPS
 *   host_log.c        logs
 *   host_given.c      given releases and execution times
 *   host_check.c      checks of a model
 *   host_setup.c      initial state
 *   host_ways.c       ways of sharing the GPU, by name
 */
#ifndef GS_SIMULATE_HOST_HOST_PARTS_H
#define GS_SIMULATE_HOST_HOST_PARTS_H

#include "core/checks.h"
#include "core/rng.h"
#include "simulate/host/host_state.h"

/* Log ----------------------------------------------------------------------------------------- */

void gs_simulate_host_fail(gs_simulate_host_state_t *self, int status);

/* Records that a part would end at GS_NEVER or later. */
void gs_simulate_host_pass_clock(gs_simulate_host_state_t *self);

/* Logs the activity of a thread until now and sets the new one. */
void gs_simulate_host_log_change(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t,
                                 int8_t doing);
static inline void gs_simulate_host_note(gs_simulate_host_state_t *self,
                                         gs_simulate_host_thread_t *t, int8_t doing)
{
    if (self->log_intervals) {
        gs_simulate_host_log_change(self, t, doing);
    }
}

/* Logs a kernel, or a turn of it. */
void gs_simulate_host_log_kernel(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t start, int64_t end);

/* Logs a released job of the thread; returns its position in the log, -1 without memory. */
int64_t gs_simulate_host_log_job(gs_simulate_host_state_t *self, const gs_simulate_host_thread_t *t,
                                 int64_t number);

/* Log entry of the current job of the thread. */
static inline int64_t *gs_simulate_host_logged(const gs_simulate_host_state_t *self,
                                               const gs_simulate_host_thread_t *t, int column)
{
    return &self->host->job[column][self->job[t->job].logged];
}

/* Records the start of the current job, unless it has started; `begun` as in the thread. */
static inline void gs_simulate_host_note_start(gs_simulate_host_state_t *self,
                                               gs_simulate_host_thread_t *t, bool begun)
{
    if (self->log_jobs && t->task >= 0) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start < 0 ? self->now : *start;
        t->begun |= begun;
    }
}

/* Withdraws a start at `since` if the thread lost its CPU at the same instant, unless its GPU
 * segment goes on without the CPU. */
static inline void gs_simulate_host_note_no_start(gs_simulate_host_state_t *self,
                                                  const gs_simulate_host_thread_t *t, int64_t since)
{
    if (self->log_jobs && since == self->now && t->task >= 0 && !t->begun) {
        int64_t *start = gs_simulate_host_logged(self, t, GS_SIMULATE_HOST_JOB_START);
        *start = *start == since ? -1 : *start;
    }
}

/* Instants ------------------------------------------------------------------------------------ */

/* Handles everything that happens at the instant `now`. */
void gs_simulate_host_pass_instant(gs_simulate_host_state_t *self);

/* CPUs ---------------------------------------------------------------------------------------- */

/* Makes a thread ready with this much work, or changes its work and activity. */
void gs_simulate_host_enter(gs_simulate_host_state_t *self, int32_t r, int64_t key, int64_t work,
                            int8_t what);

/* The thread needs no CPU any more; its activity is `doing`. */
void gs_simulate_host_leave(gs_simulate_host_state_t *self, int32_t r, int8_t doing);

/* Changes the key of a thread, ready or not. */
void gs_simulate_host_rekey(gs_simulate_host_state_t *self, int32_t r, int64_t key);

/* Sets the instant at which the work on a CPU ends. */
static inline void gs_simulate_host_set_end(gs_simulate_host_state_t *self, int32_t cpu,
                                            int64_t end)
{
    int64_t *tree = self->end;
    size_t k = self->leaves + (size_t)cpu;
    tree[k] = end;
    while (k > 1) {
        int64_t beside = tree[k ^ 1];
        end = beside < end ? beside : end;
        k /= 2;
        if (tree[k] == end) {
            return;
        }
        tree[k] = end;
    }
}

/* Takes a thread off its CPU and accounts for its work. The caller updates the end of the CPU: it
 * gives the CPU to another thread or sets the end to GS_NEVER. */
static inline void gs_simulate_host_halt(gs_simulate_host_state_t *self,
                                         gs_simulate_host_thread_t *t)
{
    gs_simulate_host_cpu_t *cpu = &self->cpu[t->cpu];
    if (t->work < GS_NEVER) {
        t->work -= self->now - cpu->since;
    }
    gs_simulate_host_note_no_start(self, t, cpu->since);
    cpu->thread = -1;
    t->cpu = -1;
    gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_READY);
}

/* Marks a cluster for dispatching. */
static inline void gs_simulate_host_mark(gs_simulate_host_state_t *self, int32_t cluster)
{
    uint32_t number = (uint32_t)cluster;
    self->dirty[number / 64] |= UINT64_C(1) << (number % 64);
    self->marked = true;
}

static inline int64_t gs_simulate_host_next_end(const gs_simulate_host_state_t *self)
{
    return self->end[1];
}

/* Takes the first thread whose work ends now off its CPU and returns it. It is still ready: the
 * caller makes it enter or leave, or marks its cluster. */
int32_t gs_simulate_host_take_end(gs_simulate_host_state_t *self);

/* Dispatching --------------------------------------------------------------------------------- */

/* Dispatches the marked clusters, and begins GPU segments, until nothing changes. */
void gs_simulate_host_dispatch(gs_simulate_host_state_t *self);

/* Set-up -------------------------------------------------------------------------------------- */

/* Checks a model; checks that a time is not negative and not too large. */
int gs_simulate_host_check(gs_context_t *ctx, const gs_simulate_host_model_t *model);
int gs_simulate_host_check_clock(gs_context_t *ctx, const char *field, int64_t i, int64_t value);

int gs_simulate_host_given_check(gs_context_t *ctx, const gs_simulate_host_model_t *model);
int gs_simulate_host_given_times(gs_simulate_host_state_t *self, gs_context_t *ctx,
                                 const gs_simulate_host_model_t *model);

/* Jobs ---------------------------------------------------------------------------------------- */

/* Execution time of a part of the current job of the thread. */
static inline int64_t gs_simulate_host_time(const gs_simulate_host_state_t *self,
                                            const gs_simulate_host_thread_t *t, int32_t part)
{
    int64_t most = t->most[part];
    if (self->worst) {
        return most;
    }
    if (self->choose != NULL) {
        return self->choose(self->chooser, (int32_t)(t - self->thread), part, most);
    }
    if (t->given != NULL) {
        return t->given[t->number * (4 * self->host->model.hosts.width + 1) + part];
    }
    if (self->fixed || t->least[part] == most) {
        return most;
    }
    uint64_t bits = gs_rng_at(t->time_seed, (uint64_t)t->number);
    bits = gs_rng_at(bits, (uint64_t)part + 1);
    return t->least[part] + (int64_t)gs_rng_scale(bits, (uint64_t)(most - t->least[part]) + 1);
}

void gs_simulate_host_release_due(gs_simulate_host_state_t *self);

/* Continues a thread after its GPU segment, at its own priority. */
void gs_simulate_host_resume(gs_simulate_host_state_t *self, int32_t r);

/* Starts the kernel of the current part of the thread, which has a positive length. */
void gs_simulate_host_start_kernel(gs_simulate_host_state_t *self, int32_t r);

/* GPU segments -------------------------------------------------------------------------------- */

/* Begins the next GPU segment of a thread that is dispatched at the end of a CPU segment. */
void gs_simulate_host_begin(gs_simulate_host_state_t *self, int32_t r);

/* Handles the end of the work of a thread on a CPU; the end of a CPU segment. */
void gs_simulate_host_worked(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_end_cpu_segment(gs_simulate_host_state_t *self, int32_t r);

/* Queues -------------------------------------------------------------------------------------- */

static inline void gs_simulate_host_append(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue, int32_t r)
{
    self->thread[r].next = -1;
    if (queue->head < 0) {
        queue->head = r;
    } else {
        self->thread[queue->tail].next = r;
    }
    queue->tail = r;
}

static inline int32_t gs_simulate_host_pop(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue)
{
    int32_t r = queue->head;
    queue->head = self->thread[r].next;
    return r;
}

/* Whether a thread precedes another one by priority; the thread `last` is behind all others. */
static inline bool gs_simulate_host_precedes(const gs_simulate_host_state_t *self, int32_t a,
                                             int32_t b, int32_t last)
{
    int64_t key_a = self->thread[a].base, key_b = self->thread[b].base;
    return a != last && (b == last || key_a < key_b || (key_a == key_b && a < b));
}

/* Inserts a thread into a queue behind the thread `before`; -1: as the first one. */
static inline void gs_simulate_host_put(gs_simulate_host_state_t *self,
                                        gs_simulate_host_queue_t *queue, int32_t r, int32_t before)
{
    int32_t at = before < 0 ? queue->head : self->thread[before].next;
    self->thread[r].next = at;
    if (before < 0) {
        queue->head = r;
    } else {
        self->thread[before].next = r;
    }
    if (at < 0) {
        queue->tail = r;
    }
}

/* Inserts a thread by priority; the thread `last` goes behind all others. */
static inline void gs_simulate_host_insert(gs_simulate_host_state_t *self,
                                           gs_simulate_host_queue_t *queue, int32_t r, int32_t last)
{
    int32_t before = -1, at = queue->head;
    while (at >= 0 && gs_simulate_host_precedes(self, at, r, last)) {
        before = at;
        at = self->thread[at].next;
    }
    gs_simulate_host_put(self, queue, r, before);
}

/* Inserts the request of a thread, which it makes now, into a queue that is first come, first
 * served: behind those made before, and by priority among those of this instant. */
static inline void gs_simulate_host_line_up(gs_simulate_host_state_t *self,
                                            gs_simulate_host_queue_t *queue, int32_t r)
{
    int32_t before = -1, at = queue->head;
    while (at >= 0 && (self->thread[at].asked < self->now ||
                       gs_simulate_host_precedes(self, at, r, self->victim))) {
        before = at;
        at = self->thread[at].next;
    }
    self->thread[r].asked = self->now;
    gs_simulate_host_put(self, queue, r, before);
}

/* Contexts ------------------------------------------------------------------------------------ */

/* The turn of a kernel begins or ends now. */
void gs_simulate_host_begin_turn(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_end_turn(gs_simulate_host_state_t *self);

/* The thread waits for the GPU or for its kernel, by mode; does CPU work of a segment. */
void gs_simulate_host_wait_turn(gs_simulate_host_state_t *self, int32_t r);
void gs_simulate_host_copy(gs_simulate_host_state_t *self, int32_t r);

#endif
