/* Boundaries of the events of a trace in JSON. */
#include "io/event_scan.h"

#include <string.h>

#include "core/vector.h"
#include "io/json_numbers.h"

static const gs_io_json_text_t EVENTS = {"traceEvents", 11}, ARGUMENTS = {"args", 4},
                               COMPLETE = {"X", 1};

static const gs_io_json_text_t PHASE = {"ph", 2}, CATEGORY = {"cat", 3}, NAME = {"name", 4};

/* Members of an event or of its arguments; others have many more, and are left to a JSON library.
 */
enum { MOST_MEMBERS = 64 };

typedef struct {
    gs_io_json_text_t key, value;
} member_t;

typedef struct {
    member_t member[MOST_MEMBERS];
    int count;
    bool many; /* more than these */
} members_t;

/* An event: its own members, and those of its arguments. */
typedef struct {
    members_t own, arguments;
} event_t;

static void keep(members_t *members, gs_io_json_text_t key, gs_io_json_text_t value)
{
    if (members->count == MOST_MEMBERS) {
        members->many = true;
        return;
    }
    members->member[members->count++] = (member_t){key, value};
}

static void forget(members_t *members)
{
    members->count = 0;
    members->many = false;
}

/* Skips an object, of which c->at is the opening brace, and keeps its members; `arguments`, unless
 * NULL: those of its member of that name. */
static int take_members(gs_io_event_scan_t *self, gs_context_t *ctx, gs_io_json_cursor_t *c,
                        members_t *members, members_t *arguments)
{
    forget(members);
    c->at++;
    if (!gs_io_json_to_token(c)) {
        return gs_io_json_cut(c);
    }
    if (*c->at == '}') {
        c->at++;
        return GS_IO_JSON_TAKEN;
    }
    for (;;) {
        gs_io_json_text_t key;
        int status = gs_io_json_skip_key(c, &key);
        if (status != GS_IO_JSON_TAKEN) {
            return status;
        }
        const char *begin = c->at;
        bool inner = arguments != NULL && gs_io_json_begins(key, &ARGUMENTS, true);
        if (inner) {
            forget(arguments); /* the last of equal keys counts */
        }
        if (inner && *begin == '{') {
            status = take_members(self, ctx, c, arguments, NULL);
        } else {
            status = gs_io_json_skip_value(&self->levels, ctx, c);
        }
        if (status != GS_IO_JSON_TAKEN) {
            return status;
        }
        keep(members, key, (gs_io_json_text_t){begin, c->at - begin});
        if (!gs_io_json_to_token(c)) {
            return gs_io_json_cut(c);
        }
        char byte = *c->at++;
        if (byte != ',') {
            return byte == '}' ? GS_IO_JSON_TAKEN : GS_IO_JSON_WRONG;
        }
    }
}

/* The value of a key; the last of equal keys counts. */
static gs_io_json_text_t value_of(const members_t *members, const gs_io_json_text_t *key)
{
    for (int i = members->count - 1; i >= 0; i--) {
        if (gs_io_json_begins(members->member[i].key, key, true)) {
            return members->member[i].value;
        }
    }
    return (gs_io_json_text_t){NULL, 0};
}

/* The group of an event, or -1 for one that is not wanted. */
static int64_t group_of(const gs_io_event_scan_selection_t *selection, const members_t *members)
{
    if (!gs_io_json_begins(value_of(members, &PHASE), &COMPLETE, true)) {
        return -1;
    }
    gs_io_json_text_t category = value_of(members, &CATEGORY), name = value_of(members, &NAME);
    for (int64_t i = 0; i < selection->wanted_count; i++) {
        const gs_io_event_scan_wanted_t *wanted = &selection->wanted[i];
        if (gs_io_json_begins(category, &wanted->category, true) &&
            (wanted->name.size == 0 || gs_io_json_begins(name, &wanted->name, false))) {
            return wanted->group;
        }
    }
    return -1;
}

static bool is_null(gs_io_json_text_t value)
{
    return value.bytes == NULL || *value.bytes == 'n';
}

/* Reads the value of a field; *regular is false where it has no number to report. */
static int read_field(gs_io_event_scan_t *self, gs_context_t *ctx,
                      const gs_io_event_scan_field_t *field, gs_io_json_text_t value,
                      int64_t *number, bool *regular)
{
    *regular = field->optional;
    *number = GS_IO_EVENT_SCAN_ABSENT;
    if (is_null(value)) {
        return GS_OK;
    }
    bool text = *value.bytes == '"' && value.size > 2;
    switch (field->kind) {
    case GS_IO_EVENT_SCAN_TEXT:
    case GS_IO_EVENT_SCAN_IDENTIFIER:
        *regular = text || (field->kind == GS_IO_EVENT_SCAN_IDENTIFIER &&
                            gs_io_json_integer(value, number));
        return *regular ? gs_io_text_codes_find(&self->texts, ctx, value, number) : GS_OK;
    case GS_IO_EVENT_SCAN_THOUSANDTHS:
        *regular = gs_io_json_thousandths(value, number);
        break;
    case GS_IO_EVENT_SCAN_INTEGER:
        *regular = gs_io_json_integer(value, number);
        break;
    default:
        *regular = gs_io_json_product(value, field->least, number);
        return GS_OK;
    }
    *regular = *regular && *number >= field->least;
    return GS_OK;
}

static int report_range(gs_io_event_scan_ranges_t *self, gs_context_t *ctx,
                        const gs_io_event_scan_range_t *range)
{
    if (self->count == self->capacity) {
        gs_io_event_scan_range_t *grown =
            gs_vector_reserve(ctx, self->range, &self->capacity, self->count + 1, sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->range = grown;
    }
    self->range[self->count++] = *range;
    return GS_IO_JSON_TAKEN;
}

static int report_row(gs_io_event_scan_table_t *self, gs_context_t *ctx, const int64_t *row,
                      int64_t width)
{
    if (self->count + width > self->capacity) {
        int64_t *grown = gs_vector_reserve(ctx, self->value, &self->capacity, self->count + width,
                                           sizeof *grown);
        if (grown == NULL) {
            return ctx->status;
        }
        self->value = grown;
    }
    memcpy(self->value + self->count, row, (size_t)width * sizeof *row);
    self->count += width;
    return GS_IO_JSON_TAKEN;
}

/* Reports an event of a group, which lies in a range. */
static int report_event(gs_io_event_scan_t *self, gs_context_t *ctx, const event_t *event,
                        const gs_io_event_scan_range_t *range,
                        const gs_io_event_scan_group_t *group, gs_io_event_scan_table_t *table)
{
    bool regular = group->count > 0 && !event->arguments.many;
    int64_t row[1 + GS_IO_EVENT_SCAN_MOST_FIELDS] = {range->index};
    for (int64_t i = 0; i < group->count && regular; i++) {
        const gs_io_event_scan_field_t *field = &group->fields[i];
        const members_t *members = field->inside ? &event->arguments : &event->own;
        gs_io_json_text_t value = value_of(members, &field->key);
        int status = read_field(self, ctx, field, value, &row[1 + i], &regular);
        if (status != GS_OK) {
            return status;
        }
    }
    return regular ? report_row(table, ctx, row, 1 + group->count)
                   : report_range(&self->ranges, ctx, range);
}

/* Skips the comma before a part that is not the first, and space; *closed where `closing` is found
 * instead of a part. */
static int skip_comma(gs_io_json_cursor_t *c, bool first, char closing, bool *closed)
{
    *closed = false;
    if (!gs_io_json_to_token(c)) {
        return gs_io_json_cut(c);
    }
    if (*c->at == closing) {
        c->at++;
        *closed = true;
        return GS_IO_JSON_TAKEN;
    }
    if (first) {
        return GS_IO_JSON_TAKEN;
    }
    if (*c->at++ != ',') {
        return GS_IO_JSON_WRONG;
    }
    return gs_io_json_to_token(c) ? GS_IO_JSON_TAKEN : gs_io_json_cut(c);
}

static int take_member(gs_io_event_scan_t *self, gs_context_t *ctx, gs_io_json_cursor_t *c,
                       const char *data, int *reason)
{
    bool closed;
    int status = skip_comma(c, self->place == GS_IO_EVENT_SCAN_FIRST_MEMBER, '}', &closed);
    if (status != GS_IO_JSON_TAKEN || closed) {
        self->place = status == GS_IO_JSON_TAKEN ? GS_IO_EVENT_SCAN_END : self->place;
        return status;
    }
    gs_io_json_text_t key;
    const char *begin = c->at;
    status = gs_io_json_skip_key(c, &key);
    if (status != GS_IO_JSON_TAKEN) {
        return status;
    }
    if (*c->at == '[' && gs_io_json_begins(key, &EVENTS, true)) {
        c->at++;
        self->events = 0;
        self->place = GS_IO_EVENT_SCAN_FIRST_EVENT;
        *reason = GS_IO_EVENT_SCAN_OPENED;
        return GS_IO_JSON_TAKEN;
    }
    status = gs_io_json_skip_value(&self->levels, ctx, c);
    if (status == GS_IO_JSON_TAKEN) {
        self->place = GS_IO_EVENT_SCAN_NEXT_MEMBER;
        const gs_io_event_scan_range_t range = {begin - data, c->at - data, 0};
        status = report_range(&self->ranges, ctx, &range);
    }
    return status;
}

static int take_event(gs_io_event_scan_t *self, gs_context_t *ctx, gs_io_json_cursor_t *c,
                      const char *data, const gs_io_event_scan_selection_t *selection, int *reason)
{
    bool closed;
    int status = skip_comma(c, self->place == GS_IO_EVENT_SCAN_FIRST_EVENT, ']', &closed);
    if (status != GS_IO_JSON_TAKEN) {
        return status;
    }
    if (closed) {
        self->place = GS_IO_EVENT_SCAN_NEXT_MEMBER;
        *reason = GS_IO_EVENT_SCAN_CLOSED;
        return GS_IO_JSON_TAKEN;
    }
    event_t event;
    forget(&event.arguments);
    const char *begin = c->at;
    bool object = *begin == '{';
    status = object ? take_members(self, ctx, c, &event.own, &event.arguments)
                    : gs_io_json_skip_value(&self->levels, ctx, c);
    if (status != GS_IO_JSON_TAKEN) {
        return status;
    }
    self->place = GS_IO_EVENT_SCAN_NEXT_EVENT;
    const gs_io_event_scan_range_t range = {begin - data, c->at - data, self->events++};
    if (!object || c->odd || event.own.many) {
        return report_range(&self->ranges, ctx, &range);
    }
    int64_t group = group_of(selection, &event.own);
    return group < 0 ? GS_IO_JSON_TAKEN
                     : report_event(self, ctx, &event, &range, &selection->groups[group],
                                    &self->tables[group]);
}

/* Takes one part. */
static int take(gs_io_event_scan_t *self, gs_context_t *ctx, gs_io_json_cursor_t *c,
                const char *data, const gs_io_event_scan_selection_t *selection, int *reason)
{
    switch (self->place) {
    case GS_IO_EVENT_SCAN_START:
        if (!gs_io_json_to_token(c)) {
            return gs_io_json_cut(c);
        }
        if (*c->at != '{') {
            *reason = GS_IO_EVENT_SCAN_OTHER;
            c->at = data + self->position;
            return GS_IO_JSON_TAKEN;
        }
        c->at++;
        self->place = GS_IO_EVENT_SCAN_FIRST_MEMBER;
        return GS_IO_JSON_TAKEN;
    case GS_IO_EVENT_SCAN_FIRST_MEMBER:
    case GS_IO_EVENT_SCAN_NEXT_MEMBER:
        return take_member(self, ctx, c, data, reason);
    case GS_IO_EVENT_SCAN_FIRST_EVENT:
    case GS_IO_EVENT_SCAN_NEXT_EVENT:
        return take_event(self, ctx, c, data, selection, reason);
    default:
        return gs_io_json_to_token(c) ? GS_IO_JSON_WRONG : GS_IO_JSON_TAKEN;
    }
}

void gs_io_event_scan_init(gs_io_event_scan_t *self, int place, int64_t position, int64_t events)
{
    *self =
        (gs_io_event_scan_t){.place = place, .position = position, .events = events, .line = -1};
    gs_io_text_codes_init(&self->texts);
}

static int check_groups(gs_context_t *ctx, const gs_io_event_scan_selection_t *selection)
{
    if (selection->group_count < 1 || selection->group_count > GS_IO_EVENT_SCAN_MOST_GROUPS) {
        return gs_fail(ctx, GS_ERR_VALUE, "fields", -1, selection->group_count, "1 to 4 groups");
    }
    for (int64_t i = 0; i < selection->group_count; i++) {
        const gs_io_event_scan_group_t *group = &selection->groups[i];
        if (group->count < 0 || group->count > (i == 0 ? 0 : GS_IO_EVENT_SCAN_MOST_FIELDS)) {
            return gs_fail(ctx, GS_ERR_VALUE, "fields", i, group->count,
                           "up to 16 fields, and none in group 0");
        }
        for (int64_t k = 0; k < group->count; k++) {
            int kind = group->fields[k].kind;
            if (kind < 0 || kind >= GS_IO_EVENT_SCAN_KINDS) {
                return gs_fail(ctx, GS_ERR_VALUE, "kind", k, kind, "a kind of field");
            }
        }
    }
    return GS_OK;
}

int gs_io_event_scan_run(gs_io_event_scan_t *self, gs_context_t *ctx, const gs_io_json_text_t *data,
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
    int status = check_groups(ctx, selection);
    if (status != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < selection->wanted_count; i++) {
        int64_t group = selection->wanted[i].group;
        if (group < 0 || group >= selection->group_count) {
            return gs_fail(ctx, GS_ERR_VALUE, "wanted", i, group, "the number of a group");
        }
    }
    gs_io_json_cursor_t c = {.end = data->bytes + data->size, .last = last};
    *reason = GS_IO_EVENT_SCAN_SPENT;
    while (*reason == GS_IO_EVENT_SCAN_SPENT) {
        c.at = data->bytes + self->position;
        c.odd = false;
        status = take(self, ctx, &c, data->bytes, selection, reason);
        if (status == GS_IO_JSON_CUT) {
            return GS_OK;
        }
        if (status == GS_IO_JSON_WRONG) {
            *reason = GS_IO_EVENT_SCAN_WRONG;
            return GS_OK;
        }
        if (status != GS_IO_JSON_TAKEN) {
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
    gs_free(ctx, self->ranges.range);
    for (int i = 0; i < GS_IO_EVENT_SCAN_MOST_GROUPS; i++) {
        gs_free(ctx, self->tables[i].value);
    }
    gs_io_text_codes_free(&self->texts, ctx);
    gs_io_json_levels_free(&self->levels, ctx);
    gs_io_event_scan_init(self, GS_IO_EVENT_SCAN_START, 0, 0);
}
