/* gpusched: will these GPU tasks meet their deadlines, and under which scheduler?
 *
 * Comments number the papers: 000 is Yang and Anderson (ECRTS 2017, work in progress), 001 GPUSched
 * (RTNS 2024), 002 STGM (RTCSA 2019), 003 Olmedo et al. (RTAS 2020), 004 Elliott and Anderson (RTNS
 * 2010). The README has their titles.
 *
 * All that C callers and the Python module need. Each room has its own header:
 *
 *   core/   env (errors, memory budget, poll), rng, slots (an index from hashes to numbers), heap,
 *           wide (128-bit products), load (utilizations, exactly)
 *   model/  gpu (limits, occupancy), place (blocks to SMs), tasks, kernels, hosts (tasks with CPU
 *           and GPU segments), generate, generate_blocks, generate_hosts, generate_elliott (paper
 *           004's sets), fifo_order (the four readings of FIFO)
 *   pbs/    table (the oracle's answers), oracle (a table from a GPU), schedule (replay), edf,
 *           search (one hyperperiod), endless (for ever), policy (at run time, and a dispatcher
 *           that plays it), graph (the paper's)
 *   rta/    saturation (threads that are busy while a block waits), fifo_bound (response times of
 *           blocks in FIFO order); for tasks on CPUs and a GPU: stgm, stgm_allocate (cores and
 *           SMs), stgm_exhaustive (all of them), mpcp, fmlp_plus, gpu_server, partition (cores by
 *           worst fit); under global EDF: gedf_tardiness (bounds), srm (waiting for a GPU lock),
 *           container (GPU tasks in a server), elliott_study (paper 004's counts)
 *   cuda/   driver (opened at run time), device (limits, kernels), run (kernels and copies that say
 *           when and where they ran), player (of schedules); image, buffers, streams
 *   sim/    fifo (blocks on threads in FIFO order), hierarchy (contexts, streams, copies, blocks on
 *           SMs), warps (inside an SM), host (tasks that compute on CPUs and a GPU)
 *
 * The search is made of problem (intervals and classes), moves, bound (latest starts), feasible
 * (the interval engine), dive (depth first), overload and window (proofs that there is none).
 *
 * The paper's graph is made of graph_jobs (releases and deadlines) and three explorations:
 * repaired, tree (nothing merged), and paper (as printed) with its vertices.
 *
 * Names are gs_<object>_<verb>; core/env.h states the conventions for errors and memory.
 */
#ifndef GPUSCHED_H
#define GPUSCHED_H

#include "core/env.h"
#include "core/heap.h"
#include "core/load.h"
#include "core/rng.h"
#include "core/wide.h"
#include "cuda/image.h"
#include "cuda/player.h"
#include "model/generate.h"
#include "model/generate_blocks.h"
#include "model/generate_elliott.h"
#include "model/generate_hosts.h"
#include "model/gpu.h"
#include "model/hosts.h"
#include "model/kernels.h"
#include "model/place.h"
#include "model/tasks.h"
#include "pbs/edf.h"
#include "pbs/endless.h"
#include "pbs/graph.h"
#include "pbs/oracle.h"
#include "pbs/policy.h"
#include "pbs/schedule.h"
#include "pbs/search.h"
#include "pbs/table.h"
#include "rta/container.h"
#include "rta/elliott_study.h"
#include "rta/fifo_bound.h"
#include "rta/fmlp_plus.h"
#include "rta/gedf_tardiness.h"
#include "rta/gpu_server.h"
#include "rta/mpcp.h"
#include "rta/partition.h"
#include "rta/saturation.h"
#include "rta/srm.h"
#include "rta/stgm.h"
#include "rta/stgm_allocate.h"
#include "rta/stgm_exhaustive.h"
#include "sim/fifo.h"
#include "sim/hierarchy.h"
#include "sim/host.h"
#include "sim/warps.h"

#endif
