/* CPUs of the host simulator: ready threads, dispatching, and ends of work. */
#include "simulate/host/host_parts.h"

/* End of the work on a CPU --------------------------------------------------------------------
 */

static void set_end(gs_simulate_host_state_t *self, int32_t cpu, int64_t end)
{
    int64_t *tree = self->end;
    size_t k = self->leaves + (size_t)cpu;
    tree[k] = end;
    while (k > 1) {
        int64_t beside = tree[k ^ 1];
        end = beside < end ? beside : end;
        k /= 2;
        if (tree[k] == end) {
            return;
        }
        tree[k] = end;
    }
}

/* Takes a thread off its CPU and accounts for its work. The caller updates the end of the CPU: it
 * gives the CPU to another thread or sets the end to GS_NEVER. */
static inline void halt(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t)
{
    gs_simulate_host_cpu_t *cpu = &self->cpu[t->cpu];
    if (t->work < GS_NEVER) {
        t->work -= self->now - cpu->since;
    }
    gs_simulate_host_note_no_start(self, t, cpu->since);
    cpu->thread = -1;
    t->cpu = -1;
    gs_simulate_host_note(self, t, GS_SIMULATE_HOST_DOES_READY);
}

static void place(gs_simulate_host_state_t *self, int32_t r, int32_t c)
{
    gs_simulate_host_thread_t *t = &self->thread[r];
    gs_simulate_host_cpu_t *cpu = &self->cpu[c];
    cpu->thread = r;
    cpu->since = self->now;
    t->cpu = t->was = c;
    gs_simulate_host_note_start(self, t, false);
    gs_simulate_host_note(self, t, t->what);
    int64_t end = t->work < GS_NEVER ? self->now + t->work : GS_NEVER;
    set_end(self, c, end);
    if (end >= GS_NEVER && t->work < GS_NEVER) {
        gs_simulate_host_pass_clock(self);
    }
}

/* Takes a thread off its CPU, if it has one, and frees the CPU. */
static inline void stop(gs_simulate_host_state_t *self, gs_simulate_host_thread_t *t)
{
    if (t->cpu >= 0) {
        set_end(self, t->cpu, GS_NEVER);
        halt(self, t);
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
    set_end(self, c, GS_NEVER);
    halt(self, &self->thread[r]);
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

/* Choosing ------------------------------------------------------------------------------------
 */

/* Dispatches a core: its first thread runs. True if a GPU segment of it begins: the core is
 * dispatched again when it is known whether the request is granted; until then no other segment
 * begins there. */
static bool choose_one(gs_simulate_host_state_t *self, const gs_simulate_host_cluster_t *cluster)
{
    int32_t first = cluster->count > 0 ? cluster->ready[0] : -1;
    if (first >= 0 && self->thread[first].work == 0) {
        gs_simulate_host_begin(self, first);
        return true;
    }
    int32_t runs = self->cpu[cluster->cpu].thread;
    if (runs == first && runs >= 0) {
        return false;
    }
    if (runs >= 0) {
        halt(self, &self->thread[runs]);
    }
    if (first >= 0) {
        place(self, first, cluster->cpu);
    }
    return false;
}

/* Begins the GPU segments of those among the first `chosen` threads that have no work left. */
static void begin_segments(gs_simulate_host_state_t *self,
                           const gs_simulate_host_cluster_t *cluster, int32_t chosen)
{
    for (int32_t k = 0; k < chosen;) {
        int32_t r = cluster->ready[k];
        bool begins = self->thread[r].work == 0;
        if (begins) {
            gs_simulate_host_begin(self, r);
        }
        if (begins && !self->thread[r].ready) {
            chosen--; /* the next one has taken its place */
        } else {
            k++;
        }
    }
}

/* Gives CPUs to those among the first `chosen` threads that have none: `without` of them, from
 * position `first` on. */
static void place_chosen(gs_simulate_host_state_t *self, const gs_simulate_host_cluster_t *cluster,
                         int32_t chosen, int32_t first, int32_t without)
{
    for (int32_t k = chosen; k < cluster->count; k++) {
        gs_simulate_host_thread_t *t = &self->thread[cluster->ready[k]];
        if (t->cpu >= 0) {
            halt(self, t);
        }
    }
    for (int32_t k = first, ahead = without; ahead > 0; k++) {
        const gs_simulate_host_thread_t *t = &self->thread[cluster->ready[k]];
        if (t->cpu >= 0) {
            continue;
        }
        ahead--;
        if (t->was >= 0 && self->cpu[t->was].thread < 0) {
            place(self, cluster->ready[k], t->was);
            without--;
        }
    }
    int32_t c = cluster->cpu;
    for (int32_t k = first; without > 0; k++) {
        if (self->thread[cluster->ready[k]].cpu < 0) {
            while (self->cpu[c].thread >= 0) {
                c++;
            }
            place(self, cluster->ready[k], c);
            without--;
        }
    }
}

/* Dispatches several CPUs: running threads stay; the others go to their last CPU if it is free,
 * else to the first free one. True as above. */
static bool choose_many(gs_simulate_host_state_t *self, const gs_simulate_host_cluster_t *cluster)
{
    int32_t chosen = cluster->count < cluster->width ? cluster->count : cluster->width;
    int32_t first = chosen, without = 0;
    for (int32_t k = chosen - 1; k >= 0; k--) {
        const gs_simulate_host_thread_t *t = &self->thread[cluster->ready[k]];
        if (t->work == 0) {
            begin_segments(self, cluster, chosen);
            return true;
        }
        bool none = t->cpu < 0; /* unpredictable: no branch */
        first = none ? k : first;
        without += none;
    }
    if (without > 0) { /* else no later thread has a CPU */
        place_chosen(self, cluster, chosen, first, without);
    }
    return false;
}

/* Dispatches the clusters of a word, except where a GPU segment has begun; returns those. */
static uint64_t choose_in(gs_simulate_host_state_t *self, int32_t word, uint64_t began)
{
    uint64_t *dirty = &self->dirty[word], todo;
    while ((todo = *dirty & ~began) != 0) {
        uint64_t bit = todo & (~todo + 1);
        const gs_simulate_host_cluster_t *cluster =
            &self->cluster[64 * word + __builtin_ctzll(todo)];
        *dirty ^= bit;
        if (cluster->width == 1 ? choose_one(self, cluster) : choose_many(self, cluster)) {
            began |= bit;
        }
    }
    return began;
}

/* The same for several words: the beginning of a segment can release jobs on any core. */
static uint64_t choose_in_all(gs_simulate_host_state_t *self)
{
    uint64_t *began = self->began, any = 0;
    while (self->marked) {
        self->marked = false;
        for (int32_t word = 0; word < self->dirty_words; word++) {
            began[word] = choose_in(self, word, began[word]);
        }
    }
    for (int32_t word = 0; word < self->dirty_words; word++) {
        any |= self->dirty[word] = began[word];
        began[word] = 0;
    }
    return any;
}

void gs_simulate_host_dispatch(gs_simulate_host_state_t *self)
{
    if (self->dirty_words == 1) { /* at most 63 clusters: no other word can change meanwhile */
        self->dirty[0] = choose_in(self, 0, 0);
        self->marked = self->dirty[0] != 0;
    } else {
        self->marked = choose_in_all(self) != 0;
    }
}
