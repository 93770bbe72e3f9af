/* The public C interface: models, generators, tests, searches and simulators.
 *
 * Each header here has the functions of one method, and the types that these take and return. What
 * a source has for others of the core alone is in a second header, X_internal.h, or in that of a
 * part, which no header here includes. internal.h has what the Python module and the tests need
 * besides: parts of methods, containers, readers of text, the driver and the player, the runtime
 * library. README.md says what stands in which folder; includes run downwards only.
 *
 * A symbol's prefix is its folder: gs_<folder>_<object>_<verb>. core/ and model/ are shared by all
 * and leave the folder out: gs_<file>_<verb>. Arguments come in the order (self, context, inputs,
 * options, outputs); core/context.h states the conventions for errors and memory.
 *
 * Papers:
 *   [ECRTS17]  Yang, Anderson: Response-Time Bounds for Concurrent GPU Scheduling
 *   [ECRTS24]  Wang, Liu, Wong, Kim: GCAPS: GPU Context-Aware Preemptive Priority-based Scheduling
 *   [RTNS24]   Feddal, Zahaf, Lipari: Towards Efficient Parallel GPU Scheduling (GPUSched, PBS)
 *   [RTCSA19]  Saha, Xiang, Kim: STGM: Spatio-Temporal GPU Management for Real-Time Tasks
 *   [RTAS20]   Olmedo et al.: Dissecting the CUDA Scheduling Hierarchy
 *   [RTNS10]   Elliott, Anderson: Globally Scheduled Real-Time Multiprocessor Systems with GPUs
 *   [RTSS17]   Amert et al.: GPU Scheduling on the NVIDIA TX2: Hidden Details Revealed
 *   [RTAS24]   Bakita, Anderson: Demystifying NVIDIA GPU Internals to Enable Reliable GPU
 *              Management
 */
#ifndef GPUSCHED_H
#define GPUSCHED_H

#include "analysis/allocation/partition.h"
#include "analysis/allocation/stgm_allocate.h"
#include "analysis/allocation/stgm_exhaustive.h"
#include "analysis/breakdown.h"
#include "analysis/demand.h"
#include "analysis/fifo/fifo_bound.h"
#include "analysis/fifo/saturation.h"
#include "analysis/global_edf/container.h"
#include "analysis/global_edf/srm.h"
#include "analysis/global_edf/tardiness.h"
#include "analysis/holistic/holistic.h"
#include "analysis/placed_test.h"
#include "analysis/priorities/assign_priorities.h"
#include "analysis/priority_streams/priority_streams.h"
#include "core/context.h"
#include "generate/fifo_sets.h"
#include "generate/gcaps_sets.h"
#include "generate/host_sets.h"
#include "generate/kernel_sets.h"
#include "generate/uunifast.h"
#include "io/rules/rules.h"
#include "model/batch_table.h"
#include "model/block_placement.h"
#include "model/gpu.h"
#include "model/host_tasks.h"
#include "model/kernel_tasks.h"
#include "model/occupancy.h"
#include "model/periodic_tasks.h"
#include "model/programs.h"
#include "model/schedule.h"
#include "pbs/edf.h"
#include "pbs/graph/graph.h"
#include "pbs/infinite_horizon.h"
#include "pbs/large/large.h"
#include "pbs/oracle/oracle.h"
#include "pbs/partitioned/partitioned.h"
#include "pbs/policy.h"
#include "pbs/proof/proof.h"
#include "pbs/search.h"
#include "simulate/challenge/challenge.h"
#include "simulate/fifo/fifo.h"
#include "simulate/hierarchy/hierarchy.h"
#include "simulate/host/host.h"
#include "simulate/machine/machine.h"
#include "simulate/warps.h"
#include "ways/ways.h"

#endif
