"""Declarations of the CUDA driver, compared with the headers of NVIDIA."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_declarations import API, DRIVER, compare, header_folders
from native import Compiler


@pytest.fixture
def headers() -> list[Path]:
    folders = header_folders()
    if not folders:
        pytest.skip("needs the cuda.h of CUDA 12.8 or later (GPUSCHED_CUDA_HEADERS, or a toolkit)")
    return folders


def test_declarations_are_those_of_the_headers(
    compiler: Compiler, headers: list[Path], tmp_path: Path
) -> None:
    for include in headers:
        compare(compiler, include, tmp_path)


@pytest.mark.parametrize(
    ("ours", "wrong", "told"),
    [
        ("LAUNCH_FAILED = 719", "LAUNCH_FAILED = 720", "LAUNCH_FAILED"),
        ("ATTRIBUTE_INTEGRATED = 18", "ATTRIBUTE_INTEGRATE = 18", "ATTRIBUTE_INTEGRATE: none of"),
        ("FUNC_NUM_REGS = 4", "FUNC_NUM_REGS = 5", "FUNC_NUM_REGS"),
        ("int ordinal)", "int ordinal, int more)", r"cuDeviceGet: got .*, int, int\)"),
        ("(*CtxSynchronize)(void)", "(*CtxSynchronize)(int all)", "cuCtxSynchronize: got"),
        ("GetErrorName)(gs_cuda_api_result_t error, ", "GetErrorName)(", "cuGetErrorName: got"),
        ("size_t *bytes", "unsigned *bytes", "cuDeviceTotalMem_v2: unsigned, size_t"),
        ("unsigned char value", "int value", "cuMemsetD8_v2: int, unsigned char"),
        (
            "CtxPopCurrent)(gs_cuda_api_handle_t *",
            "CtxPopCurrent)(gs_cuda_api_handle_t ",
            "cuCtxPop",
        ),
        ("MemFreeHost)(void *", "MemFreeHost)(char *", "cuMemFreeHost: got"),
        ("typedef uint64_t gs_cuda_api_ptr_t", "typedef unsigned gs_cuda_api_ptr_t", "ptr_t"),
        ("padding[92]", "padding[88]", "is.sm.sm_count"),
        ("oversize[48]", "oversize[40]", "gs_cuda_api_resource_t"),
        ("unsigned sm_count", "size_t sm_count", "is.sm.sm_count"),
        ("int type", "char type", "type"),
        ("unsigned cluster[3]", "unsigned cluster[2]", "value.cluster"),
        ("uint64_t oversize[8]", "uint64_t oversize[7]", "gs_cuda_api_attribute_t"),
        ("block_z, smem;", "block_z; uint64_t smem;", "smem"),
    ],
)
def test_wrong_declarations_are_found(
    compiler: Compiler, headers: list[Path], tmp_path: Path, ours: str, wrong: str, told: str
) -> None:
    assert ours in API
    for include in headers:
        with pytest.raises(pytest.fail.Exception, match=told):
            compare(compiler, include, tmp_path, api=API.replace(ours, wrong, 1))


@pytest.mark.parametrize(
    ("symbol", "told"),
    [
        ("cuMemAlloc", "cuMemAlloc: size_t, unsigned int"),  # the version of CUDA 3.1
        ("cuMemAlloc_v9", "cuMemAlloc_v9: is not declared"),
    ],
)
def test_functions_are_compared_by_their_symbols(
    compiler: Compiler, headers: list[Path], tmp_path: Path, symbol: str, told: str
) -> None:
    driver = DRIVER.replace('"cuMemAlloc_v2"', f'"{symbol}"')
    assert driver != DRIVER
    for include in headers:
        with pytest.raises(pytest.fail.Exception, match=told):
            compare(compiler, include, tmp_path, driver=driver)
