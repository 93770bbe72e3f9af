"""Recipes of random programs: numbers by their laws, scripts, sources that compile, round trips."""

from __future__ import annotations

import importlib.resources
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from driver_declarations import header_folders
from native import clean_environment
from recipe_programs import WAYS, answer

import gpusched as gs
from gpusched.deploy.deployment import fifo_priorities, percentage_of, sm_groups
from gpusched.model.gpus.mps_shares import SMs, client_sms

PROGRAMS = 7 * len(WAYS)
DATA = Path(__file__).parents[1] / "data"
COMMANDS: dict[str, dict[str, Any]] = tomllib.loads((DATA / "commands.toml").read_text())
VARIABLES: dict[str, Any] = COMMANDS.pop("variables")  # names, and where they are stated
SCRIPTS = ("setup.sh", "undo.sh", "check.sh", "run.sh")
HIGHEST = 48


@cache
def recipe(seed: int) -> gs.Recipe:
    return gs.recipe(answer(seed))


def text(found: gs.Recipe, name: str) -> str:
    return found.files[name].decode()


# Numbers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_numbers_keep_their_laws(seed: int) -> None:
    given, found = answer(seed), recipe(seed)
    rows = found.tasks
    assert [row["task"] for row in rows] == list(given.workload.names)
    assert all(1 <= row["fifo"] < HIGHEST for row in rows)
    asking = [row for row in rows if row["ceiling"]]
    for row in asking:  # above all tasks, in the order of the tasks, below the interrupts
        assert max(one["fifo"] for one in rows) < row["ceiling"] <= HIGHEST
    order = sorted(asking, key=lambda row: row["fifo"])
    assert [row["ceiling"] for row in order] == sorted({row["ceiling"] for row in asking})
    urgent = [row["urgency"] for row in rows if row["urgency"]]
    assert len(set(urgent)) == len(urgent)
    deadline = {task.name: task.deadline for task in given.workload}
    for one in rows:
        for other in rows:
            if deadline[one["task"]] < deadline[other["task"]]:
                assert one["fifo"] > other["fifo"]
                assert one["urgency"] > other["urgency"] or not other["urgency"]
    if found.way in ("mpcp", "fmlp_plus"):
        assert len(asking) == len(rows)
    hosts = getattr(given.detail, "hosts", None)
    if hosts is not None and found.way not in ("time_slices",):
        assert [row["core"] for row in rows] == hosts.core.tolist()


@pytest.mark.parametrize("seed", [s for s in range(PROGRAMS) if WAYS[s % len(WAYS)] == "mig"])
def test_instances_do_not_overlap(seed: int) -> None:
    (placed,) = re.findall(r"-cgi (\S+) -C", text(recipe(seed), "setup.sh"))
    taken: list[int] = []
    for part, one in zip(placed.split(","), answer(seed).detail.parts, strict=True):  # type: ignore[attr-defined]
        profile, start = part.split(":")
        assert (profile, int(start)) == (one.instance.profile.name, one.instance.start)
        assert int(start) in one.instance.profile.starts
        taken += range(int(start), int(start) + one.instance.profile.memory_slices)
    assert len(set(taken)) == len(taken) and max(taken) < 8


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_parts_fit_the_gpu(seed: int) -> None:
    given, found = answer(seed), recipe(seed)
    gpu = given.platform.gpu
    assert gpu is not None
    if found.way in ("green_contexts", "stgm"):
        (counts,) = re.findall(r"GROUP_SMS\[\] = \{(.*)\}", text(found, "tasks.h"))
        sizes = list(map(int, counts.split(", ")))
        assert sum(sizes) <= gpu.sms
        by_group = {row["group"]: row["sms"] for row in found.tasks if row["group"] >= 0}
        assert by_group == dict(enumerate(sizes))
    if found.way == "stgm":
        locks = re.findall(r", (-?\d+),\s*\d+, true, ", text(found, "tasks.h"))
        groups = [row["group"] for row in found.tasks]
        taken = {group for group in groups if groups.count(group) > 1}
        assert len({lock for lock in locks if lock != "-1"}) == len(taken)
    if found.way == "mps_static":
        chunks = re.findall(r"sm_partition add \$uuid (\d+)", text(found, "setup.sh"))
        unit = {"H100": 8, "A100": 4, "Thor": 2}[gpu.name]
        sms = [size for _, size in given.platform.mps_partitions or ()]
        assert [int(one) * unit for one in chunks] == sms and sum(sms) <= gpu.sms
    if found.way == "mps":
        run = text(found, "run.sh")
        shares = dict(given.platform.mps or ())
        percents = re.findall(r"PERCENTAGE=(\d+)", run)
        assert sorted(map(int, percents)) == sorted(shares.values())


def test_a_percentage_yields_the_sms_and_one_less_does_not() -> None:
    draw = random.Random(1)
    for _ in range(2000):
        sms, unit = draw.randint(1, 200), draw.choice([1, 2])
        wanted = client_sms(SMs(draw.randint(1, sms)), sms, unit)
        try:
            q = percentage_of(SMs(wanted), sms, unit, "p")
        except ValueError as error:  # no percentage yields exactly so many
            assert all(client_sms(q, sms, unit) != wanted for q in range(1, 101))
            assert re.search(
                r"^mps\[p\]: got \d+ SMs, expected a percentage: \d+ % are", str(error)
            )
            continue
        assert client_sms(q, sms, unit) == wanted
        assert q == 1 or client_sms(q - 1, sms, unit) < wanted
    assert percentage_of(37, 132, 1, "p") == 37


def test_priorities_and_their_limits() -> None:
    draw = random.Random(2)
    for _ in range(500):
        count, ceilings, server = draw.randint(1, 60), draw.random() < 0.5, draw.random() < 0.5
        priority = [draw.randint(-5, 60) for _ in range(count)]
        levels = len(set(priority))
        least = levels * (2 if ceilings else 1) + server
        if least > HIGHEST:
            with pytest.raises(ValueError, match=rf"^tasks: got {levels} priorities, expected at"):
                fifo_priorities(priority, ceilings=ceilings, server=server)
            continue
        own, above, served = fifo_priorities(priority, ceilings=ceilings, server=server)
        for i in range(count):
            for j in range(count):
                assert (own[i] > own[j]) == (priority[i] < priority[j])
                assert not ceilings or (above[i] > above[j]) == (own[i] > own[j])
        assert 1 <= min(own) and max(own + above) < (served if server else 49) <= 49
        if ceilings:
            assert min(above) > max(own)


def test_sets_of_sms_become_green_contexts_or_are_refused() -> None:
    low, high, other = frozenset(range(8)), frozenset(range(8, 16)), frozenset(range(4, 12))
    assert sm_groups({"a": low, "b": high, "c": low}, 8, 16) == [("a", "c"), ("b",)]
    with pytest.raises(ValueError, match=r"a and b share 4 SMs of 8 and 8, expected all or none"):
        sm_groups({"a": low, "b": other}, 8, 16)
    part = frozenset(range(8, 13))
    with pytest.raises(ValueError, match=r"got 5 SMs for b, expected a multiple of 8"):
        sm_groups({"a": low, "b": part}, 8, 16)
    assert sm_groups({"b": part, "a": low}, 8, 13) == [("a",), ("b",)]  # the rest of the GPU


# Scripts ------------------------------------------------------------------------------------------

STUB = r"""#!/bin/sh
name="${0##*/}" sent="" all="$*" last=""
if [ "$name" = nvidia-cuda-mps-control ] && [ $# -eq 0 ]; then read -r sent; fi
{
    printf '%s' "$name"
    for word in "$@"; do printf '\t%s' "$word"; last="$word"; done
    printf '\n%s\n' "$sent"
} >> "$STUBS/calls"
get() { cat "$STUBS/state-$1"; }
put() { printf '%s\n' "$2" > "$STUBS/state-$1"; }
case "$name $all" in
    "sysctl -n "*) get throttling ;;
    "sysctl -w "*) put throttling "${last#*=}" ;;
    "systemctl get-default") echo graphical.target ;;
    "systemctl isolate "*) put target "$last" ;;
    "jetson_clocks ") put clocks fixed ;;
    "jetson_clocks --store "*) get clocks > "$last" ;;
    "jetson_clocks --restore "*) put clocks "$(cat "$last")" ;;
    "nvidia-cuda-mps-control -"*) put mps on ;;
    "nvidia-cuda-mps-control "*)
        case "$sent" in
            quit) put mps off ;;
            sm_partition*) echo "Partition GPU-12ab/1 created" ;;
        esac ;;
    *"--query-gpu=persistence_mode"*) get persistence ;;
    *"--query-gpu=compute_mode"*) get compute ;;
    *"--query-gpu=uuid"*) echo GPU-12ab ;;
    *"--query-gpu=mig.mode.current"*) get mig ;;
    *" -pm 1") put persistence Enabled ;;
    *" -pm 0") put persistence Disabled ;;
    *" -lgc "*) put gpu_clock "$last" ;;
    *" -lmc "*) put memory_clock "$last" ;;
    *" -rgc") put gpu_clock free ;;
    *" -rmc") put memory_clock free ;;
    *" -c DEFAULT") put compute Default ;;
    *" -c EXCLUSIVE_PROCESS") put compute Exclusive_Process ;;
    *" -cgi "*) put instances some ;;
    *" -dgi") put instances none ;;
    *" -mig 1") put mig Enabled ;;
    *" -mig 0") put mig Disabled ;;
esac
[ "${FAILS:-}" != "$name" ]
"""
STATE = {
    "throttling": "950000",
    "target": "graphical.target",
    "clocks": "free",
    "mps": "off",
    "persistence": "Disabled",
    "compute": "Default",
    "gpu_clock": "free",
    "memory_clock": "free",
    "mig": "Disabled",
    "instances": "none",
}
STUBBED = ("sysctl", "systemctl", "jetson_clocks", "nvidia-smi", "nvidia-cuda-mps-control")


class Machine:
    """Stub programs that keep a state and record their arguments."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        for name in (*STUBBED, "gpusched"):
            (folder / "bin" / name).write_text(STUB)
            (folder / "bin" / name).chmod(0o755)
        for name, value in STATE.items():
            (folder / f"state-{name}").write_text(value)

    def run(self, script: Path, *arguments: str, **more: str) -> int:
        environment = clean_environment(
            PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}",
            STUBS=str(self.folder),
            GPUSCHED_ROOT=str(self.folder / "root"),
            GPUSCHED_STATE=str(self.folder / "kept"),
            GPU_MHZ="1500",
            MEMORY_MHZ="2600",
            **more,
        )
        done = subprocess.run(
            ["sh", str(script), *arguments], env=environment, capture_output=True, text=True
        )
        return done.returncode

    @property
    def state(self) -> dict[str, str]:
        found = {name: (self.folder / f"state-{name}").read_text().strip() for name in STATE}
        files = [path for path in (self.folder / "root").rglob("*") if path.is_file()]
        return {**found, "files": " ".join(path.name for path in files)}

    @property
    def calls(self) -> list[tuple[str, list[str], str]]:
        path = self.folder / "calls"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        words = [line.split("\t") for line in lines[::2]]
        return [
            (name, given, sent) for (name, *given), sent in zip(words, lines[1::2], strict=True)
        ]


def folder_of(seed: int, tmp_path: Path) -> Path:
    recipe(seed).save(tmp_path / "deploy")
    return tmp_path / "deploy"


@pytest.mark.parametrize("seed", range(len(WAYS)))
def test_undo_takes_back_what_setup_does(seed: int, tmp_path: Path) -> None:
    machine, folder = Machine(tmp_path), folder_of(seed, tmp_path)
    before = machine.state
    assert machine.run(folder / "setup.sh", "robot") == 0
    during = machine.state
    assert during["throttling"] == "-1" and during["files"] == "gpusched.conf"
    assert (during["mps"] != "off") == (recipe(seed).way in ("mps", "mps_static"))
    assert (during["mig"] == "Enabled") == (recipe(seed).way == "mig")
    assert machine.run(folder / "setup.sh", "robot") == 1  # it has been set up
    assert machine.run(folder / "undo.sh") == 0
    assert machine.state == before and not (tmp_path / "kept").exists()
    assert machine.run(folder / "undo.sh") == 0 and machine.state == before
    machine.run(folder / "check.sh")
    for name, given, sent in machine.calls:
        rule = COMMANDS[name]
        for word in given:
            assert any(re.fullmatch(one, word) for one in rule["arguments"]), (name, word)
        if sent:
            assert any(re.fullmatch(one, sent) for one in rule["input"]), sent


@pytest.mark.parametrize("fails", STUBBED)
@pytest.mark.parametrize("way", ["mps_static", "mig"])
def test_a_set_up_that_fails_is_taken_back(way: str, fails: str, tmp_path: Path) -> None:
    machine, folder = Machine(tmp_path), folder_of(WAYS.index(way), tmp_path)
    before = machine.state
    machine.run(folder / "setup.sh", "robot", FAILS=fails)
    machine.run(folder / "undo.sh")
    assert machine.state == before


def words_in_command_position(script: str) -> set[str]:
    """First words of the commands of a script, without assignments before them."""
    found = set()
    script = re.sub(r"^\s*#.*$", "", script, flags=re.M)
    script = re.sub(r"'(?:[^']|'\\'')*'", "_", script)
    for inner in re.findall(r"\$\(([^()]*)\)", script):
        found |= words_in_command_position(inner)
    script = re.sub(r"\$\([^()]*\)", "_", script)
    script = re.sub(r'"[^"]*"', "_", script)
    for part in re.split(r"\n|;|\|\|?|&&|(?<!>)&|\bthen\b|\bdo\b|\{ ", script):
        words = part.split()
        while words and re.match(r"\w+(\[[^]]*\])?=", words[0]):
            words = words[1:]
        if words[:1] == ["if"]:
            words = words[1:]
        if words and not re.fullmatch(r"\w+\(\)", words[0]) and words[0] != "_":
            found.add(words[0])
    return found


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_scripts_have_known_commands_only(seed: int) -> None:
    allowed = {*COMMANDS["shell"]["words"], *COMMANDS} - {"shell"}
    for name in SCRIPTS:
        script = text(recipe(seed), name)
        done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        assert words_in_command_position(script) <= allowed
    assert all(entry["source"] for entry in COMMANDS.values())


@pytest.mark.parametrize("seed", range(len(WAYS)))
def test_scripts_pass_shellcheck(seed: int, tmp_path: Path) -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("needs shellcheck")
    folder = folder_of(seed, tmp_path)
    paths = [str(folder / name) for name in SCRIPTS]
    ignored = "--exclude=SC2034,SC2181"  # variables at the head of all scripts; a status
    done = subprocess.run(
        ["shellcheck", "--severity=warning", ignored, *paths], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


# Sources ------------------------------------------------------------------------------------------


SOURCES = ("mpcp", "pbs", "edf_serial", "one_stream", "green_contexts", "mps")


def compiler() -> list[str]:
    cxx = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(cxx[0]) is None:
        pytest.skip("needs a C++ compiler (CXX or c++)")
    flags = [*shlex.split(gs.rt.cflags()), "-Wall", "-Wextra", "-Werror"]
    return [*cxx, "-std=c++17", *flags]


def syntax(command: list[str], *arguments: str | Path) -> None:
    done = subprocess.run(
        [*command, "-fsyntax-only", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("cuda", [False, True], ids=["timers", "cuda"])
@pytest.mark.parametrize("way", SOURCES)
def test_programs_compile(way: str, cuda: bool, tmp_path: Path) -> None:
    folder = folder_of(WAYS.index(way), tmp_path)
    more = ("-DGPUSCHED_CUDA", f"-I{Path(__file__).parent}") if cuda else ()
    syntax(compiler(), *more, folder / "main.cpp")


@pytest.fixture
def headers() -> list[Path]:
    folders = header_folders()
    if not folders:
        pytest.skip("needs the cuda.h of CUDA 12.8 or later (GPUSCHED_CUDA_HEADERS, or a toolkit)")
    return folders


@pytest.mark.parametrize("way", [*SOURCES, "gpu_server", "stgm"])
def test_programs_compile_with_the_headers_of_cuda(
    way: str, headers: list[Path], tmp_path: Path
) -> None:
    folder = folder_of(WAYS.index(way), tmp_path)
    for include in headers:
        syntax(compiler(), "-DGPUSCHED_CUDA", "-isystem", include, folder / "main.cpp")


def test_a_wrong_call_of_the_driver_does_not_compile(headers: list[Path], tmp_path: Path) -> None:
    folder = folder_of(WAYS.index("green_contexts"), tmp_path)
    source = (folder / "gpu.h").read_text()
    for include in headers:
        for call in ("&groups, rest", "CU_GREEN_CTX_DEFAULT_STREAM", "NON_BLOCKING, priority"):
            assert call in source
            (folder / "gpu.h").write_text(source.replace(call, "nullptr, nullptr"))
            command = [*compiler(), "-fsyntax-only", "-DGPUSCHED_CUDA", "-isystem", str(include)]
            done = subprocess.run(
                [*command, str(folder / "main.cpp")], capture_output=True, env=clean_environment()
            )
            assert done.returncode != 0, call


def test_functions_that_steps_name_are_in_the_headers(headers: list[Path]) -> None:
    texts = [step.text for seed in range(len(WAYS)) for step in recipe(seed).steps]
    named = {name for text in texts for name in re.findall(r"\bcu[A-Z]\w+", text)}
    assert "cuGreenCtxCreate" in named
    for include in headers:
        header = (include / "cuda.h").read_text()
        assert [name for name in sorted(named) if not re.search(rf"\b{name}\(", header)] == []


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_scripts_set_known_variables_only(seed: int) -> None:
    scripts = "\n".join(text(recipe(seed), name) for name in SCRIPTS)
    named = set(re.findall(r"\bCUDA_\w+", scripts))
    assert {"CUDA_MODULE_LOADING", "CUDA_HOME"} <= named <= set(VARIABLES)
    assert all(VARIABLES[name] for name in named)


def test_numbers_of_all_programs_compile(tmp_path: Path) -> None:
    """All headers with numbers, each in a namespace, and their names as they were."""
    parts = ["#include <gpusched/rt.h>\n#include <cstdint>\n"]
    for seed in range(PROGRAMS):
        header = re.sub(r"^#.*$", "", text(recipe(seed), "tasks.h"), flags=re.M)
        checks = [f'static_assert(TASK_COUNT == {len(recipe(seed).tasks)}, "");']
        for row in recipe(seed).tasks:
            size = len(row["task"].encode()) + 1
            checks.append(f'static_assert(sizeof({_literal(row["task"])}) == {size}, "");')
            assert _literal(row["task"]) in header
        used = "inline long long use() { return TASKS[0].period + PHASES[0].ns + GROUP_SMS[0]; }"
        parts.append(f"namespace p{seed} {{\n{header}\n{used}\n{chr(10).join(checks)}\n}}\n")
    source = tmp_path / "all.cpp"
    source.write_text("".join(parts))
    syntax([*compiler(), "-Wno-unused-variable", "-Wno-unused-const-variable"], source)


def _literal(name: str) -> str:
    from gpusched.deploy.program_files import literal

    return literal(name)


# Recipes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(len(WAYS)))
def test_saved_recipes_are_equal(seed: int, tmp_path: Path) -> None:
    found = recipe(seed)
    paths = found.save(tmp_path / "deploy")
    assert sorted(os.listdir(tmp_path / "deploy")) == sorted(map(os.path.basename, paths))
    assert gs.Recipe.load(tmp_path / "deploy") == found
    found.save(tmp_path / "deploy")  # replaces a recipe
    assert os.listdir(tmp_path) == ["deploy"]
    assert str(found).startswith(found.lead) and str(len(found.steps)) in str(found)
    assert gs.WorkloadAnswer.load(tmp_path / "deploy" / "answer.npz") == answer(seed)


def test_nothing_is_written_if_a_file_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = recipe(0)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"got a folder with other files, expected an empty"):
        found.save(tmp_path / "mine")
    with pytest.raises(FileExistsError, match=r"got a file, expected a folder"):
        found.save(tmp_path / "mine" / "notes.txt")
    found.save(tmp_path / "old")
    written = 0

    def fails(descriptor: int) -> None:
        nonlocal written
        written += 1
        if written == 3:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fails)
    for target in ("new", "old"):
        written = 0
        with pytest.raises(OSError, match="No space"):
            found.save(tmp_path / target)
    assert sorted(os.listdir(tmp_path)) == ["mine", "old"]
    assert gs.Recipe.load(tmp_path / "old") == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("format", "other"), "format: got another document"),
        (("version", 2), "version: got 2, expected 1"),
        (("way", 3), "way: got 3, expected str"),
        (("tasks", [{}]), "tasks[0].task: got None, expected str"),
        (("steps", ["a"]), "steps[0].title: got 'a', expected str"),
        (
            ("files", ["../etc/passwd"]),
            "files[0]: got '../etc/passwd', expected the name of a file",
        ),
        (("files", [7]), "files[0]: got 7"),
    ],
)
def test_damaged_recipes_are_refused(change: tuple[str, Any], message: str, tmp_path: Path) -> None:
    folder = folder_of(0, tmp_path)
    values = json.loads((folder / "recipe.json").read_text())
    values[change[0]] = change[1]
    (folder / "recipe.json").write_text(json.dumps(values))
    with pytest.raises(ValueError, match=re.escape(message)):
        gs.Recipe.load(folder)
    (folder / "recipe.json").write_bytes(b"\xff{")
    with pytest.raises(ValueError, match=r"recipe.json: got UnicodeDecodeError, expected JSON"):
        gs.Recipe.load(folder)


def schema() -> Any:
    found = importlib.resources.files("gpusched.deploy") / "recipe.schema.json"
    return json.loads(found.read_text("utf-8"))


def test_the_schema_has_the_keys_that_are_read() -> None:
    from gpusched.deploy import recipe as module

    types = {str: "string", int: "integer", bool: "boolean", list: "array"}
    for key, read in (("tasks", module._TASK_KEYS), ("steps", module._STEP_KEYS)):
        items = schema()["properties"][key]["items"]
        assert set(items["required"]) == set(items["properties"]) == set(read)
        for name, kind in read.items():
            stated = items["properties"][name]
            assert stated.get("type") == types[kind] or stated["enum"] == list(module.KINDS)
    written = recipe(0).document()
    assert set(schema()["required"]) | {"gpusched"} == set(schema()["properties"]) == set(written)


def test_the_schema_takes_what_is_written_and_what_is_read(tmp_path: Path) -> None:
    """A document with one changed value is valid if, and only if, it is read."""
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    checker = jsonschema.Draft202012Validator(schema())
    draw, seen = random.Random(5), {True: 0, False: 0}
    for seed in range(len(WAYS)):
        folder = folder_of(seed, tmp_path / str(seed))
        whole = (folder / "recipe.json").read_text()
        assert not list(checker.iter_errors(json.loads(whole)))
        for _ in range(40):
            document = json.loads(whole)
            part, key = document, draw.choice([key for key in document if key != "gpusched"])
            if key in ("tasks", "steps") and draw.random() < 0.8:
                part = draw.choice(document[key])
                key = draw.choice(list(part))
            if draw.random() < 0.2:
                del part[key]
            else:
                part[key] = draw.choice(["", "a", 1, -3, True, None, [], ["run.sh"], [3], {}, 1.5])
            (folder / "recipe.json").write_text(json.dumps(document))
            try:
                gs.Recipe.load(folder)
                read = True
            except FileNotFoundError:
                continue
            except ValueError:
                read = False
            assert checker.is_valid(document) == read, (key, part.get(key))
            seen[read] += 1
    assert min(seen.values()) > 60, seen


def simple(**more: Any) -> gs.Workload:
    kernel = gs.Kernel("1ms", blocks=8, threads=256)
    return gs.Workload([gs.Task("a", "20ms", [gs.CPU("1ms"), kernel], **more)], tick="us")


@pytest.mark.parametrize(
    ("way", "platform", "message"),
    [
        ("srm", {}, "srm: no stock Linux schedules global EDF"),
        ("container", {}, "container: no stock Linux schedules it"),
        ("gcaps", {}, "https://github.com/rtenlab/gcaps-super-repo"),
        ("pbs", {}, "pbs: got no launch_latency, expected the time"),
        ("mps", {"mps": {"a": gs.SMs(1)}, "gpu": "H200"}, "expected a percentage"),
    ],
)
def test_refusals(way: str, platform: dict[str, Any], message: str) -> None:
    given = {"gpu": "A100", "cpus": 2, **platform}
    with pytest.raises(ValueError, match=message):
        if way == "mps":  # 1 % of 132 SMs is 1 SM, 2 % are 2, and none yields 24
            given["mps"] = {"a": gs.SMs(24)}
        gs.recipe(gs.analyze(simple(), gs.Platform(**given), way))


def test_other_refusals() -> None:
    machine = gs.Platform("A100", cpus=2)
    kernel = gs.Kernel("1ms", blocks=8, threads=64)
    tasks = [gs.Task("a", "2ms", [gs.CPU("1ms"), kernel]), gs.Task("b", "2ms", [kernel])]
    late = gs.Workload(tasks, tick="us")
    undecided = gs.analyze(late, machine, "fmlp_plus")
    assert not undecided.accepted
    with pytest.raises(ValueError, match=r"expected a guarantee; with anyway=True"):
        gs.recipe(undecided)
    lead = gs.recipe(undecided, anyway=True).lead
    assert (
        lead
        == f"{undecided.label} on A100: NOTHING IS GUARANTEED, as the answer guarantees nothing."
    )
    good = gs.analyze(simple(), machine, "mpcp")
    with pytest.raises(ValueError, match=r"cores: got \[3, 3\], expected 2 different CPUs"):
        gs.recipe(good, cores=[3, 3])
    served = gs.analyze(simple(), gs.Platform("A100", cpus=1), "gpu_server")
    if getattr(served.detail, "server", 0) is None:
        with pytest.raises(ValueError, match=r"cores: got 1, expected 2: gpu_server has a thread"):
            gs.recipe(served, cores=[3])
    long = gs.Workload([gs.Task("n" * 70, "20ms", [gs.Kernel("1ms", blocks=8, threads=64)])], "us")
    with pytest.raises(ValueError, match=r"got a name of 70 bytes, expected at most 63"):
        gs.recipe(gs.analyze(long, machine, "mpcp"))


def test_tasks_of_other_processes_release_none() -> None:
    kernel = gs.Kernel("1ms", blocks=8, threads=64)
    tasks = [
        gs.Task("a", "20ms", [kernel], process="x"),
        gs.Task("b", segments=[kernel], after="a", process="y"),
    ]
    answer = gs.analyze(gs.Workload(tasks, tick="us"), gs.Platform("A100", cpus=2), "mpcp")
    with pytest.raises(ValueError, match=r"^b: got a task that a of another process releases, exp"):
        gs.recipe(answer)


def test_a_process_has_no_word_of_the_program() -> None:
    task = gs.Task("a", "20ms", [gs.Kernel("1ms", blocks=8, threads=64)], process="remove")
    answer = gs.analyze(gs.Workload([task], tick="us"), gs.Platform("A100", cpus=2), "mpcp")
    with pytest.raises(ValueError, match=r"^a: got process remove, expected another name"):
        gs.recipe(answer)


def test_copies_are_stated_as_they_are_counted() -> None:
    kernel = gs.Kernel("1ms", blocks=8, threads=256)
    w = gs.Workload([gs.Task("a", "20ms", [gs.CopyIn("1ms"), kernel, gs.CPU("1ms")])], tick="us")
    answer = gs.analyze(w, gs.Platform("A100", cpus=2), "mpcp")
    steps = [step.text for step in gs.recipe(answer).steps if step.title.startswith("Around")]
    assert "copies: copies on engines are GPU time of their GPU segment: a" in steps[0]
