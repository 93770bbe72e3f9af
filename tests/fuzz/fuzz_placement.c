/* Blocks on SMs: occupancy, placement under every policy, loads within the limits, removal. */
#include "fuzz.h"
#include "gpusched.h"
#include "model/block_placement_internal.h"

enum { SMS = 6, BLOCKS = 64 };

typedef struct {
    gs_gpu_t gpu;
    int32_t order[SMS];
    gs_block_placement_sm_load_t load[SMS];
} device_t;

/* A number of units, of 0 .. most or extreme. */
static int64_t amount(fuzz_t *f, int64_t most, int64_t unit)
{
    int64_t product, count = fuzz_number(f, 0, most);
    return gs_mul(count, unit, &product) ? product : count;
}

static void read_device(fuzz_t *f, device_t *d)
{
    static const int32_t regs[] = {65536, 32768, 256, 4096}, units[] = {256, 64, 1, 512};
    memset(d, 0, sizeof *d);
    int32_t sms = 1 + (int32_t)fuzz_below(f, SMS);
    d->gpu = (gs_gpu_t){.sms = sms,
                        .warps_per_sm = (int32_t)fuzz_number(f, 1, 64),
                        .blocks_per_sm = (int32_t)fuzz_number(f, 1, 32),
                        .regs_per_sm = regs[fuzz_below(f, 4)],
                        .smem_per_sm = (int32_t)amount(f, 200, 512),
                        .smem_reserved = (int32_t)amount(f, 2, 512),
                        .smem_unit = units[fuzz_below(f, 4)],
                        .reg_unit = units[fuzz_below(f, 4)],
                        .partitions = (int32_t)fuzz_number(f, 1, 4),
                        .carveout_rule = (int32_t)fuzz_number(f, 0, 2),
                        .carveouts = (int32_t)fuzz_below(f, 4)};
    d->gpu.smem_per_block = f->hostile ? (int32_t)fuzz_number(f, 0, 60000) : d->gpu.smem_per_sm;
    for (int32_t k = 0; k < d->gpu.carveouts; k++) { /* ascending, up to all of it */
        d->gpu.carveout[k] = (k + 1) * (d->gpu.smem_per_sm / d->gpu.carveouts);
    }
    if (d->gpu.carveouts == 0 && !f->hostile) {
        d->gpu.carveout_rule = GS_GPU_CARVEOUT_IGNORE;
    }
    for (int32_t k = 0; k < sms; k++) {
        d->order[k] = k;
    }
    if (fuzz_one_in(f, 2)) {
        for (int32_t k = sms - 1; k > 0; k--) {
            int32_t other = (int32_t)fuzz_below(f, k + 1), sm = d->order[k];
            d->order[k] = d->order[other];
            d->order[other] = sm;
        }
        d->gpu.sm_order = d->order;
    }
    if (f->hostile && fuzz_one_in(f, 8)) {
        d->order[0] = (int32_t)fuzz_number(f, 0, SMS);
    }
}

static gs_gpu_kernel_t read_kernel(fuzz_t *f)
{
    return (gs_gpu_kernel_t){fuzz_number(f, 1, BLOCKS), fuzz_number(f, 1, 1023),
                             fuzz_number(f, 0, 80), amount(f, 150, 128)};
}

static void check_loads(const gs_block_placement_t *placer, const gs_gpu_t *gpu)
{
    for (int32_t sm = 0; sm < gpu->sms; sm++) {
        const gs_block_placement_sm_load_t *load = &placer->load[sm];
        FUZZ_CHECK(0 <= load->warps && load->warps <= gpu->warps_per_sm);
        FUZZ_CHECK(0 <= load->blocks && load->blocks <= gpu->blocks_per_sm);
        FUZZ_CHECK(0 <= load->regs && load->regs <= gpu->regs_per_sm);
        FUZZ_CHECK(0 <= load->smem && load->smem <= gpu->smem_per_sm);
    }
}

/* Places one kernel twice: with its SMs, and counted only. */
static void place(fuzz_t *f, gs_block_placement_t *placer, gs_block_placement_t *counter,
                  const device_t *d, bool empty)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_gpu_kernel_t kernel = read_kernel(f);
    gs_occupancy_footprint_t take;
    int64_t most = -1, placed = -1, counted = -1;
    int limit = -1;
    int status = gs_occupancy_footprint(&ctx, &d->gpu, &kernel, 3, &take, &most, &limit);
    if (fuzz_done(&ctx, status)) {
        FUZZ_CHECK(0 <= most && most <= d->gpu.blocks_per_sm);
        FUZZ_CHECK(0 <= limit && limit < GS_OCCUPANCY_LIMITS);
    }
    if (status != GS_OK || kernel.blocks > BLOCKS) {
        fuzz_end(&ctx);
        return;
    }
    int32_t sm[BLOCKS];
    int64_t room = 0;
    for (int32_t s = 0; s < d->gpu.sms && most > 0; s++) {
        int64_t more = gs_block_placement_room(placer, s, &take);
        FUZZ_CHECK(0 <= more && more <= most);
        FUZZ_CHECK((more == 0) == (gs_block_placement_lack(placer, s, &take) >= 0));
        room += more;
    }
    status = gs_block_placement_kernel(placer, &ctx, &kernel, 3, sm, &placed);
    bool done = fuzz_done(&ctx, status);
    check_loads(placer, &d->gpu);
    if (done) {
        FUZZ_CHECK(placed == (room < kernel.blocks ? room : kernel.blocks));
        FUZZ_CHECK(!empty || placed == (most * d->gpu.sms < kernel.blocks ? most * d->gpu.sms
                                                                          : kernel.blocks));
        for (int64_t b = 0; b < kernel.blocks; b++) {
            FUZZ_CHECK(b < placed ? 0 <= sm[b] && sm[b] < d->gpu.sms : sm[b] == -1);
        }
    }
    status = gs_block_placement_kernel(counter, &ctx, &kernel, 3, NULL, &counted);
    if (fuzz_done(&ctx, status) && done) {
        FUZZ_CHECK(counted == placed);
        FUZZ_CHECK(memcmp(placer->load, counter->load, (size_t)d->gpu.sms * sizeof *placer->load) ==
                   0);
        for (int64_t b = placed - 1; fuzz_one_in(f, 2) && b >= 0; b--) {
            gs_block_placement_remove(placer, sm[b], &take, 1);
            gs_block_placement_remove(counter, sm[b], &take, 1);
        }
        check_loads(placer, &d->gpu);
    }
    fuzz_end(&ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    device_t d;
    read_device(&f, &d);
    int policy = (int)fuzz_number(&f, 0, 2);
    gs_context_t ctx;
    fuzz_context(&f, &ctx);
    gs_block_placement_t placer, counter;
    int status = gs_block_placement_init(&placer, &ctx, &d.gpu, policy);
    int other = gs_block_placement_init(&counter, &ctx, &d.gpu, policy);
    if (fuzz_done(&ctx, status) && other == GS_OK) {
        bool empty = true;
        for (int64_t k = fuzz_below(&f, 8); k >= 0; k--) {
            int64_t kind = fuzz_below(&f, 8);
            if (kind == 0) {
                gs_block_placement_clear(&placer);
                gs_block_placement_clear(&counter);
                empty = true;
            } else if (kind == 1) {
                for (int32_t sm = 0; sm < d.gpu.sms; sm++) {
                    d.load[sm] = (gs_block_placement_sm_load_t){
                        fuzz_number(&f, 0, 64), fuzz_number(&f, 0, 32), amount(&f, 255, 64),
                        amount(&f, 200, 256), fuzz_number(&f, -1, 3)};
                }
                bool set = fuzz_done(&ctx, gs_block_placement_set(&placer, &ctx, d.load));
                FUZZ_CHECK(set == (gs_block_placement_set(&counter, &ctx, d.load) == GS_OK));
                empty = false;
            } else {
                place(&f, &placer, &counter, &d, empty);
                empty = false;
            }
        }
    }
    gs_block_placement_free(&placer, &ctx);
    gs_block_placement_free(&counter, &ctx);
    fuzz_end(&ctx);
    return 0;
}
