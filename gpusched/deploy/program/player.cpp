// The player of a schedule, and a thread for each task with CPU work.
//
//     main LOG PROCESS JOBS START [dry]
//
// PROCESS: all. JOBS: hyperperiods that are played, 0 without an end. START: the first release in
// ns of CLOCK_MONOTONIC (0: soon). dry: cores and priorities stay as they are. schedule.json, in
// the working directory, is the plan; tasks.h has the numbers, work.h the work.
#include <gpusched/rt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "gpu.h"
#include "tasks.h"
#include "work.h"

static gs_rt_log_t *logged;
static gs_rt_player_t *player;
static gs_rt_plan_t *plan;
static bool dry;
static std::atomic<bool> over; // the play has ended

struct Kernels { // of a task: its stream, and the time of each kernel in the plan
    int task;
    gpu_stream_t stream;
    gpu_mark_t mark;
    std::vector<int64_t> ns;
};

static int submit(void *arg, const gs_rt_job_t *job)
{
    auto *kernels = static_cast<Kernels *>(arg);
    const int64_t ns = kernels->ns[static_cast<size_t>(job->kernel)];
    if (gpu_enter() < 0 || gpu_work(kernels->task, job->kernel, kernels->stream, ns) < 0) {
        return -1;
    }
    return gpu_record(kernels->stream, &kernels->mark);
}

static int wait_for(void *arg, const gs_rt_job_t *, int64_t until)
{
    auto *kernels = static_cast<Kernels *>(arg);
    return gpu_wait_until(kernels->stream, kernels->mark, until);
}

// CPU work of a job from a phase on, up to GPU work; the phase behind it.
static int run_cpu(int index, int phase)
{
    const Task &task = TASKS[index];
    while (phase < task.phases && !PHASES[task.first_phase + phase].gpu) {
        cpu_work(index, phase, PHASES[task.first_phase + phase].ns);
        phase++;
    }
    return phase;
}

struct Thread { // of a task; planned: index in the plan, or -1
    int index, planned;
};

static int run_job(void *arg, const gs_rt_job_t *job, int64_t *)
{
    const auto *self = static_cast<Thread *>(arg);
    const Task &task = TASKS[self->index];
    int phase = run_cpu(self->index, 0);
    if (self->planned < 0) {
        return GS_RT_OK;
    }
    int status = gs_rt_player_ready(player, self->planned, job->job);
    if (status == GS_RT_OK) {
        status = gs_rt_player_done(player, self->planned, job->job, INT64_MAX);
    }
    if (status == GS_RT_STOPPED || status < 0) {
        return GS_RT_STOPPED;
    }
    while (phase < task.phases && PHASES[task.first_phase + phase].gpu) {
        phase++;
    }
    run_cpu(self->index, phase);
    return GS_RT_OK;
}

static int is_over(void *)
{
    return over;
}

// The thread ends with the player, or after its jobs.
static void run_task(int index, int planned, int64_t first, int64_t jobs, bool *failed)
{
    const Task &task = TASKS[index];
    if (!dry && gs_rt_thread(task.cpu, task.fifo) < 0) {
        std::fprintf(stderr, "%s: %s\n", task.name, gs_rt_error());
        *failed = true;
        gs_rt_player_stop(player);
        return;
    }
    Thread self = {index, planned};
    gs_rt_jobs_t loop = jobs_of(index, first, jobs, logged);
    loop.arg = &self;
    loop.run = run_job;
    loop.stopped = is_over;
    gs_rt_jobs_run(&loop);
}

// The log has the tasks of the plan first, so that their indices are those of the player.
static bool open_all(const char *path)
{
    std::vector<const char *> names;
    for (const Task &task : TASKS) {
        names.push_back(task.name);
    }
    gs_rt_log_options_t of_log{};
    of_log.names = names.data();
    of_log.tasks = static_cast<int>(names.size());
    of_log.threads = of_log.tasks + 2;
    gs_rt_player_options_t options{};
    options.cpu = dry ? -1 : DISPATCHER_CPU;
    options.fifo = dry ? 0 : DISPATCHER_FIFO;
    options.awake_ns = 200000;
    options.overrun = GS_RT_OVERRUN_CONTINUE;
    return gs_rt_plan_read("schedule.json", &plan) >= 0 &&
           gs_rt_log_create(path, &of_log, &logged) >= 0 &&
           (options.log = logged, gs_rt_player_open(plan, &options, &player) >= 0);
}

static std::vector<Kernels> kernels_of_plan()
{
    std::vector<Kernels> found(static_cast<size_t>(plan->tasks));
    for (int task = 0; task < plan->tasks; task++) {
        found[static_cast<size_t>(task)].task = task;
        found[static_cast<size_t>(task)].ns.resize(static_cast<size_t>(plan->task[task].kernels));
    }
    for (int f = 0; f < plan->frames; f++) {
        const gs_rt_plan_frame_t &frame = plan->frame[f];
        for (int e = frame.first; e < frame.first + frame.count; e++) {
            const gs_rt_plan_entry_t &entry = plan->entry[e];
            found[static_cast<size_t>(entry.task)].ns[static_cast<size_t>(entry.kernel)] =
                (frame.end - frame.start) * plan->tick;
        }
    }
    return found;
}

int main(int count, char **arguments)
{
    if (count < 5) {
        std::fprintf(stderr, "usage: main LOG PROCESS JOBS START [dry]\n");
        return 2;
    }
    const int64_t cycles = std::atoll(arguments[3]);
    int64_t first = std::atoll(arguments[4]);
    dry = count > 5 && std::strcmp(arguments[5], "dry") == 0;
    if ((!dry && gs_rt_lock_memory(1 << 20) < 0) || !open_all(arguments[1])) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    std::vector<Kernels> kernels = kernels_of_plan();
    if (gpu_open() < 0 || gpu_enter() < 0) {
        return 1;
    }
    for (Kernels &one : kernels) {
        if (std::strcmp(plan->task[one.task].name, TASKS[one.task].name) != 0) {
            std::fprintf(stderr, "schedule.json: got other tasks than tasks.h has\n");
            return 1;
        }
        if (gpu_open_stream(0, -1, &one.stream) < 0 || prepare(one.task, one.stream) < 0) {
            return 1;
        }
    }
    first = first > 0 ? first : gs_rt_now() + 1000000000;
    std::vector<std::thread> threads;
    bool failed[TASK_COUNT] = {}, any = false;
    for (int index = 0; index < TASK_COUNT; index++) {
        const int planned = index < plan->tasks ? index : -1;
        bool works = false; // on a CPU
        for (int phase = 0; phase < TASKS[index].phases; phase++) {
            works = works || !PHASES[TASKS[index].first_phase + phase].gpu;
        }
        if (planned >= 0) {
            const gs_rt_work_t work = {&kernels[static_cast<size_t>(index)], submit, wait_for};
            gs_rt_player_work(player, planned, &work, works);
        }
        if (works) {
            const int64_t jobs = plan->hyperperiod * plan->tick / TASKS[index].period * cycles;
            threads.emplace_back(run_task, index, planned, first, jobs, &failed[index]);
        }
    }
    const int status = gs_rt_player_run(player, first, cycles);
    if (status < 0) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
    }
    over = status < 0;
    for (auto &thread : threads) {
        thread.join();
    }
    for (const bool one : failed) {
        any = any || one;
    }
    gs_rt_player_close(player);
    gs_rt_plan_free(plan);
    gs_rt_log_close(logged);
    return status < 0 || any;
}
