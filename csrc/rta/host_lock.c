/* What do all tests for a GPU with one user at a time need to know first? */
#include <string.h>

#include "rta/host_lock.h"

int gs_host_lock_init(gs_host_lock_t *self, gs_env_t *env, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->order = gs_alloc(env, (size_t)n + 1, sizeof *self->order);
    self->sums = gs_alloc(env, (size_t)n, sizeof *self->sums);
    self->spin = gs_alloc(env, (size_t)n, sizeof *self->spin);
    self->most_lower = gs_alloc(env, (size_t)n, sizeof *self->most_lower);
    /* Up to three demands of another task: its requests, on its core, and at the server's. */
    self->demands = gs_alloc(env, (size_t)n, 3 * sizeof *self->demands);
    self->share = gs_alloc(env, (size_t)n + 1, sizeof *self->share);
    self->load = gs_alloc(env, (size_t)n + 1, sizeof *self->load);
    bool made = self->share != NULL && self->load != NULL && self->order != NULL &&
                self->sums != NULL && self->spin != NULL;
    return made && self->most_lower != NULL && self->demands != NULL ? GS_OK : env->status;
}

void gs_host_lock_free(gs_host_lock_t *self, gs_env_t *env)
{
    gs_free(env, self->order);
    gs_free(env, self->sums);
    gs_free(env, self->spin);
    gs_free(env, self->most_lower);
    gs_free(env, self->demands);
    gs_free(env, self->share);
    gs_free(env, self->load);
    memset(self, 0, sizeof *self);
}

int gs_host_lock_start(gs_host_lock_t *self, gs_env_t *env, const gs_hosts_t *hosts,
                       const int64_t *core, int64_t cpus, int64_t sms)
{
    int status;
    if ((status = gs_host_order(env, hosts, self->order)) != GS_OK ||
        (status = gs_host_check_cores(env, hosts, core, cpus)) != GS_OK ||
        (status = gs_host_check_sms(env, sms)) != GS_OK) {
        return status;
    }
    int64_t most = 0;
    for (int64_t at = self->n - 1; at >= 0; at--) {
        int64_t i = self->order[at];
        self->sums[i] = gs_host_sums(hosts, i, sms);
        self->most_lower[i] = most;
        most = gs_host_max(most, self->sums[i].most_gpu);
    }
    return GS_OK;
}
