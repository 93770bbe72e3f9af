/* Dispatching of the host simulator: ready threads get CPUs, or begin their GPU segments. */
#include "simulate/host/host_parts.h"

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
    gs_simulate_host_set_end(self, c, end);
    if (end >= GS_NEVER && t->work < GS_NEVER) {
        gs_simulate_host_pass_clock(self);
    }
}

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
        gs_simulate_host_halt(self, &self->thread[runs]);
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
            gs_simulate_host_halt(self, t);
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
