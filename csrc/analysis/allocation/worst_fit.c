/* Unit of utilizations and the order of worst fit, decreasing. */
#include "analysis/allocation/worst_fit.h"

double gs_analysis_allocation_worst_fit_unit(const gs_host_tasks_t *hosts)
{
    const int64_t most = ((int64_t)1 << 52) / (hosts->n + 1);
    int64_t unit = 1;
    for (int64_t i = 0; i < hosts->n; i++) {
        if (!gs_lcm(unit, hosts->period[i], &unit) || unit > most) {
            return 1;
        }
    }
    return (double)unit;
}

/* Whether a is placed before b. */
static bool before(const double *share, int64_t a, int64_t b)
{
    return share[a] != share[b] ? share[a] > share[b] : a < b;
}

/* Moves an index down a heap whose parents are placed after their children. */
static void sift(const double *share, int64_t *heap, int64_t count, int64_t at)
{
    int64_t moved = heap[at];
    for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
        if (child + 1 < count && before(share, heap[child], heap[child + 1])) {
            child++;
        }
        if (!before(share, moved, heap[child])) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

void gs_analysis_allocation_worst_fit_order(const double *share, int64_t n, int64_t *order)
{
    enum { FEW = 32 };
    if (n <= FEW) {
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i;
            for (; at > 0 && before(share, i, order[at - 1]); at--) {
                order[at] = order[at - 1];
            }
            order[at] = i;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int64_t at = n / 2 - 1; at >= 0; at--) {
        sift(share, order, n, at);
    }
    for (int64_t count = n - 1; count > 0; count--) {
        int64_t last = order[0];
        order[0] = order[count];
        order[count] = last;
        sift(share, order, count, 0);
    }
}

void gs_analysis_allocation_worst_fit_move(const double *share, int64_t n, int64_t i,
                                           int64_t *order)
{
    int64_t at = 0;
    while (order[at] != i) {
        at++;
    }
    for (; at > 0 && before(share, i, order[at - 1]); at--) {
        order[at] = order[at - 1];
    }
    for (; at + 1 < n && before(share, order[at + 1], i); at++) {
        order[at] = order[at + 1];
    }
    order[at] = i;
}
