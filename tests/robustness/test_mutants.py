"""Small errors put into the C core on purpose: the C test of the part notices each of them.

A row names a file, a statement that stands there once, what takes its place, and the test that must
fail then. ``benchmarks/mutation_score.py`` does the same with hundreds of random changes.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from native import CSRC, Compiler, clean_environment

pytestmark = [pytest.mark.python, pytest.mark.long]

FOLDER = Path(__file__).parents[1] / "c"
SECONDS = 60
MUTANTS = (
    (
        "core/heap.c",
        "(size_t)((a.time < b.time) | ((a.time == b.time) & (a.item < b.item)))",
        "(size_t)((a.time < b.time) | ((a.time == b.time) & (a.item > b.item)))",
        "test_heap",
    ),
    (
        "core/simplex.c",
        "direction[r] > 1e-9 && self->level[r] / direction[r] < least",
        "direction[r] > 1e-9 && self->level[r] / direction[r] > least",
        "test_prices",
    ),
    (
        "model/schedule.c",
        "!self->idling && idle_until < frame->start",
        "!self->idling && idle_until <= frame->start",
        "test_schedule",
    ),
    (
        "model/schedule.c",
        "p->release < GS_NEVER && p->release + tasks->deadline[i] <= frame->end",
        "p->release < GS_NEVER && p->release + tasks->deadline[i] < frame->end",
        "test_schedule",
    ),
    (
        "pbs/prices.c",
        "!(largest * (double)scale < most)",
        "!(largest * (double)scale <= most)",
        "test_prices",
    ),
    (
        "pbs/prices.c",
        "worth > (gs_int128_t)self->scale * table->completion[b]",
        "worth > (gs_int128_t)self->scale * table->completion[b] + 1",
        "test_prices",
    ),
    (
        "pbs/prices.c",
        "return worth > (gs_int128_t)self->scale * self->window;",
        "return worth >= (gs_int128_t)self->scale * self->window;",
        "test_prices",
    ),
    (
        "pbs/reductions.c",
        "*found = status == GS_OK;",
        "*found = true;",
        "test_faults_pbs",
    ),
    (
        "pbs/reductions.c",
        "gs_periodic_tasks_offset(core, i) <= core->period[i] - core->deadline[i]",
        "gs_periodic_tasks_offset(core, i) < core->period[i] - core->deadline[i]",
        "test_boundaries",
    ),
    (
        "simulate/gpu/gpu_blocks.c",
        "at > 0 && group->freed[at - 1] > position",
        "at > 1 && group->freed[at - 1] > position",
        "test_hierarchy",
    ),
    (
        "simulate/gpu/gpu_blocks.c",
        "        self->flight = flight;\n",
        "",
        "test_hierarchy",
    ),
    (
        "cuda/player.c",
        "cu->StreamSynchronize(self->streams.streams[i])",
        "cu->StreamSynchronize(self->streams.streams[0])",
        "test_cuda_standin",
    ),
    (
        "cuda/player.c",
        "cu->StreamQuery(self->streams.streams[i])",
        "cu->StreamQuery(self->streams.streams[0])",
        "test_cuda_standin",
    ),
    (
        "cuda/player.c",
        "        status = gs_cuda_enter(self->device, &self->ctx);\n",
        "        status = GS_OK;\n",
        "test_cuda_standin",
    ),
    (
        "cuda/player.c",
        "self->device, ctx, cu->CtxSynchronize()",
        "self->device, ctx, GS_CUDA_API_SUCCESS",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "    if (status == GS_OK) { /* the memset is asynchronous */\n",
        "    if (status > GS_OK) {\n",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "    int waited = gs_cuda_done(self->device, ctx, driver->cu.CtxSynchronize(), ",
        "    int waited = gs_cuda_done(self->device, ctx, GS_CUDA_API_SUCCESS, ",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "int waited = gs_cuda_done(self->device, ctx, driver->cu.CtxSynchronize()",
        "int waited = gs_cuda_done(self->device, ctx, driver->cu.StreamSynchronize(NULL)",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "clusters ? attributes : attributes + 1",
        "attributes",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "        .trigger = (uint64_t)plan->trigger[i],\n",
        "",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "        first += plan->kind[i] == GS_CUDA_KERNEL ? plan->blocks[i] : 0;\n",
        "",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "gs_cuda_take(self->device, ctx, self->blocks * ROW_BYTES, &self->log)",
        "gs_cuda_take(self->device, ctx, self->blocks * ROW_BYTES / 2, &self->log)",
        "test_cuda_standin",
    ),
    (
        "cuda/run.c",
        "            self->offset[i] = self->shared[plan->stream[i]];\n",
        "            self->offset[i] = total;\n",
        "test_cuda_standin",
    ),
    (
        "cuda/device.c",
        "    return status == GS_OK ? warm_up(self, ctx) : status;\n",
        "    return status > GS_OK ? warm_up(self, ctx) : status;\n",
        "test_cuda_standin",
    ),
    (
        "cuda/streams.c",
        "self->green[partition]",
        "self->green[0 * partition]",
        "test_cuda_standin",
    ),
    (
        "cuda/streams.c",
        "cu->DevResourceGenerateDesc(&descriptor, &parts[p], 1)",
        "cu->DevResourceGenerateDesc(&descriptor, &parts[0], 1)",
        "test_cuda_standin",
    ),
    (
        "cuda/streams.c",
        "cu->StreamDestroy(self->streams[i])",
        "cu->StreamDestroy(self->streams[0])",
        "test_cuda_standin",
    ),
)


@pytest.mark.parametrize(
    ("file", "old", "new", "test"),
    MUTANTS,
    ids=[f"{Path(file).stem}-{i}" for i, (file, *_) in enumerate(MUTANTS)],
)
def test_a_mutant_fails_its_test(
    file: str, old: str, new: str, test: str, plain_core: Path, compiler: Compiler, tmp_path: Path
) -> None:
    text = (CSRC / file).read_text()
    assert text.count(old) == 1, f"{file}: got {text.count(old)} of {old!r}, expected one"
    # Beside the file, whose own symbols then take the place of those in the library.
    source, program = tmp_path / Path(file).name, tmp_path / "mutant"
    source.write_text(text.replace(old, new))
    compiler.run(
        f"-I{CSRC}",
        f"-I{(CSRC / file).parent}",
        f"-I{FOLDER}",
        source,
        FOLDER / f"{test}.c",
        plain_core,
        *("-lm", "-ldl", "-pthread"),
        *("-o", program),
        sanitized=False,
    )
    try:
        done = subprocess.run(
            [program], capture_output=True, timeout=SECONDS, env=clean_environment()
        )
    except subprocess.TimeoutExpired:
        return
    assert done.returncode != 0, f"{test} does not notice the change of {file}"
