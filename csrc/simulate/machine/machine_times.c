/* Actual times of work, copies and blocks. */
#include "core/rng.h"
#include "simulate/machine/machine_parts.h"

int64_t gs_simulate_machine_actual(const gs_simulate_machine_state_t *self, int64_t task,
                                   int64_t number, int64_t item, int64_t block)
{
    const gs_simulate_machine_model_t *model = self->model;
    int64_t begin = model->item_begin[task], whole = model->item_time[begin + item];
    if (model->given_begin != NULL) {
        int64_t items = model->item_begin[task + 1] - begin;
        int64_t first = model->given_begin[task], rows = model->given_begin[task + 1] - first;
        rows /= items;
        int64_t given = number < rows ? model->given[first + number * items + item] : whole;
        return given < 1 ? 1 : given > whole ? whole : given;
    }
    int64_t least = model->item_least[begin + item];
    if (least == whole) {
        return whole;
    }
    uint64_t bits = gs_rng_at(self->time_seed, (uint64_t)model->drawn_as[task]);
    bits = gs_rng_at(bits, (uint64_t)number);
    if (model->draw != GS_SIMULATE_MACHINE_DRAW_JOB) {
        bits = gs_rng_at(gs_rng_at(bits, (uint64_t)item), (uint64_t)block);
    }
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(whole - least) + 1);
}
