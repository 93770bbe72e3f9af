/* Random sets of few tasks and their batch tables, for searches under PBS. */
#ifndef PBS_SETS_H
#define PBS_SETS_H

#include "core/rng.h"
#include "gpusched.h"

#include <string.h>

enum { MOST = 5, SKIP_QUICK = 1 | 2 | 4 | 8 };

/* A random set and its table; `open` leaves batches undecided. */
typedef struct {
    gs_periodic_tasks_t tasks;
    gs_batch_table_t table, open;
    int64_t period[MOST], deadline[MOST], offset[MOST];
    int64_t completion[1 << MOST], undecided[1 << MOST];
} set_t;

/* kind: 1: deadlines beyond the periods; 2: offsets. */
static inline void draw(set_t *self, gs_rng_t *rng, int32_t n, int kind)
{
    static const int64_t periods[] = {12, 16, 24, 48};
    memset(self, 0, sizeof *self);
    for (int32_t i = 0; i < n; i++) {
        self->period[i] = periods[gs_rng_below(rng, 4)];
        int64_t spread = self->period[i] / 2;
        self->deadline[i] = self->period[i] - (int64_t)gs_rng_below(rng, (uint64_t)spread);
        self->deadline[i] += kind == 1 ? spread : 0;
        self->offset[i] = kind == 2 ? (int64_t)gs_rng_below(rng, 7) : 0;
    }
    for (uint32_t b = 1; b < UINT32_C(1) << n; b++) {
        int64_t rows = __builtin_popcount(b);
        bool eligible = rows == 1 || gs_rng_below(rng, 3) > 0;
        int64_t time = 1 + 2 * rows + (int64_t)gs_rng_below(rng, 5);
        self->completion[b] = eligible ? time : 0;
        self->undecided[b] = eligible || gs_rng_below(rng, 2) == 0 ? 0 : time;
    }
    self->tasks = (gs_periodic_tasks_t){n, self->period, self->deadline, self->offset, 0};
    self->table = (gs_batch_table_t){.n = n, .completion = self->completion};
    self->open = self->table;
    self->open.undecided = self->undecided;
}

#endif
