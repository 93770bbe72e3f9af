/* Index from hashes to numbers: the entries that may have a given key.
 *
 * Open addressing with linear probing. The caller keeps the keys and compares them. Single entries
 * are never removed.
 */
#ifndef GS_CORE_HASH_INDEX_H
#define GS_CORE_HASH_INDEX_H

#include "core/context.h"

typedef struct {
    uint64_t hash;
    int64_t id; /* the caller's number plus one; 0: free slot */
} gs_hash_index_entry_t;

typedef struct {
    gs_hash_index_entry_t *slots; /* owned */
    int64_t capacity;             /* a power of two, or 0 */
    int64_t count;
} gs_hash_index_t;

void gs_hash_index_init(gs_hash_index_t *self);
void gs_hash_index_free(gs_hash_index_t *self, gs_context_t *ctx);

/* Adds id (>= 0) under hash, even if it is already present. */
int gs_hash_index_add(gs_hash_index_t *self, gs_context_t *ctx, uint64_t hash, int64_t id);

/* The next entry of a hash in the order in which they were added, -1 after the last; the first call
 * has *cursor = 0. */
int64_t gs_hash_index_next(const gs_hash_index_t *self, uint64_t hash, int64_t *cursor);

/* Mixes one word into a hash (the finalizer of splitmix64). */
static inline uint64_t gs_hash_index_mix(uint64_t hash, uint64_t word)
{
    uint64_t x = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
