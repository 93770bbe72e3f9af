/* Player and server of the runtime on work that takes a given time; log, timer; refusals. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "minunit.h"
#include "rt/rt.h"
#include "rt/segment_server.h"

#define MS 1000000
#define LENGTH(array) ((int32_t)(sizeof array / sizeof *array))

static void nap(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    nanosleep(&t, NULL);
}

/* Work that takes a time, as a GPU does it: all at once. */
typedef struct {
    int64_t takes, ends;
    int fails;       /* submit, or wait, gives an error */
    int submissions; /* of this task */
} unit_t;

static struct {
    int task[64], kernel[64], count;
    int64_t job[64];
} order;

static int submit(void *arg, const gs_rt_job_t *job)
{
    unit_t *unit = arg;
    if (order.count < 64) {
        order.task[order.count] = job->task;
        order.kernel[order.count] = job->kernel;
        order.job[order.count++] = job->job;
    }
    unit->submissions++;
    unit->ends = gs_rt_now() + unit->takes;
    return unit->fails == 1 ? -7 : 0;
}

static int wait_for(void *arg, const gs_rt_job_t *job, int64_t until)
{
    unit_t *unit = arg;
    (void)job;
    if (unit->fails == 2) {
        return -7;
    }
    int64_t now;
    while ((now = gs_rt_now()) < unit->ends && now < until) {
        nap((unit->ends < until ? unit->ends : until) - now);
    }
    return now < unit->ends ? GS_RT_TIMEOUT : GS_RT_OK;
}

/* a: 10 ms, b: 20 ms with two kernels, c: 20 ms. */
static const gs_rt_plan_task_t tasks[] = {
    {"a", 10, 0, 10, 1},
    {"b", 20, 0, 20, 2},
    {"c", 20, 1, 19, 1},
};
static const gs_rt_plan_entry_t entries[] = {{0, 0}, {1, 0}, {2, 0}, {1, 1}, {0, 0}};
static const uint32_t masks[] = {1, 2};
static const gs_rt_plan_frame_t frames[] = {
    {0, 4, 0, 2, 0, 1},   /* a and b; b alone takes no longer */
    {4, 8, 2, 2, 1, 1},   /* c and the end of b; c alone takes no longer */
    {10, 13, 4, 1, 0, 0}, /* a */
};
static const gs_rt_plan_t plan = {
    .tick = MS,
    .hyperperiod = 20,
    .tasks = LENGTH(tasks),
    .frames = LENGTH(frames),
    .entries = LENGTH(entries),
    .masks = LENGTH(masks),
    .task = tasks,
    .frame = frames,
    .entry = entries,
    .mask = masks,
};

static gs_rt_player_t *player_of(gs_rt_player_options_t options, unit_t *units, int handshake)
{
    gs_rt_player_t *player;
    options.cpu = -1;
    order.count = 0;
    MU_CHECK(gs_rt_player_open(&plan, &options, &player) == GS_RT_OK);
    for (int i = 0; i < plan.tasks; i++) {
        gs_rt_work_t work = {&units[i], submit, wait_for};
        MU_CHECK(gs_rt_player_work(player, i, &work, i == handshake) == GS_RT_OK);
    }
    return player;
}

static void in_order(void)
{
    unit_t units[] = {{.takes = 2 * MS}, {.takes = MS}, {.takes = MS}};
    for (int reclaim = 0; reclaim < 2; reclaim++) {
        gs_rt_player_t *player =
            player_of((gs_rt_player_options_t){.reclaim = reclaim, .spin = reclaim}, units, -1);
        MU_CHECK(gs_rt_player_find(player, "c") == 2);
        MU_CHECK(gs_rt_player_find(player, "d") == GS_RT_ERR_VALUE);
        int64_t first = gs_rt_now() + MS;
        MU_CHECK(gs_rt_player_run(player, first, 2) == GS_RT_OK);
        MU_CHECK(order.count == 2 * LENGTH(entries));
        for (int k = 0; k < order.count; k++) {
            const gs_rt_plan_entry_t *expected = &entries[k % LENGTH(entries)];
            MU_CHECK(order.task[k] == expected->task && order.kernel[k] == expected->kernel);
        }
        MU_CHECK(order.job[4] == 1 && order.job[5] == 2 && order.job[9] == 3);
        int result = gs_rt_player_done(player, 0, 3, 0);
        MU_CHECK(result == GS_RT_OK || result == GS_RT_LATE);
        MU_CHECK(gs_rt_player_done(player, 0, 4, INT64_MAX) == GS_RT_STOPPED);
        MU_CHECK(gs_rt_player_done(player, 0, -1, 0) == GS_RT_ERR_STATE);
        MU_CHECK(gs_rt_player_run(player, first, 1) == GS_RT_ERR_STATE);
        /* The last frame begins at its planned instant, or at the release of its job. */
        MU_CHECK(gs_rt_now() >= first + 30 * MS + 2 * MS);
        gs_rt_player_close(player);
    }
}

/* b is never ready: its first frame runs without it, and so does the second one, whose rest takes
 * no longer without the end of b. */
static void skips(void)
{
    unit_t units[] = {{.takes = MS}, {.takes = MS}, {.takes = MS}};
    gs_rt_player_t *player =
        player_of((gs_rt_player_options_t){.overrun = GS_RT_OVERRUN_SKIP}, units, 1);
    MU_CHECK(gs_rt_player_overrun(player, 0, GS_RT_OVERRUN_CONTINUE) == GS_RT_OK);
    MU_CHECK(gs_rt_player_run(player, gs_rt_now() + MS, 1) == GS_RT_OK);
    MU_CHECK(units[1].submissions == 0);
    MU_CHECK(gs_rt_player_done(player, 1, 0, 0) == GS_RT_SKIPPED);
    /* The plan says nothing of a without b: their slot stays empty. */
    MU_CHECK(units[0].submissions == 1 && gs_rt_player_done(player, 0, 0, 0) == GS_RT_SKIPPED);
    MU_CHECK(units[2].submissions == 1 && gs_rt_player_done(player, 2, 0, 0) == GS_RT_OK);
    gs_rt_player_close(player);

    /* Where a is not ready, b runs. */
    memset(units, 0, sizeof units);
    player = player_of((gs_rt_player_options_t){.overrun = GS_RT_OVERRUN_SKIP}, units, 0);
    MU_CHECK(gs_rt_player_ready(player, 0, 1) == GS_RT_ERR_STATE); /* before job 0 */
    MU_CHECK(gs_rt_player_ready(player, 1, 0) == GS_RT_ERR_STATE); /* has no handshake */
    MU_CHECK(gs_rt_player_run(player, gs_rt_now() + MS, 1) == GS_RT_OK);
    MU_CHECK(units[0].submissions == 0 && units[1].submissions == 2);
    MU_CHECK(gs_rt_player_ready(player, 0, 0) == GS_RT_STOPPED);
    gs_rt_player_close(player);
}

static void ends(void)
{
    unit_t units[] = {{.takes = MS}, {.takes = MS}, {.takes = MS}};
    gs_rt_player_options_t options = {.overrun = GS_RT_OVERRUN_ABORT, .hang_ns = 5 * MS};
    gs_rt_player_t *player = player_of(options, units, 0);
    MU_CHECK(gs_rt_player_run(player, gs_rt_now(), 1) == GS_RT_ERR_STATE);
    MU_CHECK(strstr(gs_rt_error(), "to be ready") != NULL);
    gs_rt_player_close(player);

    options.overrun = GS_RT_OVERRUN_CONTINUE;
    player = player_of(options, units, 0);
    MU_CHECK(gs_rt_player_run(player, gs_rt_now(), 1) == GS_RT_ERR_HANG);
    MU_CHECK(strcmp(gs_rt_error(), "readiness of task: got 0, expected to come within hang_ns of "
                                   "its frame") == 0);
    gs_rt_player_close(player);

    units[1].takes = 1000 * MS;
    player = player_of(options, units, -1);
    int64_t began = gs_rt_now();
    MU_CHECK(gs_rt_player_run(player, began, 1) == GS_RT_ERR_HANG);
    MU_CHECK(gs_rt_now() - began < 500 * MS);
    gs_rt_player_close(player);

    for (int fails = 1; fails <= 2; fails++) {
        units[0].fails = fails;
        player = player_of(options, units, -1);
        MU_CHECK(gs_rt_player_run(player, gs_rt_now(), 1) == GS_RT_ERR_WORK);
        gs_rt_player_close(player);
    }
}

/* The thread of a task, and a stop of an endless play. */
static atomic_int answers[8];

static void *task_thread(void *arg)
{
    gs_rt_player_t *player = arg;
    int slot = 0;
    for (int64_t job = 0;; job++) {
        if (gs_rt_player_ready(player, 0, job) == GS_RT_STOPPED) {
            break;
        }
        int end = gs_rt_player_done(player, 0, job, INT64_MAX);
        slot = end >= 0 ? end : 7;
        answers[slot]++;
        if (end == GS_RT_STOPPED || end < 0) {
            break;
        }
    }
    return NULL;
}

static void *run_player(void *arg)
{
    return (void *)(intptr_t)gs_rt_player_run(arg, gs_rt_now(), 0);
}

static void stops(gs_rt_log_t *log)
{
    unit_t units[] = {{.takes = MS}, {.takes = MS}, {.takes = MS}};
    gs_rt_player_t *player = player_of((gs_rt_player_options_t){.log = log}, units, 0);
    pthread_t task, runner;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    size_t held = mallinfo2().uordblks;
#endif
    pthread_create(&task, NULL, task_thread, player);
    pthread_create(&runner, NULL, run_player, player);
    nap(50 * MS);
    gs_rt_player_stop(player);
    void *status;
    pthread_join(runner, &status);
    pthread_join(task, NULL);
    MU_CHECK((intptr_t)status == GS_RT_STOPPED);
    MU_CHECK(answers[GS_RT_OK] + answers[GS_RT_LATE] >= 3 && answers[7] == 0);
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    MU_CHECK(mallinfo2().uordblks <= held + 2048); /* threads of glibc, no more */
#endif
    gs_rt_player_close(player);
}

/* c needs a and b: where one of them is left out, c is, too, though it is ready and may run late.
 */
static void needed(void)
{
    static const gs_rt_plan_need_t needs[] = {{2, 1}};
    static const gs_rt_plan_task_t task[] = {
        {"a", 10, 0, 10, 1}, {"b", 20, 0, 20, 1}, {"c", 20, 1, 19, 1}};
    static const gs_rt_plan_entry_t entry[] = {{0, 0}, {1, 0}, {2, 0}, {0, 0}};
    static const gs_rt_plan_frame_t frame[] = {
        {0, 4, 0, 2, 0, 1}, {4, 8, 2, 1, 1, 0}, {10, 13, 3, 1, 1, 0}};
    static const uint32_t lacks_b[] = {2};
    gs_rt_plan_t other = plan;
    other.task = task;
    other.entry = entry;
    other.entries = LENGTH(entry);
    other.frame = frame;
    other.mask = lacks_b;
    other.masks = 1;
    other.need = needs;
    other.needs = 1;
    for (int absent = 0; absent < 2; absent++) {
        unit_t units[] = {{.takes = MS}, {.takes = MS}, {.takes = MS}};
        gs_rt_player_options_t options = {.cpu = -1, .overrun = GS_RT_OVERRUN_SKIP};
        gs_rt_player_t *player;
        MU_CHECK(gs_rt_player_open(&other, &options, &player) == GS_RT_OK);
        for (int i = 0; i < 3; i++) {
            gs_rt_work_t work = {&units[i], submit, wait_for};
            MU_CHECK(gs_rt_player_work(player, i, &work, absent && i == 1) == GS_RT_OK);
        }
        MU_CHECK(gs_rt_player_overrun(player, 0, GS_RT_OVERRUN_CONTINUE) == GS_RT_OK);
        MU_CHECK(gs_rt_player_overrun(player, 2, GS_RT_OVERRUN_CONTINUE) == GS_RT_OK);
        /* A late start of this thread leaves out no more than b: a and c run late. */
        MU_CHECK(gs_rt_player_run(player, gs_rt_now() + MS, 2) == GS_RT_OK);
        MU_CHECK(units[0].submissions == 4);
        MU_CHECK(units[2].submissions == units[1].submissions);
        MU_CHECK(!absent || units[1].submissions == 0);
        MU_CHECK(!absent || gs_rt_player_done(player, 2, 1, 0) == GS_RT_SKIPPED);
        gs_rt_player_close(player);
    }
}

static void refused_needs(void)
{
    static const gs_rt_plan_need_t pairs[][2] = {
        {{2, 0}, {2, 1}},  /* another period */
        {{2, 1}, {1, 2}},  /* not in the order of the tasks */
        {{2, 2}, {2, 1}},  /* itself */
        {{2, -1}, {2, 1}}, /* no task */
        {{2, 3}, {2, 1}},  {{-1, 1}, {2, 1}},
        {{2, 1}, {3, 1}},  {{1, 2}, {1, 2}}, /* b is in the batch before that of c */
        {{2, 1}, {2, 1}},                    /* the second kernel of b is in the batch of c */
    };
    gs_rt_player_options_t options = {.cpu = -1};
    gs_rt_player_t *player;
    gs_rt_plan_t other = plan;
    for (int k = 0; k < LENGTH(pairs); k++) {
        other.need = pairs[k];
        other.needs = 2;
        MU_CHECK(gs_rt_player_open(&other, &options, &player) == GS_RT_ERR_VALUE);
        MU_CHECK(player == NULL && strstr(gs_rt_error(), ", expected ") != NULL);
    }
    other.need = NULL;
    MU_CHECK(gs_rt_player_open(&other, &options, &player) == GS_RT_ERR_VALUE);
    other.needs = -1;
    MU_CHECK(gs_rt_player_open(&other, &options, &player) == GS_RT_ERR_VALUE);
    MU_CHECK(strcmp(gs_rt_error(), "needs: got -1, expected 0 or more") == 0);
}

static void refused_plans(void)
{
    gs_rt_player_options_t options = {.cpu = -1};
    gs_rt_player_t *player;
    gs_rt_plan_task_t task[3];
    gs_rt_plan_frame_t frame[3];
    gs_rt_plan_entry_t entry[5];
    for (int change = 0; change < 16; change++) {
        gs_rt_plan_t other = plan;
        memcpy(task, tasks, sizeof task);
        memcpy(frame, frames, sizeof frame);
        memcpy(entry, entries, sizeof entry);
        other.task = task;
        other.frame = frame;
        other.entry = entry;
        switch (change) {
        case 0:
            other.tick = 0;
            break;
        case 1:
            other.hyperperiod = INT64_MAX;
            break;
        case 2:
            task[0].period = 7;
            break;
        case 3:
            task[1].kernels = 0;
            break;
        case 4:
            task[2].offset = 20;
            break;
        case 5:
            task[0].deadline = 0;
            break;
        case 6:
            frame[1].start = 3;
            break;
        case 7:
            frame[2].end = 21;
            break;
        case 8:
            frame[1].count = 40;
            break;
        case 9:
            frame[0].lacked = 3;
            break;
        case 10:
            entry[3].kernel = 0;
            break;
        case 11:
            entry[2].task = 3;
            break;
        case 12:
            other.frames = 2; /* a job is left */
            break;
        case 13:
            frame[2].start = 9; /* before the release */
            break;
        case 14:
            entry[1].task = 0; /* twice */
            break;
        default:
            other.overhead = -1;
            break;
        }
        MU_CHECK(gs_rt_player_open(&other, &options, &player) == GS_RT_ERR_VALUE);
        MU_CHECK(player == NULL && strstr(gs_rt_error(), ", expected ") != NULL);
    }
    options.hang_ns = -1;
    MU_CHECK(gs_rt_player_open(&plan, &options, &player) == GS_RT_ERR_VALUE);
    options = (gs_rt_player_options_t){.cpu = -1, .overrun = 3};
    MU_CHECK(gs_rt_player_open(&plan, &options, &player) == GS_RT_ERR_VALUE);
    options = (gs_rt_player_options_t){.cpu = -1, .awake_ns = 60 * MS};
    MU_CHECK(gs_rt_player_open(&plan, &options, &player) == GS_RT_ERR_VALUE);
    options = (gs_rt_player_options_t){.cpu = -1};
    MU_CHECK(gs_rt_player_open(&plan, &options, &player) == GS_RT_OK);
    MU_CHECK(gs_rt_player_run(player, gs_rt_now(), 1) == GS_RT_ERR_STATE);
    MU_CHECK(strcmp(gs_rt_error(),
                    "work: got a, expected a call of gs_rt_player_work for each task") == 0);
    MU_CHECK(gs_rt_player_run(player, gs_rt_now(), INT64_MAX) == GS_RT_ERR_VALUE);
    gs_rt_player_close(player);
}

/* Server -------------------------------------------------------------------------------------- */

static gs_rt_server_t *server;

typedef struct {
    unit_t unit;
    int urgency, result;
    int64_t deadline;
} client_t;

static void *ask(void *arg)
{
    client_t *client = arg;
    gs_rt_work_t work = {&client->unit, submit, wait_for};
    gs_rt_job_t job = {.task = client->urgency, .deadline = client->deadline};
    int64_t urgency = (client->urgency - 4) * (INT64_C(1) << 40); /* of instants in ns */
    client->result = gs_rt_server_run(server, urgency, &work, &job);
    return NULL;
}

static void serves(gs_rt_log_t *log)
{
    gs_rt_server_options_t options = {
        .cpu = -1, .overrun = GS_RT_OVERRUN_SKIP, .hang_ns = 100 * MS, .log = log};
    MU_CHECK(gs_rt_server_open(&options, &server) == GS_RT_OK);
    client_t clients[] = {
        {.unit.takes = 30 * MS, .urgency = 0, .deadline = INT64_MAX},
        {.unit.takes = MS, .urgency = 1, .deadline = INT64_MAX},
        {.unit.takes = MS, .urgency = 3, .deadline = INT64_MAX},
        {.unit.takes = MS, .urgency = 2, .deadline = 1}, /* dropped */
        {.unit.takes = 1000 * MS, .urgency = 0, .deadline = INT64_MAX},
        {.unit.takes = MS, .urgency = 0, .deadline = INT64_MAX},
    };
    pthread_t threads[6];
    order.count = 0;
    for (int k = 0; k < 6; k++) {
        pthread_create(&threads[k], NULL, ask, &clients[k]);
        nap(4 * MS);
    }
    for (int k = 0; k < 6; k++) {
        pthread_join(threads[k], NULL);
    }
    MU_CHECK(order.count == 4 && order.task[1] == 3 && order.task[2] == 1);
    MU_CHECK(clients[0].result == GS_RT_OK && clients[3].result == GS_RT_SKIPPED);
    MU_CHECK(clients[4].result == GS_RT_ERR_HANG && clients[5].result == GS_RT_ERR_HANG);
    gs_rt_server_close(server);

    options.hang_ns = 0;
    MU_CHECK(gs_rt_server_open(&options, &server) == GS_RT_OK);
    clients[0].unit.fails = 1;
    ask(&clients[0]);
    MU_CHECK(clients[0].result == GS_RT_ERR_WORK);
    clients[0] = (client_t){.unit.takes = 2 * MS, .deadline = gs_rt_now() + MS};
    ask(&clients[0]);
    MU_CHECK(clients[0].result == GS_RT_LATE);
    gs_rt_server_close(server);
    options.overrun = GS_RT_OVERRUN_ABORT;
    MU_CHECK(gs_rt_server_open(&options, &server) == GS_RT_ERR_VALUE && server == NULL);
}

static void *serve(void *arg)
{
    gs_rt_server_serve(arg);
    return NULL;
}

static int ask_again(void *arg, const gs_rt_job_t *job)
{
    gs_rt_work_t work = {.arg = NULL, .submit = ask_again};
    return gs_rt_server_run(arg, 1, &work, job) == GS_RT_ERR_STATE ? 0 : -1;
}

static void *ask_until_stopped(void *arg)
{
    gs_rt_work_t work = {.arg = server, .submit = ask_again};
    gs_rt_job_t job = {.deadline = INT64_MAX};
    int *result = arg;
    while ((*result = gs_rt_server_run(server, 1, &work, &job)) == GS_RT_OK) {
    }
    return NULL;
}

/* No request is lost by a server that stops, and none of its own thread is taken. */
static void stops_serving(void)
{
    for (int round = 0; round < 200; round++) {
        gs_rt_server_options_t options = {.cpu = -1};
        MU_CHECK(gs_rt_server_make(&options, &server) == GS_RT_OK);
        pthread_t threads[3];
        int results[2];
        pthread_create(&threads[2], NULL, serve, server);
        for (int k = 0; k < 2; k++) {
            pthread_create(&threads[k], NULL, ask_until_stopped, &results[k]);
        }
        nap(round * 2000);
        gs_rt_server_stop(server);
        for (int k = 0; k < 3; k++) {
            pthread_join(threads[k], NULL);
        }
        MU_CHECK(results[0] == GS_RT_STOPPED && results[1] == GS_RT_STOPPED);
        gs_rt_server_free(server);
    }
}

/* Timer and log ------------------------------------------------------------------------------- */

static void ticks(void)
{
    gs_rt_timer_t timer;
    int64_t first = gs_rt_now() + 2 * MS;
    gs_rt_timer_start(&timer, first, 3 * MS);
    for (int k = 0; k < 4; k++) {
        MU_CHECK(gs_rt_timer_wait(&timer, k * 100000, 0) == GS_RT_OK);
        MU_CHECK(gs_rt_now() >= first + 3 * k * MS && timer.next == first + 3 * (k + 1) * MS);
    }
    MU_CHECK(timer.releases == 4 && timer.skipped == 0 && timer.late_max > 0);
    nap(10 * MS);
    MU_CHECK(gs_rt_timer_wait(&timer, 0, 1) == GS_RT_OK);
    MU_CHECK(timer.skipped >= 2 && (timer.next - first) % (3 * MS) == 0);
    timer.period = 0;
    MU_CHECK(gs_rt_timer_wait(&timer, 0, 1) == GS_RT_ERR_VALUE);
    MU_CHECK(gs_rt_thread(-2, 0) == GS_RT_ERR_VALUE && gs_rt_thread(-1, -1) == GS_RT_ERR_VALUE);
}

static void *write_events(void *arg)
{
    for (int k = 0; k < 100; k++) {
        gs_rt_log_event(arg, GS_RT_EV_RELEASE, 1, k, 0);
    }
    return NULL;
}

static void logs(const char *path)
{
    static const char *const names[] = {"a", "b"};
    gs_rt_log_options_t options = {.names = names, .tasks = 2, .threads = 2, .events = 64};
    gs_rt_log_t *log, *other;
    MU_CHECK(gs_rt_log_create(path, &options, &log) == GS_RT_OK);
    MU_CHECK(gs_rt_log_join(path, &other) == GS_RT_OK);
    pthread_t threads[3];
    for (int k = 0; k < 3; k++) { /* the third one has no ring */
        pthread_create(&threads[k], NULL, write_events, k == 1 ? other : log);
    }
    for (int k = 0; k < 3; k++) {
        pthread_join(threads[k], NULL);
    }
    gs_rt_log_close(other);
    gs_rt_log_close(log);
    gs_rt_log_event(NULL, GS_RT_EV_RELEASE, 0, 0, 0);
    MU_CHECK(truncate(path, 100) == 0 && gs_rt_log_join(path, &other) == GS_RT_ERR_VALUE);
    MU_CHECK(gs_rt_log_join("/nowhere/log", &other) == GS_RT_ERR_SYSTEM);
    options.events = 100;
    MU_CHECK(gs_rt_log_create(path, &options, &log) == GS_RT_ERR_VALUE);
    options.events = 64;
    options.threads = 2000;
    MU_CHECK(gs_rt_log_create(path, &options, &log) == GS_RT_ERR_VALUE);
    options.threads = 2;
    options.about = "0123456789012345678901234567890123456789012345678901234567890123";
    MU_CHECK(gs_rt_log_create(path, &options, &log) == GS_RT_ERR_VALUE);
    unlink(path);
}

/* Jobs of a task, of which some stop the loop. */
typedef struct {
    int64_t release[8], deadline[8];
    int count, stop_at, fail_at, looks;
} jobs_t;

static int run_job(void *arg, const gs_rt_job_t *job, int64_t *waited)
{
    jobs_t *jobs = arg;
    MU_CHECK(job->task == 2 && job->job == jobs->count && *waited == 0);
    jobs->release[jobs->count] = job->release;
    jobs->deadline[jobs->count++] = job->deadline;
    return jobs->count == jobs->fail_at ? -9 : jobs->count == jobs->stop_at ? GS_RT_STOPPED : 0;
}

static int is_stopped(void *arg)
{
    return ++((jobs_t *)arg)->looks > 2;
}

static void loops(gs_rt_log_t *log)
{
    jobs_t jobs = {.count = 0};
    int64_t first = gs_rt_now() + MS;
    gs_rt_jobs_t loop = {2, first, 2 * MS, 3 * MS, 4, log, &jobs, run_job, NULL};
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_OK && jobs.count == 4);
    for (int k = 0; k < 4; k++) {
        MU_CHECK(jobs.release[k] == first + k * 2 * MS);
        MU_CHECK(jobs.deadline[k] == jobs.release[k] + 3 * MS);
    }
    jobs = (jobs_t){.stop_at = 2};
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_STOPPED && jobs.count == 2);
    jobs = (jobs_t){.fail_at = 3};
    loop.log = NULL;
    MU_CHECK(gs_rt_jobs_run(&loop) == -9 && jobs.count == 3);
    jobs = (jobs_t){.count = 0};
    loop.jobs = 0;
    loop.first = gs_rt_now() + INT64_C(3600000) * MS;
    loop.stopped = is_stopped;
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_STOPPED && jobs.count == 0 && jobs.looks == 3);
    loop.period = 0;
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "got 0") != NULL);
    loop.period = 1;
    loop.jobs = -1;
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "got -1") != NULL);
    loop.jobs = 1;
    loop.run = NULL;
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "run") != NULL);
}

/* A stage of a pipeline: the releases and ends of its jobs. */
typedef struct {
    gs_rt_jobs_t loop;
    int64_t release[200], end[200];
    int count, status, wait_at;
    bool wrong;
    const _Atomic int *go;
} stage_t;

static int run_stage(void *arg, const gs_rt_job_t *job, int64_t *waited)
{
    (void)waited;
    stage_t *stage = arg;
    while (stage->go != NULL && stage->count == stage->wait_at && atomic_load(stage->go) == 0) {
        sched_yield();
    }
    stage->wrong |= job->job != stage->count || gs_rt_now() < job->release ||
                    job->deadline != job->release + stage->loop.deadline;
    stage->release[stage->count] = job->release;
    stage->end[stage->count++] = gs_rt_now();
    return GS_RT_OK;
}

static int64_t delay_of(void *arg, int64_t job)
{
    (void)arg;
    return job % 2 * MS;
}

static void *run_loop(void *arg)
{
    stage_t *stage = arg;
    stage->status = gs_rt_jobs_run(&stage->loop);
    return NULL;
}

static void run_stages(stage_t *stages, int count)
{
    pthread_t threads[4];
    for (int k = 0; k < count; k++) {
        pthread_create(&threads[k], NULL, run_loop, &stages[k]);
    }
    for (int k = 0; k < count; k++) {
        pthread_join(threads[k], NULL);
        MU_CHECK(!stages[k].wrong);
    }
}

static void pipelines(void)
{
    static stage_t stages[4];
    gs_rt_ends_t *ends[3];
    for (int k = 0; k < 3; k++) {
        MU_CHECK(gs_rt_ends_open(&ends[k]) == GS_RT_OK);
    }
    gs_rt_ends_t *const both[] = {ends[1], ends[2]};
    int64_t first = gs_rt_now() + MS;
    /* One task every ms, one that each of its jobs releases, one of every third, and one of both.
     */
    stages[0].loop = (gs_rt_jobs_t){.first = first, .period = MS, .jobs = 20, .ends = ends[0]};
    stages[0].loop.delay = delay_of;
    stages[1].loop = (gs_rt_jobs_t){.after = &ends[0], .afters = 1, .ends = ends[1]};
    stages[2].loop = (gs_rt_jobs_t){.after = &ends[0], .afters = 1, .ends = ends[2], .jobs = 30};
    stages[3].loop = (gs_rt_jobs_t){.after = both, .afters = 2, .every = 3, .jobs = 6};
    for (int k = 0; k < 4; k++) {
        stages[k].loop.arg = &stages[k];
        stages[k].loop.run = run_stage;
        stages[k].loop.deadline = 5 * MS + k;
    }
    run_stages(stages, 4);
    MU_CHECK(stages[0].status == GS_RT_OK && stages[0].count == 20);
    MU_CHECK(stages[1].status == GS_RT_STOPPED && stages[1].count == 20); /* no more releases */
    MU_CHECK(stages[2].status == GS_RT_STOPPED && stages[2].count == 20);
    MU_CHECK(stages[3].status == GS_RT_OK && stages[3].count == 6);
    for (int k = 0; k < 20; k++) {
        MU_CHECK(stages[0].release[k] == first + k * MS);
        MU_CHECK(stages[0].end[k] >= first + k * MS + delay_of(NULL, k));
        MU_CHECK(stages[1].release[k] >= stages[0].end[k]);
        MU_CHECK(stages[1].release[k] == stages[2].release[k]);
    }
    for (int k = 0; k < 6; k++) {
        MU_CHECK(stages[3].release[k] >= stages[1].end[3 * k]);
        MU_CHECK(stages[3].release[k] >= stages[2].end[3 * k]);
    }
    for (int k = 0; k < 3; k++) {
        gs_rt_ends_close(ends[k]);
    }
    gs_rt_ends_close(NULL);
}

/* A stage that waits until the one before it is ahead by more jobs than are kept. */
static void far_behind(void)
{
    static stage_t stages[2];
    static _Atomic int go;
    gs_rt_ends_t *ends;
    MU_CHECK(gs_rt_ends_open(&ends) == GS_RT_OK);
    stages[0].loop = (gs_rt_jobs_t){.first = gs_rt_now(), .period = 1, .jobs = 150, .ends = ends};
    stages[1].loop = (gs_rt_jobs_t){.after = &ends, .afters = 1};
    for (int k = 0; k < 2; k++) {
        stages[k].loop.arg = &stages[k];
        stages[k].loop.run = run_stage;
    }
    stages[1].go = &go;
    pthread_t behind;
    pthread_create(&behind, NULL, run_loop, &stages[1]);
    run_stages(stages, 1);
    atomic_store(&go, 1);
    pthread_join(behind, NULL);
    MU_CHECK(stages[0].count == 150 && stages[1].status == GS_RT_ERR_FULL);
    gs_rt_ends_close(ends);
    gs_rt_jobs_t loop = {.run = run_stage, .afters = -1, .period = 1};
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "got -1") != NULL);
    loop.afters = 1;
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "afters") != NULL);
    loop = (gs_rt_jobs_t){.run = run_stage, .every = -7, .period = 1};
    MU_CHECK(gs_rt_jobs_run(&loop) == GS_RT_ERR_VALUE && strstr(gs_rt_error(), "got -7") != NULL);
}

int main(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/gpusched-test-%d.gslog", (int)getpid());
    MU_CHECK(gs_rt_version() == GPUSCHED_RT_VERSION);
    gs_rt_thread(-1, 5); /* where it is permitted: others may use this machine */
    static const char *const names[] = {"a", "b", "c"};
    gs_rt_log_options_t options = {.names = names, .tasks = 3};
    gs_rt_log_t *log;
    MU_CHECK(gs_rt_log_create(path, &options, &log) == GS_RT_OK);
    in_order();
    skips();
    ends();
    stops(log);
    needed();
    refused_needs();
    refused_plans();
    serves(log);
    stops_serving();
    ticks();
    loops(log);
    pipelines();
    far_behind();
    gs_rt_log_close(log);
    logs(path);
    return MU_END();
}
