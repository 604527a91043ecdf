"""Lay converters over those of the ONNX frontend, and let values of sizes reach them.

Stock's importer hands each converter the inputs as Relax expressions, among them shapes and scalars
of the shape language, which most converters do not take. Here such an input is a `Known`, which
a converter of a fix may read; stock's converters get it in the form that they take.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tvm_kokoro_ext import _compat
from tvm_kokoro_ext._compat import relax, tirx, tvm
from tvm_kokoro_ext._fixes.onnx import _elements, _evaluation, _frontend, _known
from tvm_kokoro_ext._fixes.onnx._known import Known

_SHAPES = {
    "Reshape": (1,),
    "Expand": (1,),
    "ConstantOfShape": (0,),
    "Resize": (3,),
    "Slice": (1, 2, 3, 4),
    "Col2Im": (1,),
}
"""Inputs that stock's converters take as shapes, by operator."""
_WITH_GRAPHS = ("If", "Loop", "Scan")
_LISTS = (*_elements.INTEGERS, *_elements.FLOATS, "bool")
_LONGEST = 64
"""Elements of the constants of which a list of sizes may be computed."""


@dataclass(frozen=True)
class Node:
    """A node of the graph under conversion."""

    importer: Any
    operator: str
    inputs: list[Any]
    """Relax expressions, `Known` values, and None for an input that is left out."""
    attributes: dict[str, Any]
    opset: int

    @property
    def builder(self) -> Any:
        """The builder of the function under construction."""
        return self.importer.bb

    @property
    def outputs(self) -> int:
        """The number of outputs that the graph names."""
        return int(self.attributes["tvm_custom"]["num_outputs"])

    def given(self, at: int) -> Any:
        """An input; None if it is left out."""
        return self.inputs[at] if at < len(self.inputs) else None

    def tensor(self, at: int) -> Any:
        """An input as a tensor expression; None if it is left out."""
        value = self.given(at)
        return _known.as_tensor(self.builder, value) if isinstance(value, Known) else value

    def known(self, at: int) -> Known | None:
        """The known value of an input: of sizes, or of a small constant."""
        return self._known(self.given(at))

    def with_inputs(self, *inputs: Any) -> Node:
        """The node with other inputs."""
        return replace(self, inputs=list(inputs))

    def emit(self, expression: Any) -> Any:
        """Bind an expression to a variable of the function under construction."""
        return self.builder.emit(expression)

    def text(self, name: str, default: str) -> str:
        """The value of an attribute of text."""
        value = self.attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else str(value)

    def evaluated(self) -> Known | None:
        """The value of the node, if it computes with sizes and lists of constants only."""
        given = [value for value in self.inputs if value is not None]
        if not given or not all(isinstance(v, Known) or _is_list(v) for v in given):
            return None
        values = [None if value is None else self._known(value) for value in self.inputs]
        if any(
            v is None and given is not None for v, given in zip(values, self.inputs, strict=True)
        ):
            return None
        return _evaluation.evaluate(self.operator, values, self.attributes)

    def _known(self, value: Any) -> Known | None:
        if value is None or isinstance(value, Known):
            return value
        array = _compat.constant_value(value)
        if array is None and isinstance(value, relax.Var):
            parameter = self.importer._params.get(_compat.name_of(value))
            array = None if parameter is None else parameter[1].numpy()
        return None if array is None else _known.known_constant(np.asarray(array))


def _is_list(value: Any) -> bool:
    """Whether a tensor is small enough for a list, and its dtype one of those that are evaluated.

    Only then is it worth looking whether it is a constant.
    """
    if not _compat.has_shape(value):
        return False
    sizes = list(map(_compat.as_int, _compat.shape_of(value)))
    return (
        _compat.dtype_of(value) in _LISTS and None not in sizes and math.prod(sizes) <= _LONGEST  # type: ignore[arg-type]
    )


#: (node, previous) -> the result of the node; `previous(node)` asks the converter below.
Convert = Callable[[Node, Callable[[Node], Any]], Any]

_numbers = itertools.count()
_layers: list[Mapping[str, Convert]] = []
_undo: Callable[[], None] | None = None


def laid_over(converters: Mapping[str, Convert]) -> Callable[[], None]:
    """Lay converters over those below, by operator. Returns the undo."""
    global _undo
    _layers.append(converters)
    if _undo is None:
        _undo = _frontend.when_imported(_wrap_importer)

    def undo() -> None:
        global _undo
        _layers.remove(converters)
        if not _layers and _undo is not None:
            _undo()
            _undo = None

    return undo


def _wrap_importer() -> Callable[[], None]:
    importer = _frontend.module().ONNXGraphImporter
    wraps = {"_convert_operator": _converting, "_construct_nodes": _constructing}
    if hasattr(importer, "_convert_subgraph"):
        wraps["_convert_subgraph"] = _converting_branch
    stock = {name: importer.__dict__[name] for name in wraps}
    for name, wrap in wraps.items():
        setattr(importer, name, functools.wraps(stock[name])(wrap(stock[name])))

    def restore() -> None:
        for name, original in stock.items():
            setattr(importer, name, original)

    return restore


def _converting(original: Callable[..., Any]) -> Callable[..., Any]:
    def _convert_operator(self: Any, op_name: str, inputs: Any, attrs: Any, opset: int) -> Any:
        def stock(node: Node) -> Any:
            own = type(inputs)(_for_stock(node, at) for at in range(len(node.inputs)))
            return original(self, op_name, own, node.attributes, opset)

        convert: Callable[[Node], Any] = stock
        for layer in _layers:
            if op_name in layer:
                convert = _over(layer[op_name], convert)
            elif "*" in layer:
                convert = _over(layer["*"], convert)
        given = [_as_known(value) for value in inputs]
        node = Node(self, op_name, given, attrs, opset)
        result = convert(node)
        if isinstance(result, relax.Expr):
            result = with_sizes(node, self.bb.normalize(result))
        if getattr(self, "_within_branch", 0):
            return _as_expression(self.bb, result)
        return result

    return _convert_operator


def _over(convert: Convert, below: Callable[[Node], Any]) -> Callable[[Node], Any]:
    return lambda node: convert(node, below)


def _constructing(original: Callable[..., Any]) -> Callable[..., Any]:
    def _construct_nodes(self: Any, graph: Any) -> None:
        inputs = [size for value in self._inputs.values() for size in known_dims(value) or ()]
        with _elements.sizes_of_inputs([size for size in inputs if not isinstance(size, int)]):
            for node in graph.node:
                if not _branching(self, node):
                    original(self, SimpleNamespace(node=[node]))
                for name in node.output:
                    if name in self._nodes:
                        self._nodes[name] = _as_known(self._nodes[name])
        for output in getattr(graph, "output", ()):
            if output.name in self._nodes:
                self._nodes[output.name] = _as_expression(self.bb, self._nodes[output.name])

    return _construct_nodes


def _branching(importer: Any, node: Any) -> bool:
    """Convert a node with graphs of its own, if a fix does; whether one did.

    Stock's importer gives If to no converter, and takes one sequence for several results.
    """
    if node.op_type not in _WITH_GRAPHS or not any(node.op_type in layer for layer in _layers):
        return False
    convert: Callable[[Node], Any] = _not_converted
    for layer in _layers:
        if found := layer.get(node.op_type, layer.get("*")):
            convert = _over(found, convert)
    inputs = [_as_known(importer._nodes[name]) if name else None for name in node.input]
    attributes = importer._parse_attr(node.attribute)
    attributes["tvm_custom"] = {"name": node.name, "num_outputs": len(node.output)}
    made = convert(Node(importer, node.op_type, inputs, attributes, importer.opset))
    values = [made] if len(node.output) == 1 else list(made.fields)
    importer._nodes.update(
        (name, value) for name, value in zip(node.output, values, strict=True) if name
    )
    return True


def _not_converted(node: Node) -> Any:
    raise NotImplementedError(node.operator)


def _converting_branch(original: Callable[..., Any]) -> Callable[..., Any]:
    def _convert_subgraph(self: Any, bb: Any, graph: Any) -> Any:
        self._within_branch = getattr(self, "_within_branch", 0) + 1
        try:
            return original(self, bb, graph)
        finally:
            self._within_branch -= 1

    return _convert_subgraph


def _as_known(value: Any) -> Any:
    """A shape or scalar of the shape language as a `Known`; anything else unchanged."""
    if isinstance(value, relax.ShapeExpr):
        return _known.known_sizes(list(value.values))
    if isinstance(value, relax.Expr | tvm.ir.Expr) and _compat.is_prim(value):
        return _known.known_scalar(value)
    return value


def _as_expression(builder: Any, value: Any) -> Any:
    value = _as_known(value)
    return _known.as_tensor(builder, value) if isinstance(value, Known) else value


def _for_stock(node: Node, at: int) -> Any:
    """An input in the form that stock's converter takes."""
    value = node.inputs[at]
    if not isinstance(value, Known):
        return value
    as_shape = at in _SHAPES.get(node.operator, ()) and value.values.ndim == 1
    if as_shape and value.dtype == "int64" and not value.constant:
        return relax.ShapeExpr([int64(size) for size in value.integers()])
    return _known.as_tensor(node.builder, value)


def int64(size: Any) -> Any:
    """A size as an expression."""
    return tirx.IntImm("int64", size) if isinstance(size, int) else size


def known_dims(value: Any) -> list[Any] | None:
    """The sizes of a tensor: ints and expressions; None if they are not known."""
    if isinstance(value, Known):
        return list(value.values.shape)
    if not _compat.is_tensor(value) or not isinstance(
        _compat.type_of(value).shape, relax.ShapeExpr
    ):
        return None
    return _compat.shape_of(value)


def with_sizes(node: Node, value: Any) -> Any:
    """A tensor with its sizes in their simplest form, and with symbols for unknown sizes."""
    if not _compat.is_tensor(value):
        return value
    dims, rank = known_dims(value), _compat.rank_of(value)
    if dims is None and rank < 0:
        return value
    if dims is None:
        sizes = [_fresh(node, axis) for axis in range(rank)]
    else:
        sizes = [_simplest(node, axis, dim) for axis, dim in enumerate(dims)]
        if all(size is dim for size, dim in zip(sizes, dims, strict=True)):
            return value
    found = node.emit(value)
    declared = _compat.tensor_type([int64(size) for size in sizes], _compat.dtype_of(found))
    return node.builder.match_cast(found, declared)


def _fresh(node: Node, axis: int) -> Any:
    return _compat.tir_var(f"{node.operator.lower()}_{next(_numbers)}_{axis}")


def _simplest(node: Node, axis: int, dim: Any) -> Any:
    if isinstance(dim, int):
        return dim
    found = _elements.simplified(dim)
    if _elements.limited(found):
        return _fresh(node, axis)
    if _compat.is_var(found):
        # A declared variable is a definition, of which `CanonicalizeBindings` finds no end where
        # the size is an expression of it (`_emit.with_sizes`).
        return dim
    return found if len(str(found)) < len(str(dim)) else dim
