// A thread for each task: its core, its priority, its releases, its CPU work and its GPU segments.
//
//     main LOG PROCESS JOBS START [dry]
//
// PROCESS: tasks of this process, or all; "create" only makes the log and prints a START, the first
// release in ns of CLOCK_MONOTONIC (0: soon), and "remove" only removes what processes share. JOBS:
// of each task, or those that others release. dry: cores and priorities stay as they are. tasks.h
// has the numbers, work.h the work.
#include <gpusched/rt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gpu.h"
#include "tasks.h"
#include "work.h"

static gs_rt_log_t *logged;
static gs_rt_server_t *server;
static std::vector<gs_rt_lock_t *> locks;
static std::mutex submitting; // of the one stream
static gpu_stream_t one_stream;
static bool dry;
static gs_rt_ends_t *ends[TASK_COUNT]; // of tasks that release others
static std::atomic<bool> gave_up;      // a task, before its first job

struct Segment {
    int task, phase;
    gpu_stream_t stream;
    gpu_mark_t mark;
    int64_t ns;
};

static int submit(void *arg, const gs_rt_job_t *job)
{
    auto *segment = static_cast<Segment *>(arg);
    if (server == nullptr) { // which logs segments itself
        gs_rt_log_event(logged, GS_RT_EV_SUBMIT, job->task, job->job, segment->phase);
    }
    if (gpu_enter() < 0 ||
        gpu_work(segment->task, segment->phase, segment->stream, segment->ns) < 0) {
        return -1;
    }
    return gpu_record(segment->stream, &segment->mark);
}

static int wait_for(void *arg, const gs_rt_job_t *job, int64_t until)
{
    const auto *segment = static_cast<Segment *>(arg);
    const int status = until == INT64_MAX ? gpu_wait(segment->stream, segment->mark)
                                          : gpu_wait_until(segment->stream, segment->mark, until);
    if (status == GS_RT_OK && server == nullptr) {
        gs_rt_log_event(logged, GS_RT_EV_GPU_END, job->task, job->job, segment->phase);
    }
    return status;
}

// Of a request of the server: that of the task, or the larger, the earlier it is due.
static int64_t urgency_of(const Task &task, const gs_rt_job_t &job)
{
    return BY_DUE ? -(job.release + task.due) : task.urgency;
}

// Runs a GPU segment, under its lock if it has one; false for an error.
static bool run_segment(Segment &segment, gs_rt_lock_t *lock, int slot, const gs_rt_job_t &job)
{
    if (server != nullptr) {
        const gs_rt_work_t work = {&segment, submit, wait_for};
        gs_rt_job_t of = job;
        of.kernel = segment.phase;
        return gs_rt_server_run(server, urgency_of(TASKS[job.task], job), &work, &of) >= 0;
    }
    if (lock != nullptr && gs_rt_lock_acquire(lock, slot, &job, SPIN_LOCK, INT64_MAX) < 0) {
        return false;
    }
    bool good;
    if (SHARING == ONE_STREAM) { // one thread at a time submits
        const std::lock_guard<std::mutex> hold(submitting);
        good = submit(&segment, &job) >= 0;
    } else {
        good = submit(&segment, &job) >= 0;
    }
    good = good && wait_for(&segment, &job, INT64_MAX) >= 0;
    if (lock != nullptr && gs_rt_lock_release(lock, slot, &job) < 0) {
        return false;
    }
    return good;
}

// The same at the ceiling of the task, where the way wants it.
static bool run(Segment &segment, gs_rt_lock_t *lock, int slot, const gs_rt_job_t &job)
{
    const Task &task = TASKS[job.task];
    const bool boost = BOOSTED && !dry;
    if (boost && gs_rt_thread(-1, task.ceiling) < 0) {
        return false;
    }
    const bool good = run_segment(segment, lock, slot, job);
    return (!boost || gs_rt_thread(-1, task.fifo) >= 0) && good;
}

struct Thread { // of a task
    int index;
    gpu_stream_t stream;
    gpu_mark_t mark;
    gs_rt_lock_t *lock;
    int slot;
};

static int run_job(void *arg, const gs_rt_job_t *job, int64_t *)
{
    auto *self = static_cast<Thread *>(arg);
    const Task &task = TASKS[self->index];
    for (int phase = 0, cpu = 0, gpu = 0; phase < task.phases; phase++) {
        const Phase &part = PHASES[task.first_phase + phase];
        if (!part.gpu) {
            cpu_work(self->index, cpu++, part.ns);
            continue;
        }
        Segment segment = {self->index, gpu++, self->stream, self->mark, part.ns};
        if (!run(segment, self->lock, self->slot, *job)) {
            std::fprintf(stderr, "%s: job %lld: %s\n", task.name, static_cast<long long>(job->job),
                         gs_rt_error());
            return GS_RT_ERR_WORK;
        }
        self->mark = segment.mark;
    }
    return GS_RT_OK;
}

static int is_over(void *)
{
    return gave_up;
}

// Stream, first run, lock, core and priority of a thread; false for an error.
static bool open_thread(int index, Thread *self)
{
    const Task &task = TASKS[index];
    if (task.uses_gpu) {
        if (gpu_enter() < 0) {
            return false;
        }
        if (SHARING != ONE_STREAM &&
            gpu_open_stream(task.stream_priority, task.group, &self->stream) < 0) {
            return false;
        }
        if (prepare(index, self->stream) < 0) {
            return false;
        }
        if (task.lock >= 0) {
            self->lock = locks[static_cast<size_t>(task.lock)];
        }
    }
    if ((!dry && gs_rt_thread(task.cpu, task.fifo) < 0) ||
        (self->lock != nullptr &&
         gs_rt_lock_join(self->lock, task.urgency, dry || BOOSTED ? 0 : task.ceiling, &self->slot) <
             0)) {
        std::fprintf(stderr, "%s: %s\n", task.name, gs_rt_error());
        return false;
    }
    return true;
}

static void run_task(int index, int64_t jobs, int64_t first, bool *failed)
{
    const Task &task = TASKS[index];
    Thread self = {index, one_stream, {}, nullptr, -1};
    *failed = !open_thread(index, &self);
    if (*failed) {
        gave_up = true;
        return;
    }
    std::vector<gs_rt_ends_t *> before;
    for (int k = 0; k < task.afters; k++) {
        before.push_back(ends[AFTER[task.first_after + k]]);
    }
    gs_rt_jobs_t loop = jobs_of(index, first, before.empty() ? jobs : 0, logged);
    loop.arg = &self;
    loop.run = run_job;
    loop.stopped = is_over;
    loop.ends = ends[index];
    loop.after = before.data();
    loop.afters = task.afters;
    loop.every = task.every;
    *failed = jobs > 0 && gs_rt_jobs_run(&loop) < 0;
    if (self.lock != nullptr) {
        gs_rt_lock_leave(self.lock, self.slot);
    }
}

static bool open_log(const char *path, bool create)
{
    std::vector<const char *> names;
    for (const Task &task : TASKS) {
        names.push_back(task.name);
    }
    gs_rt_log_options_t options{};
    options.names = names.data();
    options.tasks = static_cast<int>(names.size());
    options.threads = options.tasks + 2;
    return (create ? gs_rt_log_create(path, &options, &logged) : gs_rt_log_join(path, &logged)) >=
           0;
}

static bool open_sharing(bool user)
{
    for (const Task &task : TASKS) {
        for (int k = 0; k < task.afters; k++) {
            gs_rt_ends_t *&of = ends[AFTER[task.first_after + k]];
            if (of == nullptr && gs_rt_ends_open(&of) < 0) {
                return false;
            }
        }
    }
    for (int k = 0; user && k < LOCKS; k++) {
        const std::string name = "/gpusched-" + std::to_string(k);
        gs_rt_lock_options_t options{};
        options.name = name.c_str();
        options.order = LOCK_ORDER;
        options.log = logged;
        locks.push_back(nullptr);
        if (gs_rt_lock_open(&options, &locks.back()) < 0) {
            return false;
        }
    }
    if (SHARING == SERVER) {
        gs_rt_server_options_t options{};
        options.cpu = dry ? -1 : SERVER_CPU;
        options.fifo = dry ? 0 : SERVER_FIFO;
        options.spin = SPIN_GPU;
        options.log = logged;
        return gs_rt_server_open(&options, &server) >= 0;
    }
    return true;
}

static void remove_locks()
{
    for (int k = 0; k < LOCKS; k++) {
        gs_rt_lock_remove(("/gpusched-" + std::to_string(k)).c_str());
    }
}

int main(int count, char **arguments)
{
    if (count < 5) {
        std::fprintf(stderr, "usage: main LOG PROCESS JOBS START [dry]\n");
        return 2;
    }
    const std::string process = arguments[2];
    const int64_t jobs = std::atoll(arguments[3]), soon = gs_rt_now() + 1000000000;
    const bool all = process == "all";
    int64_t first = std::atoll(arguments[4]);
    dry = count > 5 && std::strcmp(arguments[5], "dry") == 0;
    if (all || process == "create" || process == "remove") {
        remove_locks(); // also of an earlier run that was ended
    }
    if (process == "remove") {
        return 0;
    }
    if (!open_log(arguments[1], all || process == "create")) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    if (process == "create") {
        std::printf("%lld\n", static_cast<long long>(soon + 1000000000));
        gs_rt_log_close(logged);
        return 0;
    }
    std::vector<int> own;
    bool uses_gpu = false;
    for (int index = 0; index < TASK_COUNT; index++) {
        if (all || process == TASKS[index].process) {
            own.push_back(index);
            uses_gpu = uses_gpu || TASKS[index].uses_gpu;
        }
    }
    if (!dry && gs_rt_lock_memory(1 << 20) < 0) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    if (uses_gpu && (gpu_open() < 0 || gpu_enter() < 0 ||
                     (SHARING == ONE_STREAM && gpu_open_stream(0, -1, &one_stream) < 0))) {
        return 1;
    }
    if (!open_sharing(uses_gpu)) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    first = first > 0 ? first : soon;
    std::vector<std::thread> threads;
    bool failed[TASK_COUNT] = {}, any = own.empty();
    for (const int index : own) {
        threads.emplace_back(run_task, index, jobs, first, &failed[index]);
    }
    for (auto &thread : threads) {
        thread.join();
    }
    for (const bool one : failed) {
        any = any || one;
    }
    gs_rt_server_close(server);
    for (gs_rt_lock_t *lock : locks) {
        gs_rt_lock_close(lock);
    }
    if (all) {
        remove_locks();
    }
    for (gs_rt_ends_t *of : ends) {
        gs_rt_ends_close(of);
    }
    gs_rt_log_close(logged);
    return any;
}
