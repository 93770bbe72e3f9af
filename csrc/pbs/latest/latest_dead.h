/* Latest start of a class from which no continuation meets every deadline. */
#ifndef GS_PBS_LATEST_LATEST_DEAD_H
#define GS_PBS_LATEST_LATEST_DEAD_H

#define GS_PBS_LATEST_DEAD (-1)

#endif
