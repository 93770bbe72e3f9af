/* Numbers of JSON as integers of 64 bits, where that is exact or correctly rounded and plain.
 *
 * Values are given as they are written, their grammar checked. False for what is no such number,
 * and for unusual ones (exponents, many digits), which are left to a JSON library.
 */
#ifndef GS_IO_JSON_NUMBERS_H
#define GS_IO_JSON_NUMBERS_H

#include "io/json_tokens.h"

/* The largest absolute value of thousandths: a sum of two fits 64 bits. */
#define GS_IO_JSON_MOST_THOUSANDTHS (INT64_C(4000000000000000) * 1000)

/* 1000 times a number, rounded half to even. */
bool gs_io_json_thousandths(gs_io_json_text_t value, int64_t *number);

/* An integer of up to 18 digits. */
bool gs_io_json_integer(gs_io_json_text_t value, int64_t *number);

/* The product of a list of three such integers of at least `least` >= 0, below 2^62. */
bool gs_io_json_product(gs_io_json_text_t value, int64_t least, int64_t *number);

#endif
