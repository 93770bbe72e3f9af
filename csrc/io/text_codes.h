/* Numbers of texts: equal texts get the same one, in the order of their first occurrence. */
#ifndef GS_IO_TEXT_CODES_H
#define GS_IO_TEXT_CODES_H

#include "core/hash_index.h"
#include "io/json_tokens.h"

typedef struct {
    char *bytes; /* owned: the texts, with a comma before each but the first */
    int64_t size;
    int64_t bytes_capacity;
    int64_t *end; /* owned: the place behind each text */
    int64_t count;
    int64_t capacity;
    gs_hash_index_t index;
} gs_io_text_codes_t;

void gs_io_text_codes_init(gs_io_text_codes_t *self);

/* The number of a text, which is copied when it is new. */
int gs_io_text_codes_find(gs_io_text_codes_t *self, gs_context_t *ctx, gs_io_json_text_t text,
                          int64_t *code);
void gs_io_text_codes_free(gs_io_text_codes_t *self, gs_context_t *ctx);

#endif
