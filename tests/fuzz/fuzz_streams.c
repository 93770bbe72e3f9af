/* Chains of kernels in priority streams: bounds, partitions, and the simulator. */
#include "fuzz.h"
#include "fuzz_kernels.h"
#include "gpusched.h"

enum { PARTITIONS = 3 };

typedef struct {
    fuzz_kernels_t set;
    int64_t sms;
    bool on_sms;  /* blocks need registers and shared memory as well */
    bool overlap; /* jobs of a task may overlap */
    int64_t of[FUZZ_KERNELS_TASKS], part_sms[PARTITIONS];
} case_t;

static void read_found(const case_t *c, const gs_analysis_priority_streams_bound_t *found,
                       const int64_t *beta, fuzz_kernels_bound_t *bound)
{
    for (int64_t i = 0; i < c->set.chains.n; i++) {
        const gs_analysis_priority_streams_bound_t *b = &found[i];
        bool bounded = b->theorem != GS_ANALYSIS_PRIORITY_STREAMS_NONE;
        FUZZ_CHECK(0 <= b->theorem && b->theorem <= GS_ANALYSIS_PRIORITY_STREAMS_ALONE);
        FUZZ_CHECK(bounded ? b->denominator > 0 && b->numerator > 0 : b->numerator == 0);
        FUZZ_CHECK(beta[i] >= 0);
        bound[i] = (fuzz_kernels_bound_t){b->numerator, bounded ? b->denominator : 0};
    }
}

static bool bound_set(fuzz_t *f, const case_t *c, fuzz_kernels_bound_t *bound)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_analysis_priority_streams_bound_t found[FUZZ_KERNELS_TASKS];
    int64_t beta[FUZZ_KERNELS_TASKS];
    gs_analysis_priority_streams_device_t device = {&c->set.gpu, c->set.regs, c->set.smem};
    int status = gs_kernel_chains_check(&ctx, &c->set.chains, c->set.m);
    if (status == GS_OK) {
        status = gs_analysis_priority_streams_bound(&ctx, &c->set.chains, c->on_sms ? c->sms : 1,
                                                    c->set.m, c->on_sms ? &device : NULL,
                                                    c->overlap, found, beta);
    }
    bool done = fuzz_done(&ctx, status);
    if (done) {
        read_found(c, found, beta, bound);
    }
    fuzz_end(&ctx);
    return done;
}

/* Partitions of every kind: bounds in range; the one partition of all SMs is none. */
static void bound_partitions(fuzz_t *f, case_t *c, const fuzz_kernels_bound_t *whole)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_analysis_priority_streams_partitions_t partitions = {
        fuzz_number(f, 0, 2), 1 + fuzz_below(f, PARTITIONS), c->of, c->part_sms};
    for (int64_t i = 0; i < c->set.n; i++) {
        c->of[i] = fuzz_number(f, 0, partitions.count - 1);
    }
    for (int64_t p = 0; p < partitions.count; p++) {
        c->part_sms[p] = fuzz_number(f, 1, c->sms);
    }
    gs_analysis_priority_streams_bound_t found[FUZZ_KERNELS_TASKS];
    int64_t beta[FUZZ_KERNELS_TASKS];
    gs_analysis_priority_streams_device_t device = {&c->set.gpu, c->set.regs, c->set.smem};
    int status = gs_kernel_chains_check(&ctx, &c->set.chains, c->set.m);
    if (status == GS_OK) {
        status = gs_analysis_priority_streams_partitioned(&ctx, &c->set.chains, &partitions, c->sms,
                                                          c->set.m, c->on_sms ? &device : NULL,
                                                          c->overlap, found, beta);
    }
    if (fuzz_done(&ctx, status)) {
        fuzz_kernels_bound_t bound[FUZZ_KERNELS_TASKS];
        read_found(c, found, beta, bound);
        bool alone = partitions.kind == GS_ANALYSIS_PRIORITY_STREAMS_OWN && partitions.count == 1 &&
                     c->part_sms[0] == c->sms && c->on_sms;
        for (int64_t i = 0; alone && whole != NULL && i < c->set.n; i++) {
            FUZZ_CHECK(bound[i].numerator == whole[i].numerator &&
                       bound[i].denominator == whole[i].denominator);
        }
    }
    fuzz_end(&ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    case_t c = {.sms = 1 + fuzz_below(&f, 3), .on_sms = fuzz_one_in(&f, 3)};
    c.overlap = fuzz_one_in(&f, 5);
    f.group = c.on_sms;
    fuzz_kernels_read(&f, &c.set, !c.overlap, c.on_sms ? GS_GPU_WARP_THREADS : 1);
    fuzz_kernels_device(&f, &c.set, (int32_t)c.sms);
    if (c.overlap && !f.hostile) {
        memset(c.set.latency, 0, sizeof c.set.latency);
    }
    fuzz_kernels_bound_t bound[FUZZ_KERNELS_TASKS];
    bool bounded = bound_set(&f, &c, bound);
    if (fuzz_one_in(&f, 2)) {
        bound_partitions(&f, &c, bounded ? bound : NULL);
    }
    for (int64_t turn = fuzz_below(&f, 3); turn >= 0; turn--) {
        gs_simulate_fifo_model_t model = fuzz_kernels_model(&f, &c.set, true);
        if (c.on_sms) {
            model.gpu = &c.set.gpu;
            model.regs = c.set.regs;
            model.smem = c.set.smem;
            model.placement = (int)fuzz_number(&f, 0, 2);
        }
        /* Jobs of the simulator do not overlap. */
        fuzz_kernels_simulate(&f, &model, bounded && !c.overlap ? bound : NULL);
    }
    return 0;
}
