"""The graph of an ONNX file, cut in two where the length of the audio becomes known.

An exported Kokoro computes durations, repeats each token's features that many times, draws noise of
that length, and renders. A compiled function draws nothing, and its noise must be given with the
length that only the graph knows. So the graph is cut at the repetition: one half gives the
durations, and the other takes the repetition and the noise. Every node keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from kokoro_pipeline.artifact.manifest import TensorSpec
from kokoro_pipeline.config import MAX_TOKENS
from kokoro_pipeline.errors import InputError

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

TOKENS, STYLE, SPEED = ("input_ids", "tokens"), ("style", "ref_s"), ("speed",)
AUDIO = ("audio", "waveform")
"""The names that exporters give to the inputs and to the audio."""

_SMALL = 64
"""Tensors of fewer elements stay in the graph: sizes, axes and scales are read at import."""
_NORMAL, _UNIFORM = ("RandomNormal", "RandomNormalLike"), ("RandomUniform", "RandomUniformLike")
_LENGTHS = (1, 2, 3, 5, 8, 13, 34, 89, 233, MAX_TOKENS)
"""Numbers of tokens at which it is checked that rows are as long as the input."""


@dataclass(frozen=True)
class Half:
    """One of the two functions: a graph whose weights are inputs behind its own inputs."""

    model: ModelProto
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    weights: tuple[str, ...]
    """Names of the inputs that are weights, in their order behind the others."""


@dataclass(frozen=True)
class Interface:
    """The names of the graph's inputs and of its audio."""

    tokens: str
    style: str
    speed: str
    speed_type: int
    """The element type of `speed` in ONNX's numbering."""
    speed_shape: tuple[int, ...]
    audio: str


@dataclass
class _Graph:
    """Nodes and weights of a model under preparation, by the names of their results."""

    nodes: list[NodeProto]
    constants: dict[str, np.ndarray]
    weights: dict[str, np.ndarray]
    types: dict[str, ValueInfoProto] = field(default_factory=dict)

    @property
    def producers(self) -> dict[str, NodeProto]:
        return {name: node for node in self.nodes for name in node.output}

    def before(self, outputs: Iterable[str], stops: Iterable[str]) -> list[NodeProto]:
        """The nodes that `outputs` are computed by, in order; those behind `stops` are left out."""
        wanted, known = set(outputs), set(stops)
        found = []
        for node in reversed(self.nodes):
            if wanted & (set(node.output) - known):
                found.append(node)
                wanted.update(read_by(node))
        return found[::-1]


def find_interface(model: ModelProto, where: str) -> Interface:
    """The inputs and the audio of a graph. Raises InputError if it is not Kokoro's."""
    own = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in own}
    outputs = [value.name for value in model.graph.output]

    def one(names: Sequence[str], given: Iterable[str]) -> str | None:
        return next((name for name in names if name in given), None)

    tokens, style, speed = (one(names, inputs) for names in (TOKENS, STYLE, SPEED))
    audio = one(AUDIO, outputs)
    known = {tokens, style, speed}
    if tokens is None or style is None or speed is None or audio is None or known != set(inputs):
        raise InputError(
            f"{where} is not a graph of Kokoro: its inputs are "
            f"{', '.join(map(_described, inputs.values())) or 'none'} and its outputs "
            f"{', '.join(outputs) or 'none'}, expected {' or '.join(TOKENS)}, "
            f"{' or '.join(STYLE)}, {SPEED[0]}, and {' or '.join(AUDIO)}. Build from a checkpoint "
            "with: kokoro-pipeline build --weights FOLDER"
        )
    _require(inputs[tokens], (TensorProto.INT64,), (1, None), where)
    _require(inputs[style], (TensorProto.FLOAT,), (1, 256), where)
    numbers = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64)
    _require(inputs[speed], numbers, (1,) if _dims(inputs[speed]) else (), where)
    return Interface(
        tokens,
        style,
        speed,
        inputs[speed].type.tensor_type.elem_type,
        (1,) if _dims(inputs[speed]) else (),
        audio,
    )


def halves(model: ModelProto, where: str) -> tuple[dict[str, np.ndarray], Half, Half]:
    """The weights of a model by name, the half that gives durations, and the half that speaks.

    The model is used up. Raises InputError if its graph cannot be cut, or draws or reads what a
    compiled function cannot be given.
    """
    names = find_interface(model, where)
    opsets = list(model.opset_import)
    graph = _taken_apart(model.graph)
    repeats, items, places = _repetition(graph, where)
    symbols: dict[str, tuple[int, tuple[int | str, ...]]] = {
        names.tokens: (TensorProto.INT64, (1, "n")),
        names.style: (TensorProto.FLOAT, (1, 256)),
        names.speed: (names.speed_type, names.speed_shape),
        places: (TensorProto.INT64, ("t",)),
    }
    noise = _without_randomness(graph, names.audio, places, where)
    symbols[noise] = (TensorProto.FLOAT, (1, "600*t", 9))
    given = [names.tokens, names.style, names.speed]
    timing = _Half(graph, opsets, symbols, given, repeats, where)
    speech = _Half(
        graph, opsets, symbols, [names.tokens, names.style, places, noise], names.audio, where
    )
    if not timing.counts(items, np.arange):
        raise InputError(
            f"{where} repeats {items} by the durations, and not the number of each token. Build "
            "from a checkpoint with: kokoro-pipeline build --weights FOLDER"
        )
    called = {names.tokens: "input_ids", names.style: "style", names.speed: "speed"}
    called |= {places: "token_of_frame", noise: "noise"}
    return (
        graph.weights,
        timing.made(called, TensorSpec("durations", "int64", ("n",))),
        speech.made(called, TensorSpec("audio", "float32", ("600*t",))),
    )


def with_noise(model: ModelProto, where: str) -> tuple[Interface, str]:
    """Replace the random operators of a model as `halves` does, and nothing else.

    Returns the names of its inputs and of the new one, the noise. The model is changed.

    Raises InputError as `halves` does.
    """
    names = find_interface(model, where)
    graph = _Graph(list(model.graph.node), {}, {})
    places = _repetition(graph, where)[-1]
    noise = _without_randomness(graph, names.audio, places, where)
    del model.graph.node[:]
    model.graph.node.extend(graph.nodes)
    model.graph.initializer.extend(
        numpy_helper.from_array(array, name) for name, array in graph.constants.items()
    )
    dtype, shape = TensorProto.FLOAT, (1, "samples", 9)
    model.graph.input.append(helper.make_tensor_value_info(noise, dtype, shape))
    return names, noise


@dataclass
class _Half:
    graph: _Graph
    opsets: list[Any]
    symbols: dict[str, tuple[int, tuple[int | str, ...]]]
    given: list[str]
    output: str
    where: str

    def made(self, called: dict[str, str], output: TensorSpec) -> Half:
        nodes = self._folded(self.graph.before([self.output], self.given))
        for step in (self._of_one_row, self._with_places, self._with_axes, self._as_torch):
            nodes = step(nodes)
        nodes = _Graph(nodes, {}, {}).before([self.output], self.given)  # what is still read
        read = {name for node in nodes for name in read_by(node)}
        weights = tuple(name for name in self.graph.weights if name in read)
        unknown = read - {name for node in nodes for name in node.output}
        unknown -= {*self.given, *weights, *self.graph.constants, ""}
        if unknown:
            raise InputError(
                f"{self.where} cannot be cut where the durations are known: what renders reads "
                f"{', '.join(sorted(unknown)[:3])}. Build from a checkpoint with: kokoro-pipeline "
                "build --weights FOLDER"
            )
        result = helper.make_tensor_value_info(
            self.output, helper.np_dtype_to_tensor_dtype(np.dtype(output.dtype)), None
        )
        return Half(
            self._model(nodes, [result], weights),
            tuple(
                TensorSpec(
                    called[name],
                    str(helper.tensor_dtype_to_np_dtype(self.symbols[name][0])),
                    self.symbols[name][1],
                )
                for name in self.given
            ),
            (output,),
            weights,
        )

    def _model(
        self, nodes: Sequence[NodeProto], outputs: Sequence[Any], weights: Iterable[str]
    ) -> ModelProto:
        """A model of these nodes, with the constants that they read, and weights as inputs."""
        read = {name for node in nodes for name in read_by(node)}
        constants = [
            helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array, name))
            for name, array in self.graph.constants.items()
            if name in read
        ]
        inputs = [helper.make_tensor_value_info(n, *self.symbols[n]) for n in self.given]
        for name in weights:
            array = self.graph.weights[name]
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(name, dtype, array.shape))
        made = helper.make_graph([*constants, *nodes], "kokoro", inputs, outputs)
        return helper.make_model(made, opset_imports=self.opsets, ir_version=8)

    def _sizes(self, nodes: Sequence[NodeProto]) -> dict[str, list[int | str]]:
        """The sizes that shape inference finds, by tensor."""
        read = {name for node in nodes for name in read_by(node)}
        model = self._model(nodes, [], [name for name in self.graph.weights if name in read])
        inferred = shape_inference.infer_shapes(model).graph
        return {
            value.name: _dims(value)
            for value in (*inferred.value_info, *inferred.input)
            if value.type.tensor_type.HasField("shape")
        }

    def _folded(self, nodes: list[NodeProto]) -> list[NodeProto]:
        """A branch in place of each `If` whose condition follows from the sizes that are fixed.

        torch writes `squeeze(1)` as such: whether the axis has one element is known.
        """
        while any(node.op_type == "If" for node in nodes):
            sizes = self._sizes(nodes)
            producers = {name: node for node in nodes for name in node.output}
            found: list[NodeProto] = []
            for node in nodes:
                condition = None
                if node.op_type == "If":
                    condition = _value(node.input[0], producers, sizes, self.graph.constants)
                if condition is None:
                    found.append(node)
                    continue
                branch = _branch(node, "then_branch" if condition.all() else "else_branch")
                taken = _taken_apart(branch)
                self.graph.constants.update(taken.constants)
                self.graph.weights.update(taken.weights)
                found += taken.nodes
                for inner, outer in zip(branch.output, node.output, strict=True):
                    found.append(helper.make_node("Identity", [inner.name], [outer]))
            if len(found) == len(nodes):
                return nodes  # the importer says what it makes of the others
            nodes = found
        return nodes

    def _with_axes(self, nodes: list[NodeProto]) -> list[NodeProto]:
        """Name the axes of `Squeeze` without any: all but the last, which counts tokens or samples.

        There are always more of them than one: a chunk has two boundary tokens.
        """
        bare = [n for n in nodes if n.op_type == "Squeeze" and len(n.input) == 1]
        bare = [node for node in bare if not node.attribute]
        if not bare:
            return nodes
        sizes = self._sizes(nodes)
        replaced = {}
        for node in bare:
            if node.input[0] not in sizes:
                raise InputError(
                    f"{self.where}: its node {node.name or 'Squeeze'} drops axes of unknown size. "
                    "Export the graph again, with the axes to squeeze"
                )
            axes = np.arange(len(sizes[node.input[0]]) - 1, dtype=np.int64)
            self.graph.constants[f"{node.output[0]}_axes"] = axes
            inputs = [node.input[0], f"{node.output[0]}_axes"]
            replaced[node.output[0]] = helper.make_node("Squeeze", inputs, node.output, node.name)
        return [replaced.get(node.output[0], node) for node in nodes]

    def _as_torch(self, nodes: list[NodeProto]) -> list[NodeProto]:
        """Write linear layers as torch does, which the rules of the kernels look for, and squares.

        The weight [in, out] of a product is kept as [out, in] and transposed; a power of 2, which
        would be a library's function, is a product.
        """
        found = []
        for node in nodes:
            weight = self.graph.weights.get(node.input[1]) if node.op_type == "MatMul" else None
            if weight is not None and weight.ndim == 2:
                name = f"{node.input[1]}_transposed"
                self.graph.weights[name] = np.ascontiguousarray(weight.T)
                turned = f"{node.output[0]}_weight"
                found.append(helper.make_node("Transpose", [name], [turned], perm=[1, 0]))
                found.append(helper.make_node("MatMul", [node.input[0], turned], node.output))
                continue
            power = self.graph.constants.get(node.input[1]) if node.op_type == "Pow" else None
            square = power is not None and power.size == 1 and power.item() == 2
            operands = [node.input[0], node.input[0]]
            found.append(
                helper.make_node("Mul", operands, node.output, node.name) if square else node
            )
        return found

    def _of_one_row(self, nodes: list[NodeProto]) -> list[NodeProto]:
        """Neither sort the rows by their length nor end them by it: there is one, and it is whole.

        That the graph's lengths say so is computed at `_LENGTHS`.
        """
        found = []
        for node in nodes:
            if node.op_type == "TopK" and self._is_number_of_tokens(node.input[0], nodes):
                self.graph.constants[node.output[1]] = np.zeros(1, np.int64)
                found.append(helper.make_node("Identity", [node.input[0]], [node.output[0]]))
                continue
            if node.op_type != "LSTM" or len(node.input) < 5 or not node.input[4]:
                found.append(node)
                continue
            if not self._is_number_of_tokens(node.input[4], nodes):
                raise InputError(
                    f"{self.where}: its node {node.name or 'LSTM'} reads rows with lengths of "
                    "their own. Export the graph for one row without padding"
                )
            inputs = [*node.input[:4], "", *node.input[5:]]
            whole = helper.make_node("LSTM", inputs, node.output, node.name)
            whole.attribute.extend(node.attribute)
            found.append(whole)
        return found

    def _with_places(self, nodes: list[NodeProto]) -> list[NodeProto]:
        """Gather the first elements of a table, one for each token, where `Slice` takes them.

        `Slice` may take fewer than it is asked for, and then nobody knows how many; a table of
        positions has at least `MAX_TOKENS`.
        """
        found = []
        for node in nodes:
            table = self.graph.constants.get(node.input[0]) if node.input else None
            if node.op_type != "Slice" or table is None or len(node.input) < 4:
                found.append(node)
                continue
            start, axis = (self.graph.constants.get(node.input[at]) for at in (1, 3))
            step = self.graph.constants.get(node.input[4]) if len(node.input) > 4 else np.ones(1)
            counts = axis is not None and axis.size == 1 and table.shape[axis.item()] >= MAX_TOKENS
            plain = start is not None and not start.any() and step is not None and (step == 1).all()
            if not (counts and plain and self._is_number_of_tokens(node.input[2], nodes)):
                found.append(node)
                continue
            name, axis_at = node.output[0], 0 if axis is None else axis.item()
            zero, one, first = f"{name}_zero", f"{name}_one", f"{name}_axis"
            self.graph.constants |= {zero: np.array(0), one: np.array(1), first: np.array([0])}
            found += [
                helper.make_node("Squeeze", [node.input[2], first], [f"{name}_count"]),
                helper.make_node("Range", [zero, f"{name}_count", one], [f"{name}_places"]),
                helper.make_node("Gather", [node.input[0], f"{name}_places"], [name], axis=axis_at),
            ]
        return found

    def _is_number_of_tokens(self, name: str, nodes: list[NodeProto]) -> bool:
        return self.counts(name, lambda length: [length], nodes)

    def counts(
        self,
        name: str,
        expected: Callable[[int], Any],
        nodes: list[NodeProto] | None = None,
    ) -> bool:
        """Whether a tensor is computed of sizes alone, and is `expected(length)` at `_LENGTHS`."""
        whole = _Graph(self.graph.nodes if nodes is None else nodes, {}, {})
        part = whole.before([name], self.given)
        read = {name for inner in part for name in read_by(inner)}
        if read & {*self.graph.weights, *self.given[1:]}:
            return False
        result = helper.make_tensor_value_info(name, TensorProto.INT64, None)
        evaluator = ReferenceEvaluator(self._model(part, [result], []))
        feeds: dict[str, Any] = {
            given: np.ones([1 if isinstance(size, str) else size for size in shape], "float32")
            for given, (_, shape) in self.symbols.items()
            if given in self.given
        }
        for length in _LENGTHS:
            feeds[self.given[0]] = np.ones((1, length), np.int64)
            (found,) = evaluator.run(None, feeds)
            if np.asarray(found).ravel().tolist() != list(expected(length)):
                return False
        return True


def _taken_apart(graph: GraphProto) -> _Graph:
    """Nodes, small constants and weights; a weight is a float tensor of `_SMALL` elements or more.

    The tensors are removed from the graph.
    """
    result = _Graph([], {}, {})

    def keep(name: str, array: np.ndarray) -> None:
        is_weight = array.size >= _SMALL and array.dtype.kind == "f"
        (result.weights if is_weight else result.constants)[name] = array

    while graph.initializer:
        tensor = graph.initializer.pop()
        keep(tensor.name, numpy_helper.to_array(tensor))
    same: dict[str, str] = {}
    for node in graph.node:
        node.input[:] = [same.get(name, name) for name in node.input]
        value = [a.t for a in node.attribute if a.name == "value" and node.op_type == "Constant"]
        if value:
            keep(node.output[0], numpy_helper.to_array(value[0]))
        elif node.op_type == "Identity" and node.input[0] in result.weights:
            same[node.output[0]] = node.input[0]  # layers that share weights are exported so
        else:
            result.nodes.append(node)
    return result


def _repetition(graph: _Graph, where: str) -> tuple[str, str, str]:
    """The tensors of durations, of what is repeated, and of the token of each frame.

    torch writes `repeat_interleave(arange(n), durations)` as a loop over the tokens, which puts
    pieces into a sequence.
    """
    producers = graph.producers
    found = []
    for node in graph.nodes:
        loop = producers.get(node.input[0]) if node.op_type == "ConcatFromSequence" else None
        if loop is None or loop.op_type != "Loop":
            continue
        body = _branch(loop, "body")
        read = [n.input[0] for n in body.node if n.op_type == "SequenceAt"]
        split = [producers[name] for name in read if name in producers]
        expand = [n for n in body.node if n.op_type == "Expand"]
        if len(split) != 2 or len(expand) != 1:
            continue
        pieces = _Graph(list(body.node), {}, {})
        times, what = (
            [n.input[0] for n in pieces.before([name], []) if n.op_type == "SequenceAt"]
            for name in (expand[0].input[1], expand[0].input[0])
        )
        if len(times) == len(what) == 1 and all(n.op_type == "SplitToSequence" for n in split):
            found.append(
                (producers[times[0]].input[0], producers[what[0]].input[0], node.output[0])
            )
    if len(found) != 1:
        raise InputError(
            f"{where} has {len(found)} places where tokens are repeated by their durations (a "
            "Loop over sequences, as torch.onnx.export with dynamo=False writes "
            "repeat_interleave), expected 1. Export it by `kokoro.model.KModelForONNX`, or build "
            "from a checkpoint with: kokoro-pipeline build --weights FOLDER"
        )
    return found[0]


def _without_randomness(graph: _Graph, audio: str, places: str, where: str) -> str:
    """Take the random operators out of the graph and return the name of the noise, an input.

    Uniform numbers are the phases that harmonics begin with: they become 0.
    """
    used = {name for n in graph.before([audio], [places]) for name in n.output}
    drawn = [n for n in graph.nodes if n.op_type in _NORMAL and n.output[0] in used]
    standard = {"mean": 0.0, "scale": 1.0}
    if len(drawn) != 1 or any(a.f != standard.get(a.name, a.f) for a in drawn[0].attribute):
        raise InputError(
            f"{where} draws {len(drawn)} tensors of normal numbers, expected 1 of mean 0 and "
            "deviation 1, for the harmonic source. Build from a checkpoint with: kokoro-pipeline "
            "build --weights FOLDER"
        )
    nodes = []
    for node in graph.nodes:
        if node is drawn[0]:
            continue
        if node.op_type not in _UNIFORM:
            nodes.append(node)
            continue
        name = node.output[0]
        if node.op_type == "RandomUniform":
            shape = next(a.ints for a in node.attribute if a.name == "shape")
            graph.constants[f"{name}_shape"] = np.array(shape, np.int64)
        else:
            nodes.append(helper.make_node("Shape", [node.input[0]], [f"{name}_shape"]))
        zero = numpy_helper.from_array(np.zeros(1, np.float32))
        nodes.append(helper.make_node("ConstantOfShape", [f"{name}_shape"], [name], value=zero))
    graph.nodes = nodes
    return drawn[0].output[0]


def _value(
    name: str,
    producers: dict[str, NodeProto],
    sizes: dict[str, list[int | str]],
    constants: dict[str, np.ndarray],
) -> np.ndarray | None:
    """The value of a tensor that is computed of constants and of sizes that are numbers."""
    if name in constants:
        return constants[name]
    node = producers.get(name)
    if node is None:
        return None
    if node.op_type == "Shape" and node.input[0] in sizes:
        dims = [dim if isinstance(dim, int) else -1 for dim in sizes[node.input[0]]]
        bounds = {attribute.name: attribute.i for attribute in node.attribute}
        return np.array(dims[bounds.get("start") : bounds.get("end")], np.int64)
    if node.op_type not in ("Gather", "Equal"):
        return None
    values = [_value(one, producers, sizes, constants) for one in node.input]
    if values[0] is None or values[1] is None:
        return None
    if node.op_type == "Gather":
        return np.take(values[0], values[1], axis=0)
    if (values[0] < 0).any() or (values[1] < 0).any():
        return None
    return np.equal(values[0], values[1])


def read_by(node: NodeProto) -> Iterator[str]:
    """The tensors that a node reads, in its branches too."""
    yield from node.input
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            own = {name for inner in attribute.g.node for name in inner.output}
            own |= {value.name for value in attribute.g.input}
            outside = (name for inner in attribute.g.node for name in read_by(inner))
            yield from (name for name in outside if name not in own)
            yield from (v.name for v in attribute.g.output if v.name not in own)


def _branch(node: NodeProto, name: str) -> GraphProto:
    return next(attribute.g for attribute in node.attribute if attribute.name == name)


def _dims(value: ValueInfoProto) -> list[int | str]:
    return [
        d.dim_value if d.HasField("dim_value") else d.dim_param
        for d in value.type.tensor_type.shape.dim
    ]


def _described(value: ValueInfoProto) -> str:
    dtype = TensorProto.DataType.Name(value.type.tensor_type.elem_type).lower()
    return f"{value.name} {dtype} [{', '.join(str(d or '?') for d in _dims(value))}]"


def _require(
    value: ValueInfoProto, types: Sequence[int], shape: Sequence[int | None], where: str
) -> None:
    dims = _dims(value)
    fits = len(dims) == len(shape) and all(
        isinstance(d, str) or d == s or s is None for d, s in zip(dims, shape, strict=True)
    )
    # A fixed number of tokens is a graph for texts of that length only.
    fixed = None in shape and fits and isinstance(dims[shape.index(None)], int)
    if value.type.tensor_type.elem_type not in types or not fits or fixed:
        wanted = " or ".join(TensorProto.DataType.Name(one).lower() for one in types)
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise InputError(
            f"{where}: its input is {_described(value)}, expected {wanted} [{sizes}]. Export the "
            "graph again, with a dynamic number of tokens"
        )
