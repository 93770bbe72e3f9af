/* Numbers of texts. */
#include "io/text_codes.h"

#include "core/vector.h"

void gs_io_text_codes_init(gs_io_text_codes_t *self)
{
    *self = (gs_io_text_codes_t){0};
    gs_hash_index_init(&self->index);
}

static uint64_t hash_of(gs_io_json_text_t text)
{
    uint64_t hash = (uint64_t)text.size, word;
    int64_t at = 0;
    for (; at + 8 <= text.size; at += 8) {
        memcpy(&word, text.bytes + at, 8);
        hash = gs_hash_index_mix(hash, word);
    }
    word = 0;
    memcpy(&word, text.bytes + at, (size_t)(text.size - at));
    return gs_hash_index_mix(hash, word);
}

static bool is_text(const gs_io_text_codes_t *self, int64_t code, gs_io_json_text_t text)
{
    int64_t begin = code == 0 ? 0 : self->end[code - 1] + 1;
    return self->end[code] - begin == text.size &&
           memcmp(self->bytes + begin, text.bytes, (size_t)text.size) == 0;
}

static int add(gs_io_text_codes_t *self, gs_context_t *ctx, gs_io_json_text_t text)
{
    int64_t size;
    if (!gs_add(self->size, text.size + 1, &size)) {
        return ctx->status = GS_ERR_MEMORY;
    }
    if (size > self->bytes_capacity) {
        char *bytes = gs_vector_reserve(ctx, self->bytes, &self->bytes_capacity, size, 1);
        if (bytes == NULL) {
            return ctx->status;
        }
        self->bytes = bytes;
    }
    if (self->count == self->capacity) {
        int64_t *end =
            gs_vector_reserve(ctx, self->end, &self->capacity, self->count + 1, sizeof *end);
        if (end == NULL) {
            return ctx->status;
        }
        self->end = end;
    }
    if (self->count > 0) {
        self->bytes[self->size++] = ',';
    }
    memcpy(self->bytes + self->size, text.bytes, (size_t)text.size);
    self->size += text.size;
    self->end[self->count++] = self->size;
    return GS_OK;
}

int gs_io_text_codes_find(gs_io_text_codes_t *self, gs_context_t *ctx, gs_io_json_text_t text,
                          int64_t *code)
{
    uint64_t hash = hash_of(text);
    int64_t cursor = 0;
    while ((*code = gs_hash_index_next(&self->index, hash, &cursor)) >= 0) {
        if (is_text(self, *code, text)) {
            return GS_OK;
        }
    }
    *code = self->count;
    int status = add(self, ctx, text);
    return status == GS_OK ? gs_hash_index_add(&self->index, ctx, hash, *code) : status;
}

void gs_io_text_codes_free(gs_io_text_codes_t *self, gs_context_t *ctx)
{
    gs_free(ctx, self->bytes);
    gs_free(ctx, self->end);
    gs_hash_index_free(&self->index, ctx);
    gs_io_text_codes_init(self);
}
