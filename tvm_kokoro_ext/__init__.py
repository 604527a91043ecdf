"""Fixes for the PyTorch frontend of stock Apache TVM 0.25, 0.26 and 0.27.

Importing this package applies the fixes that the installed TVM needs, and no others:

    import tvm_kokoro_ext
    from tvm.relax.frontend.torch import from_exported_program

`activate()` and `deactivate()` turn all fixes on and off, `disabled("clamp")` is a context without
some fixes, `status()` returns the state of each fix and the reason for it, and `fixes` are the
records themselves. `convert_map()` returns the converters for
`from_exported_program(custom_convert_map=…)`, for use without global effects.
`with_explicit_state(program)` makes what a program keeps between calls, such as a key-value cache
in a buffer, an input and a result. `TVM_KOKORO_EXT_DISABLE=all` (or comma-separated ids) disables
fixes, and `python -m tvm_kokoro_ext` prints the table. Programs that TVM cannot express are
rejected at import with an `UnsupportedOperatorError` that names the operator, the reason and a
workaround.
"""

from __future__ import annotations

from tvm_kokoro_ext import _activation
from tvm_kokoro_ext._activation import activate, convert_map, deactivate, disabled, status
from tvm_kokoro_ext._compat import BrokenPairError
from tvm_kokoro_ext._errors import LateImportWarning, UnsupportedOperatorError
from tvm_kokoro_ext._fix import FixRecord, FixStatus, State
from tvm_kokoro_ext._fixes import RECORDS
from tvm_kokoro_ext._state import with_explicit_state

fixes: tuple[FixRecord, ...] = RECORDS

__all__ = [
    "BrokenPairError",
    "FixRecord",
    "FixStatus",
    "LateImportWarning",
    "State",
    "UnsupportedOperatorError",
    "activate",
    "convert_map",
    "deactivate",
    "disabled",
    "fixes",
    "status",
    "with_explicit_state",
]

_activation.register(RECORDS)
_activation.activate_on_import()
