/* Names of all enumerations of the library, for the languages that it is used from.
 *
 * An enumeration is defined in the header of what uses it. Its names stand here, by value.
 */
#ifndef GS_ENUMERATIONS_H
#define GS_ENUMERATIONS_H

#include "core/enumeration.h"

/* All enumerations, constant. */
const gs_enumeration_t *gs_enumerations(int32_t *count);

#endif
