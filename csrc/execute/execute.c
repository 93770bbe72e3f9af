/* Execution of a machine's programs for real. */
#define _GNU_SOURCE
#include "execute/execute.h"

#include <string.h>
#include <unistd.h>

#include "execute/standin_gpu.h"
#include "rt/rt.h"
#include "rt/thread_state.h"
#include "rt/wait_word.h"
#include "simulate/machine/machine_parts.h"

#define NAP_NS 20000000
#define CONTROL_NS 2000000
#define NAME_BYTES 64

typedef struct run run_t;

/* Thread of a task. */
typedef struct {
    run_t *run;
    int64_t task;
    pthread_t thread;
    int slot;         /* of its lock */
    int64_t segments; /* of the job, so far */
    bool open;        /* a segment has begun */
    bool has_thread;
    const gs_rt_job_t *job;
    int64_t from, to;   /* steps of the section that the server runs, or of the job */
    int64_t waited;     /* CPU time of busy waits of the job */
    gs_rt_ends_t *ends; /* of its jobs, if they release others; else NULL */
} task_t;

/* A thread that only measures how late it wakes. */
typedef struct {
    run_t *run;
    int cpu;
    pthread_t thread;
    int64_t late;
} control_t;

struct run {
    const gs_simulate_machine_model_t *m;
    const gs_execute_options_t *options;
    gs_execute_record_t *record;
    gs_execute_standin_t gpu;
    task_t *task;
    control_t *control;
    pthread_t player_thread;
    gs_rt_log_t *log;
    gs_rt_lock_t *lock[GS_EXECUTE_LOCKS];
    int64_t locks;
    gs_rt_ends_t **after; /* ends of the tasks before each task, in the rows of the model's */
    gs_rt_server_t *server;
    gs_rt_plan_t *plan;
    gs_rt_player_t *player;
    _Atomic int stop;
    pthread_mutex_t guard; /* of the record */
    _Atomic int64_t running;
    gs_rt_wait_word_t changed;
};

/* Records the first failure, with the error of the calling thread, and stops the run. */
static int fail(run_t *self, int status)
{
    pthread_mutex_lock(&self->guard);
    if (self->record->failed == 0 && atomic_load(&self->stop) == 0) {
        self->record->failed = status;
        const char *text = gs_rt_error();
        size_t size = strlen(text), most = sizeof self->record->text - 1;
        memcpy(self->record->text, text, size < most ? size : most);
    }
    pthread_mutex_unlock(&self->guard);
    atomic_store(&self->stop, 1);
    if (self->player != NULL) {
        gs_rt_player_stop(self->player);
    }
    return status;
}

/* Steps ------------------------------------------------------------------------------------ */

/* Takes CPU time of the calling thread. */
static int work(const run_t *self, int64_t ns)
{
    for (int64_t end = gs_rt_cpu_time() + ns; gs_rt_cpu_time() < end;) {
        if (atomic_load(&self->stop)) {
            return GS_RT_STOPPED;
        }
    }
    return GS_RT_OK;
}

static int64_t step_of(const task_t *t, int64_t step)
{
    return t->run->m->step_kind[t->run->m->step_begin[t->task] + step];
}

static int64_t item_of(const task_t *t, int64_t step)
{
    return t->run->m->step_item[t->run->m->step_begin[t->task] + step];
}

static void note(const task_t *t, int64_t at, int kind, int64_t value)
{
    gs_rt_log_event_at(t->run->log, at, kind, t->job->task, t->job->job, value);
}

/* The server logs its segments; under a plan, only what the player runs is logged. */
static bool is_logged_by_others(const task_t *t)
{
    int sharing = t->run->options->sharing;
    return sharing == GS_EXECUTE_SERVED || sharing == GS_EXECUTE_PLANNED;
}

/* Launches the operations of consecutive calls at one instant; the step behind them. */
static int call(task_t *t, int64_t *step, int64_t to)
{
    int64_t items[64], count = 0;
    while (*step < to && count < 64 && step_of(t, *step) == GS_SIMULATE_MACHINE_CALL) {
        items[count++] = item_of(t, (*step)++);
    }
    if (!t->open && !is_logged_by_others(t)) {
        note(t, gs_rt_now(), GS_RT_EV_SUBMIT, t->segments);
    }
    t->open = true;
    return gs_execute_standin_launch(&t->run->gpu, t->task, items, count);
}

static int wait_for(task_t *t, int64_t until)
{
    const gs_execute_options_t *options = t->run->options;
    int64_t used = gs_rt_cpu_time();
    int status =
        gs_execute_standin_wait(&t->run->gpu, t->task, options->spins_on_gpu, until, &t->run->stop);
    t->waited += options->spins_on_gpu ? gs_rt_cpu_time() - used : 0;
    return status;
}

/* Logs when the segment that has ended was on the GPU. */
static void close_segment(task_t *t)
{
    gs_execute_span_t span = gs_execute_standin_take(&t->run->gpu, t->task);
    if (t->open && span.first >= 0) {
        if (!is_logged_by_others(t)) {
            note(t, span.first, GS_RT_EV_GPU_BEGIN, t->segments);
            note(t, span.last, GS_RT_EV_GPU_END, t->segments);
        }
        t->segments++;
    }
    t->open = false;
}

/* Runs steps that are WORK, CALL or WAIT; `inside`: of a section, which is one segment. */
static int run_steps(task_t *t, int64_t from, int64_t to, bool inside)
{
    const gs_simulate_machine_model_t *m = t->run->m;
    int status = GS_RT_OK;
    for (int64_t s = from; s < to && status == GS_RT_OK;) {
        int64_t kind = step_of(t, s);
        if (kind == GS_SIMULATE_MACHINE_CALL) {
            status = call(t, &s, to);
            continue;
        }
        if (kind == GS_SIMULATE_MACHINE_WORK) {
            status = work(t->run, m->item_time[m->item_begin[t->task] + item_of(t, s)]);
        } else if (kind == GS_SIMULATE_MACHINE_WAIT) {
            status = wait_for(t, INT64_MAX);
            if (status == GS_RT_OK && !inside) {
                close_segment(t);
            }
        }
        s++;
    }
    return status;
}

/* Sections --------------------------------------------------------------------------------- */

static int under_lock(task_t *t, int64_t from, int64_t to)
{
    run_t *self = t->run;
    const gs_execute_options_t *options = self->options;
    int64_t number = options->lock[t->task], used = gs_rt_cpu_time();
    gs_rt_lock_t *lock = number < 0 ? NULL : self->lock[number];
    int ceiling = (int)options->ceiling[t->task], status = GS_RT_OK;
    bool boosts = options->boosts && ceiling > 0;
    if (boosts && (status = gs_rt_thread(-1, ceiling)) < 0) {
        return status;
    }
    if (lock != NULL) {
        status = gs_rt_lock_acquire(lock, t->slot, t->job, options->spins, INT64_MAX);
        t->waited += options->spins ? gs_rt_cpu_time() - used : 0;
        if (status < 0) {
            return status;
        }
    }
    status = run_steps(t, from, to, true);
    if (status == GS_RT_OK) {
        close_segment(t);
    }
    if (lock != NULL) {
        int released = gs_rt_lock_release(lock, t->slot, t->job);
        status = status == GS_RT_OK ? released : status;
    }
    if (boosts && gs_rt_thread(-1, (int)options->fifo[t->task]) < 0) {
        status = GS_RT_ERR_SYSTEM;
    }
    return status;
}

/* The last wait of a section is that of the server. */
static int submit_section(void *arg, const gs_rt_job_t *job)
{
    (void)job;
    task_t *t = arg;
    int status = run_steps(t, t->from, t->to, true);
    return status == GS_RT_STOPPED ? GS_RT_ERR_STATE : status;
}

static int wait_for_section(void *arg, const gs_rt_job_t *job, int64_t until)
{
    (void)job;
    int64_t before = ((task_t *)arg)->waited;
    int status = wait_for(arg, until);
    ((task_t *)arg)->waited = before; /* the server's time, not that of the task */
    return status == GS_RT_STOPPED ? GS_RT_ERR_STATE : status;
}

static int by_server(task_t *t, int64_t from, int64_t to)
{
    const gs_execute_options_t *options = t->run->options;
    int64_t urgency = options->urgency[t->task];
    if (options->by_due) {
        urgency = -(t->job->release + options->due[t->task]);
    }
    t->from = from;
    t->to = to > from && step_of(t, to - 1) == GS_SIMULATE_MACHINE_WAIT ? to - 1 : to;
    gs_rt_job_t job = *t->job;
    job.kernel = (int32_t)t->segments;
    const gs_rt_work_t given = {t, submit_section, wait_for_section};
    int status = gs_rt_server_run(t->run->server, urgency, &given, &job);
    if (status == GS_RT_OK || status == GS_RT_LATE) {
        close_segment(t);
        status = GS_RT_OK;
    }
    return status;
}

/* The kernels of a plan ----------------------------------------------------------------------- */

static int64_t kernel_at(const task_t *t, int64_t step)
{
    const gs_simulate_machine_model_t *m = t->run->m;
    return step_of(t, step) == GS_SIMULATE_MACHINE_CALL
               ? t->run->options->kernel[m->item_begin[t->task] + item_of(t, step)]
               : -1;
}

static int submit_kernel(void *arg, const gs_rt_job_t *job)
{
    task_t *t = arg;
    int64_t items[64], count = 0, steps = t->to;
    for (int64_t s = 0; s < steps && count < 64; s++) {
        if (kernel_at(t, s) == job->kernel) {
            items[count++] = item_of(t, s);
        }
    }
    return gs_execute_standin_launch(&t->run->gpu, t->task, items, count);
}

static int wait_for_kernel(void *arg, const gs_rt_job_t *job, int64_t until)
{
    (void)job;
    task_t *t = arg;
    int status = gs_execute_standin_wait(&t->run->gpu, t->task, false, until, &t->run->stop);
    return status == GS_RT_STOPPED ? GS_RT_ERR_STATE : status;
}

/* Whether a job has steps besides the kernels of the plan, or comes behind its arrival, for which a
 * thread is needed. */
static bool has_own_steps(const task_t *t)
{
    if (t->run->m->jitter[t->task] > 0) {
        return true;
    }
    for (int64_t s = 0; s < t->to; s++) {
        int64_t kind = step_of(t, s);
        if (kind == GS_SIMULATE_MACHINE_WORK ||
            (kind == GS_SIMULATE_MACHINE_CALL && kernel_at(t, s) < 0)) {
            return true;
        }
    }
    return false;
}

/* From the first to the last kernel the player runs the job. */
static int by_player(task_t *t, int64_t *step)
{
    int64_t behind = *step;
    for (int64_t s = *step; s < t->to; s++) {
        behind = kernel_at(t, s) >= 0 ? s + 1 : behind;
    }
    int row = t->job->task;
    int status = wait_for(t, INT64_MAX); /* copies before the first kernel */
    if (status == GS_RT_OK) {
        close_segment(t);
        status = gs_rt_player_ready(t->run->player, row, t->job->job);
    }
    if (status == GS_RT_OK) {
        status = gs_rt_player_done(t->run->player, row, t->job->job, INT64_MAX);
        status = status == GS_RT_LATE ? GS_RT_OK : status;
    }
    gs_execute_standin_take(&t->run->gpu, t->task);
    *step = behind;
    return status == GS_RT_SKIPPED ? GS_RT_STOPPED : status;
}

/* Jobs ------------------------------------------------------------------------------------- */

static int run_job(void *arg, const gs_rt_job_t *job, int64_t *waited)
{
    task_t *t = arg;
    const gs_execute_options_t *options = t->run->options;
    int status = GS_RT_OK;
    t->job = job;
    t->segments = t->waited = 0;
    t->open = false;
    for (int64_t s = 0; status == GS_RT_OK && step_of(t, s) != GS_SIMULATE_MACHINE_STOP;) {
        if (options->sharing == GS_EXECUTE_PLANNED && kernel_at(t, s) >= 0) {
            status = by_player(t, &s);
            continue;
        }
        int64_t from = s++;
        if (step_of(t, from) != GS_SIMULATE_MACHINE_BEGIN) {
            while (step_of(t, from) == GS_SIMULATE_MACHINE_CALL &&
                   step_of(t, s) == GS_SIMULATE_MACHINE_CALL && kernel_at(t, s) < 0) {
                s++; /* calls at one instant */
            }
            status = run_steps(t, from, s, false);
            continue;
        }
        while (step_of(t, s) != GS_SIMULATE_MACHINE_END) {
            s++;
        }
        bool served = options->sharing == GS_EXECUTE_SERVED;
        status = served ? by_server(t, from + 1, s) : under_lock(t, from + 1, s);
        s++;
    }
    *waited = t->waited;
    return status;
}

static int is_stopped(void *arg)
{
    return atomic_load(&((task_t *)arg)->run->stop);
}

static int64_t delay(void *arg, int64_t job)
{
    const task_t *t = arg;
    return gs_simulate_machine_delay(t->run->gpu.machine, t->task, job);
}

static void end_thread(run_t *self)
{
    atomic_fetch_sub(&self->running, 1);
    gs_rt_wait_word_change(&self->changed, true, false);
}

/* Whether other tasks release the jobs of i. */
static bool is_sent(const gs_simulate_machine_model_t *m, int64_t i)
{
    return m->after_begin != NULL && m->after_begin[i] < m->after_begin[i + 1];
}

static void *run_task(void *arg)
{
    task_t *t = arg;
    run_t *self = t->run;
    const gs_execute_options_t *options = self->options;
    int64_t i = t->task, lock = options->sharing == GS_EXECUTE_LOCKED ? options->lock[i] : -1;
    int ceiling = options->boosts ? 0 : (int)options->ceiling[i];
    int status = gs_rt_thread((int)options->cpu[i], (int)options->fifo[i]);
    if (status == GS_RT_OK && lock >= 0) {
        status = gs_rt_lock_join(self->lock[lock], (int)options->urgency[i], ceiling, &t->slot);
    }
    if (status == GS_RT_OK) {
        gs_rt_jobs_t loop = {
            .task = (int)options->row[i],
            .first = self->record->origin + self->m->offset[i],
            .period = self->m->period[i],
            .deadline = self->m->deadline[i],
            .jobs = options->jobs[i],
            .log = self->log,
            .arg = t,
            .run = run_job,
            .stopped = is_stopped,
            .ends = t->ends,
            .delay = delay,
        };
        if (is_sent(self->m, i)) {
            loop.after = self->after + self->m->after_begin[i];
            loop.afters = (int32_t)(self->m->after_begin[i + 1] - self->m->after_begin[i]);
            loop.every = (int32_t)self->m->every[i];
            loop.delay = NULL;
        }
        status = options->jobs[i] == 0 ? GS_RT_OK : gs_rt_jobs_run(&loop);
    }
    if (status < 0) {
        fail(self, status);
    }
    if (t->slot >= 0) {
        gs_rt_lock_leave(self->lock[lock], t->slot);
    }
    end_thread(self);
    return NULL;
}

static void *run_player(void *arg)
{
    run_t *self = arg;
    int status = gs_rt_player_run(self->player, self->record->origin, self->options->cycles);
    if (status < 0) {
        fail(self, status);
    }
    end_thread(self);
    return NULL;
}

static void *run_control(void *arg)
{
    control_t *control = arg;
    run_t *self = control->run;
    if (gs_rt_thread(control->cpu, self->options->supervisor) < 0) {
        fail(self, GS_RT_ERR_SYSTEM);
    }
    gs_rt_wait_word_t never = 0;
    int64_t next = gs_rt_now();
    while (!atomic_load(&self->stop)) {
        next += CONTROL_NS;
        while (gs_rt_now() < next) {
            gs_rt_wait_word_sleep(&never, 0, next, false);
        }
        int64_t late = gs_rt_now() - next;
        control->late = late > control->late ? late : control->late;
        next += late; /* not the same delay again */
    }
    return NULL;
}

/* Set-up ----------------------------------------------------------------------------------- */

/* A name that no other run has at this time: that of the process and of a place on its stack. */
static void name_lock(char name[NAME_BYTES])
{
    memcpy(name, "/gpusched-", sizeof "/gpusched-");
    char *end = gs_rt_number_text(name + strlen(name), getpid());
    *end = '-';
    gs_rt_number_text(end + 1, (int64_t)(intptr_t)name);
}

static int open_locks(run_t *self)
{
    int64_t most = -1;
    for (int64_t i = 0; i < self->m->n; i++) {
        most = self->options->lock[i] > most ? self->options->lock[i] : most;
    }
    for (int64_t k = 0; k <= most; k++) {
        char name[NAME_BYTES];
        name_lock(name);
        gs_rt_lock_options_t given = {name, self->options->order, 0, self->log};
        gs_rt_lock_remove(name); /* of a process that had this number before */
        int status = gs_rt_lock_open(&given, &self->lock[k]);
        if (status < 0) {
            return status;
        }
        gs_rt_lock_remove(name); /* what is open stays */
        self->locks = k + 1;
    }
    return GS_RT_OK;
}

/* Ends of the tasks that release others. */
static int open_links(run_t *self)
{
    const gs_simulate_machine_model_t *m = self->m;
    for (int64_t k = 0; m->after_begin != NULL && k < m->after_begin[m->n]; k++) {
        task_t *before = &self->task[m->after[k]];
        int status = before->ends == NULL ? gs_rt_ends_open(&before->ends) : GS_RT_OK;
        if (status < 0) {
            return status;
        }
        self->after[k] = before->ends;
    }
    return GS_RT_OK;
}

static int open_player(run_t *self)
{
    const gs_execute_options_t *options = self->options;
    int status = gs_rt_plan_read(options->plan, &self->plan);
    if (status < 0) {
        return status;
    }
    const gs_rt_player_options_t given = {.cpu = options->server_cpu,
                                          .fifo = options->server_fifo,
                                          .awake_ns = 200000,
                                          .overrun = GS_RT_OVERRUN_CONTINUE,
                                          .log = self->log};
    status = gs_rt_player_open(self->plan, &given, &self->player);
    for (int64_t i = 0; status >= 0 && i < self->m->n; i++) {
        int row = (int)options->row[i];
        if (row < self->plan->tasks) {
            const gs_rt_work_t given_work = {&self->task[i], submit_kernel, wait_for_kernel};
            status =
                gs_rt_player_work(self->player, row, &given_work, has_own_steps(&self->task[i]));
        }
    }
    return status < 0 ? status : GS_RT_OK;
}

static int open_sharing(run_t *self)
{
    const gs_execute_options_t *options = self->options;
    const gs_rt_log_options_t of_log = {options->names, (int)self->m->n, (int)self->m->n + 2,
                                        (int)options->events, NULL};
    int status = gs_rt_log_create(options->log, &of_log, &self->log);
    status = status == GS_RT_OK ? open_links(self) : status;
    if (status == GS_RT_OK && options->sharing == GS_EXECUTE_LOCKED) {
        status = open_locks(self);
    } else if (status == GS_RT_OK && options->sharing == GS_EXECUTE_SERVED) {
        const gs_rt_server_options_t given = {.cpu = options->server_cpu,
                                              .fifo = options->server_fifo,
                                              .spin = options->spins_on_gpu,
                                              .log = self->log};
        status = gs_rt_server_open(&given, &self->server);
    } else if (status == GS_RT_OK && options->sharing == GS_EXECUTE_PLANNED) {
        status = open_player(self);
    }
    return status;
}

/* Starts a thread that end_thread counts. */
static bool start(run_t *self, pthread_t *thread, void *(*function)(void *), void *arg)
{
    atomic_fetch_add(&self->running, 1);
    int error = pthread_create(thread, NULL, function, arg);
    if (error != 0) {
        atomic_fetch_sub(&self->running, 1);
        gs_rt_fail_system("thread", error);
        fail(self, GS_RT_ERR_SYSTEM);
    }
    return error == 0;
}

/* Runs all threads until they have ended; the status of the poll. */
static int run_threads(run_t *self, gs_context_t *ctx)
{
    const gs_execute_options_t *options = self->options;
    const int64_t n = self->m->n;
    int64_t controls = 0, started = 0;
    bool plays = false;
    int status = GS_OK;
    for (; controls < options->controls; controls++) {
        control_t *control = &self->control[controls];
        *control = (control_t){.run = self, .cpu = (int)options->control_cpu[controls]};
        if (pthread_create(&control->thread, NULL, run_control, control) != 0) {
            break;
        }
    }
    self->record->origin = gs_rt_now() + options->lead;
    if (self->player != NULL) {
        plays = start(self, &self->player_thread, run_player, self);
    }
    for (; started < n; started++) {
        task_t *t = &self->task[started];
        bool own =
            self->player == NULL || options->row[started] >= self->plan->tasks || has_own_steps(t);
        if (!own) {
            continue;
        }
        if (!start(self, &t->thread, run_task, t)) {
            break;
        }
        t->has_thread = true;
    }
    while (atomic_load(&self->running) > 0) {
        uint32_t before = atomic_load(&self->changed);
        if (atomic_load(&self->running) > 0) {
            gs_rt_wait_word_sleep(&self->changed, before, gs_rt_now() + NAP_NS, false);
        }
        if (status == GS_OK && (status = gs_poll_now(ctx)) != GS_OK) {
            atomic_store(&self->stop, 1);
            if (self->player != NULL) {
                gs_rt_player_stop(self->player);
            }
        }
    }
    atomic_store(&self->stop, 1);
    for (int64_t i = 0; i < n; i++) {
        if (self->task[i].has_thread) {
            pthread_join(self->task[i].thread, NULL);
        }
    }
    if (plays) {
        pthread_join(self->player_thread, NULL);
    }
    for (int64_t c = 0; c < controls; c++) {
        pthread_join(self->control[c].thread, NULL);
        int64_t late = self->control[c].late;
        self->record->late = late > self->record->late ? late : self->record->late;
    }
    return status;
}

/* The calling thread with a priority above all tasks, so that it can stop them. */
static int supervised(run_t *self, gs_context_t *ctx)
{
    int policy = 0;
    struct sched_param before;
    bool raised = self->options->supervisor > 0 &&
                  pthread_getschedparam(pthread_self(), &policy, &before) == 0 &&
                  gs_rt_thread(-1, self->options->supervisor) == GS_RT_OK;
    int status = run_threads(self, ctx);
    if (raised) {
        pthread_setschedparam(pthread_self(), policy, &before);
    }
    return status;
}

static int64_t count_steps(const gs_simulate_machine_model_t *m, int64_t task)
{
    return m->step_begin[task + 1] - m->step_begin[task];
}

int gs_execute_run(gs_simulate_machine_t *machine, gs_context_t *ctx,
                   const gs_execute_options_t *options, gs_execute_record_t *record)
{
    *record = (gs_execute_record_t){0};
    run_t self = {.m = &machine->model, .options = options, .record = record};
    int status = gs_execute_check_options(ctx, self.m, options);
    if (status != GS_OK) {
        return status;
    }
    pthread_mutex_init(&self.guard, NULL);
    self.task = gs_alloc(ctx, (size_t)self.m->n, sizeof *self.task);
    self.control = gs_alloc(ctx, (size_t)options->controls, sizeof *self.control);
    int64_t links = self.m->after_begin == NULL ? 0 : self.m->after_begin[self.m->n];
    self.after = gs_alloc(ctx, (size_t)links, sizeof *self.after);
    status = self.task == NULL || self.control == NULL || self.after == NULL ? ctx->status : GS_OK;
    status = status == GS_OK ? gs_execute_standin_open(&self.gpu, ctx, machine) : status;
    for (int64_t i = 0; status == GS_OK && i < self.m->n; i++) {
        self.task[i] = (task_t){.run = &self, .task = i, .slot = -1, .to = count_steps(self.m, i)};
    }
    if (status == GS_OK) {
        int opened = open_sharing(&self);
        if (opened < 0) {
            fail(&self, opened);
        } else {
            status = supervised(&self, ctx);
        }
    }
    gs_rt_server_close(self.server);
    gs_rt_player_close(self.player);
    gs_rt_plan_free(self.plan);
    for (int64_t k = 0; k < self.locks; k++) {
        gs_rt_lock_close(self.lock[k]);
    }
    gs_rt_log_close(self.log);
    gs_execute_standin_close(&self.gpu, ctx);
    for (int64_t i = 0; self.task != NULL && i < self.m->n; i++) {
        gs_rt_ends_close(self.task[i].ends);
    }
    gs_free(ctx, self.after);
    gs_free(ctx, self.task);
    gs_free(ctx, self.control);
    pthread_mutex_destroy(&self.guard);
    return status;
}
