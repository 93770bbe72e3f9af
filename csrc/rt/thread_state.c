/* State of a thread: its last error as text, which is the only mutable state outside of objects. */
#define _GNU_SOURCE
#include "rt/thread_state.h"

#include <errno.h>
#include <string.h>

#include "core/context.h"
#include "rt/rt.h"

static _Thread_local gs_rt_thread_state_t state;

gs_rt_thread_state_t *gs_rt_thread_state(void)
{
    return &state;
}

int gs_rt_version(void)
{
    return GPUSCHED_RT_VERSION;
}

const char *gs_rt_error(void)
{
    return state.text;
}

static void add(const char *text)
{
    size_t used = strlen(state.text), room = sizeof state.text - used - 1, size = strlen(text);
    size = size < room ? size : room;
    memcpy(state.text + used, text, size);
    state.text[used + size] = 0;
}

int gs_rt_fail(int code, const char *what, const char *got, const char *expected)
{
    state.text[0] = 0;
    add(what);
    add(": got ");
    add(got == NULL ? "NULL" : got);
    add(", expected ");
    add(expected);
    return code;
}

char *gs_rt_number_text(char *to, int64_t number)
{
    char digits[20];
    int count = 0;
    uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (number < 0) {
        *to++ = '-';
    }
    while (count > 0) {
        *to++ = digits[--count];
    }
    *to = 0;
    return to;
}

int gs_rt_fail_number(int code, const char *what, int64_t got, const char *expected)
{
    char number[24];
    gs_rt_number_text(number, got);
    return gs_rt_fail(code, what, number, expected);
}

int gs_rt_fail_system(const char *what, int error)
{
    char number[24];
    state.text[0] = 0;
    add(what);
    add(": error ");
    gs_rt_number_text(number, error);
    add(number);
    const char *known = error == EPERM    ? " (not permitted: see ulimit -r and -l)"
                        : error == EACCES ? " (access denied)"
                        : error == ENOENT ? " (no such file)"
                        : error == ENOSPC ? " (no space left)"
                        : error == EINVAL ? " (not valid here)"
                        : error == ENOMEM ? " (no memory left)"
                                          : "";
    add(known);
    return GS_RT_ERR_SYSTEM;
}

void *gs_rt_allocate(size_t count, size_t size, const char *what)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    void *block = gs_alloc(&ctx, count, size);
    if (block == NULL) {
        gs_rt_fail_system(what, ENOMEM);
    }
    return block;
}

void gs_rt_free(void *block)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_free(&ctx, block);
}
