/* Word that threads, also of several processes, wait on until it changes. */
#ifndef GS_RT_WAIT_WORD_H
#define GS_RT_WAIT_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint32_t gs_rt_wait_word_t;

/* Sleeps while the word has a value, until an instant; returns early now and then. `shared`: the
 * word is in memory that other processes share. */
void gs_rt_wait_word_sleep(gs_rt_wait_word_t *word, uint32_t value, int64_t until, bool shared);

/* Changes the word and wakes those who wait: one of them, or all. */
void gs_rt_wait_word_change(gs_rt_wait_word_t *word, bool all, bool shared);

/* Lets a spinning thread rest. */
void gs_rt_wait_word_pause(void);

#endif
