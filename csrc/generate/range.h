/* Ranges from which generators draw. */
#ifndef GS_GENERATE_RANGE_H
#define GS_GENERATE_RANGE_H

#include <stdint.h>

/* Shares and ratios are in millionths. */
#define GS_GENERATE_PARTS 1000000

/* Both ends included. */
typedef struct {
    int64_t least;
    int64_t most;
} gs_generate_range_t;

#endif
