/* How does a schedule become arrays? */
#include "python/frames.h"

PyObject *gs_py_frames(const gs_schedule_t *schedule)
{
    npy_intp count = (npy_intp)schedule->count;
    PyArrayObject *column[3] = {NULL};
    if (!gs_py_new_columns(column, 3, count)) {
        return NULL;
    }
    for (npy_intp f = 0; f < count; f++) {
        gs_py_i64(column[0])[f] = schedule->frames[f].start;
        gs_py_i64(column[1])[f] = schedule->frames[f].end;
        gs_py_i64(column[2])[f] = schedule->frames[f].batch;
    }
    return Py_BuildValue("NNN", column[0], column[1], column[2]);
}
