/* Text: events of a trace in JSON, taken whole and in pieces; rows of numbers as text. */
#include "fuzz.h"
#include "internal.h"

enum { MOST = 4096 };

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static const gs_io_event_scan_wanted_t WANTED[] = {
    {TEXT("k"), TEXT(""), 1}, {TEXT("c"), TEXT("S#"), 0}, {TEXT("m"), TEXT("x"), 2}};
static const gs_io_event_scan_group_t GROUPS[] = {
    {.count = 0},
    {{{TEXT("name"), false, GS_IO_EVENT_SCAN_TEXT, 0, true},
      {TEXT("grid"), true, GS_IO_EVENT_SCAN_PRODUCT, 1, true}},
     2},
    {{{TEXT("ts"), false, GS_IO_EVENT_SCAN_THOUSANDTHS, -100, false},
      {TEXT("name"), false, GS_IO_EVENT_SCAN_IDENTIFIER, 0, false}},
     2},
};
static const gs_io_event_scan_selection_t SELECTION = {WANTED, 3, GROUPS, 3};

/* Results of a scan of a whole text, or of a text in pieces. */
typedef struct {
    bool done; /* the text was taken without an error */
    int64_t events, rows, lines;
    uint64_t sums[6]; /* of each column: pieces give some rows of all columns, then more */
} scanned_t;

static bool is_text(int64_t group, int64_t field)
{
    int kind = GROUPS[group].fields[field].kind;
    return kind == GS_IO_EVENT_SCAN_TEXT || kind == GS_IO_EVENT_SCAN_IDENTIFIER;
}

/* Numbers of texts depend on the pieces: the texts themselves are added. */
static void add_text(const gs_io_text_codes_t *texts, int64_t code, uint64_t *sum)
{
    FUZZ_CHECK(0 <= code && code < texts->count);
    int64_t at = code == 0 ? 0 : texts->end[code - 1] + 1;
    for (; at < texts->end[code]; at++) {
        *sum = 31 * *sum + (uint8_t)texts->bytes[at];
    }
}

static void add_rows(const gs_io_event_scan_t *scan, scanned_t *result)
{
    uint64_t *sum = result->sums;
    for (int64_t k = 0; k < scan->ranges.count; k++) {
        const gs_io_event_scan_range_t *range = &scan->ranges.range[k];
        FUZZ_CHECK(0 <= range->begin && range->begin < range->end);
    }
    result->rows += scan->ranges.count;
    for (int64_t group = 1; group < SELECTION.group_count; group++) {
        const gs_io_event_scan_table_t *table = &scan->tables[group];
        int64_t width = 1 + GROUPS[group].count;
        FUZZ_CHECK(table->count % width == 0);
        result->rows += table->count / width;
        for (int64_t c = 0; c < width; c++, sum++) {
            for (int64_t k = c; k < table->count; k += width) {
                if (c > 0 && is_text(group, c - 1) && table->value[k] != GS_IO_EVENT_SCAN_ABSENT) {
                    add_text(&scan->texts, table->value[k], sum);
                } else {
                    *sum = 31 * *sum + (uint64_t)table->value[k];
                }
            }
        }
    }
    result->lines += scan->lines;
}

/* Takes the text in pieces that grow by some bytes. */
static scanned_t scan(fuzz_t *f, const char *text, int64_t size, int64_t piece)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    scanned_t result = {.done = false};
    int place = GS_IO_EVENT_SCAN_START;
    int64_t position = 0, events = 0;
    for (int64_t end = piece, reason = 0;; end += piece) {
        bool last = end >= size;
        end = last ? size : end;
        char *copy = malloc((size_t)end + 1); /* reads behind it are found */
        FUZZ_CHECK(copy != NULL);
        copy = realloc(copy, end > 0 ? (size_t)end : 1);
        memcpy(copy, text, (size_t)end);
        const gs_io_json_text_t data = {copy, end};
        int status = GS_OK, why = GS_IO_EVENT_SCAN_OPENED;
        while (status == GS_OK &&
               (why == GS_IO_EVENT_SCAN_OPENED || why == GS_IO_EVENT_SCAN_CLOSED)) {
            gs_io_event_scan_t scan;
            gs_io_event_scan_init(&scan, place, position, events);
            status = gs_io_event_scan_run(&scan, &ctx, &data, &SELECTION, last, &why);
            if (status == GS_OK) {
                FUZZ_CHECK(position <= scan.position && scan.position <= end);
                FUZZ_CHECK(0 <= scan.place && scan.place < GS_IO_EVENT_SCAN_PLACES);
                place = scan.place;
                position = scan.position;
                events = scan.events;
                add_rows(&scan, &result);
            }
            gs_io_event_scan_free(&scan, &ctx);
        }
        free(copy);
        reason = why;
        if (!fuzz_done(&ctx, status) || reason != GS_IO_EVENT_SCAN_SPENT || last) {
            result.done = status == GS_OK && reason == GS_IO_EVENT_SCAN_SPENT;
            break;
        }
    }
    result.events = events;
    fuzz_end(&ctx);
    return result;
}

/* A text of tokens that the scan knows, and of bytes. */
static int64_t read_text(fuzz_t *f, char *text)
{
    static const char *const tokens[] = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         ":",
                                         "\"",
                                         "\\u006b",
                                         "\"ph\":",
                                         "\"X\"",
                                         "\"cat\":",
                                         "\"k\"",
                                         "\"c\"",
                                         "\"m\"",
                                         "\"name\":",
                                         "\"S#1\"",
                                         "\"args\":",
                                         "\"grid\":",
                                         "\"ts\":",
                                         "-1.5e+3",
                                         "0",
                                         "true",
                                         "null",
                                         "NaN",
                                         "\n",
                                         " ",
                                         "{\"traceEvents\":[",
                                         "{\"ph\":\"X\",\"cat\":\"k\",",
                                         "\"args\":{\"grid\":[1,2,3]}}",
                                         "\\",
                                         "\\ud83d",
                                         "-Infinity"};
    int64_t size = 0;
    while (f->at < f->end && size < MOST - 64) {
        uint8_t byte = fuzz_byte(f);
        if (byte >= 0x80 && byte < 0xa0) {
            const char *token = tokens[byte - 0x80];
            memcpy(text + size, token, strlen(token));
            size += (int64_t)strlen(token);
        } else if (byte == 0xa0) { /* deep nesting */
            for (int64_t k = fuzz_byte(f) % 64; k > 0 && size < MOST - 64; k--) {
                text[size++] = '[';
            }
        } else {
            text[size++] = (char)byte;
        }
    }
    return size;
}

static void read_rows(fuzz_t *f)
{
    enum { ROWS = 3, COLUMNS = 3 };
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    static const char bytes[] = "{\"a\":,}";
    int64_t kind[COLUMNS], value[ROWS * COLUMNS], begin[COLUMNS + 2], words[4] = {0, 1, 3, 7};
    for (int64_t k = 0; k < COLUMNS; k++) {
        kind[k] = fuzz_number(f, 0, 4);
        begin[k] = fuzz_below(f, 2) + k;
    }
    begin[0] = 0;
    begin[COLUMNS] = 5;
    begin[COLUMNS + 1] = 7;
    for (int64_t k = 0; k < ROWS * COLUMNS; k++) {
        value[k] = fuzz_one_in(f, 8) ? GS_IO_ROW_TEXT_NONE : fuzz_number(f, 0, 40000);
        value[k] = fuzz_one_in(f, 4) ? value[k] : value[k] % 3;
    }
    gs_io_row_text_t rows = {.rows = fuzz_below(f, ROWS + 1),
                             .columns = COLUMNS,
                             .kind = kind,
                             .value = value,
                             .factor = fuzz_number(f, 1, 1000),
                             .fixed = {bytes, begin, COLUMNS + 1},
                             .texts = {bytes, words, 3}};
    gs_io_row_text_buffer_t buffer = {NULL, 0, 0};
    int status = gs_io_row_text_write(&ctx, &rows, &buffer);
    if (fuzz_done(&ctx, status)) {
        FUZZ_CHECK(buffer.count >= rows.rows * 7 && buffer.count <= buffer.capacity);
    }
    gs_io_row_text_free(&buffer, &ctx);
    fuzz_end(&ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    if (fuzz_one_in(&f, 8)) {
        read_rows(&f);
        return 0;
    }
    int64_t piece = 1 + fuzz_below(&f, 200);
    char text[MOST];
    int64_t length = read_text(&f, text);
    scanned_t whole = scan(&f, text, length, length + 1);
    scanned_t parts = scan(&f, text, length, piece < length / 64 ? length / 64 : piece);
    if (f.fail_at == 0) {
        FUZZ_CHECK(whole.done == parts.done);
        FUZZ_CHECK(!whole.done || (whole.events == parts.events && whole.rows == parts.rows &&
                                   whole.lines == parts.lines));
        FUZZ_CHECK(!whole.done || memcmp(whole.sums, parts.sums, sizeof whole.sums) == 0);
    }
    return 0;
}
