// The parts of ROS 2 that the example uses: timers of callback groups, in executors that spin for
// 0.9 s.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace rclcpp
{

inline std::atomic<bool> running{false};
inline void init(int, char **)
{
    running = true;
}
inline bool shutdown()
{
    return running.exchange(false);
}

enum class CallbackGroupType { MutuallyExclusive, Reentrant };

struct TimerBase {
    using SharedPtr = std::shared_ptr<TimerBase>;
    std::chrono::nanoseconds period;
    std::function<void()> call;
};

struct CallbackGroup {
    using SharedPtr = std::shared_ptr<CallbackGroup>;
    std::vector<TimerBase::SharedPtr> timers;
};

struct NodeBase {
    using SharedPtr = std::shared_ptr<NodeBase>;
};

class Node
{
  public:
    explicit Node(const std::string &)
    {
    }
    CallbackGroup::SharedPtr create_callback_group(CallbackGroupType, bool = true)
    {
        return std::make_shared<CallbackGroup>();
    }
    template <typename Call>
    TimerBase::SharedPtr create_wall_timer(std::chrono::nanoseconds period, Call call,
                                           CallbackGroup::SharedPtr group = nullptr)
    {
        group->timers.push_back(std::make_shared<TimerBase>(TimerBase{period, call}));
        return group->timers.back();
    }
    NodeBase::SharedPtr get_node_base_interface()
    {
        return nullptr;
    }
};

namespace executors
{

class SingleThreadedExecutor
{
  public:
    void add_callback_group(CallbackGroup::SharedPtr group, NodeBase::SharedPtr)
    {
        group_ = group;
    }
    void spin()
    {
        using clock = std::chrono::steady_clock;
        const clock::time_point start = clock::now(), end = start + std::chrono::milliseconds(900);
        const TimerBase::SharedPtr timer = group_->timers.at(0);
        for (int job = 1; running && start + job * timer->period < end; job++) {
            std::this_thread::sleep_until(start + job * timer->period);
            timer->call();
        }
    }

  private:
    CallbackGroup::SharedPtr group_;
};

} // namespace executors
} // namespace rclcpp
