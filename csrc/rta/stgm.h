/* STGM: response times of tasks with GPU segments on SMs of their own or shared.
 *
 * Paper 002, section IV-B, as corrected in FORMULAS A.3 (each change has a counterexample in A.2),
 * and as printed. A GPU segment copies in, runs its kernel and copies out. Copies take the copy
 * engine (first come, first served, over all cores) and the task's core at boosted priority. A
 * kernel starts when every kernel launched before on an SM of its set has ended. During kernels and
 * while waiting
 *  - suspend: the core is free. Waiting for the copy engine is suspended, too: a task that spins
 *    for it is not covered, nor by the printed equations;
 *  - busy: the task keeps its core, from the start of its GPU segment to the end, unpreemptable.
 */
#ifndef GS_RTA_STGM_H
#define GS_RTA_STGM_H

#include "rta/host_chain.h"
#include "rta/recurrence.h"

enum {
    GS_STGM_SOUND = 0,
    GS_STGM_PAPER = 1,       /* Eqs. 1-12 as printed; unsound */
    GS_STGM_PAPER_HIGHER = 2 /* busy: with B_h where Eq. 9 prints B_i; unsound, too. suspend: 1 */
};

/* Room for tests of sets of n tasks. The arrays are owned. */
typedef struct {
    int64_t n;
    int64_t *order; /* tasks by falling urgency */
    gs_host_sums_t *sums;
    int64_t *copy;    /* B^m */
    int64_t *kernel;  /* B^e */
    int64_t *demand;  /* of a job on its core: C + G^m; busy: with the kernels and spinning */
    int64_t *segment; /* busy: the longest that an open GPU segment can keep the core */
    gs_demand_t *demands;
    gs_chain_t chain;
} gs_stgm_t;

int gs_stgm_init(gs_stgm_t *self, gs_env_t *env, int64_t n);
void gs_stgm_free(gs_stgm_t *self, gs_env_t *env);

/* The test for one set of self->n tasks, on cores 0..cpus-1. sm: n rows of sms bytes, nonzero where
 * the task may use the SM; kernels take their time on so many. Refuses, beside what gs_host_order
 * and gs_host_check_cores refuse, tasks with GPU segments and no SM. */
int gs_stgm(gs_stgm_t *self, gs_env_t *env, const gs_hosts_t *hosts, const int64_t *core,
            const uint8_t *sm, int64_t sms, int64_t cpus, bool busy, int paper,
            gs_host_answer_t *answer);

#endif
