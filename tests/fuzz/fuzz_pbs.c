/* Task sets and batch tables: the exact search, the graph, EDF, policies and certificates agree. */
#include "fuzz.h"
#include "fuzz_proofs.h"
#include "gpusched.h"

enum { MOST = 4, BATCHES = 1 << MOST };

typedef struct {
    int64_t period[MOST], deadline[MOST], offset[MOST];
    int64_t completion[BATCHES], undecided[BATCHES];
    gs_periodic_tasks_t tasks;
    gs_batch_table_t table;
} set_t;

static void read_tasks(fuzz_t *f, set_t *s, int32_t n)
{
    static const int64_t periods[] = {4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 40, 2, 3, 1, 60};
    int64_t kind = fuzz_below(f, 8);
    s->tasks = (gs_periodic_tasks_t){n, s->period, s->deadline, s->offset, 0};
    if (n > 1 && fuzz_one_in(f, 4)) {
        s->tasks.chained = (uint32_t)fuzz_below(f, 1 << (n - 1));
    }
    for (int32_t i = 0; i < n; i++) {
        if (i > 0 && (s->tasks.chained >> (i - 1) & 1) != 0) {
            s->period[i] = s->period[i - 1];
            s->deadline[i] = s->deadline[i - 1];
            s->offset[i] = s->offset[i - 1];
            continue;
        }
        int64_t period = periods[fuzz_below(f, 16)];
        s->period[i] = f->hostile ? fuzz_time(f, period, period) : period * f->scale;
        s->deadline[i] = s->period[i];
        if ((kind & 1) != 0) {
            s->deadline[i] = fuzz_time(f, 1, period);
        } else if (kind == 6) {
            s->deadline[i] = fuzz_time(f, 1, 2 * period);
        }
        s->offset[i] = (kind & 4) != 0 ? fuzz_time(f, 0, period) : 0;
    }
    if ((kind & 4) == 0) {
        s->tasks.offset = NULL;
    }
    if (f->hostile && fuzz_one_in(f, 16)) {
        s->tasks.chained = (uint32_t)fuzz_word(f);
    }
}

/* Whether a batch has two kernels of one chain. */
static bool is_doubled(const set_t *s, uint32_t batch)
{
    uint32_t used = 0;
    if (s->tasks.chained >> (s->tasks.n - 1) != 0) {
        return false; /* not chains: the set is refused */
    }
    for (int32_t i = 0; i < s->tasks.n; i++) {
        int32_t last = gs_periodic_tasks_last_kernel(&s->tasks, i);
        if ((batch >> i & 1) != 0) {
            if ((used >> last & 1) != 0) {
                return true;
            }
            used |= UINT32_C(1) << last;
        }
    }
    return false;
}

static void read_table(fuzz_t *f, set_t *s, int32_t n)
{
    s->table = (gs_batch_table_t){n, s->completion, NULL, NULL};
    for (uint32_t batch = 1; batch < UINT32_C(1) << n; batch++) {
        if ((batch & (batch - 1)) == 0) {
            s->completion[batch] = fuzz_time(f, 1, 8);
            continue;
        }
        /* Around the time of its members one after the other; some are not eligible. */
        uint64_t sum = 0;
        for (int32_t i = 0; i < n; i++) {
            sum += (batch >> i & 1) != 0 ? (uint64_t)s->completion[UINT32_C(1) << i] : 0;
        }
        int64_t part = fuzz_below(f, 20);
        if (part <= 16 && !is_doubled(s, batch)) {
            uint64_t unit = (uint64_t)f->scale;
            uint64_t time = sum / unit * (uint64_t)(part + 4) / 16 * unit;
            s->completion[batch] = (int64_t)(time & INT64_MAX);
        }
    }
    if (fuzz_one_in(f, 8)) {
        s->table.undecided = s->undecided;
        for (uint32_t batch = 1; batch < UINT32_C(1) << n; batch++) {
            if (s->completion[batch] == 0 && !is_doubled(s, batch)) {
                s->undecided[batch] = fuzz_one_in(f, 2) ? 0 : fuzz_time(f, 1, 12);
            }
        }
    }
    if (f->hostile && fuzz_one_in(f, 16)) {
        s->tasks.n = s->table.n = (int32_t)(fuzz_below(f, 2) == 0 ? -fuzz_below(f, 2) : 25);
    }
}

static void check_replay(const set_t *s, const gs_schedule_t *schedule, bool idling)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_schedule_replay_t replay;
    FUZZ_CHECK(gs_schedule_replay(&ctx, &s->tasks, &s->table, schedule->frames, schedule->count,
                                  idling, &replay) == GS_OK);
    FUZZ_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    fuzz_end(&ctx);
}

/* Jobs that end early do not spoil a policy. */
static void check_policy(fuzz_t *f, gs_context_t *ctx, const set_t *s, const gs_pbs_search_t *found)
{
    const uint64_t key[4] = {fuzz_byte(f), 0, 0, 0};
    gs_rng_t rng;
    gs_rng_init(&rng, key, 0, GS_RNG_STREAM_EXECUTION);
    gs_pbs_dispatch_t result;
    bool exact = true; /* factors below 1 make no time longer */
    for (uint32_t batch = 1; batch < UINT32_C(1) << s->table.n; batch++) {
        exact = exact && s->completion[batch] < (int64_t)1 << 50;
    }
    int status = gs_pbs_dispatch(ctx, &found->feasible, GS_PBS_DISPATCH_POLICY, NULL, 0, &rng,
                                 0.1 * (double)fuzz_below(f, 11), 1.0, &result);
    if (fuzz_done(ctx, status) && exact && found->answer == 1) {
        FUZZ_CHECK(result.late_count == 0);
    }
}

/* A copy of a set with another time of one batch. */
static void change(fuzz_t *f, const set_t *s, set_t *other)
{
    *other = *s;
    other->tasks.period = other->period;
    other->tasks.deadline = other->deadline;
    other->tasks.offset = s->tasks.offset == NULL ? NULL : other->offset;
    other->table.completion = other->completion;
    other->table.undecided = s->table.undecided == NULL ? NULL : other->undecided;
    uint32_t batch = 1 + (uint32_t)fuzz_below(f, (1 << s->table.n) - 1);
    int64_t *time = &other->completion[batch];
    *time -= (*time > f->scale ? fuzz_below(f, 4) : 0) * (*time / 4);
}

/* Answer of the search: 1, 0, -1; what it returns is valid. */
static int search(fuzz_t *f, const set_t *s, const gs_pbs_search_options_t *options)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_pbs_search_t found = {0};
    int status = gs_pbs_search_run(&found, &ctx, &s->tasks, &s->table, options);
    int answer = fuzz_done(&ctx, status) ? found.answer : -1;
    FUZZ_CHECK(status != GS_OK || (answer < 0) == (found.stage == GS_PBS_STAGE_NONE));
    if (answer == 1) {
        check_replay(s, &found.schedule, options->idling);
    }
    if (answer == 0 && found.proof.kind != GS_PBS_REFUTATION_NONE) {
        set_t other;
        change(f, s, &other);
        if (fuzz_proofs_check(f, &s->tasks, &s->table, &found.proof, options->idling,
                              options->proof ? &other.table : NULL)) {
            gs_pbs_search_options_t plain = {.idling = options->idling};
            FUZZ_CHECK(search(f, &other, &plain) != 1);
        }
    }
    if (status == GS_OK && found.has_policy) {
        check_policy(f, &ctx, s, &found);
    }
    gs_pbs_search_free(&found, &ctx);
    gs_pbs_search_free(&found, &ctx);
    fuzz_end(&ctx);
    return answer;
}

static int graph(fuzz_t *f, const set_t *s, bool idling, bool merge)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_pbs_graph_options_t options = {.variant = GS_PBS_GRAPH_REPAIRED,
                                      .merge = merge,
                                      .idling = idling,
                                      .lifo = fuzz_one_in(f, 2),
                                      .first_only = fuzz_one_in(f, 2),
                                      .keep = fuzz_one_in(f, 2),
                                      .depth_limit = -1,
                                      .states_limit = 3000};
    gs_pbs_graph_result_t result = {0};
    int status = gs_pbs_graph_search(&ctx, &s->tasks, &s->table, &options, &result);
    int answer = fuzz_done(&ctx, status) ? result.schedulable : -1;
    if (answer == 1) {
        check_replay(s, &result.schedule, idling);
    }
    gs_pbs_graph_result_free(&result, &ctx);
    fuzz_end(&ctx);
    return answer;
}

/* The listings as printed: any answer, no crash. */
static void printed_graph(fuzz_t *f, const set_t *s)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_pbs_graph_options_t options = {.variant = (int)fuzz_number(f, 0, 2),
                                      .pruning = (int)fuzz_number(f, 0, 2),
                                      .lifo = fuzz_one_in(f, 2),
                                      .merge = fuzz_one_in(f, 2),
                                      .idling = fuzz_one_in(f, 4),
                                      .keep = true,
                                      .depth_limit = fuzz_number(f, -1, 20),
                                      .states_limit = 1000};
    gs_pbs_graph_result_t result = {0};
    fuzz_done(&ctx, gs_pbs_graph_search(&ctx, &s->tasks, &s->table, &options, &result));
    gs_pbs_graph_result_free(&result, &ctx);
    fuzz_end(&ctx);
}

/* EDF without a miss is a schedule of a GPU that does not wait. */
static bool edf_succeeds(fuzz_t *f, const set_t *s, bool parallel)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_schedule_t schedule = {0};
    gs_pbs_edf_miss_t miss;
    int status = gs_pbs_edf_simulate(&ctx, &s->tasks, &s->table, parallel, &schedule, &miss);
    bool succeeds = fuzz_done(&ctx, status) && miss.task < 0;
    if (succeeds) {
        check_replay(s, &schedule, false);
    }
    gs_schedule_free(&schedule, &ctx);
    fuzz_end(&ctx);
    return succeeds;
}

static int infinite(fuzz_t *f, const set_t *s, bool idling)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_pbs_infinite_horizon_t found = {0};
    int status = gs_pbs_infinite_horizon_run(&found, &ctx, &s->tasks, &s->table, idling);
    int answer = fuzz_done(&ctx, status) ? found.answer : -1;
    if (answer == 1) {
        gs_context_t other;
        gs_context_init(&other);
        gs_schedule_replay_t replay;
        FUZZ_CHECK(gs_schedule_replay_cycle(&other, &s->tasks, &s->table, found.schedule.frames,
                                            found.schedule.count, idling, found.cycle_from,
                                            found.cycle_length, &replay) == GS_OK);
        FUZZ_CHECK(replay.rule == GS_SCHEDULE_REPLAY_OK);
    }
    gs_pbs_infinite_horizon_free(&found, &ctx);
    fuzz_end(&ctx);
    return answer;
}

static void check_agreement(fuzz_t *f, const set_t *s, bool refuted)
{
    gs_pbs_search_options_t options = {.idling = fuzz_one_in(f, 2),
                                       .thorough = fuzz_one_in(f, 4),
                                       .policy = fuzz_one_in(f, 4),
                                       .policy_limit = fuzz_one_in(f, 2) ? fuzz_below(f, 4) : 0,
                                       .proof = fuzz_one_in(f, 2)};
    if (fuzz_one_in(f, 2)) {
        options.skip = (int)fuzz_below(f, 8192);
    }
    int answer = search(f, s, &options);
    gs_pbs_search_options_t plain = {.idling = options.idling};
    int again = search(f, s, &plain);
    FUZZ_CHECK(answer < 0 || again < 0 || answer == again);
    answer = answer < 0 ? again : answer;
    FUZZ_CHECK(answer != 1 || !refuted);
    if (!options.idling && (edf_succeeds(f, s, false) || edf_succeeds(f, s, true))) {
        FUZZ_CHECK(answer != 0);
    }
    if (s->tasks.chained == 0) {
        int other = graph(f, s, options.idling, !fuzz_one_in(f, 4));
        FUZZ_CHECK(answer < 0 || other < 0 || answer == other);
    }
    bool in_time = s->tasks.offset == NULL && s->tasks.n <= MOST;
    for (int32_t i = 0; in_time && i < s->tasks.n; i++) {
        in_time = s->deadline[i] <= s->period[i];
    }
    int always = infinite(f, s, options.idling);
    FUZZ_CHECK(!in_time || answer < 0 || always < 0 || answer == always);
    if (options.idling) { /* what is possible without waiting is possible with it */
        plain.idling = false;
        FUZZ_CHECK(answer != 0 || search(f, s, &plain) != 1);
    }
    printed_graph(f, s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    set_t s;
    memset(&s, 0, sizeof s);
    int32_t n = 1 + (int32_t)fuzz_below(&f, MOST);
    read_tasks(&f, &s, n);
    read_table(&f, &s, n);
    check_agreement(&f, &s, fuzz_proofs_guess(&f, &s.tasks, &s.table));
    return 0;
}
