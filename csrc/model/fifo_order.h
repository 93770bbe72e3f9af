/* The four readings of "blocks start in FIFO order".
 *
 * In all of them only the kernel at the head of the queue may start blocks, a block starts as soon
 * as its threads are free, and blocks run to their end. In all but the last the jobs of a stream
 * run one after the other, and a job can start only at its stream's head.
 */
#ifndef GS_MODEL_FIFO_ORDER_H
#define GS_MODEL_FIFO_ORDER_H

enum {
    GS_FIFO_ORDER_HARDWARE =
        0, /* a job joins the queue when it gets to its stream's head (R1, R2) */
    GS_FIFO_ORDER_RELEASE = 1, /* the jobs at their streams' heads, the earliest release first */
    GS_FIFO_ORDER_STRICT = 2,  /* all jobs by release; one that is not at its stream's head holds up
                            everything behind it (P1 to the letter) */
    GS_FIFO_ORDER_OVERLAP = 3  /* all jobs by release, each in a stream of its own */
};

#endif
