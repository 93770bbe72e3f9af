/* Player of a plan: its frames in their order, each when its jobs are ready, and never another one.
 *
 * The guarantee of a plan holds for its order: if the frame behind starts as soon as the one before
 * has ended and all of its jobs are ready, every frame ends no later than planned, whatever ends
 * early. Choosing among what is ready now would not keep it. A frame without one of its jobs runs
 * only if the plan says that the others take no longer than all together; otherwise its slot stays
 * empty.
 *
 * A frame begins after the end of all before it, so that a job which needs others starts after
 * their ends because the plan, which is checked, has these in earlier frames. What is left to do
 * while it is played: where one of them was left out, there is no input, and the job is left out,
 * too.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <string.h>

#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"

/* The dispatching thread looks so often whether it is to stop. */
#define NAP_NS 50000000
#define KEPT_RESULTS 64 /* of jobs of a task; a power of 2 */
#define MOST_TASKS 1024
#define MOST_FRAMES (1 << 24)
#define MOST_NS (INT64_MAX / 8)

typedef struct {
    gs_rt_work_t work;
    int overrun, handshake;
    int64_t own;           /* jobs of a hyperperiod */
    int64_t skipped;       /* a job that does not run, or -1 */
    int32_t first, count;  /* the tasks that it needs, among those of the plan */
    _Atomic int64_t ready; /* jobs that are ready, in order */
    _Atomic int64_t done;  /* jobs that have ended or were left out */
    gs_rt_wait_word_t changed;
    _Atomic signed char result[KEPT_RESULTS];
} task_t;

/* An entry of the frame that runs. */
typedef struct {
    gs_rt_job_t job;
    int runs; /* has been submitted and has not ended */
} running_t;

struct gs_rt_player {
    const gs_rt_plan_t *plan;
    gs_rt_player_options_t options;
    task_t *tasks;
    int32_t *number;     /* of each entry: the job of its task in the hyperperiod */
    int64_t hyperperiod; /* ns */
    int64_t base;        /* start of the hyperperiod that is played */
    int64_t cycle;
    gs_rt_wait_word_t changed;
    _Atomic int stopped, playing;
};

/* Plans --------------------------------------------------------------------------------------- */

static int wrong(const char *what, int64_t got, const char *expected)
{
    return gs_rt_fail_number(GS_RT_ERR_VALUE, what, got, expected);
}

static int check_tasks(const gs_rt_plan_t *plan)
{
    if (plan->tick < 1 || plan->tick > MOST_NS) {
        return wrong("tick", plan->tick, "at least 1 ns");
    }
    if (plan->tasks < 1 || plan->tasks > MOST_TASKS || plan->task == NULL) {
        return wrong("tasks", plan->tasks, "1 to 1024");
    }
    if (plan->hyperperiod < 1 || plan->hyperperiod > MOST_NS / plan->tick) {
        return wrong("hyperperiod", plan->hyperperiod, "at least 1 tick and at most 2**60 ns");
    }
    if (plan->overhead < 0 || plan->overhead > plan->hyperperiod) {
        return wrong("overhead", plan->overhead, "0 ticks to the hyperperiod");
    }
    for (int32_t i = 0; i < plan->tasks; i++) {
        const gs_rt_plan_task_t *task = &plan->task[i];
        if (task->name == NULL || task->kernels < 1) {
            return wrong("kernels", task->kernels, "a name, and at least 1");
        }
        if (task->period < 1 || plan->hyperperiod % task->period != 0 ||
            plan->hyperperiod / task->period > INT32_MAX) {
            return wrong("period", task->period, "a divisor of the hyperperiod");
        }
        if (task->offset < 0 || task->offset >= task->period) {
            return wrong("offset", task->offset, "at least 0 and below the period");
        }
        if (task->deadline < 1 || task->deadline > MOST_NS / plan->tick) {
            return wrong("deadline", task->deadline, "at least 1 tick and at most 2**60 ns");
        }
    }
    return GS_RT_OK;
}

static int check_frame(const gs_rt_plan_t *plan, int32_t f, int64_t before)
{
    const gs_rt_plan_frame_t *frame = &plan->frame[f];
    if (frame->start < before || frame->end <= frame->start || frame->end > plan->hyperperiod) {
        return wrong("frame", f, "a start behind the end before, and an end in the hyperperiod");
    }
    if (frame->count < 1 || frame->count > GS_RT_PLAN_BATCH || frame->first < 0 ||
        frame->first > plan->entries - frame->count) {
        return wrong("entries of a frame", frame->count, "1 to 32 of the plan's");
    }
    if (frame->lacked < 0 || frame->lacks < 0 || frame->lacks > plan->masks - frame->lacked) {
        return wrong("masks of a frame", frame->lacked, "some of the plan's");
    }
    for (int32_t e = 0; e < frame->count; e++) {
        const gs_rt_plan_entry_t *entry = &plan->entry[frame->first + e];
        if (entry->task < 0 || entry->task >= plan->tasks || entry->kernel < 0 ||
            entry->kernel >= plan->task[entry->task].kernels) {
            return wrong("task of a frame", entry->task, "a task and a kernel of the plan");
        }
        for (int32_t other = 0; other < e; other++) {
            if (plan->entry[frame->first + other].task == entry->task) {
                return wrong("task of a frame", entry->task, "each task once");
            }
        }
    }
    return GS_RT_OK;
}

/* Finds the tasks that each needs. */
static int find_needs(gs_rt_player_t *self)
{
    const gs_rt_plan_t *plan = self->plan;
    if (plan->needs < 0 || (plan->needs > 0 && plan->need == NULL)) {
        return wrong("needs", plan->needs, "0 or more");
    }
    int32_t before = 0;
    for (int32_t k = 0; k < plan->needs; k++) {
        const gs_rt_plan_need_t *need = &plan->need[k];
        if (need->task < before || need->task >= plan->tasks) {
            return wrong("task of needs", need->task, "tasks of the plan, in their order");
        }
        if (need->needs < 0 || need->needs >= plan->tasks || need->needs == need->task ||
            plan->task[need->needs].period != plan->task[need->task].period) {
            return wrong("needs", need->needs, "another task of the same period");
        }
        task_t *task = &self->tasks[need->task];
        task->first = task->count == 0 ? k : task->first;
        task->count++;
        before = need->task;
    }
    return GS_RT_OK;
}

/* Whether the jobs that those of a frame need are in earlier frames, and not so much earlier that
 * their results are forgotten; next: the number of kernels of each task in these. */
static bool have_inputs(const gs_rt_player_t *self, const gs_rt_plan_frame_t *frame,
                        const int64_t *next)
{
    const gs_rt_plan_t *plan = self->plan;
    for (int32_t e = 0; e < frame->count; e++) {
        int32_t i = plan->entry[frame->first + e].task;
        int64_t job = next[i] / plan->task[i].kernels;
        for (int32_t k = 0; k < self->tasks[i].count; k++) {
            int32_t needed = plan->need[self->tasks[i].first + k].needs;
            int64_t done = next[needed] / plan->task[needed].kernels;
            if (done <= job || done > job + KEPT_RESULTS) {
                return false;
            }
        }
    }
    return true;
}

/* Numbers the jobs of the entries: kernels in their order, none before its release, all of a
 * hyperperiod. */
static int number_jobs(gs_rt_player_t *self)
{
    const gs_rt_plan_t *plan = self->plan;
    int64_t *next = gs_rt_allocate((size_t)plan->tasks, sizeof *next, "player");
    if (next == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    int status = GS_RT_OK;
    int64_t before = 0;
    for (int32_t f = 0; status == GS_RT_OK && f < plan->frames; f++) {
        const gs_rt_plan_frame_t *frame = &plan->frame[f];
        status = check_frame(plan, f, before);
        before = frame->end;
        if (status == GS_RT_OK && !have_inputs(self, frame, next)) {
            status = wrong("frame", f, "jobs behind those that they need, 64 jobs at most");
        }
        for (int32_t e = 0; status == GS_RT_OK && e < frame->count; e++) {
            const gs_rt_plan_entry_t *entry = &plan->entry[frame->first + e];
            const gs_rt_plan_task_t *task = &plan->task[entry->task];
            int64_t job = next[entry->task] / task->kernels;
            if (next[entry->task]++ % task->kernels != entry->kernel ||
                job >= plan->hyperperiod / task->period ||
                task->offset + job * task->period > frame->start) {
                status = wrong("frame", f, "the next kernel of a job that has been released");
            }
            self->number[frame->first + e] = (int32_t)job;
        }
    }
    for (int32_t i = 0; status == GS_RT_OK && i < plan->tasks; i++) {
        self->tasks[i].own = plan->hyperperiod / plan->task[i].period;
        if (next[i] != self->tasks[i].own * plan->task[i].kernels) {
            status = wrong("jobs of task", i, "frames for all kernels of a hyperperiod");
        }
    }
    gs_rt_free(next);
    return status;
}

static int check_options(const gs_rt_player_options_t *options)
{
    if (options->awake_ns < 0 || options->awake_ns > NAP_NS) {
        return wrong("awake_ns", options->awake_ns, "0 to 50000000 ns");
    }
    if (options->hang_ns < 0 || options->hang_ns > MOST_NS) {
        return wrong("hang_ns", options->hang_ns, "at least 0 ns");
    }
    if (options->overrun < GS_RT_OVERRUN_CONTINUE || options->overrun > GS_RT_OVERRUN_ABORT) {
        return wrong("overrun", options->overrun, "GS_RT_OVERRUN_*");
    }
    return GS_RT_OK;
}

int gs_rt_player_open(const gs_rt_plan_t *plan, const gs_rt_player_options_t *options,
                      gs_rt_player_t **player)
{
    *player = NULL;
    int status = check_options(options);
    status = status == GS_RT_OK ? check_tasks(plan) : status;
    if (status == GS_RT_OK &&
        (plan->frames < 1 || plan->frames > MOST_FRAMES || plan->entries < 1 || plan->masks < 0 ||
         plan->frame == NULL || plan->entry == NULL)) {
        status = wrong("frames", plan->frames, "1 to 2**24");
    }
    if (status != GS_RT_OK) {
        return status;
    }
    gs_rt_player_t *self = gs_rt_allocate(1, sizeof *self, "player");
    if (self == NULL) {
        return GS_RT_ERR_SYSTEM;
    }
    self->plan = plan;
    self->options = *options;
    self->hyperperiod = plan->hyperperiod * plan->tick;
    self->tasks = gs_rt_allocate((size_t)plan->tasks, sizeof *self->tasks, "player");
    self->number = gs_rt_allocate((size_t)plan->entries, sizeof *self->number, "player");
    status = self->tasks == NULL || self->number == NULL ? GS_RT_ERR_SYSTEM : find_needs(self);
    status = status == GS_RT_OK ? number_jobs(self) : status;
    for (int32_t i = 0; status == GS_RT_OK && i < plan->tasks; i++) {
        self->tasks[i].overrun = options->overrun;
        self->tasks[i].skipped = -1;
    }
    if (status != GS_RT_OK) {
        gs_rt_player_close(self);
        return status;
    }
    *player = self;
    return GS_RT_OK;
}

void gs_rt_player_close(gs_rt_player_t *self)
{
    if (self != NULL) {
        gs_rt_free(self->tasks);
        gs_rt_free(self->number);
        gs_rt_free(self);
    }
}

int gs_rt_player_find(const gs_rt_player_t *self, const char *task)
{
    for (int32_t i = 0; i < self->plan->tasks; i++) {
        if (task != NULL && strcmp(self->plan->task[i].name, task) == 0) {
            return i;
        }
    }
    return gs_rt_fail(GS_RT_ERR_VALUE, "task", task, "a task of the plan");
}

static int check_task(const gs_rt_player_t *self, int task)
{
    return task >= 0 && task < self->plan->tasks ? GS_RT_OK
                                                 : wrong("task", task, "a task of the plan");
}

int gs_rt_player_work(gs_rt_player_t *self, int task, const gs_rt_work_t *work, int handshake)
{
    int status = check_task(self, task);
    if (status == GS_RT_OK && work->submit == NULL) {
        status = gs_rt_fail(GS_RT_ERR_VALUE, "submit", NULL, "a function");
    }
    if (status == GS_RT_OK && atomic_load(&self->playing)) {
        status = gs_rt_fail_number(GS_RT_ERR_STATE, "task", task, "a player that does not run");
    }
    if (status == GS_RT_OK) {
        self->tasks[task].work = *work;
        self->tasks[task].handshake = handshake;
    }
    return status;
}

int gs_rt_player_overrun(gs_rt_player_t *self, int task, int overrun)
{
    int status = check_task(self, task);
    if (status == GS_RT_OK && (overrun < GS_RT_OVERRUN_CONTINUE || overrun > GS_RT_OVERRUN_ABORT)) {
        status = wrong("overrun", overrun, "GS_RT_OVERRUN_*");
    }
    if (status == GS_RT_OK) {
        self->tasks[task].overrun = overrun;
    }
    return status;
}

/* Frames -------------------------------------------------------------------------------------- */

static void log_event(const gs_rt_player_t *self, int kind, const gs_rt_job_t *job, int64_t value)
{
    gs_rt_log_event(self->options.log, kind, job->task, job->job, value);
}

/* Host time of a tick of this hyperperiod. */
static int64_t host_time(const gs_rt_player_t *self, int64_t tick)
{
    return self->base + tick * self->plan->tick;
}

static gs_rt_job_t job_of(const gs_rt_player_t *self, int32_t entry)
{
    const gs_rt_plan_entry_t *at = &self->plan->entry[entry];
    const gs_rt_plan_task_t *task = &self->plan->task[at->task];
    int64_t number = self->number[entry];
    int64_t release = host_time(self, task->offset + number * task->period);
    return (gs_rt_job_t){
        .task = at->task,
        .kernel = at->kernel,
        .job = self->cycle * self->tasks[at->task].own + number,
        .release = release,
        .deadline = release + task->deadline * self->plan->tick,
    };
}

/* Waits until an instant, a change or a stop. */
static void rest(gs_rt_player_t *self, uint32_t before, int64_t until)
{
    int64_t now = gs_rt_now(), asleep = until - self->options.awake_ns;
    if (now < asleep) {
        gs_rt_wait_word_sleep(&self->changed, before, asleep < now + NAP_NS ? asleep : now + NAP_NS,
                              false);
    } else {
        gs_rt_wait_word_pause();
    }
}

/* Whether a job that this one needs was left out. */
static bool lacks_input(const gs_rt_player_t *self, const gs_rt_job_t *job)
{
    const task_t *task = &self->tasks[job->task];
    for (int32_t k = 0; k < task->count && job->kernel == 0; k++) {
        const task_t *needed = &self->tasks[self->plan->need[task->first + k].needs];
        if (atomic_load(&needed->result[job->job & (KEPT_RESULTS - 1)]) == GS_RT_SKIPPED) {
            return true;
        }
    }
    return false;
}

/* The instant at which a job gets ready; INT64_MAX while it is not known. */
static int64_t ready_at(const gs_rt_player_t *self, const gs_rt_job_t *job)
{
    const task_t *task = &self->tasks[job->task];
    if (job->kernel > 0 || task->skipped == job->job || lacks_input(self, job)) {
        return INT64_MIN;
    }
    if (task->handshake) {
        return atomic_load(&task->ready) > job->job ? INT64_MIN : INT64_MAX;
    }
    return job->release;
}

static void finish_job(gs_rt_player_t *self, const gs_rt_job_t *job, int result)
{
    task_t *task = &self->tasks[job->task];
    atomic_store(&task->result[job->job & (KEPT_RESULTS - 1)], (signed char)result);
    atomic_store(&task->done, job->job + 1);
    gs_rt_wait_word_change(&task->changed, true, false);
}

/* Leaves a job out, with the kernels behind this one. */
static void leave_out(gs_rt_player_t *self, const gs_rt_job_t *job)
{
    task_t *task = &self->tasks[job->task];
    if (task->skipped != job->job) {
        task->skipped = job->job;
        log_event(self, GS_RT_EV_SKIP, job, job->kernel);
        finish_job(self, job, GS_RT_SKIPPED);
    }
}

static bool is_stopped(const gs_rt_player_options_t *options)
{
    return options->stopped != NULL && options->stopped(options->arg) != 0;
}

/* Waits until the frame may begin: GS_RT_OK, GS_RT_STOPPED or GS_RT_ERR_HANG. Jobs whose policy is
 * to continue are waited for, the others until the planned start. */
static int await_frame(gs_rt_player_t *self, const gs_rt_plan_frame_t *frame)
{
    int64_t planned = host_time(self, frame->start);
    int64_t hang = self->options.hang_ns == 0 ? INT64_MAX : planned + self->options.hang_ns;
    for (;;) {
        uint32_t before = atomic_load(&self->changed);
        if (atomic_load(&self->stopped) || is_stopped(&self->options)) {
            return GS_RT_STOPPED;
        }
        int64_t now = gs_rt_now(), due = self->options.reclaim ? INT64_MIN : planned;
        for (int32_t e = 0; e < frame->count; e++) {
            gs_rt_job_t job = job_of(self, frame->first + e);
            int64_t ready = ready_at(self, &job);
            if (ready == INT64_MAX) {
                bool waits = self->tasks[job.task].overrun == GS_RT_OVERRUN_CONTINUE;
                ready = !waits || now < planned ? planned : hang;
                if (waits && now >= hang) {
                    return gs_rt_fail_number(GS_RT_ERR_HANG, "readiness of task", job.task,
                                             "to come within hang_ns of its frame");
                }
            }
            due = ready > due ? ready : due;
        }
        if (now >= due) {
            return GS_RT_OK;
        }
        rest(self, before, due);
    }
}

/* Applies the policies to a frame that begins: the mask of the entries that run, or an error. */
static int choose_jobs(gs_rt_player_t *self, const gs_rt_plan_frame_t *frame, uint32_t *runs)
{
    int64_t length = (frame->end - frame->start - self->plan->overhead) * self->plan->tick;
    int64_t ends = gs_rt_now() + length; /* if it begins now */
    uint32_t absent = 0, all = frame->count == 32 ? UINT32_MAX : (1u << frame->count) - 1;
    for (int32_t e = 0; e < frame->count; e++) {
        gs_rt_job_t job = job_of(self, frame->first + e);
        const task_t *task = &self->tasks[job.task];
        bool unready = ready_at(self, &job) == INT64_MAX;
        bool late = unready || ends > job.deadline;
        if (task->skipped == job.job) {
            absent |= 1u << e;
        } else if (lacks_input(self, &job) || (late && task->overrun == GS_RT_OVERRUN_SKIP)) {
            leave_out(self, &job);
            absent |= 1u << e;
        } else if (late && task->overrun == GS_RT_OVERRUN_ABORT) {
            log_event(self, GS_RT_EV_ABORT, &job, ends - job.deadline);
            return gs_rt_fail_number(GS_RT_ERR_STATE, "job of task", job.task,
                                     "to be ready, and its frame to end by the deadline");
        }
    }
    bool allowed = absent == 0;
    for (int32_t m = 0; m < frame->lacked && !allowed; m++) {
        allowed = self->plan->mask[frame->lacks + m] == absent;
    }
    *runs = allowed ? all & ~absent : 0;
    for (int32_t e = 0; !allowed && e < frame->count; e++) {
        gs_rt_job_t job = job_of(self, frame->first + e);
        leave_out(self, &job);
    }
    return GS_RT_OK;
}

static void end_entry(gs_rt_player_t *self, const gs_rt_job_t *job)
{
    int64_t now = gs_rt_now();
    gs_rt_log_t *log = self->options.log;
    gs_rt_log_event_at(log, now, GS_RT_EV_GPU_END, job->task, job->job, job->kernel);
    if (job->kernel + 1 < self->plan->task[job->task].kernels) {
        return;
    }
    bool late = now > job->deadline;
    if (late) {
        gs_rt_log_event_at(log, now, GS_RT_EV_MISS, job->task, job->job, now - job->deadline);
    }
    if (!self->tasks[job->task].handshake) {
        gs_rt_log_event_at(log, now, GS_RT_EV_COMPLETE, job->task, job->job, job->deadline);
    }
    finish_job(self, job, late ? GS_RT_LATE : GS_RT_OK);
}

/* Waits for all entries of a frame, each of which is reported when it has ended. */
static int finish_frame(gs_rt_player_t *self, running_t *running, int32_t count, int64_t hang)
{
    for (int32_t left = count; left > 0;) {
        int64_t now = gs_rt_now(), until = now + NAP_NS < hang ? now + NAP_NS : hang;
        bool slept = self->options.spin;
        for (int32_t e = 0; e < count; e++) {
            if (!running[e].runs) {
                continue;
            }
            const gs_rt_job_t *job = &running[e].job;
            const gs_rt_work_t *work = &self->tasks[job->task].work;
            int status = GS_RT_OK;
            if (work->wait != NULL) {
                status = work->wait(work->arg, job, slept ? 0 : until);
                slept = true;
            }
            if (status < 0) {
                return gs_rt_fail_number(GS_RT_ERR_WORK, "wait of task", job->task,
                                         "work that ends without an error");
            }
            if (status != GS_RT_TIMEOUT) {
                running[e].runs = 0;
                left--;
                end_entry(self, job);
            } else if (now >= hang) {
                return gs_rt_fail_number(GS_RT_ERR_HANG, "work of task", job->task,
                                         "to end within hang_ns of its frame");
            }
        }
    }
    return GS_RT_OK;
}

static int run_frame(gs_rt_player_t *self, const gs_rt_plan_frame_t *frame, int64_t number)
{
    int status = await_frame(self, frame);
    if (status != GS_RT_OK) {
        return status;
    }
    uint32_t runs = 0;
    status = choose_jobs(self, frame, &runs);
    if (status != GS_RT_OK || runs == 0) {
        return status;
    }
    gs_rt_log_t *log = self->options.log;
    running_t running[GS_RT_PLAN_BATCH];
    int32_t count = 0;
    int64_t begun = gs_rt_now();
    gs_rt_log_event_at(log, begun, GS_RT_EV_FRAME, GS_RT_NO_TASK, number,
                       host_time(self, frame->start));
    for (int32_t e = 0; e < frame->count; e++) {
        if ((runs >> e & 1) == 0) {
            continue;
        }
        running_t *one = &running[count++];
        *one = (running_t){.job = job_of(self, frame->first + e), .runs = 1};
        const gs_rt_work_t *work = &self->tasks[one->job.task].work;
        if (one->job.kernel == 0 && !self->tasks[one->job.task].handshake) {
            gs_rt_log_event_at(log, one->job.release, GS_RT_EV_RELEASE, one->job.task, one->job.job,
                               one->job.release);
        }
        log_event(self, GS_RT_EV_SUBMIT, &one->job, one->job.kernel);
        int result = work->submit(work->arg, &one->job);
        if (result < 0) {
            return gs_rt_fail_number(GS_RT_ERR_WORK, "submit of task", one->job.task,
                                     "a callback that succeeds");
        }
    }
    int64_t length = (frame->end - frame->start) * self->plan->tick;
    int64_t hang = self->options.hang_ns == 0 ? INT64_MAX : begun + length + self->options.hang_ns;
    status = finish_frame(self, running, count, hang);
    if (status == GS_RT_OK) {
        gs_rt_log_event(log, GS_RT_EV_FRAME_DONE, GS_RT_NO_TASK, number,
                        host_time(self, frame->end));
    }
    return status;
}

static int play(gs_rt_player_t *self, int64_t first, int64_t cycles)
{
    const gs_rt_plan_t *plan = self->plan;
    int status = GS_RT_OK;
    for (self->cycle = 0; status == GS_RT_OK && (cycles == 0 || self->cycle < cycles);
         self->cycle++) {
        self->base = first + self->cycle * self->hyperperiod;
        for (int32_t f = 0; status == GS_RT_OK && f < plan->frames; f++) {
            status = run_frame(self, &plan->frame[f], self->cycle * plan->frames + f);
        }
    }
    return status;
}

int gs_rt_player_run(gs_rt_player_t *self, int64_t first, int64_t cycles)
{
    if (cycles < 0 || first < 0 || first > MOST_NS ||
        cycles > (MOST_NS - first) / self->hyperperiod) {
        return wrong("cycles", cycles, "0 or more, and a play of at most 2**60 ns");
    }
    for (int32_t i = 0; i < self->plan->tasks; i++) {
        if (self->tasks[i].work.submit == NULL) {
            return gs_rt_fail(GS_RT_ERR_STATE, "work", self->plan->task[i].name,
                              "a call of gs_rt_player_work for each task");
        }
    }
    int none = 0;
    if (!atomic_compare_exchange_strong(&self->playing, &none, 1)) {
        return gs_rt_fail(GS_RT_ERR_STATE, "player", "one that was run", "a new one");
    }
    int status = gs_rt_thread(self->options.cpu, self->options.fifo);
    if (status == GS_RT_OK) {
        status = play(self, first, cycles);
    }
    gs_rt_player_stop(self);
    return status;
}

void gs_rt_player_stop(gs_rt_player_t *self)
{
    atomic_store(&self->stopped, 1);
    gs_rt_wait_word_change(&self->changed, true, false);
    for (int32_t i = 0; i < self->plan->tasks; i++) {
        gs_rt_wait_word_change(&self->tasks[i].changed, true, false);
    }
}

/* Threads of tasks ---------------------------------------------------------------------------- */

int gs_rt_player_ready(gs_rt_player_t *self, int task, int64_t job)
{
    int status = check_task(self, task);
    if (status != GS_RT_OK) {
        return status;
    }
    if (atomic_load(&self->stopped)) {
        return GS_RT_STOPPED;
    }
    if (!self->tasks[task].handshake || atomic_load(&self->tasks[task].ready) != job) {
        return gs_rt_fail_number(GS_RT_ERR_STATE, "job", job,
                                 "the next one of a task with a handshake");
    }
    gs_rt_log_event(self->options.log, GS_RT_EV_READY, task, job, 0);
    atomic_store(&self->tasks[task].ready, job + 1);
    gs_rt_wait_word_change(&self->changed, true, false);
    return GS_RT_OK;
}

int gs_rt_player_done(gs_rt_player_t *self, int task, int64_t job, int64_t until)
{
    int status = check_task(self, task);
    if (status != GS_RT_OK) {
        return status;
    }
    task_t *one = &self->tasks[task];
    for (;;) {
        uint32_t before = atomic_load(&one->changed);
        int64_t done = atomic_load(&one->done);
        if (job < 0 || job < done - KEPT_RESULTS) {
            return gs_rt_fail_number(GS_RT_ERR_STATE, "job", job, "one of the last 64 jobs");
        }
        if (job < done) {
            return atomic_load(&one->result[job & (KEPT_RESULTS - 1)]);
        }
        if (atomic_load(&self->stopped)) {
            return GS_RT_STOPPED;
        }
        if (gs_rt_now() >= until) {
            return GS_RT_TIMEOUT;
        }
        gs_rt_wait_word_sleep(&one->changed, before, until, false);
    }
}
