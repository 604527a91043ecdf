"""Validation: the compiled functions against PyTorch in float32 and float64.

`validate(artifact)` is the main entry point; `validate_functions` validates functions that are not
part of an artifact yet. Importing this package is cheap: torch and kokoro are only imported when a
validation starts.
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
