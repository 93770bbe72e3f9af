/* Graph G, vertices V and list L of the listing of [RTNS24]; internal to pbs/graph/graph_paper*.c.
 *
 * A vertex is (t, ready, exe, dom, succ). Jobs are numbered task by task, and job sets are bit
 * sets. Functions return GS_OK, a spent budget or an error.
 */
#ifndef GS_PBS_GRAPH_GRAPH_PAPER_VERTICES_H
#define GS_PBS_GRAPH_GRAPH_PAPER_VERTICES_H

#include "core/hash_index.h"
#include "pbs/graph/graph_engine.h"

typedef struct {
    int64_t t;
    int64_t depth; /* |exe| */
    int64_t parent;
    int64_t first_child, last_child, next_sibling; /* succ(v): the graph is a tree */
    int64_t *dom;                                  /* owned, ascending */
    int64_t dom_count, dom_capacity;
    uint32_t batch; /* from the parent; GS_PBS_GRAPH_EDGE_SPLIT */
    bool queued;    /* in L */
    bool discarded;
    uint8_t state;
} gs_pbs_graph_paper_vertex_t;

/* A pending call of Algorithm 2. */
typedef struct {
    int64_t vertex;
    int64_t delta;
    int64_t child; /* next successor to propagate to */
} gs_pbs_graph_paper_merge_t;

typedef struct {
    gs_pbs_graph_engine_t *engine;
    gs_context_t *ctx;
    const gs_pbs_graph_jobs_t *jobs;
    bool closed; /* A(t, t') includes what arrives at t */
    int64_t words;
    int64_t base[GS_PERIODIC_TASKS_MAX]; /* number of task i's job 0 among all jobs */
    int64_t *due;                        /* of every job */
    gs_pbs_graph_paper_vertex_t *vertices;
    uint64_t *bits;                     /* per vertex: the sets ready and exe, one bit per job */
    int64_t *queue;                     /* L, between queue_head and queue_count */
    gs_pbs_graph_paper_merge_t *merges; /* the stack of Algorithm 2 */
    int64_t *scratch;                   /* vertices of one key, or vertices to discard */
    int64_t vertex_count, vertex_capacity, bits_capacity;
    int64_t queue_head, queue_count, queue_capacity;
    int64_t merge_capacity, scratch_capacity;
    gs_hash_index_t known; /* V by (ready, exe) */
    int64_t final;         /* the first vertex of S, -1 */
} gs_pbs_graph_paper_t;

/* The sets of a vertex, one bit per job; valid until the next vertex is created. */
static inline uint64_t *gs_pbs_graph_paper_ready(const gs_pbs_graph_paper_t *self, int64_t v)
{
    return self->bits + v * 2 * self->words;
}

static inline uint64_t *gs_pbs_graph_paper_exe(const gs_pbs_graph_paper_t *self, int64_t v)
{
    return gs_pbs_graph_paper_ready(self, v) + self->words;
}

static inline bool gs_pbs_graph_paper_has(const uint64_t *set, int64_t job)
{
    return (set[job / 64] >> (job % 64) & 1) != 0;
}

static inline void gs_pbs_graph_paper_put(uint64_t *set, int64_t job)
{
    set[job / 64] |= UINT64_C(1) << (job % 64);
}

/* Numbers the jobs. self has engine, ctx, jobs and closed set, the rest zero. Free in every
 * case. */
int gs_pbs_graph_paper_init(gs_pbs_graph_paper_t *self);
void gs_pbs_graph_paper_free(gs_pbs_graph_paper_t *self);

/* The number of jobs of task i that arrive in [0, t]. */
int64_t gs_pbs_graph_paper_arrived(const gs_pbs_graph_paper_t *self, int32_t i, int64_t t);

/* Adds A(from, to) to a set, or the arrivals of [from, to] when closed. */
void gs_pbs_graph_paper_add_arrivals(const gs_pbs_graph_paper_t *self, uint64_t *set, int64_t from,
                                     int64_t to, bool closed);

/* Whether A(from, to) is not empty. */
bool gs_pbs_graph_paper_arrives(const gs_pbs_graph_paper_t *self, int64_t from, int64_t to);

/* dom(v) <- dom(v) + {delta}, ascending and without repetition. */
int gs_pbs_graph_paper_add_delta(gs_pbs_graph_paper_t *self, int64_t v, int64_t delta);

/* Creates a vertex outside the graph, with empty sets and the dom of `from` (-1: none). It must be
 * entered or dropped before the next one is created. */
int gs_pbs_graph_paper_create(gs_pbs_graph_paper_t *self, int64_t t, int64_t from, int64_t *v);

/* Drops the vertex created last. */
void gs_pbs_graph_paper_drop(gs_pbs_graph_paper_t *self);

/* Adds the vertex created last to V and to G, as successor of its parent. */
int gs_pbs_graph_paper_enter(gs_pbs_graph_paper_t *self, int64_t v, int64_t parent, uint32_t batch);

/* Appends v to V, with an index entry for line 25. */
int gs_pbs_graph_paper_index(gs_pbs_graph_paper_t *self, int64_t v);

/* Writes the vertices of V with the ready and executed jobs of s to scratch, in order of entry. */
int gs_pbs_graph_paper_equals(gs_pbs_graph_paper_t *self, int64_t s, int64_t *count);

/* Line 33: discards v and its successors in G and L. Uses scratch from `used` on. */
int gs_pbs_graph_paper_discard(gs_pbs_graph_paper_t *self, int64_t v, int64_t used);

/* Adds v to L. */
int gs_pbs_graph_paper_enqueue(gs_pbs_graph_paper_t *self, int64_t v);

/* Removes the next vertex from L; -1 when L is empty. */
int64_t gs_pbs_graph_paper_dequeue(gs_pbs_graph_paper_t *self);

#endif
