/* Functions that the parts of the machine call in each other. */
#ifndef GS_SIMULATE_MACHINE_MACHINE_PARTS_H
#define GS_SIMULATE_MACHINE_MACHINE_PARTS_H

#include "core/checks.h"
#include "simulate/gpu/gpu_device.h"
#include "simulate/gpu/gpu_parts.h"
#include "simulate/machine/machine_state.h"

/* Checks: machine_check.c. */
int gs_simulate_machine_check(gs_context_t *ctx, const gs_simulate_machine_model_t *model);

/* Threads, jobs, CPUs: machine_threads.c. */

/* Order of what coincides: by task, by draw, the victim last. */
int64_t gs_simulate_machine_rank(const gs_simulate_machine_state_t *self, int64_t task);

/* Changes the state of a thread. */
void gs_simulate_machine_set_state(gs_simulate_machine_state_t *self, int32_t r, int32_t state);
/* Makes a thread ready; it goes on when it is on a CPU. */
void gs_simulate_machine_wake(gs_simulate_machine_state_t *self, int32_t r);
void gs_simulate_machine_suspend(gs_simulate_machine_state_t *self, int32_t r);
/* Lets a thread spin at its key until its `left` is set. */
void gs_simulate_machine_spin(gs_simulate_machine_state_t *self, int32_t r);
/* Gives a thread, which is ready or becomes so, work, with 0: it goes on when it is on a CPU. */
void gs_simulate_machine_give(gs_simulate_machine_state_t *self, int32_t r, int64_t work);
/* The key of a thread that is not boosted: its own or that which it inherits; less is more urgent.
 */
int64_t gs_simulate_machine_key(const gs_simulate_machine_state_t *self,
                                const gs_simulate_machine_thread_t *t);
/* Lends a thread a key; GS_NEVER: none. */
void gs_simulate_machine_lend(gs_simulate_machine_state_t *self, int32_t r, int64_t key);
/* Lets a thread that needs a server compete with the key of this, GS_NEVER: not at all. */
void gs_simulate_machine_admit(gs_simulate_machine_state_t *self, int32_t r, int64_t key);
/* Boosts a thread: 0, 1, or 2 for its own priority. */
void gs_simulate_machine_boost(gs_simulate_machine_state_t *self, int32_t r, int32_t boost,
                               int64_t key);
/* Its next instructions, without waiting for a CPU. */
void gs_simulate_machine_go_on(gs_simulate_machine_state_t *self, int32_t r);
/* Chooses the threads of all CPUs; those with nothing left go on. True if one did. */
bool gs_simulate_machine_dispatch(gs_simulate_machine_state_t *self);
/* Releases the jobs of this instant. */
void gs_simulate_machine_release(gs_simulate_machine_state_t *self);
/* The first release of each task. */
int gs_simulate_machine_first_releases(gs_simulate_machine_state_t *self);
/* Acts on the alarms that are due now. */
void gs_simulate_machine_ring(gs_simulate_machine_state_t *self);
/* Enters an alarm; see `alarms`. */
void gs_simulate_machine_set_alarm(gs_simulate_machine_state_t *self, int64_t at, int64_t item);
/* An operation of the job has ended. */
void gs_simulate_machine_answer(gs_simulate_machine_state_t *self, int64_t job);
/* The kind of the next step of a job. */
int64_t gs_simulate_machine_next_step(const gs_simulate_machine_state_t *self, int64_t job);

/* Actual times: machine_times.c. */
int64_t gs_simulate_machine_actual(const gs_simulate_machine_state_t *self, int64_t task,
                                   int64_t number, int64_t item, int64_t block);

/* Calls: machine_calls.c. */
void gs_simulate_machine_call(gs_simulate_machine_state_t *self, int64_t job, int64_t item);

/* Ticks from the arrival to the release of a job, drawn: machine_threads.c. */
int64_t gs_simulate_machine_delay(const gs_simulate_machine_state_t *self, int64_t i,
                                  int64_t number);

/* Operations of the devices: machine_operations.c. */
int gs_simulate_machine_make_devices(gs_simulate_machine_state_t *self);
bool gs_simulate_machine_arrive(gs_simulate_machine_state_t *self);
bool gs_simulate_machine_join(gs_simulate_machine_state_t *self);
/* Starts blocks and copies. True if blocks started. */
bool gs_simulate_machine_start(gs_simulate_machine_state_t *self);

/* Locks: machine_locks.c; also for the server and GCAPS. */

/* Puts a request of the thread into `asked`; it asks. */
void gs_simulate_machine_ask(gs_simulate_machine_state_t *self, int32_t r);
/* Removes a request. */
void gs_simulate_machine_take_request(gs_simulate_machine_state_t *self, int32_t k);
/* The context with a kernel that has joined: only the holder has one, or the head of the one
 * stream. */
int64_t gs_simulate_machine_choose_busy(gs_simulate_machine_state_t *self, int64_t device);
/* Lets those wait that ask, spinning or suspended. True if one did. */
bool gs_simulate_machine_let_wait(gs_simulate_machine_state_t *self, bool spins);

/* Logs: machine_log.c. */
void gs_simulate_machine_fail(gs_simulate_machine_state_t *self, int status);
int64_t gs_simulate_machine_log_job(gs_simulate_machine_state_t *self,
                                    const gs_simulate_machine_job_t *job);
/* Counts the response of a job: that which has ended now, or what it has taken so far. */
void gs_simulate_machine_count_response(gs_simulate_machine_state_t *self,
                                        const gs_simulate_machine_job_t *job);
/* The row of an operation that is called now, -1: it is not logged. */
int64_t gs_simulate_machine_log_op(gs_simulate_machine_state_t *self, int64_t job, int64_t item);
/* The time from now to `to` passes, in which nothing happens. */
void gs_simulate_machine_pass(gs_simulate_machine_state_t *self, int64_t to);

#endif
