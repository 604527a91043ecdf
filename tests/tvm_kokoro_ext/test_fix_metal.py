"""Code generated for Metal by stock TVM, and with the fixes.

The tests only examine names in the generated text, so they do not need a Mac.
"""

from __future__ import annotations

import re

import pytest
import tvm
from tvm import te, tirx

import tvm_kokoro_ext
from tvm_kokoro_ext import State
from tvm_kokoro_ext._fixes.metal import math_functions
from tvm_kokoro_ext._fixes.metal import matmul as metal_matmul

METAL = tvm.target.Target({"kind": "metal"}, host={"kind": "llvm"})

MSL = {
    "acos": "acos",
    "acosh": "acosh",
    "asin": "asin",
    "asinh": "asinh",
    "atan": "atan",
    "atan2": "atan2",
    "atanh": "atanh",
    "copysign": "copysign",
    "nearbyint": "rint",
    "tan": "tan",
    # right in stock TVM, and still
    "sin": "sin",
    "exp": "exp",
    "round": "rint|round",
}
BINARY = ("atan2", "copysign")


def lowered(intrinsic: str) -> str:
    """The call that an intrinsic of a float32 becomes on Metal."""
    x = te.placeholder((8,), name="x")
    operands = 2 if intrinsic in BINARY else 1
    body = te.compute((8,), lambda i: getattr(tirx, intrinsic)(*[x[i]] * operands))
    kernel = te.create_prim_func([x, body]).with_attr("target", METAL)
    text = tirx.transform.LowerIntrin()(tvm.IRModule({"kernel": kernel})).script()
    match = re.search(r'call_pure_extern\((?:"float32", )?"(\w+)"', text)
    assert match is not None, text
    return match[1]


def product(dtype: str):
    x, y = (te.placeholder((64, 64), name=name, dtype=dtype) for name in "xy")
    k = te.reduce_axis((0, 64), name="k")
    result = te.compute((64, 64), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k))
    return te.create_prim_func([x, y, result])


@pytest.mark.parametrize("intrinsic", MSL)
def test_every_function_has_its_name_in_msl(intrinsic):
    tvm_kokoro_ext.activate()
    assert re.fullmatch(MSL[intrinsic], lowered(intrinsic))


@pytest.mark.parametrize("intrinsic", math_functions._NAMES)
def test_without_the_fix_the_names_are_stock(intrinsic):
    """With the fix off, TVM and its defect are unchanged."""
    tvm_kokoro_ext.activate()
    with tvm_kokoro_ext.disabled("metal_math"):
        stock = lowered(intrinsic)
    assert stock in (f"{intrinsic}f", "nearbyint")
    assert lowered(intrinsic) == math_functions._NAMES[intrinsic]


@pytest.mark.parametrize("fix", ["metal_math", "metal_matmul"])
def test_the_probes_find_the_defects(fix):
    tvm_kokoro_ext.activate()
    (row,) = [row for row in tvm_kokoro_ext.status() if row.id == fix]
    assert row.state is State.APPLIED
    assert "the probe finds the defect" in row.why


def test_a_float32_product_is_scheduled_in_the_general_way():
    from tvm.s_tir import dlight

    tvm_kokoro_ext.activate()
    with METAL:
        module = tvm.IRModule({"product": product("float32").with_attr("global_symbol", "product")})
        scheduled = dlight.ApplyDefaultSchedule(dlight.gpu.Matmul())(module)
    text = scheduled.script()
    assert "threadIdx.x" in text
    assert "simdgroup" not in text


def test_a_float16_product_is_left_to_the_rule_for_it(monkeypatch):
    """The rule itself ends the process on other dtypes, and its import takes long: a stand-in."""
    from tvm.s_tir.dlight.gpu import matmul

    seen = []
    with tvm_kokoro_ext.disabled("metal_matmul"):
        monkeypatch.setattr(matmul.MetalMatmul, "apply", lambda *given: seen.append(given[1]))
        undo = metal_matmul.install()
        half = product("float16")
        matmul.MetalMatmul().apply(half, METAL, False)
        with pytest.raises(ValueError, match="for float16"):
            matmul.MetalMatmul().apply(product("float32"), METAL, False)
        undo()
    assert len(seen) == 1
    assert seen[0].same_as(half)
