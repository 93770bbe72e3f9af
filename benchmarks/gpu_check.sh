#!/usr/bin/env bash
# Everything that only a GPU can show, on a machine with an NVIDIA driver, from a clone:
#
#     benchmarks/gpu_check.sh [FOLDER]        # where the reports go (gpu-check)
#
# With a toolkit (nvcc) the kernels are compiled here. Takes some minutes. A probe that disagrees is
# a finding, not a failure of this script: all of it runs, and the exit code is that of gpu-check.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-gpu-check}
mkdir -p "$out"
unset GPUSCHED_CUDA_DRIVER GPUSCHED_STANDIN

python3 -m venv .venv-gpu 2> /dev/null || python3 -m venv --without-pip .venv-gpu
python=.venv-gpu/bin/python
if $python -m pip --version > /dev/null 2>&1 && $python -m pip install -q setuptools numpy pytest hypothesis; then
    :
else # no network: the packages of the system
    python3 -m venv --system-site-packages --clear --without-pip .venv-gpu
fi
GPUSCHED_CUDA=1 $python setup.py -q build_ext --inplace
export PYTHONPATH=$PWD

nvidia-smi > "$out/nvidia-smi.txt" || true
$python -c "import gpusched as gs; print(gs.cuda.why_not()); print(gs.cuda.devices()); print(gs.cuda.gpu(0))"

# A quick pass first: it shows within a minute whether anything is broken.
$python -m gpusched gpu-check --quick --processes 1 --output "$out/quick.json" | tee "$out/quick.txt" || true
status=0
$python -m gpusched gpu-check --output "$out/full.json" | tee "$out/full.txt" || status=$?

# More streams than channels, and fewer channels than streams.
for channels in 1 8 32; do
    $python - "$channels" << 'PY' 2>&1 | tee -a "$out/channels.txt" || true
import sys

from gpusched.cuda.probes.bench import Bench
from gpusched.cuda.probes.queues import channels
from gpusched.cuda import Device

with Device(0, channels=int(sys.argv[1])) as device:
    print(channels(Bench(device, quick=False)).line())
PY
done

# The dispatcher with real-time priority and locked memory, where the system grants them.
$python - << 'PY' 2>&1 | tee "$out/realtime.txt" || true
import gpusched as gs
from gpusched.cuda.check import schedulable

with gs.cuda.Device(0) as device:
    found = gs.pbs.search(*schedulable(device, quick=False))
    for options in ({}, {"realtime": 80}, {"realtime": 80, "lock_memory": True}):
        try:
            played = gs.cuda.play(found.schedule, device, cycles=1000, wait="poll", **options)
        except OSError as error:
            print(options, "not granted:", error)
        else:
            print(options, played, played.overhead())
PY

# The tests, which need no GPU: on the stand-in driver, with the real one beside it.
$python -m pytest -q tests/cuda/test_cuda.py tests/cuda/test_cuda_play.py tests/cuda/test_cuda_probe.py || true
exit "$status"
