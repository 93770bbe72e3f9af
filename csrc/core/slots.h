/* An index from hashes to numbers: which entries may have this key?
 *
 * Open addressing with linear probing; the caller keeps the keys and compares them. Entries are
 * never removed one by one.
 */
#ifndef GS_CORE_SLOTS_H
#define GS_CORE_SLOTS_H

#include "core/env.h"

typedef struct {
    uint64_t hash;
    int64_t id; /* the caller's number plus one; 0: the slot is free */
} gs_slot_t;

typedef struct {
    gs_slot_t *slots; /* owned */
    int64_t capacity; /* a power of two, or 0 */
    int64_t count;
} gs_slots_t;

void gs_slots_init(gs_slots_t *self);
void gs_slots_free(gs_slots_t *self, gs_env_t *env);

/* Adds id (>= 0) under hash, also where it is there already. */
int gs_slots_add(gs_slots_t *self, gs_env_t *env, uint64_t hash, int64_t id);

/* Walks through the entries of a hash: start with *cursor = 0, returns -1 after the last. */
int64_t gs_slots_next(const gs_slots_t *self, uint64_t hash, int64_t *cursor);

/* Mixes one word into a hash (the finalizer of splitmix64). */
static inline uint64_t gs_slots_mix(uint64_t hash, uint64_t word)
{
    uint64_t x = (hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
