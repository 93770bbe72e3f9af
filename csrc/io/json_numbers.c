/* Numbers of JSON as integers of 64 bits. */
#include "io/json_numbers.h"

/* Digits that fit 64 bits; digits in all that are rounded here. */
enum { DIGITS = 18, MOST_DIGITS = 40, SIDES = 3 };

/* Reads digits into *number; false for more than DIGITS, or none. */
static bool read_digits(const char **at, const char *end, int64_t *number)
{
    const char *begin = *at;
    *number = 0;
    for (; *at < end && gs_io_json_is_digit(**at); (*at)++) {
        if (*at - begin == DIGITS) {
            return false;
        }
        *number = 10 * *number + (**at - '0');
    }
    return *at > begin;
}

/* Reads a sign and digits. */
static bool read_integer(const char **at, const char *end, int64_t *number)
{
    bool negative = *at < end && **at == '-';
    *at += negative;
    bool read = read_digits(at, end, number);
    *number = negative ? -*number : *number;
    return read;
}

/* 1 where the digits behind the third decimal round the number up, which is `last` before it. */
static int rounds_up(const char *at, const char *end, int64_t last)
{
    char first = at == end ? '0' : *at;
    if (first != '5') {
        return first > '5';
    }
    for (at++; at < end; at++) {
        if (*at != '0') {
            return 1;
        }
    }
    return (int)(last % 2);
}

bool gs_io_json_thousandths(gs_io_json_text_t value, int64_t *number)
{
    const char *at = value.bytes, *const end = value.bytes + value.size;
    bool negative = *at == '-';
    at += negative;
    int64_t whole;
    if (value.size > MOST_DIGITS || !read_digits(&at, end, &whole) ||
        whole >= GS_IO_JSON_MOST_THOUSANDTHS / 1000) {
        return false;
    }
    int64_t found = 1000 * whole;
    if (at < end && *at == '.') {
        at++;
        for (int64_t unit = 100; unit > 0 && at < end && gs_io_json_is_digit(*at);
             unit /= 10, at++) {
            found += unit * (*at - '0');
        }
        const char *rest = at;
        while (at < end && gs_io_json_is_digit(*at)) {
            at++;
        }
        found += rounds_up(rest, at, found);
    }
    *number = negative ? -found : found;
    return at == end;
}

bool gs_io_json_integer(gs_io_json_text_t value, int64_t *number)
{
    const char *at = value.bytes, *const end = value.bytes + value.size;
    return read_integer(&at, end, number) && at == end;
}

bool gs_io_json_product(gs_io_json_text_t value, int64_t least, int64_t *number)
{
    gs_io_json_cursor_t c = {.at = value.bytes + 1, .end = value.bytes + value.size};
    if (*value.bytes != '[') {
        return false;
    }
    *number = 1;
    for (int side = 0; side < SIDES; side++) {
        int64_t factor;
        gs_io_json_to_token(&c);
        if (!read_integer(&c.at, c.end, &factor) || factor < least ||
            !gs_mul(*number, factor, number) || *number >= INT64_C(1) << 62) {
            return false;
        }
        if (!gs_io_json_to_token(&c) || *c.at++ != (side < SIDES - 1 ? ',' : ']')) {
            return false;
        }
    }
    return true;
}
