"""Count the work of a GPU kernel for given sizes from its TIR: operations, memory, barriers.

The work of a launch is counted by executing some warps of the block in the middle of the grid
symbolically, 32 lanes at once, with actual indices: predicates, tails, divergence and coalescing
are those of a run. Only a few iterations of long loops are executed. Loaded values are unknown: a
branch that depends on one is taken, an index is 0, and a loop runs to its maximum.

Instructions are those that a GPU issues: a multiply-add is one instruction, 64-bit integers are
emulated, and for index computations within loops only divisions are counted, since compilers
strength-reduce the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tvm
from tvm import s_tir, tirx

from kokoro_pipeline.errors import InputError

WARP, SECTOR = 32, 32
"""Lanes of a warp; bytes of the smallest memory transaction."""
WALKED_WARPS, WALKED_ITERATIONS = 4, 4
COPIED_WORDS = 4  # by an asynchronous copy
_MEMORY = ("tirx.ptx.cp", "tirx.ptx.ld", "tirx.ptx.st")
UNDER_WAY = 4
"""Number of iterations of a loop without barriers whose loads overlap."""

# Approximate number of instructions to which NVIDIA's compiler expands operations.
_CALLS = {"fma": 1, "tirx.sqrt": 8, "tirx.exp": 12, "tirx.floor": 1, "tirx.reinterpret": 0}
_OTHER_CALL = 30  # sin, cos, tanh, ...
_CONVERSION = 2  # to an operand of tensor cores: at half the rate of arithmetic or less
_PRODUCT = re.compile(r"m(\d+)n(\d+)k(\d+)")
_DIVISION = {"float": 9, "constant": 5, "int32": 22, "int64": 90}
_LONG = {"Add": 2, "Sub": 2, "Mul": 4}

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    "FloorDiv": np.floor_divide,
    "Mod": np.fmod,
    "FloorMod": np.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "LShift": np.left_shift,
    "RShift": np.right_shift,
}
_DIVISIONS = ("Div", "FloorDiv", "Mod", "FloorMod")


@dataclass
class KernelWork:
    """The work of one launch. Bytes refer to global memory."""

    blocks: int = 1
    threads: int = 1
    """Threads per block."""
    flops: float = 0.0
    """Multiplications and additions; any other function counts as 1."""
    instructions: float = 0.0
    """Instructions issued by a block, counted once per warp."""
    serial: float = 0.0
    """Instructions of the longest warp."""
    requested: float = 0.0
    """Bytes of all sectors that warps request."""
    unique: float = 0.0
    """Bytes of the arguments that are accessed, counted once."""
    waits: float = 0.0
    """Number of loads that a thread waits for sequentially."""
    barriers: float = 0.0
    shared: float = 0.0
    """Accesses of a block to shared memory, counted once per warp."""
    tensor: float = 0.0
    """Multiply-adds of a block on tensor cores, those of tf32 counted twice."""
    registers: int = 0
    """Words of a thread's arrays, of which its registers hold at least as many."""
    trips: float = 0.0
    """Number of loop iterations with a load per thread."""
    shared_bytes: int = 0

    @property
    def kind(self) -> str:
        """The kind of kernel.

        `block`: threads synchronize; `thread sum`: each thread loops over memory; `element`: each
        thread computes its own element.
        """
        if self.barriers:
            return "block"
        return "thread sum" if self.trips > 8 else "element"


def count_work(function: tirx.PrimFunc, shapes: Sequence[Sequence[int] | int]) -> list[KernelWork]:
    """The launches of a thread-bound function whose arguments have these sizes.

    A scalar argument is given as a number. Raises InputError for a function that does anything
    outside of its launches.
    """
    env: dict[Any, Any] = {}
    walk = _Walk(env)
    for parameter, shape in zip(function.params, shapes, strict=True):
        if isinstance(shape, int):
            env[parameter] = shape
            continue
        for extent, size in zip(parameter.shape, shape, strict=True):
            if isinstance(extent, tirx.Var):
                env.setdefault(extent, size)
        walk.roots[parameter] = parameter
        walk.sizes[parameter] = math.prod(shape) * _item_bytes(parameter)
    walk.statement(function.body)
    return walk.launches


def _item_bytes(buffer: Any) -> int:
    return max(1, tvm.DataType(str(buffer.dtype)).bits // 8)


def _thread(node: Any) -> tuple[str, Any, Any] | None:
    """(tag, variable, extent) of a statement that binds threads."""
    if isinstance(node, tirx.AttrStmt) and node.attr_key == "thread_extent":
        return str(node.node.thread_tag), node.node.var, node.value
    if isinstance(node, tirx.For) and node.kind == tirx.ForKind.THREAD_BINDING:
        return str(node.thread_binding.thread_tag), node.loop_var, node.extent
    return None


@dataclass
class _Walk:
    env: dict[Any, Any]
    roots: dict[Any, Any] = field(default_factory=dict)
    """The argument that a view refers to."""
    sizes: dict[Any, int] = field(default_factory=dict)
    """Sizes of the arguments in bytes."""
    launches: list[KernelWork] = field(default_factory=list)
    work: KernelWork | None = None
    weight: float = 1.0
    """The number of iterations that the current one represents."""
    depth: int = 0
    lanes: Any = None
    """The active lanes."""
    vector: int = 1
    """Elements per access."""
    traffic: dict[Any, float] = field(default_factory=dict)
    loaded: bool = False
    """Whether the innermost loop has loaded from global memory."""
    met: bool = False
    """Whether the innermost loop has had a barrier."""

    # Statements

    def statement(self, node: Any) -> None:
        name = type(node).__name__
        method = getattr(self, f"_{name.lower()}", None)
        if _thread(node) is not None and self.work is None:
            self._launch(node)
        elif method is not None:
            method(node)
        else:
            raise InputError(f"a kernel with {name} cannot be counted")

    def _launch(self, node: Any) -> None:
        bound: list[tuple[str, Any, int]] = []
        while (found := _thread(node)) is not None:
            tag, variable, extent = found
            bound.append((tag, variable, int(self.value(extent))))
            node = node.body
        extents = {tag: extent for tag, _, extent in bound}
        block = [extents.get(f"threadIdx.{axis}", 1) for axis in "xyz"]
        work = KernelWork(
            math.prod(e for tag, e in extents.items() if tag.startswith("blockIdx")),
            math.prod(block),
        )
        warps = -(-work.threads // WARP)
        walked = sorted({int(w) for w in np.linspace(0, warps - 1, min(warps, WALKED_WARPS))})
        self.traffic = {}
        for warp in walked:
            thread = warp * WARP + np.arange(WARP)
            at = {
                "threadIdx.x": thread % block[0],
                "threadIdx.y": thread // block[0] % block[1],
                "threadIdx.z": thread // (block[0] * block[1]),
            }
            for tag, variable, extent in bound:
                self.env[variable] = at[tag] if tag in at else extent // 2
            self.lanes = thread < work.threads
            self.weight, self.depth = warps / len(walked), 0
            self.work = KernelWork()
            self.statement(node)
            work.flops += self.work.flops * work.blocks
            work.instructions += self.work.instructions
            work.shared += self.work.shared
            work.tensor += self.work.tensor
            work.serial = max(work.serial, self.work.instructions / self.weight)
            for longest in ("waits", "barriers", "trips", "shared_bytes", "registers"):
                setattr(work, longest, max(getattr(work, longest), getattr(self.work, longest)))
        self.work = None
        for root, requested in self.traffic.items():
            work.requested += requested * work.blocks
            work.unique += min(requested * work.blocks, self.sizes[root])
        self.launches.append(work)

    def _seqstmt(self, node: Any) -> None:
        for each in node.seq:
            self.statement(each)

    def _sblockrealize(self, node: s_tir.SBlockRealize) -> None:
        for axis, value in zip(node.block.iter_vars, node.iter_values, strict=True):
            self.env[axis.var] = self.value(value)
        if self.work is None:
            self.statement(node.block.body)
        else:
            self._branch(node.predicate, node.block.body, None)

    def _bind(self, node: Any) -> None:
        self.env[node.var] = self.value(node.value)

    def _attrstmt(self, node: Any) -> None:
        self.statement(node.body)

    def _allocbuffer(self, node: Any) -> None:
        buffer = node.buffer
        if self.work is None:
            return
        size = math.prod(map(int, buffer.shape))
        if str(buffer.scope()).startswith("shared"):
            self.work.shared_bytes += size * _item_bytes(buffer)
        elif size > 1:  # others hold a value of an expression, and not for long
            self.work.registers += size * _item_bytes(buffer) // 4

    def _declbuffer(self, node: Any) -> None:
        self.roots[node.buffer] = self.roots.get(node.data.args[0])

    def _ifthenelse(self, node: Any) -> None:
        if self.work is not None:
            self._branch(node.condition, node.then_case, node.else_case)
            return
        # The host decides which kernel is launched.
        taken = node.then_case if self.value(node.condition) else node.else_case
        if taken is not None:
            self.statement(taken)

    def _branch(self, condition: Any, then: Any, other: Any) -> None:
        chosen = self.value(condition)
        before = self.lanes
        taken = (
            before
            if chosen is None
            else before & np.broadcast_to(np.asarray(chosen, bool), before.shape)
        )
        if taken.any():
            self.lanes = taken
            self.statement(then)
        rest = before & ~taken
        if other is not None and rest.any():
            self.lanes = rest
            self.statement(other)
        self.lanes = before

    def _for(self, node: Any) -> None:
        extent, start = self.value(node.extent), self.value(node.min)
        if extent is None or start is None:
            raise InputError(f"a loop to {node.extent}, which is not known, cannot be counted")
        active = np.broadcast_to(np.asarray(extent), self.lanes.shape)[self.lanes]
        longest = int(active.max(initial=0))
        if longest <= 0 or self.work is None:
            return
        before = self.weight, self.lanes, self.loaded, self.met, self.depth
        if node.kind == tirx.ForKind.VECTORIZED:
            self.env[node.loop_var], self.vector = start, longest
            self.statement(node.body)
            self.vector = 1
            return
        walked = min(longest, WALKED_ITERATIONS)
        self.weight *= longest / walked
        self.depth += 1
        self.loaded = self.met = False
        starts = self.work.waits, self.work.barriers, self.work.trips
        for index in np.linspace(0, longest - 1, walked).astype(int):
            self.env[node.loop_var] = start + index
            self.lanes = before[1] & (index < np.asarray(extent))
            self.statement(node.body)
        share = longest / walked
        waits, barriers, trips = starts
        work = self.work
        work.barriers = barriers + (work.barriers - barriers) * share
        work.waits = waits + (work.waits - waits) * share
        work.trips = trips + (work.trips - trips) * share
        loaded, met = self.loaded, self.met
        self.weight, self.lanes, self.loaded, self.met, self.depth = before
        if loaded:
            work.waits += longest / (1 if met else min(longest, UNDER_WAY))
            work.trips += longest
        self.met = self.met or met

    def _while(self, node: Any) -> None:
        """A wait for a word of another block: its store and this load, one after the other."""
        self.value(node.condition)
        self.statement(node.body)
        if self.work is not None:
            self.work.waits += 2

    def _evaluate(self, node: Any) -> None:
        call = node.value
        if self.work is not None and _name(call) == "tirx.tvm_storage_sync":
            self.work.barriers += 1
            self.met = True
            self._issue(1)
        elif self.work is not None and _name(call).startswith("tirx.ptx."):
            self._instruction(call)
        else:
            self.value(call)

    def _instruction(self, call: Any) -> None:
        """A product on tensor cores, a conversion to its operands, or an access to memory."""
        assert self.work is not None
        words = [str(a.value) for a in call.args if _is_text(a)]
        shape = next(filter(None, map(_PRODUCT.fullmatch, words)), None)
        operands = [a for a in call.args if not _is_text(a)]
        self.vector = COPIED_WORDS if _name(call) == "tirx.ptx.cp" else 1
        for operand in operands:
            self.value(operand)
        self.vector = 1
        if shape is None:
            for operand in operands[1:]:
                self._arithmetic(operand)
            self._issue(1 if _name(call) in _MEMORY else _CONVERSION)
            return
        products = math.prod(map(int, shape.groups())) * self.weight
        self.work.flops += 2 * products
        self.work.tensor += products * (2 if "tf32" in words else 1)
        self._issue(1)

    def _bufferstore(self, node: Any) -> None:
        self._arithmetic(node.value)
        self.value(node.value)
        self._access(node.buffer, node.indices)

    # Expressions

    def _issue(self, count: float) -> None:
        if self.work is not None:
            self.work.instructions += count * self.weight

    def _access(self, buffer: Any, indices: Any) -> None:
        scope = str(buffer.scope())
        if self.work is None or scope == "local":
            return
        offset: Any = 0
        for index, extent in zip(indices, buffer.shape, strict=True):
            at = self.value(index)
            offset = offset * self.value(extent) + (0 if at is None else at)
        self._issue(1)
        root = self.roots.get(buffer)
        if root is None:
            self.work.shared += self.weight
            return
        self.loaded = True
        if not self.depth:
            self.work.waits = max(self.work.waits, 1)
        addresses = np.broadcast_to(np.asarray(offset), self.lanes.shape)[self.lanes]
        places = np.add.outer(addresses, np.arange(self.vector))
        sectors = len(np.unique(places * _item_bytes(buffer) // SECTOR))
        self.traffic[root] = self.traffic.get(root, 0.0) + sectors * SECTOR * self.weight

    def _arithmetic(self, node: Any) -> None:
        """Count the operations of a stored value; its indices are counted by `value`."""
        name = type(node).__name__
        dtype = str(node.ty) if hasattr(node, "ty") else ""
        real = dtype.startswith("float")
        lanes = int(self.lanes.sum())
        work = self.work
        if work is None:
            return
        if real and name in _ARITHMETIC:
            fused = name == "Add" and type(node.b).__name__ == "Mul"
            work.flops += lanes * self.weight
            self._issue(_DIVISION["float"] if name == "Div" else 0 if fused else 1)
        elif name in _ARITHMETIC and "64" in dtype:
            self._issue(_LONG.get(name, 2))
        elif name == "Call" and _name(node) != "prim.if_then_else":
            called = _name(node)
            work.flops += lanes * self.weight * (2 if called == "fma" else 1)
            self._issue(_CALLS.get(called, _OTHER_CALL))
        if name in _ARITHMETIC:
            self._arithmetic(node.a)
            self._arithmetic(node.b)
        elif name == "Call":
            for argument in node.args[1:] if _is_extern(node) else node.args:
                self._arithmetic(argument)
        elif name == "Select":
            for part in (node.condition, node.true_value, node.false_value):
                self._arithmetic(part)
            self._issue(1)
        elif name == "Cast":
            self._arithmetic(node.value)

    def value(self, node: Any) -> Any:
        """The value as a number, an array with one per lane, or None if it depends on memory.

        Counts divisions and loads, and outside of loops the other operations of an index.
        """
        name = type(node).__name__
        if name in ("IntImm", "FloatImm"):
            return node.value
        if name == "Var":
            return self.env.get(node)
        if name == "Cast":
            return self.value(node.value)
        if name == "TensorLoad":
            self._access(node.source, node.indices)
            return None
        if name in _ARITHMETIC:
            a, b = self.value(node.a), self.value(node.b)
            self._index(name, node)
            if a is None or b is None:
                return (a if b is None else b) if name == "Min" else None
            if str(node.ty).startswith("float"):
                return None
            return _ARITHMETIC[name](a, b)
        if name == "Select":
            for part in (node.condition, node.true_value, node.false_value):
                self.value(part)
            return self._chosen(node.condition, node.true_value, node.false_value)
        if name == "Call":
            if _name(node) == "prim.if_then_else":
                return self._conditional(*node.args)
            for argument in node.args[1:] if _is_extern(node) else node.args:
                self.value(argument)
        return None

    def _chosen(self, condition: Any, yes: Any, no: Any) -> Any:
        quiet = _Walk(self.env, lanes=self.lanes)
        parts = [quiet.value(part) for part in (condition, yes, no)]
        return None if any(part is None for part in parts) else np.where(*parts)

    def _conditional(self, condition: Any, yes: Any, no: Any) -> Any:
        """Evaluate a conditional, in which lanes only load in their own branch."""
        chosen = self.value(condition)
        before = self.lanes
        taken = (
            before
            if chosen is None
            else before & np.broadcast_to(np.asarray(chosen, bool), before.shape)
        )
        for lanes, side in ((taken, yes), (before & ~taken, no)):
            if lanes.any():
                self.lanes = lanes
                self.value(side)
        self.lanes = before
        return self._chosen(condition, yes, no)

    def _index(self, name: str, node: Any) -> None:
        dtype = str(node.ty)
        if dtype.startswith("float"):
            return
        if name in _DIVISIONS:
            constant = isinstance(node.b, tirx.IntImm)
            cost = _DIVISION["constant" if constant else "int64" if "64" in dtype else "int32"]
            self._issue(cost * 4 if constant and "64" in dtype else cost)
        elif not self.depth:
            self._issue(2 if "64" in dtype else 1)


def _name(node: Any) -> str:
    if not isinstance(node, tvm.ir.Call):
        return ""
    if _is_extern(node):
        return str(node.args[0].value)
    return str(getattr(node.op, "name", node.op))


def _is_text(node: Any) -> bool:
    return type(node).__name__ == "StringImm"


def _is_extern(node: Any) -> bool:
    return str(getattr(node.op, "name", "")) == "tirx.call_pure_extern"
