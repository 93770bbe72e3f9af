/* Boundaries of the events of a trace in JSON. */
#include "io/event_scan.h"

#include <string.h>

#include "core/vector.h"

/* From here on a JSON library may refuse what the grammar allows. */
enum { DEEP = 100, LONG_NUMBER = 300, LONG_EXPONENT = 6 };

/* Results of the functions below: taken, not complete yet, against the grammar; or an error. */
enum { TAKEN = 0, CUT = 1, WRONG = 2 };

typedef struct {
    const char *at, *end;
    const char *line; /* behind the last end of a line, or NULL */
    int64_t lines;
    bool last;
    bool odd; /* deep nesting or a long number */
} cursor_t;

/* A value as it is written; bytes is NULL where there is none. */
typedef gs_io_event_scan_text_t span_t;

/* The text ends before the part does. */
static int cut(const cursor_t *c)
{
    return c->last ? WRONG : CUT;
}

/* Skips space; false at the end of the text. */
static bool to_token(cursor_t *c)
{
    for (; c->at < c->end; c->at++) {
        switch (*c->at) {
        case '\n':
            c->lines++;
            c->line = c->at + 1;
            break;
        case ' ':
        case '\t':
        case '\r':
            break;
        default:
            return true;
        }
    }
    return false;
}

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
static int skip_escape(cursor_t *c)
{
    if (c->end - c->at < 2) {
        return cut(c);
    }
    char kind = c->at[1];
    if (kind != 'u') {
        c->at += 2;
        return strchr("\"\\/bfnrt", kind) != NULL && kind != 0 ? TAKEN : WRONG;
    }
    for (int i = 2; i < 6; i++) {
        if (c->end - c->at <= i) {
            return cut(c);
        }
        if (hexadecimal(c->at[i]) < 0) {
            return WRONG;
        }
    }
    c->at += 6;
    return TAKEN;
}

/* Skips a string, of which c->at is the opening quote. */
static int skip_string(cursor_t *c)
{
    c->at++;
    for (;;) {
        int plain = 8;
        while (plain == 8 && c->end - c->at >= 8) {
            plain = plain_bytes(c->at);
            c->at += plain;
        }
        if (c->at >= c->end) {
            return cut(c);
        }
        unsigned char byte = (unsigned char)*c->at;
        if (byte == '"') {
            c->at++;
            return TAKEN;
        }
        if (byte == '\\') {
            int status = skip_escape(c);
            if (status != TAKEN) {
                return status;
            }
        } else if (byte < 0x20) {
            return WRONG;
        } else {
            c->at++;
        }
    }
}

/* Skips digits; returns their number. */
static int64_t skip_digits(cursor_t *c)
{
    const char *begin = c->at;
    while (c->at < c->end && is_digit(*c->at)) {
        c->at++;
    }
    return c->at - begin;
}

/* Skips a number. A point or an exponent without digits does not belong to it. */
static int skip_number(cursor_t *c)
{
    const char *begin = c->at;
    if (*c->at == '-') {
        c->at++;
    }
    if (c->at == c->end) {
        return cut(c);
    }
    if (*c->at == '0') {
        c->at++;
    } else if (skip_digits(c) == 0) {
        return WRONG;
    }
    const char *after = c->at;
    if (c->at < c->end && *c->at == '.') {
        c->at++;
        if (skip_digits(c) > 0) {
            after = c->at;
        } else if (c->at < c->end) {
            c->at = after;
            return TAKEN;
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
        return CUT;
    }
    c->at = after;
    c->odd |= c->at - begin > LONG_NUMBER;
    return TAKEN;
}

static int skip_word(cursor_t *c, const char *word)
{
    for (; *word != 0; word++, c->at++) {
        if (c->at == c->end) {
            return cut(c);
        }
        if (*c->at != *word) {
            return WRONG;
        }
    }
    return TAKEN;
}

/* Skips a string, a number or a word. */
static int skip_scalar(cursor_t *c)
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

/* Skips a key and its colon, up to the value. */
static int skip_key(cursor_t *c, span_t *key)
{
    if (!to_token(c)) {
        return cut(c);
    }
    if (*c->at != '"') {
        return WRONG;
    }
    const char *begin = c->at;
    int status = skip_string(c);
    if (status != TAKEN) {
        return status;
    }
    *key = (span_t){begin, c->at - begin};
    if (!to_token(c)) {
        return cut(c);
    }
    if (*c->at++ != ':') {
        return WRONG;
    }
    return to_token(c) ? TAKEN : cut(c);
}

static int push(gs_io_event_scan_t *self, gs_context_t *ctx, int64_t depth, char opening)
{
    if (depth == self->levels_capacity) {
        char *levels = gs_vector_reserve(ctx, self->levels, &self->levels_capacity, depth + 1, 1);
        if (levels == NULL) {
            return ctx->status;
        }
        self->levels = levels;
    }
    self->levels[depth] = opening;
    return TAKEN;
}

/* Skips a value, of which c->at is the first byte. */
static int skip_value(gs_io_event_scan_t *self, gs_context_t *ctx, cursor_t *c)
{
    span_t key;
    int64_t depth = 0;
    for (;;) {
        int status;
        char opening = *c->at;
        bool complete = true;
        if (opening == '{' || opening == '[') {
            status = push(self, ctx, depth, opening);
            if (status == TAKEN) {
                status = gs_poll(ctx, 64);
            }
            if (status != TAKEN) {
                return status;
            }
            depth++;
            c->odd |= depth > DEEP;
            c->at++;
            if (!to_token(c)) {
                return cut(c);
            }
            if (*c->at == opening + 2) { /* both pairs of brackets lie two apart */
                c->at++;
                depth--;
            } else {
                complete = false;
            }
        } else if ((status = skip_scalar(c)) != TAKEN) {
            return status;
        }
        while (complete) { /* closes what ends here */
            if (depth == 0) {
                return TAKEN;
            }
            if (!to_token(c)) {
                return cut(c);
            }
            opening = self->levels[depth - 1];
            if (*c->at == ',') {
                complete = false;
            } else if (*c->at == opening + 2) {
                depth--;
            } else {
                return WRONG;
            }
            c->at++;
        }
        if (opening == '{') {
            status = skip_key(c, &key);
            if (status != TAKEN) {
                return status;
            }
        } else if (!to_token(c)) {
            return cut(c);
        }
    }
}

/* The next character of a string that is checked, or -1 for one beyond ASCII. */
static int character(span_t *rest)
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

/* True when a value is a string that begins with a text; `whole`: that is the text. */
static bool begins(span_t value, const gs_io_event_scan_text_t *text, bool whole)
{
    if (value.bytes == NULL || *value.bytes != '"' || value.size < text->size + 2) {
        return false; /* an escape is never shorter than what it stands for */
    }
    span_t string = {value.bytes + 1, value.size - 2};
    if (text->size > 0 && *string.bytes != *text->bytes && *string.bytes != '\\') {
        return false;
    }
    const size_t size = text->size > 0 ? (size_t)text->size : 0;
    if (memcmp(string.bytes, text->bytes, size) == 0) {
        return !whole || string.size == text->size;
    }
    for (int64_t i = 0; i < text->size; i++) {
        if (string.size == 0 || character(&string) != (unsigned char)text->bytes[i]) {
            return false;
        }
    }
    return !whole || string.size == 0;
}

static const gs_io_event_scan_text_t EVENTS = {"traceEvents", 11}, ARGUMENTS = {"args", 4},
                                     COMPLETE = {"X", 1};

/* The fields that decide whether an event is wanted. */
enum { PHASE, CATEGORY, NAME };
static const gs_io_event_scan_group_t DECISIVE = {
    {{{"ph", 2}, false}, {{"cat", 3}, false}, {{"name", 4}, false}}, 3};

static void forget(const gs_io_event_scan_group_t *group, bool inside, span_t *found)
{
    for (int64_t i = 0; i < group->count; i++) {
        if (group->fields[i].inside == inside) {
            found[i] = (span_t){NULL, 0};
        }
    }
}

static void keep(const gs_io_event_scan_group_t *group, bool inside, span_t key, span_t value,
                 span_t *found)
{
    for (int64_t i = 0; i < group->count; i++) {
        const gs_io_event_scan_field_t *field = &group->fields[i];
        if (field->inside == inside && begins(key, &field->key, true)) {
            found[i] = value;
            return;
        }
    }
}

/* Skips an object, of which c->at is the opening brace, and finds the values of fields in it; the
 * last of equal keys counts. inside: the object is the arguments of an event. */
static int find_fields(gs_io_event_scan_t *self, gs_context_t *ctx, cursor_t *c,
                       const gs_io_event_scan_group_t *group, bool inside, span_t *found)
{
    forget(group, inside, found);
    c->at++;
    if (!to_token(c)) {
        return cut(c);
    }
    if (*c->at == '}') {
        c->at++;
        return TAKEN;
    }
    for (;;) {
        span_t key;
        int status = skip_key(c, &key);
        if (status != TAKEN) {
            return status;
        }
        const char *begin = c->at;
        bool arguments = group != &DECISIVE && !inside && begins(key, &ARGUMENTS, true);
        if (arguments) {
            forget(group, true, found);
        }
        if (arguments && *begin == '{') {
            status = find_fields(self, ctx, c, group, true, found);
        } else {
            status = skip_value(self, ctx, c);
            if (status == TAKEN) {
                keep(group, inside, key, (span_t){begin, c->at - begin}, found);
            }
        }
        if (status != TAKEN) {
            return status;
        }
        if (!to_token(c)) {
            return cut(c);
        }
        char byte = *c->at++;
        if (byte != ',') {
            return byte == '}' ? TAKEN : WRONG;
        }
    }
}

/* The group of an event, or -1 for one that is not wanted. */
static int64_t group_of(const gs_io_event_scan_selection_t *selection, const span_t *decisive)
{
    if (!begins(decisive[PHASE], &COMPLETE, true)) {
        return -1;
    }
    for (int64_t i = 0; i < selection->wanted_count; i++) {
        const gs_io_event_scan_wanted_t *wanted = &selection->wanted[i];
        if (begins(decisive[CATEGORY], &wanted->category, true) &&
            (wanted->name.size == 0 || begins(decisive[NAME], &wanted->name, false))) {
            return wanted->group;
        }
    }
    return -1;
}

/* Adds a value to a column. */
static int append(gs_io_event_scan_column_t *self, gs_context_t *ctx, span_t value)
{
    if (value.bytes == NULL) {
        value = (span_t){"null", 4};
    }
    int64_t count;
    if (!gs_add(self->count, value.size + 1, &count)) {
        return ctx->status = GS_ERR_MEMORY;
    }
    if (count > self->capacity) {
        char *bytes = gs_vector_reserve(ctx, self->bytes, &self->capacity, count, 1);
        if (bytes == NULL) {
            return ctx->status;
        }
        self->bytes = bytes;
    }
    self->bytes[self->count] = self->count == 0 ? '[' : ',';
    memcpy(self->bytes + self->count + 1, value.bytes, (size_t)value.size);
    self->count = count;
    return TAKEN;
}

static int report(gs_io_event_scan_rows_t *self, gs_context_t *ctx,
                  const gs_io_event_scan_range_t *range)
{
    if (self->count == self->capacity) {
        gs_io_event_scan_range_t *ranges =
            gs_vector_reserve(ctx, self->ranges, &self->capacity, self->count + 1, sizeof *ranges);
        if (ranges == NULL) {
            return ctx->status;
        }
        self->ranges = ranges;
    }
    self->ranges[self->count++] = *range;
    return TAKEN;
}

/* Reports a complete event, which lies from begin to end. */
static int report_event(gs_io_event_scan_t *self, gs_context_t *ctx, const char *data,
                        const gs_io_event_scan_range_t *range,
                        const gs_io_event_scan_selection_t *selection, int64_t of)
{
    const gs_io_event_scan_group_t *group = &selection->groups[of];
    gs_io_event_scan_rows_t *rows = &self->rows[of];
    if (group->count > 0) {
        span_t found[GS_IO_EVENT_SCAN_MOST_FIELDS];
        cursor_t c = {.at = data + range->begin, .end = data + range->end, .last = true};
        forget(group, true, found);
        int status = find_fields(self, ctx, &c, group, false, found);
        for (int64_t i = 0; i < group->count && status == TAKEN; i++) {
            status = append(&rows->columns[i], ctx, found[i]);
        }
        if (status != TAKEN) {
            return status;
        }
    }
    return report(rows, ctx, range);
}

/* Skips the comma before a part that is not the first, and space; *closed where `closing` is found
 * instead of a part. */
static int skip_comma(cursor_t *c, bool first, char closing, bool *closed)
{
    *closed = false;
    if (!to_token(c)) {
        return cut(c);
    }
    if (*c->at == closing) {
        c->at++;
        *closed = true;
        return TAKEN;
    }
    if (first) {
        return TAKEN;
    }
    if (*c->at++ != ',') {
        return WRONG;
    }
    return to_token(c) ? TAKEN : cut(c);
}

static int take_member(gs_io_event_scan_t *self, gs_context_t *ctx, cursor_t *c, const char *data,
                       int *reason)
{
    bool closed;
    int status = skip_comma(c, self->place == GS_IO_EVENT_SCAN_FIRST_MEMBER, '}', &closed);
    if (status != TAKEN || closed) {
        self->place = status == TAKEN ? GS_IO_EVENT_SCAN_END : self->place;
        return status;
    }
    span_t key;
    const char *begin = c->at;
    status = skip_key(c, &key);
    if (status != TAKEN) {
        return status;
    }
    if (*c->at == '[' && begins(key, &EVENTS, true)) {
        c->at++;
        self->events = 0;
        self->place = GS_IO_EVENT_SCAN_FIRST_EVENT;
        *reason = GS_IO_EVENT_SCAN_OPENED;
        return TAKEN;
    }
    status = skip_value(self, ctx, c);
    if (status == TAKEN) {
        self->place = GS_IO_EVENT_SCAN_NEXT_MEMBER;
        const gs_io_event_scan_range_t range = {begin - data, c->at - data, 0};
        status = report(&self->rows[0], ctx, &range);
    }
    return status;
}

static int take_event(gs_io_event_scan_t *self, gs_context_t *ctx, cursor_t *c, const char *data,
                      const gs_io_event_scan_selection_t *selection, int *reason)
{
    bool closed;
    int status = skip_comma(c, self->place == GS_IO_EVENT_SCAN_FIRST_EVENT, ']', &closed);
    if (status != TAKEN) {
        return status;
    }
    if (closed) {
        self->place = GS_IO_EVENT_SCAN_NEXT_MEMBER;
        *reason = GS_IO_EVENT_SCAN_CLOSED;
        return TAKEN;
    }
    span_t decisive[3];
    const char *begin = c->at;
    bool object = *begin == '{';
    status =
        object ? find_fields(self, ctx, c, &DECISIVE, false, decisive) : skip_value(self, ctx, c);
    if (status != TAKEN) {
        return status;
    }
    self->place = GS_IO_EVENT_SCAN_NEXT_EVENT;
    int64_t index = self->events++;
    int64_t group = object && !c->odd ? group_of(selection, decisive) : 0;
    if (group < 0) {
        return TAKEN;
    }
    const gs_io_event_scan_range_t range = {begin - data, c->at - data, index};
    return report_event(self, ctx, data, &range, selection, group);
}

/* Takes one part. */
static int take(gs_io_event_scan_t *self, gs_context_t *ctx, cursor_t *c, const char *data,
                const gs_io_event_scan_selection_t *selection, int *reason)
{
    switch (self->place) {
    case GS_IO_EVENT_SCAN_START:
        if (!to_token(c)) {
            return cut(c);
        }
        if (*c->at != '{') {
            *reason = GS_IO_EVENT_SCAN_OTHER;
            c->at = data + self->position;
            return TAKEN;
        }
        c->at++;
        self->place = GS_IO_EVENT_SCAN_FIRST_MEMBER;
        return TAKEN;
    case GS_IO_EVENT_SCAN_FIRST_MEMBER:
    case GS_IO_EVENT_SCAN_NEXT_MEMBER:
        return take_member(self, ctx, c, data, reason);
    case GS_IO_EVENT_SCAN_FIRST_EVENT:
    case GS_IO_EVENT_SCAN_NEXT_EVENT:
        return take_event(self, ctx, c, data, selection, reason);
    default:
        return to_token(c) ? WRONG : TAKEN;
    }
}

void gs_io_event_scan_init(gs_io_event_scan_t *self, int place, int64_t position, int64_t events)
{
    *self =
        (gs_io_event_scan_t){.place = place, .position = position, .events = events, .line = -1};
}

int gs_io_event_scan_run(gs_io_event_scan_t *self, gs_context_t *ctx,
                         const gs_io_event_scan_text_t *data,
                         const gs_io_event_scan_selection_t *selection, bool last, int *reason)
{
    if (self->place < 0 || self->place >= GS_IO_EVENT_SCAN_PLACES) {
        return gs_fail(ctx, GS_ERR_VALUE, "place", -1, self->place, "a place in a document");
    }
    if (self->position < 0 || self->position > data->size) {
        return gs_fail(ctx, GS_ERR_VALUE, "position", -1, self->position, "a position in the data");
    }
    if (self->events < 0 || self->events > GS_NEVER) {
        return gs_fail(ctx, GS_ERR_VALUE, "events", -1, self->events, "a number of events");
    }
    if (selection->group_count < 1 || selection->group_count > GS_IO_EVENT_SCAN_MOST_GROUPS) {
        return gs_fail(ctx, GS_ERR_VALUE, "fields", -1, selection->group_count, "1 to 4 groups");
    }
    for (int64_t i = 0; i < selection->wanted_count; i++) {
        int64_t group = selection->wanted[i].group;
        if (group < 0 || group >= selection->group_count) {
            return gs_fail(ctx, GS_ERR_VALUE, "wanted", i, group, "the number of a group");
        }
    }
    cursor_t c = {.end = data->bytes + data->size, .last = last};
    *reason = GS_IO_EVENT_SCAN_SPENT;
    while (*reason == GS_IO_EVENT_SCAN_SPENT) {
        c.at = data->bytes + self->position;
        c.odd = false;
        int status = take(self, ctx, &c, data->bytes, selection, reason);
        if (status == CUT) {
            return GS_OK;
        }
        if (status == WRONG) {
            *reason = GS_IO_EVENT_SCAN_WRONG;
            return GS_OK;
        }
        if (status != TAKEN) {
            return status;
        }
        int64_t before = self->position;
        self->position = c.at - data->bytes;
        self->lines = c.lines;
        self->line = c.line == NULL ? -1 : c.line - data->bytes;
        if (self->position == data->size && self->place == GS_IO_EVENT_SCAN_END) {
            return GS_OK;
        }
        status = gs_poll(ctx, self->position - before);
        if (status != GS_OK) {
            return status;
        }
    }
    return GS_OK;
}

void gs_io_event_scan_free(gs_io_event_scan_t *self, gs_context_t *ctx)
{
    for (int i = 0; i < GS_IO_EVENT_SCAN_MOST_GROUPS; i++) {
        gs_free(ctx, self->rows[i].ranges);
        for (int k = 0; k < GS_IO_EVENT_SCAN_MOST_FIELDS; k++) {
            gs_free(ctx, self->rows[i].columns[k].bytes);
        }
    }
    gs_free(ctx, self->levels);
    gs_io_event_scan_init(self, GS_IO_EVENT_SCAN_START, 0, 0);
}
