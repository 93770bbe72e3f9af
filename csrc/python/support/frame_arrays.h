/* Schedules as arrays. */
#ifndef GS_PYTHON_SUPPORT_FRAME_ARRAYS_H
#define GS_PYTHON_SUPPORT_FRAME_ARRAYS_H

#include "python/module.h"

/* A tuple of three int64 arrays start, end, batch, or NULL with an exception. */
PyObject *gs_python_frames(const gs_schedule_t *schedule);

#endif
