/* Answer of a response-time test for host tasks. */
#ifndef GS_ANALYSIS_COMMON_HOST_ANSWER_H
#define GS_ANALYSIS_COMMON_HOST_ANSWER_H

#include "core/context.h"

/* The terms of a response time. */
enum {
    GS_ANALYSIS_COMMON_OWN = 0,     /* the task's own segments and the overhead of its requests */
    GS_ANALYSIS_COMMON_COPY = 1,    /* waiting for the copy engine */
    GS_ANALYSIS_COMMON_KERNEL = 2,  /* waiting for SMs */
    GS_ANALYSIS_COMMON_REQUEST = 3, /* waiting for the lock or the server */
    GS_ANALYSIS_COMMON_LOWER = 4,   /* GPU segments of lower-priority tasks on the core */
    GS_ANALYSIS_COMMON_SERVER = 5,  /* the server's work on the task's core */
    GS_ANALYSIS_COMMON_HIGHER = 6,  /* higher-priority tasks on the core */
    GS_ANALYSIS_COMMON_RELEASE = 7, /* release jitter: responses count from the arrival */
    GS_ANALYSIS_COMMON_TERMS = 8
};

/* Saturation value of the arithmetic: times of a set are below it, and larger numbers of an answer
 * are replaced by it, so that the terms of a task add up within 64 bits. */
#define GS_ANALYSIS_COMMON_LIMIT (GS_NEVER / 2)

/* Result for one set. The arrays belong to the caller. */
typedef struct {
    int64_t *response; /* n: W, or -1 where W would exceed the deadline or was not computed */
    int64_t
        *terms;     /* n rows of GS_ANALYSIS_COMMON_TERMS that add up to the response time. Where W
                       would exceed the deadline: the terms of f(deadline), which exceed the deadline
                       whichever way the recurrence is solved; where W was not computed: 0 */
    int64_t failed; /* the highest-priority task whose W would exceed its deadline, -1: none. The
                       test ends there */
    bool schedulable;
} gs_analysis_common_answer_t;

#endif
