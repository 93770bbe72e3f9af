/* Checks of columns of integers. */
#include "core/checks.h"

int gs_check_range(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                   int64_t least, int64_t most, const char *expected)
{
    for (int64_t i = 0; entry != NULL && i < count; i++) {
        if (entry[i] < least || entry[i] > most) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, entry[i], expected);
        }
    }
    return GS_OK;
}

static int check_below(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                       int64_t least, int64_t limit, const char *expected)
{
    for (int64_t i = 0; entry != NULL && i < count; i++) {
        if (entry[i] < least) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, entry[i],
                           least == 0 ? "a number of at least 0" : "a positive number");
        }
        if (entry[i] >= limit) {
            return gs_fail(ctx, GS_ERR_OVERFLOW, field, i, entry[i], expected);
        }
    }
    return GS_OK;
}

int gs_check_numbers(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                     int64_t least)
{
    return check_below(ctx, field, entry, count, least, GS_NEVER / 2, "a number below 2**60 - 1");
}

int gs_check_times(gs_context_t *ctx, const char *field, const int64_t *entry, int64_t count,
                   int64_t least)
{
    return check_below(ctx, field, entry, count, least, GS_CHECK_LATEST,
                       "a time below 2**59 - 1 ticks");
}

int gs_check_offsets(gs_context_t *ctx, const char *field, const int64_t *begin, int64_t count,
                     int64_t least)
{
    for (int64_t i = 0; begin != NULL && i <= count; i++) {
        if (i == 0 ? begin[0] != 0 : begin[i] < begin[i - 1] || begin[i] - begin[i - 1] < least) {
            return gs_fail(ctx, GS_ERR_VALUE, field, i, begin[i], "offsets that rise from 0");
        }
    }
    return GS_OK;
}
