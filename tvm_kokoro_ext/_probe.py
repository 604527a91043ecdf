"""Probes that examine how a stock converter of TVM translates one node.

A probe builds a graph of a single call by hand (without torch.export, in a few milliseconds), runs
the stock converter on it, and examines the operators, dtype and shape of the result.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tvm_kokoro_ext import _compat, _importer
from tvm_kokoro_ext._compat import relax, tvm

#: The size that the nodes of a probe record of every symbolic dimension.
EXAMPLE = 7


@dataclass(frozen=True)
class Input:
    """A tensor input of a probe: dimensions are ints, or names of symbolic dimensions.

    A `computed` tensor looks to the converter like the result of another node.
    """

    shape: tuple[int | str, ...]
    dtype: str = "float32"
    computed: bool = False


@dataclass(frozen=True)
class Symbol:
    """A scalar input of a probe: the value of the named dimension, times `factor`."""

    name: str
    factor: int = 1


@dataclass(frozen=True)
class Converted:
    """The output of a converter: operator names in order, and dtype and shape of the result.

    `kernels` is the text of the kernels that the converter has written itself.
    """

    ops: tuple[str, ...]
    dtype: str | None
    shape: tuple[Any, ...] | None
    value: Any
    function: Any
    kernels: str


class ProbeError(Exception):
    """The stock converter is missing or raised."""


def convert(target: str, *args: Any, out: tuple[Any, ...] = (), **kwargs: Any) -> Converted:
    """Run the stock converter of `torch.ops.aten.<target>` (or of `operator.<target>`).

    A target "library::<name>" stands for an operator of a library that need not be installed.

    `out` is the (shape, dtype) of the result in torch. Raises ProbeError if stock TVM cannot
    convert the node at all.
    """
    import torch
    from torch import fx

    importer = _importer.stock()
    symbols: dict[str, Any] = {}
    graph = fx.Graph()
    parameters: list[Any] = []

    def dimension(dim: int | str) -> Any:
        return symbols.setdefault(dim, _compat.tir_var(dim)) if isinstance(dim, str) else dim

    def lift(arg: Any) -> Any:
        if isinstance(arg, list | tuple):
            return type(arg)(lift(a) for a in arg)
        if isinstance(arg, Input):
            node = graph.placeholder(f"x{len(parameters)}")
            sizes = [EXAMPLE if isinstance(d, str) else d for d in arg.shape]
            dtype = getattr(torch, arg.dtype)
            node.meta["val"] = torch.empty(sizes, dtype=dtype, device="meta")
            shape = [dimension(d) for d in arg.shape]
            kind = relax.DataflowVar if arg.computed else relax.Var
            variable = kind(node.name, _compat.tensor_type(shape, arg.dtype))
            parameters.append(variable)
            importer.env[node] = variable
            return node
        if isinstance(arg, Symbol):
            node = graph.placeholder(f"s_{arg.name}_{arg.factor}")
            value = dimension(arg.name)
            importer.env[node] = value * arg.factor if arg.factor != 1 else value
            return node
        return arg

    lifted_args, lifted_kwargs = lift(args), {k: lift(v) for k, v in kwargs.items()}
    function = _target(target)
    node = graph.call_function(function, lifted_args, lifted_kwargs)
    if out:
        sizes = [EXAMPLE if isinstance(d, str) else d for d in out[0]]
        node.meta["val"] = torch.empty(sizes, dtype=getattr(torch, out[1]), device="meta")
    name = function.__name__
    if name not in importer.convert_map:
        raise ProbeError(f"no converter for {name}")
    importer.block_builder = relax.BlockBuilder()
    failure: Exception | None = None
    value: Any = None
    with importer.block_builder.function("probe", parameters):
        result: Any = relax.Tuple([])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = importer.convert_map[name](node)
            if isinstance(value, relax.Expr) and not _compat.is_prim(value):
                result = value
        except Exception as error:  # noqa: BLE001 - whatever stock raises is the probe's finding
            failure = error
        importer.block_builder.emit_func_output(result)
    if failure is not None:
        raise ProbeError(f"{type(failure).__name__}: {failure}") from failure
    module = importer.block_builder.get()
    built = module["probe"]
    tensor = _compat.is_tensor(value)
    known = tensor and _compat.type_of(value).shape is not None
    return Converted(
        ops=operators_of(built),
        dtype=_compat.dtype_of(value) if tensor else None,
        shape=tuple(_compat.shape_of(value)) if known else None,
        value=value,
        function=built,
        kernels="\n".join(str(f) for f in module.functions.values() if f is not built),
    )


def variables(inputs: Sequence[Input]) -> list[Any]:
    """A Relax variable for each input; dimensions of the same name share a variable."""
    symbols: dict[str, Any] = {}
    made = []
    for number, given in enumerate(inputs):
        shape = [
            symbols.setdefault(d, _compat.tir_var(d)) if isinstance(d, str) else d
            for d in given.shape
        ]
        made.append(relax.Var(f"x{number}", _compat.tensor_type(shape, given.dtype)))
    return made


def legalized(apply: Callable[..., Any], *inputs: Input) -> Any:
    """A module with the function `main` that computes `apply(*inputs)`, legalized by TVM.

    Raises ProbeError if that fails.
    """
    parameters = variables(inputs)
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        builder.emit_func_output(builder.emit(apply(*parameters)))
    with native_stderr_dropped():
        try:
            return relax.transform.LegalizeOps()(builder.get())
        except Exception as error:  # noqa: BLE001 - whatever TVM raises is the probe's finding
            found = f"{type(error).__name__}: {error}"
    raise ProbeError(found)


def fails_to_build(module: Any) -> bool:
    """Whether stock cannot compile a module for a CPU, whatever it raises."""
    with native_stderr_dropped():
        try:
            tvm.compile(module, tvm.target.Target({"kind": "llvm"}))
        except Exception:  # noqa: BLE001 - whatever TVM raises is the probe's finding
            return True
    return False


def wrong(question: Callable[[], bool]) -> Callable[[], bool]:
    """Make a probe from a check of the stock result; a converter that fails counts as wrong."""

    @functools.wraps(question)
    def probe() -> bool:
        try:
            return bool(question())
        except ProbeError:
            return True

    return probe


@contextlib.contextmanager
def native_stderr_dropped() -> Iterator[None]:
    """Context in which output of native code to standard error is discarded.

    A probe that makes TVM fail on purpose should not alarm the user who imports the extension.
    Messages of other threads are lost as well while the probe runs.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, not a path
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def lacks(*names: str) -> Callable[[], bool]:
    """A probe: whether stock lacks a converter for any of these names."""

    def probe() -> bool:
        return not set(names) <= _importer.stock().convert_map.keys()

    return probe


def any_of(*probes: Callable[[], bool]) -> Callable[[], bool]:
    """A probe for a fix of several parts, which is needed if any of them is wrong in stock."""

    def probe() -> bool:
        return any(part() for part in probes)

    return probe


def _target(name: str) -> Any:
    import math
    import operator

    import torch

    if "::" in name:

        def stand_in(*_: Any) -> None:
            raise NotImplementedError(name)

        stand_in.__name__ = name.partition("::")[2]
        return stand_in
    if "." in name:
        op, overload = name.rsplit(".", 1)
        return getattr(getattr(torch.ops.aten, op), overload)
    for module in (operator, math, torch):
        if hasattr(module, name):
            return getattr(module, name)
    raise ValueError(f"no operator is called {name}")


def operators_of(function: Any) -> tuple[str, ...]:
    """The names of the operators called by a Relax function, in order."""
    names: list[str] = []

    def visit(expression: Any) -> None:
        if isinstance(expression, relax.Call):
            names.append(str(getattr(expression.op, "name", "call")))

    relax.analysis.post_order_visit(function, visit)
    return tuple(names)
