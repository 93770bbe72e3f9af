/* Tests of io/json_numbers.h and io/text_codes.h: exact values, limits, equal texts. */
#include "io/json_numbers.h"

#include <string.h>

#include "io/text_codes.h"
#include "minunit.h"

enum { NONE = 12345 };

static gs_io_json_text_t text(const char *written)
{
    return (gs_io_json_text_t){written, (int64_t)strlen(written)};
}

static void test_thousandths(void)
{
    static const struct {
        const char *written;
        int64_t number; /* NONE where it is left to a JSON library */
    } cases[] = {
        {"0", 0},
        {"-0", 0},
        {"7", 7000},
        {"-7.25", -7250},
        {"1695835573023613.500", 1695835573023613500},
        {"0.0005", 0},
        {"0.0015", 2},
        {"0.00050000000000000000000000000000000001", 1},
        {"0.0004999", 0},
        {"0.0006", 1},
        {"-0.0015", -2},
        {"-0.0025", -2},
        {"1.9996", 2000},
        {"1.9995", 2000},
        {"3999999999999999.9999", 4000000000000000000},
        {"4000000000000000", NONE},
        {"-4000000000000000", NONE},
        {"1234567890123456789", NONE},
        {"1e3", NONE},
        {"1.5E2", NONE},
        {"NaN", NONE},
        {"-Infinity", NONE},
        {"\"1\"", NONE},
        {"[1]", NONE},
        {"true", NONE},
        {"0.00000000000000000000000000000000000000", 0},
        {"0.0000000000000000000000000000000000000000", NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t number = 1;
        bool found = gs_io_json_thousandths(text(cases[i].written), &number);
        MU_CHECK(found == (cases[i].number != NONE));
        MU_CHECK(!found || number == cases[i].number);
    }
}

static void test_integers(void)
{
    int64_t number;
    MU_CHECK(gs_io_json_integer(text("-0"), &number) && number == 0);
    MU_CHECK(gs_io_json_integer(text("999999999999999999"), &number) &&
             number == 999999999999999999);
    MU_CHECK(gs_io_json_integer(text("-999999999999999999"), &number) &&
             number == -999999999999999999);
    static const char *const others[] = {
        "1000000000000000000", "1.0", "1e2", "null", "\"1\"", "{}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        MU_CHECK(!gs_io_json_integer(text(others[i]), &number));
    }
}

static void test_products(void)
{
    int64_t number;
    MU_CHECK(gs_io_json_product(text("[4,3,2]"), 1, &number) && number == 24);
    MU_CHECK(gs_io_json_product(text("[ 4 ,\n3\t,\r2 ]"), 1, &number) && number == 24);
    MU_CHECK(gs_io_json_product(text("[2147483647,65535,32767]"), 1, &number) &&
             number == INT64_C(2147483647) * 65535 * 32767);
    MU_CHECK(gs_io_json_product(text("[1,0,2]"), 0, &number) && number == 0);
    static const char *const others[] = {
        "[4,3]",
        "[4,3,2,1]",
        "[]",
        "[4,3,0]",
        "[4,3,-2]",
        "[4,3,2.0]",
        "[[4,3,2]]",
        "7",
        "\"[4,3,2]\"",
        "[4,null,2]",
        "{}",
        "[2147483647,2147483647,1]",
        "[2147483648,2147483647,8]",
        "[1000000000000000000,1,1]",
        "[999999999999999999,4,1]",
        "[999999999999999999,5,1]",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bool fits = strcmp(others[i], "[2147483647,2147483647,1]") == 0 ||
                    strcmp(others[i], "[999999999999999999,4,1]") == 0;
        MU_CHECK(gs_io_json_product(text(others[i]), 1, &number) == fits);
    }
}

/* Texts of all lengths, each several times; allocations that fail. */
static void test_texts(void)
{
    enum { LENGTHS = 80 };
    char letters[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) {
        letters[i] = (char)('a' + i % 7);
    }
    for (int64_t fail_at = 0; fail_at < 12; fail_at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        gs_io_text_codes_t codes;
        gs_io_text_codes_init(&codes);
        int status = GS_OK;
        for (int64_t i = 0; i < 3 * LENGTHS && status == GS_OK; i++) {
            int64_t code = -1;
            status = gs_io_text_codes_find(&codes, &ctx,
                                           (gs_io_json_text_t){letters, 1 + i % LENGTHS}, &code);
            MU_CHECK(status != GS_OK || code == i % LENGTHS);
        }
        MU_CHECK(status == GS_ERR_MEMORY || codes.count == LENGTHS);
        MU_CHECK(fail_at != 0 || (status == GS_OK && memcmp(codes.bytes, "a,ab,abc,", 9) == 0));
        gs_io_text_codes_free(&codes, &ctx);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_thousandths();
    test_integers();
    test_products();
    test_texts();
    return MU_END();
}
