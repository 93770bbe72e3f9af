"""GPUs and occupancy: presets, errors, and numbers computed by hand."""

import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from reference.place import occupancy as twin

import gpusched as gs
from gpusched import _core
from gpusched.model.gpu import occupancy
from gpusched.model.gpus.gpu_presets import SMLimits, limits_of


def gpu(**more):
    return gs.GPU(**{"sms": 8, "threads_per_sm": 2048, "blocks_per_sm": 32, **more})


# Presets and limits


def test_presets_are_what_the_tables_say():
    sms = {
        "TX1": 2,
        "TX2": 2,
        "Xavier": 8,
        "AGX Orin": 16,
        "Thor": 20,
        "Pegasus": 44,
        "GTX 970": 13,
        "RTX 2080": 46,
        "RTX 2080 Ti": 68,
        "V100": 80,
        "A100": 108,
        "RTX 4090": 128,
        "H100": 132,
        "H200": 132,
        "B200": 148,
        "RTX 5090": 170,
        "pbs2024": 8,
        "threads4096": 2,
        "K5000": 8,
        "Pascal 5 SM": 5,
        "T4": 40,
        "Titan V": 80,
        "RTX 3060": 28,
        "RTX 3070": 46,
        "RTX 3080": 68,
        "RTX 3090": 82,
        "A10": 72,
        "L4": 58,
        "L40S": 142,
        "Orin NX": 8,
        "Orin Nano": 8,
        "GH200": 132,
        "A30": 56,
        "H100 PCIe": 114,
        "RTX A6000": 84,
        "A40": 84,
        "A10G": 80,
        "L40": 142,
        "RTX 6000 Ada Generation": 142,
        "RTX 4070": 46,
        "RTX 4080": 76,
        "RTX PRO 6000": 188,
        "H100 NVL": 132,
        "H20": 78,
        "GB200": 152,
    }
    assert {name: gs.GPU.preset(name).sms for name in gs.GPU.presets()} == sms


def test_copy_engines_and_channels_of_presets():
    gpus = {name: gs.GPU.preset(name) for name in gs.GPU.presets()}
    engines: dict[object, set[str]] = {}
    for name, gpu in gpus.items():
        engines.setdefault(gpu.copy_engines, set()).add(name)
    assert engines[1] == {"TX1", "TX2", "Xavier"}
    assert engines[3] == {"RTX 2080 Ti", "T4", "H100", "H200"}
    assert {"GTX 970", "Orin NX", "L4", "GH200"} < engines[2]
    assert engines[None] > {"Thor", "B200", "pbs2024", "H100 PCIe"}
    channels = {name: gpu.channels for name, gpu in gpus.items()}
    assert [channels[name] for name in ("Xavier", "AGX Orin", "Orin Nano")] == [2, 4, 4]
    assert channels["V100"] == channels["RTX 3060"] == channels["Pascal 5 SM"] == 8
    unknown = {"TX1", "TX2", "Thor", "Pegasus", "K5000", "pbs2024", "threads4096"}
    assert {name for name, value in channels.items() if value is None} == unknown


def test_carveouts_of_capabilities():
    for name in gs.GPU.presets():
        gpu = gs.GPU.preset(name)
        if gpu.cc is None or gpu.cc < (7, 0):
            assert (gpu.carveout_rule, gpu.carveouts) == ("ignore", ())
        else:
            assert gpu.carveout_rule == "match"
            assert gpu.carveouts[-1] == gpu.smem_per_sm
    sizes = {name: [size // 1024 for size in gs.GPU.preset(name).carveouts] for name in GPUS}
    assert sizes["V100"] == sizes["Xavier"] == [0, 8, 16, 32, 64, 96]
    assert sizes["T4"] == [32, 64]
    assert sizes["RTX 3060"] == sizes["RTX 4090"] == [0, 8, 16, 32, 64, 100]
    assert sizes["A100"] == sizes["AGX Orin"] == [0, 8, 16, 32, 64, 100, 132, 164]
    assert sizes["H100"] == sizes["B200"] == [*sizes["A100"], 196, 228]


GPUS = ("V100", "Xavier", "T4", "RTX 3060", "RTX 4090", "A100", "AGX Orin", "H100", "B200")


def test_carveouts_and_channels_of_a_gpu():
    plain = gpu()
    assert (plain.carveout_rule, plain.carveouts, plain.channels) == ("ignore", (), None)
    given = gpu(carveouts=[0, 4096])
    assert (given.carveout_rule, given.carveouts) == ("match", (0, 4096))
    assert "carveouts=(0, 4096)" in repr(given) and "carveout_rule" not in repr(given)
    ignored = gs.GPU.preset("V100").replace(carveout_rule="ignore", channels=0)
    assert ignored.carveouts == gs.GPU.preset("V100").carveouts
    assert "channels=0, carveout_rule='ignore'" in repr(ignored)
    assert "no limit" in ignored._repr_html_() and "98,304 bytes (ignore)" in ignored._repr_html_()
    for other in (given, ignored):
        assert pickle.loads(pickle.dumps(other)) == other == eval(repr(other), {"GPU": gs.GPU})
    assert given != plain and ignored != gs.GPU.preset("V100")
    with pytest.raises(
        ValueError, match=r"carveouts: got \(8, 8\), expected at most 16 sizes in as"
    ):
        gpu(carveouts=[8, 8])
    with pytest.raises(ValueError, match=r"carveouts: got .* expected at most 16 sizes"):
        gpu(carveouts=range(17))
    with pytest.raises(ValueError, match=r"carveouts\[1\]: got -1, expected"):
        gpu(carveouts=[0, -1])
    with pytest.raises(ValueError, match="carveouts: got none, expected some with carveout_rule="):
        gpu(carveout_rule="at_least")
    with pytest.raises(ValueError, match="carveout_rule: got 'most', expected"):
        gpu(carveout_rule="most")
    with pytest.raises(ValueError, match="channels: got -1, expected"):
        gpu(channels=-1)


def test_the_papers_own():
    xavier = gs.GPU.preset("xavier")  # [RTAS20], Table I and section III-C
    assert (xavier.sms, xavier.warps_per_sm, xavier.blocks_per_sm) == (8, 64, 32)
    assert xavier.sm_order.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    pegasus = gs.GPU.preset("pegasus")
    assert (pegasus.sms, pegasus.warps_per_sm) == (44, 32)
    pbs = gs.GPU.preset("pbs2024")  # [RTNS24], section 6.1
    assert pbs == gs.GPU(sms=8, threads_per_sm=1024, blocks_per_sm=32, name="pbs2024")
    m = gs.GPU.preset("threads4096")  # [ECRTS17]
    assert m.sms * m.threads_per_sm == 4096
    assert gs.GPU.preset("gtx970").copy_engines == 2
    assert gs.GPU.preset("k5000").sm_order.tolist() == [7, 6, 5, 4, 3, 2, 1, 0]
    assert gs.GPU.preset("pascal5sm").sm_order.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "name",
    [
        "RTX 2080 Ti",
        "rtx2080ti",
        "RTX-2080-TI",
        "GeForce RTX 2080 Ti",
        "NVIDIA GeForce RTX 2080 Ti",
    ],
)
def test_names_need_no_punctuation(name):
    assert gs.GPU.preset(name) == gs.GPU.preset("RTX 2080 Ti")


def test_module_forms():
    assert gs.GPU.preset("H100 SXM5").name == "H100"
    assert gs.GPU.preset("NVIDIA A100-SXM4-40GB").name == "A100"
    assert gs.GPU.preset("NVIDIA H100 PCIe").sms == 114  # fewer than of an H100 SXM
    names = ("NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA A100 80GB PCIe", "A100-PCIE-40GB")
    assert [gs.GPU.preset(name).name for name in names] == ["H100", "H100 NVL", "A100", "A100"]
    assert gs.GPU.preset("NVIDIA GH200 480GB").name == "GH200"
    assert gs.GPU.preset("NVIDIA H200 NVL").name == "H200"
    blackwell = "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"
    assert gs.GPU.preset(blackwell).name == "RTX PRO 6000"
    assert gs.GPU.preset("NVIDIA A10G").sms == 80  # unlike an A10
    with pytest.raises(ValueError, match="A10M"):
        gs.GPU.preset("NVIDIA A10M")


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(
        ValueError, match=r"name: got 'rtx 2070', expected a preset such as RTX [34]070, RTX"
    ):
        gs.GPU.preset("rtx 2070")
    with pytest.raises(
        ValueError, match="name: got 'zzz', expected one of TX1, TX2, Xavier, AGX Orin,"
    ):
        gs.GPU.preset("zzz")
    for name in ("MI250", "AMD Instinct MI300X", "Radeon RX 7900"):
        with pytest.raises(ValueError, match=f"name: got '{name}', .* \\(AMD GPUs are not supp"):
            gs.GPU.preset(name)
    with pytest.raises(TypeError, match="name: got int, expected a string"):
        gs.GPU.preset(2080)


def test_limits_of():
    assert limits_of((8, 0)) == SMLimits(2048, 32, 164 * 1024, 163 * 1024)
    assert limits_of("7.5") == SMLimits(1024, 16, 65536, 65536)
    assert limits_of((12, 1)) == SMLimits(1536, 24, 102400, 101376)
    with pytest.raises(
        ValueError, match=r"cc: got \(4, 2\), expected one of 5\.0, 5\.2, 5\.3, 6\.0, 6\.1, 6\.2,"
    ):
        limits_of((4, 2))
    with pytest.raises(
        ValueError, match=r"cc: got None, expected one of 5\.0, 5\.2, 5\.3, 6\.0, 6\.1, 6\.2,"
    ):
        limits_of(None)


PROPERTIES = {  # a deviceProperties entry of an A100 as PyTorch writes it
    "id": 0,
    "name": "NVIDIA A100-PG509-200",
    "totalGlobalMem": 42297524224,
    "computeMajor": 8,
    "computeMinor": 0,
    "maxThreadsPerBlock": 1024,
    "maxThreadsPerMultiprocessor": 2048,
    "regsPerBlock": 65536,
    "regsPerMultiprocessor": 65536,
    "warpSize": 32,
    "sharedMemPerBlock": 49152,
    "sharedMemPerMultiprocessor": 167936,
    "numSms": 108,
    "sharedMemPerBlockOptin": 166912,
}


def test_from_properties():
    read = gs.GPU.from_properties(PROPERTIES)
    # Such entries do not tell the copy engines, channels and GPCs; the name may.
    known = {"name": "NVIDIA A100-PG509-200", "copy_engines": None, "channels": None}
    known |= {"sms_per_gpc": None}
    assert read == gs.GPU.preset("A100").replace(**known)
    name = "NVIDIA A100-SXM4-80GB"
    read = gs.GPU.from_properties({**PROPERTIES, "name": name})
    assert read == gs.GPU.preset("A100").replace(name=name)
    part = gs.GPU.from_properties({**PROPERTIES, "name": name, "numSms": 42})  # an instance
    assert (part.copy_engines, part.channels, part.sms_per_gpc) == (None, None, None)
    lacking = {k: v for k, v in PROPERTIES.items() if k not in ("numSms", "computeMinor")}
    with pytest.raises(
        ValueError, match="deviceProperties: got no numSms, computeMinor, expected all"
    ):
        gs.GPU.from_properties(lacking)
    with pytest.raises(
        ValueError, match=r"cc: got \(99, 0\), expected one of 5\.0, 5\.2, 5\.3, 6\.0, 6\.1,"
    ):
        gs.GPU.from_properties({**PROPERTIES, "computeMajor": 99})
    # What is missing is that of the preset, or follows from the compute capability.
    for key in ("sharedMemPerBlockOptin", "maxThreadsPerMultiprocessor", "regsPerMultiprocessor",
                "sharedMemPerMultiprocessor"):  # fmt: skip
        for given in (PROPERTIES, {**PROPERTIES, "name": name}, {**PROPERTIES, "numSms": 42}):
            few = {k: v for k, v in given.items() if k != key}
            assert gs.GPU.from_properties(few) == gs.GPU.from_properties(given)
    assert gs.GPU.from_properties({"name": "Orin"}) == gs.GPU.preset("Orin").replace(name="Orin")
    assert gs.GPU.from_properties({"name": name, "computeMajor": 8}).cc == (8, 0)
    for other in ({"numSms": 42}, {"computeMajor": 9, "computeMinor": 0}, {}):
        with pytest.raises(ValueError, match="or the name of a preset that has these values"):
            gs.GPU.from_properties({"name": name if other else "threads4096", **other})
    with pytest.raises(TypeError, match="numSms: got 'many', expected a number"):
        gs.GPU.from_properties({**PROPERTIES, "numSms": "many"})
    with pytest.raises(TypeError, match="properties: got list, expected a mapping"):
        gs.GPU.from_properties([PROPERTIES])


# The object


def test_sm_orders():
    assert gpu(sms=5).sm_order.tolist() == [0, 2, 4, 1, 3]
    assert gpu(sms=5, sm_order="evens_then_odds") == gpu(sms=5)
    assert gpu(sms=5, sm_order="ascending").sm_order.tolist() == [0, 1, 2, 3, 4]
    assert gpu(sms=5, sm_order="descending").sm_order.tolist() == [4, 3, 2, 1, 0]
    given = np.array([4, 0, 1, 3, 2])
    own = gpu(sms=5, sm_order=given)
    given[0] = 9
    assert own.sm_order.tolist() == [4, 0, 1, 3, 2]
    with pytest.raises(ValueError, match="read-only"):
        own.sm_order[0] = 1


def test_compute_capability_is_stored_as_a_tuple():
    assert gpu(cc="8.0").cc == gpu(cc=8.0).cc == gpu(cc=(8, 0)).cc == gpu(cc=[8, np.int64(0)]).cc
    assert gpu(cc="10.3").cc == (10, 3)
    assert gpu().cc is None


def test_shared_memory_per_block_follows_from_the_rest():
    assert gpu().smem_per_block == 65536
    assert gpu(cc="8.0", smem_per_sm=164 * 1024).smem_per_block == 163 * 1024
    assert gpu(cc="8.0").smem_per_block == 65536 - 1024
    assert gpu(cc="5.2", smem_per_sm=96 * 1024).smem_per_block == 48 * 1024
    assert gpu(smem_per_block=100).smem_per_block == 100


def test_equality_hash_and_pickle():
    a, b = gpu(sm_order="ascending", name="x"), gpu(sm_order=range(8), name="x")
    assert a == b
    assert hash(a) == hash(b)
    assert a != gpu(name="x")
    assert a != replace(a, copy_engines=2)
    assert a != "x"
    copy = pickle.loads(pickle.dumps(a))
    assert copy == a
    assert not copy.sm_order.flags.writeable
    with pytest.raises(FrozenInstanceError):
        a.sms = 3


def test_repr_can_be_read_back():
    for name in gs.GPU.presets():
        original = gs.GPU.preset(name)
        assert eval(repr(original), {"GPU": gs.GPU}) == original
    assert len(repr(gpu(sms=5000, sm_order=[4999, *range(4999)]))) < 300


def test_html_is_safe_and_bounded():
    page = gpu(name="<script>" * 100)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert len(page) < 1500
    assert "2,048 (64 warps)" in page
    assert "evens then odds" in page


@pytest.mark.parametrize(
    ("more", "error", "text"),
    [
        ({"sms": 0}, ValueError, "sms: got 0, expected a positive number"),
        ({"sms": 65537}, ValueError, "sms: got 65537, expected at most 65536"),
        ({"sms": 2.5}, ValueError, r"sms: got 2\.5, expected a whole number"),
        (
            {"sms": 2**70},
            OverflowError,
            "sms: got 1180591620717411303424, expected a number that fits",
        ),
        ({"sms": [8, 8]}, TypeError, r"sms: got shape \(2,\), expected one number"),
        ({"sms": None}, TypeError, "sms: got None, expected a number"),
        ({"threads_per_sm": 31}, ValueError, "threads_per_sm: got 31, expected at least 32"),
        (
            {"blocks_per_sm": float("nan")},
            ValueError,
            "blocks_per_sm: got nan, expected a whole number of ticks",
        ),
        ({"blocks_per_sm": -1}, ValueError, "blocks_per_sm: got -1, expected a positive number"),
        (
            {"regs_per_sm": 2**31},
            ValueError,
            "regs_per_sm: got 2147483648, expected at most 2147483647",
        ),
        ({"smem_per_sm": -1}, ValueError, "smem_per_sm: got -1, expected a non-negative number"),
        (
            {"smem_per_block": 65537},
            ValueError,
            "smem_per_block: got 65537, expected at most the 65536 of",
        ),
        ({"copy_engines": -1}, ValueError, "copy_engines: got -1, expected 0 to"),
        ({"cc": 8}, ValueError, r"cc: got 8, expected a pair such as '8\.0' or \(8, 0\)"),
        ({"cc": "8"}, ValueError, r"cc: got '8', expected a pair such as '8\.0' or \(8, 0\)"),
        (
            {"cc": (8, 0, 1)},
            ValueError,
            r"cc: got \(8, 0, 1\), expected a pair such as '8\.0' or \(8, 0\)",
        ),
        (
            {"cc": (8.5, 0)},
            ValueError,
            r"cc: got \(8\.5, 0\), expected a pair such as '8\.0' or \(8, 0\)",
        ),
        (
            {"cc": float("nan")},
            ValueError,
            r"cc: got nan, expected a pair such as '8\.0' or \(8, 0\)",
        ),
        ({"sm_order": "odd"}, ValueError, "sm_order: got 'odd', expected one of"),
        ({"sm_order": [0, 1]}, ValueError, r"sm_order: got shape \(2,\), expected \(8,\)"),
        (
            {"sm_order": [0, 1, 2, 3, 4, 5, 6, 8]},
            ValueError,
            r"sm_order\[7\]: got 8, expected an SM from 0 to 7",
        ),
        (
            {"sm_order": [0, 1, 2, 3, 2, 5, 6, 7]},
            ValueError,
            r"sm_order\[4\]: got 2, expected each SM once",
        ),
        ({"name": 3}, TypeError, "name: got int, expected a string"),
    ],
)
def test_refusals(more, error, text):
    with pytest.raises(error, match=text):
        gpu(**more)


# Occupancy

# Kernels of A100 traces: registers, shared memory, threads, and the occupancy in percent that the
# profiler wrote for them with grids that fill the GPU.
A100_KERNELS = [
    (18, 0, 128, 100),
    (23, 0, 512, 100),
    (32, 4224, 256, 100),
    (38, 0, 256, 75),
    (42, 0, 128, 63),
    (46, 0, 1024, 50),
    (46, 12304, 128, 63),
    (48, 7696, 128, 63),
    (55, 0, 256, 50),
    (56, 31744, 384, 56),
    (57, 16384, 256, 50),
    (64, 35904, 512, 50),
    (64, 32768, 1024, 50),
    (70, 31744, 384, 38),
    (86, 32768, 128, 25),
    (90, 49152, 128, 19),
    (118, 16640, 256, 25),
    (160, 16384, 128, 19),
]


@pytest.mark.parametrize(("regs", "smem", "threads", "percent"), A100_KERNELS)
def test_occupancy_of_real_kernels(regs, smem, threads, percent):
    a100 = gs.GPU.preset("A100")
    blocks = gs.occupancy(a100, threads, regs, smem)
    assert (100 * blocks * threads + 1024) // 2048 == percent


@pytest.mark.parametrize(
    ("name", "threads", "regs", "smem", "blocks", "limit"),
    [
        # A100: 64 warps, 32 blocks, 4 x 16,384 registers, 167,936 bytes of which 1,024 a block
        ("A100", 1, 0, 0, 32, "blocks"),
        ("A100", 64, 32, 0, 32, "warps"),  # 32 blocks of 2 warps fill the warps, too
        ("A100", 256, 32, 0, 8, "warps"),
        ("A100", 256, 33, 0, 6, "registers"),  # 1,280 a warp: 12 warps a partition
        ("A100", 64, 40, 0, 24, "registers"),  # 48 warps, though 51 would fit one register file
        ("A100", 544, 96, 41744, 1, "registers"),  # 17 warps of 3,072: 5 a partition, 20
        ("A100", 1024, 64, 0, 1, "registers"),
        ("A100", 1024, 65, 0, 0, "registers"),
        ("A100", 128, 252, 67584, 2, "registers"),  # 8,192 a warp: 2 a partition
        ("A100", 128, 32, 81920, 2, "shared memory"),  # 82,944 with the reserved part
        ("A100", 128, 32, 82944, 2, "shared memory"),  # 2 x 83,968 is all of it
        ("A100", 128, 32, 82945, 1, "shared memory"),
        ("A100", 128, 231, 163840, 1, "shared memory"),
        ("A100", 128, 32, 166912, 1, "shared memory"),  # what one block may opt in to
        ("A100", 128, 32, 166913, 0, "shared memory"),
        ("A100", 1025, 0, 0, 0, "threads"),
        # Xavier: units of 256 bytes, nothing reserved
        ("Xavier", 32, 0, 3072, 32, "blocks"),  # 3 KB is 96 KB / 32 blocks
        ("Xavier", 32, 0, 3073, 29, "shared memory"),
        ("Xavier", 1024, 0, 0, 2, "warps"),
        # Turing: 32 warps, 16 blocks
        ("RTX 2080 Ti", 32, 0, 0, 16, "blocks"),
        ("RTX 2080 Ti", 96, 0, 0, 10, "warps"),
        ("RTX 4090", 1024, 0, 0, 1, "warps"),
        ("pbs2024", 1024, 64, 65536, 1, "warps"),
    ],
)
def test_occupancy_by_hand(name, threads, regs, smem, blocks, limit):
    device = gs.GPU.preset(name)
    assert gs.occupancy(device, threads, regs, smem) == blocks
    assert gs.occupancy(device, threads, regs, smem, detail=True) == (blocks, limit)


def test_two_register_files_on_6_0():
    p100 = gpu(cc="6.0")
    # 88 registers: 2,816 a warp, 11 in each half of the register file, 5 in each quarter
    assert gs.occupancy(p100, 32, 88) == 22
    assert gs.occupancy(gpu(cc="6.1"), 32, 88) == 20


def test_a_block_beyond_the_sm():
    small = gs.GPU(sms=1, threads_per_sm=512, blocks_per_sm=4)
    assert gs.occupancy(small, 544, detail=True) == (0, "warps")
    assert gs.occupancy(small, 32, regs=[255, 256, 70000], detail=True)[1].tolist() == [
        *("blocks", "registers", "registers"),
    ]
    assert gs.occupancy(small, 32, regs=[255, 256, 70000]).tolist() == [4, 0, 0]
    bare = gs.GPU(sms=1, threads_per_sm=512, blocks_per_sm=4, regs_per_sm=0, smem_per_sm=0)
    assert gs.occupancy(bare, 512, detail=True) == (1, "warps")
    assert gs.occupancy(bare, 32, regs=1, detail=True) == (0, "registers")


def test_scalars_give_an_int_and_arrays_an_array():
    a100 = gs.GPU.preset("A100")
    one = gs.occupancy(a100, 256)
    assert type(one) is int
    many = gs.occupancy(a100, [[128], [256]], regs=[32, 64, 128])
    assert many.dtype == np.int64
    assert many.tolist() == [[16, 8, 4], [8, 4, 2]]
    blocks, limit = gs.occupancy(a100, [32, 2048], detail=True)
    assert blocks.tolist() == [32, 0]
    assert limit.tolist() == ["blocks", "threads"]
    assert gs.occupancy(a100, []).shape == (0,)


def test_occupancy_agrees_with_the_twin():
    rng = np.random.default_rng(1)
    capabilities = [
        None,
        (5, 2),
        (5, 3),
        (6, 0),
        (6, 2),
        (7, 2),
        (7, 5),
        (8, 0),
        (8, 6),
        (9, 0),
        (12, 0),
    ]
    for cc in capabilities:
        limits = limits_of(cc) if cc else SMLimits(2048, 32, 65536, 65536)
        device = gs.GPU(
            sms=1,
            threads_per_sm=limits.threads_per_sm,
            blocks_per_sm=limits.blocks_per_sm,
            smem_per_sm=limits.smem_per_sm,
            smem_per_block=limits.smem_per_block,
            cc=cc,
        )
        threads = rng.integers(1, 1025, 400)
        regs = rng.integers(0, 256, 400) * rng.integers(0, 2, 400)
        smem = rng.integers(0, limits.smem_per_sm, 400) // rng.choice([1, 4, 32], 400)
        blocks, limit = gs.occupancy(device, threads, regs, smem, detail=True)
        sm = (limits.threads_per_sm, limits.blocks_per_sm, 65536, limits.smem_per_sm)
        kernels = zip(threads.tolist(), regs.tolist(), smem.tolist(), strict=True)
        of_block = 32768 if cc in ((5, 3), (6, 2)) else 65536
        expected = [twin(cc, sm, *kernel, limits.smem_per_block, of_block) for kernel in kernels]
        assert list(zip(blocks.tolist(), limit.tolist(), strict=True)) == expected
        assert len(set(limit.tolist())) >= 3  # the inputs reach different limits


def test_more_of_anything_never_raises_the_occupancy():
    a100 = gs.GPU.preset("A100")
    for column in ("threads", "regs", "smem"):
        values = {"threads": np.arange(1, 1200), "regs": np.arange(256)}
        values = values.get(column, np.arange(0, 170000, 97))
        blocks = gs.occupancy(a100, **{"threads": 64, column: values})
        assert (np.diff(blocks) <= 0).all()


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"threads": 0}, ValueError, "threads: got 0, expected a positive number"),
        ({"threads": [1, -1]}, ValueError, r"threads\[1\]: got -1, expected a positive number"),
        ({"threads": 1, "regs": -1}, ValueError, "regs: got -1, expected a non-negative number"),
        (
            {"threads": 1, "smem": [0, -5]},
            ValueError,
            r"smem\[1\]: got -5, expected a non-negative number",
        ),
        ({"threads": 1.5}, ValueError, r"threads: got 1\.5, expected a whole number"),
        ({"threads": float("nan")}, ValueError, "threads: got nan, expected a whole number"),
        (
            {"threads": 2**64},
            OverflowError,
            "threads: got 18446744073709551616, expected a number that",
        ),
        ({"threads": "a"}, TypeError, "threads: got 'a', expected a number"),
        (
            {"threads": [1, 2], "regs": [1, 2, 3]},
            ValueError,
            r"kernels: got threads \(2,\), regs \(3,\), smem \(\), expected",
        ),
    ],
)
def test_occupancy_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        gs.occupancy(gpu(), **arguments)


def test_occupancy_wants_a_gpu():
    with pytest.raises(TypeError, match="gpu: got int, expected a GPU or the name of a preset"):
        occupancy(8, 32)
    assert occupancy("A100", 32) == occupancy(gs.GPU.preset("A100"), 32)


# The module below


def test_hostile_limits():
    zeros = np.zeros(3, dtype=np.int64)
    limits = gpu()._limits
    for length in (0, 11, 29):
        wrong = np.resize(limits, length)
        with pytest.raises(ValueError, match=f"limits: got {length} entries, expected 12 to 28"):
            _core.occupancy(wrong, zeros, zeros, zeros)
    for rule in (-1, 3):
        wrong = limits.copy()
        wrong[11] = rule
        with pytest.raises(ValueError, match=f"carveout_rule: got {rule}, expected"):
            _core.occupancy(wrong, zeros, zeros, zeros)
    for sizes, row in (
        ([0, 8, 8], 2),
        ([8, 0], 1),
        ([-1], 0),
        ([0, 2**31], 1),
        ([0, 2**63 - 1], 1),
    ):
        with pytest.raises(
            ValueError, match=rf"carveouts\[{row}\]: got .*, expected bytes of at le"
        ):
            _core.occupancy(np.append(limits, sizes), zeros, zeros, zeros)
    wrong = limits.copy()
    wrong[11] = 1
    with pytest.raises(ValueError, match="carveouts: got 0, expected 1 to 16 carve-outs"):
        _core.occupancy(wrong, zeros, zeros, zeros)
    with pytest.raises(ValueError, match=r"limits: got 2 dimension.s., expected 1"):
        _core.occupancy([limits], zeros, zeros, zeros)
    with pytest.raises(
        TypeError, match=r"limits: got dtype\('float64'\), expected what casts safely"
    ):
        _core.occupancy(limits * 1.0, zeros, zeros, zeros)
    names = "sms warps_per_sm blocks_per_sm regs_per_sm smem_per_sm smem_per_block".split()
    names += "smem_reserved smem_unit reg_unit partitions regs_per_block carveout_rule".split()
    for i, name in enumerate(names):
        for value in (2**31, -1):
            wrong = limits.copy()
            wrong[i] = value
            with pytest.raises(ValueError, match=f"{name}: got {value}, expected"):
                _core.occupancy(wrong, zeros, zeros, zeros)
    # every limit at its greatest: no overflow on the way
    most = np.full(13, 2**31 - 1)
    most[[0, 11]] = 65536, 1
    ones = np.ones(1, dtype=np.int64)
    assert _core.occupancy(most, ones * 1024, ones * 255, ones * 2**30)[0].tolist() == [0]
    assert _core.occupancy(most, ones, ones * 0, ones * 0)[0].tolist() == [1]


def test_hostile_kernels():
    limits = gpu()._limits
    three, two = np.ones(3, dtype=np.int64), np.ones(2, dtype=np.int64)
    with pytest.raises(ValueError, match="regs: got length 2 on axis 0, expected 3"):
        _core.occupancy(limits, three, two, three)
    with pytest.raises(ValueError, match=r"threads\[1\]: got 0, expected a positive number"):
        _core.occupancy(limits, [1, 0, 1], three, three)
    with pytest.raises(ValueError, match=r"smem\[2\]: got -1, expected a number of at least 0"):
        _core.occupancy(limits, three, three, [0, 0, -1])
    with pytest.raises(
        TypeError, match=r"threads: got dtype\('float64'\), expected what casts safely"
    ):
        _core.occupancy(limits, np.array([0.5]), [0], [0])
    with pytest.raises((TypeError, ValueError), match="threads"):
        _core.occupancy(limits, ["a"], [0], [0])
    huge = np.full(3, 2**63 - 1)
    assert _core.occupancy(limits, huge, huge, huge)[1].tolist() == [4, 4, 4]
    assert _core.occupancy(limits, three, huge, huge)[0].tolist() == [0, 0, 0]
    empty = np.zeros(0, dtype=np.int64)
    assert len(_core.occupancy(limits, empty, empty, empty)[0]) == 0
