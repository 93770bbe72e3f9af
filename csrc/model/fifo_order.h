/* The four interpretations of "blocks start in FIFO order".
 *
 * In all of them only the kernel at the head of the queue starts blocks, a block starts as soon as
 * its threads are free, and blocks run to completion. In all but the last the jobs of a stream run
 * one after the other, and a job starts only at the head of its stream.
 */
#ifndef GS_MODEL_FIFO_ORDER_H
#define GS_MODEL_FIFO_ORDER_H

enum {
    GS_FIFO_ORDER_HARDWARE =
        0, /* a job enters the queue when it reaches the head of its stream (R1, R2) */
    GS_FIFO_ORDER_RELEASE = 1, /* jobs at the heads of their streams, by release */
    GS_FIFO_ORDER_STRICT = 2,  /* all jobs by release; one that is not at the head of its stream
                                  blocks all behind it (P1, literally) */
    GS_FIFO_ORDER_OVERLAP = 3  /* all jobs by release, each in its own stream */
};

#endif
