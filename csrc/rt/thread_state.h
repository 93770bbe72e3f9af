/* State of a thread that uses the runtime: the text of its last error, and its ring in a log. */
#ifndef GS_RT_THREAD_STATE_H
#define GS_RT_THREAD_STATE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char text[240];
    const void *log; /* the log, and when it was opened, that `ring` belongs to */
    int64_t opened;
    int32_t process;
    int32_t ring;       /* -1: none was left */
    const void *serves; /* the server whose segments this thread runs */
} gs_rt_thread_state_t;

gs_rt_thread_state_t *gs_rt_thread_state(void);

/* Each records "what: got ..., expected ..." and returns the code. */
int gs_rt_fail(int code, const char *what, const char *got, const char *expected);
int gs_rt_fail_number(int code, const char *what, int64_t got, const char *expected);
/* GS_RT_ERR_SYSTEM, with the system's text of an error number. */
int gs_rt_fail_system(const char *what, int error);

/* Zeroed memory, or NULL with the error recorded. */
void *gs_rt_allocate(size_t count, size_t size, const char *what);
void gs_rt_free(void *block);

/* Writes a number behind a text; returns the end of it. */
char *gs_rt_number_text(char *to, int64_t number);

#endif
