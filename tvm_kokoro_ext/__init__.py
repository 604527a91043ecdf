"""Fixes for the PyTorch frontend of stock Apache TVM 0.25, 0.26 and 0.27.

Importing this package applies the fixes that the installed TVM needs, and no others:

    import tvm_kokoro_ext
    from tvm.relax.frontend.torch import from_exported_program

`activate()` / `deactivate()` turn the whole on and off, `disabled("clamp")` is a block without
some fixes, `status()` says where each stands and why, `fixes` are the records themselves, and
`convert_map()` gives the converters for `from_exported_program(custom_convert_map=…)` to those
who want no global effect. `TVM_KOKORO_EXT_DISABLE=all` (or ids, comma-separated) keeps fixes off;
`python -m tvm_kokoro_ext` prints the table. What TVM cannot express is refused at import with an
`UnsupportedOperatorError` that names the operator, the reason and a way around.
"""

from __future__ import annotations

from tvm_kokoro_ext import _activation
from tvm_kokoro_ext._activation import activate, convert_map, deactivate, disabled, status
from tvm_kokoro_ext._compat import BrokenPairError
from tvm_kokoro_ext._errors import LateImportWarning, UnsupportedOperatorError
from tvm_kokoro_ext._fix import FixRecord, FixStatus, State
from tvm_kokoro_ext._fixes import RECORDS

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
]

_activation.register(RECORDS)
_activation.activate_on_import()
