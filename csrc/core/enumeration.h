/* Names of the values of an enumeration, for arguments, results and messages of other languages. */
#ifndef GS_CORE_ENUMERATION_H
#define GS_CORE_ENUMERATION_H

#include <stdint.h>

typedef struct {
    const char *name;         /* unique among all: its folder and what it says, "pbs.stage" */
    const char *const *items; /* of value i, or of bit i */
    int32_t count;
} gs_enumeration_t;

#endif
