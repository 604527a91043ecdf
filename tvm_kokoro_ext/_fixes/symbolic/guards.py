"""What torch.export assumed of the sizes of inputs.

A program holds for the sizes that satisfy the guards of its trace: `x[: y.shape[0]]` for an x that
is not shorter, `x.view(-1, 4)` for a multiple of 4, `if x.shape[0] > 4` for the branch that was
traced. PyTorch's exported program raises for others. Stock ignores the guards, so that the compiled
program returns the results of another branch there, or reads behind a tensor. Here they are checked
when the program begins. The bounds of a `Dim`, which the caller states, are attributes of the
imported function (`tir_var_upper_bound`), and not checked.

Torch also takes every size for other than 0 and 1, or for 1 if it is 1 in the example, and guards
that `e >= 2`, `e != 1` or `e < 2` wherever the trace asks for them, also where nothing depends on
the answer. These guards are left out, and with them all that have `!=`, but for those that a
remainder, a float or a number of bits is not some number, and for what a line of the program asks
itself: whether a quotient is 1 (`range(n // 4)`), or a size is not some number (`n != 5`). Results
for such sizes are mostly right; what an operator needs beyond that, its converter checks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tvm_kokoro_ext import _checks, _compat, _importer, _probe, _program_probe, _symbolic
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared.match_casts import match_casts

_METHOD = "_translate_fx_graph"
#: Operators that raise in PyTorch where they divide integers by 0.
_DIVISIONS = frozenset(
    (
        *("floordiv", "mod", "truediv", "int_truediv"),
        *("floor_divide.default", "floor_divide.Scalar", "remainder.Tensor", "remainder.Scalar"),
        *("fmod.Tensor", "fmod.Scalar", "div.Tensor_mode", "div.Scalar_mode"),
    )
)
#: Guards of more operations are left out. They come of the strides of nested sizes: of 136 in Swin
#: 30 are shorter, and the others held at the few sizes that were tried.
_LARGEST = 24


def install() -> Callable[[], None]:
    cls = _importer.importer_class()
    original = cls.__dict__[_METHOD]

    @functools.wraps(original)
    def translate(self: Any, module: Any, nodes: Any, inputs: Any, *rest: Any) -> Any:
        inputs_of = [node for node in nodes if node.op == "placeholder" and node.name in inputs]
        if not self.env and inputs_of:
            self.env.update({node: inputs[node.name] for node in inputs_of})
            _check(self, inputs_of, nodes)
        return original(self, module, nodes, inputs, *rest)

    setattr(cls, _METHOD, translate)

    def restore() -> None:
        setattr(cls, _METHOD, original)

    return restore


def _check(importer: Any, inputs: Iterable[Any], nodes: Iterable[Any]) -> None:
    """Check at once all guards that TVM cannot prove, and that no size divides by 0."""
    known = _symbolic.known_symbols(importer)
    conditions = [_symbolic.condition(guard, known, own) for guard, own in _guards(inputs).items()]
    numbers = (_symbolic.translated(divisor, known) for divisor in _divisors(nodes))
    conditions.extend(number != 0 for number in numbers if _compat.is_prim(number))
    _checks.require(importer, *(c for c in conditions if c is not None))


def _divisors(nodes: Iterable[Any]) -> list[Any]:
    """What the sizes of a program are divided by, and integers are, as sympy expressions."""
    found: dict[Any, None] = {}
    seen: set[Any] = set()
    for node in nodes:
        value = node.meta.get("val")
        if _symbolic.is_symbolic(value) and _is_decomposed(node):
            continue
        results = value if isinstance(value, list | tuple) else [value]
        sizes = [size for result in results for size in getattr(result, "shape", [result])]
        for size in sizes:
            if _symbolic.is_symbolic(size) and size.node.expr not in seen:
                seen.add(size.node.expr)
                found.update(dict.fromkeys(_symbolic.divisors(_symbolic.simplified(size))))
        divisor = _divisor(node)
        if divisor is not None:
            found[_symbolic.simplified(divisor)] = None
    return list(found)


def _divisor(node: Any) -> Any:
    """The symbolic size by which a node divides sizes or the integers of a tensor.

    A tensor that has this size itself has no integers where it is 0.
    """
    name = getattr(node.target, "__name__", "")
    if name not in _DIVISIONS or len(node.args) < 2 or _is_decomposed(node):
        return None
    divisor = getattr(node.args[1], "meta", {}).get("val")
    result = node.meta.get("val")
    dtype = getattr(result, "dtype", None)
    floats = dtype is not None and dtype.is_floating_point
    if divisor is None or floats or not _symbolic.is_symbolic(divisor):
        return None
    symbolic = (size for size in getattr(result, "shape", ()) if _symbolic.is_symbolic(size))
    return None if any(size.node.expr == divisor.node.expr for size in symbolic) else divisor


def _is_decomposed(node: Any) -> bool:
    """Whether a node comes of an operator that does not divide in PyTorch, such as `roll`.

    It takes sizes of 0, by which its decomposition divides.
    """
    operator = node.meta.get("original_aten")
    return operator is not None and str(operator.__name__) not in _DIVISIONS


def _guards(inputs: Iterable[Any]) -> dict[Any, bool]:
    """The guards of the trace as sympy expressions, and whether the program itself asks each."""
    sizes = [size for node in inputs for size in _sizes(node)]
    if not sizes:
        return {}
    environment = sizes[0].node.shape_env
    guards: dict[Any, bool] = {}
    for guard in environment.guards:
        relation = environment.simplify(guard.expr)
        if relation.count_ops() <= _LARGEST:
            guards[relation] = guards.get(relation, False) or _is_own(guard)
    return guards


def _is_own(guard: Any) -> bool:
    """Whether a line of the program asks if a computed size is 1, or is not a number above 1.

    Torch asks the former in lines of its own. A question that it asks in C++ looks like one of the
    line that calls it, but is about plain sizes, or about 0 and 1.
    """
    line = getattr(guard.sloc, "framework_loc", None)
    file = getattr(line, "filename", None)
    if file is None or file.startswith(_torch_directory()):
        return False
    relation = guard.expr
    numbers = [int(side) for side in relation.args if side.is_Integer]
    if len(numbers) != 1:
        return False
    if relation.rel_op == "==":
        return numbers == [1] and not any(side.is_Symbol for side in relation.args)
    return relation.rel_op == "!=" and numbers[0] > 1


@functools.cache
def _torch_directory() -> str:
    import torch

    return str(Path(torch.__file__).parent)


def _sizes(node: Any) -> list[Any]:
    """The symbolic sizes of an input."""
    shape = getattr(node.meta.get("val"), "shape", ())
    return [size for size in shape if not _symbolic.is_number(size)]


@_probe.wrong
def _still_wrong() -> bool:
    """Whether stock checks nothing of a program that was traced for even sizes."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    def write(graph: Any, x: Any) -> list[Any]:
        fake = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(torch.empty(_probe.EXAMPLE))
        x.meta["val"] = x.meta["tensor_meta"] = fake
        bool(fake.shape[0] % 2 == _probe.EXAMPLE % 2)  # torch records it as a guard
        node = graph.call_function(torch.ops.aten.relu.default, (x,))
        node.meta["val"] = fake
        return [node]

    module = _program_probe.graph_module(write, [_probe.Input(("n",))])
    return not match_casts(_program_probe.imported(module)["main"])


FIX = Fix(
    id="guards",
    what="a program runs with sizes that its trace does not hold for: results of another branch, "
    "or what lies behind a tensor",
    op="from_exported_program",
    affected="",
    install=install,
    probe=_still_wrong,
    needs_symbols=True,
)
