/* Boundaries of the events of a trace in JSON (Chrome's trace event format, as Kineto writes it).
 *
 * The document is an object; its member "traceEvents" is a list of events, most of which a reader
 * does not need. The scan checks the grammar of the whole text, takes the pieces of it one after
 * the other, and reports the ranges of bytes of the members of the object and of the events that
 * are needed, or the fields of these as columns of text; their values are left to a JSON library.
 */
#ifndef GS_IO_EVENT_SCAN_H
#define GS_IO_EVENT_SCAN_H

#include "io/json_tokens.h"

/* Place in the document: before it, behind the opening brace, behind a member, behind the opening
 * bracket of the events, behind an event, behind the document. */
enum {
    GS_IO_EVENT_SCAN_START = 0,
    GS_IO_EVENT_SCAN_FIRST_MEMBER = 1,
    GS_IO_EVENT_SCAN_NEXT_MEMBER = 2,
    GS_IO_EVENT_SCAN_FIRST_EVENT = 3,
    GS_IO_EVENT_SCAN_NEXT_EVENT = 4,
    GS_IO_EVENT_SCAN_END = 5,
    GS_IO_EVENT_SCAN_PLACES
};

/* Reason for which a scan stopped. */
enum {
    GS_IO_EVENT_SCAN_SPENT = 0,  /* the next part is not complete, or nothing is left */
    GS_IO_EVENT_SCAN_OPENED = 1, /* a list of events begins */
    GS_IO_EVENT_SCAN_CLOSED = 2, /* a list of events ended */
    GS_IO_EVENT_SCAN_WRONG = 3,  /* not JSON, in the part behind the position */
    GS_IO_EVENT_SCAN_OTHER = 4   /* not an object */
};

/* Fields to report: of an event, or of its member "args" (`inside`). */
typedef struct {
    gs_io_json_text_t key;
    bool inside;
} gs_io_event_scan_field_t;

enum { GS_IO_EVENT_SCAN_MOST_GROUPS = 4, GS_IO_EVENT_SCAN_MOST_FIELDS = 16 };

/* Kinds of events that are reported by the same fields. Group 0 has none: its events are reported
 * whole. */
typedef struct {
    gs_io_event_scan_field_t fields[GS_IO_EVENT_SCAN_MOST_FIELDS];
    int64_t count;
} gs_io_event_scan_group_t;

/* Events to report: complete events ("ph" is "X") of a category whose name begins like this. */
typedef struct {
    gs_io_json_text_t category;
    gs_io_json_text_t name;
    int64_t group;
} gs_io_event_scan_wanted_t;

/* A member of the document (from its key to the end of its value) or an event. */
typedef struct {
    int64_t begin;
    int64_t end;
    int64_t index; /* of an event in its list, or 0 */
} gs_io_event_scan_range_t;

/* "[value,value,...", one value for each range of a group, null where the field is missing. */
typedef struct {
    char *bytes;
    int64_t count;
    int64_t capacity;
} gs_io_event_scan_column_t;

typedef struct {
    gs_io_event_scan_range_t *ranges;
    int64_t count;
    int64_t capacity;
    gs_io_event_scan_column_t columns[GS_IO_EVENT_SCAN_MOST_FIELDS];
} gs_io_event_scan_rows_t;

/* Of the reports: group 0 has the members, the events that are not objects, and all events that
 * the JSON library may refuse though the grammar allows them (deep nesting, long numbers). */
typedef struct {
    const gs_io_event_scan_wanted_t *wanted;
    int64_t wanted_count;
    const gs_io_event_scan_group_t *groups;
    int64_t group_count; /* 1 to GS_IO_EVENT_SCAN_MOST_GROUPS */
} gs_io_event_scan_selection_t;

typedef struct {
    int place;
    int64_t position; /* of the first byte that was not taken */
    int64_t events;   /* taken from the list that is open, or was open last */
    int64_t lines;    /* ends of lines that this call took */
    int64_t line;     /* the position behind the last of them, or -1 */
    gs_io_event_scan_rows_t rows[GS_IO_EVENT_SCAN_MOST_GROUPS]; /* owned */
    gs_io_json_levels_t levels;
} gs_io_event_scan_t;

/* Sets every field, for a scan that goes on at a place and position after so many events. */
void gs_io_event_scan_init(gs_io_event_scan_t *self, int place, int64_t position, int64_t events);

/* Takes parts from self->position on, to the first of the reasons above, which it stores in
 * *reason. data: the bytes at hand; last: no more will follow. */
int gs_io_event_scan_run(gs_io_event_scan_t *self, gs_context_t *ctx, const gs_io_json_text_t *data,
                         const gs_io_event_scan_selection_t *selection, bool last, int *reason);
void gs_io_event_scan_free(gs_io_event_scan_t *self, gs_context_t *ctx);

#endif
