/* Partitions of the SMs for kernel chains: what each kind means is in chain_partitions.h. */
#ifndef GS_ANALYSIS_PRIORITY_STREAMS_STREAM_PARTITIONS_H
#define GS_ANALYSIS_PRIORITY_STREAMS_STREAM_PARTITIONS_H

#include <stdint.h>

enum {
    GS_ANALYSIS_PRIORITY_STREAMS_OWN = 0,
    GS_ANALYSIS_PRIORITY_STREAMS_SHARED = 1,
    GS_ANALYSIS_PRIORITY_STREAMS_LIMITS = 2
};

typedef struct {
    int64_t kind;
    int64_t count;
    const int64_t *of;  /* per task: its partition */
    const int64_t *sms; /* per partition: its SMs, or the most SMs that hold its blocks at once */
} gs_analysis_priority_streams_partitions_t;

#endif
