/* Calls of every family from many threads on shared inputs: the answers of a single thread.
 *
 * test_c.py runs this also under ThreadSanitizer, which reports every access to shared memory that
 * is not ordered: a cache in what is const, a table that is filled on first use.
 */
#include <pthread.h>

#include "minunit.h"
#include "thread_calls.h"
#include "thread_calls_simulate.h"

enum { THREADS = 4, ROUNDS = 3 };

static call_t *const CALLS[] = {
    call_search,
    call_graph,
    call_edf,
    call_policy,
    call_replay_and_proof,
    call_partition,
    call_large,
    call_oracle,
    call_generate,
    call_fifo_bound,
    call_priority_streams,
    call_placed_tests,
    call_allocation,
    call_global_edf,
    call_simulate_fifo,
    call_simulate_host,
    call_challenge,
    call_hierarchy,
    call_warps,
    call_rules,
    call_row_text,
    call_event_scan,
};
enum { COUNT = sizeof CALLS / sizeof *CALLS };

static digest_t answer(int which)
{
    digest_t digest = {0, GS_OK};
    gs_context_t ctx;
    gs_context_init(&ctx);
    CALLS[which](&digest, &ctx);
    if (ctx.bytes_used != 0 && digest.status == GS_OK) {
        digest.status = GS_ERR_MEMORY;
    }
    return digest;
}

typedef struct {
    pthread_t thread;
    int first;
    digest_t found[ROUNDS * COUNT];
} worker_t;

/* All calls, each thread from another one on, so that the same and different ones meet. */
static void *work(void *arg)
{
    worker_t *self = arg;
    for (int k = 0; k < ROUNDS * COUNT; k++) {
        self->found[k] = answer((self->first + k) % COUNT);
    }
    return NULL;
}

static bool agree(const worker_t *worker, const digest_t *expected)
{
    for (int k = 0; k < ROUNDS * COUNT; k++) {
        const digest_t *one = &expected[(worker->first + k) % COUNT];
        if (worker->found[k].value != one->value || worker->found[k].status != GS_OK) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    static worker_t workers[THREADS];
    digest_t expected[COUNT];
    gs_context_t ctx;
    gs_context_init(&ctx);
    MU_CHECK(open_shared(&ctx));
    for (int t = 0; t < THREADS; t++) {
        workers[t].first = t % 2 * COUNT / 2;
        MU_CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        MU_CHECK(pthread_join(workers[t].thread, NULL) == 0);
    }
    /* Last, so that nothing has been used before the threads use it. */
    for (int which = 0; which < COUNT; which++) {
        expected[which] = answer(which);
        MU_CHECK(expected[which].status == GS_OK && expected[which].value != 0);
    }
    for (int t = 0; t < THREADS; t++) {
        MU_CHECK(agree(&workers[t], expected));
    }
    gs_pbs_search_free(&shared_search, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
    return MU_END();
}
