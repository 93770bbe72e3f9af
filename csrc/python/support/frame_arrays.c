/* Conversion of schedules to arrays. */
#include "python/support/frame_arrays.h"

PyObject *gs_python_frames(const gs_schedule_t *schedule)
{
    npy_intp count = (npy_intp)schedule->count;
    PyArrayObject *column[3] = {NULL};
    if (!gs_python_new_columns(column, 3, count)) {
        return NULL;
    }
    for (npy_intp f = 0; f < count; f++) {
        gs_python_i64(column[0])[f] = schedule->frames[f].start;
        gs_python_i64(column[1])[f] = schedule->frames[f].end;
        gs_python_i64(column[2])[f] = schedule->frames[f].batch;
    }
    return Py_BuildValue("NNN", column[0], column[1], column[2]);
}
