/* Tasks that are never pending together, such as the stages of a pipeline.
 *
 * A *group* is a timed task, its source, with the tasks that go back to it: their job j is released
 * when job j of those before them has ended. Let E_k bound the end of task k of a group, from the
 * arrival of the source on, and let all E_k be at most the period T of the source. Then two tasks
 * of which one goes back to the other are *apart*: no jobs of the two are pending at the same
 * instant. Proof. Let job j of the source arrive at a. Those before have ended at a, and those
 * behind it arrive at a + T or later, when job j of all has ended. Of job j, the later task is
 * released when the earlier one has ended. QED
 *
 * Claim. The bounds of MPCP, FMLP+ and STGM in modes suspend and busy, and of the server, hold
 * where the recurrence of i leaves out the tasks that are apart from i, if it has, wherever it
 * counts jobs h of more urgent tasks of its core, ceil((w + R_h - x_h) / T_h) of them.
 *
 * Proof. The proofs (notebook 06) charge each instant between release and end of a job of i to a
 * task that then has a pending job: one that runs on its core, one with an operation at the copy
 * engine, on SMs, at the lock or in its queue, or one with a GPU segment that began before the job
 * became ready. What is left behind by jobs that have ended is not pending: a segment ends with its
 * job at the latest, the server's work for it before that, and its end comes before a release at
 * the same instant. So tasks that are apart from i are charged nothing, and their absence there
 * takes nothing from what others are charged: bounds R_h of these hold for any behaviour of the
 * rest. The counts are those of Lemma 2 there, for any window. Not so where a proof looks at a
 * window that begins before the release of i, as those of common/jitter.h and of busy periods do:
 * the predecessor of i may have been pending there. Theirs are the counts that are replaced. QED
 *
 * The claims E_k <= T and the bounds prove each other: at the first instant at which one of them
 * fails, all others have been kept. A task that is in no group is apart from none.
 */
#ifndef GS_ANALYSIS_COMMON_APART_H
#define GS_ANALYSIS_COMMON_APART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n rows of n bytes, nonzero where two tasks are apart; NULL: none are. */
typedef struct {
    const uint8_t *rows;
    int64_t n;
} gs_analysis_common_apart_t;

static inline bool gs_analysis_common_apart(gs_analysis_common_apart_t self, int64_t i, int64_t k)
{
    return self.rows != NULL && self.rows[i * self.n + k] != 0;
}

/* Whether a task is apart from any. */
static inline bool gs_analysis_common_apart_any(gs_analysis_common_apart_t self, int64_t i)
{
    bool any = false;
    for (int64_t k = 0; self.rows != NULL && k < self.n && !any; k++) {
        any = self.rows[i * self.n + k] != 0;
    }
    return any;
}

#endif
