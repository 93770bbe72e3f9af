/* Headers of the core for the Python module, the registry and the tests: the public ones
 * (gpusched.h), descriptors, containers, and parts of methods.
 */
#ifndef GPUSCHED_INTERNAL_H
#define GPUSCHED_INTERNAL_H

#include "gpusched.h"

#include "analysis/contexts/context_test.h"
#include "analysis/contexts/gcaps.h"
#include "analysis/contexts/time_slices.h"
#include "analysis/global_edf/elliott_study.h"
#include "analysis/partitioned/fmlp_plus.h"
#include "analysis/partitioned/gpu_server.h"
#include "analysis/partitioned/lock_test.h"
#include "analysis/partitioned/mpcp.h"
#include "analysis/partitioned/stgm.h"
#include "core/heap.h"
#include "core/histogram.h"
#include "core/index_set.h"
#include "core/int128.h"
#include "core/method.h"
#include "core/radix_sort.h"
#include "core/rational.h"
#include "core/rng.h"
#include "core/vector.h"
#include "cuda/image.h"
#include "generate/elliott_sets.h"
#include "generate/elliott_stack.h"
#include "generate/segment_parts.h"
#include "io/event_scan.h"
#include "io/free_lanes.h"
#include "io/json_numbers.h"
#include "io/json_tokens.h"
#include "io/row_text.h"
#include "io/text_codes.h"
#include "pbs/large/large_parts.h"
#include "pbs/latest_start.h"
#include "pbs/oracle/resource_demand.h"
#include "pbs/partitioned/gpu_tree.h"
#include "pbs/prices.h"
#include "pbs/proof/proof_parts.h"
#include "pbs/reductions.h"
#include "pbs/transitions.h"
#include "rt/rt.h"
#include "simulate/gpu/gpu_device.h"
#include "simulate/sm_usage.h"

#endif
