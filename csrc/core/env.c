/* How does a call report an error, stay within its memory and let itself be stopped? */
#include "core/env.h"

#include <stdlib.h>
#include <string.h>

/* Every block carries its size, so that freeing can give it back to the budget. */
typedef union {
    size_t bytes;
    max_align_t align;
} block_head_t;

void gs_env_init(gs_env_t *env)
{
    memset(env, 0, sizeof *env);
    env->fault.set = -1;
    env->fault.row = -1;
}

int gs_fail(gs_env_t *env, int code, const char *field, int64_t row, int64_t value,
            const char *reason)
{
    env->fault.code = code;
    env->fault.field = field;
    env->fault.row = row;
    env->fault.value = value;
    env->fault.reason = reason;
    return code;
}

const char *gs_strerror(int code)
{
    switch (code) {
    case GS_OK:
        return "done";
    case GS_SPENT_STATES:
        return "the budget of states is spent";
    case GS_SPENT_BYTES:
        return "the budget of bytes is spent";
    case GS_SPENT_SECONDS:
        return "the budget of seconds is spent";
    case GS_UNDECIDED:
        return "the input leaves the answer open";
    case GS_ERR_MEMORY:
        return "out of memory";
    case GS_ERR_OVERFLOW:
        return "a time or a size does not fit 64 bits";
    case GS_ERR_VALUE:
        return "a value is not allowed";
    case GS_ERR_INTERRUPTED:
        return "interrupted";
    default:
        return "unknown code";
    }
}

/* Records why an allocation failed. */
static bool refuse(gs_env_t *env, int status)
{
    env->status = status;
    return false;
}

/* Whether the size fits and the budget allows it. */
static bool account(gs_env_t *env, size_t count, size_t size, size_t *bytes)
{
    env->allocations++;
    size_t payload;
    if ((env->fail_at != 0 && env->allocations == env->fail_at) ||
        __builtin_mul_overflow(count, size, &payload) ||
        __builtin_add_overflow(payload, sizeof(block_head_t) + 1, bytes) || *bytes > PTRDIFF_MAX) {
        return refuse(env, GS_ERR_MEMORY);
    }
    if (env->bytes_limit != 0 && (int64_t)*bytes > env->bytes_limit - env->bytes_used) {
        return refuse(env, GS_SPENT_BYTES);
    }
    return true;
}

static void took(gs_env_t *env, int64_t bytes)
{
    env->bytes_used += bytes;
    if (env->bytes_used > env->bytes_peak) {
        env->bytes_peak = env->bytes_used;
    }
}

void *gs_alloc(gs_env_t *env, size_t count, size_t size)
{
    size_t bytes;
    if (!account(env, count, size, &bytes)) {
        return NULL;
    }
    block_head_t *head = calloc(1, bytes);
    if (head == NULL) {
        refuse(env, GS_ERR_MEMORY);
        return NULL;
    }
    head->bytes = bytes;
    took(env, (int64_t)bytes);
    return head + 1;
}

void *gs_grow(gs_env_t *env, void *block, size_t count, size_t size)
{
    if (block == NULL) {
        return gs_alloc(env, count, size);
    }
    block_head_t *head = (block_head_t *)block - 1;
    size_t old = head->bytes, bytes;
    env->bytes_used -= (int64_t)old;
    bool allowed = account(env, count, size, &bytes);
    env->bytes_used += (int64_t)old;
    if (!allowed) {
        return NULL;
    }
    head = realloc(head, bytes);
    if (head == NULL) {
        refuse(env, GS_ERR_MEMORY);
        return NULL;
    }
    head->bytes = bytes;
    took(env, (int64_t)bytes - (int64_t)old);
    return head + 1;
}

void gs_free(gs_env_t *env, void *block)
{
    if (block != NULL) {
        block_head_t *head = (block_head_t *)block - 1;
        env->bytes_used -= (int64_t)head->bytes;
        free(head);
    }
}

int gs_poll_now(gs_env_t *env)
{
    env->work = 0;
    if (env->poll == NULL) {
        return GS_OK;
    }
    env->status = env->poll(env->poll_arg);
    return env->status;
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
