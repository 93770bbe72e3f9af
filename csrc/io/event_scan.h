/* Boundaries of the events of a trace in JSON (Chrome's trace event format, as Kineto writes it).
 *
 * The document is an object; its member "traceEvents" is a list of events, most of which a reader
 * does not need. The scan checks the grammar of the whole text, takes the pieces of it one after
 * the other, and reports of the members of the object the ranges of bytes, and of the events that
 * are needed the values of fields as integers of 64 bits. Members, and events with other values,
 * are left to a JSON library.
 */
#ifndef GS_IO_EVENT_SCAN_H
#define GS_IO_EVENT_SCAN_H

#include "io/json_tokens.h"
#include "io/text_codes.h"

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

/* Values of a field: text, not empty; an identifier, which is such a text or an integer; the number
 * 1000 times the value; an integer; the product of a list of three integers. Of texts and
 * identifiers the number among the texts of the scan is reported, others as by json_numbers.h. */
enum {
    GS_IO_EVENT_SCAN_TEXT = 0,
    GS_IO_EVENT_SCAN_IDENTIFIER = 1,
    GS_IO_EVENT_SCAN_THOUSANDTHS = 2,
    GS_IO_EVENT_SCAN_INTEGER = 3,
    GS_IO_EVENT_SCAN_PRODUCT = 4,
    GS_IO_EVENT_SCAN_KINDS
};

/* Stands for a missing value, or null, of a field that is optional. */
#define GS_IO_EVENT_SCAN_ABSENT INT64_MIN

/* A field to report: of an event, or of its member "args" (`inside`). */
typedef struct {
    gs_io_json_text_t key;
    bool inside;
    int kind;
    int64_t least; /* of a number, or of each factor of a product */
    bool optional;
} gs_io_event_scan_field_t;

enum { GS_IO_EVENT_SCAN_MOST_GROUPS = 4, GS_IO_EVENT_SCAN_MOST_FIELDS = 16 };

/* Kinds of events that are reported by the same fields. Group 0 has none. */
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

typedef struct {
    gs_io_event_scan_range_t *range;
    int64_t count;
    int64_t capacity;
} gs_io_event_scan_ranges_t;

/* Row by row the index of an event in its list and its fields. */
typedef struct {
    int64_t *value;
    int64_t count; /* of values */
    int64_t capacity;
} gs_io_event_scan_table_t;

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
    /* Members and whole events: those of group 0, those that are not objects, those whose fields
     * have other values, and those that a JSON library may refuse though the grammar allows them
     * (deep nesting, long numbers). Owned, as all that follows. */
    gs_io_event_scan_ranges_t ranges;
    gs_io_event_scan_table_t tables[GS_IO_EVENT_SCAN_MOST_GROUPS];
    gs_io_text_codes_t texts;
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
