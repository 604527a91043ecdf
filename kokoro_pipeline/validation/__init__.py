"""Validation: the compiled functions against PyTorch in float32 and float64.

`validate(artifact)` is the whole of it; `validate_functions` takes functions that are no artifact
yet. Importing this package costs nothing: torch and kokoro are imported when a validation starts.
"""

from .cases import Case, full_cases, select_cases, short_cases
from .validation_report import ValidationReport
from .validator import compare_functions, validate, validate_functions

__all__ = [
    "Case",
    "ValidationReport",
    "compare_functions",
    "full_cases",
    "select_cases",
    "short_cases",
    "validate",
    "validate_functions",
]
