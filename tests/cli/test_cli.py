"""The command line, in an empty folder: each command once as a program, otherwise by its main."""

import functools
import gzip
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run

import gpusched as gs
from gpusched.cli.main import main

pytestmark = pytest.mark.python

TRACE = Path(__file__).parents[1] / "data" / "pipeline.pt.trace.json"
RANGES = Path(__file__).parents[1] / "data" / "perception.pt.trace.json.gz"
NEEDS_MATPLOTLIB = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None, reason="draws with matplotlib"
)


def run_program(folder, *arguments, env=None):
    return subprocess.run(
        [sys.executable, "-m", "gpusched", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
    )


def refused(folder, *arguments, by=run):
    """The one line on stderr, of a command that fails with 2 and leaves nothing behind."""
    before = sorted(folder.iterdir())
    done = by(folder, *arguments)
    assert done.returncode == 2, done
    assert sorted(folder.iterdir()) == before
    return done.stderr


@NEEDS_MATPLOTLIB
def test_sweep_prints_the_table_and_draws_it(tmp_path):
    arguments = ("sweep", "--count", "10", "--seed", "3")
    done = run_program(tmp_path, *arguments, "--csv", "fig4.csv")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    expected = gs.experiments.gpusched_fig4(count=10, seed=3, progress=False)
    assert done.stdout.startswith(expected.to_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fig4.csv", "gpusched_fig4.png"]
    assert (tmp_path / "gpusched_fig4.png").read_bytes()[:4] == b"\x89PNG"
    assert len((tmp_path / "fig4.csv").read_text().splitlines()) == 91
    again = run(tmp_path, *arguments, "--workers", "1", "--panel", "b", "--output", "b.svg")
    assert again.stdout.split("\n\n")[0] in done.stdout
    assert (tmp_path / "b.svg").read_text().startswith("<?xml")


def test_sweep_refuses_before_it_works(tmp_path):
    line = refused(tmp_path, "sweep", "--output", "no/where.png")
    assert line == "gpusched sweep: no/where.png: expected an existing folder\n"
    line = refused(tmp_path, "sweep", "--output", "fig4.xyz")
    assert line.startswith("gpusched sweep: fig4.xyz: got the ending 'xyz', expected one of")
    assert line.count("\n") == 1
    for option, value, text in (
        ("--count", "0", "got 0, expected a positive number"),
        ("--count", "x", "invalid whole number value: 'x'"),
        ("--seed", "-1", "got -1, expected a non-negative number"),
        ("--panel", "d", "invalid choice: 'd'"),
        ("--tasks", "25", "got 25, expected at most 24"),
    ):
        assert text in refused(tmp_path, "sweep", option, value)


@NEEDS_MATPLOTLIB
def test_parts_of_a_sweep_are_merged(tmp_path):
    arguments = ("sweep", "--panel", "a", "--count", "7", "--tasks", "3")
    study = "gs.experiments.gpusched_fig4: 10 points"
    for part, sets in ((0, 30), (1, 40)):
        shard = ("--store", f"part{part}", "--shard", f"{part}/2")
        done = run(tmp_path, *arguments, *shard)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"{study}, {sets} task sets, {70 - sets} are missing\n"
    held = run(tmp_path, "store", "part0")
    assert held.returncode == 1 and "budget: null\n" in held.stdout
    assert "slowdown='small', utilization=0.2, n=3, index=0          3        4" in held.stdout
    alone = run(tmp_path, "merge", "alone", "part1")
    assert alone.returncode == 1 and "30 are missing" in alone.stdout
    both = run(tmp_path, "merge", "all", "part0", "part1")
    assert both.returncode == 0, both.stderr
    assert both.stdout == f"{study}, 70 task sets, complete\nwrote all\n"
    assert run(tmp_path, "store", "all").returncode == 0
    whole = run(tmp_path, *arguments, "--store", "all")
    assert whole.stdout == run(tmp_path, *arguments).stdout
    line = refused(tmp_path, "merge", "all", "part0", "part1")
    assert line == "gpusched merge: all: got a file, expected a new name\n"
    assert refused(tmp_path, "sweep", "--shard", "0/2").startswith("gpusched sweep: --shard: exp")
    assert "got 2/2, expected I/K with I" in refused(tmp_path, "sweep", "--shard", "2/2")
    assert "invalid part value: '2'" in refused(tmp_path, "sweep", "--shard", "2")
    line = refused(tmp_path, *arguments, "--seed", "2", "--store", "all")
    assert line.startswith("gpusched sweep: all: got another study: seed is")
    assert "nothing: no such file" in refused(tmp_path, "store", "nothing")


@pytest.mark.long
def test_sweep_without_matplotlib_says_what_to_install(tmp_path):
    hidden = tmp_path / "hide"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import importlib.util, sys\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, *a: None if n == 'matplotlib' else find(n, *a)\n"
        "sys.modules['matplotlib'] = None\n"
    )
    env = {"PYTHONPATH": os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    program = functools.partial(run_program, env=env)
    line = refused(tmp_path, "sweep", "--count", "2", by=program)
    expected = "gpusched sweep: expected matplotlib for drawing: pip install 'gpusched[plot]'\n"
    assert line == expected
    # A trace can be drawn without it.
    out = tmp_path / "out"
    done = program(tmp_path, "trace", TRACE, "--output", out)
    assert done.returncode == 0, done.stderr
    assert (out / "schedule.svg").read_text().startswith("<svg")


@pytest.mark.long
@NEEDS_MATPLOTLIB
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_sweep_can_be_interrupted(tmp_path):
    arguments = ("sweep", "--count", "100000", "--tasks", "8")
    command = [sys.executable, "-m", "gpusched", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    for delay in (2, 10, 40):
        with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
            try:
                time.sleep(delay)
                assert process.poll() is None
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=20)  # the sweep would take minutes
            finally:
                process.kill()
        if process.returncode != -signal.SIGINT:  # on a busy machine, while it still imports
            break
    assert process.returncode == 130
    assert err == "gpusched: interrupted\n"
    assert out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_trace_schedules_its_kernels(tmp_path):
    done = run_program(tmp_path, "trace", TRACE, "--output", "out")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    kernels = gs.io.read_trace(TRACE).choose(5)
    for label in kernels.label:
        assert label in done.stdout
    for name in ("EDFserial: ", "EDFParallel: ", "PBS: "):
        assert name in done.stdout
    schedule = gs.Schedule.load(tmp_path / "out" / "schedule.json").validate()
    assert schedule.tasks.name == tuple(kernels.label)
    events = json.loads((tmp_path / "out" / "schedule.trace.json").read_text())["traceEvents"]
    runs = [e for e in events if e["ph"] == "X" and e["tid"] > 0]
    assert len(runs) == len(schedule.jobs())
    pictures = [p.name for p in (tmp_path / "out").iterdir() if p.suffix in (".png", ".svg")]
    assert len(pictures) == 1


def test_trace_takes_periods_and_slowdowns(tmp_path):
    kernels = gs.io.read_trace(TRACE).choose(2)
    longest = int(kernels.wcet.max())
    arguments = ("trace", TRACE, "--count", "2", "--slowdown", "1,1", "--output", "o")
    done = run(tmp_path, *arguments, "--period", f"{4 * longest}ns")
    assert done.returncode == 0, done.stderr
    found = r"GPU busy \d+% of [\d.]+ [mu]s \(found by edf_serial, computed in [\d.e-]+ ms\)\n"
    assert re.search(found, done.stdout)
    schedule = gs.Schedule.load(tmp_path / "o" / "schedule.json")
    assert schedule.tasks.period.tolist() == [4 * longest] * 2
    done = run(tmp_path, *arguments, "--period", f"{longest}ns,{longest - 1}ns", "--output", "p")
    assert done.returncode == 1, "not schedulable is an answer of its own"
    assert "PBS:         not schedulable: " in done.stdout
    assert "cannot be interrupted for" in done.stdout
    assert not (tmp_path / "p").exists()


def test_trace_refuses(tmp_path):
    def line(*arguments):
        text = refused(tmp_path, "trace", *arguments)
        assert text.startswith("gpusched trace: ")
        assert text.count("\n") == 1, text
        return text.removeprefix("gpusched trace: ")

    assert refused(tmp_path, "trace", "no.json", by=run_program) == refused(
        tmp_path, "trace", "no.json"
    )
    assert "no.json" in line("no.json")
    assert "TX3" in line(TRACE, "--gpu", "TX3")
    assert "expected one that matches a kernel" in line(TRACE, "--pattern", "nothing$")
    assert "expected a regular expression" in line(TRACE, "--pattern", "(")
    assert (
        line(TRACE, "--period", "4ms,5ms")
        == "--period: got 2 times, expected 1 or 5, one per kernel\n"
    )
    assert (
        line(TRACE, "--period", "4") == "--period: got '4', expected a time such as 4ms or 0.5ms\n"
    )
    assert "got '0.5ns', expected a positive whole number" in line(TRACE, "--period", "0.5ns")
    assert line(TRACE, "--period", "4ms", "--utilization", "1") == (
        "--utilization: got it with --period, expected one of them\n"
    )
    assert "utilization: got 9" in line(TRACE, "--utilization", "9")
    (tmp_path / "bad.json").write_text("{")
    assert line("bad.json").startswith("bad.json: ")
    (tmp_path / "file").write_text("")
    assert "file" in line(TRACE, "--output", "file")
    for slowdown in ("tiny", "0.5,1", "2,1", "1,inf", "nan,nan"):
        assert "--slowdown" in refused(tmp_path, "trace", TRACE, "--slowdown", slowdown)


def test_trace_saves_a_workload(tmp_path):
    done = run(
        tmp_path, "trace", RANGES, "--by", "annotation", "--save", "w.toml", "--period",
        "camera=19ms,planner=40ms", "--quantile", "0.9", "--names", "^[cdp]",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    workload = gs.Workload.load(tmp_path / "w.toml")
    asked = gs.io.read_trace(RANGES).workload(
        period={"camera": "19ms", "planner": "40ms"}, quantile="0.9", names="^[cdp]"
    )
    assert workload == asked
    assert workload.names == ("camera", "detector", "planner")
    assert done.stdout.startswith("Workload: 3 tasks, ")
    for note in workload.notes:
        assert f"- {note}" in done.stdout
    assert done.stdout.endswith(
        'wrote w.toml; next: gpusched compare w.toml --gpu "Orin" --cpus N\n'
    )
    done = run(tmp_path, "trace", RANGES, "--by", "stream", "--period", "40ms", "--save", "w.json")
    assert done.returncode == 0, done.stderr
    assert len(gs.Workload.load(tmp_path / "w.json")) == 4
    done = run(tmp_path, "trace", RANGES, "--by", "annotation", "--nesting", "innermost", "--gaps",
               "all")  # fmt: skip
    assert done.returncode == 0 and "wrote" not in done.stdout


def test_trace_refuses_a_workload_of_ranges_without_launch_calls(tmp_path):
    """All GPU work would be left out: a workload without kernels."""
    document = json.loads(gzip.decompress(Path(RANGES).read_bytes()))
    events = [e for e in document["traceEvents"] if e.get("cat") not in ("cuda_runtime",
              "cuda_driver")]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(document | {"traceEvents": events}))
    for by in ("annotation", "step"):
        message = refused(tmp_path, "trace", "t.json", "--by", by, "--names", "camera")
        assert "kernels without their launch calls, expected these calls, which" in message
    done = run(tmp_path, "trace", "t.json", "--by", "kernel", "--period", "40ms")
    assert done.returncode == 0, done.stderr


def test_trace_refuses_options_that_do_not_go_together(tmp_path):
    for arguments, message in (
        (["--save", "w.toml"], "--save: got it without --by, expected both"),
        (["--quantile", "0.5"], "--quantile: got it without --by, expected both"),
        (["--by", "step", "--count", "3"], "--count: got it with --by, expected one of them"),
        (["--by", "step", "--output", "o"], "--output: got it with --by, expected one of them"),
        (["--by", "annotation", "--period", "a=1ms,2ms"], "--period: got '2ms', expected a task"),
        (["--by", "annotation", "--period", "a=1ms,a=2ms"], "each task once"),
        (["--by", "annotation", "--period", "a=1ms"], "expected one of camera, tracker, detector"),
        (["--by", "annotation", "--period", "1"], "period: got '1', expected a number with a unit"),
        (["--by", "annotation", "--quantile", "2"], "quantile: got '2', expected"),
        (["--by", "annotation", "--names", "("], "names: got '(', expected a regular expression"),
        (["--by", "annotation", "--save", "w.csv"], "--save: got 'w.csv', expected a name that"),
    ):
        assert message in refused(tmp_path, "trace", RANGES, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_trace_takes_a_device(tmp_path):
    path = Path(__file__).parents[1] / "data" / "kernels_on_two_gpus.json"
    message = "--device: got None, expected one of 0, 1, on which kernels of"
    assert message in refused(tmp_path, "trace", path)
    assert message in refused(tmp_path, "trace", path, "--by", "kernel")
    assert "--device: got 2, expected one of 0, 1" in refused(tmp_path, "trace", path, "--device=2")
    done = run(tmp_path, "trace", path, "--device", "1")
    assert done.returncode == 0 and done.stdout.splitlines()[2].startswith("b ")
    done = run(tmp_path, "trace", path, "--device", "0", "--by", "kernel", "--period", "1ms")
    assert done.returncode == 0 and "a: period 1ms" in done.stdout


def test_trace_says_what_can_be_done_with_an_amd_gpu(tmp_path):
    path = Path(__file__).parents[1] / "data" / "amd_physical_device_number.json"
    message = refused(tmp_path, "trace", path)
    assert "give --gpu" in message and "AMD GPUs are not supported" in message
    for gpu in ("MI250X", "MI300X", "AMD Instinct MI300A"):
        message = refused(tmp_path, "trace", path, "--gpu", gpu)
        assert f"--gpu: got '{gpu}', expected a GPU of NVIDIA (AMD GPUs are not supp" in message
        assert "workloads made of them" in message
    assert run(tmp_path, "trace", path, "--by", "kernel").returncode == 0
    assert run(tmp_path, "trace", path, "--gpu", "A100").returncode == 0


def test_trace_says_how_to_give_missing_periods(tmp_path):
    document = json.loads(gzip.decompress(Path(RANGES).read_bytes()))
    numbers = iter(range(10**6))
    for event in document["traceEvents"]:
        if event.get("cat") == "user_annotation" and event["name"] == "camera":
            event["name"] = f"camera {next(numbers)}"
    (tmp_path / "t.json").write_text(json.dumps(document))
    message = refused(tmp_path, "trace", "t.json", "--by", "annotation")
    assert "--period: got None for 'camera 0'" in message
    assert "; one period for all tasks: --period 33ms; one task for ranges that" in message
    names = re.search("--names '([^']*)'", message)[1]
    done = run(tmp_path, "trace", "t.json", "--by", "annotation", "--names", names)
    assert done.returncode == 0 and "camera: period" in done.stdout
    message = refused(tmp_path, "trace", TRACE, "--by", "stream")
    assert message.endswith("; one period for all tasks: --period 33ms\n")
    assert run(tmp_path, "trace", TRACE, "--by", "stream", "--period", "33ms").returncode == 0


def test_trace_says_which_utilization_its_periods_have(tmp_path):
    done = run(tmp_path, "trace", TRACE, "--utilization", "3", "--output", "o")
    assert "(asked for: 3): kernels cannot be interrupted, and no period is below" in done.stdout


def test_gpus_lists_the_presets(tmp_path):
    done = run_program(tmp_path, "gpus")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0].split()[:3] == ["preset", "SMs", "threads/SM"]
    assert len(lines) == 1 + len(gs.GPU.presets())
    assert any(line.startswith("pbs2024 ") and " 8 " in line for line in lines)


def test_help_and_version(tmp_path):
    text = run(tmp_path, "--help").stdout
    assert all(command in text for command in ("sweep", "trace", "gpus"))
    for command in ("sweep", "trace", "gpus"):
        done = run(tmp_path, command, "--help")
        assert done.returncode == 0
        assert f"usage: python -m gpusched {command}" in done.stdout
    assert run_program(tmp_path, "--version").stdout == f"gpusched {gs.__version__}\n"
    assert "COMMAND" in refused(tmp_path)


def test_a_command_imports_what_it_needs(tmp_path):
    """Help of one command is there without the modules of others and without the models."""
    loaded = f"import sys; from {main.__module__} import main\n" + (
        "try: main(['check', '--help'])\n"
        "except SystemExit: print(*(name for name in sys.modules if name.startswith('gpusched.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", loaded], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    names = done.stdout.splitlines()[-1].split()
    assert [name for name in names if name.endswith("_command")] == ["gpusched.cli.check_command"]
    assert not any(name.startswith("gpusched.model") for name in names)


def test_every_command_is_in_the_help(tmp_path):
    modules = Path(main.__code__.co_filename).parent.glob("*_command.py")
    added = (
        re.findall(r"^def add_(\w+)", path.read_text("utf-8"), re.MULTILINE) for path in modules
    )
    commands = sorted(name.replace("_", "-") for names in added for name in names)
    listed = run(tmp_path, "--help").stdout
    assert commands == sorted(re.findall(r"^    ([a-z-]+)", listed, re.MULTILINE))


# Streams ------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments", [["gpus"], ["--help"], ["--version"], ["trace", TRACE, "--help"]]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_gone_ends_it_quietly(tmp_path, arguments, unbuffered):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "gpusched", *map(str, arguments)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    os.close(writer)
    # argparse itself ignores errors of its output where that is not buffered
    assert done.returncode in ((0, 141) if unbuffered and "gpus" not in arguments else (141,))
    assert done.stderr == b""


def test_both_streams_of_a_reader_that_has_gone(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "gpusched", "trace", "absent"]
    done = subprocess.run(command, cwd=tmp_path, stdout=writer, stderr=writer, timeout=120)
    os.close(writer)
    assert done.returncode == 141


def test_a_full_disk_is_one_line(tmp_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gpusched", "gpus"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("gpusched") and done.stderr.count("\n") == 1
    assert done.stderr.endswith(": No space left on device\n")


def test_no_standard_output_at_all(tmp_path):
    command = f"exec {sys.executable} -m gpusched gpus >&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.long
def test_a_trace_from_the_standard_input(tmp_path):
    command = [sys.executable, "-m", "gpusched", "trace", "-", "--count", "2"]
    for options in ([], ["--max-bytes", "100"]):
        done = subprocess.run(
            [*command, *options],
            cwd=tmp_path,
            input=TRACE.read_bytes(),
            capture_output=True,
            timeout=120,
        )
        if options:
            assert done.returncode == 2
            assert b"got more than 100 bytes" in done.stderr
        else:
            assert done.returncode in (0, 1) and done.stderr == b""
            assert b"EDFserial" in done.stdout
