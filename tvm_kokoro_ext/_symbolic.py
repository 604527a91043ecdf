"""Convert torch's symbolic sizes (sympy expressions) to TVM's (expressions of variables)."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from tvm_kokoro_ext import _compat, _divisions, _simplified, _size_numbers
from tvm_kokoro_ext._compat import tirx

#: Torch's functions of integers that divide.
_QUOTIENTS = ("FloorDiv", "CleanDiv", "quotient")
_REMAINDERS = ("Mod", "PythonMod")
#: What makes a number of an element of a tensor.
_READS = ("item.default", "_local_scalar_dense.default")


class _Known:
    """What an importer's table of translated nodes says of torch's sizes, kept while it grows."""

    def __init__(self, table: dict[Any, Any]) -> None:
        self.table = table
        self.read = 0  # how many of its nodes have been read
        self.given: dict[str, Any] = {}  # by the names of sizes, as nodes and inputs have them
        self.derived: list[tuple[Any, Any]] = []
        self.all: dict[str, Any] = {}

    def symbols(self) -> dict[str, Any]:
        if self.read != len(self.table):
            before = len(self.given)
            for node, value in itertools.islice(self.table.items(), self.read, None):
                self._add(node, value)
            self.read = len(self.table)
            if len(self.given) != before:
                self.all = dict(self.given)
                for expression, dim in self.derived:
                    _solve(expression, dim, self.all)
        return self.all

    def _add(self, node: Any, value: Any) -> None:
        import torch

        meta = getattr(node, "meta", {}).get("val")
        if isinstance(meta, torch.SymInt) and _compat.is_prim(value):
            self.given.setdefault(str(meta.node.expr), _compat.prim(value))
        elif getattr(node, "op", None) == "placeholder" and isinstance(meta, torch.Tensor):
            if not _compat.has_shape(value):
                return
            for size, dim in zip(meta.shape, _compat.shape_of(value), strict=True):
                if isinstance(size, torch.SymInt):
                    self.given.setdefault(str(size.node.expr), dim)
                    self.derived.append((size.node.expr, dim))


_known: weakref.WeakKeyDictionary[Any, _Known] = weakref.WeakKeyDictionary()


def known_symbols(importer: Any) -> Mapping[str, Any]:
    """TVM's expressions by torch's names of sizes, as far as the importer has seen them.

    Keys are the printed sympy expressions of input dimensions ("s0", "2*s0") and of the scalar
    nodes translated so far.
    """
    known = _known.get(importer)
    if known is None or known.table is not importer.env or known.read > len(importer.env):
        known = _known[importer] = _Known(importer.env)
    return known.symbols()


def _solve(expression: Any, dim: Any, known: dict[str, Any]) -> None:
    """Add s for an input dimension a·s + b, if no input has the dimension s."""
    symbols = list(expression.free_symbols)
    if len(symbols) != 1 or str(symbols[0]) in known:
        return
    symbol = symbols[0]
    offset = expression.subs(symbol, 0)
    factor = expression.coeff(symbol)
    whole = offset.is_Integer and factor.is_Integer and factor > 0
    if whole and expression == factor * symbol + offset:
        known[str(symbol)] = tirx.floordiv(dim - int(offset), int(factor))


def is_number(size: Any) -> bool:
    """Whether a torch size (int or SymInt) is constant, including ones specialized by torch."""
    return isinstance(size, int) or bool(size.node.expr.is_Integer)


def is_symbolic(size: Any) -> bool:
    """Whether this is a torch size that is not constant."""
    import torch

    return isinstance(size, torch.SymInt) and not is_number(size)


def is_read_from_data(number: Any) -> bool:
    """Whether a number of torch is symbolic, and depends on the elements of a tensor."""
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    return hasattr(number, "node") and bool(free_unbacked_symbols(number))


def is_read_by(node: Any) -> bool:
    """Whether a scalar of the graph is computed from an element of a tensor.

    Torch takes it for a constant where the program asserts that it is one.
    """
    pending, seen = [node], {node}
    while pending:
        scalar = pending.pop()
        if getattr(scalar.target, "__name__", "") in _READS:
            return True
        operands = [o for o in scalar.all_input_nodes if not hasattr(o.meta.get("val"), "shape")]
        pending += [operand for operand in operands if operand not in seen]
        seen.update(operands)
    return False


def known_value(size: Any) -> int | None:
    """The number that a torch size (int or SymInt) always is; None if it may be several."""
    if isinstance(size, int):
        return size
    expression = simplified(size)
    if expression.is_Integer:
        return int(expression)
    bounds = size.node.shape_env.bound_sympy(expression) if _is_torch(expression) else None
    return int(bounds.lower) if bounds is not None and bounds.is_singleton() else None


def simplified(size: Any) -> Any:
    """The sympy expression of a SymInt, as simple as its ranges and arithmetic make it."""
    environment = size.node.shape_env
    kept, expanded = environment.__dict__.setdefault("_tvm_kokoro_ext_simplified", ({}, {}))
    expression = size.node.expr
    if expression not in kept:
        kept[expression] = _simplified.simplified(expression, environment.bound_sympy, expanded)
    return kept[expression]


def _is_torch(expression: Any) -> bool:
    """Whether torch knows all functions of the expression."""
    return not expression.has(_simplified.quotient())


def to_prim(importer: Any, size: Any, known: Mapping[str, Any] | None = None) -> Any:
    """A torch size (int or SymInt) as a TVM expression; None if it cannot be expressed.

    Its divisors are not 0 (see `_divisions`), which the guards of the program check.
    """
    if isinstance(size, int):
        return size
    known = known_symbols(importer) if known is None else known
    found = translated(simplified(size), known)
    found = found if found is not None else translated(size.node.expr, known)
    return divided(size, found)


def divided(size: Any, prim: Any, divisors: list[Any] | None = None) -> Any:
    """TVM's expression of a torch size without a divisor of 0; `divisors` receives them."""
    if not _compat.is_prim(prim):
        return prim
    of_sizes = not is_read_from_data(size)
    found = [] if divisors is None else divisors
    return _divisions.without_division_by_zero(_compat.prim(prim), found, of_sizes)


def divisors(expression: Any) -> Iterator[Any]:
    """The divisors, other than numbers, of a sympy expression of torch's sizes."""
    import sympy

    for part in sympy.preorder_traversal(expression):
        if type(part).__name__ in (*_QUOTIENTS, *_REMAINDERS) and not part.args[1].is_Integer:
            yield part.args[1]


def proved_shape(importer: Any, node: Any) -> list[Any] | None:
    """The shape of the node's result as proved by torch, in TVM's expressions; None if unknown."""
    value = node.meta.get("val")
    if not hasattr(value, "shape"):
        return None
    known = known_symbols(importer)
    shape = [to_prim(importer, size, known) for size in value.shape]
    return None if any(dim is None for dim in shape) else shape


def translated(expression: Any, known: Mapping[str, Any]) -> Any:
    """A sympy expression of torch's sizes as one of `known`; None if it cannot be expressed."""
    import sympy

    name = str(expression)
    if name in known:
        return known[name]
    if expression.is_Integer:
        # TVM has no larger integers. Torch compares a padded size with 2**63, which always holds.
        return int(expression) if abs(expression) < 2**63 else None
    kind = type(expression).__name__
    if kind in ("CeilToInt", "FloorToInt"):
        return _rounded(expression.args[0], known, up=kind == "CeilToInt")
    parts = [translated(argument, known) for argument in expression.args]
    if not parts or any(part is None for part in parts):
        return None
    if isinstance(expression, sympy.Add):
        return _fold(parts, lambda a, b: a + b)
    if isinstance(expression, sympy.Mul):
        return _fold(parts, lambda a, b: a * b)
    if isinstance(expression, sympy.Pow) and isinstance(parts[1], int) and parts[1] > 0:
        return _fold([parts[0]] * parts[1], lambda a, b: a * b)
    if kind in _QUOTIENTS:
        return _both(parts, lambda a, b: a // b, tirx.floordiv)
    if kind in _REMAINDERS:
        return _both(parts, lambda a, b: a % b, tirx.floormod)
    if kind in ("Max", "Min"):
        python, symbolic = (max, tirx.max) if kind == "Max" else (min, tirx.min)
        return _fold(parts, lambda a, b: _both([a, b], python, symbolic))
    return None


def condition(relation: Any, known: Mapping[str, Any], own: bool = False) -> Any:
    """A comparison of torch's sizes in TVM's expressions, or None if there is none to check.

    There is none if it cannot be expressed, or if torch asked it on its own account: torch assumes
    that every size is neither 0 nor 1, unless it is 1 in the example, and records `e >= 2`,
    `e < 2`, `e == 1` and most `e != f` even where nothing depends on them. `own` says that a line
    of the program asked.
    """
    import sympy

    if isinstance(relation, sympy.And | sympy.Or):
        parts = [condition(part, known) for part in relation.args]
        if isinstance(relation, sympy.Or) and None in parts:
            return None
        parts = [part for part in parts if part is not None]
        join = tirx.all if isinstance(relation, sympy.And) else tirx.any
        return join(*parts) if parts else None
    compare = {
        sympy.Equality: tirx.EQ,
        sympy.Unequality: tirx.NE,
        sympy.GreaterThan: tirx.GE,
        sympy.StrictGreaterThan: tirx.GT,
        sympy.LessThan: tirx.LE,
        sympy.StrictLessThan: tirx.LT,
    }.get(type(relation))
    if compare is None or (not own and _is_asked_by_torch(relation)):
        return None
    sides = [_size_numbers.computed(side, known, translated) for side in relation.args]
    if any(side is None for side in sides) or all(isinstance(side, int) for side in sides):
        return None
    if any(_size_numbers.is_float(side) for side in sides):
        return compare(*map(_size_numbers.to_float, sides))
    return compare(*(tirx.IntImm("int64", s) if isinstance(s, int) else s for s in sides))


def _is_asked_by_torch(relation: Any) -> bool:
    """Whether torch asks a comparison by itself: that a size is neither 0 nor 1, or no more than 1.

    A remainder of a constant is no size: that it is 1, or is not some number, is a condition of the
    program. All others with != are torch's, also `n != 2`, which it makes of `(n + 1) // 2 != 1`.
    Floats and bits are no sizes either, and a float that `int` cuts off is a number of the program
    where it is compared with `==`.
    """
    if any(_size_numbers.is_no_size(side) for side in relation.args):
        return False
    if relation.rel_op == "==" and any(type(s).__name__ == "TruncToInt" for s in relation.args):
        return False
    if any(_is_remainder(side) for side in relation.args):
        return relation.rel_op == "!=" and not any(side.is_Integer for side in relation.args)
    if relation.rel_op in ("==", "!="):
        return relation.rel_op == "!=" or 1 in relation.args
    above, below = (1, 2) if relation.rel_op in ("<", ">") else (2, 1)
    return bool(relation.lts == above or relation.gts == below)


def _is_remainder(side: Any) -> bool:
    return type(side).__name__ in _REMAINDERS and bool(side.args[1].is_Integer)


#: Below it, the products of a rational number with sizes are far from overflow.
_SMALL = 2**20


def _rounded(expression: Any, known: Mapping[str, Any], up: bool) -> Any:
    """A rational multiple of integers, rounded to an integer in integer arithmetic, or None."""
    found = _ratio(expression, known)
    if found is None:
        return None
    value, divisor = found
    if divisor == 1:
        return value
    value = value + (divisor - 1 if up else 0)
    return value // divisor if isinstance(value, int) else tirx.floordiv(value, divisor)


def _ratio(expression: Any, known: Mapping[str, Any]) -> tuple[Any, int] | None:
    """Integers (p, q), q > 0, whose quotient is this float expression; None if there are none.

    What torch computes in float64 is the same as long as it is exact, or not within an ulp of an
    integer: sizes below 2 to the power of 31, and small factors.
    """
    kind = type(expression).__name__
    if expression.is_Float or expression.is_Integer:
        p, q = float(expression).as_integer_ratio()
        return (p, q) if abs(p) < _SMALL and q < _SMALL else None
    if kind == "ToFloat":
        whole = translated(expression.args[0], known)
        return None if whole is None else (whole, 1)
    if not (expression.is_Add or expression.is_Mul or kind == "FloatTrueDiv"):
        return None
    a, b = 0 if expression.is_Add else 1, 1
    for number, argument in enumerate(expression.args):
        part = _ratio(argument, known)
        if part is None:
            return None
        p, q = part
        if kind == "FloatTrueDiv" and number == 1:
            if not isinstance(p, int) or p == 0:
                return None
            p, q = (q, p) if p > 0 else (-q, -p)
        a, b = (a * q + p * b, b * q) if expression.is_Add else (a * p, b * q)
    return (a, b) if b < _SMALL else None


def _fold(parts: list[Any], function: Any) -> Any:
    result = parts[0]
    for part in parts[1:]:
        result = function(result, part)
    return result


def _both(parts: list[Any], python: Any, symbolic: Any) -> Any:
    lhs, rhs = parts
    return python(lhs, rhs) if isinstance(lhs, int) and isinstance(rhs, int) else symbolic(lhs, rhs)
