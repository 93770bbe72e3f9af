/* Kernels in FIFO order: saturation levels, theorems and the simulator, on threads and on SMs. */
#include "fuzz.h"
#include "fuzz_kernels.h"
#include "gpusched.h"

enum { ALL_THEOREMS = (1 << GS_ANALYSIS_FIFO_THEOREMS) - 1 };

typedef struct {
    fuzz_kernels_t set;
    int64_t sms;
    int order;
    bool on_sms;
} case_t;

static int saturation(gs_context_t *ctx, const case_t *c, int64_t *beta)
{
    bool overlap = c->order == GS_FIFO_ORDER_OVERLAP;
    const gs_kernel_tasks_t *kernels = &c->set.kernels;
    if (c->on_sms) {
        return gs_analysis_fifo_saturation_gpu(ctx, kernels, &c->set.gpu, c->set.regs, c->set.smem,
                                               overlap, beta);
    }
    int status = gs_analysis_fifo_saturation(ctx, kernels, c->set.m, overlap, beta);
    if (status == GS_OK && *beta > 0) {
        FUZZ_CHECK(gs_analysis_fifo_saturation_paper(kernels, c->set.m) <= *beta);
    }
    return status;
}

/* Bounds of a set; whether there are any. */
static bool bound_set(fuzz_t *f, const case_t *c, fuzz_kernels_bound_t *bound)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_analysis_fifo_bound_t found[FUZZ_KERNELS_TASKS];
    int64_t theorems = fuzz_one_in(f, 3) ? fuzz_number(f, 0, ALL_THEOREMS) : ALL_THEOREMS;
    int64_t beta = 0, threads = c->set.m * (c->on_sms ? c->sms : 1);
    int status = gs_kernel_tasks_check(&ctx, &c->set.kernels, threads);
    if (status == GS_OK) {
        status = saturation(&ctx, c, &beta);
    }
    if (status == GS_OK) {
        FUZZ_CHECK(0 <= beta && beta <= threads);
        if (f->hostile && fuzz_one_in(f, 8)) {
            beta = fuzz_number(f, 0, threads); /* bounds that say nothing, but end */
        }
        status = gs_analysis_fifo_bound(&ctx, &c->set.kernels, threads, c->on_sms ? c->sms : 1,
                                        beta, c->order, theorems, found);
    }
    bool done = fuzz_done(&ctx, status);
    for (int64_t i = 0; done && i < c->set.kernels.n; i++) {
        const gs_analysis_fifo_bound_t *b = &found[i];
        bool bounded = b->status == GS_ANALYSIS_FIFO_BOUNDED;
        FUZZ_CHECK(0 <= b->status && b->status <= GS_ANALYSIS_FIFO_UNBOUNDED_LOAD);
        FUZZ_CHECK(0 <= b->theorem && b->theorem < GS_ANALYSIS_FIFO_THEOREMS);
        FUZZ_CHECK(bounded ? b->denominator > 0 && b->numerator > 0 : b->numerator == 0);
        bound[i] = (fuzz_kernels_bound_t){b->numerator, bounded ? b->denominator : 0};
        FUZZ_CHECK(!bounded || b->numerator / b->denominator >= c->set.block_time[i]);
    }
    fuzz_end(&ctx);
    return done && !f->hostile;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    case_t c = {.sms = 1 + fuzz_below(&f, 3), .on_sms = fuzz_one_in(&f, 3)};
    c.order = (int)fuzz_number(&f, 0, 3);
    f.group = 2 * (c.order & 3) + c.on_sms;
    fuzz_kernels_read(&f, &c.set, false, c.on_sms ? GS_GPU_WARP_THREADS : 1);
    fuzz_kernels_device(&f, &c.set, (int32_t)c.sms);
    fuzz_kernels_bound_t bound[FUZZ_KERNELS_TASKS];
    bool bounded = bound_set(&f, &c, bound);
    for (int64_t turn = fuzz_below(&f, 3); turn >= 0; turn--) {
        gs_simulate_fifo_model_t model = fuzz_kernels_model(&f, &c.set, false);
        model.order = c.order;
        bool shared = fuzz_one_in(&f, 6); /* streams, which the theorems are not about */
        model.stream = shared ? c.set.stream : NULL;
        if (fuzz_one_in(&f, 3)) { /* strictly periodic releases, full times */
            model.settle = (int)fuzz_number(&f, 1, 2);
            model.least = model.slack = NULL;
            model.victim = -1;
        }
        if (c.on_sms) {
            model.gpu = &c.set.gpu;
            model.regs = c.set.regs;
            model.smem = c.set.smem;
            model.placement = (int)fuzz_number(&f, 0, 2);
        }
        fuzz_kernels_simulate(&f, &model, bounded && !shared ? bound : NULL);
    }
    return 0;
}
