"""Programs outside of the package that use the runtime library: built as users build them, run,
and their logs compared with answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from native import CSRC, Compiler, clean_environment
from quiet_machine import judge

import gpusched as gs

FOLDER = Path(__file__).parent
ROOT = CSRC.parent
C = FOLDER.parent / "c"
SECONDS = 600  # of a program that hangs
SLACK = 4  # times the delay of the control thread of the same run, and 1 ms
LOOSE = 10**12  # ns, of verdicts that are about orders

pytestmark = pytest.mark.skipif(
    bool(os.environ.get("GPUSCHED_SANITIZE")), reason="links what pip installs"
)


def run(*command: str | Path, status: int = 0, **environment: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=clean_environment(**environment),
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, compiler: Compiler) -> dict[str, Path]:
    """The programs, compiled with what ``gpusched config`` prints."""
    cxx = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(cxx[0]) is None:
        pytest.skip("needs a C++ compiler (CXX or c++)")
    folder = tmp_path_factory.mktemp("programs")
    flags = [*shlex.split(gs.rt.cflags()), "-Wall", "-Wextra", "-pedantic", "-Werror"]
    libs = shlex.split(gs.rt.libs())
    made = {name: folder / name for name in ("player", "locked")}
    source = FOLDER / "player_program.cpp"
    run(*cxx, "-std=c++17", *flags, source, *libs, "-o", made["player"])
    source = FOLDER / "locked_program.c"
    run(*compiler.command, "-std=c11", *flags, source, *libs, "-o", made["locked"])
    return made


def kernel(ms: int) -> gs.Kernel:
    return gs.Kernel(f"{ms}ms", blocks=8, threads=256)


TASKS = (("camera", 60, 4, 12, 1), ("lidar", 120, 6, 20, 0))


def workload() -> gs.Workload:
    tasks = [
        gs.Task(name, f"{period}ms", [gs.CPU(f"{cpu}ms"), kernel(gpu)])
        for name, period, cpu, gpu, _ in TASKS
    ]
    return gs.Workload(tasks, tick="us")


@pytest.mark.parametrize("way", ["mpcp", "fmlp_plus", "gpu_server"])
@pytest.mark.parametrize("fault", ["none", "slow", "early", "two"])
def test_tasks_that_take_turns(
    built: dict[str, Path], way: str, fault: str, tmp_path: Path
) -> None:
    if fault == "two" and way == "gpu_server":
        pytest.skip("a server has no lock to be left out")
    answer = gs.analyze(workload(), gs.Platform("Xavier", cpus=3), way)
    assert answer.schedulable
    given = [":".join(map(str, task)) for task in TASKS]
    expected = {"none": set(), "slow": {"segment"}, "early": {"release"}, "two": {"two holders"}}

    def attempt(number: int) -> gs.Kept | None:
        jitter = int(run(built["locked"], tmp_path / "log", way, "3", fault, *given))
        log = gs.io.read_run_log(tmp_path / "log")
        found = gs.kept(answer, log, tolerance=10**6 + SLACK * jitter)
        rules = {finding.rule for finding in found.broken}
        assert found.jobs.tolist() == [3, 3]
        assert not rules & {"order", "urgency"}, found
        return None if expected[fault] <= rules and (fault != "none" or found.kept) else found

    judge(attempt)


def plan() -> gs.Schedule:
    answer = gs.analyze(workload(), gs.Platform("Xavier", cpus=3), "pbs")
    assert answer.schedule is not None
    return answer.schedule.with_tick("us")


def test_a_schedule_that_is_played(built: dict[str, Path], tmp_path: Path) -> None:
    plan().save(tmp_path / "plan.json")

    def attempt(number: int) -> gs.Kept | None:
        assert run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2") == "0\n"
        log = gs.io.read_run_log(tmp_path / "log")
        assert log.name == plan().tasks.name
        assert gs.kept(plan(), log, tolerance=LOOSE).kept
        log.to_chrome_trace(tmp_path / "trace.json")
        found = gs.kept(plan(), log, tolerance=10**7)
        return None if found.kept else found

    judge(attempt)
    run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2", "slow")
    slow = gs.kept(plan(), gs.io.read_run_log(tmp_path / "log"), tolerance=10**7)
    assert "batch length" in {finding.rule for finding in slow.broken}
    log_size = (tmp_path / "log").stat().st_size
    (tmp_path / "plan.json").write_text("{}")
    run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2", status=2)
    assert (tmp_path / "log").stat().st_size == log_size


def forked() -> gs.Schedule:
    """Two branches between a task and another one, with a tick."""
    tasks = gs.KernelTasks([100] * 4, [20, 30, 30, 20], name=["in", "left", "right", "out"])
    times = {(0,): 20, (1,): 30, (2,): 30, (3,): 20, (1, 2): 40}
    graph = gs.KernelGraph(tasks, [[], "in", "in", ["left", "right"]])
    made = gs.pbs.search(graph, gs.BatchTable.from_dict(tasks, times)).schedule
    return made.with_tick("ms")


def test_jobs_that_need_others_are_played_behind_them(
    built: dict[str, Path], tmp_path: Path
) -> None:
    forked().save(tmp_path / "plan.json")
    assert run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2") == "0\n"
    log = gs.io.read_run_log(tmp_path / "log")
    found = gs.kept(forked(), log, tolerance=LOOSE)
    assert found.kept, found
    document = json.loads((tmp_path / "plan.json").read_text())
    document["frames"][0]["batch"], document["frames"][2]["batch"] = [[3, 0]], [[0, 0]]
    (tmp_path / "plan.json").write_text(json.dumps(document))
    run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2", status=2)
    document["version"] = 3
    (tmp_path / "plan.json").write_text(json.dumps(document))
    run(built["player"], tmp_path / "plan.json", tmp_path / "log", "2", status=2)


def test_a_player_leaks_nothing(built: dict[str, Path], tmp_path: Path) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    plan().save(tmp_path / "plan.json")
    options = ("-q", "--error-exitcode=9", "--leak-check=full")
    arguments = (tmp_path / "plan.json", tmp_path / "log", "1")
    assert run("valgrind", *options, built["player"], *arguments) == "0\n"


@pytest.mark.parametrize("make", [plan, forked])
def test_the_header_of_a_schedule(
    compiler: Compiler, tmp_path: Path, make: Callable[[], gs.Schedule]
) -> None:
    """The plan of the header is that of the file."""
    made = make()
    made.save(tmp_path / "plan.json")
    made.save_header(tmp_path / "plan.h")
    program = tmp_path / "same.c"
    program.write_text(
        """
#include <gpusched/rt.h>
#include "plan.h"
#include <string.h>
#define SAME(part, size) (memcmp(plan.part, read->part, (size) * sizeof *plan.part) == 0)
int main(int count, char **arguments)
{
    gs_rt_plan_t *read;
    if (count != 2 || gs_rt_plan_read(arguments[1], &read) < 0) return 1;
    if (plan.tick != read->tick || plan.hyperperiod != read->hyperperiod) return 2;
    if (plan.tasks != read->tasks || plan.frames != read->frames) return 3;
    if (plan.entries != read->entries || plan.masks != read->masks) return 4;
    for (int i = 0; i < plan.tasks; i++) {
        if (strcmp(plan.task[i].name, read->task[i].name) != 0) return 5;
        if (plan.task[i].period != read->task[i].period) return 6;
        if (plan.task[i].deadline != read->task[i].deadline) return 7;
    }
    if (!SAME(entry, plan.entries) || !SAME(mask, plan.masks)) return 8;
    for (int f = 0; f < plan.frames; f++) {
        const gs_rt_plan_frame_t *a = &plan.frame[f], *b = &read->frame[f];
        if (a->start != b->start || a->end != b->end || a->first != b->first) return 9;
        if (a->count != b->count || a->lacked != b->lacked) return 10;
    }
    if (plan.needs != read->needs || !SAME(need, plan.needs)) return 12;
    gs_rt_player_options_t options = {.cpu = -1};
    gs_rt_player_t *player;
    if (gs_rt_player_open(read, &options, &player) < 0) return 11;
    gs_rt_player_close(player);
    gs_rt_plan_free(read);
    return 0;
}
"""
    )
    flags = shlex.split(gs.rt.cflags()), shlex.split(gs.rt.libs())
    run(*compiler.command, "-std=c11", *flags[0], program, *flags[1], "-o", tmp_path / "same")
    run(tmp_path / "same", tmp_path / "plan.json")


@pytest.mark.long
@pytest.mark.parametrize("make", [plan, forked])
def test_damaged_schedules_are_refused(
    compiler: Compiler, tmp_path: Path, make: Callable[[], gs.Schedule]
) -> None:
    """Every truncation, and bytes that are changed, under AddressSanitizer."""
    make().save(tmp_path / "plan.json")
    program = tmp_path / "read.c"
    program.write_text(
        """
#include "rt/rt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int count, char **arguments)
{
    static char text[1 << 16], other[1 << 16];
    FILE *file = fopen(arguments[1], "rb");
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    unsigned seed = 1;
    int read = 0;
    for (size_t k = 0; k < size + 1500; k += k < size ? 7 : 1) {
        size_t length = k < size ? k : size;
        memcpy(other, text, size);
        for (int changes = 0; k >= size && changes < 1 + (int)(k % 3); changes++) {
            seed = seed * 1664525u + 1013904223u;
            other[(seed >> 8) % size] = "0123456789[]{},:\\"\\\\u-n"[(seed >> 4) % 21];
        }
        file = fopen(arguments[2], "wb");
        fwrite(other, 1, length, file);
        fclose(file);
        gs_rt_plan_t *plan;
        gs_rt_player_t *player;
        gs_rt_player_options_t options = {.cpu = -1};
        if (gs_rt_plan_read(arguments[2], &plan) == GS_RT_OK) {
            read++;
            if (gs_rt_player_open(plan, &options, &player) == GS_RT_OK) {
                gs_rt_player_close(player);
            }
            gs_rt_plan_free(plan);
        }
    }
    return count != 3 || read == 0;
}
"""
    )
    sources = [*sorted((CSRC / "rt").glob("*.c"))]
    sources += [CSRC / "io/json_tokens.c", CSRC / "io/json_numbers.c"]
    sources += [CSRC / "core/context.c", CSRC / "core/vector.c"]
    checked = replace(compiler, sanitizers="address,undefined")
    checked.run(f"-I{CSRC}", program, *sources, "-pthread", "-o", tmp_path / "read")
    run(tmp_path / "read", tmp_path / "plan.json", tmp_path / "damaged.json")


CUDA = """
typedef int cudaError_t;
typedef struct a *cudaStream_t; typedef struct b *cudaEvent_t; typedef struct c *cudaGraphExec_t;
enum { cudaSuccess = 0, cudaErrorNotReady = 600 };
extern "C" cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
extern "C" cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
extern "C" cudaError_t cudaEventQuery(cudaEvent_t);
"""


def test_the_callbacks_of_the_guide(tmp_path: Path) -> None:
    """They compile without warnings, with declarations as in CUDA's header."""
    cxx = shlex.split(os.environ.get("CXX", "c++"))
    if shutil.which(cxx[0]) is None:
        pytest.skip("needs a C++ compiler (CXX or c++)")
    text = (ROOT / "notebooks/guide/runtime.md").read_text()
    (code,) = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    use = "gs_rt_work_t work_of(Network *n) { return {n, submit, wait_for}; }\n"
    source = tmp_path / "guide.cpp"
    source.write_text(f"#include <gpusched/rt.h>\n#include <ctime>\n{CUDA}{code}{use}")
    flags = shlex.split(gs.rt.cflags())
    run(*cxx, "-std=c++17", *flags, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", source)


@pytest.mark.parametrize("tool", ["cmake", "pkg-config"])
def test_other_builds_find_the_library(tool: str, compiler: Compiler, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    source = tmp_path / "main.c"
    source.write_text(
        "#include <gpusched/rt.h>\n"
        "int main(void) { return gs_rt_version() != GPUSCHED_RT_VERSION || gs_rt_now() < 1; }\n"
    )
    library = gs.rt.get_library_dir()
    if tool == "pkg-config":
        flags = run(
            tool, "--cflags", "--libs", "gpusched-rt", PKG_CONFIG_PATH=f"{library}/pkgconfig"
        )
        run(*compiler.command, source, *shlex.split(flags), "-o", tmp_path / "main")
        run(tmp_path / "main")
        return
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.13)\nproject(consumer C)\n"
        "find_package(gpusched REQUIRED)\nadd_executable(main main.c)\n"
        "target_link_libraries(main gpusched::rt)\n"
    )
    found = f"-Dgpusched_DIR={library}/cmake/gpusched"
    run(tool, found, "-S", tmp_path, "-B", tmp_path / "build")
    run(tool, "--build", tmp_path / "build")
    run(tmp_path / "build/main")


@pytest.mark.long
@pytest.mark.parametrize("name", ["test_rt_lock", "test_rt_player"])
def test_threads_of_the_runtime_under_tsan(name: str, compiler: Compiler, tmp_path: Path) -> None:
    checked = replace(compiler, sanitizers="thread")
    sources = [path for path in sorted((CSRC / "rt").glob("*.c")) if path.stem != "gpu_lock"]
    sources += [CSRC / "io/json_tokens.c", CSRC / "io/json_numbers.c"]
    sources += [CSRC / "core/context.c", CSRC / "core/vector.c"]
    if name == "test_rt_player":
        sources.append(CSRC / "rt/gpu_lock.c")
    flags = ("-fsanitize=thread", "-pthread", "-x", "c", "-", "-o", str(tmp_path / "works"))
    works = subprocess.run(
        [*compiler.command, *flags], input="int main(void) { return 0; }", text=True
    )
    if works.returncode or subprocess.run([tmp_path / "works"]).returncode:
        pytest.skip("ThreadSanitizer does not work here")
    program = tmp_path / name
    checked.run(f"-I{CSRC}", f"-I{C}", C / f"{name}.c", *sources, "-pthread", "-o", program)
    run(program, "threads", TSAN_OPTIONS="exitcode=66")
