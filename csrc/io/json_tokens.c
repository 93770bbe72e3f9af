/* Tokens of JSON. */
#include "io/json_tokens.h"

#include "core/vector.h"

/* From here on a JSON library may refuse what the grammar allows. */
enum { DEEP = 100, LONG_NUMBER = 300, LONG_EXPONENT = 6 };

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The value of a hexadecimal digit, or -1. */
static int hexadecimal(char byte)
{
    if (is_digit(byte)) {
        return byte - '0';
    }
    char lower = (char)(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* The number of bytes, of eight, before the first quote, backslash or control character. */
static int plain_bytes(const char *bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) { /* a single load where the first byte is the lowest */
        word = word << 8 | (unsigned char)bytes[i];
    }
    uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
    uint64_t found = (quote - ones) & ~quote;
    found |= (backslash - ones) & ~backslash;
    found |= (word - ones * 0x20) & ~word;
    found &= ones << 7; /* the lowest bit is right, those above it may not be */
    return found == 0 ? 8 : __builtin_ctzll(found) / 8;
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
        int plain = 8;
        while (plain == 8 && c->end - c->at >= 8) {
            plain = plain_bytes(c->at);
            c->at += plain;
        }
        if (c->at >= c->end) {
            return gs_io_json_cut(c);
        }
        unsigned char byte = (unsigned char)*c->at;
        if (byte == '"') {
            c->at++;
            return GS_IO_JSON_TAKEN;
        }
        if (byte == '\\') {
            int status = skip_escape(c);
            if (status != GS_IO_JSON_TAKEN) {
                return status;
            }
        } else if (byte < 0x20) {
            return GS_IO_JSON_WRONG;
        } else {
            c->at++;
        }
    }
}

/* Skips digits; returns their number. */
static int64_t skip_digits(gs_io_json_cursor_t *c)
{
    const char *begin = c->at;
    while (c->at < c->end && is_digit(*c->at)) {
        c->at++;
    }
    return c->at - begin;
}

/* Skips a number. A point or an exponent without digits does not belong to it. */
static int skip_number(gs_io_json_cursor_t *c)
{
    const char *begin = c->at;
    if (*c->at == '-') {
        c->at++;
    }
    if (c->at == c->end) {
        return gs_io_json_cut(c);
    }
    if (*c->at == '0') {
        c->at++;
    } else if (skip_digits(c) == 0) {
        return GS_IO_JSON_WRONG;
    }
    const char *after = c->at;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (skip_digits(c) > 0) {
            after = c->at;
        } else if (c->at < c->end) {
            c->at = after;
            return GS_IO_JSON_TAKEN;
        }
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        if (c->at < c->end && (*c->at == '+' || *c->at == '-')) {
            c->at++;
        }
        int64_t digits = skip_digits(c);
        after = digits > 0 ? c->at : after;
        c->odd |= digits > LONG_EXPONENT;
    }
    if (c->at == c->end && !c->last) {
        return GS_IO_JSON_CUT;
    }
    c->at = after;
    c->odd |= c->at - begin > LONG_NUMBER;
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
