/* Tests of io/json_tokens.h: values at every cut, texts with escapes, lines, failure to allocate.
 */
#include "io/json_tokens.h"

#include "minunit.h"

/* Skips a value of so many bytes; *taken receives those that belong to it. */
static int skip(gs_context_t *ctx, const char *text, int64_t size, bool last, int64_t *taken,
                bool *odd)
{
    gs_io_json_cursor_t c = {.at = text, .end = text + size, .last = last};
    gs_io_json_levels_t levels = {0};
    int status = gs_io_json_skip_value(&levels, ctx, &c);
    gs_io_json_levels_free(&levels, ctx);
    *taken = c.at - text;
    *odd = c.odd;
    return status;
}

static void test_values(void)
{
    static const struct {
        const char *text;
        int64_t taken; /* -1: against the grammar */
    } values[] = {
        {"\"a\\u00e9\\n\" ", 11},
        {"-12.5e+3,", 8},
        {"0]", 1},
        {"1.x", 1},
        {"-Infinity ", 9},
        {"NaN ", 3},
        {"[1, {}, [] ] ", 12},
        {"{\"a\": [true]} ", 13},
        {"\"\\x\"", -1},
        {"tru ", -1},
        {"[1 2]", -1},
        {"{\"a\" 1}", -1},
        {"[1,]", -1},
        {"- ", -1},
        {"\"\n\"", -1},
    };
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const int64_t size = (int64_t)strlen(values[i].text);
        int64_t taken;
        bool odd;
        int status = skip(&ctx, values[i].text, size, true, &taken, &odd);
        MU_CHECK(status == (values[i].taken < 0 ? GS_IO_JSON_WRONG : GS_IO_JSON_TAKEN) && !odd);
        MU_CHECK(values[i].taken < 0 || taken == values[i].taken);
        for (int64_t cut = 1; cut < values[i].taken; cut++) { /* a part: more is needed */
            MU_CHECK(skip(&ctx, values[i].text, cut, false, &taken, &odd) == GS_IO_JSON_CUT);
        }
    }
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_odd_values(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    char text[400];
    int64_t taken;
    bool odd;
    memset(text, '1', sizeof text);
    MU_CHECK(skip(&ctx, text, 300, true, &taken, &odd) == GS_IO_JSON_TAKEN && !odd);
    MU_CHECK(skip(&ctx, text, 301, true, &taken, &odd) == GS_IO_JSON_TAKEN && odd);
    memset(text, '[', 200);
    memset(text + 200, ']', 200);
    MU_CHECK(skip(&ctx, text + 100, 200, true, &taken, &odd) == GS_IO_JSON_TAKEN && !odd);
    MU_CHECK(skip(&ctx, text + 99, 202, true, &taken, &odd) == GS_IO_JSON_TAKEN && odd);
    for (int64_t fail_at = 1; fail_at <= 4; fail_at++) { /* room for 16, 32, 64, 128 levels */
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        MU_CHECK(skip(&ctx, text + 100, 200, true, &taken, &odd) == GS_ERR_MEMORY);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_keys(void)
{
    static const char text[] = " \"na\\u006de\" \n:\t1";
    gs_io_json_cursor_t c = {.at = text, .end = text + sizeof text - 1, .last = true};
    gs_io_json_text_t key;
    const gs_io_json_text_t name = {"name", 4}, begin = {"na", 2}, other = {"nam", 3};
    MU_CHECK(gs_io_json_skip_key(&c, &key) == GS_IO_JSON_TAKEN);
    MU_CHECK(*c.at == '1' && c.lines == 1 && *c.line == ':' && key.size == 11);
    MU_CHECK(gs_io_json_begins(key, &name, true) && gs_io_json_begins(key, &begin, false));
    MU_CHECK(!gs_io_json_begins(key, &other, true) && gs_io_json_begins(key, &other, false));
    const gs_io_json_text_t number = {"17", 2}, none = {NULL, 0};
    MU_CHECK(!gs_io_json_begins(number, &begin, false) && !gs_io_json_begins(none, &begin, false));
}

int main(void)
{
    test_values();
    test_odd_values();
    test_keys();
    return MU_END();
}
