"""Deep learning accelerators beside the GPUs of presets."""

from __future__ import annotations

from gpusched.model.gpus.gpu_presets import PRESET_NAMES

__all__ = ["MOST_DLAS", "dlas_of_gpu"]

MOST_DLAS = 4
"""Most DLAs beside a GPU."""

# NVIDIA's data sheets of the modules; Orin NX with 16 GB (with 8 GB: one).
_DLAS = {"Xavier": 2, "AGX Orin": 2, "Orin NX": 2}


def dlas_of_gpu(name: str) -> int:
    """The number of DLAs beside a preset; `MOST_DLAS` for other GPUs, of which it is not known.

    >>> from gpusched.model.gpus.dlas import dlas_of_gpu
    >>> dlas_of_gpu("AGX Orin"), dlas_of_gpu("A100"), dlas_of_gpu("a board of mine")
    (2, 0, 4)
    """
    return _DLAS.get(name, 0 if name in PRESET_NAMES else MOST_DLAS)
