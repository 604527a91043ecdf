"""Programs that torch itself cannot decompose as they are: views of what a decomposition made.

Stock calls `ExportedProgram.run_decompositions()`, which raises on
`scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).reshape(…).view(…)`, as in GPT-2. The
program is decomposed before stock sees it; `decomposition.decomposed` says how.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tvm_kokoro_ext import _compat, _importer, _replace
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import decomposition


def install() -> Callable[[], None]:
    """Decompose programs before stock does."""
    _importer.importer_class()
    translator = sys.modules[_compat.IMPORTER_MODULE]

    def decomposing(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def from_exported_program(exported_program: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("run_ep_decomposition", True) and not _is_sparse(exported_program):
                exported_program = decomposition.decomposed(exported_program)
                kwargs["run_ep_decomposition"] = False
            return original(exported_program, *args, **kwargs)

        return from_exported_program

    return _replace.in_place({translator.from_exported_program: decomposing})


def _is_sparse(program: Any) -> bool:
    """Whether the program holds a sparse tensor, which stock does not decompose."""
    import torch

    held = [*program.state_dict.values(), *program.constants.values()]
    return any(isinstance(t, torch.Tensor) and t.layout != torch.strided for t in held)


@dataclass
class _Undecomposable:
    """A program whose decomposition raises what torch raises."""

    graph: Any
    constants: dict[str, Any] = field(default_factory=dict)
    tensor_constants: dict[str, Any] = field(default_factory=dict)

    def named_buffers(self) -> list[Any]:
        return []

    def named_parameters(self) -> list[Any]:
        return []

    def run_decompositions(self, *tables: Any) -> Any:
        raise ValueError("Cannot view a tensor")


def _still_wrong() -> bool:
    """Whether stock passes on what torch raises."""
    from torch import fx

    try:
        sys.modules[_compat.IMPORTER_MODULE].from_exported_program(_Undecomposable(fx.Graph()))
    except ValueError as error:
        return "Cannot view a tensor" in str(error)
    except Exception:  # noqa: BLE001 - it went past the decomposition
        return False
    return False


FIX = Fix(
    id="views",
    what="a view behind attention with a mask fails in torch's decomposition (GPT-2)",
    op="from_exported_program, aten.view",
    affected="",
    install=install,
    probe=_still_wrong,
)
