/* Logs of the machine. */
#include "core/vector.h"
#include "simulate/machine/machine_parts.h"

enum { JOBS, OPERATIONS, CPUS };

void gs_simulate_machine_fail(gs_simulate_machine_state_t *self, int status)
{
    if (self->status == GS_OK) {
        self->status = status;
    }
}

/* Room for one more row; false without memory. */
static bool make_room(gs_simulate_machine_state_t *self, int64_t **log, int columns, int64_t count,
                      int64_t *room)
{
    if (count < *room) {
        return true;
    }
    int status = gs_vector_reserve_columns(self->ctx, log, columns, room, count + 1, INT64_MAX);
    gs_simulate_machine_fail(self, status);
    return status == GS_OK;
}

/* Adds a row; returns its position, -1 without memory. */
static int64_t add(gs_simulate_machine_state_t *self, int64_t **log, int columns, int64_t *count,
                   int64_t *room, const int64_t *row)
{
    if (!make_room(self, log, columns, *count, room)) {
        return -1;
    }
    for (int c = 0; c < columns; c++) {
        log[c][*count] = row[c];
    }
    return (*count)++;
}

int64_t gs_simulate_machine_log_job(gs_simulate_machine_state_t *self,
                                    const gs_simulate_machine_job_t *job)
{
    gs_simulate_machine_t *machine = self->machine;
    const int64_t row[GS_SIMULATE_MACHINE_JOB_COLUMNS] = {
        job->task, job->number, job->arrival, job->release, -1, -1,
    };
    return self->model->log_jobs ? add(self, machine->job, GS_SIMULATE_MACHINE_JOB_COLUMNS,
                                       &machine->job_count, &self->room[JOBS], row)
                                 : -1;
}

void gs_simulate_machine_count_response(gs_simulate_machine_state_t *self,
                                        const gs_simulate_machine_job_t *job)
{
    gs_simulate_machine_t *machine = self->machine;
    int64_t task = job->task, response = self->now - job->origin, grain = self->model->grain;
    machine->worst[task] = response > machine->worst[task] ? response : machine->worst[task];
    machine->late[task] += self->now > job->deadline;
    if (machine->responses != NULL) {
        int64_t whole = (response + grain - 1) / grain;
        gs_simulate_machine_fail(self,
                                 gs_histogram_add(&machine->responses[task], self->ctx, whole));
    }
}

int64_t gs_simulate_machine_log_op(gs_simulate_machine_state_t *self, int64_t job, int64_t item)
{
    gs_simulate_machine_t *machine = self->machine;
    int64_t row[GS_SIMULATE_MACHINE_OP_COLUMNS];
    for (int c = 0; c < GS_SIMULATE_MACHINE_OP_COLUMNS; c++) {
        row[c] = -1;
    }
    row[GS_SIMULATE_MACHINE_OP_TASK] = self->job[job].task;
    row[GS_SIMULATE_MACHINE_OP_JOB] = self->job[job].number;
    row[GS_SIMULATE_MACHINE_OP_ITEM] = item;
    row[GS_SIMULATE_MACHINE_OP_CALLED] = self->now;
    return self->model->log_operations ? add(self, machine->op, GS_SIMULATE_MACHINE_OP_COLUMNS,
                                             &machine->op_count, &self->room[OPERATIONS], row)
                                       : -1;
}

/* Adds an interval, or continues the row `last`, which it becomes, if that is the same but for its
 * end, the last column, where this one begins. */
static void extend(gs_simulate_machine_state_t *self, int64_t **log, int columns, int64_t *count,
                   int64_t *room, const int64_t *row, int64_t *last)
{
    bool same = *last >= 0 && log[columns - 1][*last] == row[columns - 2];
    for (int c = 0; same && c < columns - 2; c++) {
        same = log[c][*last] == row[c];
    }
    if (same) {
        log[columns - 1][*last] = row[columns - 1];
    } else {
        *last = add(self, log, columns, count, room, row);
    }
}

static void pass_cpus(gs_simulate_machine_state_t *self, int64_t to)
{
    gs_simulate_machine_t *machine = self->machine;
    for (int32_t c = 0; c < self->cpus; c++) {
        if (self->cpu[c] < 0) {
            continue;
        }
        const gs_simulate_machine_thread_t *t = &self->thread[self->cpu[c]];
        int64_t what = t->left == GS_NEVER ? GS_SIMULATE_MACHINE_DOES_SPIN
                       : t->after          ? GS_SIMULATE_MACHINE_DOES_UPDATE
                                           : GS_SIMULATE_MACHINE_DOES_WORK;
        int64_t number = t->job < 0 ? -1 : self->job[t->job].number;
        const int64_t row[GS_SIMULATE_MACHINE_CPU_COLUMNS] = {
            c, self->cpu[c], number, t->item, what, self->now, to,
        };
        extend(self, machine->cpu, GS_SIMULATE_MACHINE_CPU_COLUMNS, &machine->cpu_count,
               &self->room[CPUS], row, &self->cpu_log[c]);
    }
}

static void pass_contexts(gs_simulate_machine_state_t *self, int64_t to)
{
    gs_simulate_machine_t *machine = self->machine;
    for (int64_t d = 0; d < self->model->devices; d++) {
        const gs_simulate_gpu_t *device = &self->device[d];
        if (device->active < 0 || (device->contexts < 2 && !self->model->stall)) {
            continue;
        }
        const int64_t row[GS_SIMULATE_MACHINE_SLICE_COLUMNS] = {
            d, device->active, !gs_simulate_gpu_runs(device), self->now, to,
        };
        extend(self, machine->slice, GS_SIMULATE_MACHINE_SLICE_COLUMNS, &machine->slice_count,
               &self->slice_room, row, &self->slice_log[d]);
    }
}

void gs_simulate_machine_pass(gs_simulate_machine_state_t *self, int64_t to)
{
    if (self->model->log_cpus) {
        pass_cpus(self, to);
    }
    if (self->model->log_operations) {
        pass_contexts(self, to);
    }
}
