/* Facts of each task: its sections, and lists of what other tasks may wait for. */
#include "analysis/holistic/holistic_state.h"

#include "model/occupancy.h"

#include <stdlib.h>

/* Parts of a resource by which dominant shares are counted. */
enum { SHARES = 4096 };

/* Work of one section. */
typedef struct {
    int64_t time, kernels, turns, work[GS_ANALYSIS_HOLISTIC_WEIGHTS];
    int64_t run;   /* of kernels that follow each other without a copy, alone */
    int64_t apart; /* their slices, if each has its own */
    int64_t cpu;   /* work before it, with calls */
    int64_t calls;
    int64_t operations;
    int64_t copies[GS_PROGRAMS_ENGINES], copy_time[GS_PROGRAMS_ENGINES];
    /* Before its last kernel, and since. */
    int64_t held, tail, ahead[GS_PROGRAMS_ENGINES], copied;
} section_t;

static int64_t plus(int64_t a, int64_t b)
{
    return gs_analysis_holistic_plus(a, b);
}

static int64_t times(int64_t a, int64_t b)
{
    return gs_analysis_holistic_times(a, b);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = ((const gs_analysis_holistic_item_t *)a)->value;
    int64_t y = ((const gs_analysis_holistic_item_t *)b)->value;
    return (x < y) - (x > y);
}

/* Sorts the items, the largest first, and makes one of equal ones. */
static void sort(gs_analysis_holistic_list_t *list)
{
    int64_t kinds = 0;
    if (list->kinds > 1) {
        qsort(list->item, (size_t)list->kinds, sizeof *list->item, by_value);
    }
    for (int64_t c = 0; c < list->kinds; c++) {
        if (kinds > 0 && list->item[kinds - 1].value == list->item[c].value) {
            list->item[kinds - 1].count += list->item[c].count;
        } else {
            list->item[kinds++] = list->item[c];
        }
    }
    list->kinds = kinds;
}

static void add(gs_analysis_holistic_list_t *list, int64_t value, int64_t count)
{
    if (list->kinds > 0 && list->item[list->kinds - 1].value == value) {
        list->item[list->kinds - 1].count += count;
    } else {
        list->item[list->kinds++] = (gs_analysis_holistic_item_t){value, count};
    }
    list->sum = plus(list->sum, times(value, count));
}

int64_t gs_analysis_holistic_largest(const gs_analysis_holistic_list_t *list, int64_t n,
                                     int64_t most)
{
    int64_t sum = 0;
    for (int64_t c = 0; c < list->kinds && most > 0; c++) {
        int64_t count = gs_analysis_holistic_least(times(list->item[c].count, n), most);
        sum = plus(sum, times(list->item[c].value, count));
        most -= count;
    }
    return sum;
}

int64_t gs_analysis_holistic_sms(const gs_analysis_holistic_t *self, int64_t i)
{
    const gs_analysis_holistic_options_t *options = self->options;
    return options->parts == GS_ANALYSIS_HOLISTIC_WHOLE
               ? options->sms
               : options->part_sms[self->programs->part[i]];
}

int64_t gs_analysis_holistic_threads(const gs_analysis_holistic_t *self, int64_t j)
{
    const int64_t warp = GS_GPU_WARP_THREADS, threads = self->programs->threads[j];
    return self->options->gpu == NULL ? threads : (threads + warp - 1) / warp * warp;
}

static int64_t share(int64_t part, int64_t all)
{
    return (part * SHARES + all - 1) / all;
}

/* Without a GPU, threads are the only resource. */
static void take_threads(const gs_analysis_holistic_t *self, int64_t threads, int64_t *places,
                         gs_analysis_holistic_kernel_t *kernel)
{
    int64_t all = self->options->sm_threads;
    *places = all / threads;
    kernel->need[GS_ANALYSIS_HOLISTIC_WARPS] = threads;
    kernel->shortage[GS_ANALYSIS_HOLISTIC_WARPS] = all - threads + 1;
}

static int take_resources(const gs_analysis_holistic_t *self, int64_t j, int64_t *places,
                          gs_analysis_holistic_kernel_t *kernel)
{
    const gs_programs_t *p = self->programs;
    const gs_gpu_t *gpu = self->options->gpu;
    gs_gpu_kernel_t shape = {p->blocks[j], p->threads[j], p->regs[j], p->smem[j]};
    gs_occupancy_footprint_t take;
    int limit;
    int status = gs_occupancy_footprint(self->ctx, gpu, &shape, j, &take, places, &limit);
    if (status != GS_OK || *places == 0) {
        return status;
    }
    const int64_t need[] = {take.warps, 1, take.regs, take.smem};
    const int64_t all[] = {gpu->warps_per_sm, gpu->blocks_per_sm, take.regs_usable,
                           gpu->smem_per_sm};
    int64_t most = 1;
    for (int r = 0; r < GS_ANALYSIS_HOLISTIC_RESOURCES; r++) {
        int64_t part = need[r] > 0 ? share(need[r], all[r]) : 0;
        most = part > most ? part : most;
        kernel->need[r] = need[r];
        kernel->shortage[r] = all[r] - need[r] + 1;
    }
    kernel->weight[GS_ANALYSIS_HOLISTIC_SHARE] = most;
    kernel->carveout = take.carveout;
    return GS_OK;
}

int gs_analysis_holistic_kernel(const gs_analysis_holistic_t *self, int64_t i, int64_t j,
                                gs_analysis_holistic_kernel_t *kernel)
{
    int64_t threads = gs_analysis_holistic_threads(self, j), places = 0;
    int status = GS_OK;
    *kernel = (gs_analysis_holistic_kernel_t){.task = i, .blocks = self->programs->blocks[j]};
    kernel->weight[GS_ANALYSIS_HOLISTIC_THREADS] = threads;
    if (self->options->gpu == NULL) {
        take_threads(self, threads, &places, kernel);
    } else {
        status = take_resources(self, j, &places, kernel);
    }
    if (status == GS_OK && places == 0) {
        status = gs_fail(self->ctx, GS_ERR_VALUE, "blocks", j, kernel->blocks,
                         "blocks that fit an empty SM");
    }
    int64_t most = times(places, gs_analysis_holistic_sms(self, i));
    most = gs_analysis_holistic_least(kernel->blocks, most);
    for (int v = 0; v < GS_ANALYSIS_HOLISTIC_WEIGHTS; v++) {
        kernel->width[v] = times(kernel->weight[v], most);
    }
    return status;
}

/* Whether a task calls the operations of a section at several instants. */
static bool is_loose(const gs_analysis_holistic_t *self, int64_t i)
{
    return self->options->launches[i] == GS_ANALYSIS_HOLISTIC_ASYNC &&
           self->options->launch_cpu > 0;
}

/* Ends a run of kernels: the slices that it takes. Where each kernel may have slices of its own,
 * or some of them one, they are as many as at most, and the first ones as long as they can be. */
static void end_run(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                    section_t *s)
{
    int64_t slice = self->options->timeslice, rest;
    if (!gs_analysis_holistic_has_turns(self) || s->run == 0) {
        return;
    }
    t->runs++;
    rest = s->run % slice;
    if (s->run >= slice) {
        add(&t->turn, plus(t->switch_cost, slice), s->run / slice);
    }
    if (rest > 0) {
        add(&t->turn, plus(t->switch_cost, rest), 1);
    }
    int64_t turns = s->run / slice + (rest > 0);
    if (s->apart > turns) {
        if (t->switch_cost > 0) {
            add(&t->turn, t->switch_cost, s->apart - turns);
        }
        turns = s->apart;
    }
    t->turns = plus(t->turns, turns);
    s->turns = plus(s->turns, plus(s->run, times(turns, t->switch_cost)));
    s->run = s->apart = 0;
}

static void largest(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

/* The ready intervals before a section and in it: with updates each begins behind one. */
static void add_pieces(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                       const section_t *s)
{
    const bool updates = self->options->update_cost > 0;
    int64_t before = s->cpu - s->calls;
    if (self->options->rule != GS_ANALYSIS_HOLISTIC_GCAPS) {
        add(&t->piece, s->cpu, 1);
        return;
    }
    if (before > 0 || s->calls == 0 || updates) {
        add(&t->piece, before, 1);
    }
    if (s->calls > 0) {
        add(&t->piece, s->calls, 1);
        add(&t->inner, s->calls, 1);
    }
    if (updates) {
        add(&t->piece, 0, 1);
        add(&t->inner, 0, 1);
    }
    t->calls = plus(t->calls, s->calls);
    t->turns++;
}

static void end_section(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                        int64_t i, section_t *s)
{
    const bool loose = is_loose(self, i);
    int64_t gaps = times(s->kernels, self->options->kernel_gap);
    end_run(self, t, s);
    add_pieces(self, t, s);
    t->delay = plus(t->delay, plus(self->options->latency, gaps));
    s->time = plus(s->time, gaps);
    for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
        largest(&t->copy[e].section, s->copy_time[e]);
        largest(&t->copies_ahead[e], s->ahead[e]);
    }
    if (self->options->rule == GS_ANALYSIS_HOLISTIC_ONE_STREAM) {
        add(&t->turn, s->time, 1);
        t->turns += loose ? s->operations : 1;
        largest(&t->turn.section, s->time);
    } else {
        largest(&t->turn.section, s->turns);
    }
    if (s->kernels > 0) {
        t->entries += loose ? s->kernels : 1;
        if (self->options->channel_ended) {
            s->held = plus(s->held, s->tail);
        }
        s->held = plus(s->held, gaps);
        largest(&t->most_kernels, s->kernels);
        for (int v = 0; v < self->weights; v++) {
            add(&t->load[v].section_work, s->work[v], 1);
            largest(&t->load[v].work.section, s->work[v]);
        }
        add(&t->hold, s->held, 1);
        largest(&t->hold.section, s->held);
    }
    *s = (section_t){0};
}

static void add_copy(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                     section_t *s, int64_t j)
{
    int64_t engine = self->programs->engine[j], time = self->programs->time[j];
    end_run(self, t, s);
    add(&t->copy[engine], time, 1);
    t->copies[engine]++;
    t->copy_time = plus(t->copy_time, time);
    s->copies[engine]++;
    s->copy_time[engine] = plus(s->copy_time[engine], time);
    s->copied = plus(s->copied, time);
}

/* Work, last block and room of a kernel. */
static int add_kernel(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                      section_t *s, int64_t i, int64_t j)
{
    const gs_programs_t *p = self->programs;
    int64_t slice = self->options->timeslice;
    t->kernels++;
    t->alone = plus(t->alone, p->time[j]);
    s->kernels++;
    s->run = plus(s->run, p->time[j]);
    if (gs_analysis_holistic_has_turns(self)) {
        if (is_loose(self, i)) {
            s->apart += p->time[j] / slice + (p->time[j] % slice > 0);
        }
        if (self->options->kernel_gap > 0) {
            end_run(self, t, s);
        }
    }
    if (self->options->rule != GS_ANALYSIS_HOLISTIC_STREAMS) {
        return GS_OK;
    }
    gs_analysis_holistic_kernel_t kernel;
    int status = gs_analysis_holistic_kernel(self, i, j, &kernel);
    if (status != GS_OK) {
        return status;
    }
    int64_t tail = p->block_time[j];
    t->tails = plus(t->tails, tail);
    for (int v = 0; v < self->weights; v++) {
        gs_analysis_holistic_load_t *load = &t->load[v];
        int64_t block = times(kernel.weight[v], tail), work = times(block, kernel.blocks);
        add(&load->work, work, 1);
        load->rest = plus(load->rest, times(block, kernel.blocks - 1));
        largest(&load->width, kernel.width[v]);
        s->work[v] = plus(s->work[v], work);
    }
    s->held = plus(plus(s->held, s->copied), s->tail);
    s->tail = tail;
    s->copied = 0;
    for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
        s->ahead[e] = s->copies[e];
    }
    return GS_OK;
}

int64_t gs_analysis_holistic_call(const gs_analysis_holistic_t *self, int64_t i)
{
    return self->options->launches[i] == GS_ANALYSIS_HOLISTIC_GRAPH
               ? self->options->graph_launch_cpu
               : self->options->launch_cpu;
}

/* Adds the CPU work of the call of an operation, the first one of its section or not. */
static void add_call(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t,
                     section_t *s, int64_t i, bool first)
{
    s->operations++;
    if (first || self->options->launches[i] != GS_ANALYSIS_HOLISTIC_GRAPH) {
        int64_t call = gs_analysis_holistic_call(self, i);
        s->cpu = plus(s->cpu, call);
        s->calls = plus(s->calls, call);
        t->cpu = plus(t->cpu, call);
    }
}

static int facts_of(const gs_analysis_holistic_t *self, gs_analysis_holistic_task_t *t, int64_t i)
{
    const gs_programs_t *p = self->programs;
    const bool sync = self->options->launches[i] == GS_ANALYSIS_HOLISTIC_SYNC;
    section_t section = {0};
    bool open = false;
    int64_t cpu = 0, section_count = 0, wakes = 0; /* of sections behind which the thread goes on */
    int status = GS_OK;
    for (int64_t j = p->begin[i]; j < p->begin[i + 1] && status == GS_OK; j++) {
        if (p->kind[j] == GS_PROGRAMS_CPU) {
            if (open) {
                end_section(self, t, i, &section);
                open = false;
            }
            cpu = plus(cpu, p->time[j]);
            t->cpu = plus(t->cpu, p->time[j]);
            continue;
        }
        if (open && (sync || p->waits[j - 1] != 0)) {
            end_section(self, t, i, &section);
            open = false;
        }
        if (!open) {
            wakes += section_count > 0;
            section_count++;
            section.cpu = cpu;
            cpu = 0;
        }
        add_call(self, t, &section, i, !open);
        open = true;
        section.time = plus(section.time, p->time[j]);
        if (p->kind[j] == GS_PROGRAMS_COPY) {
            add_copy(self, t, &section, j);
        } else {
            status = add_kernel(self, t, &section, i, j);
        }
    }
    if (open) {
        end_section(self, t, i, &section);
    }
    if (cpu > 0) {
        add(&t->piece, cpu, 1);
        wakes += section_count > 0;
    }
    if (self->options->rule == GS_ANALYSIS_HOLISTIC_GCAPS && self->options->update_cost > 0) {
        wakes = section_count; /* a thread updates behind each */
    }
    for (int64_t c = 0; c < t->piece.kinds; c++) {
        t->pieces += t->piece.item[c].count;
    }
    t->on_core = t->cpu;
    t->runs = is_loose(self, i) ? t->kernels : t->runs;
    if (!self->options->busy) {
        t->delay = plus(t->delay, times(wakes, self->options->wake_latency));
    }
    for (int v = 0; v < self->weights; v++) {
        gs_analysis_holistic_load_t *load = &t->load[v];
        load->carry = load->width > 0 ? load->work.sum / load->width : 0;
    }
    return status;
}

static bool has_kernels(const gs_programs_t *p, int64_t i)
{
    int64_t j = p->begin[i];
    while (j < p->begin[i + 1] && p->kind[j] != GS_PROGRAMS_KERNEL) {
        j++;
    }
    return j < p->begin[i + 1];
}

/* A context for each task or process; without a second one there is no switch. */
static int64_t switch_cost(const gs_analysis_holistic_t *self, int64_t i)
{
    const gs_programs_t *p = self->programs;
    const bool processes = self->options->parts == GS_ANALYSIS_HOLISTIC_IN_TURNS;
    bool others = false;
    for (int64_t k = 0; k < p->n && !others; k++) {
        bool same = processes ? p->part[k] == p->part[i] : k == i;
        others = !same && !gs_analysis_holistic_is_elsewhere(self, i, k) && has_kernels(p, k);
    }
    const bool contexts =
        gs_analysis_holistic_has_turns(self) || self->options->rule == GS_ANALYSIS_HOLISTIC_GCAPS;
    return contexts && others ? self->options->context_switch : 0;
}

int gs_analysis_holistic_facts(gs_analysis_holistic_t *self)
{
    const gs_programs_t *p = self->programs;
    gs_analysis_holistic_item_t *item = self->item;
    int status = GS_OK;
    for (int64_t i = 0; i < p->n; i++) {
        self->graph = self->graph || self->options->launches[i] != GS_ANALYSIS_HOLISTIC_SYNC;
    }
    for (int64_t i = 0; i < p->n && status == GS_OK; i++) {
        gs_analysis_holistic_task_t *t = &self->task[i];
        enum { OTHERS = 8, LISTS = OTHERS + GS_PROGRAMS_ENGINES };
        gs_analysis_holistic_list_t *lists[LISTS] = {&t->piece,
                                                     &t->turn,
                                                     &t->inner,
                                                     &t->hold,
                                                     &t->load[0].work,
                                                     &t->load[1].work,
                                                     &t->load[0].section_work,
                                                     &t->load[1].section_work};
        for (int e = 0; e < GS_PROGRAMS_ENGINES; e++) {
            lists[OTHERS + e] = &t->copy[e];
        }
        int64_t segments = p->begin[i + 1] - p->begin[i];
        const size_t count = LISTS;
        for (size_t l = 0; l < count; l++) {
            lists[l]->item = item;
            const int64_t room[] = {3 * segments + 1, 2 * segments, 2 * segments};
            item += l < 3 ? room[l] : segments;
        }
        t->switch_cost = switch_cost(self, i);
        if (has_kernels(self->programs, i)) {
            self->switch_cost = t->switch_cost; /* the same of all, but between instances */
        }
        status = facts_of(self, t, i);
        for (size_t l = 0; l < count; l++) {
            sort(lists[l]);
        }
        if (status == GS_OK) {
            status = gs_poll(self->ctx, 18 * segments);
        }
    }
    return status;
}
