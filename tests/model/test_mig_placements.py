"""GPU instances (MIG): profiles of products, placements, refusals."""

from __future__ import annotations

import doctest
import importlib
import itertools
from collections import Counter

import pytest

import gpusched as gs
from gpusched.model.gpus.mig_profiles import MigProfile, mig_products

pytestmark = [pytest.mark.python, pytest.mark.numbers]

NAMES = ("A100", "A100 40GB", "A100 80GB", "H100", "H100 PCIe", "H200", "B200", "A30")


def gpu_of(name: str) -> gs.GPU:
    known = name in gs.GPU.presets()
    return gs.GPU.preset(name) if known else gs.GPU.preset("A100").replace(name=name)


def fits(chosen: list[tuple[MigProfile, int]], compute: int) -> bool:
    """The rules said plainly: no shared memory slice, counts and compute slices within limits."""
    slices = [start + k for profile, start in chosen for k in range(profile.memory_slices)]
    counts = Counter(profile for profile, _ in chosen)
    return (
        len(slices) == len(set(slices))
        and sum(profile.compute_slices for profile, _ in chosen) <= compute
        and all(counts[profile] <= profile.most for profile in counts)
    )


@pytest.mark.parametrize("name", ["A30", "A100 40GB"])
def test_configurations_are_all_maximal_placements(name: str) -> None:
    """Against all subsets of (profile, start), without the double-memory profile where there are
    too many of them."""
    gpu = gpu_of(name)
    profiles = [p for p in gpu.mig_profiles() if name == "A30" or p.name != "1g.10gb"]
    compute = max(p.compute_slices for p in profiles)
    single = [(p, start) for p in profiles for start in p.starts]
    valid = [
        frozenset(chosen)
        for k in range(1, 8)
        for chosen in itertools.combinations(single, k)
        if fits(list(chosen), compute)
    ]
    known = set(valid)
    maximal = {one for one in valid if not any(one | {more} in known for more in set(single) - one)}
    found = {
        frozenset((one.profile, one.start) for one in row)
        for row in gpu.mig_configurations()
        if all(one.profile in profiles for one in row)
    }
    assert found == maximal
    assert len(found) == (5 if name == "A30" else 19)  # as in the pictures of the guide


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_tables_are_consistent(name: str) -> None:
    gpu = gpu_of(name)
    profiles = gpu.mig_profiles()
    assert len(profiles) == (3 if name == "A30" else 6)
    for profile in profiles:
        assert profile.sms <= gpu.sms and profile.source
        places = gpu.mig_instances([profile.name] * profile.most)  # so many fit
        assert {one.start for one in places} <= set(profile.starts)
        with pytest.raises(ValueError, match=r"profiles\[\d\]: .* together; "):
            gpu.mig_instances([profile.name] * (profile.most + 1))
        part = gpu.instance(profile.name)
        assert (part.sms, part.copy_engines) == (profile.sms, profile.copy_engines)
        assert part.name == f"{gpu.name} {profile.name}"
        assert part.sm_order.tolist() == list(range(part.sms))
        same = ("threads_per_sm", "blocks_per_sm", "smem_per_sm", "cc", "channels", "carveouts")
        assert all(getattr(part, key) == getattr(gpu, key) for key in same)
        assert part.mig_profiles() == ()  # an instance is not divided again
    for row in gpu.mig_configurations():
        assert sum(one.profile.sms for one in row) <= gpu.sms
        assert len(gpu.mig_instances([one.profile.name for one in row])) == len(row)
    unknown = [profile.name for profile in profiles if not profile.sms_known]
    assert unknown == (["3g.90gb", "4g.90gb"] if name == "B200" else [])


def test_numbers_of_configurations() -> None:
    counts = {name: len(gpu_of(name).mig_configurations()) for name in NAMES}
    assert counts == {name: 5 if name == "A30" else 78 for name in NAMES}


def test_both_names_of_an_a100() -> None:
    gpu = gs.GPU.preset("A100")
    assert gpu.instance("3g.20gb").sms == gpu.instance("3g.40gb").sms == 42
    small, large = gpu.mig_instances(["1g.5gb", "1g.10gb"]), gpu.mig_instances(["1g.10gb"] * 2)
    assert [one.profile.memory_slices for one in (*small, *large)] == [1, 2, 1, 1]
    with pytest.raises(ValueError, match="expected profiles of one GPU, A100 80GB or A100 40GB"):
        gpu.mig_instances(["1g.5gb", "3g.40gb"])
    with pytest.raises(ValueError, match=r"profile: got '3g.40gb', expected one of 1g\.5gb, "):
        gpu_of("A100 40GB").instance("3g.40gb")


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("NVIDIA A100-SXM4-40GB", "A100 40GB"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H200", "H200"),
        ("NVIDIA A30", "A30"),
        ("NVIDIA H200 MIG 3g.71gb", None),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA GH200 144G HBM3e", "GH200 144GB"),
        ("", None),
    ],
)
def test_names_of_devices(name: str, product: str | None) -> None:
    sms = {"A100 40GB": 108, "A100 80GB": 108, "A30": 56}.get(product or "", 132)
    found = mig_products(name, sms)
    assert [one.name for one in found] == ([] if product is None else [product])
    assert mig_products(name, sms - 1) == ()  # another GPU under the name


@pytest.mark.parametrize(
    ("profiles", "text"),
    [
        (["4g.40gb", "2g.20gb", "3g.40gb"], r"profiles\[2\]: got '3g.40gb'.*and 1 of 7 are left"),
        (["1g.20gb"] * 3 + ["3g.40gb"], r"profiles\[3\].*no start slice is left for 3g.40gb"),
        (["4g.40gb", "4g.40gb"], "H100 has at most 1 instance of 4g.40gb"),
        (["3g.40gb"] * 10**5, r"profiles\[2\].*at most 2 instances of 3g.40gb"),
        (["3g.20gb"], "profile: got '3g.20gb', expected one of 1g.10gb, "),
        (["x" * 10**6], "expected one of 1g.10gb, "),
    ],
)
def test_refused_profiles(profiles: list[str], text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        gs.GPU.preset("H100").mig_instances(profiles)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("profiles", ["3g.40gb", 3, None, [3], [None], [["3g.40gb"]]])
def test_profiles_are_names(profiles: object) -> None:
    with pytest.raises(TypeError, match=r"profiles: got .*, expected names of profiles"):
        gs.GPU.preset("H100").mig_instances(profiles)  # type: ignore[arg-type]
    if not isinstance(profiles, str):
        with pytest.raises(TypeError, match=r"profile: got .*, expected the name of a profile"):
            gs.GPU.preset("H100").instance(profiles)  # type: ignore[arg-type]


def test_an_empty_list_has_no_instances() -> None:
    assert gs.GPU.preset("H100").mig_instances([]) == ()


@pytest.mark.parametrize("gpu", [gs.GPU.preset("Xavier"), gs.GPU(3, 1024, 8), gs.GPU.preset("L4")])
def test_gpus_without_profiles(gpu: gs.GPU) -> None:
    assert gpu.mig_profiles() == ()
    for call in (gpu.mig_configurations, lambda: gpu.instance("1g"), lambda: gpu.mig_instances([])):
        with pytest.raises(ValueError, match="the GPU has no MIG profiles"):
            call()


@pytest.mark.parametrize("name", ["gpu", "gpus.mig_profiles"])
def test_examples(name: str) -> None:
    module = importlib.import_module(f"gpusched.model.{name}")
    assert doctest.testmod(module, extraglobs={"gs": gs}).failed == 0
