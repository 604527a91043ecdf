"""The benchmark of the kernels: one real kernel, and the work attributed to each kernel."""

from __future__ import annotations

import pytest

from kokoro_pipeline.benchmarking.kernels import KernelRole
from kokoro_pipeline.errors import InputError

pytest.importorskip("tvm")


@pytest.fixture(scope="module")
def role():
    return KernelRole("kernels", 1, frames="4", only="linear 128->512, 1 rows")


def test_a_kernel_is_measured_beside_the_peak(role):
    name, *_ = role.names()  # where AMX is, the second is the one on its tiles
    speed = role.measure(name, 0.01)
    assert 0 < speed.best <= speed.median
    assert speed.peak_gflops > 0
    assert speed.share == pytest.approx(speed.gflops / speed.peak_gflops)
    assert speed.gflops == pytest.approx(2 * 128 * 512 / speed.best * 1e-9)
    assert speed.own_share is None


def test_what_it_is_compiled_for_is_told(role):
    about = role.describe()
    assert about["mcpu"]
    assert about["lanes"] in (4, 8, 16)


def test_a_selection_of_nothing_is_refused():
    with pytest.raises(InputError, match="no kernel's name contains 'nonsense'"):
        KernelRole("kernels", 1, only="nonsense")


def test_names_are_unique_and_transforms_save_work():
    from kokoro_pipeline.compiler.kernel_cases import kernel_cases
    from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget

    cases = list(kernel_cases(VectorTarget.of("x86-64-v3"), 4))
    names = [case.name for case in cases]
    assert len(names) == len(set(names))
    assert all(case.flop or case.bytes for case in cases)
    saved = {case.name: case.flop / case.own_flop for case in cases if case.own_flop}
    # Between F(2, 3)'s 6 products in 4 and what one product in ten would be.
    assert saved
    assert all(1.4 < factor < 10 for factor in saved.values()), saved


def test_kernels_on_tiles_are_measured_where_amx_is(monkeypatch):
    from kokoro_pipeline.compiler.codegen import target as targets
    from kokoro_pipeline.compiler.kernel_cases import tile_cases
    from kokoro_pipeline.compiler.kernels.cpu.vector import VectorTarget

    cases = list(tile_cases(VectorTarget.of("sapphirerapids"), 4))
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        name = str(case.function().attrs["global_symbol"])
        assert name == "tile_peak" or name.startswith("amx_bfloat16x3"), case.name
    # A machine that denies the tiles must not run them, whatever the name of its CPU.
    monkeypatch.setattr(targets, "tiles_here", lambda: False)
    with pytest.raises(InputError, match="no kernel's name contains 'AMX peak'"):
        KernelRole("kernels", 1, mcpu="sapphirerapids", only="AMX peak")
