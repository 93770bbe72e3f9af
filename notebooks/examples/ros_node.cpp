// A ROS 2 node with the tasks of a recipe: a callback group, an executor and a thread for each.
//
//     ros_node LOG [dry]
//
// For recipes of streams, priority_streams, mpcp and fmlp_plus with one process: it takes the place
// of main.cpp beside tasks.h, gpu.h and work.h. dry: cores and priorities stay as they are.
#include <gpusched/rt.h>

#include <rclcpp/rclcpp.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "gpu.h"
#include "tasks.h"
#include "work.h"

static_assert(SHARING == OWN_STREAMS && !BOOSTED && LOCKS <= 1, "streams, or one lock");

class Tasks : public rclcpp::Node
{
  public:
    Tasks(gs_rt_log_t *log, gs_rt_lock_t *lock) : Node("tasks"), log_(log), lock_(lock)
    {
    }

    // The callback group of a task, whose timer releases its jobs.
    rclcpp::CallbackGroup::SharedPtr add(int index, gpu_stream_t stream, int slot)
    {
        auto group = create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
        auto job = std::make_shared<gs_rt_job_t>();
        job->task = index;
        timers_.push_back(create_wall_timer(
            std::chrono::nanoseconds(TASKS[index].period),
            [this, stream, slot, job] { run(*job, stream, slot); }, group));
        return group;
    }

  private:
    void run(gs_rt_job_t &job, gpu_stream_t stream, int slot)
    {
        const Task &task = TASKS[job.task];
        const int64_t used = gs_rt_cpu_time();
        gs_rt_log_event(log_, GS_RT_EV_RELEASE, job.task, job.job, 0);
        for (int phase = 0, cpu = 0, gpu = 0; phase < task.phases; phase++) {
            const Phase &part = PHASES[task.first_phase + phase];
            if (!part.gpu) {
                cpu_work(job.task, cpu++, part.ns);
            } else if (!segment(job, gpu++, part.ns, stream, slot)) {
                std::fprintf(stderr, "%s: %s\n", task.name, gs_rt_error());
                rclcpp::shutdown();
                return;
            }
        }
        gs_rt_log_event(log_, GS_RT_EV_CPU, job.task, job.job, gs_rt_cpu_time() - used);
        gs_rt_log_event(log_, GS_RT_EV_COMPLETE, job.task, job.job, 0);
        job.job++;
    }

    bool segment(const gs_rt_job_t &job, int number, int64_t ns, gpu_stream_t stream, int slot)
    {
        gpu_mark_t mark{};
        if (slot >= 0 && gs_rt_lock_acquire(lock_, slot, &job, SPIN_LOCK, INT64_MAX) < 0) {
            return false;
        }
        gs_rt_log_event(log_, GS_RT_EV_SUBMIT, job.task, job.job, number);
        const bool good = gpu_work(job.task, number, stream, ns) >= 0 &&
                          gpu_record(stream, &mark) >= 0 && gpu_wait(stream, mark) >= 0;
        gs_rt_log_event(log_, GS_RT_EV_GPU_END, job.task, job.job, number);
        return (slot < 0 || gs_rt_lock_release(lock_, slot, &job) >= 0) && good;
    }

    gs_rt_log_t *log_;
    gs_rt_lock_t *lock_; // nullptr: none
    std::vector<rclcpp::TimerBase::SharedPtr> timers_;
};

// Stream, core, priority and lock of a task, and its executor; false for an error.
static bool spin(const std::shared_ptr<Tasks> &node, gs_rt_lock_t *lock, int index, bool dry)
{
    const Task &task = TASKS[index];
    gpu_stream_t stream{};
    int slot = -1;
    if (task.uses_gpu &&
        (gpu_enter() < 0 || gpu_open_stream(task.stream_priority, task.group, &stream) < 0 ||
         prepare(index, stream) < 0)) {
        return false;
    }
    if (!dry && gs_rt_thread(task.cpu, task.fifo) < 0) {
        return false;
    }
    if (task.lock >= 0 && gs_rt_lock_join(lock, task.urgency, dry ? 0 : task.ceiling, &slot) < 0) {
        return false;
    }
    rclcpp::executors::SingleThreadedExecutor executor;
    executor.add_callback_group(node->add(index, stream, slot), node->get_node_base_interface());
    executor.spin();
    if (slot >= 0) {
        gs_rt_lock_leave(lock, slot);
    }
    return true;
}

int main(int count, char **arguments)
{
    rclcpp::init(count, arguments);
    std::vector<const char *> names;
    for (const Task &task : TASKS) {
        names.push_back(task.name);
    }
    gs_rt_log_t *log = nullptr;
    gs_rt_lock_t *lock = nullptr;
    gs_rt_log_options_t of_log{};
    of_log.names = names.data();
    of_log.tasks = of_log.threads = TASK_COUNT;
    bool good = gs_rt_log_create(count > 1 ? arguments[1] : "run.gslog", &of_log, &log) >= 0;
    gs_rt_lock_options_t of_lock{};
    of_lock.name = "/gpusched-0";
    of_lock.order = LOCK_ORDER;
    of_lock.log = log;
    gs_rt_lock_remove(of_lock.name); // of an earlier run
    good = good && (LOCKS == 0 || gs_rt_lock_open(&of_lock, &lock) >= 0);
    const bool dry = count > 2 && std::strcmp(arguments[2], "dry") == 0;
    if (!good || (!dry && gs_rt_lock_memory(1 << 20) < 0)) {
        std::fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    if (gpu_open() < 0) {
        return 1;
    }
    auto node = std::make_shared<Tasks>(log, lock);
    std::vector<std::thread> threads;
    std::vector<int> failed(TASK_COUNT);
    for (int index = 0; index < TASK_COUNT; index++) {
        if (TASKS[index].afters > 0) { // call what it does behind the task before it
            std::fprintf(stderr, "%s: expected a task with a period\n", TASKS[index].name);
            return 1;
        }
        threads.emplace_back([&, index] {
            failed[static_cast<size_t>(index)] = !spin(node, lock, index, dry);
            if (failed[static_cast<size_t>(index)]) {
                std::fprintf(stderr, "%s: %s\n", TASKS[index].name, gs_rt_error());
                rclcpp::shutdown();
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    gs_rt_lock_close(lock);
    gs_rt_lock_remove(of_lock.name);
    gs_rt_log_close(log);
    for (const int one : failed) {
        good = good && !one;
    }
    return !good;
}
