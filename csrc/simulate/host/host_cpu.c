/* CPUs of the host simulator: ready threads, running threads, and ends of work. */
#include "simulate/host/host_parts.h"

/* End of the work on a CPU --------------------------------------------------------------------
 */

/* Takes a thread off its CPU, if it has one, and frees the CPU. */
static inline void stop(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t)
{
    if (t->cpu >= 0) {
        gs_simulate_host_set_end(self, t->cpu, GS_NEVER);
        gs_simulate_host_halt(self, t);
    }
}

int32_t gs_simulate_host_take_end(gs_simulate_host_state_t *self)
{
    const int64_t *tree = self->end;
    size_t k = 1;
    while (k < self->leaves) {
        k = 2 * k + (tree[2 * k] != self->now);
    }
    int32_t c = (int32_t)(k - self->leaves), r = self->cpu[c].thread;
    gs_simulate_host_set_end(self, c, GS_NEVER);
    gs_simulate_host_halt(self, &self->thread[r]);
    return r;
}

/* Lists of ready threads ----------------------------------------------------------------------
 *
 * A change among the first `width` threads marks the cluster for dispatching.
 */

static inline void insert(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    gs_simulate_host_cluster_t *cluster = &self->cluster[t->cluster];
    int32_t at = cluster->count++;
    for (; at > 0; at--) {
        int32_t ahead = cluster->ready[at - 1];
        int64_t key = self->thread[ahead].key;
        if (key < t->key || (key == t->key && ahead < r)) {
            break;
        }
        cluster->ready[at] = ahead;
    }
    cluster->ready[at] = r;
    t->ready = true;
    if (at < cluster->width) {
        gs_simulate_host_mark(self, t->cluster);
    }
}

static void take_out(gs_simulate_host_state_t *self, int32_t r)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    gs_simulate_host_cluster_t *cluster = &self->cluster[t->cluster];
    int32_t *ready = cluster->ready, at = --cluster->count, moved = ready[at];
    while (moved != r) { /* all later ones move up */
        int32_t next = ready[--at];
        ready[at] = moved;
        moved = next;
    }
    t->ready = false;
    if (at < cluster->width) {
        gs_simulate_host_mark(self, t->cluster);
    }
}

void gs_simulate_host_rekey(gs_simulate_host_state_t *self, int32_t r, int64_t key)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->key == key) {
        return;
    }
    bool ready = t->ready;
    if (ready) {
        take_out(self, r);
    }
    t->key = key;
    if (ready) {
        insert(self, r);
    }
}

void gs_simulate_host_enter(gs_simulate_host_state_t *self, int32_t r, int64_t key, int64_t work,
                            int8_t what)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->ready) {
        stop(self, t);
        gs_simulate_host_rekey(self, r, key);
        gs_simulate_host_mark(self, t->cluster); /* it lost its CPU or changed its work */
    } else {
        t->key = key;
        insert(self, r);
        gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_READY);
    }
    t->work = work;
    t->what = what;
}

void gs_simulate_host_leave(gs_simulate_host_state_t *self, int32_t r, int8_t doing)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    if (t->ready) {
        stop(self, t);
        take_out(self, r);
    }
    gs_simulate_host_note(self, t, doing);
}
