"""Inputs and values that TVM has no counterpart of: numbers and texts, and dtypes.

Stock raises an error without a name (`'int' object has no attribute 'shape'`), or makes an argument
of a number that nothing reads (0.25). A number, text or
None that torch has fixed at its example's value is no input of the compiled function. What cannot
be expressed is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tvm_kokoro_ext import _importer, _probe, _program_probe
from tvm_kokoro_ext._errors import UnsupportedOperatorError, op_name, source_line
from tvm_kokoro_ext._fix import Fix
from tvm_kokoro_ext._fixes._shared import graphs

#: Dtypes by the beginning of their name: why they are refused, and what to do.
_DTYPES = {
    "float8": (
        "TVM's frontend knows no dtype of 8-bit floats",
        "Keep such tensors outside of the program, as uint8, or convert them to float16 or float32 "
        "before the export",
    ),
    "float4": (
        "TVM's frontend knows no dtype of 4-bit floats",
        "Convert to float16 or float32 before the export",
    ),
    **dict.fromkeys(
        ("qint", "quint"),
        (
            "quantized tensors carry their scale outside of their elements",
            "Export the model before it is quantized, or compute on int8 and scales as tensors",
        ),
    ),
    "bits": ("TVM has no such dtype", "Use uint8 or another whole number"),
}
_SMALL = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in range(1, 8))
_SMALL_REASON = ("TVM's frontend knows no whole numbers below 8 bits", "Use int8 or uint8")


def checked(program: Any, converters: Mapping[str, bool]) -> Any:
    """The program without inputs that are constants, with its own tensors as stock reads them.

    Raises
    ------
    UnsupportedOperatorError
        For a dtype or a kind of input that TVM has no counterpart of.
    """
    import torch
    from torch.export.graph_signature import (
        ConstantArgument,
        ExportGraphSignature,
        InputKind,
        SymBoolArgument,
        SymFloatArgument,
        SymIntArgument,
    )

    signature = program.graph_signature
    constant = []
    for spec in signature.input_specs:
        if spec.kind is InputKind.CUSTOM_OBJ:
            raise UnsupportedOperatorError(
                f"the input {spec.target or spec.arg.name!r}",
                "TVM has no counterpart of an object of TorchScript",
                "Use tensors and operators instead",
            )
        if isinstance(spec.arg, SymIntArgument | SymFloatArgument | SymBoolArgument):
            raise UnsupportedOperatorError(
                f"the input {spec.arg.name!r}",
                "a compiled function takes tensors, and this is a number that may change",
                "Pass a tensor without dimensions and use x.item(), or let torch.export fix it",
            )
        if spec.kind is InputKind.USER_INPUT and isinstance(spec.arg, ConstantArgument):
            constant.append(spec)
    for name, value in program.constants.items():
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor and torch._C._functorch.is_functorch_wrapped_tensor(value):
            raise UnsupportedOperatorError(
                f"the constant {name!r}",
                "torch.export has kept a tensor of a transform of torch.func, without its elements",
                "Trace the transform with torch.fx.experimental.proxy_tensor.make_fx, and export "
                "what it returns",
            )
    for node in program.graph.nodes:
        name = getattr(node.target, "__name__", "")
        if not converters.get(name):  # else the caller's own converter
            _require_known(node, torch)
    program = _with_dense_tensors(program, torch)
    if not constant:
        return program
    names = {spec.arg.name for spec in constant}
    graph = graphs.copied(program.graph)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node.name in names:
            if node.users:
                raise UnsupportedOperatorError(
                    f"the input {node.name!r}",
                    "a compiled function takes tensors",
                    "Pass it as a tensor, or fix it before the export",
                )
            graph.erase_node(node)
    changed = copy.copy(program)
    changed._graph_module = torch.fx.GraphModule(program.graph_module, graph)
    changed._graph_signature = ExportGraphSignature(
        [spec for spec in signature.input_specs if not any(spec is c for c in constant)],
        list(signature.output_specs),
    )
    return changed


def _with_dense_tensors(program: Any, torch: Any) -> Any:
    """The program whose parameters and constants of bfloat16 are contiguous.

    Stock hands over what is not contiguous by way of numpy, which has no bfloat16.
    """

    def dense(tensors: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: value.detach().contiguous() if _is_spread(value, torch) else value
            for name, value in tensors.items()
        }

    held = (*program.state_dict.values(), *program.constants.values())
    if not any(_is_spread(value, torch) for value in held):
        return program
    changed = copy.copy(program)
    changed._state_dict = dense(program.state_dict)
    changed._constants = dense(program.constants)
    return changed


def _is_spread(value: Any, torch: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and value.dtype == torch.bfloat16
        and value.layout == torch.strided
        and not value.is_contiguous()
    )


def _require_known(node: Any, torch: Any) -> None:
    recorded = node.meta.get("val")
    for value in recorded if isinstance(recorded, list | tuple) else [recorded]:
        if not isinstance(value, torch.Tensor):
            continue
        named = str(value.dtype).removeprefix("torch.")
        found = next((_DTYPES[start] for start in _DTYPES if named.startswith(start)), None)
        what = f"the input {node.name!r}" if node.op == "placeholder" else op_name(node)
        found = _SMALL_REASON if named in _SMALL else found
        if found is not None:
            reason, way_around = found
            raise UnsupportedOperatorError(
                f"{what} of {value.dtype}", reason + source_line(node), way_around
            )


def _still_wrong() -> bool:
    """Whether stock stops at a number that nothing reads, or makes it an argument."""
    import torch

    def write(graph: Any, x: Any) -> list[Any]:
        number = graph.placeholder("number")
        number.meta["val"] = 3
        return [graph.call_function(torch.ops.aten.relu.default, (x,))]

    module = _program_probe.graph_module(write, [_probe.Input((4,))])
    try:
        made = _program_probe.imported(module)
    except _probe.ProbeError:
        return True
    return len(made["main"].params) != 1


def _unnamed() -> bool:
    """Whether stock refuses a dtype of a value without naming the operator."""
    import torch

    try:
        _probe.convert("to.dtype", _probe.Input((4,)), torch.float8_e4m3fn, out=((4,), "float32"))
    except _probe.ProbeError as error:
        return "to.dtype" not in str(error)
    return False


def _spread_bfloat16_fails() -> bool:
    """Whether stock hands a parameter that is not contiguous over by way of numpy."""
    import torch

    convert = getattr(_importer.stock(), "_convert_pytorch_tensor_to_tvm", None)
    if convert is None:
        return True
    try:
        convert(torch.zeros(2, 3, dtype=torch.bfloat16).t())
    except TypeError:
        return True
    return False


FIX = Fix(
    id="inputs",
    what="an input that is a number, None or of a dtype without counterpart raises without a name",
    op="from_exported_program",
    affected="",
    probe=_probe.any_of(_still_wrong, _unnamed, _spread_bfloat16_fails),
    prepare=checked,
)
