/* Names of all enumerations of the library, for the languages that it is used from.
 *
 * An enumeration is defined in the header of what uses it. Its names stand here, by value.
 */
#ifndef GS_ENUMERATIONS_H
#define GS_ENUMERATIONS_H

#include <stdint.h>

typedef struct {
    const char *name;         /* unique among all: its folder and what it says, "pbs.stage" */
    const char *const *items; /* of value i, or of bit i */
    int32_t count;
} gs_enumeration_t;

/* All enumerations, constant. */
const gs_enumeration_t *gs_enumerations(int32_t *count);

#endif
