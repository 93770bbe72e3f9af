"""Tests of each part of the C code, the fastest first; the longest prefix of a path counts."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent.parent / "tests"
HOSTS = ("test_host_analysis.py", "test_host_agreement.py", "test_suspension.py")

# Prefix under csrc: C programs, files of Python tests.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "analysis/allocation": (
        ("stgm_allocate", "gpu_locks", "faults_analysis"),
        ("test_host_analysis.py", "test_saha.py", "test_host_agreement.py", "test_host_stacks.py"),
    ),
    "analysis/common": (
        ("stgm", "gpu_locks", "gedf", "faults_analysis"),
        (*HOSTS, "test_context_tests.py", "test_host_stacks.py"),
    ),
    "analysis/contexts": (
        ("sensitivity", "refusals_hosts", "faults_analysis"),
        ("test_context_tests.py", "test_context_agreement.py", "test_context_sim.py"),
    ),
    "analysis/fifo": (
        ("fifo_bound", "saturation", "carveouts", "refusals_fifo"),
        ("test_fifo_bound.py", "test_fifo_sms.py", "test_yang.py"),
    ),
    "analysis/global_edf": (
        ("gedf", "elliott", "refusals_hosts"),
        ("test_elliott.py", "test_gedf.py"),
    ),
    "analysis/partitioned": (("stgm", "gpu_locks"), HOSTS),
    "analysis/placed": (("sensitivity",), ("test_sensitivity.py", "test_priority_assignment.py")),
    "analysis/priorities": (
        ("sensitivity",),
        ("test_priority_assignment.py", "test_sensitivity.py"),
    ),
    "analysis/priority_streams": (
        ("stream_partitions", "faults_analysis"),
        (
            "test_priority_streams.py",
            "test_stream_partitions.py",
            "test_reference_priority_streams.py",
            "test_simulate_chains.py",
        ),
    ),
    "analysis/breakdown": (
        ("sensitivity",),
        ("test_sensitivity.py", "test_priority_assignment.py"),
    ),
    "core": (
        ("context", "heap", "vector", "rng", "sorting", "prices", "graph", "gedf"),
        ("test_graph.py", "test_gedf.py", "test_search.py", "test_simulate.py"),
    ),
    "arrow": ((), ("test_arrow.py", "test_arrow_tables.py")),
    "cuda": (
        ("cuda", "host_clock"),
        ("test_cuda_play.py", "test_cuda.py"),
    ),
    "generate": (
        ("generate", "generate_blocks", "generate_hosts", "elliott"),
        ("test_generate.py", "test_generate_hosts.py", "test_elliott.py"),
    ),
    "io": (
        ("row_text", "json_tokens", "json_numbers", "event_scan"),
        ("test_kineto_twin.py", "test_examiner.py", "test_replay.py"),
    ),
    "io/rules": (("rules",), ("test_rules.py", "test_examiner.py", "test_replay.py")),
    "model": (
        ("schedule", "boundaries", "placement", "carveouts", "chains", "batch_list", "faults_pbs"),
        (
            "test_schedule.py",
            "test_core_calls.py",
            "test_table.py",
            "test_gpu.py",
            "test_place.py",
            "test_tasks.py",
            "test_hosttasks.py",
            "test_simulate_chains.py",
        ),
    ),
    "pbs": (
        (
            *("prices", "pbs_agreement", "search", "batch_list", "chains", "faults_pbs"),
            *("boundaries", "faults_many"),
        ),
        (
            *("test_search_stages.py", "test_search.py", "test_policy.py", "test_pbs_chains.py"),
            "test_needs.py",
        ),
    ),
    "pbs/graph": (
        ("graph", "pbs_agreement", "faults_pbs"),
        ("test_graph.py", "test_gpusched_counts.py"),
    ),
    "pbs/large": (("dispatch", "large"), ("test_batch_functions.py", "test_function_search.py")),
    "pbs/lazy": (
        ("lazy", "pbs_agreement", "search", "faults_pbs"),
        ("test_search_stages.py", "test_search.py"),
    ),
    "pbs/oracle": (("oracle", "carveouts"), ("test_oracle.py", "test_launch_orders.py")),
    "pbs/partitioned": (
        ("partitioned", "faults_pbs"),
        ("test_pbs_partition.py", "test_slowdown_margin.py"),
    ),
    "pbs/proof": (
        ("proof", "pbs_agreement", "chains"),
        ("test_certificates.py", "test_pbs_chains.py", "test_needs.py"),
    ),
    "support": ((), ("test_host_stacks.py", "test_threads.py")),
    "simulate": (("warps", "row_text"), ("test_warps.py", "test_run_results.py")),
    "simulate/challenge": (("challenge",), ("test_challenge.py", "test_host_given.py")),
    "simulate/fifo": (
        ("fifo", "refusals_fifo"),
        (
            "test_simulate.py",
            "test_fifo_releases.py",
            "test_fifo_sms.py",
            "test_simulate_chains.py",
        ),
    ),
    "simulate/gpu": (
        ("hierarchy", "refusals_hierarchy"),
        (
            "test_hierarchy.py",
            "test_hierarchy_partitions.py",
            "test_hierarchy_platform.py",
            "test_launch_orders.py",
            "test_hierarchy_invariants.py",
            "test_hierarchy_twin.py",
        ),
    ),
    "simulate/hierarchy": (
        ("hierarchy", "refusals_hierarchy"),
        (
            "test_hierarchy.py",
            "test_hierarchy_partitions.py",
            "test_hierarchy_platform.py",
            "test_launch_orders.py",
            "test_hierarchy_invariants.py",
            "test_hierarchy_twin.py",
        ),
    ),
    "simulate/host": (
        ("host", "challenge"),
        ("test_host_given.py", "test_context_sim.py", "test_host_sim.py"),
    ),
}

# Against survivors.
WIDE = (
    "test_search.py",
    "test_host_agreement.py",
    "test_elliott_runs.py",
    "test_carveouts.py",
    "test_gpusched_counts.py",
    "test_certificates.py",
    "test_core_calls.py",
    "test_answers.py",
    "test_copies.py",
    "test_compare.py",
    "test_compare_soundness.py",
    "test_registry.py",
    "test_cuda_play.py",
    "test_mig.py",
    "test_green_contexts.py",
    "test_mps.py",
    "test_workload_views.py",
    "test_workload_twin.py",
    "test_falsification.py",
    "test_workload_campaign.py",
    "test_hostile.py",
    "test_interrupt.py",
)

BINDINGS = (
    "test_array_lengths.py",
    "test_core_calls.py",
    "test_copies.py",
    "test_wrong_types.py",
    "test_registry.py",
)


def _part(file: str) -> str:
    """The longest prefix for a file; the bindings of a family are of that family."""
    name = file.removeprefix("csrc/").removeprefix("python/")
    return max(
        (one for one in PARTS if name.startswith((one + "/", one + "."))), key=len, default="model"
    )


def c_tests_of(file: str) -> list[str]:
    """The C programs of a file's part.

    Examples
    --------
    >>> c_tests_of("csrc/pbs/graph/graph.c")
    ['test_graph']
    """
    return [f"test_{name}" for name in PARTS[_part(file)][0]]


def tests_of(file: str) -> list[str]:
    """The files of Python tests of a file's part.

    For the bindings: those of all bindings, the one of the same name, those of the family.

    Examples
    --------
    >>> tests_of("csrc/pbs/graph/graph.c")
    ['test_graph.py', 'test_gpusched_counts.py']
    """
    if not file.startswith("csrc/python"):
        return list(PARTS[_part(file)][1])
    family = _part(file).split("/")[0]
    parts = [tests for part, (_, tests) in PARTS.items() if part.split("/")[0] == family]
    own = f"test_{Path(file).stem.removeprefix('py_')}.py"
    named = [own] if (FOLDER / own).exists() else []
    return list(dict.fromkeys([*BINDINGS, *named, *(test for tests in parts for test in tests)]))
