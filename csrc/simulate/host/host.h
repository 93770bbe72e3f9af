/* Simulator of tasks with CPU and GPU segments.
 *
 * Tasks of model/host_tasks.h; [RTCSA19] (partitioned fixed priorities) and [RTNS10] (global EDF).
 * The rules are those that the response-time tests assume; where the papers leave a rule open, the
 * one chosen here is stated.
 *
 *     gs_simulate_host_t host;
 *     status = gs_simulate_host_init(&host, ctx, &model);
 *     while (status == GS_OK && !host.done) {
 *         status = gs_simulate_host_run(&host, ctx, 100000);
 *     }
 *     ... host.worst[i], host.job, host.interval ...
 *     gs_simulate_host_free(&host, ctx);
 *
 * Jobs. The jobs of a task run one after the other, in order of release. A job executes its parts
 * in order: cpu[0], then for each GPU segment a copy in, a kernel, a copy out and the next CPU
 * segment. A part of length 0 is skipped: it requests nothing. A GPU segment without any part is
 * skipped, too, and the CPU segments around it are one; a job that ends with a GPU segment and no
 * CPU work ends with its last part on the GPU.
 *
 * CPUs. GS_SIMULATE_HOST_PARTITIONED: each task has a core, which runs its ready task of the
 * smallest priority (all priorities differ); preemption is immediate and free.
 * GS_SIMULATE_HOST_GEDF: of all ready jobs, those of the `cpus` earliest absolute deadlines run
 * (ties: the smaller priority, then the smaller index), on any CPU, and may migrate.
 *
 * Start of a GPU segment. A task requests the GPU by executing. Its GPU segment therefore begins
 * when its core runs the task and the CPU work before the segment is done: not while a more urgent
 * task is ready. After a GPU segment the task has its own priority again, so of two consecutive GPU
 * segments the second begins by the same rule.
 *
 * Boosted means more urgent than any priority on the core. With partitioned priorities, no protocol
 * boosts two tasks of a core at once, so a boosted task never waits for its core.
 *
 * stgm, suspend mode. A copy needs the copy engine (CE) and the core of its task, boosted, for its
 * whole length. The CE serves requests in FIFO order across cores; while a copy waits for it, and
 * during the kernel, the task is suspended. The copy out is requested at the end of the kernel. No
 * task holds the CE while waiting for a core: only copies are boosted, a copying task holds the CE,
 * and there is one CE; so while the CE is free no task is boosted, and the copy that gets it
 * preempts its core at once. (Hence a copy waits for copies only, at most one of each other task:
 * notebook 06, Lemma 1.) A kernel is launched at the end of its copy in. It needs all SMs of its
 * task's set, and starts when all kernels launched before that share an SM with it have ended;
 * kernels on disjoint sets run in parallel without slowing each other down.
 *
 * stgm, busy mode. The same, but from the beginning of a GPU segment to its end the task is boosted
 * and keeps its core: it spins while it waits for the CE, for SMs and for the kernel. So at most
 * one GPU segment is open on a core.
 *
 * mpcp, fmlp_plus: a lock on the GPU, CE and all SMs together (kernels run on all `sms` SMs). It is
 * requested at the beginning of a GPU segment and released at its end. MPCP grants it to the
 * waiting task of the smallest priority, FMLP+ in FIFO order. The holder is boosted whenever it
 * needs its core; as there is one lock, it gets its core at once. Suspend mode: waiting tasks are
 * suspended, the holder is suspended during its kernel. Busy: waiting tasks are suspended, the
 * holder spins during its kernel. Spin: waiting tasks spin at their own priority (and can be
 * preempted without losing their place), the holder spins during its kernel.
 *
 * gpu_server: one server task executes all GPU segments, on core `server`, where it has the highest
 * priority (server == cpus: its own core). The client is suspended from its request to the
 * notification by the server. The server copies on its core, is suspended during kernels, and
 * finishes a segment before it selects the next one: the request of the smallest priority. It
 * computes for `overhead` ticks when a request arrives while it is idle, before it selects one; and
 * after each segment, before it notifies the client and, at the same instant, selects the next
 * request: so once between two segments, twice for a single one.
 *
 * time_slices, gcaps: a context per task and no lock ([ECRTS24]). Nothing but an update is boosted:
 * copies are CPU work at the task's own priority. Suspend mode: a task leaves its core while it
 * waits for the GPU and during kernels; busy mode: it spins at its own priority and can be
 * preempted. The CPU work before a request (here: a launch or an update) ends with it, so it
 * precedes the releases of that instant; only where there is none, since the release, the kernel or
 * the update before, the task requests when its core runs it.
 *
 * time_slices: a kernel is launched at the end of the copy in. The GPU serves the contexts with
 * launched kernels in turn, each for at most `slice`: GS_SIMULATE_HOST_RING_FIFO, to the end of the
 * queue after a slice, or GS_SIMULATE_HOST_RING_CYCLIC, the next one by priority. The next context
 * is chosen when all launches of the instant are known: a launch at the end of a slice counts, and
 * is ahead of the context whose slice ends. A context that is alone at the end of its slice goes
 * on. The end of a kernel ends its slice. Before another context than the last one is served the
 * GPU switches for `overhead`. (simulate/hierarchy has the same rule.)
 *
 * gcaps: before the copy in and after the copy out the task updates the list of open segments: it
 * takes a mutex, which goes to the waiting task of the highest GPU priority, and runs for
 * `overhead` on its core, not preempted; a segment is open between the ends of its updates. The
 * open task of the highest GPU priority owns the GPU. A kernel proceeds while its task is the
 * owner, except during a first update of a task of higher GPU priority (with `stall`: during every
 * update). Without overhead an update takes effect at its request; the second one then needs no
 * core if there is no copy out. Before the kernel of another context than the last one proceeds the
 * GPU switches for `switching`, so a preemption costs two switches. A first update of a task of
 * higher GPU priority ends a switch in vain: the next context, whichever it is, pays in full.
 * (Other updates do not delay a switch, with `stall` either.)
 *
 * With global EDF the GPU has a lock as well ([RTNS10]): a GPU segment is a critical section of two
 * copies on a CPU and a kernel, during which the job is suspended. Waiting jobs are suspended, and
 * the holder inherits the earliest deadline among them (ties: its own place). It is not boosted
 * further, and its copies can be preempted.
 *
 * fmlp (FMLP-Long): FIFO order. omlp: a FIFO queue of at most `cpus` jobs, including the holder; a
 * job that finds it full waits in a queue by deadline. Its first job moves to the end of the FIFO
 * queue when the lock is released, ahead of the requests of that instant.
 *
 * driver: no lock, but a driver that serves GPU segments one at a time, in the order in which they
 * begin. The copies and the kernel of a segment are one piece of GPU work, which proceeds whether
 * or not the job has a CPU. From the beginning of the segment to its end the job spins at its own
 * deadline (spin mode), or is suspended (suspend mode), without inheritance.
 *
 * container (the Container Method): all tasks with GPU segments are in a container, served by one
 * server. The server competes with the other tasks under global EDF, with its own jobs: a budget of
 * w P (rounded up to a tick, at most P), where P is the period of the server and w the utilization
 * of its tasks, copies and kernels included; and a deadline P after the release. While there are
 * jobs in the container, the jobs of the server are released P apart. A job of the server ends when
 * its budget is used up or the container is empty; the first one after that is released with the
 * next job in the container, at least P after the last release. (So the server never demands more
 * than a sporadic task of its period and budget, and while the container is not empty, all jobs of
 * a periodic one are available after at most P: what analysis/global_edf/container.h assumes, of a
 * whole budget.) Ties of deadlines are decided by the priority of the task that is served. Busy
 * mode: the server serves the job released first (ties: priority) to its end, and keeps its CPU, if
 * it has one, during kernels. Suspend mode, the work-conserving variant of the paper: it serves the
 * job released first among those not suspended; a job that requests the GPU is suspended until the
 * GPU is free and all GPU segments of jobs released before have ended, so no job waits for a holder
 * that was released after it. While all jobs in the container are suspended, so is the server, and
 * other tasks may use its CPU, but its budget is consumed. Kernels proceed whether or not the
 * server has a CPU or budget.
 *
 * Order of the events of one instant. First kernels, copies, CPU segments and overheads end; a task
 * whose job ended continues with its next. Then jobs are released. Then, until nothing changes:
 * cores select the task to run, GPU segments begin, and the CE, SMs, lock or server are granted; a
 * core begins no second segment before it is known whether the first one was granted its request.
 * So a release precedes a GPU segment that would begin at the same instant at lower priority, and a
 * resource that becomes free is granted to the best request of that instant, old or new. Requests
 * of one instant are ordered by priority (then index); those of the task under analysis
 * (model.victim) are last.
 *
 * Times. Releases are a period apart, plus up to `gap` of it, drawn uniformly. Each part takes its
 * worst case x, times a number drawn from low .. high: uniform over the ticks from ceil(low x) to
 * floor(high x), at least one. The numbers drawn depend on the key, the index, task, job and part
 * only, not on other tasks.
 *
 * Given releases (release_begin, release) take the place of offset, period, gap and until; those of
 * a task are at least a period apart. With them a task under analysis triggers nothing: it only has
 * its requests ordered last. Given execution times (time) take the place of those drawn.
 */
#ifndef GS_SIMULATE_HOST_HOST_H
#define GS_SIMULATE_HOST_HOST_H

#include "core/method.h"
#include "simulate/host/host_record.h"

/* Prepares a simulation; after an error nothing is left to free. Refuses what gs_host_tasks_check
 * refuses, cpus or sms outside 1..INT32_MAX, a core or server's core out of range, with STGM a task
 * with kernels and no SM, times of GS_CHECK_LATEST and more, equal priorities unless global
 * EDF, GPU priorities that tie or disagree with the priorities of a core, unknown or incompatible
 * options, invalid shares, a victim that is not a task index, releases less than a period apart,
 * and given times beyond the worst case. */
int gs_simulate_host_init(gs_simulate_host_t *self, gs_context_t *ctx,
                          const gs_simulate_host_model_t *model);

/* Runs until done or for `instants` more instants. Jobs count as states of the budget.
 * GS_ERR_OVERFLOW when a part would end at GS_NEVER or later. After an error or a used up budget
 * the logs hold what happened up to then, and the simulation cannot continue. */
int gs_simulate_host_run(gs_simulate_host_t *self, gs_context_t *ctx, int64_t instants);

void gs_simulate_host_free(gs_simulate_host_t *self, gs_context_t *ctx);

extern const gs_method_t gs_simulate_host_host_method;

#endif
