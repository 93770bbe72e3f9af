/* Parts of random tasks with CPU and GPU segments. */
#include "generate/segment_parts.h"

int gs_generate_check_range(gs_context_t *ctx, const char *field, gs_generate_range_t range,
                            int64_t least, int64_t most, const char *limit)
{
    if (range.least < least) {
        return gs_fail(ctx, GS_ERR_VALUE, field, 0, range.least,
                       least > 0 ? "a positive number" : "a number of at least 0");
    }
    if (range.most < range.least) {
        return gs_fail(ctx, GS_ERR_VALUE, field, 1, range.most,
                       "at least the first number of the range");
    }
    if (range.most > most) {
        return gs_fail(ctx, GS_ERR_VALUE, field, 1, range.most, limit);
    }
    return GS_OK;
}

int gs_generate_check_periods(gs_context_t *ctx, gs_generate_range_t period, int64_t ticks)
{
    int64_t most, longest;
    if (ticks < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "ticks", -1, ticks, "a positive number");
    }
    int status = gs_generate_check_range(ctx, "periods", period, 1, INT64_MAX, NULL);
    if (status != GS_OK) {
        return status;
    }
    /* Lengths are multiplied by parts. */
    if (!gs_mul(period.most, ticks, &most) || !gs_mul(most, GS_GENERATE_PARTS, &longest) ||
        longest >= GS_NEVER / 2) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "periods", 1, period.most,
                       "a period below 2**60 / 10**6 ticks");
    }
    return GS_OK;
}

int64_t gs_generate_draw(gs_rng_t *rng, gs_generate_range_t range)
{
    return range.least + (int64_t)gs_rng_below(rng, (uint64_t)(range.most - range.least) + 1);
}

int64_t gs_generate_divided(int64_t a, int64_t b)
{
    return (a + b / 2) / b;
}

int gs_generate_fill(gs_context_t *ctx, int64_t *numbers, int64_t count, int64_t value)
{
    const int64_t part = 1 << 17;
    int status = GS_OK;
    for (int64_t i = 0; status == GS_OK && i < count;) {
        int64_t end = count - i < part ? count : i + part;
        int64_t work = end - i;
        for (; i < end; i++) {
            numbers[i] = value;
        }
        status = gs_poll(ctx, work);
    }
    return status;
}

/* Shell's sort: numbers are usually few, and it needs no memory. */
static void sort(int64_t *x, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) {
        for (int64_t i = gap; i < n; i++) {
            int64_t moved = x[i], j = i;
            for (; j >= gap && x[j - gap] > moved; j -= gap) {
                x[j] = x[j - gap];
            }
            x[j] = moved;
        }
    }
}

void gs_generate_cut(gs_rng_t *rng, bool even, int64_t total, int64_t least, int64_t count,
                     int64_t *piece)
{
    int64_t spare = total - least * count;
    if (even) {
        for (int64_t j = 0; j < count; j++) {
            piece[j] = least + spare / count + (j < spare % count);
        }
        return;
    }
    /* Sorted points between 0 and spare. */
    for (int64_t j = 0; j < count - 1; j++) {
        piece[j] = (int64_t)gs_rng_below(rng, (uint64_t)spare + 1);
    }
    sort(piece, count - 1);
    piece[count - 1] = spare;
    for (int64_t j = count - 1; j > 0; j--) {
        piece[j] -= piece[j - 1];
    }
    for (int64_t j = 0; j < count; j++) {
        piece[j] += least;
    }
}
