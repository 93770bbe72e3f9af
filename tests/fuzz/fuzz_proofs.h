/* Proofs that no schedule exists: those of the search hold; damaged and guessed ones that hold are
 * true. */
#ifndef FUZZ_PROOFS_H
#define FUZZ_PROOFS_H

#include "fuzz.h"
#include "model/batch_table_internal.h"
#include "pbs/proof/proof.h"
#include "pbs/refutation.h"

enum { FUZZ_PROOFS_TASKS = 32 };

/* A proof in memory of its own, which can be changed. */
typedef struct {
    gs_pbs_proof_t proof;
    gs_pbs_proof_prices_t prices;
    gs_pbs_proof_cover_t interval;
    gs_pbs_proof_states_t states;
    int64_t price[FUZZ_PROOFS_TASKS], task[FUZZ_PROOFS_TASKS], subset[FUZZ_PROOFS_TASKS];
    int64_t *column; /* of the states: all their numbers */
    int64_t numbers;
} fuzz_proof_t;

static inline int32_t fuzz_proofs_members(uint32_t mask, int64_t *task)
{
    int32_t count = 0;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        task[count++] = __builtin_ctz(rest);
    }
    return count;
}

static inline const int64_t *fuzz_proofs_copy(fuzz_proof_t *self, const int64_t *from,
                                              int64_t count)
{
    int64_t *to = self->column + self->numbers;
    if (count > 0) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
    self->numbers += count;
    return to;
}

static inline void fuzz_proofs_states(fuzz_proof_t *self, const gs_pbs_refutation_t *r)
{
    int64_t room = r->windows * (2 + r->n) + r->entries * (3 + r->n) + 1 + 2 * r->span_count;
    self->column = malloc((size_t)room * sizeof *self->column);
    FUZZ_CHECK(self->column != NULL);
    gs_pbs_proof_states_t *s = &self->states;
    s->windows = r->windows;
    s->window = fuzz_proofs_copy(self, r->deadline, r->windows);
    s->prices = fuzz_proofs_copy(self, r->price, r->windows * r->n);
    s->scale = self->column + self->numbers;
    for (int64_t w = 0; w < r->windows; w++) {
        self->column[self->numbers++] = r->scale;
    }
    s->entries = r->entries;
    s->start = fuzz_proofs_copy(self, r->start, r->entries);
    s->pending = fuzz_proofs_copy(self, r->pending, r->entries * r->n);
    s->latest = fuzz_proofs_copy(self, r->latest, r->entries);
    s->span_begin = fuzz_proofs_copy(self, r->span_begin, r->entries + 1);
    s->spans = r->span_count;
    s->span_first = self->column + self->numbers;
    for (int64_t k = 0; k < r->span_count; k++) {
        self->column[self->numbers++] = r->spans[k].first;
    }
    s->span_last = self->column + self->numbers;
    for (int64_t k = 0; k < r->span_count; k++) {
        self->column[self->numbers++] = r->spans[k].last;
    }
    self->proof.states = s;
}

/* The proof of a search in the form that the check reads. */
static inline void fuzz_proofs_take(fuzz_proof_t *self, const gs_pbs_refutation_t *r)
{
    memset(self, 0, sizeof *self);
    if (r->kind == GS_PBS_REFUTATION_WINDOW) {
        memcpy(self->price, r->rates.price, (size_t)r->n * sizeof *self->price);
        self->prices = (gs_pbs_proof_prices_t){
            r->rates.window == GS_PBS_RATES_LONG_RUN ? GS_NEVER : r->rates.window, self->price,
            r->rates.scale};
        self->proof.prices = &self->prices;
    } else if (r->kind == GS_PBS_REFUTATION_INTERVAL) {
        int32_t count = fuzz_proofs_members(r->interval.tasks, self->task);
        self->interval = (gs_pbs_proof_cover_t){r->interval.from, r->interval.to, self->task, count,
                                                r->interval.least};
        self->proof.interval = &self->interval;
    } else {
        fuzz_proofs_states(self, r);
    }
    if (r->core != 0) {
        self->proof.subset = self->subset;
        self->proof.subset_count = fuzz_proofs_members(r->core, self->subset);
    }
}

/* Whether a proof holds, with the undecided batches as they help most. */
static inline bool fuzz_proofs_holds(fuzz_t *f, const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table, const gs_pbs_proof_t *proof,
                                     bool idling, bool must)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_pbs_proof_verdict_t verdict = {.fault = GS_PBS_PROOF_FAULTS};
    gs_pbs_proof_question_t question = {idling, false};
    int64_t *hopeful = NULL;
    gs_batch_table_t all = *table;
    int status = GS_OK;
    if (table->undecided != NULL && 0 < table->n && table->n <= GS_PERIODIC_TASKS_MAX) {
        hopeful = gs_batch_table_hopeful(&ctx, table);
        all = (gs_batch_table_t){table->n, hopeful, NULL, NULL};
        status = hopeful == NULL ? ctx.status : GS_OK;
    }
    if (status == GS_OK) {
        status = gs_pbs_proof_check(&verdict, &ctx, tasks, &all, proof, &question);
    }
    bool done = fuzz_done(&ctx, status);
    FUZZ_CHECK(!done || (0 <= verdict.fault && verdict.fault < GS_PBS_PROOF_FAULTS));
    FUZZ_CHECK(!done || !must || verdict.fault == GS_PBS_PROOF_HOLDS);
    gs_free(&ctx, hopeful);
    fuzz_end(&ctx);
    return done && verdict.fault == GS_PBS_PROOF_HOLDS;
}

/* Changes a few numbers of a proof. */
static inline void fuzz_proofs_damage(fuzz_proof_t *self, fuzz_t *f)
{
    for (int64_t k = fuzz_below(f, 4); k >= 0; k--) {
        int64_t *number = &self->price[fuzz_below(f, 4)];
        if (self->proof.prices != NULL && fuzz_one_in(f, 3)) {
            number = fuzz_one_in(f, 2) ? &self->prices.window : &self->prices.scale;
        } else if (self->proof.interval != NULL) {
            int64_t *parts[] = {&self->interval.start, &self->interval.end, &self->interval.least,
                                &self->task[0]};
            number = parts[fuzz_below(f, 4)];
        } else if (self->proof.states != NULL && self->numbers > 0) {
            number = &self->column[fuzz_below(f, self->numbers < 65536 ? self->numbers : 65536)];
        }
        int64_t change = fuzz_number(f, -8, 8);
        if (!gs_add(*number, change, number)) {
            *number = change;
        }
    }
    if (self->proof.states != NULL && fuzz_one_in(f, 8)) {
        int64_t *parts[] = {&self->states.windows, &self->states.entries, &self->states.spans};
        int64_t *number = parts[fuzz_below(f, 3)];
        *number -= *number > 0;
    }
}

/* Checks the proof of a negative answer; whether it, or what damage makes of it, also holds for
 * another table of the same tasks (NULL: none). */
static inline bool fuzz_proofs_check(fuzz_t *f, const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table, const gs_pbs_refutation_t *r,
                                     bool idling, const gs_batch_table_t *other)
{
    fuzz_proof_t proof;
    fuzz_proofs_take(&proof, r);
    fuzz_proofs_holds(f, tasks, table, &proof.proof, idling, true);
    bool holds = false;
    if (other != NULL) {
        holds = fuzz_proofs_holds(f, tasks, other, &proof.proof, idling, false);
        fuzz_proofs_damage(&proof, f);
        holds = fuzz_proofs_holds(f, tasks, other, &proof.proof, idling, false) || holds;
    }
    free(proof.column);
    return holds;
}

/* Whether prices, an interval or states that nobody searched for hold: then no schedule exists,
 * with or without waiting. */
static inline bool fuzz_proofs_guess(fuzz_t *f, const gs_periodic_tasks_t *tasks,
                                     const gs_batch_table_t *table)
{
    fuzz_proof_t proof;
    memset(&proof, 0, sizeof proof);
    static const int64_t zeros[FUZZ_PROOFS_TASKS] = {0};
    int64_t kind = fuzz_below(f, 8);
    if (kind >= 3) {
        return false;
    }
    if (kind == 0) {
        for (int32_t i = 0; i < 4; i++) {
            proof.price[i] = fuzz_time(f, -2, 8);
        }
        proof.prices = (gs_pbs_proof_prices_t){fuzz_one_in(f, 2) ? GS_NEVER : fuzz_time(f, 0, 64),
                                               proof.price, fuzz_number(f, 1, 2)};
        proof.proof.prices = &proof.prices;
    } else if (kind == 1) {
        int32_t count = fuzz_proofs_members((uint32_t)fuzz_below(f, 16), proof.task);
        int64_t start = fuzz_time(f, 0, 40);
        proof.interval = (gs_pbs_proof_cover_t){start, fuzz_time(f, 0, 60), proof.task, count,
                                                fuzz_time(f, 0, 32)};
        proof.proof.interval = &proof.interval;
    } else { /* one entry */
        int64_t *numbers = proof.price;
        for (int32_t k = 0; k < 16; k++) {
            numbers[k] = fuzz_time(f, 0, 2);
        }
        numbers[16] = 0;
        numbers[17] = fuzz_number(f, 0, 1);
        proof.states = (gs_pbs_proof_states_t){.windows = fuzz_below(f, 2),
                                               .window = numbers,
                                               .prices = numbers + 1,
                                               .scale = zeros,
                                               .entries = fuzz_below(f, 2),
                                               .start = numbers + 6,
                                               .pending = numbers + 7,
                                               .latest = numbers + 11,
                                               .span_begin = numbers + 16,
                                               .spans = numbers[17],
                                               .span_first = numbers + 12,
                                               .span_last = numbers + 13};
        proof.proof.states = &proof.states;
    }
    if (fuzz_one_in(f, 4)) {
        proof.proof.subset = proof.subset;
        proof.proof.subset_count = fuzz_proofs_members((uint32_t)fuzz_below(f, 16), proof.subset);
    }
    bool idling = fuzz_one_in(f, 2);
    bool holds = fuzz_proofs_holds(f, tasks, table, &proof.proof, idling, false);
    return holds && idling;
}

#endif
