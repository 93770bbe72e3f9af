/* Bytes of a fuzzer as numbers, budgets of a run, and checks that end the program.
 *
 * A harness defines LLVMFuzzerTestOneInput. Numbers are small and in range as long as the first
 * byte says so; otherwise any number can also be one of the extremes below. Behind the end of the
 * input all bytes are 0. No run takes long: memory, states and polls are limited, and each of the
 * first allocations can fail.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_check(bool ok, const char *file, int line, const char *expression)
{
    if (!ok) {
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
        abort();
    }
}

#define FUZZ_CHECK(condition) fuzz_check((condition), __FILE__, __LINE__, #condition)

enum {
    FUZZ_BYTES = 1 << 22, /* memory of a call */
    FUZZ_POLLS = 1,       /* between one and two million operations */
    FUZZ_STATES = 20000
};

typedef struct {
    const uint8_t *at, *end;
    bool hostile;
    bool interrupts; /* the poll asks for a stop, instead of reporting that the time is up */
    int64_t fail_at; /* allocation that fails, 0: none */
    int64_t scale;   /* of times */
    int64_t group;   /* of bounds, see fuzz_bound */
    int polls;       /* left of this call */
} fuzz_t;

static inline uint8_t fuzz_byte(fuzz_t *f)
{
    return f->at < f->end ? *f->at++ : 0;
}

static inline uint64_t fuzz_word(fuzz_t *f)
{
    uint64_t word = 0;
    for (int k = 0; k < 8; k++) {
        word = word << 8 | fuzz_byte(f);
    }
    return word;
}

/* A number of 0 .. n - 1, n at most 65536. */
static inline int64_t fuzz_below(fuzz_t *f, int64_t n)
{
    int64_t value = fuzz_byte(f);
    if (n > 256) {
        value = value << 8 | fuzz_byte(f);
    }
    return value % n;
}

static inline bool fuzz_one_in(fuzz_t *f, int64_t n)
{
    return fuzz_below(f, n) == n - 1;
}

/* A number of low .. high, with hostile input also an extreme. */
static inline int64_t fuzz_number(fuzz_t *f, int64_t low, int64_t high)
{
    static const int64_t extreme[] = {-1,
                                      0,
                                      1,
                                      INT64_MAX,
                                      INT64_MIN,
                                      GS_NEVER,
                                      GS_NEVER - 1,
                                      GS_NEVER / 2,
                                      GS_NEVER / 2 - 1,
                                      GS_NEVER / 4,
                                      GS_NEVER / 4 - 1,
                                      INT32_MAX,
                                      (int64_t)INT32_MAX + 1,
                                      (int64_t)1 << 32,
                                      (int64_t)1 << 40};
    if (f->hostile && f->at < f->end && *f->at >= 0xf0) {
        uint8_t which = fuzz_byte(f) & 15;
        return which < 15 ? extreme[which] : (int64_t)fuzz_word(f);
    }
    uint64_t span = high <= low ? 0 : (uint64_t)high - (uint64_t)low;
    return low + (span == 0 ? 0 : fuzz_below(f, span < 65535 ? (int64_t)span + 1 : 65536));
}

/* A time of low .. high times the scale. */
static inline int64_t fuzz_time(fuzz_t *f, int64_t low, int64_t high)
{
    int64_t scaled, value = fuzz_number(f, low, high);
    return gs_mul(value, f->scale, &scaled) ? scaled : value;
}

static inline fuzz_t fuzz_begin(const uint8_t *data, size_t size)
{
    static const int64_t scales[] = {
        1, 1, 1, 7, 1000003, (int64_t)1 << 40, (int64_t)1 << 50, ((int64_t)1 << 53) - 1};
    fuzz_t f = {.at = data, .end = data + size, .scale = 1};
    uint8_t flags = fuzz_byte(&f), fails = fuzz_byte(&f);
    f.hostile = (flags & 1) != 0;
    f.interrupts = (flags & 2) != 0;
    f.scale = scales[flags >> 2 & 7];
    f.fail_at = fails < 192 ? 0 : fails - 191;
    return f;
}

static inline int fuzz_poll(void *arg)
{
    fuzz_t *f = arg;
    if (f->polls-- > 0) {
        return GS_OK;
    }
    return f->interrupts ? GS_ERR_INTERRUPTED : GS_SPENT_SECONDS;
}

static inline void fuzz_context(fuzz_t *f, gs_context_t *ctx)
{
    gs_context_init(ctx);
    ctx->bytes_limit = FUZZ_BYTES;
    ctx->states_limit = FUZZ_STATES;
    ctx->fail_at = f->fail_at;
    ctx->poll = fuzz_poll;
    ctx->poll_arg = f;
    f->polls = FUZZ_POLLS;
}

/* Whether a call succeeded; an error must say where, and may not blame what was not asked for. */
static inline bool fuzz_done(const gs_context_t *ctx, int status)
{
    FUZZ_CHECK(GS_ERR_INTERRUPTED <= status && status <= GS_UNDECIDED);
    FUZZ_CHECK(strcmp(gs_strerror(status), "unknown status code") != 0);
    if (status == GS_ERR_VALUE || status == GS_ERR_OVERFLOW) {
        FUZZ_CHECK(ctx->fault.code == status);
        FUZZ_CHECK(ctx->fault.field != NULL && *ctx->fault.field != '\0');
        FUZZ_CHECK(ctx->fault.reason != NULL && *ctx->fault.reason != '\0');
        FUZZ_CHECK(ctx->fault.row >= -1);
    }
    FUZZ_CHECK(status != GS_ERR_INTERRUPTED || ctx->status == GS_ERR_INTERRUPTED);
    return status == GS_OK;
}

/* All memory of a context is free. */
static inline void fuzz_end(const gs_context_t *ctx)
{
    FUZZ_CHECK(ctx->bytes_used == 0);
}

/* Levels that responses have reached below their bounds, which libFuzzer counts as coverage: it
 * keeps the inputs that come closer. */
enum { FUZZ_GROUPS = 16, FUZZ_LEVELS = 64 };
__attribute__((
    used,
    section("__libfuzzer_extra_counters"))) static uint8_t fuzz_levels[FUZZ_GROUPS * FUZZ_LEVELS];

/* A response is not above its bound. */
static inline void fuzz_bound(const fuzz_t *f, int64_t response, int64_t bound)
{
    FUZZ_CHECK(response <= bound);
    double share = bound > 0 && response > 0 ? (double)response / (double)bound : 0;
    fuzz_levels[f->group % FUZZ_GROUPS * FUZZ_LEVELS + (int)(share * (FUZZ_LEVELS - 1))] = 1;
}

#endif
