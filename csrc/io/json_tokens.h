/* Tokens of JSON: strings, numbers, keys and whole values are skipped, and their grammar checked.
 *
 * The grammar is that of Python's json: RFC 8259 with NaN, Infinity and -Infinity. UTF-8 is not
 * checked. A text may be at hand in pieces: where it ends before a token does, more is needed.
 */
#ifndef GS_IO_JSON_TOKENS_H
#define GS_IO_JSON_TOKENS_H

#include <string.h>

#include "core/context.h"

/* Bytes of a text, or a value as it is written; bytes is NULL where there is none. */
typedef struct {
    const char *bytes;
    int64_t size;
} gs_io_json_text_t;

/* Results: taken, not complete yet, against the grammar; an error has another value. */
enum { GS_IO_JSON_TAKEN = 0, GS_IO_JSON_CUT = 1, GS_IO_JSON_WRONG = 2 };

typedef struct {
    const char *at, *end;
    const char *line; /* behind the last end of a line, or NULL */
    int64_t lines;
    bool last; /* no more will follow */
    bool odd;  /* deep nesting or a long number, which a JSON library may refuse */
} gs_io_json_cursor_t;

/* The opening character of each value that is open. */
typedef struct {
    char *opening; /* owned */
    int64_t capacity;
} gs_io_json_levels_t;

/* The text ends before the part does. */
static inline int gs_io_json_cut(const gs_io_json_cursor_t *c)
{
    return c->last ? GS_IO_JSON_WRONG : GS_IO_JSON_CUT;
}

static inline bool gs_io_json_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* Skips space; false at the end of the text. */
static inline bool gs_io_json_to_token(gs_io_json_cursor_t *c)
{
    const char *at = c->at; /* a copy: bytes may not be taken for those of the cursor */
    const char *const end = c->end;
    for (; at < end && (unsigned char)*at <= ' '; at++) {
        if (*at == '\n') {
            c->lines++;
            c->line = at + 1;
        } else if (*at != ' ' && *at != '\t' && *at != '\r') {
            break;
        }
    }
    c->at = at;
    return at < end;
}

/* Skips a key and its colon, up to the value. */
int gs_io_json_skip_key(gs_io_json_cursor_t *c, gs_io_json_text_t *key);

/* Skips a value, of which c->at is the first byte. */
int gs_io_json_skip_value(gs_io_json_levels_t *levels, gs_context_t *ctx, gs_io_json_cursor_t *c);

void gs_io_json_levels_free(gs_io_json_levels_t *levels, gs_context_t *ctx);

/* For a string with escapes, without its quotes: true when it begins with a text, or is the text.
 */
bool gs_io_json_unescaped_begins(gs_io_json_text_t string, const gs_io_json_text_t *text,
                                 bool whole);

/* True when a value is a string that begins with a text; `whole`: that is the text. */
static inline bool gs_io_json_begins(gs_io_json_text_t value, const gs_io_json_text_t *text,
                                     bool whole)
{
    if (value.bytes == NULL || *value.bytes != '"' || value.size < text->size + 2) {
        return false; /* an escape is never shorter than what it stands for */
    }
    gs_io_json_text_t string = {value.bytes + 1, value.size - 2};
    if (text->size > 0 && *string.bytes != *text->bytes && *string.bytes != '\\') {
        return false;
    }
    const size_t size = text->size > 0 ? (size_t)text->size : 0;
    if (memcmp(string.bytes, text->bytes, size) == 0) {
        return !whole || string.size == text->size;
    }
    return gs_io_json_unescaped_begins(string, text, whole);
}

#endif
