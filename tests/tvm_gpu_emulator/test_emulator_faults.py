"""The checker finds the documented faults: every test breaks a correct kernel in one place."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tvm_gpu_emulator import KINDS, EmulationFault, Report, emulate

BARRIER = re.compile(r"__syncthreads\(\);|threadgroup_barrier\(mem_flags::mem_threadgroup\);")
SHAPES = {
    "scale": [(100,), (100,), 2.0],
    "matmul": [(20, 20), (20, 20), (20, 20)],
    "row_sum": [(5, 300), (5,)],
    "shuffled_sum": [(3, 128), (3,)],
    "halves": [(1024,), (1024,)],
}


def arguments(name: str) -> list:
    dtype = "float16" if name == "halves" else "float32"
    return [np.ones(each, dtype) if isinstance(each, tuple) else each for each in SHAPES[name]]


def without_barrier(number: int):
    def edit(text: str) -> str:
        match = list(BARRIER.finditer(text))[number]
        return text[: match.start()] + " " * len(match[0]) + text[match.end() :]

    return edit


def replaced(pattern: str, new: str, count: int = 1):
    def edit(text: str) -> str:
        # The kernel only, not the declaration that CUDA has before it.
        start = text.index(") {\n")
        changed, times = re.subn(pattern, new, text[start:], count=count)
        assert times == count, f"{pattern} is in the text {times} times:\n{text}"
        return text[:start] + changed

    return edit


def faults(run, samples, name: str, edit, **options) -> tuple[list[Report], str]:
    """The reports of a mutated kernel and its text."""
    executable = run(getattr(samples, name), edit_source=edit, **options)
    with pytest.raises(EmulationFault) as raised:
        executable[name](*arguments(name))
    reports = executable.reports
    assert raised.value.reports == tuple(reports)
    assert all(report.kind in KINDS and report.kernel == f"{name}_kernel" for report in reports)
    assert str(reports[0]) in str(raised.value)
    return reports, executable.source


def lines_of(report: Report, source: str) -> tuple[str, str]:
    """The two lines that a report of a race names."""
    lines = source.splitlines()
    assert report.line is not None and report.other_line is not None
    return lines[report.line - 1], lines[report.other_line - 1]


NAMED = r"(?:_ptr)?"  # what CUDA adds to the name of every array, Metal to parameters only
INDEX = r"[^\]]*\]"

RACES = {
    # TVM puts a barrier before every step of a halving; the last one, before Y, is not needed.
    **{f"row_sum without barrier {n}": ("row_sum", without_barrier(n), "part") for n in range(7)},
    "matmul without the barrier after the tiles are read": ("matmul", without_barrier(0), ""),
    "matmul without the barrier after the tiles are written": ("matmul", without_barrier(1), ""),
    "warps exchange their sums without a barrier": (
        "shuffled_sum", without_barrier(0), "red_buf_staging",
    ),
    "every block writes the same element": (
        "row_sum", replaced(rf"Y_ptr\[{INDEX} =", "Y_ptr[0] ="), "Y",
    ),
    "a block reads what another writes": (
        "row_sum", replaced(rf"Y_ptr\[{INDEX} = ", r"\g<0>Y_ptr[0] + "), "Y",
    ),
    "threads write their neighbour's element": (
        "scale", replaced(r"(Y_ptr\[)([^\]]*)\] =", r"\1(\2) / 2] ="), "Y",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_the_unchanged_kernels_have_no_fault(run, samples, name):
    executable = run(getattr(samples, name))
    executable[name](*arguments(name))
    assert executable.reports == []


@pytest.mark.parametrize("name", RACES)
def test_races(run, samples, name):
    kernel, edit, buffer = RACES[name]
    reports, source = faults(run, samples, kernel, edit)
    races = [report for report in reports if report.kind == "race"]
    assert races
    assert re.search(
        rf"thread \(\d+,\d+,\d+\) of block \(\d+,\d+,\d+\) (reads|writes) {buffer}", races[0].detail
    )
    for line in lines_of(races[0], source):
        assert f"{buffer}" in line and "[" in line


def test_a_barrier_that_nothing_needs_may_go(run, samples):
    """No false alarm: the thread that reads the sum wrote it."""
    run(samples.row_sum, edit_source=without_barrier(7))["row_sum"](*arguments("row_sum"))


OUTSIDE = {
    "scale without its predicate": ("scale", replaced(r"if \(.*\) \{", "if (true) {"), "100"),
    "scale writes one further": ("scale", replaced(r"Y_ptr\[", "Y_ptr[1 + "), "Y[100]"),
    "scale reads one further": ("scale", replaced(r"X_ptr\[", "X_ptr[1 + "), "X[100]"),
    "scale reads one before": ("scale", replaced(r"X_ptr\[", "X_ptr[-1 + "), "X[-1]"),
    "scale reads far away": ("scale", replaced(r"X_ptr\[", "X_ptr[100000000 + "), "X[1000000"),
    "matmul without the predicate of its result": (
        "matmul", replaced(r"if \(([^{]*)\) \{(\s+C_ptr)", r"if (true) {\2"), "C[",
    ),
    "matmul without the predicate of a load": (
        "matmul", replaced(r"if \([^{]*\) \{(\s+condval_1)", r"if (true) {\1"), "B[",
    ),
    "a shared array too small": ("row_sum", replaced(r"\[128\];", "[100];"), ""),
    "a shared index too large": (
        "matmul", replaced(r"\[\(\(i \* 16\)", "[((i * 17)"), "",
    ),
    "a local array too small": (
        "matmul", replaced(rf"(total{NAMED})\[0\] = \(", r"\1[i] = ("), "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTSIDE)
def test_out_of_bounds(run, samples, name):
    kernel, edit, element = OUTSIDE[name]
    reports, source = faults(run, samples, kernel, edit)
    found = [report for report in reports if report.kind == "out-of-bounds"]
    assert found, reports
    assert element in found[0].detail
    line = source.splitlines()[found[0].line - 1]
    assert "[" in line
    assert line.strip()[:100] in found[0].detail


def test_an_access_out_of_bounds_is_not_performed(run, samples):
    """The process survives, and the neighbouring array is unchanged."""
    whole = np.zeros(300, "float32")
    x, y = np.ones(100, "float32"), whole[100:200]
    executable = run(samples.scale, edit_source=OUTSIDE["scale without its predicate"][1])
    with pytest.raises(EmulationFault):
        executable["scale"](x, y, 2.0)
    assert not whole[:100].any()
    assert not whole[200:].any()


def test_shared_memory_that_nobody_wrote(run, samples):
    edit = replaced(rf"  part{NAMED}\[[^=]*= 0[^;]*;", "  ;")
    reports, _ = faults(run, samples, "row_sum", edit)
    assert {report.kind for report in reports} == {"uninitialized"}
    assert "part" in reports[0].detail


@pytest.mark.parametrize("check", [False, True])
def test_shared_memory_starts_as_nan(run, samples, check):
    """Unchecked too: a kernel that counts on zeros gives NaN, not a right result."""
    edit = replaced(rf"  part{NAMED}\[[^=]*= 0[^;]*;", "  ;")
    executable = run(samples.row_sum, edit_source=edit, check=check, on_fault="collect")
    x, y = arguments("row_sum")
    executable["row_sum"](x, y)
    assert np.isnan(y).all() or check
    assert bool(executable.reports) == check


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_a_barrier_that_some_threads_skip(run, samples, check, number):
    def edit(text: str) -> str:
        match = list(BARRIER.finditer(text))[number]
        return f"{text[: match.start()]}if (threadIdx.y < 8) {match[0]}{text[match.end() :]}"

    reports, source = faults(run, samples, "matmul", edit, check=check)
    divergent = [report for report in reports if report.kind == "divergent-barrier"]
    assert divergent
    assert BARRIER.search(source.splitlines()[divergent[0].line - 1])


@pytest.mark.parametrize("check", [False, True])
def test_threads_that_return_before_a_barrier(run, samples, kind, check):
    thread = "threadIdx.x" if kind == "cuda" else "threadIdx"
    edit = replaced(r"(?m)^  ", f"  if ({thread} > 99) return; ")
    reports, _ = faults(run, samples, "row_sum", edit, check=check)
    assert any(
        report.kind == "divergent-barrier" and "28 of 128 threads" in report.detail
        for report in reports
    )


@pytest.mark.parametrize("check", [False, True])
def test_a_shuffle_without_its_partners(run, samples, kind, check):
    thread = "threadIdx.x" if kind == "cuda" else "threadIdx"
    edit = replaced(rf"(?=t0{NAMED}\[0\] = )", f"if ({thread} % 32 != 20) ")
    reports, _ = faults(run, samples, "shuffled_sum", edit, check=check)
    assert any(
        report.kind == "divergent-shuffle" and "lane 20" in report.detail for report in reports
    )


def test_a_misaligned_vector(run, samples):
    """The device faults on a vector of four halves at an odd element."""
    for array in ("X", "Y"):
        edit = replaced(rf"half4\*\)\({array}_ptr \+ ", f"half4*)({array}_ptr + 1 + ")
        reports, source = faults(run, samples, "halves", edit)
        assert reports[0].kind == "misaligned"
        assert "a multiple of 8" in reports[0].detail
        assert f"{array}_ptr + 1" in source.splitlines()[reports[0].line - 1]


def test_collecting_goes_on_and_counts(run, samples):
    executable = run(samples.row_sum, edit_source=without_barrier(0), on_fault="collect")
    for _ in range(2):
        executable["row_sum"](*arguments("row_sum"))
    assert executable.launches["row_sum_kernel"].count == 2
    lines = [(report.kind, report.line, report.other_line) for report in executable.reports]
    assert len(lines) == 2 * len(set(lines))
    assert max(report.count for report in executable.reports) > 1


def test_an_executable_works_after_a_fault(run, samples):
    executable = run(samples.scale, edit_source=replaced(r"if \(.*\) \{", "if (true) {"))
    with pytest.raises(EmulationFault):
        executable["scale"](*arguments("scale"))
    x, y = np.ones(128, "float32"), np.zeros(128, "float32")
    executable["scale"](x, y, 2.0)
    np.testing.assert_array_equal(y, 3)


@pytest.mark.parametrize(
    "limits,detail",
    [
        ({"max_threads_per_block": 64}, "a block of 128 threads, the target has 64"),
        ({"max_shared_memory_per_block": 256}, "512 bytes of shared memory, the target has 256"),
    ],
)
def test_launches_over_the_targets_limits(samples, make_target, kind, cache, limits, detail):
    executable = emulate(samples.row_sum, make_target(kind, **limits), cache=cache)
    with pytest.raises(EmulationFault, match=detail) as raised:
        executable["row_sum"](*arguments("row_sum"))
    assert [report.kind for report in raised.value.reports] == ["launch"]


def test_a_launch_of_no_blocks(run, samples):
    """CUDA refuses an empty grid; a host that may meet length 0 has to ask first."""
    with pytest.raises(EmulationFault, match=r"grid\.x is 0"):
        run(samples.scale)["scale"](np.zeros(0, "float32"), np.zeros(0, "float32"), 1.0)
