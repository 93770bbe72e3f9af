/* Dead states: a set of states that no batch leaves without a miss, and that holds the first one.
 *
 * A class of states is an interval between two consecutive arrivals and the number of pending jobs
 * of each task (of each kernel of a chain: those in which it is left); of a task the oldest pending
 * job runs first. An entry says of a class that all of
 * its instants after `latest` are dead although the GPU may wait, and that those in its spans are
 * dead for the question that is asked. Besides, windows with prices bound the instants from which
 * the jobs that are left can end in time; they apply while a job due by the end of the window is
 * left.
 *
 * The check begins with the first instant and asks for the entry that says that it is dead. Of each
 * entry that is used it takes every eligible batch, and waiting where that is allowed, and asks the
 * same of all instants that the whole claim leads to without a miss. What is said about the
 * instants after `latest` may rest on other such claims and on windows alone. A state with nothing
 * left to run is never dead. Entries that are not reached are not needed; their classes and spans
 * have to be well-formed.
 */
#ifndef GS_PBS_PROOF_PROOF_STATES_H
#define GS_PBS_PROOF_PROOF_STATES_H

#include "pbs/proof/proof_entries.h"
#include "pbs/proof/proof_jobs.h"
#include "pbs/proof/proof_prices.h"
#include "pbs/proof/proof_verdict.h"

/* idling: the GPU may wait while work is ready. all_jobs: the question is about all jobs. Errors:
 * GS_ERR_VALUE for span_begin that is not in order, GS_ERR_OVERFLOW for a hyperperiod of GS_NEVER /
 * 2 or more. */
int gs_pbs_proof_states_check(gs_pbs_proof_verdict_t *verdict, gs_context_t *ctx,
                              const gs_pbs_proof_jobs_t *jobs, const gs_pbs_proof_states_t *states,
                              bool idling, bool all_jobs);

#endif
