/* A context in which one thing goes wrong at a chosen place: every poll is made, one of them ends
 * the call; or an allocation fails; or a budget is small.
 *
 *     for (int kind = 0; kind < FAULT_KINDS; kind++) {
 *         for (fault_t fault = fault_first(kind); fault_next(&fault);) {
 *             int status = some_function(&fault.ctx, ...);
 *             fault_check(&fault, status);
 *         }
 *     }
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "core/context.h"
#include "minunit.h"

enum {
    FAULT_INTERRUPT, /* a poll asks for a stop */
    FAULT_SECONDS,   /* a poll reports that the time is up */
    FAULT_MEMORY,    /* an allocation fails */
    FAULT_STATES,    /* a budget of states */
    FAULT_BYTES,     /* a budget of bytes */
    FAULT_KINDS
};

typedef struct {
    gs_context_t ctx;
    int kind;
    int64_t at;    /* the place of the fault, from 0 */
    int64_t most;  /* places that are tried one by one; then in growing steps */
    int64_t left;  /* polls until the fault */
    bool happened; /* the call met the fault */
    bool ended;    /* the last call met none: there are no more places */
} fault_t;

static int fault_poll(void *arg)
{
    fault_t *self = arg;
    self->ctx.work = 1000000; /* the next poll comes at once */
    if (self->left > 0) {
        self->left--;
        return GS_OK;
    }
    if (self->kind > FAULT_SECONDS) {
        return GS_OK;
    }
    self->happened = true;
    return self->kind == FAULT_INTERRUPT ? GS_ERR_INTERRUPTED : GS_SPENT_SECONDS;
}

static inline fault_t fault_first(int kind)
{
    return (fault_t){.kind = kind, .at = -1, .most = 40};
}

/* Sets the next fault; false when there are no more places. */
static inline bool fault_next(fault_t *self)
{
    if (self->ended || self->at > 1000000) {
        return false;
    }
    self->at += self->at < self->most ? 1 : 1 + self->at / 8;
    gs_context_init(&self->ctx);
    self->ctx.poll = fault_poll;
    self->ctx.poll_arg = self;
    self->ctx.work = 1000000;
    self->left = self->at;
    self->happened = false;
    switch (self->kind) {
    case FAULT_MEMORY:
        self->ctx.fail_at = self->at + 1;
        break;
    case FAULT_STATES:
        self->ctx.states_limit = self->at + 1;
        break;
    case FAULT_BYTES:
        self->ctx.bytes_limit = 100 * (self->at + 1);
        break;
    default:
        break;
    }
    return true;
}

/* A call ends with what went wrong, or as if nothing had; all memory is back. */
static inline void fault_check(fault_t *self, int status)
{
    static const int expected[FAULT_KINDS] = {GS_ERR_INTERRUPTED, GS_SPENT_SECONDS, GS_ERR_MEMORY,
                                              GS_SPENT_STATES, GS_SPENT_BYTES};
    MU_CHECK(status == GS_OK || status == expected[self->kind]);
    MU_CHECK(self->ctx.bytes_used == 0);
    MU_CHECK(self->kind != FAULT_INTERRUPT || !self->happened || status == GS_ERR_INTERRUPTED);
    switch (self->kind) {
    case FAULT_MEMORY:
        self->happened = self->ctx.allocations > self->at;
        break;
    case FAULT_STATES:
        self->happened = self->ctx.states > self->at + 1;
        break;
    case FAULT_BYTES:
        self->happened = status != GS_OK || self->ctx.status == GS_SPENT_BYTES;
        break;
    default:
        break;
    }
    self->ended = !self->happened;
}

#endif
