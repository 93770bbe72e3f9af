/* STGM: response times of tasks with GPU segments on SMs of their own or shared.
 *
 * Paper 002, section IV-B, as corrected in notebook 06 (which has a proof, and a counterexample
 * for each change), and as printed. A GPU segment copies in, runs its kernel and copies out. Copies
 * take the copy engine (first come, first served, over all cores) and the task's core at boosted
 * priority. A kernel starts when every kernel launched before on an SM of its set has ended. During
 * kernels and while waiting
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
    int64_t *demand;  /* B, for Eq. 9 with B_h */
    int64_t *segment; /* busy: the longest that an open GPU segment can keep the core */
    gs_demand_t *demands;
    int64_t *members; /* of a core, by falling urgency */
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

/* Parts of the test, for the allocators. order, sums and chain are filled. */

/* The tasks of a core by falling urgency, and which test. */
typedef struct {
    const int64_t *members;
    int64_t count;
    bool busy;
    int paper;
} gs_stgm_core_t;

/* B^m but for the sound busy test (Eqs. 3, 4): copies are first come, first served, and every task
 * has at most one waiting or running. In suspend mode that is sound: an operation at the engine
 * never waits for its core, since only the one at the engine is boosted. */
void gs_stgm_copies(gs_stgm_t *self);

/* B^e but for the sound busy test: eta longest chains, or as printed (Eqs. 5, 6). */
int gs_stgm_kernels(gs_stgm_t *self, gs_env_t *env, int paper);

/* Refuses a variant that is none. */
int gs_stgm_check_paper(gs_env_t *env, int paper);

/* B^m, B^e and the longest open segment of task i, busy and sound: GPU segments of one core never
 * overlap, so at most one copy of every other core is ahead (copy: the sum of their longest), and
 * no kernel of i's core (away: its tasks) is in the chain. */
int gs_stgm_spin(gs_stgm_t *self, gs_env_t *env, int64_t i, int64_t copy, const uint64_t *away);

/* The recurrence of the member at that place, ready to be solved. response: W of the more urgent
 * members, by task; not looked at in busy mode. */
void gs_stgm_recurrence(gs_stgm_t *self, const gs_hosts_t *hosts, const gs_stgm_core_t *core,
                        int64_t at, const int64_t *response, gs_recurrence_t *recurrence);

#endif
