/* Schedules as arrays. */
#ifndef GS_PYTHON_FRAMES_H
#define GS_PYTHON_FRAMES_H

#include "python/module.h"

/* A tuple of three int64 arrays start, end, batch, or NULL with an exception. */
PyObject *gs_py_frames(const gs_schedule_t *schedule);

#endif
