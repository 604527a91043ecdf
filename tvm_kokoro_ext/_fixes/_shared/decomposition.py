"""Torch's own decomposition of a program, with what it raises mended or explained.

`ExportedProgram.run_decompositions` traces the program again. A decomposition may give its result
other strides than its operator, and then a `view` behind it is no longer possible: in GPT-2, of
attention with a mask, transposed. Once nothing in the program writes to memory, `reshape` is the
same as `view` and needs no strides.
"""

from __future__ import annotations

import copy
import re
from typing import Any

from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name, source_line


def decomposed(program: Any, table: Any = None) -> Any:
    """The program after `run_decompositions(table)`; without a table, torch's default one.

    Raises
    ------
    UnsupportedOperatorError
        Where torch raises, with the operator, its source line and a way around.
    """
    try:
        return _run(program, table)
    except Exception as error:  # noqa: BLE001 - whatever torch raises is explained below
        failure = error
    try:
        return _run(_with_reshapes(_run(program, {})), table)
    except Exception:  # noqa: BLE001 - the first failure is the one to explain
        raise _explained(program, failure) from failure


def _run(program: Any, table: Any) -> Any:
    return program.run_decompositions() if table is None else program.run_decompositions(table)


def _with_reshapes(program: Any) -> Any:
    """A copy of a functional program, also of its branches, with `reshape` for every `view`."""
    import torch

    changed = copy.copy(program)
    changed._graph_module = copy.deepcopy(program.graph_module)
    for module in changed._graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        if hasattr(module, "recompile"):
            module.recompile()
    return changed


def _explained(program: Any, error: Exception) -> UnsupportedOperatorError:
    found = re.search(r"While executing %?(\w+)", str(error))
    named = {node.name: node for node in program.graph.nodes}
    node = named.get(found[1]) if found else None
    message = " ".join(str(error).partition("While executing")[0].split())
    reason = f"torch's decomposition of the program failed with {type(error).__name__}: "
    return UnsupportedOperatorError(
        "the program" if node is None else op_name(node),
        reason + (message[:500] or "no message") + source_line(node),
        "Write that part with other operators, or keep operators whole with "
        "from_exported_program(…, run_ep_decomposition=False)",
    )
