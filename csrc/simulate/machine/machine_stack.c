/* A stack of simulations of one machine. */
#include "simulate/machine/machine_stack.h"

typedef gs_simulate_machine_stack_t stack_of_runs_t;

int gs_simulate_machine_stack_init(stack_of_runs_t *self, gs_context_t *ctx,
                                   const gs_simulate_machine_model_t *model, int64_t runs)
{
    *self = (stack_of_runs_t){.model = *model, .runs = runs};
    if (runs < 1) {
        return gs_fail(ctx, GS_ERR_VALUE, "runs", -1, runs, "a positive number");
    }
    if (model->n < 1 || model->n > INT32_MAX || runs > INT64_MAX / model->n) {
        return gs_fail(ctx, GS_ERR_VALUE, "n", -1, model->n, "1 to 2**20 - 1 tasks");
    }
    if (model->log_jobs || model->log_operations || model->log_blocks || model->log_cpus) {
        return gs_fail(ctx, GS_ERR_VALUE, "runs", -1, runs, "runs without logs");
    }
    self->model.count_responses = true;
    size_t rows = (size_t)(runs * model->n);
    bool made =
        (self->worst = gs_alloc(ctx, rows, sizeof *self->worst)) != NULL &&
        (self->late = gs_alloc(ctx, rows, sizeof *self->late)) != NULL &&
        (self->released = gs_alloc(ctx, rows, sizeof *self->released)) != NULL &&
        (self->left = gs_alloc(ctx, (size_t)runs, sizeof *self->left)) != NULL &&
        (self->responses = gs_alloc(ctx, (size_t)model->n, sizeof *self->responses)) != NULL;
    if (!made) {
        int status = ctx->status;
        gs_simulate_machine_stack_free(self, ctx);
        return status;
    }
    return GS_OK;
}

/* Takes the numbers of the run that has ended. */
static int collect(stack_of_runs_t *self, gs_context_t *ctx)
{
    gs_simulate_machine_t *run = &self->machine;
    int64_t n = self->model.n, released = 0;
    int status = GS_OK;
    for (int64_t i = 0; i < n && status == GS_OK; i++) {
        int64_t row = self->done * n + i;
        self->worst[row] = run->responses[i].total > 0 ? run->responses[i].most : -1;
        self->late[row] = run->late[i];
        self->released[row] = run->released[i];
        released += run->released[i];
        status = gs_histogram_take(&self->responses[i], ctx, &run->responses[i]);
    }
    self->left[self->done] = released - run->ended;
    gs_simulate_machine_free(run, ctx);
    self->open = false;
    self->done += status == GS_OK;
    self->model.index++;
    return status;
}

int gs_simulate_machine_stack_run(stack_of_runs_t *self, gs_context_t *ctx, int64_t instants)
{
    int status = GS_OK;
    while (instants > 0 && self->done < self->runs && status == GS_OK) {
        if (!self->open) {
            status = gs_simulate_machine_init(&self->machine, ctx, &self->model);
            self->open = status == GS_OK;
            instants--;
        }
        int64_t before = self->machine.instants;
        if (status == GS_OK) {
            status = gs_simulate_machine_run(&self->machine, ctx, instants);
            instants -= self->machine.instants - before;
        }
        if (status == GS_OK && self->machine.done) {
            status = collect(self, ctx);
        }
    }
    return status;
}

void gs_simulate_machine_stack_free(stack_of_runs_t *self, gs_context_t *ctx)
{
    if (self->open) {
        gs_simulate_machine_free(&self->machine, ctx);
        self->open = false;
    }
    for (int64_t i = 0; self->responses != NULL && i < self->model.n; i++) {
        gs_histogram_free(&self->responses[i], ctx);
    }
    int64_t **const arrays[] = {&self->worst, &self->late, &self->released, &self->left};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        gs_free(ctx, *arrays[k]);
        *arrays[k] = NULL;
    }
    gs_free(ctx, self->responses);
    self->responses = NULL;
}
