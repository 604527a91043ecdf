"""view(dtype), rrelu in evaluation mode, nextafter and gcd, each as a kernel of one line."""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe
from tvm_kokoro_ext._compat import T, relax, tirx, tvm
from tvm_kokoro_ext._fix import Converter, Fix
from tvm_kokoro_ext._fixes._shared import elementwise, indexing, loops, promotion

_EUCLID = {8: 12, 16: 24, 32: 47, 64: 93}  # steps for the worst pair, by number of bits


def view_dtype(importer: Any, node: Any, previous: Any) -> Any:
    """Reinterpret the bits as another dtype of the same size.

    Other sizes are decomposed before. A bool is a byte that is 0 or 1.
    """
    x, dtype = importer.retrieve_args(node)[:2]
    goal, own = _emit.torch_dtype(importer, dtype), _compat.dtype_of(x)
    if goal == own:
        return x
    if own == "bool" and goal in ("int8", "uint8"):
        return _emit.astype(importer, x, goal)
    if "bool" in (goal, own) or tvm.DataType(goal).bits != tvm.DataType(own).bits:
        raise _emit.refuse(
            node,
            f"a view of {own} as {goal}",
            "Compare it with 0, or convert it with to(dtype)",
        )
    return elementwise.emit(importer, lambda v: tirx.reinterpret(goal, v), x, hint="view_dtype")


def _leaky(importer: Any, node: Any, x: Any, lower: float, upper: float, train: bool) -> Any:
    if train:
        raise _emit.refuse(node, "a slope drawn at random", "Export the model in eval mode")
    return _emit.emit(importer, relax.op.nn.leakyrelu(x, (lower + upper) / 2))


def rrelu(importer: Any, node: Any, previous: Any) -> Any:
    names, defaults = ("self", "lower", "upper", "training"), {"lower": 1 / 8, "upper": 1 / 3}
    return _leaky(importer, node, *_emit.arguments(importer, node, *names, **defaults))


def rrelu_with_noise(importer: Any, node: Any, previous: Any) -> Any:
    x, noise, lower, upper, train = _emit.arguments(
        importer, node, *("self", "noise", "lower", "upper", "training"), lower=1 / 8, upper=1 / 3
    )
    result = _leaky(importer, node, x, lower, upper, train)
    return _emit.emit(importer, relax.Tuple([result, noise]))


def nextafter(importer: Any, node: Any, previous: Any) -> Any:
    operands = importer.retrieve_args(node)[:2]
    dtype = promotion.common_dtype(importer, "add.Tensor", *operands)
    if dtype not in ("float32", "float64"):
        raise _emit.refuse(node, f"{dtype} has no kernel", "Compute it in float32")
    bits = dtype.replace("float", "int")

    def step(x: Any, y: Any) -> Any:
        zero = tirx.const(0, dtype)
        number = tirx.reinterpret(bits, x)
        away = tirx.Select(tirx.Select(x < y, x > zero, x < zero), 1, -1)
        moved = tirx.reinterpret(dtype, number + tirx.Cast(bits, away))
        smallest = tirx.copysign(tirx.reinterpret(dtype, tirx.const(1, bits)), y)
        moved = tirx.Select(x == zero, smallest, moved)
        moved = tirx.Select(x == y, y, moved)
        return tirx.Select(tirx.isnan(y), y, tirx.Select(tirx.isnan(x), x, moved))

    cast = [_emit.tensor_or_scalar(importer, value, dtype) for value in operands]
    return elementwise.emit(importer, step, *cast, hint="nextafter")


def gcd(importer: Any, node: Any, previous: Any) -> Any:
    """Euclid's algorithm, with the number of steps for the worst pair of the dtype."""
    operands = importer.retrieve_args(node)[:2]
    dtype = promotion.common_dtype(importer, "add.Tensor", *operands)
    cast = [_emit.tensor_or_scalar(importer, value, dtype) for value in operands]
    shape = elementwise.broadcast(*cast)
    wide = [_emit.emit(importer, relax.op.broadcast_to(value, shape)) for value in cast]
    flat = [indexing.flatten(importer, value) for value in wide]
    steps = _EUCLID[tvm.DataType(dtype).bits]

    def body(dims: Any, large: Any, small: Any, rest: Any, x: Any, y: Any) -> None:
        zero = tirx.const(0, dtype)
        with T.serial(0, dims[0][0]) as i:
            large[i] = tirx.abs(x[i])
            small[i] = tirx.abs(y[i])
            with T.serial(0, steps), T.If(small[i] != zero), T.Then():
                rest[i] = tirx.truncmod(large[i], small[i])
                large[i] = small[i]
                small[i] = rest[i]

    count = [_emit.extent(shape)]
    results = loops.emit(importer, body, [(count, dtype)] * 3, *flat, hint="gcd")
    return _emit.emit(importer, relax.op.reshape(results[0], shape))


_CONVERTERS: dict[str, Converter] = {
    "view.dtype": view_dtype,
    "rrelu.default": rrelu,
    "rrelu_with_noise_functional.default": rrelu_with_noise,
    "nextafter.default": nextafter,
    "gcd.default": gcd,
}


@_probe.wrong
def _bools_are_refused() -> bool:
    import torch

    made = _probe.convert(
        "view.dtype", _probe.Input((3,), "bool"), torch.uint8, out=((3,), "uint8")
    )
    return made.dtype != "uint8"


FIX = Fix(
    id="small_operators",
    what="view(dtype), rrelu in evaluation, nextafter and gcd are missing",
    op="aten.view.dtype, aten.rrelu, aten.nextafter, aten.gcd",
    affected="",
    converters=_CONVERTERS,
    probe=_probe.any_of(_probe.lacks(*_CONVERTERS), _bools_are_refused),
)
