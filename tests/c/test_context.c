/* Tests of core/context.h: errors, memory budget, poll, checked arithmetic. */
#include "core/context.h"

#include <string.h>

#include "minunit.h"

static bool all_bytes(const unsigned char *block, size_t count, unsigned char value)
{
    for (size_t i = 0; i < count; i++) {
        if (block[i] != value) {
            return false;
        }
    }
    return true;
}

static void test_fresh(void)
{
    gs_context_t ctx;
    memset(&ctx, 0xff, sizeof ctx);
    gs_context_init(&ctx);
    MU_CHECK(ctx.bytes_limit == 0 && ctx.bytes_used == 0 && ctx.bytes_peak == 0);
    MU_CHECK(ctx.allocations == 0 && ctx.fail_at == 0);
    MU_CHECK(ctx.work == 0 && ctx.poll == NULL && ctx.poll_arg == NULL);
    MU_CHECK(ctx.status == GS_OK && ctx.fault.code == GS_OK);
    MU_CHECK(ctx.fault.set == -1 && ctx.fault.row == -1);
}

static void test_fail(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.fault.set = 7;
    MU_CHECK(gs_fail(&ctx, GS_ERR_VALUE, "period", 3, -5, "a positive number") == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.code == GS_ERR_VALUE && ctx.fault.row == 3 && ctx.fault.value == -5);
    MU_CHECK(strcmp(ctx.fault.field, "period") == 0);
    MU_CHECK(strcmp(ctx.fault.reason, "a positive number") == 0);
    MU_CHECK(ctx.fault.set == 7); /* the caller's, who knows the stack */
    MU_CHECK(!ctx.fault.is_number);
    MU_CHECK(gs_fail_number(&ctx, GS_ERR_VALUE, "share", 1, 1.5, "at most 1") == GS_ERR_VALUE);
    MU_CHECK(ctx.fault.is_number && ctx.fault.number == 1.5 && ctx.fault.row == 1);
    MU_CHECK(gs_fail(&ctx, GS_ERR_VALUE, "period", 3, -5, "positive") == GS_ERR_VALUE);
    MU_CHECK(!ctx.fault.is_number && ctx.fault.value == -5);
}

static void test_strerror(void)
{
    static const int codes[] = {
        GS_OK,         GS_SPENT_STATES, GS_SPENT_BYTES, GS_SPENT_SECONDS,
        GS_ERR_MEMORY, GS_ERR_OVERFLOW, GS_ERR_VALUE,   GS_ERR_INTERRUPTED,
    };
    const char *unknown = gs_strerror(12345);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        MU_CHECK(strcmp(gs_strerror(codes[i]), unknown) != 0);
        for (size_t j = 0; j < i; j++) {
            MU_CHECK(strcmp(gs_strerror(codes[i]), gs_strerror(codes[j])) != 0);
        }
    }
}

static void test_accounting(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    unsigned char *a = gs_alloc(&ctx, 100, 8);
    MU_CHECK(a != NULL && all_bytes(a, 800, 0));
    MU_CHECK((uintptr_t)a % _Alignof(max_align_t) == 0);
    int64_t one = ctx.bytes_used;
    MU_CHECK(one >= 800 && one < 900 && ctx.bytes_peak == one);

    unsigned char *b = gs_alloc(&ctx, 100, 8);
    MU_CHECK(b != NULL && ctx.bytes_used == 2 * one && ctx.bytes_peak == 2 * one);
    gs_free(&ctx, b);
    MU_CHECK(ctx.bytes_used == one && ctx.bytes_peak == 2 * one);

    memset(a, 0xa5, 800);
    a = gs_grow(&ctx, a, 1000, 8);
    MU_CHECK(a != NULL && all_bytes(a, 800, 0xa5));
    MU_CHECK(ctx.bytes_used == one + 7200);
    memset(a, 0x5a, 8000); /* all of it is ours */
    a = gs_grow(&ctx, a, 10, 8);
    MU_CHECK(a != NULL && all_bytes(a, 80, 0x5a));
    MU_CHECK(ctx.bytes_used == one - 720 && ctx.bytes_peak == one + 7200);
    gs_free(&ctx, a);
    MU_CHECK(ctx.bytes_used == 0 && ctx.bytes_peak == one + 7200);
    MU_CHECK(ctx.allocations == 4);

    gs_free(&ctx, NULL);
    MU_CHECK(ctx.bytes_used == 0);
    /* Nothing is something, so that NULL always means failure. */
    void *none = gs_alloc(&ctx, 0, 8), *nothing = gs_grow(&ctx, NULL, 0, 0);
    MU_CHECK(none != NULL && nothing != NULL && none != nothing);
    gs_free(&ctx, none);
    gs_free(&ctx, nothing);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_sizes(void)
{
    static const size_t sizes[][2] = {
        {SIZE_MAX, 1},        {1, SIZE_MAX},         {SIZE_MAX / 2 + 1, 2},
        {SIZE_MAX / 3, 4},    {SIZE_MAX, SIZE_MAX},  {PTRDIFF_MAX, 1},
        {PTRDIFF_MAX - 8, 1}, {PTRDIFF_MAX / 16, 8}, /* fits the types, not the machine */
    };
    gs_context_t ctx;
    gs_context_init(&ctx);
    unsigned char *kept = gs_alloc(&ctx, 4, 1);
    MU_CHECK(kept != NULL);
    memset(kept, 9, 4);
    int64_t used = ctx.bytes_used;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ctx.status = GS_OK;
        MU_CHECK(gs_alloc(&ctx, sizes[i][0], sizes[i][1]) == NULL);
        MU_CHECK(ctx.status == GS_ERR_MEMORY);
        ctx.status = GS_OK;
        MU_CHECK(gs_grow(&ctx, kept, sizes[i][0], sizes[i][1]) == NULL);
        MU_CHECK(ctx.status == GS_ERR_MEMORY);
        MU_CHECK(all_bytes(kept, 4, 9));
        MU_CHECK(ctx.bytes_used == used && ctx.bytes_peak == used);
    }
    gs_free(&ctx, kept);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_budget(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.bytes_limit = 10000;
    unsigned char *a = gs_alloc(&ctx, 5000, 1);
    MU_CHECK(a != NULL);
    MU_CHECK(gs_alloc(&ctx, 5000, 1) == NULL); /* the heads do not fit */
    MU_CHECK(ctx.status == GS_SPENT_BYTES);
    MU_CHECK(gs_alloc(&ctx, SIZE_MAX, 2) == NULL);
    MU_CHECK(ctx.status == GS_ERR_MEMORY); /* no budget would have allowed it */
    /* Growing counts the new size alone, not the old one beside it. */
    unsigned char *grown = gs_grow(&ctx, a, 9000, 1);
    MU_CHECK(grown != NULL);
    a = grown;
    MU_CHECK(gs_grow(&ctx, a, 10000, 1) == NULL && ctx.status == GS_SPENT_BYTES);
    MU_CHECK(ctx.bytes_used <= ctx.bytes_limit && ctx.bytes_peak <= ctx.bytes_limit);
    gs_free(&ctx, a);
    MU_CHECK(ctx.bytes_used == 0);
    a = gs_alloc(&ctx, 9000, 1); /* what was freed can be had again */
    MU_CHECK(a != NULL);
    gs_free(&ctx, a);
}

/* Takes memory in the ways a function of the core does. */
static int use_memory(gs_context_t *ctx)
{
    int status = GS_OK;
    int64_t *rows = NULL, *columns = NULL, *more;
    rows = gs_alloc(ctx, 10, sizeof *rows);
    if (rows == NULL) {
        status = ctx->status;
        goto out;
    }
    for (size_t size = 1; size <= 64; size *= 2) {
        more = gs_grow(ctx, columns, size, sizeof *columns);
        if (more == NULL) {
            status = ctx->status;
            goto out;
        }
        columns = more;
        columns[size - 1] = rows[0];
    }
out:
    gs_free(ctx, columns);
    gs_free(ctx, rows);
    return status;
}

static void test_injection(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(use_memory(&ctx) == GS_OK);
    int64_t needed = ctx.allocations;
    MU_CHECK(needed == 8 && ctx.bytes_used == 0);
    for (int64_t fail_at = 1; fail_at <= needed + 1; fail_at++) {
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        MU_CHECK(use_memory(&ctx) == (fail_at <= needed ? GS_ERR_MEMORY : GS_OK));
        MU_CHECK(ctx.allocations == (fail_at <= needed ? fail_at : needed));
        MU_CHECK(ctx.bytes_used == 0);
    }
}

typedef struct {
    int calls;
    int answer;
} poll_t;

static int poll(void *arg)
{
    poll_t *self = arg;
    self->calls++;
    return self->answer;
}

static void test_poll(void)
{
    gs_context_t ctx;
    poll_t state = {0, GS_OK};
    gs_context_init(&ctx);
    for (int i = 0; i < 3000000; i++) { /* without a poll function nothing happens */
        if (gs_poll(&ctx, 1) != GS_OK) {
            MU_CHECK(false);
        }
    }
    MU_CHECK(ctx.work < 1000000);

    gs_context_init(&ctx);
    ctx.poll = poll;
    ctx.poll_arg = &state;
    for (int i = 0; i < 999999; i++) {
        gs_poll(&ctx, 1);
    }
    MU_CHECK(state.calls == 0);
    gs_poll(&ctx, 1);
    MU_CHECK(state.calls == 1 && ctx.work == 0);
    for (int i = 0; i < 2500000; i++) {
        gs_poll(&ctx, 1);
    }
    MU_CHECK(state.calls == 3);
    gs_poll(&ctx, INT64_C(1) << 40); /* one large piece of work is one poll */
    MU_CHECK(state.calls == 4);
    MU_CHECK(gs_poll_now(&ctx) == GS_OK && state.calls == 5);

    static const int answers[] = {GS_SPENT_SECONDS, GS_ERR_INTERRUPTED};
    for (size_t i = 0; i < 2; i++) {
        state.answer = answers[i];
        MU_CHECK(gs_poll(&ctx, 10) == GS_OK); /* not yet asked */
        MU_CHECK(gs_poll(&ctx, 1000000) == answers[i] && ctx.status == answers[i]);
        MU_CHECK(gs_poll_now(&ctx) == answers[i]);
    }
}

static void test_arithmetic(void)
{
    int64_t x = 0;
    MU_CHECK(gs_add(INT64_MAX - 1, 1, &x) && x == INT64_MAX);
    MU_CHECK(!gs_add(INT64_MAX, 1, &x) && !gs_add(INT64_MIN, -1, &x));
    MU_CHECK(gs_mul(INT64_MAX / 3, 3, &x) && x == INT64_MAX / 3 * 3);
    MU_CHECK(!gs_mul(INT64_MAX / 3 + 1, 3, &x) && !gs_mul(INT64_MIN, -1, &x));
    MU_CHECK(gs_add(GS_NEVER, GS_NEVER, &x) && x > GS_NEVER);
}

static void test_lcm(void)
{
    int64_t x = 0;
    MU_CHECK(gs_lcm(4, 6, &x) && x == 12);
    MU_CHECK(gs_lcm(6, 4, &x) && x == 12);
    MU_CHECK(gs_lcm(1, 1, &x) && x == 1);
    MU_CHECK(gs_lcm(7, 7, &x) && x == 7);
    MU_CHECK(gs_lcm(1000000007, 998244353, &x) && x == INT64_C(998244359987710471));
    MU_CHECK(gs_lcm(INT64_MAX, INT64_MAX, &x) && x == INT64_MAX);
    MU_CHECK(gs_lcm(1, INT64_MAX, &x) && x == INT64_MAX);
    MU_CHECK(gs_lcm(INT64_C(1) << 62, INT64_C(1) << 61, &x) && x == INT64_C(1) << 62);
    MU_CHECK(!gs_lcm(INT64_C(1) << 62, 3, &x));
    MU_CHECK(!gs_lcm(INT64_MAX, 2, &x) && !gs_lcm(2, INT64_MAX, &x));
    MU_CHECK(!gs_lcm(INT64_MAX, INT64_MAX - 1, &x));
}

int main(void)
{
    test_fresh();
    test_fail();
    test_strerror();
    test_accounting();
    test_sizes();
    test_budget();
    test_injection();
    test_poll();
    test_arithmetic();
    test_lcm();
    return MU_END();
}
