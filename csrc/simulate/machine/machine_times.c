/* Actual times of work, copies and blocks. */
#include "core/int128.h"
#include "core/rng.h"
#include "simulate/machine/machine_parts.h"

/* The time of an item from 63 random bits, which its knots turn into its distribution. */
static int64_t from_knots(const gs_simulate_machine_model_t *model, int64_t item, uint64_t rank)
{
    int64_t first = model->knot_begin[item], last = model->knot_begin[item + 1], k = first;
    while (k < last && rank >= (uint64_t)model->knot_rank[k]) {
        k++;
    }
    if (k == first) {
        return model->knot_time[k];
    }
    uint64_t below = (uint64_t)model->knot_rank[k - 1];
    uint64_t width = (k < last ? (uint64_t)model->knot_rank[k] : UINT64_C(1) << 63) - below;
    int64_t low = model->knot_time[k - 1];
    int64_t high = k < last ? model->knot_time[k] : model->item_time[item];
    if (low == high) {
        return high;
    }
    return low + 1 + (int64_t)((gs_int128_t)(rank - below) * (high - low) / width);
}

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
    int64_t least = model->item_least[begin + item], as = item;
    bool knots = model->knot_begin != NULL &&
                 model->knot_begin[begin + item] < model->knot_begin[begin + item + 1];
    if (knots) {
        as = model->item_drawn[begin + item];
    } else if (least == whole) {
        return whole;
    }
    uint64_t bits = gs_rng_at(self->time_seed, (uint64_t)model->drawn_as[task]);
    bits = gs_rng_at(bits, (uint64_t)number);
    if (model->draw != GS_SIMULATE_MACHINE_DRAW_JOB) {
        bits = gs_rng_at(gs_rng_at(bits, (uint64_t)as), (uint64_t)block);
    }
    if (knots) {
        return from_knots(model, begin + item, bits >> 1);
    }
    return least + (int64_t)gs_rng_scale(bits, (uint64_t)(whole - least) + 1);
}
