/* Demand in intervals: work that no schedule can place outside an interval, against a capacity.
 *
 * Part i recurs every T_i ticks from s_i on. Its instance k has work W_i, which is done within the
 * window [s, e), s = s_i + k T_i, e = s + L_i, by at most R_i per tick. A resource does at most C
 * per tick. For an interval [a, b), instance k can do at most R (max(0, a - s) + max(0, e - b)) of
 * its work outside, at any rate and in any pieces, so at least
 *
 *     f(a, b) = max(0, W - R (max(0, a - s) + max(0, e - b)))
 *
 * is done within [a, b) (0 if the window and the interval have no tick in common, as W <= R L).
 * Where the sum F(a, b) over all instances exceeds C (b - a), there is no schedule, whatever else
 * the parts and the resource have to respect.
 *
 * Intervals to look at. For a fixed a and b > a, F is linear in b between the instants e of
 * instances and the ones where their terms become positive; its slope decreases at the former only,
 * so F - C (b - a) is greatest at some e. Likewise for a fixed b at some a = s. Pairs (s, e) are
 * therefore enough. Times are whole, so that a term that becomes positive between two ticks is
 * entered at the later one, with its value there.
 *
 * Intervals that need no look, where the load, the sum of W / T, is at most C:
 *
 * - From b on, F(a, .) grows by at most W (x / T + 1) for each part in x ticks: its terms ramp up
 *   once per period. Where F(a, b) + sum of W <= C (b - a), no later end has an excess.
 * - With the hyperperiod H, F(a, b) - F(a, b - H) <= C H: an excess in a longer interval is one in
 *   an interval of at most H ticks.
 * - From the latest first window's start plus the longest window on, F repeats every H ticks.
 * - An instance does at most W / L of its work per tick of [a, b) that its window covers, since
 *   f <= W (ticks covered) / L. If the sum of ceil(L / T) W / L is at most C, no interval has an
 *   excess.
 *
 * Baptiste, Le Pape and Nuijten (2001), "Constraint-Based Scheduling", chapter 3, for energetic
 * reasoning about one set of activities; with one part per task and R = 1 and a processor, it is
 * the processor demand of Baruah, Rosier and Howell (1990).
 */
#ifndef GS_ANALYSIS_DEMAND_H
#define GS_ANALYSIS_DEMAND_H

#include "core/context.h"

enum {
    GS_ANALYSIS_DEMAND_FITS = 0,     /* no interval has an excess, if the load is at most C */
    GS_ANALYSIS_DEMAND_EXCEEDED = 1, /* an interval has one */
    GS_ANALYSIS_DEMAND_SPENT = 2     /* none among the intervals within the budget */
};

typedef struct {
    int64_t n;
    const int64_t *period;
    const int64_t *start;  /* of the first window */
    const int64_t *window; /* L */
    const int64_t *work;
    const int64_t *rate;
} gs_analysis_demand_t;

typedef struct {
    int verdict;   /* GS_ANALYSIS_DEMAND_* */
    int64_t from;  /* the interval with an excess; 0, 0 without one */
    int64_t until; /* its end, not included */
    int64_t steps; /* instants that were looked at, and n for each start of intervals */
} gs_analysis_demand_answer_t;

/* Checks 0 <= n < 2^31; periods, windows and rates positive; starts and works not negative; no work
 * above rate times window; all values and the capacity below 2^60, the capacity positive. Errors:
 * GS_ERR_VALUE, GS_ERR_OVERFLOW. */
int gs_analysis_demand_check(gs_context_t *ctx, const gs_analysis_demand_t *parts,
                             int64_t capacity);

/* Looks for an interval with an excess, by ascending starts and for each start by ascending ends,
 * in about `budget` (positive, below 2^31) steps and a sixteenth of them, at least 1000, for one
 * start. The parts must have passed gs_analysis_demand_check. A step takes O(log n). Errors:
 * GS_ERR_VALUE, GS_ERR_MEMORY, GS_ERR_INTERRUPTED. */
int gs_analysis_demand_exceeded(gs_context_t *ctx, const gs_analysis_demand_t *parts,
                                int64_t capacity, int64_t budget,
                                gs_analysis_demand_answer_t *answer);

#endif
