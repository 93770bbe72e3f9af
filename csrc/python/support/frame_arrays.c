/* Conversion of schedules to arrays. */
#include "python/support/frame_arrays.h"

static void frame_row(const void *of, int64_t k, int64_t *row)
{
    const gs_schedule_frame_t *frame = (const gs_schedule_frame_t *)of + k;
    row[0] = frame->start;
    row[1] = frame->end;
    row[2] = frame->batch;
}

PyObject *gs_python_frames(const gs_schedule_t *schedule)
{
    return gs_python_table(frame_row, schedule->frames, 3, schedule->count);
}
