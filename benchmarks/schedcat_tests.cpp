// Times of SchedCAT's bounds for MPCP and the partitioned FMLP+ with one lock; see schedcat.py,
// which builds this beside SchedCAT's sources and writes its input.
//
// Input, numbers in text: test (0 MPCP, 1 FMLP+), sets, tasks, rounds; then for each task by
// descending priority: period, core, time of a job, requests, longest request. Bounds and response
// times depend on each other, so they are computed in turn from the jobs' own times on, until they
// do not change or a task is late. SchedCAT has its response-time analysis in Python; here it is in
// this language.
//
// Output: the seconds of the fastest round, then 0 or 1 for each set.
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "sharedres.h"

struct task_t {
    unsigned long period, core, cost, requests, length;
};

static unsigned long ceil_div(unsigned long a, unsigned long b) { return (a + b - 1) / b; }

// The response time with a suspension-aware count of more urgent tasks of the core; 0: late.
static unsigned long response(const task_t *tasks, int i, unsigned long blocked,
                              const std::vector<unsigned long> &bound)
{
    unsigned long own = tasks[i].cost + blocked, window = own;
    while (window <= tasks[i].period) {
        unsigned long demand = own;
        for (int h = 0; h < i; h++) {
            if (tasks[h].core == tasks[i].core) {
                demand += tasks[h].cost *
                          ceil_div(window + bound[h] - tasks[h].cost, tasks[h].period);
            }
        }
        if (demand == window) {
            return window;
        }
        window = demand;
    }
    return 0;
}

static bool accepted(const task_t *tasks, int n, bool fifo)
{
    std::vector<unsigned long> bound(n);
    for (int i = 0; i < n; i++) {
        bound[i] = tasks[i].cost;
    }
    for (bool changed = true; changed;) {
        ResourceSharingInfo info(n);
        for (int i = 0; i < n; i++) {
            info.add_task(tasks[i].period, bound[i], tasks[i].core, i, tasks[i].cost);
            if (tasks[i].requests > 0) {
                info.add_request(0, tasks[i].requests, tasks[i].length);
            }
        }
        std::unique_ptr<BlockingBounds> found(fifo ? part_fmlp_bounds(info, true)
                                                   : mpcp_bounds(info, false));
        changed = false;
        for (int i = 0; i < n; i++) {
            unsigned long next = response(tasks, i, found->get_blocking_term(i), bound);
            if (next == 0) {
                return false;
            }
            changed = changed || next != bound[i];
            bound[i] = next;
        }
    }
    return true;
}

static double seconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main()
{
    int fifo, sets, n, rounds;
    if (scanf("%d %d %d %d", &fifo, &sets, &n, &rounds) != 4) {
        return 1;
    }
    std::vector<task_t> tasks((size_t)sets * n);
    for (task_t &t : tasks) {
        if (scanf("%lu %lu %lu %lu %lu", &t.period, &t.core, &t.cost, &t.requests, &t.length) != 5) {
            return 1;
        }
    }
    std::vector<int> answers(sets);
    double best = 1e9;
    for (int round = 0; round < rounds; round++) {
        double began = seconds();
        for (int set = 0; set < sets; set++) {
            answers[set] = accepted(&tasks[(size_t)set * n], n, fifo != 0);
        }
        best = std::min(best, seconds() - began);
    }
    printf("%.9f\n", best);
    for (int answer : answers) {
        printf("%d\n", answer);
    }
    return 0;
}
