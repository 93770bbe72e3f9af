/* Tests of block placement: placements reported in the papers, limits of an SM. */
#include "model/block_placement_internal.h"

#include "minunit.h"

#include <string.h>

enum { MOST_SMS = 80, MOST_BLOCKS = 4096 };

static gs_gpu_t device(int32_t sms, int32_t warps, int32_t slots, int32_t *order)
{
    for (int32_t i = 0, p = 0; i < 2; i++) {
        for (int32_t s = i; s < sms; s += 2) {
            order[p++] = s; /* evens then odds */
        }
    }
    return (gs_gpu_t){.sms = sms,
                      .warps_per_sm = warps,
                      .blocks_per_sm = slots,
                      .regs_per_sm = 65536,
                      .smem_per_sm = 65536,
                      .smem_per_block = 65536,
                      .smem_unit = 256,
                      .reg_unit = 256,
                      .partitions = 4,
                      .sm_order = order};
}

/* Places blocks of so many warps, all of which must fit. */
static void put(gs_block_placement_t *placer, int64_t blocks, int64_t warps, int32_t *sm)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_gpu_kernel_t kernel = {blocks, 32 * warps, 0, 0};
    int64_t placed = -1;
    MU_CHECK(gs_block_placement_kernel(placer, &ctx, &kernel, 0, sm, &placed) == GS_OK);
    MU_CHECK(placed == blocks);
}

static void expect(gs_block_placement_t *placer, int64_t blocks, int64_t warps,
                   const int32_t *expected)
{
    int32_t sm[MOST_SMS];
    put(placer, blocks, warps, sm);
    for (int64_t b = 0; b < blocks; b++) {
        MU_CHECK(sm[b] == expected[b]);
    }
}

/* III.1, with z = 0, and III.2: y joins x on an SM that held z warps. */
static bool definition_2(int64_t mw, int64_t z, int64_t x, int64_t y)
{
    return mw - z - x >= (mw - z) / y * y;
}

static bool definition_3(int64_t mw, int64_t z, int64_t x, int64_t y)
{
    return mw - z < (mw - x) / y * y;
}

/* Tables II (64 warps) and III (32): every cell says on which SM the second block is, and what the
 * first one left of its SM. */
static void test_tables(int32_t mw, int32_t slots, int policy)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm;
    gs_gpu_t gpu = device(8, mw, slots, order);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
    for (int64_t x = 1; x <= 32; x++) {
        for (int64_t y = 1; y <= 32; y++) {
            gs_block_placement_clear(&placer);
            put(&placer, 1, x, &sm);
            MU_CHECK(sm == 0);
            MU_CHECK(mw - placer.load[0].warps == mw - x);
            put(&placer, 1, y, &sm);
            MU_CHECK(sm == (definition_2(mw, 0, x, y) ? 0 : 2));
        }
    }
    gs_block_placement_free(&placer, &ctx);
}

/* III.2: the same when every SM held z warps before. */
static void test_definition_2(int32_t mw, int policy)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm;
    gs_gpu_t gpu = device(8, mw, 64, order); /* slots do not bind */
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
    int64_t feasible = 0;
    for (int64_t z = 1; z <= 32; z++) {
        for (int64_t x = 1; x <= 32 && z + x <= mw; x++) {
            for (int64_t y = 1; y <= 32 && z + y <= mw; y++) {
                int32_t before[8];
                gs_block_placement_clear(&placer);
                put(&placer, 8, z, before);
                put(&placer, 1, x, &sm);
                MU_CHECK(sm == 0);
                put(&placer, 1, y, &sm);
                bool fits = z + x + y <= mw; /* Equation 3 also says yes where y fits nowhere */
                MU_CHECK(sm == (fits && definition_2(mw, z, x, y) ? 0 : 2));
                feasible++;
            }
        }
    }
    MU_CHECK(feasible == (mw == 64 ? 32 * 32 * 32 : 31 * 32 * 63 / 6));
    gs_block_placement_free(&placer, &ctx);
}

/* III.3: all SMs but the last one hold one block of z warps, that one a block of x. In how many
 * cases does most_room differ from the Definition? Where the slots that are left limit the room,
 * since the Definition knows warps only. */
static int64_t differences_3(int32_t mw, int32_t slots)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm;
    gs_gpu_t gpu = device(8, mw, slots, order);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) == GS_OK);
    int64_t differ = 0;
    for (int64_t z = 1; z <= mw; z++) {
        for (int64_t x = 1; x <= mw; x++) {
            for (int64_t y = 1; y <= 32; y++) {
                gs_block_placement_sm_load_t load[8];
                for (int s = 0; s < 8; s++) {
                    load[s] = (gs_block_placement_sm_load_t){s == 7 ? x : z, 1, 0, 0, -1};
                }
                MU_CHECK(gs_block_placement_set(&placer, &ctx, load) == GS_OK);
                gs_gpu_kernel_t kernel = {1, 32 * y, 0, 0};
                int64_t placed;
                MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernel, 0, &sm, &placed) ==
                         GS_OK);
                differ += (sm == 7) != definition_3(mw, z, x, y);
            }
        }
    }
    gs_block_placement_free(&placer, &ctx);
    return differ;
}

/* Figure 5 and the two load-balancing experiments of [RTAS20]. */
static void test_xavier(int policy)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm[16];
    gs_gpu_t gpu = device(8, 64, 32, order);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);

    expect(&placer, 4, 4, (int32_t[]){0, 2, 4, 6});
    expect(&placer, 4, 4, (int32_t[]){1, 3, 5, 7});
    gs_block_placement_clear(&placer);
    expect(&placer, 4, 4, (int32_t[]){0, 2, 4, 6});
    expect(&placer, 4, 5, (int32_t[]){0, 2, 4, 6});

    gs_block_placement_clear(&placer);
    put(&placer, 6, 16, sm); /* SMs 5 and 7 stay empty */
    put(&placer, 16, 2, sm);
    for (int b = 0; b < 16; b++) {
        MU_CHECK(sm[b] == (b % 2 == 0 ? 5 : 7));
    }
    gs_block_placement_clear(&placer);
    put(&placer, 6, 16, sm);
    put(&placer, 16, 4, sm);
    for (int b = 0; b < 8; b++) {
        MU_CHECK(sm[b] == (b % 2 == 0 ? 5 : 7));
    }
    for (int b = 8; b < 16; b++) {
        MU_CHECK(sm[b] == order[b - 8]);
    }
    gs_block_placement_free(&placer, &ctx);
}

/* Five SMs in ascending order, all but SM 0 loaded; 68 SMs, all but the last loaded. */
static void test_other_gpus(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[MOST_SMS];
    gs_block_placement_sm_load_t load[MOST_SMS];
    gs_gpu_t pascal = device(5, 64, 32, order);
    pascal.sm_order = NULL; /* ascending */
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &pascal, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
             GS_OK);
    for (int64_t warps = 8; warps <= 32; warps += 24) {
        for (int s = 0; s < 5; s++) {
            load[s] = s == 0 ? (gs_block_placement_sm_load_t){0}
                             : (gs_block_placement_sm_load_t){warps, 1, 0, 0, -1};
        }
        MU_CHECK(gs_block_placement_set(&placer, &ctx, load) == GS_OK);
        if (warps == 8) {
            expect(&placer, 3, 5, (int32_t[]){0, 0, 1});
        } else {
            expect(&placer, 3, 1, (int32_t[]){0, 0, 1});
            MU_CHECK(gs_block_placement_set(&placer, &ctx, load) == GS_OK);
            expect(&placer, 3, 2, (int32_t[]){0, 0, 0});
        }
    }
    gs_block_placement_free(&placer, &ctx);

    gs_gpu_t turing = device(68, 32, 16, order);
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &turing, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
             GS_OK);
    int32_t sm[MOST_SMS];
    put(&placer, 67, 16, sm);
    MU_CHECK(placer.load[67].blocks == 0);
    put(&placer, 9, 2, sm);
    for (int b = 0; b < 9; b++) {
        MU_CHECK(sm[b] == (b < 8 ? 67 : 0));
    }
    gs_block_placement_clear(&placer);
    put(&placer, 67, 16, sm);
    expect(&placer, 5, 1, (int32_t[]){67, 0, 2, 4, 6});
    gs_block_placement_free(&placer, &ctx);
}

/* n - 1 blocks of 6 warps, one of 1 and one of 11: on a GPU the last block tells the rules apart.
 */
static void test_probe(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm[8];
    gs_gpu_t gpu = device(8, 64, 32, order);
    int32_t last[2];
    for (int policy = GS_BLOCK_PLACEMENT_MOST_ROOM; policy <= GS_BLOCK_PLACEMENT_OLMEDO; policy++) {
        gs_block_placement_t placer;
        MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
        put(&placer, 7, 6, sm);
        put(&placer, 1, 1, &last[policy]);
        put(&placer, 1, 11, &last[policy]);
        gs_block_placement_free(&placer, &ctx);
    }
    MU_CHECK(last[GS_BLOCK_PLACEMENT_MOST_ROOM] == 0);
    MU_CHECK(last[GS_BLOCK_PLACEMENT_OLMEDO] == 7);
}

/* The pointer goes on over kernels and passes over SMs without room. */
static void test_round_robin(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8];
    gs_gpu_t gpu = device(8, 32, 16, order);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_ROUND_ROBIN) == GS_OK);
    expect(&placer, 3, 20, (int32_t[]){0, 2, 4});
    expect(&placer, 6, 1, (int32_t[]){6, 1, 3, 5, 7, 0});
    expect(&placer, 4, 13, (int32_t[]){6, 1, 3, 5}); /* 12 warps are left on 2 and 4 */
    gs_block_placement_clear(&placer);
    expect(&placer, 1, 1, (int32_t[]){0});
    gs_block_placement_free(&placer, &ctx);
}

/* Rule 1 of olmedo remembers the kernel before beside the blocks of the present one. */
static void test_olmedo_memory(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8];
    gs_gpu_t gpu = device(8, 64, 32, order);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_OLMEDO) == GS_OK);
    expect(&placer, 1, 4, (int32_t[]){0});
    /* 60 >= 12 * 5; then x = 5, z = 4: 55 >= 60 does not hold */
    expect(&placer, 2, 5, (int32_t[]){0, 2});
    /* SM 0: x = 5, z = 4: 55 >= 8 * 7 does not hold; SM 2: x = 5, z = 0: 59 >= 9 * 7 neither. */
    expect(&placer, 1, 7, (int32_t[]){4});
    expect(&placer, 2, 19, (int32_t[]){4, 6}); /* 57 >= 3 * 19; then 38 >= 57 does not hold */
    gs_block_placement_free(&placer, &ctx);
}

/* Seven SMs with 6 warps each, a block of x warps, then one of y: in how many of the pairs that
 * most_room can place does the answer to "does y join x?" differ, by the two Definitions as they
 * stand and by the policy that follows them? */
static void test_differences(int32_t mw, int64_t pairs, int64_t by_rule, int64_t by_policy)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8], sm[8];
    gs_gpu_t gpu = device(8, mw, 64, order);
    int64_t counted = 0, rule = 0, policy = 0;
    gs_block_placement_t placer[2];
    MU_CHECK(gs_block_placement_init(&placer[0], &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
             GS_OK);
    MU_CHECK(gs_block_placement_init(&placer[1], &ctx, &gpu, GS_BLOCK_PLACEMENT_OLMEDO) == GS_OK);
    for (int64_t x = 1; x <= 32; x++) {
        for (int64_t y = 1; y <= 32; y++) {
            int32_t of_x[2], of_y[2];
            int64_t placed[2];
            for (int i = 0; i < 2; i++) {
                gs_block_placement_clear(&placer[i]);
                put(&placer[i], 7, 6, sm);
                put(&placer[i], 1, x, &of_x[i]);
                gs_gpu_kernel_t kernel = {1, 32 * y, 0, 0};
                MU_CHECK(gs_block_placement_kernel(&placer[i], &ctx, &kernel, 0, &of_y[i],
                                                   &placed[i]) == GS_OK);
            }
            MU_CHECK(of_x[0] == of_x[1]);
            MU_CHECK(placed[0] == placed[1]);
            if (placed[0] == 1) {
                bool joins = of_y[0] == of_x[0];
                int64_t z = of_x[0] == 7 ? 0 : 6;
                counted++;
                rule += joins != (definition_2(mw, z, x, y) || definition_3(mw, 6, x, y));
                policy += joins != (of_y[1] == of_x[1]);
            }
        }
    }
    MU_CHECK(counted == pairs);
    MU_CHECK(rule == by_rule);
    MU_CHECK(policy == by_policy);
    gs_block_placement_free(&placer[0], &ctx);
    gs_block_placement_free(&placer[1], &ctx);
}

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state >> 11) % n;
}

/* Number of further blocks that fit, one after the other. */
static int64_t count_room(const gs_gpu_t *gpu, gs_block_placement_sm_load_t load,
                          const gs_occupancy_footprint_t *take)
{
    int64_t room = 0;
    for (;;) {
        load.warps += take->warps;
        load.blocks += 1;
        load.regs += take->regs;
        load.smem += take->smem;
        if (load.warps > gpu->warps_per_sm || load.blocks > gpu->blocks_per_sm ||
            load.smem > gpu->smem_per_sm || (take->regs > 0 && load.regs > take->regs_usable)) {
            return room;
        }
        room++;
    }
}

/* Random kernels on random devices: block by block the first SM with the most room, nothing after
 * the first block without any, no limit exceeded, and the same loads when no SMs are asked for. */
static void test_random(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    static int32_t sm[MOST_BLOCKS];
    int32_t order[MOST_SMS];
    for (int round = 0; round < 600; round++) {
        int32_t sms = (int32_t)(1 + random_below(round % 10 == 0 ? MOST_SMS : 9));
        gs_gpu_t gpu =
            device(sms, (int32_t)(1 + random_below(64)), (int32_t)(1 + random_below(32)), order);
        gpu.partitions = (int32_t)(1 << random_below(3));
        gpu.smem_reserved = (int32_t)(1024 * random_below(2));
        for (int32_t i = sms - 1; i > 0; i--) {
            int32_t j = (int32_t)random_below(i + 1), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        gs_block_placement_t placer, blind;
        MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
                 GS_OK);
        MU_CHECK(gs_block_placement_init(&blind, &ctx, &gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
                 GS_OK);
        bool wrong = false, over = false;
        for (int k = 0; k < 6; k++) {
            gs_gpu_kernel_t kernel = {1 + random_below(random_below(4) == 0 ? MOST_BLOCKS : 20),
                                      1 + random_below(512), random_below(3) * random_below(128),
                                      random_below(2) * random_below(20000)};
            gs_occupancy_footprint_t take;
            int64_t per_sm, placed, blindly;
            int limit;
            MU_CHECK(gs_occupancy_footprint(&ctx, &gpu, &kernel, k, &take, &per_sm, &limit) ==
                     GS_OK);
            gs_block_placement_sm_load_t load[MOST_SMS];
            memcpy(load, placer.load, (size_t)sms * sizeof *load);
            MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernel, k, sm, &placed) == GS_OK);
            MU_CHECK(gs_block_placement_kernel(&blind, &ctx, &kernel, k, NULL, &blindly) == GS_OK);
            MU_CHECK(placed == blindly);
            for (int64_t b = 0; b < kernel.blocks; b++) {
                int32_t best = -1;
                int64_t most = 0;
                for (int32_t p = 0; p < sms && per_sm > 0 && b <= placed; p++) {
                    int64_t room = count_room(&gpu, load[order[p]], &take);
                    if (room > most) {
                        most = room;
                        best = order[p];
                    }
                }
                wrong = wrong || sm[b] != best || (best >= 0) != (b < placed);
                if (best >= 0) {
                    load[best].warps += take.warps;
                    load[best].blocks += 1;
                    load[best].regs += take.regs;
                    load[best].smem += take.smem;
                    over = over || load[best].warps > gpu.warps_per_sm ||
                           load[best].blocks > gpu.blocks_per_sm ||
                           load[best].regs > gpu.regs_per_sm || load[best].smem > gpu.smem_per_sm;
                }
            }
            wrong = wrong || memcmp(load, placer.load, (size_t)sms * sizeof *load) != 0 ||
                    memcmp(load, blind.load, (size_t)sms * sizeof *load) != 0;
        }
        MU_CHECK(!wrong);
        MU_CHECK(!over);
        gs_block_placement_free(&placer, &ctx);
        gs_block_placement_free(&blind, &ctx);
    }
    MU_CHECK(ctx.bytes_used == 0);
}

/* An empty GPU takes exactly sms times the occupancy, under every policy, also where registers do
 * not divide the partitions. */
static void test_capacity(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[3];
    gs_gpu_t gpu = device(3, 64, 32, order);
    for (int64_t threads = 32; threads <= 1024; threads += 96) {
        for (int64_t regs = 0; regs <= 255; regs += 5) {
            gs_gpu_kernel_t kernel = {INT64_MAX, threads, regs, 0};
            int64_t per_sm, placed;
            MU_CHECK(gs_occupancy_blocks(&ctx, &gpu, &kernel, 0, &per_sm, NULL) == GS_OK);
            for (int policy = GS_BLOCK_PLACEMENT_MOST_ROOM;
                 policy <= GS_BLOCK_PLACEMENT_ROUND_ROBIN; policy++) {
                gs_block_placement_t placer;
                MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
                MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernel, 0, NULL, &placed) ==
                         GS_OK);
                MU_CHECK(placed == 3 * per_sm);
                gs_block_placement_free(&placer, &ctx);
            }
        }
    }
}

static void refused(const gs_gpu_t *gpu, const char *field, int64_t row, int64_t value)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, gpu, GS_BLOCK_PLACEMENT_MOST_ROOM) ==
             GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, field) == 0);
    MU_CHECK(ctx.fault.row == row);
    MU_CHECK(ctx.fault.value == value);
    gs_block_placement_free(&placer, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int32_t order[8];
    const gs_gpu_t good = device(8, 64, 32, order);
    gs_gpu_t gpu = good;
    gpu.sms = 0;
    refused(&gpu, "sms", -1, 0);
    gpu.sms = GS_GPU_MAX_SMS + 1;
    refused(&gpu, "sms", -1, GS_GPU_MAX_SMS + 1);
    gpu = good;
    gpu.smem_unit = 0;
    refused(&gpu, "smem_unit", -1, 0);
    gpu = good;
    gpu.smem_per_sm = -1;
    refused(&gpu, "smem_per_sm", -1, -1);
    order[5] = 8;
    refused(&good, "sm_order", 5, 8);
    order[5] = 0;
    refused(&good, "sm_order", 5, 0);
    device(8, 64, 32, order);

    gs_block_placement_t placer;
    MU_CHECK(gs_block_placement_init(&placer, &ctx, &good, 3) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "policy") == 0);
    gs_block_placement_free(&placer, &ctx);

    MU_CHECK(gs_block_placement_init(&placer, &ctx, &good, GS_BLOCK_PLACEMENT_OLMEDO) == GS_OK);
    const struct {
        gs_gpu_kernel_t kernel;
        const char *field;
    } kernels[] = {
        {{0, 1, 0, 0}, "blocks"},
        {{1, 0, 0, 0}, "threads"},
        {{1, 1, -1, 0}, "regs"},
        {{1, 1, 0, INT64_MIN}, "smem"},
    };
    int64_t placed;
    int32_t sm;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernels[i].kernel, 7, &sm, &placed) ==
                 GS_ERR_VALUE);
        MU_CHECK(strcmp(ctx.fault.field, kernels[i].field) == 0);
        MU_CHECK(ctx.fault.row == 7);
    }
    const gs_gpu_kernel_t huge[] = {
        {1, INT64_MAX, 0, 0}, {1, 1, INT64_MAX, 0}, {1, 1, 0, INT64_MAX}, {1, 1025, 0, 0}};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &huge[i], 0, &sm, &placed) == GS_OK);
        MU_CHECK(placed == 0);
        MU_CHECK(sm == -1);
    }
    gs_block_placement_sm_load_t load[8] = {{0}};
    load[3].regs = 65537;
    MU_CHECK(gs_block_placement_set(&placer, &ctx, load) == GS_ERR_VALUE);
    MU_CHECK(strcmp(ctx.fault.field, "load.regs") == 0);
    MU_CHECK(ctx.fault.row == 3);
    load[3].regs = -1;
    MU_CHECK(gs_block_placement_set(&placer, &ctx, load) == GS_ERR_VALUE);
    gs_block_placement_free(&placer, &ctx);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Every allocation may fail; nothing is lost. */
static void test_memory(void)
{
    int32_t order[8];
    gs_gpu_t gpu = device(8, 64, 32, order);
    for (int policy = GS_BLOCK_PLACEMENT_MOST_ROOM; policy <= GS_BLOCK_PLACEMENT_ROUND_ROBIN;
         policy++) {
        int failures = 0;
        for (int64_t fail_at = 1;; fail_at++) {
            gs_context_t ctx;
            gs_context_init(&ctx);
            ctx.fail_at = fail_at;
            gs_block_placement_t placer;
            int status = gs_block_placement_init(&placer, &ctx, &gpu, policy);
            gs_block_placement_free(&placer, &ctx);
            gs_block_placement_free(&placer, &ctx); /* twice is safe */
            MU_CHECK(ctx.bytes_used == 0);
            if (status == GS_OK) {
                break;
            }
            MU_CHECK(status == GS_ERR_MEMORY);
            failures++;
        }
        MU_CHECK(failures == (policy == GS_BLOCK_PLACEMENT_MOST_ROOM ? 4
                              : policy == GS_BLOCK_PLACEMENT_OLMEDO  ? 3
                                                                     : 2));
    }
}

static int give_up(void *arg)
{
    (void)arg;
    return GS_ERR_INTERRUPTED;
}

/* A grid beyond counting can be stopped, under every policy. */
static void test_poll(void)
{
    int32_t order[8];
    gs_gpu_t gpu = device(8, INT32_MAX, INT32_MAX, order);
    for (int policy = GS_BLOCK_PLACEMENT_OLMEDO; policy <= GS_BLOCK_PLACEMENT_ROUND_ROBIN;
         policy++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.poll = give_up;
        gs_block_placement_t placer;
        gs_gpu_kernel_t kernel = {INT64_MAX, 1, 0, 0};
        int64_t placed;
        MU_CHECK(gs_block_placement_init(&placer, &ctx, &gpu, policy) == GS_OK);
        MU_CHECK(gs_block_placement_kernel(&placer, &ctx, &kernel, 0, NULL, &placed) ==
                 GS_ERR_INTERRUPTED);
        MU_CHECK(placed > 0);
        gs_block_placement_free(&placer, &ctx);
    }
}

int main(void)
{
    for (int policy = GS_BLOCK_PLACEMENT_MOST_ROOM; policy <= GS_BLOCK_PLACEMENT_OLMEDO; policy++) {
        test_tables(64, 32, policy);
        test_tables(32, 16, policy);
        test_definition_2(64, policy);
        test_definition_2(32, policy);
        test_xavier(policy);
    }
    MU_CHECK(differences_3(64, 128) == 0);
    MU_CHECK(differences_3(32, 128) == 0);
    MU_CHECK(differences_3(64, 32) == 528);
    MU_CHECK(differences_3(32, 16) == 136);
    test_other_gpus();
    test_probe();
    test_round_robin();
    test_olmedo_memory();
    /* With 32 warps, the 78 pairs between rule and policy are those in which Equation 3 says that
     * y joins x where it does not fit. */
    test_differences(64, 1024, 188, 188);
    test_differences(32, 925, 198, 120);
    test_random();
    test_capacity();
    test_refusals();
    test_memory();
    test_poll();
    return MU_END();
}
