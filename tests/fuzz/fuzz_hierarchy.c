/* Launches in the hierarchy simulator: the order of events, blocks, streams, limits of SMs. */
#include "fuzz.h"
#include "gpusched.h"

enum { OPS = 8, STREAMS = 4, CONTEXTS = 2, SMS = 4, PARTITIONS = 4, BLOCKS = 12 };

typedef struct {
    gs_simulate_hierarchy_model_t model;
    int32_t order[SMS];
    int64_t engines[GS_SIMULATE_GPU_ENGINES], gpcs[SMS];
    int64_t timeslice[CONTEXTS], runlist[CONTEXTS + 2];
    int64_t context[STREAMS], priority[STREAMS], stream_kind[STREAMS], partition[STREAMS];
    int64_t set_begin[PARTITIONS + 1], set[PARTITIONS * SMS], limit[PARTITIONS], own[PARTITIONS];
    int64_t time[OPS], kind[OPS], stream[OPS], blocks[OPS], threads[OPS], regs[OPS], smem[OPS];
    int64_t carveout[OPS], cooperative[OPS], cluster[OPS], least[OPS], most[OPS];
    int64_t given_begin[OPS + 1], given[OPS * BLOCKS], interference[4 * OPS];
    int64_t after_begin[OPS + 1], after[OPS * 2], graph[OPS], programmatic[OPS], trigger[OPS];
} system_t;

static void read_device(fuzz_t *f, system_t *s)
{
    gs_gpu_t *gpu = &s->model.gpu;
    *gpu = (gs_gpu_t){.sms = (int32_t)fuzz_number(f, 1, SMS),
                      .warps_per_sm = (int32_t)fuzz_number(f, 4, 16),
                      .blocks_per_sm = (int32_t)fuzz_number(f, 1, 8),
                      .regs_per_sm = 65536,
                      .smem_per_sm = 8192,
                      .smem_per_block = 8192,
                      .smem_unit = 256,
                      .reg_unit = 256,
                      .partitions = (int32_t)fuzz_number(f, 1, 4)};
    if (fuzz_one_in(f, 4)) {
        gpu->carveout_rule = (int32_t)fuzz_number(f, 1, 2);
        gpu->carveouts = 2;
        gpu->carveout[0] = (int32_t)fuzz_number(f, 0, 8000);
        gpu->carveout[1] = 8192;
    }
    gpu->sms = gpu->sms > SMS ? SMS : gpu->sms;
    for (int32_t k = 0; k < SMS; k++) {
        s->order[k] = gpu->sms > k ? gpu->sms - 1 - k : 0;
    }
    gpu->sm_order = fuzz_one_in(f, 2) ? s->order : NULL;
    s->model.policy = (int)fuzz_number(f, 0, 2);
    s->model.engines = fuzz_number(f, 1, 2);
    s->engines[0] = s->model.engines == 1 ? 3 : 1;
    s->engines[1] = 2;
    s->model.engine_directions = s->engines;
    s->model.channels = fuzz_number(f, 0, 3);
    s->model.context_switch = fuzz_time(f, 0, 3);
    const int64_t size = fuzz_number(f, 1, SMS);
    for (int64_t left = gpu->sms; left > 0; left -= s->gpcs[s->model.gpcs++]) {
        s->gpcs[s->model.gpcs] = size < 1 || size > left ? left : size;
    }
    s->model.gpc_sms = s->gpcs;
}

/* Fields that older inputs do not have; they are read last. */
static void read_more(fuzz_t *f, system_t *s)
{
    gs_simulate_hierarchy_model_t *m = &s->model;
    m->resident_grids = fuzz_number(f, 0, 3);
    m->shared_channels = fuzz_one_in(f, 3);
    m->channels_until_end = fuzz_one_in(f, 4);
    if (fuzz_one_in(f, 2)) {
        m->engines = 1 + fuzz_below(f, 5);
        for (int64_t e = 0; e < m->engines; e++) {
            s->engines[e] = e > 0 || f->hostile ? fuzz_number(f, 1, 3) : 3;
        }
    }
    if (fuzz_one_in(f, 4)) {
        m->gpc_sms = NULL;
    } else if (fuzz_one_in(f, 3)) {
        m->gpcs = 2;
        s->gpcs[0] = fuzz_number(f, 1, SMS);
        s->gpcs[1] = f->hostile ? fuzz_number(f, 1, SMS) : m->gpu.sms - s->gpcs[0];
    }
}

static void read_streams(fuzz_t *f, system_t *s)
{
    gs_simulate_hierarchy_model_t *m = &s->model;
    m->contexts = 1 + fuzz_below(f, CONTEXTS);
    m->streams = 1 + fuzz_below(f, STREAMS);
    for (int64_t c = 0; c < m->contexts; c++) {
        s->timeslice[c] = fuzz_time(f, 1, 20);
        s->runlist[c] = c;
    }
    m->timeslice = s->timeslice;
    if (fuzz_one_in(f, 3)) {
        m->runlist_length = m->contexts + fuzz_below(f, 3);
        for (int64_t c = m->contexts; c < m->runlist_length; c++) {
            s->runlist[c] = fuzz_number(f, 0, m->contexts - 1);
        }
        m->runlist = s->runlist;
    }
    for (int64_t k = 0; k < m->streams; k++) {
        s->context[k] = fuzz_number(f, 0, m->contexts - 1);
        s->priority[k] = fuzz_number(f, -2, 1);
        s->stream_kind[k] = fuzz_number(f, 0, 8); /* mostly those that do not block */
        if (!f->hostile && s->stream_kind[k] > GS_SIMULATE_GPU_STREAM_NULL) {
            s->stream_kind[k] = GS_SIMULATE_GPU_STREAM_NON_BLOCKING;
        }
    }
    m->context = s->context;
    m->priority = s->priority;
    m->stream_kind = s->stream_kind;
}

static void read_partitions(fuzz_t *f, system_t *s)
{
    gs_simulate_hierarchy_model_t *m = &s->model;
    m->partitions = m->contexts;
    if (!fuzz_one_in(f, 3)) {
        return;
    }
    m->partitions = PARTITIONS;
    for (int64_t k = 0; k < m->streams; k++) { /* two partitions of each context */
        int64_t half = fuzz_below(f, 2);
        s->partition[k] = f->hostile ? fuzz_number(f, 0, 3) : 2 * s->context[k] + half;
    }
    int64_t count = 0;
    for (int64_t p = 0; p < PARTITIONS; p++) {
        uint64_t set = fuzz_one_in(f, 2) ? 0 : (uint64_t)fuzz_below(f, 1 << SMS);
        s->set_begin[p] = count;
        for (int64_t k = 0; k < m->gpu.sms && k < SMS; k++) {
            if ((set >> k & 1) != 0) {
                s->set[count++] = k;
            }
        }
        s->limit[p] = fuzz_one_in(f, 2) ? 0 : fuzz_number(f, 0, m->gpu.sms);
        s->own[p] = fuzz_number(f, 0, 1);
    }
    s->set_begin[PARTITIONS] = count;
    m->partition = s->partition;
    m->set_begin = fuzz_one_in(f, 2) ? s->set_begin : NULL;
    m->set = s->set;
    m->limit = fuzz_one_in(f, 2) ? s->limit : NULL;
    m->own_queues = fuzz_one_in(f, 2) ? s->own : NULL;
}

static void read_op(fuzz_t *f, system_t *s, int64_t k)
{
    s->time[k] = fuzz_time(f, 0, 30);
    int64_t kind = fuzz_number(f, 0, 9);
    s->kind[k] = kind <= 2 || f->hostile ? kind : GS_SIMULATE_GPU_OP_KERNEL;
    s->stream[k] = fuzz_number(f, 0, s->model.streams - 1);
    s->blocks[k] = fuzz_number(f, 1, BLOCKS);
    s->threads[k] = fuzz_number(f, 1, 128);
    s->regs[k] = fuzz_number(f, 0, 64);
    s->smem[k] = fuzz_number(f, 0, 4096);
    s->carveout[k] = fuzz_number(f, -1, 8192);
    s->cooperative[k] = fuzz_one_in(f, 6);
    s->cluster[k] = 1;
    if (fuzz_one_in(f, 6)) {
        s->cluster[k] = fuzz_number(f, 2, 3);
        s->blocks[k] =
            1 <= s->cluster[k] && s->cluster[k] <= 3 ? s->cluster[k] * (1 + fuzz_below(f, 4)) : 1;
    }
    s->least[k] = s->most[k] = fuzz_time(f, 1, 12);
    if (fuzz_one_in(f, 4)) {
        int64_t more = fuzz_time(f, 0, 5);
        if (!gs_add(s->least[k], more, &s->most[k])) {
            s->most[k] = more;
        }
    }
    for (int64_t j = 0; j < 4; j++) {
        s->interference[4 * k + j] = fuzz_number(f, 1000, 1500);
    }
    s->trigger[k] = fuzz_time(f, -1, 6);
    s->programmatic[k] = fuzz_number(f, 0, 1);
    s->graph[k] = -1;
    if (k > 0 && fuzz_one_in(f, 4)) { /* a node beside the last operation */
        s->graph[k] = s->graph[k - 1] = s->graph[k - 1] >= 0 ? s->graph[k - 1] : k;
        s->time[k] = s->time[k - 1];
        s->stream[k] = s->stream[k - 1];
    }
}

static void read_ops(fuzz_t *f, system_t *s)
{
    gs_simulate_hierarchy_model_t *m = &s->model;
    m->ops = 1 + fuzz_below(f, OPS);
    uint64_t columns = (uint64_t)fuzz_below(f, 256), more = (uint64_t)fuzz_below(f, 8);
    for (int64_t k = 0; k < m->ops; k++) {
        read_op(f, s, k);
        s->after_begin[k + 1] = s->after_begin[k];
        for (int64_t j = fuzz_below(f, 3); j > 0; j--) {
            s->after[s->after_begin[k + 1]++] =
                f->hostile || k == 0 ? fuzz_number(f, 0, m->ops - 1) : fuzz_below(f, k);
        }
        s->given_begin[k + 1] = s->given_begin[k];
        for (int64_t b = 0; s->kind[k] == GS_SIMULATE_GPU_OP_KERNEL && b < s->blocks[k] &&
                            b < BLOCKS && (columns & 32) != 0;
             b++) {
            s->given[s->given_begin[k + 1]++] = fuzz_time(f, 1, 9);
        }
    }
    m->time = s->time;
    m->kind = s->kind;
    m->stream = s->stream;
    m->blocks = s->blocks;
    m->threads = s->threads;
    m->regs = s->regs;
    m->smem = s->smem;
    m->least = s->least;
    m->most = s->most;
    m->carveout = (columns & 1) != 0 ? s->carveout : NULL;
    m->cooperative = (columns & 2) != 0 ? s->cooperative : NULL;
    m->cluster = (columns & 4) != 0 ? s->cluster : NULL;
    m->graph = (columns & 8) != 0 ? s->graph : NULL;
    m->programmatic = (columns & 16) != 0 ? s->programmatic : NULL;
    m->trigger = (columns & 16) != 0 ? s->trigger : NULL;
    m->given_begin = (columns & 32) != 0 ? s->given_begin : NULL;
    m->given = s->given;
    m->interference = (columns & 64) != 0 ? s->interference : NULL;
    m->after_begin = (columns & 128) != 0 || (more & 1) != 0 ? s->after_begin : NULL;
    m->after = s->after;
    m->key[0] = fuzz_byte(f);
    m->log_blocks = more != 7;
}

/* Warps and block slots of every SM hold what runs on it, one context at a time. */
static void check_sms(const gs_simulate_hierarchy_t *run)
{
    const gs_simulate_hierarchy_model_t *m = &run->model;
    int64_t count = run->block_log.count < 200 ? run->block_log.count : 200;
    for (int64_t a = 0; a < count; a++) {
        int64_t start = run->block_log.column[GS_SIMULATE_GPU_BLOCK_START][a], warps = 0,
                blocks = 0;
        int64_t context = m->context[m->stream[run->block_log.column[GS_SIMULATE_GPU_BLOCK_OP][a]]];
        for (int64_t b = 0; b < count; b++) {
            int64_t op = run->block_log.column[GS_SIMULATE_GPU_BLOCK_OP][b];
            int64_t end = run->block_log.column[GS_SIMULATE_GPU_BLOCK_END][b];
            if (run->block_log.column[GS_SIMULATE_GPU_BLOCK_SM][b] ==
                    run->block_log.column[GS_SIMULATE_GPU_BLOCK_SM][a] &&
                m->context[m->stream[op]] == context &&
                run->block_log.column[GS_SIMULATE_GPU_BLOCK_START][b] <= start &&
                (end == -1 || end > start)) {
                warps += (m->threads[op] + 31) / 32;
                blocks++;
            }
        }
        FUZZ_CHECK(warps <= m->gpu.warps_per_sm && blocks <= m->gpu.blocks_per_sm);
    }
}

/* No more kernels of a context run at once than the limit. */
static void check_grids(const gs_simulate_hierarchy_t *run)
{
    const gs_simulate_hierarchy_model_t *m = &run->model;
    for (int64_t a = 0; a < m->ops && m->resident_grids > 0; a++) {
        int64_t first = gs_simulate_hierarchy_op(run, a).first, running = 0;
        for (int64_t b = 0; b < m->ops && first != -1; b++) {
            const gs_simulate_hierarchy_op_t op = gs_simulate_hierarchy_op(run, b);
            running += m->kind[b] == GS_SIMULATE_GPU_OP_KERNEL && op.first != -1 &&
                       m->context[m->stream[a]] == m->context[m->stream[b]] && op.first <= first &&
                       (op.end == -1 || op.end > first);
        }
        FUZZ_CHECK(m->kind[a] != GS_SIMULATE_GPU_OP_KERNEL || running <= m->resident_grids);
    }
}

/* A copy is on an engine that has its direction, alone. */
static void check_copies(const gs_simulate_hierarchy_t *run)
{
    const gs_simulate_hierarchy_model_t *m = &run->model;
    for (int64_t a = 0; a < m->ops; a++) {
        const gs_simulate_hierarchy_op_t one = gs_simulate_hierarchy_op(run, a);
        bool copy = m->kind[a] != GS_SIMULATE_GPU_OP_KERNEL;
        FUZZ_CHECK((one.engine != -1) == (copy && one.first != -1));
        if (one.engine == -1) {
            continue;
        }
        FUZZ_CHECK(one.engine < m->engines);
        FUZZ_CHECK((m->engine_directions[one.engine] & m->kind[a]) != 0);
        for (int64_t b = 0; b < a; b++) {
            const gs_simulate_hierarchy_op_t other = gs_simulate_hierarchy_op(run, b);
            FUZZ_CHECK(other.engine != one.engine || (other.end != -1 && other.end <= one.first) ||
                       (one.end != -1 && one.end <= other.first));
        }
    }
}

static void check_blocks(const gs_simulate_hierarchy_t *run)
{
    const gs_simulate_hierarchy_model_t *m = &run->model;
    int64_t started[OPS] = {0};
    uint64_t seen[OPS] = {0};
    for (int64_t b = 0; b < run->block_log.count; b++) {
        int64_t op = run->block_log.column[GS_SIMULATE_GPU_BLOCK_OP][b];
        int64_t start = run->block_log.column[GS_SIMULATE_GPU_BLOCK_START][b];
        int64_t end = run->block_log.column[GS_SIMULATE_GPU_BLOCK_END][b];
        int64_t sm = run->block_log.column[GS_SIMULATE_GPU_BLOCK_SM][b];
        FUZZ_CHECK(0 <= op && op < m->ops && 0 <= sm && sm < m->gpu.sms);
        int64_t number = run->block_log.column[GS_SIMULATE_GPU_BLOCK_NUMBER][b];
        FUZZ_CHECK(0 <= number && number < m->blocks[op]);
        FUZZ_CHECK(number >= 64 || (seen[op] >> number & 1) == 0);
        seen[op] |= number < 64 ? UINT64_C(1) << number : 0;
        started[op]++;
        FUZZ_CHECK(start >= m->time[op] && (end == -1 || end > start));
        FUZZ_CHECK(start >= gs_simulate_hierarchy_op(run, op).joined &&
                   gs_simulate_hierarchy_op(run, op).first <= start);
        if (end != -1 && m->contexts == 1 && m->interference == NULL) {
            int64_t given = m->given_begin == NULL ? -1 : m->given[m->given_begin[op] + number];
            FUZZ_CHECK(given >= 0 ? end - start == given
                                  : m->least[op] <= end - start && end - start <= m->most[op]);
        }
    }
    for (int64_t k = 0; k < m->ops && m->log_blocks; k++) {
        bool kernel = m->kind[k] == GS_SIMULATE_GPU_OP_KERNEL;
        FUZZ_CHECK(!kernel || gs_simulate_hierarchy_op(run, k).end == -1 ||
                   started[k] == m->blocks[k]);
    }
    check_sms(run);
}

static void check_ops(const gs_simulate_hierarchy_t *run)
{
    const gs_simulate_hierarchy_model_t *m = &run->model;
    int64_t ended = 0;
    for (int64_t k = 0; k < m->ops; k++) {
        const gs_simulate_hierarchy_op_t op = gs_simulate_hierarchy_op(run, k);
        ended += op.end != -1;
        FUZZ_CHECK(op.head == -1 || op.head >= m->time[k]);
        FUZZ_CHECK(op.joined == -1 || (op.head != -1 && op.joined >= op.head));
        FUZZ_CHECK(op.first == -1 || (op.joined != -1 && op.first >= op.joined));
        FUZZ_CHECK(op.end == -1 || (op.first != -1 && op.end > op.first));
        FUZZ_CHECK(op.dispatched == -1 || op.dispatched >= op.first);
        FUZZ_CHECK(!run->done || op.end != -1 || op.why >= 0); /* a deadlock has reasons */
        bool node = m->graph != NULL && m->graph[k] >= 0;
        int64_t from = m->after_begin == NULL ? 0 : m->after_begin[k];
        int64_t to = m->after_begin == NULL ? 0 : m->after_begin[k + 1];
        for (int64_t j = from; j < to; j++) {
            int64_t end = gs_simulate_hierarchy_op(run, m->after[j]).end;
            bool primary = node && m->programmatic != NULL && m->programmatic[k] != 0;
            FUZZ_CHECK(primary || op.joined == -1 || (end != -1 && end <= op.joined));
        }
        for (int64_t j = 0; j < k && m->programmatic == NULL && m->graph == NULL; j++) {
            if (m->stream[j] == m->stream[k] && m->time[j] <= m->time[k]) { /* one by one */
                FUZZ_CHECK(op.head == -1 || (gs_simulate_hierarchy_op(run, j).end != -1 &&
                                             gs_simulate_hierarchy_op(run, j).end <= op.head));
            }
        }
    }
    FUZZ_CHECK(ended == run->ended);
    for (int64_t k = 0; k < run->wait_log.count; k++) {
        FUZZ_CHECK(run->wait_log.wait[k].from <= run->wait_log.wait[k].to);
    }
    for (int64_t k = 1; k < run->slice_count; k++) {
        FUZZ_CHECK(run->slice[k - 1].to <= run->slice[k].from);
    }
}

/* Runs the system in steps of some blocks; the end of its last operation. */
static int64_t simulate(fuzz_t *f, const system_t *s, int64_t steps, bool *done)
{
    gs_context_t ctx;
    fuzz_context(f, &ctx);
    gs_simulate_hierarchy_t run;
    *done = false;
    int status = gs_simulate_hierarchy_init(&run, &ctx, &s->model);
    if (!fuzz_done(&ctx, status)) {
        fuzz_end(&ctx);
        return -1;
    }
    for (int turn = 0; turn < 400 && status == GS_OK && !run.done; turn++) {
        status = gs_simulate_hierarchy_run(&run, &ctx, steps);
    }
    fuzz_done(&ctx, status);
    check_ops(&run);
    check_copies(&run);
    check_blocks(&run);
    check_grids(&run);
    int64_t last = 0;
    for (int64_t k = 0; k < s->model.ops; k++) {
        last = gs_simulate_hierarchy_op(&run, k).end > last ? gs_simulate_hierarchy_op(&run, k).end
                                                            : last;
    }
    *done = run.done;
    gs_simulate_hierarchy_free(&run, &ctx);
    fuzz_end(&ctx);
    return last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_t f = fuzz_begin(data, size);
    system_t s;
    memset(&s, 0, sizeof s);
    read_device(&f, &s);
    read_streams(&f, &s);
    read_partitions(&f, &s);
    read_ops(&f, &s);
    bool first, second;
    int64_t steps = 1 + fuzz_below(&f, 8);
    read_more(&f, &s);
    int64_t end = simulate(&f, &s, steps, &first);
    int64_t again = simulate(&f, &s, 1000, &second);
    FUZZ_CHECK(!first || !second || end == again);
    return 0;
}
