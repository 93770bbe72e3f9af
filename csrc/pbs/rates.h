/* Overload in the long run: prices of jobs whose rates ask for more than all of the time.
 *
 * Task i has a job every T_i ticks. With prices y of either sign such that no eligible batch is
 * worth more than its time, jobs worth sum y_i / T_i arrive per tick; if that exceeds 1, no
 * schedule goes on without end. In a window of X ticks the numbers of jobs that must and that may
 * run differ from X / T_i by a bounded amount, so a window that is long enough shows it in whole
 * jobs, and the jobs of [0, H) cannot all be in time either. No hyperperiod is needed.
 */
#ifndef GS_PBS_RATES_H
#define GS_PBS_RATES_H

#include <stdbool.h>
#include <stdint.h>

/* The window of an infinite horizon. */
#define GS_PBS_RATES_LONG_RUN (-1)

/* Most tasks with prices: more than a table has where batch times are a function (pbs/large/). */
#define GS_PBS_RATES_TASKS 64

typedef struct {
    bool proven;
    int64_t scale; /* prices are in units of 1/scale ticks */
    int64_t price[GS_PBS_RATES_TASKS];
    int64_t window; /* [0, window) is overloaded; or GS_PBS_RATES_LONG_RUN */
    double load;    /* worth of the jobs per tick; 0 where no program was solved */
} gs_pbs_rates_t;

#endif
