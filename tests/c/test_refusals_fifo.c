/* The FIFO simulator and the bounds on its responses refuse every number out of its range, by the
 * name and row of the field. */
#include "analysis/fifo/fifo_bound.h"
#include "refusals.h"
#include "simulate/fifo/fifo.h"

enum { N = 2, KERNELS = 3 };

/* Options as numbers: fields of the models that are shorter, or pointers that may be NULL. */
typedef struct {
    int64_t order, draw, settle, streams, releases, given, slack, chains, soonest;
    gs_simulate_fifo_model_t model;
} fifo_t;

static int64_t period[] = {20, 30}, time[] = {4, 5}, blocks[] = {2, 3}, threads[] = {1, 2};
static int64_t stream[] = {0, 1}, slack[] = {1, 0}, least[] = {4, 5};
static int64_t release_begin[] = {0, 2, 3}, release[] = {0, 25, 10}, given[] = {4, 3, 5};
static int64_t level[] = {0, 1}, begin[] = {0, 2, 3}, latency[] = {1, 2, 0}, soonest[] = {1, 0, 0};
static int64_t kernel_blocks[] = {1, 2, 1}, kernel_threads[] = {1, 1, 2}, kernel_time[] = {2, 3, 4};
static gs_kernel_chains_t chains = {
    N, period, level, begin, kernel_blocks, kernel_threads, kernel_time, latency};

static fifo_t plain = {
    .model = {.kernels = {N, period, time, blocks, threads},
              .m = 4,
              .until = 100,
              .victim = -1,
              .triggers = GS_SIMULATE_FIFO_AT_HEAD,
              .least = least,
              .key = {1, 2, 3, 4}},
};

static int simulate(gs_context_t *ctx, void *given_fifo)
{
    const fifo_t *self = given_fifo;
    gs_simulate_fifo_model_t model = self->model;
    model.order = (int)self->order;
    model.draw = (int)self->draw;
    model.settle = (int)self->settle;
    model.stream = self->streams != 0 ? stream : NULL;
    model.release_begin = self->releases != 0 ? release_begin : NULL;
    model.release = self->releases != 0 ? release : NULL;
    model.given = self->given != 0 ? given : NULL;
    model.slack = self->slack != 0 ? slack : NULL;
    model.soonest = self->soonest != 0 ? soonest : NULL;
    if (self->chains != 0) {
        model.chains = &chains;
        model.kernels = (gs_kernel_tasks_t){N, period, NULL, NULL, NULL};
        model.least = NULL;
    }
    gs_simulate_fifo_t fifo;
    int status = gs_simulate_fifo_init(&fifo, ctx, &model);
    while (status == GS_OK && !fifo.done) {
        status = gs_simulate_fifo_run(&fifo, ctx, 100);
    }
    gs_simulate_fifo_free(&fifo, ctx);
    return status;
}

static void test_simulation(void)
{
    const int64_t late = INT64_C(1) << 59;
    gs_simulate_fifo_model_t *model = &plain.model;
    const refused_t options[] = {
        {&plain.order, -1, "order", -1, GS_ERR_VALUE},
        {&plain.order, 4, "order", -1, GS_ERR_VALUE},
        {&plain.draw, -1, "draw", -1, GS_ERR_VALUE},
        {&plain.draw, 3, "draw", -1, GS_ERR_VALUE},
        {&plain.settle, -1, "settle", -1, GS_ERR_VALUE},
        {&plain.settle, 3, "settle", -1, GS_ERR_VALUE},
        {&model->until, -1, "until", -1, GS_ERR_VALUE},
        {&model->until, late, "until", -1, GS_ERR_OVERFLOW},
        {&model->victim, -2, "victim", -1, GS_ERR_VALUE},
        {&model->victim, N, "victim", -1, GS_ERR_VALUE},
        {&period[1], 0, "period", 1, GS_ERR_VALUE},
        {&least[1], 0, "least", 1, GS_ERR_VALUE},
        {&threads[1], 5, "threads", 1, GS_ERR_VALUE},
        {&plain.given, 1, "given", -1, GS_ERR_VALUE}, /* without releases */
    };
    refuse_each(options, sizeof options / sizeof *options, simulate, &plain);

    model->victim = 0;
    const refused_t adversary[] = {
        {&model->triggers, 0, "triggers", -1, GS_ERR_VALUE},
        {&model->triggers, 8, "triggers", -1, GS_ERR_VALUE},
        {&plain.settle, 1, "settle", -1, GS_ERR_VALUE},
        {&plain.streams, 1, "victim", -1, GS_ERR_VALUE},
        {&plain.releases, 1, "victim", -1, GS_ERR_VALUE},
    };
    refuse_each(adversary, sizeof adversary / sizeof *adversary, simulate, &plain);
    model->victim = -1;

    plain.streams = 1;
    const refused_t streams[] = {
        {&plain.order, GS_FIFO_ORDER_OVERLAP, "stream", -1, GS_ERR_VALUE},
        {&stream[1], -1, "stream", 1, GS_ERR_VALUE},
        {&stream[1], N, "stream", 1, GS_ERR_VALUE},
    };
    refuse_each(streams, sizeof streams / sizeof *streams, simulate, &plain);
    plain.streams = 0;

    plain.settle = 1;
    const refused_t periodic[] = {
        {&least[0], 3, "settle", -1, GS_ERR_VALUE}, /* times that are not constant */
        {&plain.slack, 1, "settle", -1, GS_ERR_VALUE},
        {&plain.releases, 1, "settle", -1, GS_ERR_VALUE},
    };
    refuse_each(periodic, sizeof periodic / sizeof *periodic, simulate, &plain);
    plain.settle = 0;

    plain.releases = plain.given = 1;
    const refused_t releases[] = {
        {&plain.slack, 1, "slack", -1, GS_ERR_VALUE},
        {&release_begin[0], 1, "release_begin", 0, GS_ERR_VALUE},
        {&release_begin[1], 4, "release_begin", 1, GS_ERR_VALUE}, /* beyond the last release */
        {&release_begin[1], INT64_C(1) << 40, "release_begin", 1, GS_ERR_VALUE},
        {&release[0], -1, "release", 0, GS_ERR_VALUE},
        {&release[1], 19, "release", 1, GS_ERR_VALUE}, /* less than a period later */
        {&release[2], late, "release", 2, GS_ERR_OVERFLOW},
        {&given[2], 0, "given", 2, GS_ERR_VALUE},
        {&given[1], 5, "given", 1, GS_ERR_VALUE}, /* above the time of its task */
    };
    refuse_each(releases, sizeof releases / sizeof *releases, simulate, &plain);
    model->closer = true;
    const refused_t closer[] = {{&release[1], -1, "release", 1, GS_ERR_VALUE}};
    refuse_each(closer, 1, simulate, &plain);
    model->closer = false;
    plain.releases = plain.given = 0;
}

static void test_chains(void)
{
    plain.chains = plain.soonest = 1;
    const refused_t wrong[] = {
        {&plain.order, GS_FIFO_ORDER_RELEASE, "order", -1, GS_ERR_VALUE},
        {&plain.streams, 1, "stream", -1, GS_ERR_VALUE},
        {&plain.given, 1, "given", -1, GS_ERR_VALUE},
        {&plain.settle, 1, "settle", -1, GS_ERR_VALUE},
        {&soonest[1], -1, "soonest", 1, GS_ERR_VALUE},
        {&soonest[1], 3, "soonest", 1, GS_ERR_VALUE},
        {&begin[1], 0, "begin", 0, GS_ERR_VALUE},
        {&latency[2], -1, "latency", 2, GS_ERR_VALUE},
        {&kernel_threads[2], 5, "threads", 2, GS_ERR_VALUE},
        {&kernel_blocks[1], 0, "blocks", 1, GS_ERR_VALUE},
        {&kernel_time[1], 0, "block_time", 1, GS_ERR_VALUE},
        {&period[1], GS_NEVER / 2, "period", 1, GS_ERR_OVERFLOW},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, simulate, &plain);
    plain.chains = plain.soonest = 0;
}

typedef struct {
    int64_t m, sms, beta, order;
} bound_t;

static int bound(gs_context_t *ctx, void *given_bound)
{
    const bound_t *self = given_bound;
    const gs_kernel_tasks_t kernels = {N, period, time, blocks, threads};
    gs_analysis_fifo_bound_t out[N];
    int64_t all = (INT64_C(1) << GS_ANALYSIS_FIFO_THEOREMS) - 1;
    return gs_analysis_fifo_bound(ctx, &kernels, self->m, self->sms, self->beta, (int)self->order,
                                  all, out);
}

static void test_bounds(void)
{
    bound_t self = {8, 2, 3, GS_FIFO_ORDER_HARDWARE};
    const refused_t wrong[] = {
        {&self.order, -1, "order", -1, GS_ERR_VALUE}, {&self.order, 4, "order", -1, GS_ERR_VALUE},
        {&self.sms, 0, "sms", -1, GS_ERR_VALUE},      {&self.sms, 9, "sms", -1, GS_ERR_VALUE},
        {&self.sms, 3, "sms", -1, GS_ERR_VALUE}, /* no divisor of 8 */
        {&self.beta, -1, "beta", -1, GS_ERR_VALUE},   {&self.beta, 9, "beta", -1, GS_ERR_VALUE},
        {&threads[1], 5, "threads", 1, GS_ERR_VALUE},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, bound, &self);
    self.order = GS_FIFO_ORDER_OVERLAP;
    const refused_t overlap[] = {{&self.beta, 0, "beta", -1, GS_ERR_VALUE}};
    refuse_each(overlap, 1, bound, &self);
}

int main(void)
{
    test_simulation();
    test_chains();
    test_bounds();
    return MU_END();
}
