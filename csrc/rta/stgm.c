/* Do all tasks meet their deadlines when kernels share the GPU by SMs? */
#include <string.h>

#include "rta/stgm.h"

int gs_stgm_init(gs_stgm_t *self, gs_env_t *env, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(env, (size_t)n, sizeof *self->order);
    self->sums = gs_alloc(env, (size_t)n, sizeof *self->sums);
    self->copy = gs_alloc(env, (size_t)n, sizeof *self->copy);
    self->kernel = gs_alloc(env, (size_t)n, sizeof *self->kernel);
    self->demand = gs_alloc(env, (size_t)n, sizeof *self->demand);
    self->segment = gs_alloc(env, (size_t)n, sizeof *self->segment);
    self->demands = gs_alloc(env, (size_t)n, sizeof *self->demands);
    if (self->order == NULL || self->sums == NULL || self->copy == NULL || self->kernel == NULL ||
        self->demand == NULL || self->segment == NULL || self->demands == NULL) {
        return env->status;
    }
    return gs_chain_init(&self->chain, env, n);
}

void gs_stgm_free(gs_stgm_t *self, gs_env_t *env)
{
    gs_free(env, self->order);
    gs_free(env, self->sums);
    gs_free(env, self->copy);
    gs_free(env, self->kernel);
    gs_free(env, self->demand);
    gs_free(env, self->segment);
    gs_free(env, self->demands);
    gs_chain_free(&self->chain, env);
    memset(self, 0, sizeof *self);
}

/* Sums, and who shares SMs with whom. */
static int start(gs_stgm_t *self, gs_env_t *env, const gs_hosts_t *hosts, const uint8_t *sm,
                 int64_t sms)
{
    for (int64_t i = 0; i < self->n; i++) {
        int64_t count = 0;
        for (int64_t s = 0; s < sms; s++) {
            count += sm[i * sms + s] != 0;
        }
        if (count == 0 && hosts->segments[i] > 0) {
            return gs_fail(env, GS_ERR_VALUE, "sm", i, 0, "a task with GPU segments may use no SM");
        }
        self->sums[i] = gs_host_sums(hosts, i, count > 0 ? count : 1);
        self->chain.weight[i] = self->sums[i].most_kernel;
    }
    gs_chain_clear(&self->chain);
    return gs_chain_join_sets(&self->chain, env, hosts->segments, sm, sms);
}

/* Eqs. 3 and 4: copies are first come, first served, and every task has at most one waiting or
 * running. In suspend mode that is sound: an operation at the engine never waits for its core,
 * since only the one at the engine is boosted. */
static void copies_of_all(gs_stgm_t *self)
{
    int64_t all = 0; /* below GS_HOST_MOST, as all jobs together are */
    for (int64_t i = 0; i < self->n; i++) {
        all += self->sums[i].longest_copy;
    }
    for (int64_t i = 0; i < self->n; i++) {
        const gs_host_sums_t *own = &self->sums[i];
        self->copy[i] = gs_host_mul(own->segments, 2 * (all - own->longest_copy));
    }
}

/* Eqs. 5 and 6, as printed: the neighbours' kernels, but not those that they wait for. */
static void neighbours_kernels(gs_stgm_t *self)
{
    for (int64_t i = 0; i < self->n; i++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < self->n; j++) {
            sum += gs_chain_joined(&self->chain, i, j) ? self->sums[j].most_kernel : 0;
        }
        self->kernel[i] = gs_host_mul(self->sums[i].segments, sum);
    }
}

/* FORMULAS A.3, suspend: B^e from the longest chain. */
static int chained_kernels(gs_stgm_t *self, gs_env_t *env)
{
    int status = gs_chain_all(&self->chain, env, self->kernel);
    for (int64_t i = 0; i < self->n; i++) {
        self->kernel[i] = gs_host_mul(self->sums[i].segments, self->kernel[i]);
    }
    return status;
}

/* FORMULAS A.3, busy: GPU segments of one core never overlap, so at most one copy of every other
 * core is ahead, and no kernel of this core is in the chain. */
static int spinning(gs_stgm_t *self, gs_env_t *env, const int64_t *core)
{
    int64_t all = 0;
    for (int64_t i = 0; i < self->n; i++) { /* copy: the longest on the same core, for now */
        bool first = true;
        self->copy[i] = 0;
        for (int64_t j = 0; j < self->n; j++) {
            if (core[j] == core[i]) {
                self->copy[i] = gs_host_max(self->copy[i], self->sums[j].longest_copy);
                first = first && j >= i;
            }
        }
        all += first ? self->copy[i] : 0;
    }
    for (int64_t i = 0; i < self->n; i++) {
        int64_t eta = self->sums[i].segments, copy = 2 * (all - self->copy[i]), kernel = 0;
        if (eta > 0) {
            int status = gs_chain_longest(&self->chain, env, i, core, &kernel);
            if (status != GS_OK) {
                return status;
            }
        }
        self->copy[i] = gs_host_mul(eta, copy);
        self->kernel[i] = gs_host_mul(eta, kernel);
        self->segment[i] = eta > 0 ? gs_host_add(self->sums[i].most_gpu, copy + kernel) : 0;
    }
    return GS_OK;
}

/* A less urgent task on the core, suspend mode. Sound: while i is ready, it begins no GPU segment,
 * so at most one is open when i becomes ready (at its release and after each of its GPU segments),
 * and both of its copies can still come. Printed (Eqs. 7, 8): only the longer one, and once for
 * each CPU segment. */
static int64_t lower_suspend(const gs_host_sums_t *own, const gs_host_sums_t *low, int paper)
{
    return paper == GS_STGM_SOUND ? gs_host_mul(own->segments + 1, low->most_copies)
                                  : gs_host_mul(own->cpu_segments, low->longest_copy);
}

/* B^l of the task at that place of the order. Busy, sound: i never suspends, so only the segment
 * that is open at the start of the busy period counts, with all its spinning. Printed (Eqs. 11,
 * 12): one of every task, without the spinning. */
static int64_t lower_of(const gs_stgm_t *self, const int64_t *core, int64_t at, bool busy,
                        int paper)
{
    int64_t i = self->order[at], sum = 0;
    for (int64_t later = at + 1; later < self->n; later++) {
        int64_t u = self->order[later];
        if (core[u] != core[i] || self->sums[u].segments == 0) {
            continue;
        }
        if (!busy) {
            sum = gs_host_add(sum, lower_suspend(&self->sums[i], &self->sums[u], paper));
        } else if (paper == GS_STGM_SOUND) {
            sum = gs_host_max(sum, self->segment[u]);
        } else {
            sum = gs_host_add(sum, self->sums[u].most_gpu);
        }
    }
    return sum;
}

/* What a job of h takes of the core. Busy, sound: with its own spinning; there is no jitter, as no
 * job suspends (a busy period of i and more urgent tasks ends within W, which is within the period,
 * so it holds one job of i). Printed: Eq. 9 with the blocking of i, or with that of h. */
static int64_t demand_of(const gs_stgm_t *self, int64_t h, bool busy, int paper, int64_t blocking)
{
    const gs_host_sums_t *sums = &self->sums[h];
    if (!busy) {
        return sums->cpu + sums->copies;
    }
    int64_t demand = sums->cpu + sums->gpu;
    if (paper == GS_STGM_SOUND) {
        return gs_host_add(demand, gs_host_add(self->copy[h], self->kernel[h]));
    }
    return gs_host_add(demand, paper == GS_STGM_PAPER ? blocking : self->demand[h]);
}

/* The more urgent tasks on the core. */
static void add_higher(const gs_stgm_t *self, gs_recurrence_t *recurrence, const gs_hosts_t *hosts,
                       const int64_t *core, int64_t at, bool busy, int paper,
                       const int64_t *response)
{
    int64_t i = self->order[at];
    int64_t blocking = gs_host_add(
        gs_host_add(recurrence->constant[GS_HOST_COPY], recurrence->constant[GS_HOST_KERNEL]),
        recurrence->constant[GS_HOST_LOWER]);
    self->demand[i] = blocking;
    for (int64_t earlier = 0; earlier < at; earlier++) {
        int64_t h = self->order[earlier];
        if (core[h] != core[i]) {
            continue;
        }
        int64_t demand = demand_of(self, h, busy, paper, blocking);
        gs_recurrence_add(recurrence, GS_HOST_HIGHER, busy ? 0 : response[h] - demand,
                          hosts->period[h], 1, GS_DEMAND_ALL, demand, demand);
    }
}

int gs_stgm(gs_stgm_t *self, gs_env_t *env, const gs_hosts_t *hosts, const int64_t *core,
            const uint8_t *sm, int64_t sms, int64_t cpus, bool busy, int paper,
            gs_host_answer_t *answer)
{
    int status;
    if ((status = gs_host_order(env, hosts, self->order)) != GS_OK ||
        (status = gs_host_check_cores(env, hosts, core, cpus)) != GS_OK ||
        (status = start(self, env, hosts, sm, sms)) != GS_OK) {
        return status;
    }
    if (busy && paper == GS_STGM_SOUND) {
        status = spinning(self, env, core);
    } else {
        copies_of_all(self);
        if (paper == GS_STGM_SOUND) {
            status = chained_kernels(self, env);
        } else {
            neighbours_kernels(self);
        }
    }
    gs_host_answer_start(answer, self->n);
    for (int64_t at = 0; at < self->n && status == GS_OK && answer->schedulable; at++) {
        int64_t i = self->order[at];
        gs_recurrence_t recurrence;
        gs_recurrence_init(&recurrence, self->demands);
        recurrence.constant[GS_HOST_OWN] = self->sums[i].cpu + self->sums[i].gpu;
        recurrence.constant[GS_HOST_COPY] = self->copy[i];
        recurrence.constant[GS_HOST_KERNEL] = self->kernel[i];
        recurrence.constant[GS_HOST_LOWER] = lower_of(self, core, at, busy, paper);
        add_higher(self, &recurrence, hosts, core, at, busy, paper, answer->response);
        status = gs_recurrence_answer(&recurrence, env, 0, hosts->deadline[i], i, answer);
    }
    return status;
}
