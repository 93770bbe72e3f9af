/* Context of a call: error with its location, memory budget, poll.
 *
 * The core has no globals. Every function that allocates, runs long or can refuse its input takes a
 * gs_context_t, which one thread uses at a time. Results do not depend on it, except where a budget
 * ends a computation early.
 *
 * Return values: 0 done; positive, why the work stopped early (a budget); negative, an error.
 * ctx->fault holds the field, row and value of an error.
 */
#ifndef GS_CORE_CONTEXT_H
#define GS_CORE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A time later than all others, 2^61 - 1; the sum of two fits an int64_t. */
#define GS_NEVER (INT64_MAX / 4)

/* Times of a simulation are below it. */
#define GS_CHECK_LATEST (GS_NEVER / 4)

enum {
    GS_OK = 0,
    GS_SPENT_STATES = 1,  /* budget of states used up */
    GS_SPENT_BYTES = 2,   /* budget of bytes used up */
    GS_SPENT_SECONDS = 3, /* budget of seconds used up, reported by the poll function */
    GS_UNDECIDED = 4,     /* the input does not determine the answer */
    GS_ERR_MEMORY = -1,
    GS_ERR_OVERFLOW = -2,
    GS_ERR_VALUE = -3,
    GS_ERR_INTERRUPTED = -4 /* the poll function asked for a stop */
};

/* Location of an error. field names an argument; reason, a noun phrase, says what was expected of
 * it. Both are string literals. row is an index into the field, or -1; set is the index within a
 * stack of task sets, or -1. */
typedef struct {
    int code;
    const char *field;
    const char *reason;
    int64_t set;
    int64_t row;
    int64_t value;
    bool is_number; /* the value is `number` */
    double number;
    bool is_bounded; /* at most `bound` was expected, which the reason explains */
    int64_t bound;
} gs_fault_t;

typedef struct {
    int64_t bytes_limit; /* most memory held at once; 0: no limit */
    int64_t bytes_used;
    int64_t bytes_peak;
    int64_t allocations;  /* requested so far */
    int64_t fail_at;      /* for tests: allocation number fail_at (from 1) fails; 0: none */
    int64_t states_limit; /* most states to examine; 0: no limit */
    int64_t states;
    int64_t work;        /* elementary operations since the last poll */
    int (*poll)(void *); /* called about every million operations: 0, GS_SPENT_*, GS_CUDA_ERR_* */
    void *poll_arg;
    int status; /* of the last failed allocation or poll */
    gs_fault_t fault;
} gs_context_t;

void gs_context_init(gs_context_t *ctx);

/* Records an error and returns its code. Every error passes here: the place for a breakpoint. */
int gs_fail(gs_context_t *ctx, int code, const char *field, int64_t row, int64_t value,
            const char *reason);

/* The same for a value that is not an integer. */
int gs_fail_number(gs_context_t *ctx, int code, const char *field, int64_t row, double number,
                   const char *reason);

/* The same for a value above a bound. */
int gs_fail_above(gs_context_t *ctx, int code, const char *field, int64_t row, int64_t value,
                  int64_t bound, const char *reason);

/* Short description of a return value. */
const char *gs_strerror(int code);

/* Zeroed memory for count items of size bytes, or NULL with ctx->status set (GS_ERR_MEMORY,
 * GS_SPENT_BYTES). At least one byte is allocated, so NULL always means failure. */
void *gs_alloc(gs_context_t *ctx, size_t count, size_t size);

/* Like realloc for memory of gs_alloc; the new part is not zeroed. On failure the old block stays
 * valid and NULL is returned. */
void *gs_grow(gs_context_t *ctx, void *block, size_t count, size_t size);

/* Frees memory of gs_alloc or gs_grow; NULL is allowed. */
void gs_free(gs_context_t *ctx, void *block);

/* Counts work and polls about every million operations. */
int gs_poll_now(gs_context_t *ctx);
static inline int gs_poll(gs_context_t *ctx, int64_t work)
{
    ctx->work += work;
    return ctx->work < 1000000 ? GS_OK : gs_poll_now(ctx);
}

/* Counts states that a search examines: GS_OK or GS_SPENT_STATES. */
static inline int gs_count_states(gs_context_t *ctx, int64_t states)
{
    ctx->states += states;
    return ctx->states_limit != 0 && ctx->states > ctx->states_limit ? GS_SPENT_STATES : GS_OK;
}

/* Checked arithmetic: true when the result fits. */
static inline bool gs_add(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool gs_mul(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

/* Least common multiple of two positive numbers; false on overflow. */
bool gs_lcm(int64_t a, int64_t b, int64_t *lcm);

#endif
