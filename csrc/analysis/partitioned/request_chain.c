/* Longest simple paths in the graph of tasks that share SMs: branch and bound, then dynamic
 * programming over sets. */
#include <string.h>

#include "analysis/partitioned/request_chain.h"

enum {
    STEPS = 400 /* of branch and bound, before dynamic programming over all sets of tasks */
};

int gs_analysis_partitioned_request_chain_init(gs_analysis_partitioned_request_chain_t *self,
                                               gs_context_t *ctx, int64_t n)
{
    memset(self, 0, sizeof *self);
    self->n = n;
    self->words = (n + 63) / 64;
    int64_t size;
    if (!gs_mul(n, self->words, &size)) {
        return gs_fail(ctx, GS_ERR_OVERFLOW, "tasks", -1, n,
                       "n tasks with n * ceil(n / 64) below 2**63");
    }
    self->neighbours = gs_alloc(ctx, (size_t)size, sizeof *self->neighbours);
    self->weight = gs_alloc(ctx, (size_t)n, sizeof *self->weight);
    self->group = gs_alloc(ctx, (size_t)(3 * self->words), sizeof *self->group);
    self->excluded = gs_alloc(ctx, (size_t)self->words, sizeof *self->excluded);
    self->ends =
        gs_alloc(ctx, (size_t)1 << GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT, sizeof *self->ends);
    bool made = self->neighbours != NULL && self->weight != NULL && self->group != NULL;
    return made && self->excluded != NULL && self->ends != NULL ? GS_OK : ctx->status;
}

void gs_analysis_partitioned_request_chain_free(gs_analysis_partitioned_request_chain_t *self,
                                                gs_context_t *ctx)
{
    gs_free(ctx, self->neighbours);
    gs_free(ctx, self->weight);
    gs_free(ctx, self->group);
    gs_free(ctx, self->excluded);
    gs_free(ctx, self->ends);
    memset(self, 0, sizeof *self);
}

void gs_analysis_partitioned_request_chain_clear(gs_analysis_partitioned_request_chain_t *self)
{
    if (self->has_edges) {
        memset(self->neighbours, 0, (size_t)(self->n * self->words) * sizeof *self->neighbours);
        self->has_edges = false;
    }
}

int gs_analysis_partitioned_request_chain_add_shared_sms(
    gs_analysis_partitioned_request_chain_t *self, gs_context_t *ctx, const int64_t *segments,
    const uint8_t *sm, int64_t sms)
{
    uint64_t *users = self->group;
    for (int64_t s = 0; s < sms; s++) {
        memset(users, 0, (size_t)self->words * sizeof *users);
        int64_t count = 0;
        for (int64_t i = 0; i < self->n; i++) {
            if (segments[i] > 0 && sm[i * sms + s] != 0) {
                users[i / 64] |= (uint64_t)1 << (i % 64);
                count++;
            }
        }
        self->has_edges = self->has_edges || count > 1;
        for (int64_t i = 0; i < self->n && count > 1; i++) {
            if (segments[i] == 0 || sm[i * sms + s] == 0) {
                continue;
            }
            for (int64_t w = 0; w < self->words; w++) {
                self->neighbours[i * self->words + w] |= users[w];
            }
        }
        int status = gs_poll(ctx, self->n + count * self->words);
        if (status != GS_OK) {
            return status;
        }
    }
    for (int64_t i = 0; i < self->n; i++) {
        self->neighbours[i * self->words + i / 64] &= ~((uint64_t)1 << (i % 64));
    }
    return GS_OK;
}

/* A component, its tasks renumbered from 0 by index. */
typedef struct {
    int64_t count;
    int64_t weight[GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT];
    unsigned neighbours[GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT];
    bool listed;    /* whether `ends` is filled */
    int64_t best;   /* of the current search */
    int64_t enough; /* upper bound of all paths */
    int64_t steps;
} component_t;

static int count_bits(unsigned bits) /* up to 16 */
{
    bits -= bits >> 1 & 0x5555u;
    bits = (bits & 0x3333u) + (bits >> 2 & 0x3333u);
    bits = (bits + (bits >> 4)) & 0x0f0fu;
    return (int)((bits + (bits >> 8)) & 0x1fu);
}

static int64_t weight_of(const component_t *part, unsigned tasks)
{
    int64_t sum = 0;
    for (; tasks != 0; tasks &= tasks - 1) {
        sum += part->weight[__builtin_ctz(tasks)];
    }
    return sum;
}

/* The tasks of `open` reachable from `from`, a subset of it. */
static unsigned reach(const component_t *part, unsigned from, unsigned open)
{
    unsigned found = from;
    for (unsigned next = from; next != 0;) {
        unsigned more = 0;
        for (; next != 0; next &= next - 1) {
            more |= part->neighbours[__builtin_ctz(next)];
        }
        next = more & open & ~found;
        found |= next;
    }
    return found;
}

/* Extends a path of that weight whose last task is adjacent to the tasks `next` of `open`: those
 * with the fewest continuations first. False when it takes more than STEPS steps. */
static bool search(component_t *part, unsigned next, unsigned open, int64_t weight)
{
    part->best = weight > part->best ? weight : part->best;
    if (++part->steps > STEPS) {
        return false;
    }
    while (next != 0) {
        if (part->best >= part->enough ||
            weight + weight_of(part, reach(part, next, open)) <= part->best) {
            return true;
        }
        int chosen = -1, fewest = GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT;
        for (unsigned rest = next; rest != 0; rest &= rest - 1) {
            int v = __builtin_ctz(rest), ways = count_bits(part->neighbours[v] & open);
            if (ways < fewest) {
                fewest = ways;
                chosen = v;
            }
        }
        unsigned bit = 1u << chosen;
        if (!search(part, part->neighbours[chosen] & open & ~bit, open & ~bit,
                    weight + part->weight[chosen])) {
            return false;
        }
        next &= ~bit;
    }
    return true;
}

/* Dynamic programming over all sets of tasks: a path through all tasks of a set can end at v when
 * one through the other tasks ends at a neighbour of v. */
static void list_ends(component_t *part, uint16_t *ends)
{
    for (unsigned tasks = 1; tasks < 1u << part->count; tasks++) {
        unsigned found = 0;
        for (unsigned rest = tasks; rest != 0; rest &= rest - 1) {
            unsigned v = (unsigned)__builtin_ctz(rest), others = tasks & ~(1u << v);
            if (others == 0 || (ends[others] & part->neighbours[v]) != 0) {
                found |= 1u << v;
            }
        }
        ends[tasks] = (uint16_t)found;
    }
    part->listed = true;
}

/* The heaviest set of tasks without i with a path that ends at a neighbour of i. */
static int64_t heaviest_path_set(const component_t *part, const uint16_t *ends, int64_t i)
{
    int64_t best = 0;
    for (unsigned tasks = 1; tasks < 1u << part->count; tasks++) {
        if ((tasks >> i & 1) == 0 && (ends[tasks] & part->neighbours[i]) != 0) {
            int64_t weight = weight_of(part, tasks);
            best = weight > best ? weight : best;
        }
    }
    return best;
}

/* The longest path that begins at a neighbour of i. */
static int longest_path(gs_analysis_partitioned_request_chain_t *self, gs_context_t *ctx,
                        component_t *part, int64_t i, int64_t *longest)
{
    unsigned open = ((1u << part->count) - 1) & ~(1u << i);
    part->best = part->steps = part->enough = 0;
    for (unsigned rest = part->neighbours[i];
         rest != 0;) { /* upper bound: the heaviest component without i */
        unsigned piece = reach(part, rest & -rest, open);
        int64_t weight = weight_of(part, piece);
        part->enough = weight > part->enough ? weight : part->enough;
        rest &= ~piece;
    }
    bool found = search(part, part->neighbours[i], open, 0);
    int status = gs_poll(ctx, 20 * part->steps);
    *longest = part->best;
    if (!found && status == GS_OK) {
        if (!part->listed) {
            list_ends(part, self->ends);
        }
        *longest = heaviest_path_set(part, self->ends, i);
        status = gs_poll(ctx, (int64_t)GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT << part->count);
    }
    return status;
}

/* Sets self->group to the tasks reachable from i without those of `excluded`; returns their
 * number. */
static int64_t find_component(gs_analysis_partitioned_request_chain_t *self, int64_t i,
                              const uint64_t *excluded)
{
    int64_t words = self->words, count = 1;
    uint64_t *found = self->group, *next = self->group + words;
    memset(found, 0, (size_t)(2 * words) * sizeof *found);
    found[i / 64] = next[i / 64] = (uint64_t)1 << (i % 64);
    for (int64_t w = 0; w < words;) {
        if (next[w] == 0) {
            w++;
            continue;
        }
        int64_t task = 64 * w + __builtin_ctzll(next[w]);
        next[w] &= next[w] - 1;
        for (int64_t v = 0; v < words; v++) {
            uint64_t more = self->neighbours[task * words + v] & ~found[v] & ~excluded[v];
            if (more != 0) {
                found[v] |= more;
                next[v] |= more;
                count += __builtin_popcountll(more);
                w = v < w ? v : w;
            }
        }
    }
    return count;
}

/* Lists the tasks of self->group by ascending index, at most `most`. */
static int64_t list_component(const gs_analysis_partitioned_request_chain_t *self, int64_t *tasks,
                              int64_t most)
{
    int64_t count = 0;
    for (int64_t w = 0; w < self->words; w++) {
        for (uint64_t rest = self->group[w]; rest != 0 && count < most; rest &= rest - 1) {
            tasks[count++] = 64 * w + __builtin_ctzll(rest);
        }
    }
    return count;
}

static int64_t component_weight(const gs_analysis_partitioned_request_chain_t *self)
{
    int64_t sum = 0;
    for (int64_t w = 0; w < self->words; w++) {
        for (uint64_t rest = self->group[w]; rest != 0; rest &= rest - 1) {
            sum += self->weight[64 * w + __builtin_ctzll(rest)];
        }
    }
    return sum;
}

static void init_component(const gs_analysis_partitioned_request_chain_t *self,
                           const int64_t *tasks, int64_t count, component_t *part)
{
    part->count = count;
    part->listed = false;
    for (int64_t a = 0; a < count; a++) {
        part->weight[a] = self->weight[tasks[a]];
        part->neighbours[a] = 0;
        for (int64_t b = 0; b < a; b++) {
            if (gs_analysis_partitioned_request_chain_has_edge(self, tasks[a], tasks[b])) {
                part->neighbours[a] |= 1u << b;
                part->neighbours[b] |= 1u << a;
            }
        }
    }
}

/* Whether the tasks form a ring in this order, or are at most two: then all other tasks form a path
 * that begins at a neighbour of i. Tasks in the order of their SMs, as an allocation assigns them,
 * often form one. */
static bool is_ring(const gs_analysis_partitioned_request_chain_t *self, const int64_t *tasks,
                    int64_t count)
{
    for (int64_t t = 1; t < count; t++) {
        if (!gs_analysis_partitioned_request_chain_has_edge(self, tasks[t - 1], tasks[t])) {
            return false;
        }
    }
    return count <= 2 ||
           gs_analysis_partitioned_request_chain_has_edge(self, tasks[count - 1], tasks[0]);
}

int gs_analysis_partitioned_request_chain_longest(gs_analysis_partitioned_request_chain_t *self,
                                                  gs_context_t *ctx, int64_t i,
                                                  const uint64_t *excluded, int64_t *longest)
{
    *longest = 0;
    if (!self->has_edges) {
        return GS_OK;
    }
    int64_t count = find_component(self, i, excluded);
    int status = gs_poll(ctx, count * self->words);
    if (count > GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT || status != GS_OK) {
        *longest = component_weight(self) - self->weight[i];
        return status;
    }
    int64_t tasks[GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT] = {0};
    list_component(self, tasks, GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT);
    if (is_ring(self, tasks, count)) {
        *longest = component_weight(self) - self->weight[i];
        return GS_OK;
    }
    component_t part;
    init_component(self, tasks, count, &part);
    int64_t at = 0;
    while (tasks[at] != i) {
        at++;
    }
    return longest_path(self, ctx, &part, at, longest);
}

int gs_analysis_partitioned_request_chain_component(gs_analysis_partitioned_request_chain_t *self,
                                                    gs_context_t *ctx, int64_t i,
                                                    const uint64_t *excluded, int64_t *longest)
{
    int64_t tasks[GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT] = {0};
    int64_t count = find_component(self, i, excluded);
    bool few = count <= GS_ANALYSIS_PARTITIONED_REQUEST_CHAIN_EXACT &&
               list_component(self, tasks, count) == count;
    int64_t sum = component_weight(self);
    bool ring = few && is_ring(self, tasks, count);
    for (int64_t w = 0; w < self->words; w++) {
        for (uint64_t rest = self->group[w]; rest != 0; rest &= rest - 1) {
            int64_t j = 64 * w + __builtin_ctzll(rest);
            longest[j] = sum - self->weight[j];
        }
    }
    component_t part;
    if (few && !ring) {
        init_component(self, tasks, count, &part);
    }
    for (int64_t t = 0; t < count && few && !ring; t++) {
        int status = longest_path(self, ctx, &part, t, &longest[tasks[t]]);
        if (status != GS_OK) {
            return status;
        }
    }
    return gs_poll(ctx, count * self->words);
}

int gs_analysis_partitioned_request_chain_all(gs_analysis_partitioned_request_chain_t *self,
                                              gs_context_t *ctx, int64_t *longest)
{
    if (!self->has_edges) {
        memset(longest, 0, (size_t)self->n * sizeof *longest);
        return gs_poll(ctx, self->n);
    }
    uint64_t *done = self->group + 2 * self->words;
    int status = GS_OK;
    memset(done, 0, (size_t)self->words * sizeof *done);
    for (int64_t i = 0; i < self->n && status == GS_OK; i++) {
        if ((done[i / 64] >> (i % 64) & 1) == 0) {
            status = gs_analysis_partitioned_request_chain_component(self, ctx, i, done, longest);
            for (int64_t w = 0; w < self->words; w++) {
                done[w] |= self->group[w];
            }
        }
    }
    return status;
}
