"""Every elementary and special function against float64, from 1e-30 to overflow.

Held: four units in the last place or PyTorch's own error, if that is larger; NaN and infinities
where PyTorch has them. Half precision and the optimizing compiler are in the slow tier.
"""

import math

import pytest
import torch
import tvm
from elementary import DTYPES, FUNCTIONS, accuracy, imported, points
from frontend_cases import Case, export, import_program
from packaging.version import Version
from tvm import relax

import tvm_kokoro_ext
from tvm_kokoro_ext import _compat

GROUPS = [list(FUNCTIONS)[start::6] for start in range(6)]


def computed(names, x, *, decomposed, optimize):
    target = {"kind": "llvm"} if optimize else {"kind": "llvm", "opt-level": 0}
    module = imported(names, x, decomposed=decomposed)
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target(target)), tvm.cpu())
    results = machine["main"](tvm.runtime.from_dlpack(x))
    return [torch.from_dlpack(result) for result in results]


def check(names, dtype, **options):
    x = points(dtype)
    found = zip(names, computed(names, x, **options), strict=True)
    judged = {name: accuracy(name, x, result) for name, result in found}
    assert {name: a for name, a in judged.items() if not a.right()} == {}


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_float32_keeps_its_digits(names):
    check(names, torch.float32, decomposed=True, optimize=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("decomposed", "optimize"), [(True, True), (False, False)], ids=["ep-optimized", "raw-plain"]
)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_every_dtype_keeps_its_digits(names, dtype, decomposed, optimize):
    check(names, dtype, decomposed=decomposed, optimize=optimize)


@pytest.mark.parametrize("name", ["elu", "selu", "x ** 0.5", "x ** -0.5", "tanh", "expm1"])
def test_stock_loses_them(name):
    x = points(torch.float32)
    with tvm_kokoro_ext.disabled("all"):
        try:
            (result,) = computed([name], x, decomposed=True, optimize=False)
        except Exception as error:
            if _compat.tvm_version() >= Version("0.27"):
                raise
            pytest.skip(f"this TVM lacks the operator: {error}")
    assert not accuracy(name, x, result).right()


@pytest.mark.parametrize("optimize", [False, True], ids=["plain", "optimized"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_every_nan_stays_one_in_bfloat16(dtype, optimize):
    words = [0x7FFFFFFF, 0x7FC00000, 0x7F800001, 0x7FFF8000, -1, 0x7F800000, 0x3F808000, 0]
    x = torch.tensor(words * 3, dtype=torch.int32).view(torch.float32).to(dtype)
    if dtype == torch.float16:
        x = torch.tensor([0x7FFF, 0x7C01, -1, 0x7C00, 0x3C00], dtype=torch.int16).view(dtype)
    builder = relax.BlockBuilder()
    given = relax.Var("x", _compat.tensor_type(list(x.shape), str(dtype).removeprefix("torch.")))
    with builder.function("main", [given]):
        builder.emit_func_output(builder.emit(relax.op.astype(given, "bfloat16")))
    target = {"kind": "llvm"} if optimize else {"kind": "llvm", "opt-level": 0}
    executable = tvm.compile(builder.get(), tvm.target.Target(target))
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = torch.from_dlpack(machine["main"](tvm.runtime.from_dlpack(x)))
    torch.testing.assert_close(result, x.to(torch.bfloat16), rtol=0, atol=0, equal_nan=True)


def test_every_pair_of_bfloat16_is_compared_like_by_torch_without_conversions():
    words = [0, -0x8000, 1, -0x7FFF, 0x3F80, -0x4080, 0x7F7F, -0x81, 0x7F80, -0x80]
    words += [0x7F81, -0x7F, 0x7FC0, -1]  # NaN, of both signs
    numbers = torch.tensor(words, dtype=torch.int16).view(torch.bfloat16)
    a, b = (part.flatten() for part in torch.meshgrid(numbers, numbers, indexing="ij"))

    def all_of(x, y):
        return torch.maximum(x, y), torch.minimum(x, y), torch.relu(x)

    module = import_program(export(Case("all", all_of, lambda _: (a, b)), symbolic=False), True)
    assert "float32" not in str(module)
    machine = relax.VirtualMachine(tvm.compile(module, tvm.target.Target("llvm")), tvm.cpu())
    results = machine["main"](tvm.runtime.from_dlpack(a), tvm.runtime.from_dlpack(b))
    for result, wanted in zip(results, all_of(a, b), strict=True):
        found = torch.from_dlpack(result)
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)


BOUNDS = [
    (0.0, 6.0),
    (-1.0, 1.0),
    (0.3, 0.7),
    (-0.7, -0.3),
    (2.0, 1.0),
    (-0.0, 0.0),
]
BOUNDS += [(None, 0.5), (None, -0.5), (None, 0.0), (0.0, None), (0.5, None), (-0.5, None)]
BOUNDS += [(None, -math.inf), (math.inf, None), (-math.inf, math.inf)]


def test_every_bfloat16_is_clamped_compared_and_negated_like_by_torch():
    x = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    numbers = (0.0, -0.0, 0.3, -0.3, math.inf, -math.inf, math.nan)
    comparisons = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)

    def program(x):
        clamped = [x.clamp(lower, upper) for lower, upper in BOUNDS]
        compared = [compare(x, number) for compare in comparisons for number in numbers]
        return (*clamped, *compared, x.abs(), -x)

    executable = tvm.compile(
        import_program(export(Case("program", program, lambda _: (x,)), symbolic=False), False),
        tvm.target.Target({"kind": "llvm"}),
    )
    machine = relax.VirtualMachine(executable, tvm.cpu())
    results = machine["main"](tvm.runtime.from_dlpack(x))
    for result, wanted in zip(map(torch.from_dlpack, results), program(x), strict=True):
        torch.testing.assert_close(result, wanted, rtol=0, atol=0, equal_nan=True)
        numbers_of = ~torch.isnan(wanted)
        assert torch.equal(torch.signbit(result[numbers_of]), torch.signbit(wanted[numbers_of]))


def test_clamp_and_maximum_are_instructions_of_the_processor():
    def program(x, y):
        return x.clamp(-1, 1), torch.maximum(x, y), torch.minimum(x, y)

    tensors = (torch.zeros(4096), torch.zeros(4096))
    case = Case("program", program, lambda _: tensors)
    module = import_program(export(case, symbolic=False), False)
    executable = tvm.compile(module, tvm.target.Target({"kind": "llvm", "mtriple": "x86_64-linux"}))
    (built,) = [part for part in (executable.mod, *executable.mod.imports) if part.kind == "llvm"]
    text = built.inspect_source("asm")
    assert text.count("maxps") >= 2
    assert text.count("minps") >= 2
