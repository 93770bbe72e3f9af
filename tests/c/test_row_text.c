/* Tests of rows of text, lanes for overlapping pieces, and the occupancy of SMs over time. */
#include <string.h>

#include "io/free_lanes.h"
#include "io/row_text.h"
#include "simulate/sm_usage.h"

#include "minunit.h"

/* One row of a column of each kind: "<integer scaled thousandths text>". */
static const int64_t fixed_begin[] = {0, 1, 2, 3, 4, 5}, word_begin[] = {0, 3, 3};
static const int64_t kind[] = {GS_IO_ROW_TEXT_INTEGER, GS_IO_ROW_TEXT_SCALED,
                               GS_IO_ROW_TEXT_THOUSANDTHS, GS_IO_ROW_TEXT_TEXT};

static gs_io_row_text_t row_of(const int64_t value[4], int64_t factor)
{
    return (gs_io_row_text_t){
        1, 4, kind, value, factor, {"<   >", fixed_begin, 5}, {"abc", word_begin, 2}};
}

static bool writes(int64_t number, int64_t factor, int64_t word, const char *expected)
{
    const int64_t value[4] = {number, number, number, word};
    gs_io_row_text_t row = row_of(value, factor);
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_row_text_buffer_t buffer;
    bool same = gs_io_row_text_write(&ctx, &row, &buffer) == GS_OK &&
                buffer.count == (int64_t)strlen(expected) &&
                memcmp(buffer.bytes, expected, (size_t)buffer.count) == 0;
    gs_io_row_text_free(&buffer, &ctx);
    return same && ctx.bytes_used == 0;
}

static void test_numbers(void)
{
    MU_CHECK(writes(0, 1, 0, "<0 0 0 abc>"));
    MU_CHECK(writes(7, 1, 1, "<7 7 0.007 >"));
    MU_CHECK(writes(-70, 3, 0, "<-70 -210 -0.21 abc>"));
    MU_CHECK(writes(1234567890, 1000, 0, "<1234567890 1234567890000 1234567890 abc>"));
    MU_CHECK(writes(1500, 1, 0, "<1500 1500 1.5 abc>"));
    MU_CHECK(writes(-INT64_MAX, 1, 0,
                    "<-9223372036854775807 -9223372036854775807 -9223372036854775.807 abc>"));
    MU_CHECK(writes(INT64_MIN, 1, 0, "<-9223372036854775808 null null abc>"));
    MU_CHECK(writes(INT64_MAX, INT64_MAX, 0,
                    "<9223372036854775807 85070591730234615847396907784232501249 "
                    "85070591730234615847396907784232501.249 abc>"));
    bool same = true;
    for (int64_t value = -1100; value < 11000 && same; value++) {
        char text[80];
        int64_t amount = value < 0 ? -value : value;
        int length = snprintf(text, sizeof text, "<%lld %lld %s%lld.%03lld", (long long)value,
                              (long long)value, value < 0 ? "-" : "", (long long)(amount / 1000),
                              (long long)(amount % 1000));
        while (text[length - 1] == '0') {
            length--;
        }
        length -= text[length - 1] == '.';
        strcpy(text + length, " >");
        same = value == 0 || writes(value, 1, 1, text);
    }
    MU_CHECK(same);
}

/* A number that may be missing leaves nothing behind. */
static void test_optional(void)
{
    static const int64_t optional[] = {GS_IO_ROW_TEXT_OPTIONAL, GS_IO_ROW_TEXT_OPTIONAL,
                                       GS_IO_ROW_TEXT_OPTIONAL, GS_IO_ROW_TEXT_TEXT};
    const int64_t value[4] = {7, GS_IO_ROW_TEXT_NONE, -12, 0};
    gs_io_row_text_t row = row_of(value, 9);
    row.kind = optional;
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_row_text_buffer_t buffer;
    MU_CHECK(gs_io_row_text_write(&ctx, &row, &buffer) == GS_OK);
    MU_CHECK(buffer.count == 12 && memcmp(buffer.bytes, "<7  -12 abc>", 12) == 0);
    gs_io_row_text_free(&buffer, &ctx);
}

static void test_refusals(void)
{
    const int64_t value[4] = {1, 2, 3, 0}, no_word[4] = {1, 2, 3, 2}, no_kind[4] = {0, 1, 2, 5};
    const int64_t backwards[] = {0, 3, 2, 3, 4, 5}, negative[] = {-1, 3, 3};
    gs_io_row_text_t cases[6];
    for (int k = 0; k < 6; k++) {
        cases[k] = row_of(value, 1);
    }
    cases[0].value = no_word;
    cases[1].kind = no_kind;
    cases[2].factor = 0;
    cases[3].fixed.count = 4;
    cases[4].fixed.begin = backwards;
    cases[5].texts.begin = negative;
    for (int k = 0; k < 6; k++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_row_text_buffer_t buffer;
        MU_CHECK(gs_io_row_text_write(&ctx, &cases[k], &buffer) == GS_ERR_VALUE);
        gs_io_row_text_free(&buffer, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
    gs_context_t ctx;
    gs_context_init(&ctx);
    ctx.fail_at = 1;
    gs_io_row_text_buffer_t buffer;
    gs_io_row_text_t row = row_of(value, 1);
    MU_CHECK(gs_io_row_text_write(&ctx, &row, &buffer) == GS_ERR_MEMORY);
    gs_io_row_text_free(&buffer, &ctx);
}

static void test_lanes(void)
{
    const int64_t group[] = {0, 0, 0, 1, 0, 0}, start[] = {0, 2, 5, 0, 5, 12};
    const int64_t end[] = {10, 5, 12, 3, 5, 12}, expected[] = {0, 1, 1, 0, 2, 0};
    gs_io_free_lanes_t intervals = {6, 2, group, start, end};
    int64_t which[6], failed = 0;
    for (int64_t at = 1;; at++, failed++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        int status = gs_io_free_lanes_find(&ctx, &intervals, which);
        MU_CHECK(ctx.bytes_used == 0);
        if (status == GS_OK) {
            break;
        }
        MU_CHECK(status == GS_ERR_MEMORY);
    }
    MU_CHECK(failed >= 3 && memcmp(which, expected, sizeof which) == 0);
    gs_context_t ctx;
    gs_context_init(&ctx);
    intervals.groups = 1;
    MU_CHECK(gs_io_free_lanes_find(&ctx, &intervals, which) == GS_ERR_VALUE);
    intervals.groups = -1;
    MU_CHECK(gs_io_free_lanes_find(&ctx, &intervals, which) == GS_ERR_VALUE);
    const gs_io_free_lanes_t late = {2, 2, group, end, end}, turned = {2, 2, group, end, start};
    MU_CHECK(gs_io_free_lanes_find(&ctx, &late, which) == GS_ERR_VALUE);
    MU_CHECK(gs_io_free_lanes_find(&ctx, &turned, which) == GS_ERR_VALUE);
}

/* SM 1: 32 threads from 0 to 10, 33 from 10 to 20 and two blocks that take turns at 15. */
static void test_occupancy(void)
{
    const int64_t sm[] = {1, 1, 0, 1, 1, 1}, start[] = {10, 0, 3, 10, 15, 12};
    const int64_t end[] = {20, 10, 4, 15, 20, 12}, threads[] = {33, 32, 64, 1, 1, 99};
    const gs_simulate_sm_usage_spans_t spans = {6, 2, sm, start, end, threads};
    const int64_t rows[5][5] = {
        {0, 3, 2, 64, 1}, {0, 4, 0, 0, 0}, {1, 0, 1, 32, 1}, {1, 10, 3, 34, 2}, {1, 20, 0, 0, 0}};
    int64_t column[5][8], failed = 0;
    int64_t *const columns[5] = {column[0], column[1], column[2], column[3], column[4]};
    for (int64_t at = 1;; at++, failed++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        gs_simulate_sm_usage_t self;
        int status = gs_simulate_sm_usage_init(&self, &ctx, &spans);
        if (status == GS_OK) {
            MU_CHECK(self.rows == 5 && gs_simulate_sm_usage_write(&self, &ctx, columns) == GS_OK);
        }
        gs_simulate_sm_usage_free(&self, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
        if (status == GS_OK) {
            break;
        }
        MU_CHECK(status == GS_ERR_MEMORY);
    }
    MU_CHECK(failed >= 3);
    for (int row = 0; row < 5; row++) {
        for (int k = 0; k < 5; k++) {
            MU_CHECK(column[k][row] == rows[row][k]);
        }
    }
    const int64_t many[] = {33, 32, 64, 1, 1, INT64_MAX};
    gs_simulate_sm_usage_spans_t wrong[] = {spans, spans, spans};
    wrong[0].sms = 1;
    wrong[1].end = start, wrong[1].start = end;
    wrong[2].threads = many;
    for (int k = 0; k < 3; k++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_simulate_sm_usage_t self;
        MU_CHECK(gs_simulate_sm_usage_init(&self, &ctx, &wrong[k]) == GS_ERR_VALUE);
        gs_simulate_sm_usage_free(&self, &ctx);
    }
}

int main(void)
{
    test_numbers();
    test_optional();
    test_refusals();
    test_lanes();
    test_occupancy();
    return MU_END();
}
