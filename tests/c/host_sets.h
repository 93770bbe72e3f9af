/* Small sets of host tasks for the C tests, including those of notebook 06. */
#ifndef HOST_SETS_H
#define HOST_SETS_H

#include <stdio.h>
#include <string.h>

#include "analysis/common/host_test.h"

enum { MOST_TASKS = 8, MOST_SEGMENTS = 2, MOST_SMS = 4 };

/* cpu[0], gpu[0], cpu[1], ... of one task; a GPU segment is copy in, kernel, copy out. */
typedef struct {
    int64_t period, deadline; /* 0: the period */
    int64_t segments;
    int64_t cpu[MOST_SEGMENTS + 1];
    int64_t gpu[MOST_SEGMENTS][3];
    int64_t core;
    uint8_t sm[MOST_SMS];
} row_t;

/* A set of rows by descending priority. */
typedef struct {
    int64_t n;
    int64_t period[MOST_TASKS], deadline[MOST_TASKS], priority[MOST_TASKS], segments[MOST_TASKS];
    int64_t cpu[MOST_TASKS * (MOST_SEGMENTS + 1)];
    int64_t copy_in[MOST_TASKS * MOST_SEGMENTS], copy_out[MOST_TASKS * MOST_SEGMENTS];
    int64_t kernel[MOST_TASKS * MOST_SEGMENTS * MOST_SMS];
    int64_t core[MOST_TASKS];
    uint8_t sm[MOST_TASKS * MOST_SMS];
    int64_t response[MOST_TASKS], terms[MOST_TASKS * GS_ANALYSIS_COMMON_TERMS];
} host_set_t;

static inline gs_host_tasks_t hosts_of(const host_set_t *s)
{
    return (gs_host_tasks_t){s->n,        MOST_SEGMENTS, MOST_SMS,    s->period,
                             s->deadline, s->priority,   s->segments, s->cpu,
                             s->copy_in,  s->kernel,     s->copy_out, NULL};
}

static inline gs_analysis_common_answer_t answer_of(host_set_t *s)
{
    return (gs_analysis_common_answer_t){.response = s->response, .terms = s->terms};
}

static inline void set_make(host_set_t *s, int64_t n, const row_t *rows)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    for (int64_t i = 0; i < n; i++) {
        const row_t *row = &rows[i];
        s->period[i] = row->period;
        s->deadline[i] = row->deadline == 0 ? row->period : row->deadline;
        s->priority[i] = i;
        s->segments[i] = row->segments;
        s->core[i] = row->core;
        memcpy(s->cpu + i * (MOST_SEGMENTS + 1), row->cpu, sizeof row->cpu);
        memcpy(s->sm + i * MOST_SMS, row->sm, sizeof row->sm);
        for (int64_t j = 0; j < row->segments; j++) {
            s->copy_in[i * MOST_SEGMENTS + j] = row->gpu[j][0];
            s->copy_out[i * MOST_SEGMENTS + j] = row->gpu[j][2];
            for (int64_t k = 0; k < MOST_SMS; k++) {
                s->kernel[(i * MOST_SEGMENTS + j) * MOST_SMS + k] = row->gpu[j][1];
            }
        }
    }
}

/* Test vector A, also used for B. */
static const row_t VECTOR_A[4] = {
    {60, 0, 1, {3, 2}, {{1, 6, 1}}, 0, {1}},
    {80, 0, 1, {5, 1}, {{2, 8, 1}}, 1, {1, 1}},
    {120, 0, 0, {10}, {{0}}, 0, {0}},
    {160, 0, 2, {6, 2, 1}, {{2, 10, 2}, {1, 4, 1}}, 1, {0, 1}},
};

/* The terms of every task with a response time add up to it, and exceed the deadline where there is
 * none and the task was computed. */
static inline bool terms_add_up(const host_set_t *s)
{
    for (int64_t i = 0; i < s->n; i++) {
        int64_t sum = 0;
        for (int term = 0; term < GS_ANALYSIS_COMMON_TERMS; term++) {
            sum += s->terms[i * GS_ANALYSIS_COMMON_TERMS + term];
        }
        bool reached = s->terms[i * GS_ANALYSIS_COMMON_TERMS + GS_ANALYSIS_COMMON_OWN] > 0;
        if (s->response[i] >= 0 ? sum != s->response[i] : reached && sum <= s->deadline[i]) {
            return false;
        }
    }
    return true;
}

/* Whether an answer has these response times, 0 where there is none, and sums that fit them. */
static inline bool answers(const host_set_t *s, const gs_analysis_common_answer_t *answer,
                           const int64_t *expected)
{
    int64_t failed = -1;
    for (int64_t i = s->n - 1; i >= 0; i--) {
        failed = expected[i] == 0 ? i : failed;
        if (s->response[i] != (expected[i] == 0 ? -1 : expected[i])) {
            fprintf(stderr, "task %d: %lld\n", (int)i, (long long)s->response[i]);
            return false;
        }
    }
    return answer->failed == failed && answer->schedulable == (failed < 0) && terms_add_up(s);
}

/* Sets that every test rejects: the change, and the field and row of the error. */
typedef struct {
    int code;
    const char *field;
    int64_t row;
} refusal_t;

enum { REFUSALS = 7 };

static inline refusal_t set_spoil(host_set_t *s, int which)
{
    static const refusal_t refusals[REFUSALS] = {
        {GS_ERR_VALUE, "deadline", 2},  {GS_ERR_VALUE, "priority", 3}, {GS_ERR_VALUE, "period", 1},
        {GS_ERR_OVERFLOW, "period", 1}, {GS_ERR_VALUE, "kernel", 0},   {GS_ERR_OVERFLOW, "cpu", 2},
        {GS_ERR_VALUE, "segments", 3},
    };
    int64_t *change[REFUSALS] = {&s->deadline[2], &s->priority[3], &s->period[1],  &s->period[1],
                                 &s->kernel[1],   &s->cpu[6],      &s->segments[3]};
    const int64_t value[REFUSALS] = {121, 2, 0, GS_NEVER / 2, 7, GS_NEVER / 2, 3};
    *change[which] = value[which];
    return refusals[which];
}

/* Whether the error names the field and row. */
static inline bool names(const gs_context_t *ctx, int status, refusal_t refusal)
{
    return status == refusal.code && strcmp(ctx->fault.field, refusal.field) == 0 &&
           ctx->fault.row == refusal.row;
}

/* Vector A with times near the overflow limits: every sum saturates, none overflows. */
static inline void set_stretch(host_set_t *s)
{
    const int64_t longest = GS_NEVER / 2 - 1;
    for (int64_t i = 0; i < s->n; i++) {
        s->period[i] = s->deadline[i] = longest;
        for (int64_t j = 0; j < s->segments[i]; j++) {
            s->copy_in[i * MOST_SEGMENTS + j] = longest / 16;
            for (int64_t k = 0; k < MOST_SMS; k++) {
                s->kernel[(i * MOST_SEGMENTS + j) * MOST_SMS + k] = longest / 16;
            }
        }
    }
    s->period[0] = s->deadline[0] = longest / 4;
}

#endif
