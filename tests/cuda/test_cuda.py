"""The CUDA backend on a stand-in driver: devices, errors, forks and recorded runs."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from native import CSRC, clean_environment
from standin import Standin

import gpusched as gs
from gpusched import _core
from gpusched.cuda import CudaError, Device, Operation, Stream, driver

ROOT = CSRC.parent


def python(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Availability of a device


def test_available(standin: Standin) -> None:
    assert gs.cuda.why_not() is None
    assert gs.cuda.is_available()
    assert gs.cuda.devices() == ("Stand-in 0",)


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_opened", {})
    monkeypatch.setenv("GPUSCHED_CUDA_DRIVER", "libno-such-driver.so.1")
    assert gs.cuda.why_not() == "no NVIDIA driver: libno-such-driver.so.1 cannot be opened"
    assert not gs.cuda.is_available()
    assert gs.cuda.devices() == ()
    with pytest.raises(CudaError, match="no NVIDIA driver"):
        gs.cuda.gpu(0)
    with pytest.raises(CudaError) as caught:
        Device(0)
    assert str(caught.value) == gs.cuda.why_not()  # not the tuple of all args
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is gs.CudaError is CudaError and again.args == caught.value.args
    assert str(CudaError()) == "" and str(CudaError(5)) == "5"


def test_a_library_that_is_no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "_opened", {})
    monkeypatch.setenv("GPUSCHED_CUDA_DRIVER", "libm.so.6")
    assert gs.cuda.why_not() == "libm.so.6 lacks cuInit: the driver is too old"


def test_no_device(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    standin.set(devices=0)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gs.cuda.why_not() == "the driver finds no device"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gs.cuda.why_not() == "the driver finds no device (CUDA_VISIBLE_DEVICES is '')"
    with pytest.raises(ValueError, match="device: got 0, expected a device of this machine"):
        gs.cuda.gpu(0)


def test_old_driver(standin: Standin) -> None:
    standin.set(version=10020)
    assert gs.cuda.why_not() == "the driver is too old: it supports CUDA 10.2"


def test_driver_older_than_the_kernels(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    standin.set(version=12040)
    monkeypatch.setattr(_core, "CUDA_TOOLKIT", 13000)
    monkeypatch.setattr(_core, "CUDA_MISSING", "")
    assert gs.cuda.why_not() is None  # the stand-in needs no kernels
    monkeypatch.setattr(driver, "standing_in", lambda: False)
    told = "the driver is too old: it supports CUDA 12.4, the kernels were built with 13.0"
    assert gs.cuda.why_not() == told


def test_build_without_kernels(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = _core.CUDA_MISSING
    assert (_core.CUDA_TOOLKIT == 0) == bool(missing)
    monkeypatch.setattr(driver, "standing_in", lambda: False)
    monkeypatch.setattr(_core, "CUDA_MISSING", "built without the CUDA toolkit")
    assert gs.cuda.why_not() == "built without the CUDA toolkit"
    if missing:
        with pytest.raises(ValueError, match="image: got 0, expected a build with kernels"):
            driver.driver().device(0, None)


@pytest.mark.parametrize("function", ["cuInit", "cuDriverGetVersion", "cuDeviceGetCount"])
def test_driver_that_does_not_start(standin: Standin, function: str) -> None:
    standin.fail(function, 1, 999)
    told = gs.cuda.why_not()
    assert told is not None and told.startswith(f"{function}: an unknown error (999)")
    assert gs.cuda.why_not() is None  # asked again


# Devices


def test_limits(standin: Standin) -> None:
    standin.set(sms=12, devices=2)
    gpu = gs.cuda.gpu(1)
    assert (gpu.sms, gpu.threads_per_sm, gpu.blocks_per_sm, gpu.cc) == (12, 2048, 32, (9, 0))
    assert (gpu.smem_per_sm, gpu.smem_per_block) == (228 * 1024, 227 * 1024)
    assert gpu.name == "Stand-in 1"
    for index in (-1, 2):
        told = f"device: got {index}, expected a device of this machine"
        with pytest.raises(ValueError, match=told):
            gs.cuda.gpu(index)
        with pytest.raises(ValueError, match=told):
            Device(index)


def test_two_devices(standin: Standin) -> None:
    standin.set(devices=2)
    with Device(0) as one, Device(1) as other:
        assert (one.name, other.name) == ("Stand-in 0", "Stand-in 1")
        assert len(one.run([Operation(ns=10)])) == len(other.run([Operation(ns=10)])) == 1
    with pytest.raises(ValueError, match="device: got 0, expected an open device"):
        one.run([Operation()])
    one.close()


def test_occupancy_agrees_with_the_driver(standin: Standin) -> None:
    with Device() as device:
        check = device.check_occupancy()
        assert check.agrees and len(check.ours) > 500
        assert (check.ours == 0).any()
        standin.set(occupancy=1)  # a driver that counts one more
        check = device.check_occupancy(threads=[64], smem=[0])
        assert not check.agrees
        assert check.differences()[0] == (64, 24, 0, 32, 33)


def test_a_device_is_not_pickled(standin: Standin) -> None:
    with Device() as device, pytest.raises(TypeError, match="device: got one of another process,"):
        pickle.dumps(device)


def test_channels(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS", raising=False)
    with pytest.raises(ValueError, match="channels: got 33, expected 1 to 32"):
        Device(channels=33)
    Device(channels=4).close()
    assert "CUDA_DEVICE_MAX_CONNECTIONS" not in os.environ
    standin.set(active=1)
    with pytest.raises(ValueError, match="channels: expected None, as this process already"):
        Device(channels=4)


# Errors


def all_failures(standin: Standin) -> Iterator[tuple[str, int]]:
    """Every call of the driver that opening a device, a run and closing it make."""

    def use() -> None:
        with Device() as device:
            device.run(
                [Operation(blocks=3, ns=5), Operation(stream=1, kind="copy_in", bytes=64)],
                [Stream(), Stream(kind="blocking")],
            )
            device.run([Operation(stream=0, ns=5, bytes=640)], sms=8)
            device.check_occupancy(threads=[32], smem=[0])

    use()
    text = (CSRC / "cuda/driver.c").read_text()
    for function in re.findall(r'(?:ENTRY|OPTIONAL)\(\w+,\s*"(\w+)"\)', text):
        for call in range(1, standin.calls(function) + 1):
            yield function, call
    assert standin.calls("cuLaunchKernel") == 10


def test_no_error_of_the_driver_is_ignored(standin: Standin) -> None:
    """Each call fails once: the error comes out, everything is given back, the device works."""
    failures = [
        pair for pair in all_failures(standin) if pair[0] not in ("cuInit", "cuDeviceGetCount")
    ]
    assert len(failures) > 60
    tried = 0
    for function, call in failures:
        if function == "cuDriverGetVersion":
            continue
        standin.reset()
        standin.fail(function, call, 2)
        with pytest.raises(CudaError) as caught:
            for _ in all_failures(standin):
                break
        name = re.sub(r"_v\d$", "", function)
        assert caught.value.args[1:] == (name, 2), (function, call)
        assert f"{name}: CUDA_ERROR_OUT_OF_MEMORY (2)" in str(caught.value.args[0])
        assert standin.live == 0, (function, call)
        standin.fail(function, 0, 0)
        with Device() as device:
            assert device.run([Operation(ns=7)]).block_sm.tolist() == [[0]]
        tried += 1
    assert tried > 60


def test_out_of_memory(standin: Standin) -> None:
    standin.set(memory=1 << 20)
    with Device() as device:
        with pytest.raises(CudaError, match="cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY") as caught:
            device.run([Operation(bytes=1 << 21)])
        assert caught.value.args[2] == 2
        with pytest.raises(CudaError, match="cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"):
            device.run([Operation(kind="copy_out", bytes=1 << 21)])
        assert len(device.run([Operation(ns=5)], repeats=2)) == 2


def test_a_kernel_that_faults(standin: Standin) -> None:
    device = Device()
    with pytest.raises(CudaError, match=r"cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        device.fault()
    told = "the device is lost to this process: CUDA_ERROR_ILLEGAL_ADDRESS .700."
    for use in (lambda: device.run([Operation()]), device.check_occupancy, lambda: Device(0)):
        with pytest.raises(CudaError, match=told):
            use()
    device.close()
    code = "import gpusched.cuda as c; d = c.Device(); print(len(d.run([c.Operation()])))"
    assert python(code, GPUSCHED_CUDA_DRIVER=standin.path) == "1"  # a new process works


@pytest.mark.parametrize("code", [214, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810])
def test_errors_that_destroy_the_context(standin: Standin, code: int) -> None:
    with Device() as device:
        standin.fail("cuLaunchKernel", 1, code)
        with pytest.raises(CudaError, match=f"cuLaunchKernel: .*{code}"):
            device.run([Operation()])
        with pytest.raises(CudaError, match="lost to this process"):
            device.run([Operation()])


def test_fork(standin: Standin) -> None:
    code = """
import os, warnings
warnings.simplefilter("ignore")
import gpusched.cuda as c
device = c.Device()
if (child := os.fork()) == 0:
    told = [c.why_not()]
    for use in (lambda: device.run([c.Operation()]), lambda: c.Device(), lambda: c.devices()):
        try:
            told.append(use())
        except c.CudaError as error:
            told.append(error.args[0])
    device.close()
    del device
    fine = all("forked" in (t or "forked") for t in told[:3]) and told[3] == ()
    os._exit(0 if fine else 1)
print(os.waitpid(child, 0)[1], len(device.run([c.Operation()])))
"""
    assert python(code, GPUSCHED_CUDA_DRIVER=standin.path) == "0 1"


def test_a_device_has_one_user_at_a_time(standin: Standin) -> None:
    told: list[str] = []
    with Device() as device:
        stop = bytearray(1)

        def work() -> None:
            try:
                device.run([Operation(blocks=2000, ns=10)], repeats=50_000, stop=stop)
            except gs.Cancelled:
                told.append("stopped")

        thread = threading.Thread(target=work)
        thread.start()
        while True:
            try:
                device.run([Operation()])
            except RuntimeError as error:
                assert str(error) == "the device is in use by another thread"
                break
        stop[0] = 1
        thread.join()
    assert told == ["stopped"]


# Runs


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"blocks": 0}, r"blocks\[0\]: got 0"),
        ({"threads": 1025}, r"threads\[0\]: got 1025"),
        ({"smem": 1 << 20}, r"smem\[0\]: got 1048576"),
        ({"ns": -1}, r"ns\[0\]: got -1"),
        ({"ns": 10**11}, r"ns\[0\]: got -?\d+"),
        ({"stream": -1}, r"stream\[0\]: got -1"),
        ({"kind": "copy_in"}, r"bytes\[0\]: got 0, expected a positive number of bytes for"),
        ({"kind": "jump"}, "kind: got 'jump', expected one of kernel,"),
        ({"regs": 255}, "regs: got 255, expected at most 248"),
    ],
)
def test_refused_operations(standin: Standin, change: dict[str, object], told: str) -> None:
    operation = replace(Operation(), **change)  # type: ignore[arg-type]
    with Device() as device, pytest.raises(ValueError, match=told):
        device.run([operation], [Stream()])


def test_refused_streams(standin: Standin) -> None:
    with Device() as device:
        with pytest.raises(ValueError, match=r"stream_priority\[0\]: got -6, expected a stream"):
            device.run([], [Stream(-6)])
        with pytest.raises(ValueError, match=r"stream_kind\[0\]: got 2, expected priority 0 and"):
            device.run([], [Stream(kind="null")], sms=8)
        with pytest.raises(ValueError, match="sms: got 17, expected at most the SMs of the device"):
            device.run([], [], sms=17)
        with pytest.raises(ValueError, match="repeats: got 0"):
            device.run([], [], repeats=0)


def test_blocks_go_where_place_says(standin: Standin) -> None:
    with Device() as device:
        ops = [
            Operation(stream=s, blocks=b, threads=32 * w, regs=r, smem=m, ns=10**6)
            for s, (b, w, r, m) in enumerate([(16, 16, 0, 0), (6, 2, 60, 0), (9, 5, 0, 30_000)])
        ]
        run = device.run(ops, repeats=2)
        assert run.resident_at_once.all()
        expected = gs.place(
            device.gpu.replace(carveout_rule="ignore"),  # all prefer the same one
            blocks=[op.blocks for op in ops],
            threads=[op.threads for op in ops],
            regs=run.regs,
            smem=[op.smem for op in ops],
        )
        assert run.block_sm.tolist() == [expected.sm.tolist()] * 2
        assert gs.io.check_rules(run.log(1), device.gpu, tolerance=8000) == []


def test_log_of_streams_and_priorities(standin: Standin, tmp_path: Path) -> None:
    with Device() as device:
        full = device.gpu.sms * 2
        ops = [
            Operation(0, full, 1024, ns=10**5, name="first"),
            Operation(0, 3, 64, ns=1000, name="second"),
            Operation(1, full, 1024, ns=10**5, name="low", at=10_000),
            Operation(2, full, 1024, ns=10**5, name="high", at=20_000),
        ]
        run = device.run(ops, [Stream(), Stream(), Stream(-5)])
        log = run.log()
        assert (np.argsort(run.first[0]) == [0, 3, 2, 1]).all()
        gs.io.write_examiner(tmp_path, log, device.gpu)
        assert gs.io.check_rules(gs.io.read_examiner(tmp_path), device.gpu, tolerance=8000) == []


def test_null_stream(standin: Standin) -> None:
    ops = [Operation(0, ns=1000), Operation(1, ns=1000), Operation(2, ns=1000)]
    with Device() as device:
        run = device.run(ops, [Stream(kind="blocking"), Stream(kind="null"), Stream()])
        assert run.first[0, 1] >= run.last[0, 0]
        assert run.first[0, 2] < run.last[0, 1] + 3000
        with pytest.raises(ValueError, match="stream kind: got 'other', expected one of"):
            device.run(ops, [Stream(kind="other")] * 3)


def test_copies(standin: Standin) -> None:
    with Device() as device:
        ops = [
            Operation(s, kind=kind, bytes=1 << 20) for s, kind in enumerate(["copy_in", "memset"])
        ]
        run = device.run([*ops, Operation(2, ns=100)])
        assert run.elapsed[0] > 2 * (1 << 20) / 16
        assert run.first.tolist()[0][:2] == [-1, -1]
        assert len(run.log()) == 1


def test_calibration(standin: Standin) -> None:
    with Device() as device:
        shape = Operation(blocks=40, threads=256)
        for ns in (20_000, 300_000):
            steps = device.iterations(shape, ns)
            run = device.run([replace(shape, iterations=steps)], repeats=3)
            assert abs(int((run.block_end - run.block_start).max()) - ns) <= 64
        assert device.iterations(replace(shape, bytes=1 << 16), 10**5) < device.iterations(
            shape, 10**5
        )


def test_clock_offset(standin: Standin) -> None:
    standin.set(skew=123_456_789)
    with Device() as device:
        low, high = device.offset(5)
        assert low <= -123_456_789 <= high + 32
        assert high - low < 10_000


def test_green_context(standin: Standin) -> None:
    with Device() as device:
        run = device.run([Operation(blocks=64, threads=1024, ns=1000)], sms=5)
        assert run.sms == 8
        assert set(run.sm(0)) == set(range(8))
        assert device.run([Operation(blocks=64, threads=1024, ns=1000)], sms=16).sms == 16


# The kernels, and the build


def test_kernel_arguments_agree(tmp_path: Path) -> None:
    """The struct that host and kernel share, field by field."""
    host = (CSRC / "cuda/device.h").read_text()
    kernel = (CSRC / "cuda/spin.cu").read_text()
    ours = re.search(r"typedef struct \{([^}]*)\} gs_cuda_spin_t;", host)
    theirs = re.search(r"struct gs_spin_t \{([^}]*)\};", kernel)
    assert ours is not None and theirs is not None
    names = [re.findall(r"(\w+);(?=\s)", re.sub(r"//.*", "", f[1])) for f in (ours, theirs)]
    assert names[0] == names[1] and len(names[0]) == 7
    assert set(re.findall(r"gs_spin_\d|gs_fault", kernel)) == {
        *(f"gs_spin_{i}" for i in range(8)),
        "gs_fault",
    }


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize(
    ("wanted", "nvcc", "told"),
    [
        ("0", "exit 1", "GPUSCHED_CUDA was 0"),
        ("auto", None, "built without the CUDA toolkit: no nvcc was found"),
        ("auto", "echo broken 'installation' >&2; exit 1", "failed: broken installation"),
        ("auto", "echo what", "does not say its version"),
        ("1", "exit 1", "GPUSCHED_CUDA=1: built without kernels: "),
        ("2", "exit 1", "GPUSCHED_CUDA=2: must be auto, 0 or 1"),
    ],
)
def test_build_says_why_it_has_no_kernels(
    tmp_path: Path, wanted: str, nvcc: str | None, told: str
) -> None:
    """compile_kernels of setup.py, with another nvcc."""
    (tmp_path / "bin").mkdir()
    if nvcc is not None:
        (tmp_path / "bin/nvcc").write_text(f"#!/bin/sh\n{nvcc}\n")
        (tmp_path / "bin/nvcc").chmod(0o755)
    code = """
import re, shutil, sys, types
import setuptools
setuptools.setup = lambda **_: None
path = sys.argv[1]
module = types.ModuleType("build")
module.__file__ = path
text = open(path).read().replace('"/usr/local/cuda/bin"', '"/nowhere"')
exec(compile(text, path, "exec"), module.__dict__)
try:
    print("\\n".join(module.compile_kernels()))
except SystemExit as error:
    print(error)
"""
    environment = clean_environment(GPUSCHED_CUDA=wanted, CUDA_HOME=str(tmp_path), PATH="/nowhere")
    environment.pop("CUDA_PATH", None)
    if nvcc is not None:
        environment["PATH"] = "/bin:/usr/bin"
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT / "setup.py")],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
    )
    assert told in done.stdout, done.stdout + done.stderr


@pytest.mark.long
def test_toolkits_that_do_not_know_all_devices(tmp_path: Path) -> None:
    """compile_kernels of a copy of the project, with an nvcc that notes what it was asked for."""
    documents = ("pyproject.toml", "README.md")
    for name in ("setup.py", *documents, "gpusched/_version.py", "csrc/cuda/spin.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "build/cuda").mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    nvcc = tmp_path / "bin/nvcc"
    code = """
import setuptools, sys, types
setuptools.setup = lambda **_: None
module = types.ModuleType("build")
module.__file__ = sys.argv[1]
exec(compile(open(sys.argv[1]).read(), "setup.py", "exec"), module.__dict__)
print(*module.compile_kernels())
"""
    for release, knows in (("11.7", False), ("11.8", True), ("13.0", True)):
        nvcc.write_text(f"""#!/bin/sh
[ "$1" = --version ] && echo "release {release}, V{release}" && exit
echo "$@" > {tmp_path}/arguments
while [ "$1" != -o ]; do shift; done
echo > "$2"
""")
        nvcc.chmod(0o755)
        environment = clean_environment(GPUSCHED_CUDA="1", CUDA_HOME=str(tmp_path))
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "setup.py")],
            capture_output=True,
            text=True,
            env=environment,
            timeout=120,
        )
        major, minor = release.split(".")
        assert f"GS_CUDA_TOOLKIT {major}0{minor}0" in done.stdout, done.stdout + done.stderr
        arguments = (tmp_path / "arguments").read_text()
        assert ("code=sm_90" in arguments) == knows
        assert "code=sm_80" in arguments and "code=compute_75" in arguments


def test_runs_without_kernels(standin: Standin) -> None:
    with Device() as device:
        run = device.run([Operation(kind="memset", bytes=64)], repeats=2)
        assert run.resident_at_once.tolist() == [True, True]
        with pytest.raises(ValueError, match="operations: got no kernel, expected at least one"):
            _ = run.clock_offset
        with pytest.raises(ValueError, match="repeat: got 2, expected 0 to 1"):
            device.run([Operation()], repeats=2).log(2)


def test_a_log_of_a_long_run_keeps_its_own_time(standin: Standin) -> None:
    """A clock that gains 100 millionths: the offset of one repetition is not that of another."""
    standin.set(drift=100)
    with Device() as device:
        run = device.run([Operation(ns=10**8)] * 3, repeats=8)
        low, high = run.clock_offset
        assert low > high  # of all repetitions there is none
        for repeat in (0, 7):
            launch, first = run.log(repeat).launch, run.first[repeat]
            assert (first[0] - launch[0]) < 20_000


def test_copies_of_a_stream_share_their_memory(standin: Standin) -> None:
    standin.set(memory=5 << 20)
    with Device() as device:
        many = [Operation(i % 4, kind="memset", bytes=1 << 20) for i in range(100)]
        assert device.run([*many, Operation(4, ns=5, bytes=4096)]).elapsed[0] > 100 * (1 << 20) / 16
        with pytest.raises(CudaError, match="OUT_OF_MEMORY"):
            device.run([replace(op, stream=i % 6) for i, op in enumerate(many)])


def test_the_driver_may_refuse_what_does_not_fit(standin: Standin) -> None:
    with Device() as device:
        standin.fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, 1)
        check = device.check_occupancy(threads=[32], smem=[0])
        assert check.driver[0] == 0 and len(check.differences()) == 1
        standin.fail("cuOccupancyMaxActiveBlocksPerMultiprocessor", 1, 2)
        with pytest.raises(CudaError, match="OUT_OF_MEMORY"):
            device.check_occupancy(threads=[32], smem=[0])


def test_channels_are_set_before_the_driver_is_opened(standin: Standin) -> None:
    code = """
import os
from gpusched import _core
from gpusched.cuda import device
from gpusched.cuda import driver
opened = _core.cuda_driver
def look(path):
    print(os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS"))
    return opened(path)
_core.cuda_driver = look
device.Device(channels=3).close()
"""
    assert python(code, GPUSCHED_CUDA_DRIVER=standin.path) == "3"
