"""The fixes, in one folder for each subject, which lists its own in order.

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
    detection,
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
        program.FIRST,
        random.FIXES,
        convolution.FIXES,
        recurrence.FIXES,
        normalization.FIXES,
        pooling.FIXES,
        resizing.FIXES,
        linear_algebra.FIXES,
        symbolic.FIXES,
        functions.FIXES,
        arithmetic.FIXES,
        indexing.FIXES,
        reductions.FIXES,
        sorting.FIXES,
        detection.FIXES,
        dtypes.FIXES,
        shapes.FIXES,
        nan.FIXES,
        precision.FIXES,
        symbolic.LAST,
        program.FIXES,
        complex.FIXES,  # sees what the others have decomposed
        building.FIXES,
        metal.FIXES,
        onnx.FIXES,
        refuted.FIXES,
    )
    for fix in subject
)
