/* The hierarchy simulator refuses every number out of its range, by the name and row of the field.
 */
#include "refusals.h"
#include "simulate/hierarchy/hierarchy.h"

enum { OPS = 3, STREAMS = 2, CONTEXTS = 2, PARTITIONS = 2, SMS = 2 };

static int64_t timeslice[] = {100, 100}, runlist[] = {0, 1, 0}, context[] = {0, 1};
static int64_t priority[STREAMS],
    stream_kind[] = {GS_SIMULATE_GPU_STREAM_NON_BLOCKING, GS_SIMULATE_GPU_STREAM_NON_BLOCKING};
static int64_t partition[] = {0, 1}, set_begin[] = {0, 2, 4}, set[] = {0, 1, 0, 1},
               limit[] = {0, 2};
static int64_t own_queues[] = {0, 1};
static int64_t start[OPS], kind[OPS], stream[] = {0, 1, 0}, blocks[] = {2, 2, 4};
static int64_t threads[] = {32, 32, 64}, regs[OPS], smem[OPS], least[] = {5, 5, 6};
static int64_t most[] = {5, 7, 6}, given_begin[] = {0, 2, 2, 2}, given[] = {3, 4};
static int64_t after_begin[] = {0, 0, 0, 1}, after[] = {0}, cooperative[] = {0, 0, 1};
static int64_t cluster[] = {1, 2, 2}, engines[] = {1, 1}, gpcs[] = {1, 1};

static gs_simulate_hierarchy_model_t model = {
    .gpu = {.sms = SMS,
            .warps_per_sm = 64,
            .blocks_per_sm = 32,
            .regs_per_sm = 65536,
            .smem_per_sm = 65536,
            .smem_per_block = 65536,
            .smem_unit = 256,
            .reg_unit = 256,
            .partitions = 4},
    .policy = GS_BLOCK_PLACEMENT_MOST_ROOM,
    .gpc_sms = gpcs,
    .gpcs = 2,
    .engines = 2,
    .engine_directions = engines,
    .contexts = CONTEXTS,
    .timeslice = timeslice,
    .runlist = runlist,
    .runlist_length = 3,
    .streams = STREAMS,
    .context = context,
    .priority = priority,
    .stream_kind = stream_kind,
    .partitions = PARTITIONS,
    .partition = partition,
    .set_begin = set_begin,
    .set = set,
    .limit = limit,
    .own_queues = own_queues,
    .ops = OPS,
    .time = start,
    .kind = kind,
    .stream = stream,
    .blocks = blocks,
    .threads = threads,
    .regs = regs,
    .smem = smem,
    .least = least,
    .most = most,
    .given_begin = given_begin,
    .given = given,
    .after_begin = after_begin,
    .after = after,
    .cooperative = cooperative,
    .cluster = cluster,
    .key = {1, 2, 3, 4},
};

static int run(gs_context_t *ctx, void *given_model)
{
    gs_simulate_hierarchy_t sim;
    int status = gs_simulate_hierarchy_init(&sim, ctx, given_model);
    while (status == GS_OK && !sim.done) {
        status = gs_simulate_hierarchy_run(&sim, ctx, 100);
    }
    gs_simulate_hierarchy_free(&sim, ctx);
    return status;
}

int main(void)
{
    const int64_t above = (int64_t)INT32_MAX + 1, late = INT64_C(1) << 59;
    const refused_t wrong[] = {
        {&model.contexts, 0, "contexts", -1, GS_ERR_VALUE},
        {&model.contexts, above, "contexts", -1, GS_ERR_VALUE},
        {&model.engines, 0, "copy_engines", -1, GS_ERR_VALUE},
        {&model.engines, GS_SIMULATE_GPU_ENGINES + 1, "copy_engines", -1, GS_ERR_VALUE},
        {&engines[1], 0, "copy_engines", 1, GS_ERR_VALUE},
        {&engines[0], 4, "copy_engines", 0, GS_ERR_VALUE},
        {&model.channels, -1, "channels", -1, GS_ERR_VALUE},
        {&model.channels, above, "channels", -1, GS_ERR_VALUE},
        {&model.resident_grids, -1, "resident_grids", -1, GS_ERR_VALUE},
        {&model.resident_grids, above, "resident_grids", -1, GS_ERR_VALUE},
        {&model.context_switch, -1, "context_switch", 0, GS_ERR_VALUE},
        {&model.context_switch, late, "context_switch", 0, GS_ERR_OVERFLOW},
        {&timeslice[1], 0, "timeslice", 1, GS_ERR_VALUE},
        {&timeslice[1], late, "timeslice", 1, GS_ERR_OVERFLOW},
        {&runlist[1], -1, "runlist", 1, GS_ERR_VALUE},
        {&runlist[1], 2, "runlist", 1, GS_ERR_VALUE},
        {&runlist[1], 0, "runlist", -1, GS_ERR_VALUE}, /* context 1 never runs */
        {&model.streams, 0, "streams", -1, GS_ERR_VALUE},
        {&model.streams, above, "streams", -1, GS_ERR_VALUE},
        {&context[0], -1, "context", 0, GS_ERR_VALUE},
        {&context[1], 2, "context", 1, GS_ERR_VALUE},
        {&stream_kind[1], -1, "stream_kind", 1, GS_ERR_VALUE},
        {&stream_kind[1], 3, "stream_kind", 1, GS_ERR_VALUE},
        {&model.partitions, 0, "partitions", -1, GS_ERR_VALUE},
        {&model.partitions, above, "partitions", -1, GS_ERR_VALUE},
        {&partition[1], -1, "partition", 1, GS_ERR_VALUE},
        {&partition[1], 2, "partition", 1, GS_ERR_VALUE},
        {&partition[1], 0, "partition", 1, GS_ERR_VALUE}, /* of another context */
        {&set_begin[0], 1, "partition_sms", 0, GS_ERR_VALUE},
        {&set_begin[1], -1, "partition_sms", 1, GS_ERR_VALUE},
        {&set_begin[2], 1, "partition_sms", 2, GS_ERR_VALUE},
        {&set[1], -1, "partition_sms", 0, GS_ERR_VALUE},
        {&set[2], SMS, "partition_sms", 1, GS_ERR_VALUE},
        {&set[3], 0, "partition_sms", 1, GS_ERR_VALUE}, /* twice */
        {&limit[1], -1, "partition_limit", 1, GS_ERR_VALUE},
        {&own_queues[1], -1, "own_queues", 1, GS_ERR_VALUE},
        {&own_queues[1], 2, "own_queues", 1, GS_ERR_VALUE},
        {&model.ops, -1, "launches", -1, GS_ERR_VALUE},
        {&model.ops, above, "launches", -1, GS_ERR_VALUE},
        {&start[2], -1, "time", 2, GS_ERR_VALUE},
        {&start[2], late, "time", 2, GS_ERR_OVERFLOW},
        {&kind[1], -1, "kind", 1, GS_ERR_VALUE},
        {&kind[1], 3, "kind", 1, GS_ERR_VALUE},
        {&kind[1], GS_SIMULATE_GPU_OP_COPY_OUT, "kind", 1, GS_ERR_VALUE}, /* no engine */
        {&stream[1], -1, "stream", 1, GS_ERR_VALUE},
        {&stream[1], STREAMS, "stream", 1, GS_ERR_VALUE},
        {&least[1], 0, "duration", 1, GS_ERR_VALUE},
        {&most[1], 0, "longest", 1, GS_ERR_VALUE},
        {&most[1], 4, "longest", 1, GS_ERR_VALUE},
        {&given_begin[0], 1, "block_times", 0, GS_ERR_VALUE},
        {&given_begin[2], 1, "block_times", 2, GS_ERR_VALUE},
        {&given_begin[1], 1, "block_times", 0, GS_ERR_VALUE}, /* two blocks */
        {&kind[0], GS_SIMULATE_GPU_OP_COPY_IN, "block_times", 0, GS_ERR_VALUE},
        {&given[1], 0, "block_times", 1, GS_ERR_VALUE},
        {&given[1], late, "block_times", 1, GS_ERR_OVERFLOW},
        {&after_begin[1], 2, "after", 2, GS_ERR_VALUE},
        {&after[0], -1, "after", 0, GS_ERR_VALUE},
        {&after[0], OPS, "after", 0, GS_ERR_VALUE},
        {&cooperative[1], -1, "cooperative", 1, GS_ERR_VALUE},
        {&cooperative[1], 2, "cooperative", 1, GS_ERR_VALUE},
        {&cluster[1], 0, "cluster", 1, GS_ERR_VALUE},
        {&cluster[1], 17, "cluster", 1, GS_ERR_VALUE},
        {&cluster[2], 3, "cluster", 2, GS_ERR_VALUE}, /* no divisor of 4 */
        {&gpcs[1], 0, "sms_per_gpc", 1, GS_ERR_VALUE},
        {&gpcs[1], SMS, "sms_per_gpc", 1, GS_ERR_VALUE}, /* more SMs than there are */
        {&model.gpcs, 0, "sms_per_gpc", -1, GS_ERR_VALUE},
        {&model.gpcs, 1, "sms_per_gpc", -1, GS_ERR_VALUE}, /* an SM is missing */
        {&blocks[1], 0, "blocks", 1, GS_ERR_VALUE},
        {&threads[1], 0, "threads", 1, GS_ERR_VALUE},
    };
    refuse_each(wrong, sizeof wrong / sizeof *wrong, run, &model);
    return MU_END();
}
