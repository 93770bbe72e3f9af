// A program as users write it: plays a schedule, one thread per task with CPU work, and logs its run.
//
//     player SCHEDULE LOG CYCLES [FAULT]
//
// The GPU is a timer: a kernel of k ms ends k ms after it was submitted. FAULT "slow": the first
// task's kernels take three times as long.
#include <gpusched/rt.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

struct Kernel {
    int64_t length, ends;
};

static int submit(void *arg, const gs_rt_job_t *)
{
    auto *kernel = static_cast<Kernel *>(arg);
    kernel->ends = gs_rt_now() + kernel->length;
    return 0;
}

static int wait_for(void *arg, const gs_rt_job_t *, int64_t until)
{
    const int64_t ends = static_cast<Kernel *>(arg)->ends, now = gs_rt_now();
    const int64_t left = (ends < until ? ends : until) - now;
    if (left > 0) {
        const timespec nap = {0, static_cast<long>(left % 1000000000)};
        nanosleep(&nap, nullptr);
    }
    return gs_rt_now() < ends ? GS_RT_TIMEOUT : GS_RT_OK;
}

static void task(gs_rt_player_t *player, gs_rt_log_t *log, const gs_rt_plan_t *plan, int index,
                 int64_t first)
{
    gs_rt_timer_t timer;
    gs_rt_timer_start(&timer, first, plan->task[index].period * plan->tick);
    for (int64_t job = 0; gs_rt_timer_wait(&timer, 0, 0) == GS_RT_OK; job++) {
        gs_rt_log_event(log, GS_RT_EV_RELEASE, index, job, timer.next - timer.period);
        if (gs_rt_player_ready(player, index, job) != GS_RT_OK) { // CPU work stands before this
            return;
        }
        if (gs_rt_player_done(player, index, job, INT64_MAX) > GS_RT_LATE) {
            return;
        }
        gs_rt_log_event(log, GS_RT_EV_COMPLETE, index, job, 0);
    }
}

int main(int, char **arguments)
{
    gs_rt_plan_t *plan;
    gs_rt_log_t *log;
    gs_rt_player_t *player;
    if (gs_rt_plan_read(arguments[1], &plan) < 0) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 2;
    }
    std::vector<const char *> names;
    for (int i = 0; i < plan->tasks; i++) {
        names.push_back(plan->task[i].name);
    }
    gs_rt_log_options_t logged{};
    logged.names = names.data();
    logged.tasks = plan->tasks;
    gs_rt_player_options_t options{};
    options.cpu = -1;
    options.hang_ns = 300000000000;
    if (gs_rt_log_create(arguments[2], &logged, &log) < 0 ||
        (options.log = log, gs_rt_player_open(plan, &options, &player) < 0)) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 2;
    }
    const bool slow = arguments[4] != nullptr && std::strcmp(arguments[4], "slow") == 0;
    std::vector<Kernel> kernels(plan->tasks);
    for (int f = 0; f < plan->frames; f++) { // four fifths of each frame
        const gs_rt_plan_frame_t &frame = plan->frame[f];
        for (int e = frame.first; e < frame.first + frame.count; e++) {
            const int index = plan->entry[e].task;
            kernels[index].length = (frame.end - frame.start) * plan->tick * 4 / 5;
            kernels[index].length *= slow && index == 0 ? 3 : 1;
        }
    }
    const int64_t first = gs_rt_now() + 50000000;
    std::vector<std::thread> threads;
    for (int i = 0; i < plan->tasks; i++) {
        const gs_rt_work_t work = {&kernels[i], submit, wait_for};
        const bool has_cpu_work = plan->task[i].offset > 0;
        gs_rt_player_work(player, i, &work, has_cpu_work);
        if (has_cpu_work) {
            threads.emplace_back(task, player, log, plan, i, first);
        }
    }
    const int status = gs_rt_player_run(player, first, std::atol(arguments[3]));
    for (auto &thread : threads) {
        thread.join();
    }
    std::printf("%d\n", status);
    gs_rt_player_close(player);
    gs_rt_plan_free(plan);
    gs_rt_log_close(log);
    return status < 0;
}
