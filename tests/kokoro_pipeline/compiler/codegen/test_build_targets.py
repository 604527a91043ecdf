"""The meaning of `--target`, `--mcpu` and `--host` together, and the lists in their errors."""

from __future__ import annotations

import json

import pytest

from kokoro_pipeline.artifact import amx
from kokoro_pipeline.artifact.manifest import PRECISIONS, TargetInfo
from kokoro_pipeline.compiler.codegen import target as targets
from kokoro_pipeline.compiler.codegen.target import CUDA_ARCHS, HOSTS, KINDS, resolve_target
from kokoro_pipeline.errors import ArtifactError, InputError


@pytest.fixture(autouse=True)
def on_linux_x86(monkeypatch):
    """Make this machine a Linux on x86-64, as assumed by the tables below."""
    monkeypatch.setattr(targets, "_system", lambda: "linux")
    monkeypatch.setattr(targets, "host_architecture", lambda: "x86_64")
    monkeypatch.setattr(targets, "host_mcpu", lambda: "x86-64-v2")


@pytest.mark.parametrize(
    ("target", "mcpu", "host", "expected"),
    [
        ("llvm", None, None, "llvm on linux-x86_64, x86-64-v2"),
        ("llvm", "x86-64-v3", None, "llvm on linux-x86_64, x86-64-v3"),
        ("llvm", None, "linux-aarch64", "llvm on linux-aarch64, generic"),
        ("llvm", "cortex-a72", "aarch64-linux-gnu", "llvm on linux-aarch64, cortex-a72"),
        ("llvm", None, "arm64-apple-macos14", "llvm on macos-arm64, apple-m1"),
        ('{"kind": "llvm", "mcpu": "znver3"}', None, None, "llvm on linux-x86_64, znver3"),
        ('{"kind": "llvm", "mcpu": "znver3"}', "znver2", None, "llvm on linux-x86_64, znver2"),
        ("aws/cpu/c5.large", None, None, "llvm on linux-x86_64, skylake-avx512"),
        ("cuda", None, None, "cuda sm_80 sm_90 on linux-x86_64, x86-64-v2"),
        ("cuda", None, "linux-aarch64", "cuda sm_80 sm_90 on linux-aarch64, generic"),
        ("nvidia/nvidia-a100", None, None, "cuda sm_80 on linux-x86_64, x86-64-v2"),
        # sm_90a: nothing that is generated needs what the suffix stands for
        ("nvidia/nvidia-h100", None, None, "cuda sm_90 on linux-x86_64, x86-64-v2"),
        # a tag that brings its host
        (
            "nvidia/jetson-agx-orin-64gb",
            None,
            None,
            "cuda sm_87 on linux-aarch64, cortex-a78",
        ),
        (
            '{"kind": "cuda", "arch": ["sm_90", "sm_80", "sm_90"]}',
            None,
            None,
            "cuda sm_80 sm_90 on linux-x86_64, x86-64-v2",
        ),
        (
            '{"tag": "nvidia/nvidia-a100", "arch": "sm_86"}',
            None,
            None,
            "cuda sm_86 on linux-x86_64, x86-64-v2",
        ),
        (
            '{"kind": "cuda", "host": {"kind": "llvm", "mcpu": "znver4"}}',
            None,
            None,
            "cuda sm_80 sm_90 on linux-x86_64, znver4",
        ),
        ("metal", None, None, "metal on macos-arm64, apple-m1"),
        ("apple/m2-gpu", "apple-m2", "macos-arm64", "metal on macos-arm64, apple-m2"),
    ],
)
def test_each_form_of_a_target(target, mcpu, host, expected):
    assert str(resolve_target(target, mcpu, host)) == expected


def test_tvm_gets_the_oldest_architecture_and_the_host():
    """Code for the oldest is right on all; machine code is made of the same text for each."""
    made = resolve_target("cuda", None, "linux-aarch64").tvm
    assert (made.kind.name, str(made.attrs["arch"])) == ("cuda", "sm_80")
    assert str(made.host.attrs["mtriple"]) == "aarch64-linux-gnu"
    assert int(made.attrs["max_threads_per_block"]) == 1024


def test_attributes_of_a_tag_and_of_json_reach_tvm():
    assert int(resolve_target("nvidia/nvidia-a100").tvm.attrs["l2_cache_size_bytes"]) == 41943040
    made = resolve_target('{"kind": "cuda", "max_threads_per_block": 512}').tvm
    assert int(made.attrs["max_threads_per_block"]) == 512
    assert int(resolve_target("metal").tvm.attrs["thread_warp_size"]) == 32


def test_the_manifest_gets_device_host_and_architectures():
    info = resolve_target("cuda", "x86-64-v3").info
    assert (info.device, info.host, info.archs) == ("cuda", "linux-x86_64", ("sm_80", "sm_90"))
    assert {"avx2", "fma"} <= set(info.features)
    assert resolve_target("metal").info == TargetInfo(
        "metal", "apple-m1", resolve_target("metal").info.features, "macos-arm64", ()
    )
    assert "neon" in resolve_target("metal").info.features


@pytest.mark.parametrize(
    ("target", "mcpu", "host", "lists"),
    [
        ("rocm", None, None, (*KINDS, *CUDA_ARCHS)),
        ("", None, None, KINDS),
        ('{"kind": ["cuda"]}', None, None, KINDS),
        ('{"arch": "sm_80"}', None, None, KINDS),
        ('{"kind": "cuda"', None, None, ("not valid JSON",)),
        ('{"kind": "cuda", "arch": "sm_50"}', None, None, ("sm_50", *CUDA_ARCHS)),
        ('{"kind": "cuda", "arch": ["sm_80", 90]}', None, None, ("90", *CUDA_ARCHS)),
        ('{"kind": "cuda", "arch": []}', None, None, CUDA_ARCHS),
        ("nvidia/geforce-gtx-1080", None, None, ("sm_61", *CUDA_ARCHS)),
        ("nvidia/no-such-gpu", None, None, ("nvidia/nvidia-a100", "nvidia/nvidia-h100")),
        ("nobody/nothing", None, None, ("apple/m1-gpu", "nvidia/nvidia-a100")),
        ('{"kind": "cuda", "threads": 3}', None, None, ("threads", "max_threads_per_block")),
        ('{"kind": "llvm", "mcpu": 4}', None, None, ("mcpu is 4",)),
        ("cuda", "pentium9", None, ("pentium9", "x86-64-v3")),
        ("llvm", "x86-64-v3", "linux-aarch64", ("x86-64-v3", "cortex-a72")),
        ("llvm", None, "windows", tuple(HOSTS)),
        ("llvm", None, "aarch64", tuple(HOSTS)),
        ("arm/rasp3b", None, None, tuple(HOSTS)),
        ("metal", None, "linux-x86_64", ("Macs only", "macos-arm64")),
        ("cuda", None, "macos-arm64", ("Linux only", "linux-x86_64")),
    ],
)
def test_what_is_not_known_lists_what_is(target, mcpu, host, lists):
    with pytest.raises(InputError) as caught:
        resolve_target(target, mcpu, host)
    for words in lists:
        assert words in str(caught.value)


def test_a_precision_reaches_the_manifest():
    made = resolve_target("cuda", "znver4", precision="tf32")
    assert made.info.precision == "tf32"
    assert str(made) == "cuda sm_80 sm_90 in tf32 on linux-x86_64, znver4"
    assert resolve_target("metal").info.precision == "float32"


@pytest.mark.parametrize(
    ("target", "precision", "named"),
    [
        ("cuda", "int4", ("int4", *PRECISIONS)),
        ("llvm", "tf32", ("--target llvm", "--target cuda")),
        ("llvm", "bfloat16", ("x86-64-v2", "AMX", "--mcpu sapphirerapids", "--target cuda")),
        ('{"kind": "llvm", "mcpu": "sapphirerapids"}', "float16", ("--target llvm",)),
        ('{"kind": "cuda", "arch": "sm_80"}', "bfloat16x3", ("bfloat16x3", *PRECISIONS)),
        ("metal", "float16", ("--target metal", "--target cuda")),
        ('{"kind": "cuda", "arch": ["sm_75", "sm_90"]}', "bfloat16", ("sm_75", "sm_80")),
        ("metal", "float32-fma", ("float32-fma", "--target metal", "--target cuda")),
        ("llvm", "float32-fma", ("float32-fma", "--target llvm", "--target cuda")),
        (
            '{"kind": "llvm", "mcpu": "sapphirerapids"}',
            "float32-fma",
            ("--target llvm", "--target cuda"),
        ),
    ],
)
def test_a_precision_that_cannot_be_is_refused(target, precision, named):
    with pytest.raises(InputError) as caught:
        resolve_target(target, precision=precision)
    for words in named:
        assert words in str(caught.value)


def test_float32_without_tensor_cores_is_a_precision_of_cuda():
    chosen = resolve_target("cuda", "znver4", precision="float32-fma")
    assert chosen.at_level(1).info.precision == "float32-fma"
    assert str(chosen) == "cuda sm_80 sm_90 in float32-fma on linux-x86_64, znver4"
    with pytest.raises(InputError, match="--precision float32-fma with --opt 0"):
        chosen.at_level(0)


@pytest.mark.parametrize(
    ("archs", "precision"),
    [
        (["sm_80"], "float32"),
        (["sm_90", "sm_120"], "float32"),
        (["sm_75"], "float32-fma"),
        (["sm_75", "sm_90"], "float32-fma"),
    ],
)
def test_float32_is_on_tensor_cores_where_every_architecture_has_them(archs, precision):
    """The code is that of the oldest, and the manifest says which it is."""
    chosen = resolve_target(json.dumps({"kind": "cuda", "arch": archs}))
    assert chosen.at_level(2).info.precision == chosen.at_level(1).info.precision == precision
    assert chosen.at_level(0).info.precision == "float32"


def test_plain_legalization_has_no_reduced_precision():
    resolve_target("cuda").at_level(0)
    reduced = resolve_target("cuda", precision="tf32")
    assert reduced.at_level(1) == reduced
    with pytest.raises(InputError, match="--precision tf32 with --opt 0"):
        reduced.at_level(0)


def test_amx_is_what_the_cpu_has_by_name():
    assert resolve_target("llvm", "sapphirerapids").has_tiles
    assert {"amx-bf16", "amx-tile"} <= set(resolve_target("llvm", "sapphirerapids").info.features)
    assert not resolve_target("llvm", "icelake-server").has_tiles
    off = '{"kind": "llvm", "mcpu": "graniterapids", "mattr": ["-amx-tile", "-amx-bf16"]}'
    assert not resolve_target(off).has_tiles
    on = '{"kind": "llvm", "mcpu": "x86-64-v4", "mattr": ["+amx-tile", "+amx-bf16"]}'
    assert resolve_target(on).has_tiles


@pytest.mark.parametrize("level", (0, 1, 2))
def test_only_the_fast_kernels_of_a_cpu_need_amx(level):
    chosen = resolve_target("llvm", "sapphirerapids").at_level(level)
    assert chosen.has_tiles == (level == 2)
    assert ("amx-bf16" in chosen.info.features) == (level == 2)
    assert "avx512bf16" in chosen.info.features
    device = resolve_target("cuda", "sapphirerapids").at_level(level)
    assert "amx-tile" not in device.info.features


@pytest.mark.parametrize(
    ("features", "permitted", "expected"),
    [(amx.FEATURES, True, True), (amx.FEATURES, False, False), ((), True, False)],
    ids=["permitted", "denied", "hidden by the system"],
)
def test_this_machines_amx_is_used_where_it_may_be(monkeypatch, features, permitted, expected):
    def permit_tiles():
        if not permitted:
            raise ArtifactError("denied")

    monkeypatch.setattr(targets, "host_mcpu", lambda: "emeraldrapids")
    monkeypatch.setattr(targets, "host_features", lambda: frozenset(features))
    monkeypatch.setattr(targets.amx, "permit_tiles", permit_tiles)
    chosen = resolve_target()
    assert (chosen.mcpu, chosen.has_tiles) == ("emeraldrapids", expected)
    assert ("amx-bf16" in chosen.info.features) == expected
    assert targets.host_cpu() == ("emeraldrapids+amx" if expected else "emeraldrapids")
    # Who names the CPU builds for that one.
    assert resolve_target("llvm", "emeraldrapids").has_tiles


def test_one_product_is_for_amx_and_the_fast_kernels():
    chosen = resolve_target("llvm", "sapphirerapids", precision="bfloat16")
    assert chosen.at_level(2).info.precision == "bfloat16"
    assert str(chosen) == "llvm in bfloat16 on linux-x86_64, sapphirerapids with AMX tiles"
    for level in (0, 1):
        with pytest.raises(InputError, match=f"--precision bfloat16 with --opt {level}"):
            chosen.at_level(level)


def test_a_machine_that_is_no_host_has_to_name_one(monkeypatch):
    monkeypatch.setattr(targets, "_system", lambda: "freebsd")
    with pytest.raises(InputError, match=r"freebsd/x86_64.*linux-aarch64"):
        resolve_target("llvm")
    assert str(resolve_target("llvm", None, "linux-x86_64")).endswith("x86-64-v3")
