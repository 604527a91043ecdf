"""reshape and view to symbolic sizes.

Stock compares the sizes with the current shape in Python, which raises if both are symbolic.
"""

from __future__ import annotations

from typing import Any

from tvm_kokoro_ext import _compat, _emit, _probe, _symbolic
from tvm_kokoro_ext._compat import relax
from tvm_kokoro_ext._fix import Fix, needs_previous


@needs_previous
def reshape(importer: Any, node: Any, previous: Any) -> Any:
    x, *sizes = importer.retrieve_args(node)
    sizes = list(sizes[0] if isinstance(sizes[0], list | tuple) else sizes)
    if all(_compat.as_int(size) is not None for size in sizes):
        return previous(node)
    proved = _symbolic.proved_shape(importer, node)
    if proved is not None:
        sizes = _simplest(node, sizes, proved)
    target = [_emit.int64(_compat.prim(size)) for size in sizes]
    shape = [_emit.int64(dim) for dim in _compat.shape_of(x)]
    if len(shape) == len(target) and all(map(_compat.prim_equal, shape, target)):
        return x
    return _emit.emit(importer, relax.op.reshape(x, target))


def _simplest(node: Any, sizes: list[Any], proved: list[Any]) -> list[Any]:
    """Each size as the program gives it, if that is simpler than what torch records, or as that.

    Torch records the last size as a quotient of the others, s²//s where the program has s, and
    s//(2*(s//4)) where it has 2. Stock's compiler does not see that they are equal, and stops at
    some kernels of several such sizes.
    """
    given = node.args[1] if isinstance(node.args[1], list | tuple) else node.args[1:]
    chosen = []
    for argument, size, known, recorded in zip(
        given, sizes, proved, node.meta["val"].shape, strict=True
    ):
        value: Any = getattr(argument, "meta", {}).get("val")
        plain = isinstance(argument, int) and argument >= 0
        if hasattr(value, "node") and hasattr(recorded, "node") and not isinstance(known, int):
            ours, theirs = (_symbolic.simplified(s).count_ops() for s in (value, recorded))
            plain = ours < theirs
        chosen.append(size if plain else known)
    return chosen


@_probe.wrong
def _still_wrong() -> bool:
    x = _probe.Input((3, "n"))
    made = _probe.convert("reshape.default", x, [_probe.Symbol("n"), 3], out=(("n", 3), "float32"))
    return made.shape is None or len(made.shape) != 2


FIX = Fix(
    id="reshape",
    what="reshape(n, 3) of a tensor of shape (3, n) fails",
    op="aten.reshape, aten.view",
    affected="",
    converters=dict.fromkeys(("reshape.default", "view.default", "_unsafe_view.default"), reshape),
    probe=_still_wrong,
)
