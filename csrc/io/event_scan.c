/* Boundaries of the events of a trace in JSON. */
#include "io/event_scan.h"

#include <string.h>

#include "core/vector.h"

static const gs_io_json_text_t EVENTS = {"traceEvents", 11}, ARGUMENTS = {"args", 4},
                               COMPLETE = {"X", 1};

/* The fields that decide whether an event is wanted. */
enum { PHASE, CATEGORY, NAME };
static const gs_io_event_scan_group_t DECISIVE = {
    {{{"ph", 2}, false}, {{"cat", 3}, false}, {{"name", 4}, false}}, 3};

static void forget(const gs_io_event_scan_group_t *group, bool inside, gs_io_json_text_t *found)
{
    for (int64_t i = 0; i < group->count; i++) {
        if (group->fields[i].inside == inside) {
            found[i] = (gs_io_json_text_t){NULL, 0};
        }
    }
}

static void keep(const gs_io_event_scan_group_t *group, bool inside, gs_io_json_text_t key,
                 gs_io_json_text_t value, gs_io_json_text_t *found)
{
    for (int64_t i = 0; i < group->count; i++) {
        const gs_io_event_scan_field_t *field = &group->fields[i];
        if (field->inside == inside && gs_io_json_begins(key, &field->key, true)) {
            found[i] = value;
            return;
        }
    }
}

/* Skips an object, of which c->at is the opening brace, and finds the values of fields in it; the
 * last of equal keys counts. inside: the object is the arguments of an event. */
static int find_fields(gs_io_event_scan_t *self, gs_context_t *ctx, gs_io_json_cursor_t *c,
                       const gs_io_event_scan_group_t *group, bool inside, gs_io_json_text_t *found)
{
    forget(group, inside, found);
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
        bool arguments = group != &DECISIVE && !inside && gs_io_json_begins(key, &ARGUMENTS, true);
        if (arguments) {
            forget(group, true, found);
        }
        if (arguments && *begin == '{') {
            status = find_fields(self, ctx, c, group, true, found);
        } else {
            status = gs_io_json_skip_value(&self->levels, ctx, c);
            if (status == GS_IO_JSON_TAKEN) {
                keep(group, inside, key, (gs_io_json_text_t){begin, c->at - begin}, found);
            }
        }
        if (status != GS_IO_JSON_TAKEN) {
            return status;
        }
        if (!gs_io_json_to_token(c)) {
            return gs_io_json_cut(c);
        }
        char byte = *c->at++;
        if (byte != ',') {
            return byte == '}' ? GS_IO_JSON_TAKEN : GS_IO_JSON_WRONG;
        }
    }
}

/* The group of an event, or -1 for one that is not wanted. */
static int64_t group_of(const gs_io_event_scan_selection_t *selection,
                        const gs_io_json_text_t *decisive)
{
    if (!gs_io_json_begins(decisive[PHASE], &COMPLETE, true)) {
        return -1;
    }
    for (int64_t i = 0; i < selection->wanted_count; i++) {
        const gs_io_event_scan_wanted_t *wanted = &selection->wanted[i];
        if (gs_io_json_begins(decisive[CATEGORY], &wanted->category, true) &&
            (wanted->name.size == 0 || gs_io_json_begins(decisive[NAME], &wanted->name, false))) {
            return wanted->group;
        }
    }
    return -1;
}

/* Adds a value to a column. */
static int append(gs_io_event_scan_column_t *self, gs_context_t *ctx, gs_io_json_text_t value)
{
    if (value.bytes == NULL) {
        value = (gs_io_json_text_t){"null", 4};
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
    return GS_IO_JSON_TAKEN;
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
    return GS_IO_JSON_TAKEN;
}

/* Reports a complete event, which lies from begin to end. */
static int report_event(gs_io_event_scan_t *self, gs_context_t *ctx, const char *data,
                        const gs_io_event_scan_range_t *range,
                        const gs_io_event_scan_selection_t *selection, int64_t of)
{
    const gs_io_event_scan_group_t *group = &selection->groups[of];
    gs_io_event_scan_rows_t *rows = &self->rows[of];
    if (group->count > 0) {
        gs_io_json_text_t found[GS_IO_EVENT_SCAN_MOST_FIELDS];
        gs_io_json_cursor_t c = {.at = data + range->begin, .end = data + range->end, .last = true};
        forget(group, true, found);
        int status = find_fields(self, ctx, &c, group, false, found);
        for (int64_t i = 0; i < group->count && status == GS_IO_JSON_TAKEN; i++) {
            status = append(&rows->columns[i], ctx, found[i]);
        }
        if (status != GS_IO_JSON_TAKEN) {
            return status;
        }
    }
    return report(rows, ctx, range);
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
        status = report(&self->rows[0], ctx, &range);
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
    gs_io_json_text_t decisive[3];
    const char *begin = c->at;
    bool object = *begin == '{';
    status = object ? find_fields(self, ctx, c, &DECISIVE, false, decisive)
                    : gs_io_json_skip_value(&self->levels, ctx, c);
    if (status != GS_IO_JSON_TAKEN) {
        return status;
    }
    self->place = GS_IO_EVENT_SCAN_NEXT_EVENT;
    int64_t index = self->events++;
    int64_t group = object && !c->odd ? group_of(selection, decisive) : 0;
    if (group < 0) {
        return GS_IO_JSON_TAKEN;
    }
    const gs_io_event_scan_range_t range = {begin - data, c->at - data, index};
    return report_event(self, ctx, data, &range, selection, group);
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
    if (selection->group_count < 1 || selection->group_count > GS_IO_EVENT_SCAN_MOST_GROUPS) {
        return gs_fail(ctx, GS_ERR_VALUE, "fields", -1, selection->group_count, "1 to 4 groups");
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
        int status = take(self, ctx, &c, data->bytes, selection, reason);
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
    for (int i = 0; i < GS_IO_EVENT_SCAN_MOST_GROUPS; i++) {
        gs_free(ctx, self->rows[i].ranges);
        for (int k = 0; k < GS_IO_EVENT_SCAN_MOST_FIELDS; k++) {
            gs_free(ctx, self->rows[i].columns[k].bytes);
        }
    }
    gs_io_json_levels_free(&self->levels, ctx);
    gs_io_event_scan_init(self, GS_IO_EVENT_SCAN_START, 0, 0);
}
