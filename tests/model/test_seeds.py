"""Seeds: every public function takes integers, ``SeedSequence`` and ``Generator`` alike."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched._support.arguments import seed_key, seed_sequence

GPU = gs.GPU(sms=2, threads_per_sm=1024, blocks_per_sm=16)
KERNELS = gs.KernelTasks(period=[40, 50], wcet=[10, 10])
GRIDS = gs.KernelTasks(period=[40, 50], wcet=[10, 10], blocks=[2, 3], threads=[512, 512])
HOSTS = gs.HostTasks.from_segments(
    [9, 9], [[2, (1, 3, 1), 1], [2, (1, 2, 1), 2]], core=[0, 1], priority=[0, 1]
)
FIXED = gs.BatchTable([0, 10, 10, 15])
UNEQUAL = ("seconds", "seed")
QUIET = {"workers": 1, "progress": False}


def share(*, load: float, count: int, first: int, seed: Any) -> dict[str, Any]:
    return {"share": gs.generate.uunifast(2, load, count=count, seed=seed, first=first)[:, 0]}


def of_sweep(seed: Any) -> Any:
    return gs.sweep(share, {"load": [0.5]}, count=2, seed=seed, **QUIET)


def of_play(seed: Any) -> Any:
    found = gs.pbs.search(KERNELS, FIXED, policy=True)
    return found.policy.play(found.schedule, actual=(0.2, 1.0), runs=3, seed=seed)


def of_hierarchy(seed: Any) -> Any:
    launches = gs.Launches([0, 0], [3, 4], blocks=[3, 3])
    return gs.simulate.hierarchy(launches, GPU, seed=seed)


def of_observe(seed: Any) -> Any:
    w = gs.Workload([gs.Task("a", 90, [gs.CPU(5), gs.Kernel(20, blocks=4, threads=64)])])
    run = gs.observe(w, gs.Platform(GPU), "streams", until=900, seed=seed, low=0.5)
    return run.end.tolist()


def of_choose(seed: Any) -> Any:
    kernel = gs.Kernel(20, blocks=40, threads=256)
    w = gs.Workload([gs.Task(f"t{i}", 200 + 40 * i, [gs.CPU(3), kernel]) for i in range(5)])
    budget = gs.Budget(states=8)  # fewer than all choices: a search
    found = gs.choose(w, gs.Platform(GPU, cpus=2), "priority_streams", seed=seed, budget=budget)
    return str(found.changes)


def figure(name: str, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda seed: getattr(gs.experiments, name)(*arguments, seed=seed, **options)


CALLS: dict[str, Callable[[Any], Any]] = {
    "BatchTable.from_gpu": lambda seed: gs.BatchTable.from_gpu(GRIDS, GPU, seed=seed),
    "BatchTable.from_utilization": lambda seed: gs.BatchTable.from_utilization(
        KERNELS, (1.2, 1.9), seed
    ),
    "BatchFunction.from_gpu": lambda seed: gs.BatchFunction.from_gpu(GRIDS, GPU, seed=seed),
    "BatchFunction.from_utilization": lambda seed: gs.BatchFunction.from_utilization(
        KERNELS, (1.2, 1.9), seed
    ),
    "choose": of_choose,
    "observe": of_observe,
    "sweep": of_sweep,
    "analysis.Verdict.challenge": lambda seed: gs.analysis.mpcp(HOSTS).challenge(seed=seed),
    "experiments.elliott_fig5": figure("elliott_fig5", [93], 5, cpus=1, **QUIET),
    "experiments.elliott_fig6": figure("elliott_fig6", 0, seconds=0.1),
    "experiments.elliott_table2": figure("elliott_table2", 2, seconds=0.1, **QUIET),
    "experiments.gcaps_fig8": figure("gcaps_fig8", "tasks", [2], 2, tests=["MPCP busy"], **QUIET),
    "experiments.gpusched_fig4": figure("gpusched_fig4", "a", [0.5], 2, 2, **QUIET),
    "experiments.gpusched_fig5": figure("gpusched_fig5", "c", 1, tasks=[2], **QUIET),
    "experiments.olmedo_fig3": figure("olmedo_fig3", 3, [2]),
    "experiments.sharing": figure("sharing", [0.4], 2, 1, ways=["one_stream"], **QUIET),
    "experiments.stgm_allocators": figure("stgm_allocators", [2], 2, **QUIET),
    "experiments.stgm_fig4": figure("stgm_fig4", [4], 2, tests=["MPCP busy"], **QUIET),
    "experiments.stgm_fig5": figure("stgm_fig5", [2], 2, tests=["MPCP busy"], tasks=[4], **QUIET),
    "experiments.stgm_options": figure("stgm_options", 4, 2, tests=["MPCP suspend"], **QUIET),
    "experiments.yang_bounds": figure("yang_bounds", [0.2], 2, count=1, horizon=2, **QUIET),
    "generate.elliott": lambda seed: gs.generate.elliott(seed=seed),
    "generate.fifo": lambda seed: gs.generate.fifo(3, 0.5, seed=seed),
    "generate.gcaps": lambda seed: gs.generate.gcaps(seed=seed),
    "generate.gpusched": lambda seed: gs.generate.gpusched(3, 0.5, seed=seed),
    "generate.rngs": lambda seed: [one.random() for one in gs.generate.rngs(seed, 2, 3)],
    "generate.stgm": lambda seed: gs.generate.stgm(4, seed=seed),
    "generate.uunifast": lambda seed: gs.generate.uunifast(3, 0.5, seed=seed),
    "generate.uunifast_discard": lambda seed: gs.generate.uunifast_discard(3, 0.5, seed=seed),
    "pbs.Policy.play": of_play,
    "simulate.challenge": lambda seed: gs.simulate.challenge(HOSTS, 2, "mpcp", seed=seed),
    "simulate.fifo": lambda seed: gs.simulate.fifo(
        KERNELS, 1024, until=400, execution=(0.2, 1.0), seed=seed
    ),
    "simulate.fifo_responses": lambda seed: gs.simulate.fifo_responses(
        KERNELS, 1024, until=400, execution=(0.2, 1.0), seed=seed
    ),
    "simulate.hierarchy": of_hierarchy,
    "simulate.host": lambda seed: gs.simulate.host(
        HOSTS, 2, "mpcp", until=90, execution=(0.2, 1.0), seed=seed
    ),
    "simulate.host_responses": lambda seed: gs.simulate.host_responses(
        HOSTS, 2, "mpcp", until=90, execution=(0.2, 1.0), seed=seed
    ),
}


def seeded(owner: Any, prefix: str) -> set[str]:
    """Names of the functions and methods of an object that have a parameter ``seed``."""
    found = set()
    for name in dir(owner):
        value = None if name.startswith("_") else getattr(owner, name)
        if inspect.isclass(value) and not prefix.count("."):
            # A class that another one is derived from may be public under both names.
            found |= seeded(value, f"{prefix}{name}.") if value.__name__ == name else set()
        elif callable(value) and not inspect.isclass(value):
            try:
                parameters = inspect.signature(value).parameters
            except ValueError:
                continue
            if "seed" in parameters:
                found.add(f"{prefix}{name}")
    return found


def test_every_function_with_a_seed_is_called_here() -> None:
    names = seeded(gs, "")
    for module in gs._MODULES:
        owner = getattr(gs, module)
        for name in owner.__all__:
            value = getattr(owner, name)
            if inspect.isclass(value):
                names |= seeded(value, f"{module}.{name}.")
            elif inspect.isfunction(value) and "seed" in inspect.signature(value).parameters:
                names.add(f"{module}.{name}")
    assert names == {*CALLS, "rt.execute"}  # whose times are real ones


def contents(value: Any) -> Any:
    """Everything in a result that equal seeds must give: not the seconds, nor the seed's kind."""
    if isinstance(value, np.ndarray):
        return repr(value.tolist())  # nan is equal to nan
    if isinstance(value, Mapping):
        return {key: contents(part) for key, part in value.items() if key not in UNEQUAL}
    if isinstance(value, (list, tuple)):
        return [contents(part) for part in value]
    if dataclasses.is_dataclass(value):
        return contents({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    return value


@pytest.mark.parametrize("name", CALLS)
def test_seeds_of_every_kind(name: str) -> None:
    call = CALLS[name]
    expected = contents(call(7))
    for seed in (np.int64(7), np.random.SeedSequence(7), [7]):
        assert contents(call(seed)) == expected
    generators = [np.random.default_rng(7) for _ in range(2)]
    drawn = [contents(call(generator)) for generator in generators]
    assert drawn[0] == drawn[1]
    assert generators[0].bit_generator.state != np.random.default_rng(7).bit_generator.state
    child = np.random.SeedSequence(7).spawn(1)[0]
    assert contents(call(child)) == contents(call(np.random.SeedSequence(7, spawn_key=(0,))))


# What NumPy itself cannot read


def hostile_seeds() -> dict[str, Any]:
    itself: list[Any] = []
    itself.append(itself)
    wide: list[Any] = []
    wide.extend([wide] * 1000)
    held = np.empty(1, object)
    held[0] = held
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]

    class Endless(list[int]):
        def __iter__(self) -> Any:
            return iter([self])

    return {
        "matrix": np.ones((1, 2), int).view(np.matrix),
        "matrix in a list": [np.ones((1, 2), int).view(np.matrix)],
        "empty matrix": np.zeros((0, 0), int).view(np.matrix),
        "masked array": np.ma.array([1, 2]),
        "list of itself": itself,
        "tuple of a list of itself": (itself,),
        "many of itself": wide,
        "array of itself": held,
        "deep list": deep,
        "endless list": Endless([1]),
        "times": np.array([3], "m8[s]"),
        "a time": np.timedelta64(3, "s"),
        "iterator": iter([1]),
        "negative in a list": [-1],
        "fraction in a list": [1.5],
        "object": object(),
    }


@pytest.mark.long
@pytest.mark.parametrize("name", hostile_seeds())
def test_seeds_that_numpy_cannot_read_are_refused_before_it(name: str) -> None:
    seed = hostile_seeds()[name]
    with pytest.raises(TypeError, match=r"(?s)^seed: got .*, expected a non-negative integer"):
        seed_key(seed)
    with pytest.raises(TypeError, match=r"(?s)^seed: got .*, expected a non-negative integer"):
        gs.generate.uunifast(2, 0.5, seed=seed)
    with pytest.raises(TypeError, match=r"(?s)^seed: got .*, expected a non-negative integer"):
        of_sweep(seed)


@pytest.mark.parametrize("seed", [0, 2**70, [1, 2], (3,), range(3), [], [2**40, 5]], ids=str)
def test_rows_of_integers_are_those_of_numpy(seed: Any) -> None:
    """Recorded experiments depend on them."""
    expected = np.random.SeedSequence(seed).generate_state(4, np.uint64)
    np.testing.assert_array_equal(seed_key(seed), expected)
    np.testing.assert_array_equal(seed_sequence(seed).generate_state(4, np.uint64), expected)


def test_rows_in_rows_are_one_row() -> None:
    """With every NumPy: versions before 2.5 joined them, later ones refuse them."""
    expected = seed_key([1, 2, 3, 2**40])
    for seed in ((1, [2, 3], 2**40), np.array([[1, 2], [3, 2**40]]), [[[1, 2], [3]], (2**40,)]):
        np.testing.assert_array_equal(seed_key(seed), expected)
