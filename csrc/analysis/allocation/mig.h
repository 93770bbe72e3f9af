/* Allocation of GPU instances (Multi-Instance GPU): the descriptor.
 *
 * The instances of a GPU do not delay each other, so that the test of a way of sharing one GPU
 * holds for each. Which tasks go to which instance is searched in Python
 * (gpusched/comparison/instances), as the derivation of a set's model from the workload is; the
 * tests of the sets are the core's.
 */
#ifndef GS_ANALYSIS_ALLOCATION_MIG_H
#define GS_ANALYSIS_ALLOCATION_MIG_H

#include "core/method.h"

extern const gs_method_t gs_analysis_allocation_mig_method;

#endif
