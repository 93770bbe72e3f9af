/* Rows of numbers as text: the same pieces of text with other numbers in between, row by row.
 *
 * For formats with many similar records, such as the events of a Chrome trace. The caller provides
 * the text, which is copied as it is.
 */
#ifndef GS_IO_ROW_TEXT_H
#define GS_IO_ROW_TEXT_H

#include "core/context.h"

/* Notation of a column.
 *
 * integer: in decimal. scaled: times the factor. thousandths: times the factor, divided by 1000,
 * exactly, without trailing zeros (nanoseconds as microseconds). text: the number of a text.
 * optional: as integer. For GS_IO_ROW_TEXT_NONE, scaled and thousandths write null, optional
 * nothing. */
enum {
    GS_IO_ROW_TEXT_INTEGER = 0,
    GS_IO_ROW_TEXT_SCALED = 1,
    GS_IO_ROW_TEXT_THOUSANDTHS = 2,
    GS_IO_ROW_TEXT_TEXT = 3,
    GS_IO_ROW_TEXT_OPTIONAL = 4
};

#define GS_IO_ROW_TEXT_NONE INT64_MIN

/* Texts one after the other: text k is bytes[begin[k]] to bytes[begin[k + 1] - 1]. */
typedef struct {
    const char *bytes;
    const int64_t *begin; /* count + 1 entries, ascending */
    int64_t count;
} gs_io_row_text_texts_t;

typedef struct {
    int64_t rows;
    int64_t columns;
    const int64_t *kind;          /* of each column */
    const int64_t *value;         /* columns * rows, column by column */
    int64_t factor;               /* of scaled numbers, positive */
    gs_io_row_text_texts_t fixed; /* columns + 1: before, between and behind the columns */
    gs_io_row_text_texts_t texts; /* of columns of texts */
} gs_io_row_text_t;

typedef struct {
    char *bytes; /* owned */
    int64_t count;
    int64_t capacity;
} gs_io_row_text_buffer_t;

/* Writes the rows, without anything between them, into a zeroed buffer. Refuses kinds, factors and
 * texts out of range (row: the column, or the row). */
int gs_io_row_text_write(gs_context_t *ctx, const gs_io_row_text_t *rows,
                         gs_io_row_text_buffer_t *buffer);
void gs_io_row_text_free(gs_io_row_text_buffer_t *buffer, gs_context_t *ctx);

#endif
