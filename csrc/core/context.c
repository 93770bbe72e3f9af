/* Errors, memory budget and poll of a call. */
#include "core/context.h"

#include <stdlib.h>
#include <string.h>

/* Header of every block: its size, which gs_free returns to the budget. */
typedef union {
    size_t bytes;
    max_align_t align;
} block_head_t;

void gs_context_init(gs_context_t *ctx)
{
    memset(ctx, 0, sizeof *ctx);
    ctx->fault.set = -1;
    ctx->fault.row = -1;
}

int gs_fail(gs_context_t *ctx, int code, const char *field, int64_t row, int64_t value,
            const char *reason)
{
    ctx->fault.code = code;
    ctx->fault.field = field;
    ctx->fault.row = row;
    ctx->fault.value = value;
    ctx->fault.is_number = false;
    ctx->fault.is_bounded = false;
    ctx->fault.reason = reason;
    return code;
}

int gs_fail_number(gs_context_t *ctx, int code, const char *field, int64_t row, double number,
                   const char *reason)
{
    gs_fail(ctx, code, field, row, 0, reason);
    ctx->fault.is_number = true;
    ctx->fault.number = number;
    return code;
}

int gs_fail_above(gs_context_t *ctx, int code, const char *field, int64_t row, int64_t value,
                  int64_t bound, const char *reason)
{
    gs_fail(ctx, code, field, row, value, reason);
    ctx->fault.is_bounded = true;
    ctx->fault.bound = bound;
    return code;
}

const char *gs_strerror(int code)
{
    switch (code) {
    case GS_OK:
        return "done";
    case GS_SPENT_STATES:
        return "the budget of states is used up";
    case GS_SPENT_BYTES:
        return "the budget of bytes is used up";
    case GS_SPENT_SECONDS:
        return "the budget of seconds is used up";
    case GS_UNDECIDED:
        return "the input does not determine the answer";
    case GS_ERR_MEMORY:
        return "out of memory";
    case GS_ERR_OVERFLOW:
        return "a time or a size exceeds 64 bits";
    case GS_ERR_VALUE:
        return "invalid value";
    case GS_ERR_INTERRUPTED:
        return "interrupted";
    default:
        return "unknown status code";
    }
}

/* Records why an allocation failed. */
static bool refuse(gs_context_t *ctx, int status)
{
    ctx->status = status;
    return false;
}

/* Whether the size fits and the budget allows it. */
static bool account(gs_context_t *ctx, size_t count, size_t size, size_t *bytes)
{
    ctx->allocations++;
    size_t payload;
    if ((ctx->fail_at != 0 && ctx->allocations == ctx->fail_at) ||
        __builtin_mul_overflow(count, size, &payload) ||
        __builtin_add_overflow(payload, sizeof(block_head_t) + 1, bytes) || *bytes > PTRDIFF_MAX) {
        return refuse(ctx, GS_ERR_MEMORY);
    }
    if (ctx->bytes_limit != 0 && (int64_t)*bytes > ctx->bytes_limit - ctx->bytes_used) {
        return refuse(ctx, GS_SPENT_BYTES);
    }
    return true;
}

static void took(gs_context_t *ctx, int64_t bytes)
{
    ctx->bytes_used += bytes;
    if (ctx->bytes_used > ctx->bytes_peak) {
        ctx->bytes_peak = ctx->bytes_used;
    }
}

void *gs_alloc(gs_context_t *ctx, size_t count, size_t size)
{
    size_t bytes;
    if (!account(ctx, count, size, &bytes)) {
        return NULL;
    }
    block_head_t *head = calloc(1, bytes);
    if (head == NULL) {
        refuse(ctx, GS_ERR_MEMORY);
        return NULL;
    }
    head->bytes = bytes;
    took(ctx, (int64_t)bytes);
    return head + 1;
}

void *gs_grow(gs_context_t *ctx, void *block, size_t count, size_t size)
{
    if (block == NULL) {
        return gs_alloc(ctx, count, size);
    }
    block_head_t *head = (block_head_t *)block - 1;
    size_t old = head->bytes, bytes;
    ctx->bytes_used -= (int64_t)old;
    bool allowed = account(ctx, count, size, &bytes);
    ctx->bytes_used += (int64_t)old;
    if (!allowed) {
        return NULL;
    }
    head = realloc(head, bytes);
    if (head == NULL) {
        refuse(ctx, GS_ERR_MEMORY);
        return NULL;
    }
    head->bytes = bytes;
    took(ctx, (int64_t)bytes - (int64_t)old);
    return head + 1;
}

void gs_free(gs_context_t *ctx, void *block)
{
    if (block != NULL) {
        block_head_t *head = (block_head_t *)block - 1;
        ctx->bytes_used -= (int64_t)head->bytes;
        free(head);
    }
}

int gs_poll_now(gs_context_t *ctx)
{
    ctx->work = 0;
    if (ctx->poll == NULL) {
        return GS_OK;
    }
    ctx->status = ctx->poll(ctx->poll_arg);
    return ctx->status;
}

bool gs_lcm(int64_t a, int64_t b, int64_t *lcm)
{
    int64_t x = a, y = b;
    while (y != 0) {
        int64_t r = x % y;
        x = y;
        y = r;
    }
    return gs_mul(a / x, b, lcm);
}
