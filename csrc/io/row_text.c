/* Rows of numbers as text. */
#include "io/row_text.h"

#include <string.h>

#include "core/int128.h"
#include "core/vector.h"

/* Most characters of a number: a sign, 39 digits of 128 bits, a point. */
enum { NUMBER = 48 };

static int check_texts(gs_context_t *ctx, const gs_io_row_text_texts_t *texts, const char *field)
{
    for (int64_t k = 0; k < texts->count; k++) {
        if (texts->begin[k] < 0 || texts->begin[k] > texts->begin[k + 1]) {
            return gs_fail(ctx, GS_ERR_VALUE, field, k, texts->begin[k], "ascending places");
        }
    }
    return GS_OK;
}

static int check(gs_context_t *ctx, const gs_io_row_text_t *rows)
{
    int status = check_texts(ctx, &rows->fixed, "fixed");
    if (status == GS_OK) {
        status = check_texts(ctx, &rows->texts, "texts");
    }
    if (status == GS_OK && rows->fixed.count != rows->columns + 1) {
        status = gs_fail(ctx, GS_ERR_VALUE, "fixed", -1, rows->fixed.count,
                         "one text more than columns");
    }
    if (status == GS_OK && rows->factor < 1) {
        status = gs_fail(ctx, GS_ERR_VALUE, "factor", -1, rows->factor, "a positive number");
    }
    for (int64_t c = 0; c < rows->columns && status == GS_OK; c++) {
        if (rows->kind[c] < GS_IO_ROW_TEXT_INTEGER || rows->kind[c] > GS_IO_ROW_TEXT_OPTIONAL) {
            status = gs_fail(ctx, GS_ERR_VALUE, "kind", c, rows->kind[c], "a kind of column");
        }
    }
    return status;
}

/* Room for `needed` more bytes. */
static char *reserve(gs_io_row_text_buffer_t *self, gs_context_t *ctx, int64_t needed)
{
    int64_t count;
    if (!gs_add(self->count, needed, &count)) {
        ctx->status = GS_ERR_MEMORY;
        return NULL;
    }
    if (count > self->capacity) {
        char *bytes = gs_vector_reserve(ctx, self->bytes, &self->capacity, count, 1);
        if (bytes == NULL) {
            return NULL;
        }
        self->bytes = bytes;
    }
    return self->bytes + self->count;
}

static int put(gs_io_row_text_buffer_t *self, gs_context_t *ctx,
               const gs_io_row_text_texts_t *texts, int64_t k)
{
    int64_t length = texts->begin[k + 1] - texts->begin[k];
    char *to = reserve(self, ctx, length);
    if (to == NULL) {
        return ctx->status;
    }
    memcpy(to, texts->bytes + texts->begin[k], (size_t)length);
    self->count += length;
    return GS_OK;
}

/* The digits of a number before `end`; returns where they begin. */
static char *digits(char *end, uint64_t value)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313"
                                "23334353637383940414243444546474849505152535455565758596061626364"
                                "65666768697071727374757677787980818283848586878889909192939495969"
                                "79899";
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

/* The same for 128 bits. */
static char *long_digits(char *end, gs_int128_t value)
{
    while (value > UINT64_MAX) {
        *--end = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    return digits(end, (uint64_t)value);
}

/* A number before `end`. */
static char *number(char *end, int kind, int64_t value, int64_t factor)
{
    bool whole = kind == GS_IO_ROW_TEXT_INTEGER || kind == GS_IO_ROW_TEXT_OPTIONAL;
    if (kind != GS_IO_ROW_TEXT_INTEGER && value == GS_IO_ROW_TEXT_NONE) {
        return whole ? end : memcpy(end - 4, "null", 4);
    }
    uint64_t amount = value < 0 ? -(uint64_t)value : (uint64_t)value;
    gs_int128_t scaled = (gs_int128_t)amount;
    if (!whole) {
        scaled *= (uint64_t)factor;
    }
    if (kind == GS_IO_ROW_TEXT_THOUSANDTHS) {
        int rest;
        if (scaled <= UINT64_MAX) { /* 64-bit division is several times faster */
            rest = (int)((uint64_t)scaled % 1000);
            scaled = (uint64_t)scaled / 1000;
        } else {
            rest = (int)(scaled % 1000);
            scaled /= 1000;
        }
        if (rest != 0) {
            int shown = 3;
            for (; rest % 10 == 0; rest /= 10) {
                shown--;
            }
            for (; shown > 0; shown--, rest /= 10) {
                *--end = (char)('0' + rest % 10);
            }
            *--end = '.';
        }
    }
    end = long_digits(end, scaled);
    if (value < 0) {
        *--end = '-';
    }
    return end;
}

static int put_number(gs_io_row_text_buffer_t *self, gs_context_t *ctx, int kind, int64_t value,
                      int64_t factor)
{
    char *to = reserve(self, ctx, NUMBER);
    if (to == NULL) {
        return ctx->status;
    }
    char text[NUMBER], *const end = text + NUMBER, *begin = number(end, kind, value, factor);
    memcpy(to, begin, (size_t)(end - begin));
    self->count += end - begin;
    return GS_OK;
}

int gs_io_row_text_write(gs_context_t *ctx, const gs_io_row_text_t *rows,
                         gs_io_row_text_buffer_t *buffer)
{
    *buffer = (gs_io_row_text_buffer_t){0};
    int status = check(ctx, rows);
    for (int64_t row = 0; row < rows->rows && status == GS_OK; row++) {
        for (int64_t c = 0; c < rows->columns && status == GS_OK; c++) {
            int64_t value = rows->value[c * rows->rows + row];
            status = put(buffer, ctx, &rows->fixed, c);
            if (status != GS_OK) {
                break;
            }
            if (rows->kind[c] != GS_IO_ROW_TEXT_TEXT) {
                status = put_number(buffer, ctx, (int)rows->kind[c], value, rows->factor);
            } else if (value < 0 || value >= rows->texts.count) {
                status = gs_fail(ctx, GS_ERR_VALUE, "value", row, value, "the number of a text");
            } else {
                status = put(buffer, ctx, &rows->texts, value);
            }
        }
        if (status == GS_OK) {
            status = put(buffer, ctx, &rows->fixed, rows->columns);
        }
        if (status == GS_OK) {
            status = gs_poll(ctx, 8 * (rows->columns + 1));
        }
    }
    return status;
}

void gs_io_row_text_free(gs_io_row_text_buffer_t *buffer, gs_context_t *ctx)
{
    gs_free(ctx, buffer->bytes);
    *buffer = (gs_io_row_text_buffer_t){0};
}
