"""The fixes, a folder a subject, each of which lists its own in order.

Converters and legalizations are laid over TVM in the order below, the last outermost; where two
fixes change the same operator, the later one sees the operator as the earlier one has left it.
"""

from __future__ import annotations

from tvm_kokoro_ext._fix import FixRecord
from tvm_kokoro_ext._fixes import (
    arithmetic,
    building,
    complex,
    convolution,
    dtypes,
    functions,
    indexing,
    linear_algebra,
    metal,
    nan,
    normalization,
    onnx,
    pooling,
    precision,
    program,
    random,
    recurrence,
    reductions,
    refuted,
    resizing,
    shapes,
    sorting,
    symbolic,
)

RECORDS: tuple[FixRecord, ...] = tuple(
    FixRecord(fix)
    for subject in (
        random,
        convolution,
        recurrence,
        normalization,
        pooling,
        resizing,
        linear_algebra,
        symbolic,
        functions,
        arithmetic,
        indexing,
        reductions,
        sorting,
        dtypes,
        shapes,
        nan,
        complex,
        precision,
        program,
        building,
        metal,
        onnx,
        refuted,
    )
    for fix in subject.FIXES
)
