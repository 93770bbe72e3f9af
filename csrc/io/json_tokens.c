/* Tokens of JSON. */
#include "io/json_tokens.h"

#include "core/vector.h"

/* From here on a JSON library may refuse what the grammar allows. */
enum { DEEP = 100, LONG_NUMBER = 300, LONG_EXPONENT = 6 };

/* The value of a hexadecimal digit, or -1. */
static int hexadecimal(char byte)
{
    if (gs_io_json_is_digit(byte)) {
        return byte - '0';
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A byte that ends a part of a string, or is wrong in it. */
static bool is_special(char byte)
{
    return byte == '"' || byte == '\\' || (unsigned char)byte < 0x20;
}

/* Bytes that are looked at together. */
enum { TOGETHER = 16 };
typedef uint8_t bytes_t __attribute__((vector_size(TOGETHER)));
typedef uint64_t words_t __attribute__((vector_size(TOGETHER)));

/* The place of the first byte that is not 0 in the order of memory; 8 without one. */
static int first_byte(uint64_t word)
{
    if (word == 0) {
        return 8;
    }
    bool lowest_first = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return (lowest_first ? __builtin_ctzll(word) : __builtin_clzll(word)) / 8;
}

/* The number of bytes before the first quote, backslash or control character. */
static int plain_bytes(const char *at)
{
    bytes_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    words_t found = (words_t)((bytes == '"') | (bytes == '\\') | (bytes < 0x20));
    int first = first_byte(found[0]);
    return first < 8 ? first : 8 + first_byte(found[1]);
}

/* Skips an escape, of which c->at is the backslash. */
static int skip_escape(gs_io_json_cursor_t *c)
{
    if (c->end - c->at < 2) {
        return gs_io_json_cut(c);
    }
    char kind = c->at[1];
    if (kind != 'u') {
        c->at += 2;
        return strchr("\"\\/bfnrt", kind) != NULL && kind != 0 ? GS_IO_JSON_TAKEN
                                                               : GS_IO_JSON_WRONG;
    }
    for (int i = 2; i < 6; i++) {
        if (c->end - c->at <= i) {
            return gs_io_json_cut(c);
        }
        if (hexadecimal(c->at[i]) < 0) {
            return GS_IO_JSON_WRONG;
        }
    }
    c->at += 6;
    return GS_IO_JSON_TAKEN;
}

/* Skips a string, of which c->at is the opening quote. */
static int skip_string(gs_io_json_cursor_t *c)
{
    c->at++;
    for (;;) {
        const char *at = c->at, *const end = c->end;
        int plain = TOGETHER;
        while (plain == TOGETHER && end - at >= TOGETHER) {
            plain = plain_bytes(at);
            at += plain;
        }
        while (plain == TOGETHER && at < end && !is_special(*at)) {
            at++;
        }
        c->at = at;
        if (at == end) {
            return gs_io_json_cut(c);
        }
        if (*at == '"') {
            c->at++;
            return GS_IO_JSON_TAKEN;
        }
        if (*at != '\\') {
            return GS_IO_JSON_WRONG;
        }
        int status = skip_escape(c);
        if (status != GS_IO_JSON_TAKEN) {
            return status;
        }
    }
}

/* Skips digits. */
static const char *behind_digits(const char *at, const char *end)
{
    while (at < end && gs_io_json_is_digit(*at)) {
        at++;
    }
    return at;
}

/* Skips a number. A point or an exponent without digits does not belong to it. */
static int skip_number(gs_io_json_cursor_t *c)
{
    const char *begin = c->at, *const end = c->end;
    const char *at = begin + (*begin == '-'), *after = at;
    if (at == end) {
        return gs_io_json_cut(c);
    }
    after = *at == '0' ? at + 1 : behind_digits(at, end);
    if (after == at) {
        return GS_IO_JSON_WRONG;
    }
    at = after;
    if (at < end && *at == '.') {
        at = behind_digits(at + 1, end);
        if (at == after + 1 && at < end) {
            c->at = after;
            return GS_IO_JSON_TAKEN;
        }
        after = at > after + 1 ? at : after;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        const char *digits = at + 1;
        digits += digits < end && (*digits == '+' || *digits == '-');
        at = behind_digits(digits, end);
        after = at > digits ? at : after;
        c->odd |= at - digits > LONG_EXPONENT;
    }
    if (at == end && !c->last) {
        return GS_IO_JSON_CUT;
    }
    c->at = after;
    c->odd |= after - begin > LONG_NUMBER;
    return GS_IO_JSON_TAKEN;
}

static int skip_word(gs_io_json_cursor_t *c, const char *word)
{
    for (; *word != 0; word++, c->at++) {
        if (c->at == c->end) {
            return gs_io_json_cut(c);
        }
        if (*c->at != *word) {
            return GS_IO_JSON_WRONG;
        }
    }
    return GS_IO_JSON_TAKEN;
}

/* Skips a string, a number or a word. */
static int skip_scalar(gs_io_json_cursor_t *c)
{
    switch (*c->at) {
    case '"':
        return skip_string(c);
    case 't':
        return skip_word(c, "true");
    case 'f':
        return skip_word(c, "false");
    case 'n':
        return skip_word(c, "null");
    case 'N':
        return skip_word(c, "NaN");
    case 'I':
        return skip_word(c, "Infinity");
    case '-':
        if (c->end - c->at >= 2 && c->at[1] == 'I') {
            return skip_word(c, "-Infinity");
        }
        return skip_number(c);
    default:
        return skip_number(c);
    }
}

int gs_io_json_skip_key(gs_io_json_cursor_t *c, gs_io_json_text_t *key)
{
    if (!gs_io_json_to_token(c)) {
        return gs_io_json_cut(c);
    }
    if (*c->at != '"') {
        return GS_IO_JSON_WRONG;
    }
    const char *begin = c->at;
    int status = skip_string(c);
    if (status != GS_IO_JSON_TAKEN) {
        return status;
    }
    *key = (gs_io_json_text_t){begin, c->at - begin};
    if (!gs_io_json_to_token(c)) {
        return gs_io_json_cut(c);
    }
    if (*c->at++ != ':') {
        return GS_IO_JSON_WRONG;
    }
    return gs_io_json_to_token(c) ? GS_IO_JSON_TAKEN : gs_io_json_cut(c);
}

static int push(gs_io_json_levels_t *self, gs_context_t *ctx, int64_t depth, char opening)
{
    if (depth == self->capacity) {
        char *grown = gs_vector_reserve(ctx, self->opening, &self->capacity, depth + 1, 1);
        if (grown == NULL) {
            return ctx->status;
        }
        self->opening = grown;
    }
    self->opening[depth] = opening;
    return GS_IO_JSON_TAKEN;
}

int gs_io_json_skip_value(gs_io_json_levels_t *levels, gs_context_t *ctx, gs_io_json_cursor_t *c)
{
    gs_io_json_text_t key;
    int64_t depth = 0;
    for (;;) {
        int status;
        char opening = *c->at;
        bool complete = true;
        if (opening == '{' || opening == '[') {
            status = push(levels, ctx, depth, opening);
            if (status == GS_IO_JSON_TAKEN) {
                status = gs_poll(ctx, 64);
            }
            if (status != GS_IO_JSON_TAKEN) {
                return status;
            }
            depth++;
            c->odd |= depth > DEEP;
            c->at++;
            if (!gs_io_json_to_token(c)) {
                return gs_io_json_cut(c);
            }
            if (*c->at == opening + 2) { /* both pairs of brackets lie two apart */
                c->at++;
                depth--;
            } else {
                complete = false;
            }
        } else if ((status = skip_scalar(c)) != GS_IO_JSON_TAKEN) {
            return status;
        }
        while (complete) { /* closes what ends here */
            if (depth == 0) {
                return GS_IO_JSON_TAKEN;
            }
            if (!gs_io_json_to_token(c)) {
                return gs_io_json_cut(c);
            }
            opening = levels->opening[depth - 1];
            if (*c->at == ',') {
                complete = false;
            } else if (*c->at == opening + 2) {
                depth--;
            } else {
                return GS_IO_JSON_WRONG;
            }
            c->at++;
        }
        if (opening == '{') {
            status = gs_io_json_skip_key(c, &key);
            if (status != GS_IO_JSON_TAKEN) {
                return status;
            }
        } else if (!gs_io_json_to_token(c)) {
            return gs_io_json_cut(c);
        }
    }
}

/* The next character of a string that is checked, or -1 for one beyond ASCII. */
static int character(gs_io_json_text_t *rest)
{
    const char *at = rest->bytes;
    int64_t size = 1;
    int found = (unsigned char)*at < 0x80 ? *at : -1;
    if (*at == '\\') {
        static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        size = at[1] == 'u' ? 6 : 2;
        if (at[1] != 'u') {
            found = meant[strchr(letters, at[1]) - letters];
        } else if (at[2] != '0' || at[3] != '0' || hexadecimal(at[4]) > 7) {
            found = -1;
        } else {
            found = 16 * hexadecimal(at[4]) + hexadecimal(at[5]);
        }
    }
    rest->bytes += size;
    rest->size -= size;
    return found;
}

void gs_io_json_levels_free(gs_io_json_levels_t *levels, gs_context_t *ctx)
{
    gs_free(ctx, levels->opening);
    *levels = (gs_io_json_levels_t){0};
}

bool gs_io_json_unescaped_begins(gs_io_json_text_t string, const gs_io_json_text_t *text,
                                 bool whole)
{
    for (int64_t i = 0; i < text->size; i++) {
        if (string.size == 0 || character(&string) != (unsigned char)text->bytes[i]) {
            return false;
        }
    }
    return !whole || string.size == 0;
}
