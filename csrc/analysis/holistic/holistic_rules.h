/* Rules of the GPU that a holistic test knows, its options, and the terms of its bounds. */
#ifndef GS_ANALYSIS_HOLISTIC_HOLISTIC_RULES_H
#define GS_ANALYSIS_HOLISTIC_HOLISTIC_RULES_H

#include "model/gpu.h"
#include "model/programs.h"

enum {
    GS_ANALYSIS_HOLISTIC_ONE_STREAM = 0,  /* all sections in one stream */
    GS_ANALYSIS_HOLISTIC_STREAMS = 1,     /* a stream for each task, with levels and channels */
    GS_ANALYSIS_HOLISTIC_TIME_SLICES = 2, /* a context for each task, in turns */
    GS_ANALYSIS_HOLISTIC_EDF = 3,         /* one unit at a time, the earliest deadline first */
    GS_ANALYSIS_HOLISTIC_GCAPS = 4,       /* the most urgent context with an open section first */
    GS_ANALYSIS_HOLISTIC_RULES = 5
};

/* Parts of the GPU, with streams. */
enum {
    GS_ANALYSIS_HOLISTIC_WHOLE = 0,      /* none */
    GS_ANALYSIS_HOLISTIC_OWN_QUEUES = 1, /* SMs, queues and channels of their own */
    GS_ANALYSIS_HOLISTIC_ALL_QUEUES = 2, /* SMs of their own, queues and channels in common */
    GS_ANALYSIS_HOLISTIC_OWN_BLOCKS = 3, /* SMs and queues of their own, channels in common */
    GS_ANALYSIS_HOLISTIC_LIMITS = 4,     /* blocks of a part on so many SMs at once at most */
    GS_ANALYSIS_HOLISTIC_IN_TURNS = 5,   /* a part is a process, which has all SMs for a slice */
    GS_ANALYSIS_HOLISTIC_PARTS = 6
};

/* Form in which a task launches the operations of a job between which it has no CPU work. */
enum {
    GS_ANALYSIS_HOLISTIC_GRAPH = 0, /* in one call */
    GS_ANALYSIS_HOLISTIC_SYNC = 1,  /* one call each, when the one before has ended */
    GS_ANALYSIS_HOLISTIC_ASYNC = 2, /* one call each, without waiting */
    GS_ANALYSIS_HOLISTIC_LAUNCHES = 3
};

/* The terms of a bound, in ticks: they add up to the window of the job with the largest response,
 * counted from the start of its run. With one unit at a time they add up to the deadline: the unit
 * is own, the work before it counts for the CPU. */
enum {
    GS_ANALYSIS_HOLISTIC_OWN = 0,     /* own work and operations, latencies, own switches */
    GS_ANALYSIS_HOLISTIC_CPU = 1,     /* other tasks on the core */
    GS_ANALYSIS_HOLISTIC_COPY = 2,    /* copies of other tasks on the engines */
    GS_ANALYSIS_HOLISTIC_GPU = 3,     /* kernels, sections or slices of other tasks */
    GS_ANALYSIS_HOLISTIC_CHANNEL = 4, /* channels that wait for copies and last blocks in them */
    GS_ANALYSIS_HOLISTIC_BEHIND = 5,  /* work behind the unit of a job, with its waits */
    GS_ANALYSIS_HOLISTIC_TERMS = 6
};

/* Tasks that are released by others: job j of task i when job j of all of before[before_begin[i] ..
 * before_begin[i + 1] - 1] has ended, or with `every` = k times their period job k j. A task with
 * none of them is timed. best: least time of a job of each task. */
typedef struct {
    const int64_t *before_begin; /* n + 1 offsets */
    const int64_t *before;
    const int64_t *best;
    bool windows; /* paths of a group may be looked at as one window (path_windows.c) */
} gs_analysis_holistic_links_t;

typedef struct {
    int64_t rule;
    const int64_t *launches; /* n: GS_ANALYSIS_HOLISTIC_GRAPH, ... */
    bool busy;
    int64_t latency;
    int64_t launch_cpu; /* CPU work of a call, and of that of a graph */
    int64_t graph_launch_cpu;
    int64_t kernel_gap;     /* of a kernel: from the head of its stream to its queue */
    int64_t wake_latency;   /* from the end of a section to its thread, if that is off its core */
    int64_t timeslice;      /* time slices, and streams of processes in turns: at least 1 */
    int64_t context_switch; /* these, and GCAPS */
    int64_t update_cost;    /* GCAPS: of an update, which opens or closes a section */
    bool stall;             /* GCAPS: every update stops the GPU */
    /* Streams. gpu: resources of an SM, and how many there are; NULL: sms SMs with sm_threads
     * threads each, the only resource. */
    const gs_gpu_t *gpu;
    int64_t sms, sm_threads;
    int64_t parts; /* GS_ANALYSIS_HOLISTIC_WHOLE, ... */
    int64_t part_count;
    const int64_t *part_sms;
    /* Parts are GPU instances (MIG), each with copy engines of its own, and with one stream, a ring
     * of slices, or with queues and channels, of its own. DLAs are in none, and not used in one
     * stream. Not with links, nor for one unit at a time. */
    bool instances;
    /* NULL, or n: responses of tasks that are not looked for, and that others are to rely on; -1:
     * look for it. Not with links, nor for one unit at a time. */
    const int64_t *assumed;
    bool channel_ended; /* a channel lets a kernel join its queue when those before it have ended,
                           not when all their blocks have started */
    /* Waits for SMs are rounded down: sound only where all times are whole ticks at run time, too;
     * else up. */
    bool whole_ticks;
    const gs_analysis_holistic_links_t *links; /* NULL: all tasks are timed */
} gs_analysis_holistic_options_t;

/* One set; the arrays belong to the caller. */
typedef struct {
    int64_t *response; /* n: from the arrival, of a task that others release from the release; -1
                          without a bound */
    int64_t *jobs;     /* n: of the run, up to the one with the largest response; 0 without */
    int64_t *terms;    /* n rows of GS_ANALYSIS_HOLISTIC_TERMS; 0 without a bound */
    /* With links, n each, from the arrival of the source: earliest and latest release, latest end;
     * -1 without a bound. `window`: whether the bound is one of path_windows.c. */
    int64_t *least, *latest, *end, *window;
} gs_analysis_holistic_answer_t;

#endif
