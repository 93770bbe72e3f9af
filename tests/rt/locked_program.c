/* Periodic tasks that take turns on a GPU, by a lock or through the server, and log their jobs.
 *
 *     locked_program LOG WAY JOBS FAULT TASK...
 *
 * WAY: mpcp, fmlp_plus or gpu_server. TASK: NAME:PERIOD:CPU:GPU:URGENCY with times in ms: CPU work,
 * then a GPU segment, which is a sleep. FAULT: none; "slow": the first task's segments take three
 * times as long; "early": its second job is released at half its period; "two": it does not ask for
 * the lock. A last task beside these, which neither asks nor is logged, is a control: on the last
 * line stand the longest delays, in ns, of its sleeps of 1 ms.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <gpusched/rt.h>

#define MS INT64_C(1000000)
#define MOST 8

typedef struct {
    char name[32];
    int index, period, cpu, gpu, urgency;
    int64_t ends;
} task_t;

static task_t tasks[MOST];
static int count, jobs;
static const char *fault;
static int64_t first;
static gs_rt_log_t *logged;
static gs_rt_lock_t *lock;
static gs_rt_server_t *server;
static _Atomic int over;

static void nap_until(int64_t instant)
{
    for (int64_t left; (left = instant - gs_rt_now()) > 0;) {
        struct timespec t = {left / 1000000000, left % 1000000000};
        nanosleep(&t, NULL);
    }
}

static int submit(void *arg, const gs_rt_job_t *job)
{
    task_t *task = arg;
    int slow = strcmp(fault, "slow") == 0 && task->index == 0 ? 3 : 1;
    (void)job;
    task->ends = gs_rt_now() + slow * task->gpu * MS * 9 / 10;
    return 0;
}

static int wait_for(void *arg, const gs_rt_job_t *job, int64_t until)
{
    task_t *task = arg;
    (void)job;
    nap_until(task->ends < until ? task->ends : until);
    return gs_rt_now() < task->ends ? GS_RT_TIMEOUT : GS_RT_OK;
}

/* CPU work: a little of the time is computed, since the machine may have fewer CPUs than tasks. */
static void compute(int64_t ns)
{
    int64_t end = gs_rt_now() + ns / 2;
    nap_until(end);
}

/* A real-time priority, where it is permitted: others may use this machine. */
static void take_priority(int fifo)
{
    if (gs_rt_thread(-1, fifo) != GS_RT_OK) {
        gs_rt_thread(-1, 0);
    }
}

static int segment(task_t *task, int slot, const gs_rt_job_t *job)
{
    gs_rt_work_t work = {task, submit, wait_for};
    if (server != NULL) {
        return gs_rt_server_run(server, task->urgency, &work, job);
    }
    int alone = strcmp(fault, "two") == 0 && task->index == 0;
    if (alone) {
        gs_rt_log_event(logged, GS_RT_EV_REQUEST, job->task, job->job, task->urgency);
        gs_rt_log_event(logged, GS_RT_EV_ACQUIRE, job->task, job->job, gs_rt_now());
    } else if (gs_rt_lock_acquire(lock, slot, job, 0, INT64_MAX) < 0) {
        return -1;
    }
    submit(task, job);
    wait_for(task, job, INT64_MAX);
    if (alone) {
        gs_rt_log_event(logged, GS_RT_EV_RELEASE_LOCK, job->task, job->job, 0);
        return 0;
    }
    return gs_rt_lock_release(lock, slot, job);
}

static void *run(void *arg)
{
    task_t *task = arg;
    int slot = -1;
    if (lock != NULL && gs_rt_lock_join(lock, task->urgency, 0, &slot) < 0) {
        return arg;
    }
    take_priority(10 + task->urgency);
    gs_rt_timer_t timer;
    gs_rt_timer_start(&timer, first, task->period * MS);
    for (int64_t number = 0; number < jobs; number++) {
        if (strcmp(fault, "early") == 0 && task->index == 0 && number == 1) {
            timer.next -= task->period * MS / 2;
        }
        gs_rt_timer_wait(&timer, 0, 0);
        int64_t release = timer.next - timer.period, used = gs_rt_cpu_time();
        gs_rt_job_t job = {
            .task = task->index, .job = number, .release = release, .deadline = INT64_MAX};
        gs_rt_log_event(logged, GS_RT_EV_RELEASE, task->index, number, release);
        compute(task->cpu * MS);
        if (segment(task, slot, &job) < 0) {
            return arg;
        }
        gs_rt_log_event(logged, GS_RT_EV_CPU, task->index, number, gs_rt_cpu_time() - used);
        gs_rt_log_event(logged, GS_RT_EV_COMPLETE, task->index, number, 0);
    }
    if (lock != NULL) {
        gs_rt_lock_leave(lock, slot);
    }
    return NULL;
}

static void *control(void *arg)
{
    int64_t *worst = arg;
    take_priority(9);
    while (!over) {
        int64_t until = gs_rt_now() + MS;
        nap_until(until);
        int64_t late = gs_rt_now() - until;
        *worst = late > *worst ? late : *worst;
    }
    return NULL;
}

int main(int given, char **arguments)
{
    const char *names[MOST];
    if (given < 6 || given - 5 > MOST) {
        return 2;
    }
    fault = arguments[4];
    jobs = atoi(arguments[3]);
    for (; count < given - 5; count++) {
        task_t *t = &tasks[count];
        t->index = count;
        if (sscanf(arguments[5 + count], "%31[^:]:%d:%d:%d:%d", t->name, &t->period, &t->cpu,
                   &t->gpu, &t->urgency) != 5) {
            return 2;
        }
        names[count] = t->name;
    }
    char name[64];
    snprintf(name, sizeof name, "/gpusched-program-%d", (int)getpid());
    gs_rt_log_options_t log_options = {.names = names, .tasks = count, .events = 1024};
    int status = gs_rt_log_create(arguments[1], &log_options, &logged);
    if (status == GS_RT_OK && strcmp(arguments[2], "gpu_server") == 0) {
        gs_rt_server_options_t options = {.cpu = -1, .fifo = 30, .log = logged};
        if (gs_rt_server_open(&options, &server) != GS_RT_OK) {
            options.fifo = 0;
            status = gs_rt_server_open(&options, &server);
        }
    } else if (status == GS_RT_OK) {
        gs_rt_lock_options_t options = {
            .name = name,
            .order = strcmp(arguments[2], "mpcp") == 0 ? GS_RT_ORDER_PRIORITY : GS_RT_ORDER_FIFO,
            .log = logged};
        status = gs_rt_lock_open(&options, &lock);
    }
    if (status != GS_RT_OK) {
        fprintf(stderr, "%s\n", gs_rt_error());
        return 1;
    }
    first = gs_rt_now() + 50 * MS; /* the threads are there by then */
    pthread_t threads[MOST], other;
    int64_t worst = 0;
    pthread_create(&other, NULL, control, &worst);
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, run, &tasks[i]);
    }
    for (int i = 0; i < count; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        status = failed == NULL ? status : -1;
    }
    over = 1;
    pthread_join(other, NULL);
    gs_rt_server_close(server);
    gs_rt_lock_close(lock);
    if (lock != NULL) {
        gs_rt_lock_remove(name);
    }
    gs_rt_log_close(logged);
    printf("%lld\n", (long long)worst);
    return status != 0;
}
