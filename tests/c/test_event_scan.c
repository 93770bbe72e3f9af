/* Tests of io/event_scan.h: places, ranges and tables, every cut, refusals, injected failure. */
#include "io/event_scan.h"

#include <string.h>

#include "minunit.h"

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const gs_io_event_scan_wanted_t WANTED[] = {
    {TEXT("kernel"), TEXT(""), 1},
    {TEXT("cpu_op"), TEXT("Step#"), 0},
    {TEXT("call"), TEXT(""), 2},
};
static const gs_io_event_scan_group_t GROUPS[] = {
    {.count = 0},
    {{{TEXT("name"), false, GS_IO_EVENT_SCAN_TEXT, 0, false},
      {TEXT("grid"), true, GS_IO_EVENT_SCAN_PRODUCT, 1, false},
      {TEXT("n"), true, GS_IO_EVENT_SCAN_INTEGER, 0, true}},
     3},
    {{{TEXT("tid"), false, GS_IO_EVENT_SCAN_IDENTIFIER, 0, false},
      {TEXT("ts"), false, GS_IO_EVENT_SCAN_THOUSANDTHS, -5000, false}},
     2},
};
static const gs_io_event_scan_selection_t SELECTION = {WANTED, 3, GROUPS, 3};

/* Its events: a kernel of a list grid after one that is none, three that are not wanted, one whose
 * last "args" is not an object, two of which a name is wanted, calls with and without a time. */
static const char DOCUMENT[] =
    "{\"a\": [{}, 1.5],\n \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
    "\"k\\\"\","
    " \"args\": {\"grid\": 7, \"grid\": [4, 3,2]}},\n{\"ph\": \"M\"}, {}, 7,"
    " {\"ph\": \"X\", \"cat\": \"kern\\u0065l\", \"args\": {\"grid\": [1,1,1]}, \"args\": 2}, "
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"Step\\u0023 1\"},"
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"step\"},"
    "{\"ph\": \"X\", \"cat\": \"call\", \"tid\": 12, \"ts\": 1.5},"
    "{\"ph\": \"X\", \"cat\": \"call\", \"tid\": \"k\\\"\", \"ts\": -5},"
    "{\"ph\": \"X\", \"cat\": \"call\", \"tid\": 12, \"ts\": -5.001},"
    "{\"ph\": \"X\", \"cat\": \"call\", \"tid\": null, \"ts\": 1}], \"b\": null } ";

static int run(gs_io_event_scan_t *scan, gs_context_t *ctx, const char *bytes, int64_t size,
               bool last)
{
    const gs_io_json_text_t data = {bytes, size};
    int reason = -1;
    int status = gs_io_event_scan_run(scan, ctx, &data, &SELECTION, last, &reason);
    return status < 0 ? status : reason;
}

static bool row_is(const gs_io_event_scan_table_t *table, int64_t at, const int64_t *row,
                   int64_t width)
{
    return at + width <= table->count &&
           memcmp(table->value + at, row, (size_t)width * sizeof *row) == 0;
}

static void test_document(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    const int64_t size = (int64_t)sizeof DOCUMENT - 1;
    gs_io_event_scan_t scan;
    gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_START, 0, 5);
    MU_CHECK(run(&scan, &ctx, DOCUMENT, size, true) == GS_IO_EVENT_SCAN_OPENED);
    MU_CHECK(scan.place == GS_IO_EVENT_SCAN_FIRST_EVENT && scan.events == 0);
    MU_CHECK(scan.ranges.count == 1 && scan.lines == 1);
    const gs_io_event_scan_range_t member = scan.ranges.range[0];
    MU_CHECK(member.begin == 1 && member.end == 15 && scan.line == 17);
    MU_CHECK(run(&scan, &ctx, DOCUMENT, size, true) == GS_IO_EVENT_SCAN_CLOSED);
    static const int64_t whole[] = {3, 4, 5, 9, 10}, kernel[] = {0, 0, 24, GS_IO_EVENT_SCAN_ABSENT},
                         calls[2][3] = {{7, 1, 1500}, {8, 0, -5000}};
    MU_CHECK(scan.events == 11 && scan.ranges.count == 6);
    for (int i = 0; i < 5; i++) {
        MU_CHECK(scan.ranges.range[1 + i].index == whole[i]);
    }
    MU_CHECK(scan.tables[0].count == 0 && scan.tables[1].count == 4 && scan.tables[2].count == 6);
    MU_CHECK(row_is(&scan.tables[1], 0, kernel, 4));
    MU_CHECK(row_is(&scan.tables[2], 0, calls[0], 3) && row_is(&scan.tables[2], 3, calls[1], 3));
    static const char texts[] = "\"k\\\"\",12";
    MU_CHECK(scan.texts.count == 2 && scan.texts.size == (int64_t)sizeof texts - 1);
    MU_CHECK(memcmp(scan.texts.bytes, texts, sizeof texts - 1) == 0);
    MU_CHECK(run(&scan, &ctx, DOCUMENT, size, true) == GS_IO_EVENT_SCAN_SPENT);
    MU_CHECK(scan.place == GS_IO_EVENT_SCAN_END && scan.position == size);
    gs_io_event_scan_free(&scan, &ctx);
    gs_io_event_scan_free(&scan, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* In pieces that end at every byte, the same events are found. */
static void test_cuts(void)
{
    const int64_t size = (int64_t)sizeof DOCUMENT - 1;
    for (int64_t first = 0; first <= size; first++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_event_scan_t scan;
        gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_START, 0, 0);
        /* Memory of its own, so that a read behind its end is found. */
        char *bytes = gs_alloc(&ctx, (size_t)first, 1);
        MU_CHECK(bytes != NULL);
        memcpy(bytes, DOCUMENT, (size_t)first);
        int reason;
        do {
            reason = run(&scan, &ctx, bytes, first, false);
        } while (reason == GS_IO_EVENT_SCAN_OPENED || reason == GS_IO_EVENT_SCAN_CLOSED);
        MU_CHECK(reason == GS_IO_EVENT_SCAN_SPENT);
        gs_io_event_scan_t cut = {.place = scan.place};
        gs_io_event_scan_init(&cut, scan.place, scan.position, scan.events);
        do {
            reason = run(&cut, &ctx, bytes, first, true);
        } while (reason == GS_IO_EVENT_SCAN_OPENED || reason == GS_IO_EVENT_SCAN_CLOSED);
        bool ended = scan.place == GS_IO_EVENT_SCAN_END;
        MU_CHECK(reason == (ended ? GS_IO_EVENT_SCAN_SPENT : GS_IO_EVENT_SCAN_WRONG));
        do {
            reason = run(&scan, &ctx, DOCUMENT, size, true);
        } while (reason == GS_IO_EVENT_SCAN_OPENED || reason == GS_IO_EVENT_SCAN_CLOSED);
        MU_CHECK(scan.place == GS_IO_EVENT_SCAN_END);
        MU_CHECK(scan.ranges.count == 7 && scan.tables[1].count == 4);
        MU_CHECK(scan.tables[2].count == 6 && scan.events == 11);
        gs_free(&ctx, bytes);
        gs_io_event_scan_free(&cut, &ctx);
        gs_io_event_scan_free(&scan, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_wrong(void)
{
    static const char *const wrong[] = {
        "",
        "{",
        "{,",
        "{\"a\"}",
        "{\"a\" 1}",
        "{\"a\": }",
        "{1: 2}",
        "{} x",
        "{\"a\": 1",
        "{\"a\": 1,}",
        "{\"a\": [1}",
        "{\"a\": {]}",
        "{\"a\n",
        "{\"\\x\":",
        "{\"\\u00g",
        "{\"a\": 01}",
        "{\"a\": -}",
        "{\"a\": 1.}",
        "{\"a\": +",
        "{\"a\": nul}",
        "{\"a\": -Inf}",
        "{\"a\": 1e}",
        "{\"a\": .5}",
        "{\"a\": [,]}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        gs_io_event_scan_t scan;
        gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_START, 0, 0);
        int reason = run(&scan, &ctx, wrong[i], (int64_t)strlen(wrong[i]), true);
        MU_CHECK(reason == GS_IO_EVENT_SCAN_WRONG);
        gs_io_event_scan_free(&scan, &ctx);
    }
}

/* Depth and length beyond which the JSON library is asked. */
static void test_odd(void)
{
    char text[1000];
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (int kind = 0; kind < 3; kind++) {
        for (int size = 1; size < 320; size++) {
            memset(text, 0, sizeof text);
            strcpy(text, kind == 2 ? "{\"a\": 1e" : "{\"a\": ");
            memset(text + strlen(text), kind == 0 ? '[' : '1', (size_t)size);
            memset(text + strlen(text), ']', kind == 0 ? (size_t)size : 0);
            strcat(text, "}]");
            gs_io_event_scan_t scan;
            gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_FIRST_EVENT, 0, 0);
            int reason = run(&scan, &ctx, text, (int64_t)strlen(text), false);
            MU_CHECK(reason == GS_IO_EVENT_SCAN_CLOSED);
            bool odd = size > (kind == 0 ? 100 : kind == 1 ? 300 : 6);
            MU_CHECK(scan.ranges.count == odd);
            gs_io_event_scan_free(&scan, &ctx);
        }
    }
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_io_event_scan_t scan;
    const int64_t values[][3] = {{-1, 0, 0}, {6, 0, 0}, {0, -1, 0}, {0, 3, 0}, {0, 0, -1}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        gs_io_event_scan_init(&scan, (int)values[i][0], values[i][1], values[i][2]);
        MU_CHECK(run(&scan, &ctx, "{}", 2, true) == GS_ERR_VALUE);
    }
    gs_io_event_scan_init(&scan, 0, 0, 0);
    const gs_io_json_text_t data = TEXT("{}");
    const gs_io_event_scan_wanted_t none = {TEXT("a"), TEXT(""), 2};
    gs_io_event_scan_group_t groups[GS_IO_EVENT_SCAN_MOST_GROUPS] = {{.count = 0}};
    gs_io_event_scan_selection_t selection = {&none, 1, groups, 2};
    int reason;
    MU_CHECK(gs_io_event_scan_run(&scan, &ctx, &data, &selection, true, &reason) == GS_ERR_VALUE);
    const int64_t counts[][3] = {{0, 0, 0}, {5, 0, 0}, {2, 1, 0}, {2, 0, 17}, {2, 0, -1}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        selection = (gs_io_event_scan_selection_t){&none, 0, groups, counts[i][0]};
        groups[0].count = counts[i][1];
        groups[1].count = counts[i][2];
        MU_CHECK(gs_io_event_scan_run(&scan, &ctx, &data, &selection, true, &reason) ==
                 GS_ERR_VALUE);
    }
    groups[1].count = 1;
    for (int kind = -1; kind <= GS_IO_EVENT_SCAN_KINDS; kind += 1 + GS_IO_EVENT_SCAN_KINDS) {
        groups[1].fields[0].kind = kind;
        MU_CHECK(gs_io_event_scan_run(&scan, &ctx, &data, &selection, true, &reason) ==
                 GS_ERR_VALUE);
    }
}

/* An event of many members, or of many arguments, is reported whole, if its members may be wanted.
 */
static void test_many_members(void)
{
    char text[4000];
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (int inside = 0; inside < 2; inside++) {
        for (int members = 1; members < 70; members++) {
            strcpy(text, inside == 0 ? "{" : "{\"ph\":\"X\",\"cat\":\"call\",\"args\":{");
            for (int k = 1; k < members; k++) {
                strcat(text, "\"filling\":[0],");
            }
            strcat(text, inside == 0 ? "\"ph\":\"M\"}]" : "\"x\":0},\"tid\":5,\"ts\":7.25}]");
            gs_io_event_scan_t scan;
            gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_FIRST_EVENT, 0, 0);
            int reason = run(&scan, &ctx, text, (int64_t)strlen(text), false);
            MU_CHECK(reason == GS_IO_EVENT_SCAN_CLOSED);
            MU_CHECK(scan.ranges.count == (members > 64));
            MU_CHECK(scan.tables[2].count == (inside == 1 && members <= 64 ? 3 : 0));
            gs_io_event_scan_free(&scan, &ctx);
        }
    }
}

static void test_allocation_failures(void)
{
    int64_t needed = 1;
    for (int64_t fail_at = 1; fail_at <= needed; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_io_event_scan_t scan;
        gs_io_event_scan_init(&scan, GS_IO_EVENT_SCAN_START, 0, 0);
        int reason;
        do {
            reason = run(&scan, &ctx, DOCUMENT, (int64_t)sizeof DOCUMENT - 1, true);
        } while (reason == GS_IO_EVENT_SCAN_OPENED || reason == GS_IO_EVENT_SCAN_CLOSED);
        if (reason == GS_ERR_MEMORY) {
            needed = fail_at + 1;
        } else {
            MU_CHECK(reason == GS_IO_EVENT_SCAN_SPENT && fail_at > 4);
        }
        gs_io_event_scan_free(&scan, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_document();
    test_cuts();
    test_wrong();
    test_odd();
    test_refusals();
    test_many_members();
    test_allocation_failures();
    return MU_END();
}
