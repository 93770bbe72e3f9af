"""Real-time scheduling of GPU kernels: exact tests, bounds, simulators, measurements.

Import the package with ``import gpusched as gs``. Inputs:

    gs.GPU, gs.occupancy, gs.place    a GPU, blocks per SM, placement of blocks on SMs
    gs.KernelTasks, gs.BatchTable     periodic kernels, and completion times of batches of them
                                      (gs.BatchFunction for more than 24 tasks)
    gs.KernelChains, gs.KernelGraph   jobs of several kernels; kernels that wait for others
    gs.HostTasks                      tasks with alternating CPU and GPU segments
    gs.Programs                       tasks with CPU work, copies and kernels in any order
    gs.Launches                       kernels and copies in streams, as launched by programs
    gs.Workload, gs.Task, gs.Platform a program and its hardware, described once for all methods
    gs.generate                       random task sets, any number in one call

    gs.ways                           the ways of sharing a GPU between tasks, with their parameters

Methods:

    gs.compare(workload, platform)    compares all ways of sharing the GPU
    gs.analyze, gs.observe, gs.margin test and simulate one way; how far times can grow under it
    gs.choose(workload, platform, way) chooses cores, levels, SMs so that a test guarantees it
    gs.mig(workload, platform)        chooses GPU instances (MIG), and the tasks of each
    gs.pbs.search(tasks, table)       exact test of the Parallel Batch Scheduler, with a schedule
    gs.pbs.partition                  the same on several GPUs
    gs.pbs.edf_serial, edf_parallel   EDF baselines
    gs.analysis                       response-time bounds and schedulability tests, for kernels in
                                      streams and for tasks with CPU and GPU segments
    gs.simulate                       simulations, job by job and block by block
    gs.sweep                          evaluates a function on many task sets, over a grid
    gs.reductions                     the statistics that a sweep keeps
    gs.open_store, gs.merge           reads the store of a sweep; joins several stores
    gs.experiments                    the figures and tables of the papers

    gs.deployable(way, gpu)           what a way of sharing the GPU needs, and what it assumes
    gs.recipe(answer)                 the steps and files with which its program runs
    gs.kept(answer, log)              compares the recorded run of a program with its bounds
    gs.rt                             runs a workload for real (execute); library for C and C++

``gs.io`` reads traces of programs, and ``gs.cuda`` measures and plays schedules on the GPUs of this
machine. All times are whole numbers of ticks. You choose the length of a tick; times that are
measured or read from files are in nanoseconds. See ``help(gs.pbs.search)`` and so on for details.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    from gpusched._core import Cancelled as Cancelled
except ModuleNotFoundError as error:
    if error.name != "gpusched._core":
        raise
    raise ImportError(
        f"the C part of gpusched is not in {__path__[0]}: in a folder with its sources, leave the "
        "folder or run pip install -e .",
        name=error.name,
    ) from None
from gpusched._version import __version__ as __version__

if TYPE_CHECKING:
    from gpusched import analysis as analysis
    from gpusched import cuda as cuda
    from gpusched import experiments as experiments
    from gpusched import generate as generate
    from gpusched import io as io
    from gpusched import pbs as pbs
    from gpusched import rt as rt
    from gpusched import simulate as simulate
    from gpusched import ways as ways
    from gpusched._core import CudaError as CudaError
    from gpusched._support.budget import Budget as Budget
    from gpusched._support.registry import Method as Method
    from gpusched._support.registry import Option as Option
    from gpusched._support.registry import methods as methods
    from gpusched.comparison.advice import Advice as Advice
    from gpusched.comparison.analyses import analyze as analyze
    from gpusched.comparison.choosing.choice_answer import Choice as Choice
    from gpusched.comparison.choosing.program_choice import choose as choose
    from gpusched.comparison.compare_sliders import CompareSliders as CompareSliders
    from gpusched.comparison.compare_sliders import compare_sliders as compare_sliders
    from gpusched.comparison.comparisons import Comparison as Comparison
    from gpusched.comparison.comparisons import compare as compare
    from gpusched.comparison.deployments import recipe as recipe
    from gpusched.comparison.instances.mig_allocation import MigAllocation as MigAllocation
    from gpusched.comparison.instances.mig_choice import mig as mig
    from gpusched.comparison.margins import Margin as Margin
    from gpusched.comparison.margins import margin as margin
    from gpusched.comparison.observations import observe as observe
    from gpusched.comparison.run_stack import RunStack as RunStack
    from gpusched.comparison.verdicts.gpu_rules import Rule as Rule
    from gpusched.comparison.verdicts.premises import Condition as Condition
    from gpusched.comparison.verdicts.premises import NotApplicable as NotApplicable
    from gpusched.comparison.workload_answer import WorkloadAnswer as WorkloadAnswer
    from gpusched.comparison.workload_run import WorkloadRun as WorkloadRun
    from gpusched.deploy.deployability import Deployable as Deployable
    from gpusched.deploy.deployability import deployable as deployable
    from gpusched.deploy.recipe import Recipe as Recipe
    from gpusched.deploy.recipe import Step as Step
    from gpusched.model import profiles as profiles
    from gpusched.model.batch_function import BatchFunction as BatchFunction
    from gpusched.model.batch_table import BatchTable as BatchTable
    from gpusched.model.block_placement import Placement as Placement
    from gpusched.model.block_placement import place as place
    from gpusched.model.gpu import GPU as GPU
    from gpusched.model.gpu import occupancy as occupancy
    from gpusched.model.gpus.mps_shares import SMs as SMs
    from gpusched.model.host_tasks import HostTasks as HostTasks
    from gpusched.model.kernel_chains import KernelChains as KernelChains
    from gpusched.model.kernel_chains import KernelGraph as KernelGraph
    from gpusched.model.kernel_tasks import KernelTasks as KernelTasks
    from gpusched.model.launches import Launches as Launches
    from gpusched.model.programs import Programs as Programs
    from gpusched.model.schedule import Schedule as Schedule
    from gpusched.model.schedule import ScheduleError as ScheduleError
    from gpusched.model.workload.periodic_task import Task as Task
    from gpusched.model.workload.platforms import Platform as Platform
    from gpusched.model.workload.segments import CPU as CPU
    from gpusched.model.workload.segments import DLA as DLA
    from gpusched.model.workload.segments import CopyIn as CopyIn
    from gpusched.model.workload.segments import CopyOut as CopyOut
    from gpusched.model.workload.segments import Engine as Engine
    from gpusched.model.workload.segments import Kernel as Kernel
    from gpusched.model.workload.segments import Sync as Sync
    from gpusched.model.workload.workloads import Workload as Workload
    from gpusched.rt.kept_answer import Kept as Kept
    from gpusched.rt.kept_answer import kept as kept
    from gpusched.study import reductions as reductions
    from gpusched.study.execution import SweepError as SweepError
    from gpusched.study.point_results import Width as Width
    from gpusched.study.store_files import StoreError as StoreError
    from gpusched.study.stored_study import StoredStudy as StoredStudy
    from gpusched.study.stored_study import merge as merge
    from gpusched.study.stored_study import open_store as open_store
    from gpusched.study.sweep_table import Sweep as Sweep
    from gpusched.study.sweeps import sweep as sweep

# All of these are imported on first use, so that importing the package is fast.
_MODULES = {
    "analysis": "analysis",
    "cuda": "cuda",
    "experiments": "experiments",
    "generate": "generate",
    "io": "io",
    "pbs": "pbs",
    "profiles": "model.profiles",
    "reductions": "study.reductions",
    "rt": "rt",
    "simulate": "simulate",
    "ways": "ways",
}
_MEMBERS = {
    "BatchFunction": "model.batch_function",
    "BatchTable": "model.batch_table",
    "Budget": "_support.budget",
    "Advice": "comparison.advice",
    "Condition": "comparison.verdicts.premises",
    "NotApplicable": "comparison.verdicts.premises",
    "Choice": "comparison.choosing.choice_answer",
    "CompareSliders": "comparison.compare_sliders",
    "Comparison": "comparison.comparisons",
    "CudaError": "_core",
    "Deployable": "deploy.deployability",
    "GPU": "model.gpu",
    "HostTasks": "model.host_tasks",
    "KernelChains": "model.kernel_chains",
    "KernelGraph": "model.kernel_chains",
    "KernelTasks": "model.kernel_tasks",
    "Launches": "model.launches",
    "Path": "model.workload.links",
    "Placement": "model.block_placement",
    "Programs": "model.programs",
    "Recipe": "deploy.recipe",
    "Rule": "comparison.verdicts.gpu_rules",
    "RunStack": "comparison.run_stack",
    "Schedule": "model.schedule",
    "ScheduleError": "model.schedule",
    "Margin": "comparison.margins",
    "Method": "_support.registry",
    "Option": "_support.registry",
    "MigAllocation": "comparison.instances.mig_allocation",
    "Step": "deploy.recipe",
    "StoreError": "study.store_files",
    "StoredStudy": "study.stored_study",
    "Sweep": "study.sweep_table",
    "SweepError": "study.execution",
    "Width": "study.point_results",
    "CPU": "model.workload.segments",
    "DLA": "model.workload.segments",
    "CopyIn": "model.workload.segments",
    "CopyOut": "model.workload.segments",
    "Engine": "model.workload.segments",
    "Kernel": "model.workload.segments",
    "Sync": "model.workload.segments",
    "Kept": "rt.kept_answer",
    "Platform": "model.workload.platforms",
    "SMs": "model.gpus.mps_shares",
    "Task": "model.workload.periodic_task",
    "Workload": "model.workload.workloads",
    "WorkloadAnswer": "comparison.workload_answer",
    "WorkloadRun": "comparison.workload_run",
    "analyze": "comparison.analyses",
    "choose": "comparison.choosing.program_choice",
    "compare": "comparison.comparisons",
    "compare_sliders": "comparison.compare_sliders",
    "deployable": "deploy.deployability",
    "kept": "rt.kept_answer",
    "margin": "comparison.margins",
    "observe": "comparison.observations",
    "occupancy": "model.gpu",
    "merge": "study.stored_study",
    "methods": "_support.registry",
    "mig": "comparison.instances.mig_choice",
    "open_store": "study.stored_study",
    "place": "model.block_placement",
    "recipe": "comparison.deployments",
    "sweep": "study.sweeps",
}


def __getattr__(name: str) -> Any:
    from gpusched._support.first_use import module_on_demand

    value: Any
    if name in _MODULES:
        value = module_on_demand(_MODULES[name])
    elif name in _MEMBERS:
        value = getattr(module_on_demand(_MEMBERS[name]), name)
    else:
        raise AttributeError(f"module 'gpusched' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    # Names for tab completion: the public ones, not everything that happens to be imported.
    special = {name for name in globals() if name.startswith("__")}
    return sorted({*special, "Cancelled", *_MODULES, *_MEMBERS})
