/* Lists of the methods that are not the tests of ways (ways/), and of all limits. */
#ifndef GS_REGISTRY_H
#define GS_REGISTRY_H

#include "core/method.h"

typedef struct {
    const char *name; /* its folder and what it limits: "pbs.tasks" */
    int64_t value;
} gs_limit_t;

extern const gs_method_t *const gs_methods[]; /* ended by NULL */
extern const gs_limit_t gs_limits[];          /* ended by a name of NULL */

#endif
