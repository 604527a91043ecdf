"""The fixes, one a file, in the order in which they are laid over TVM (the last outermost)."""

from __future__ import annotations

from tvm_kokoro_ext._fix import FixRecord
from tvm_kokoro_ext._fixes.arithmetic import (
    alpha,
    bool_arithmetic,
    division,
    dtype_promotion,
    symbolic_scalar,
    zero_factor,
)
from tvm_kokoro_ext._fixes.building import compile_target, global_symbol, reshape_pattern
from tvm_kokoro_ext._fixes.complex import complex_numbers, fft
from tvm_kokoro_ext._fixes.convolution import conv_transpose3d, convolution, transposed_dilation
from tvm_kokoro_ext._fixes.dtypes import bool_operands, creation, where
from tvm_kokoro_ext._fixes.functions import (
    atan2,
    clamp,
    elu,
    logaddexp,
    rounding,
    small_operators,
    softshrink,
    special,
    unary,
)
from tvm_kokoro_ext._fixes.functions import (
    without_converter as missing,
)
from tvm_kokoro_ext._fixes.indexing import (
    diagonal,
    index_put,
    mask_read,
    masked_select,
    negative_index,
    scatter,
    scatter_reduce,
    slice,
    slice_scatter,
    unfold,
)
from tvm_kokoro_ext._fixes.linear_algebra import inverse_and_determinant as matrix
from tvm_kokoro_ext._fixes.linear_algebra import matmul
from tvm_kokoro_ext._fixes.metal import math_functions as metal_math
from tvm_kokoro_ext._fixes.metal import matmul as metal_matmul
from tvm_kokoro_ext._fixes.nan import (
    comparison as nan_comparison,
)
from tvm_kokoro_ext._fixes.nan import (
    elementwise as nan_elementwise,
)
from tvm_kokoro_ext._fixes.nan import (
    full,
)
from tvm_kokoro_ext._fixes.nan import (
    pooling as nan_pool,
)
from tvm_kokoro_ext._fixes.nan import (
    reductions as nan_reductions,
)
from tvm_kokoro_ext._fixes.normalization import (
    group_norm,
    instance_norm,
    layer_norm,
)
from tvm_kokoro_ext._fixes.normalization import (
    native_statistics as statistics,
)
from tvm_kokoro_ext._fixes.pooling import adaptive_average, adaptive_maximum, pool_indices
from tvm_kokoro_ext._fixes.program import (
    assertion,
    cond,
    cond_dimensions,
    decompose,
    function_name,
    inplace,
    item,
)
from tvm_kokoro_ext._fixes.program import (
    kept_whole as keep,
)
from tvm_kokoro_ext._fixes.program import (
    number_outputs as outputs,
)
from tvm_kokoro_ext._fixes.random import dropout
from tvm_kokoro_ext._fixes.random import random_tensors as random
from tvm_kokoro_ext._fixes.recurrence import lstm
from tvm_kokoro_ext._fixes.reductions import (
    amax_any_all_prod as reductions,
)
from tvm_kokoro_ext._fixes.reductions import (
    counting,
    cumulative,
    std,
)
from tvm_kokoro_ext._fixes.refuted import leaky_relu_and_cat as guards
from tvm_kokoro_ext._fixes.resizing import antialias, upsample
from tvm_kokoro_ext._fixes.shapes import empty, expand, pad, reshape, squeeze, zero_dimensions
from tvm_kokoro_ext._fixes.sorting import bucketize, index_dtype, kthvalue, nan_order
from tvm_kokoro_ext._fixes.symbolic import (
    derived_dim,
    floordiv,
    scalar_tensor,
    specialized_dim,
    sym_float,
    symbolic_output,
)
from tvm_kokoro_ext._fixes.symbolic import (
    repeat_split_arange as symbolic_shapes,
)

RECORDS: tuple[FixRecord, ...] = tuple(
    FixRecord(fix)
    for fix in (
        # silently wrong
        clamp.FIX,
        index_put.FIX,
        matmul.FIX,
        convolution.FIX,
        conv_transpose3d.FIX,
        squeeze.FIX,
        negative_index.FIX,
        mask_read.FIX,
        masked_select.FIX,
        masked_select.BROADCAST,
        slice.FIX,
        random.FIX,
        dropout.FIX,
        # missing, or wrong in one case
        expand.FIX,
        reshape.FIX,
        atan2.FIX,
        layer_norm.FIX,
        elu.FIX,
        softshrink.FIX,
        unary.FIX,
        reductions.FIX,
        index_dtype.FIX,
        std.FIX,
        cumulative.FIX,
        where.FIX,
        creation.FIX,
        lstm.FIX,
        # scalars of the shape language
        floordiv.FIX,
        sym_float.FIX,
        scalar_tensor.FIX,
        # binary operators: what is below computes in one dtype
        division.FIX,
        bool_arithmetic.FIX,
        dtype_promotion.FIX,
        symbolic_scalar.FIX,
        alpha.FIX,
        # what the parts of stft and istft need
        missing.FIX,
        bucketize.FIX,
        scatter.FIX,
        diagonal.FIX,
        rounding.FIX,
        assertion.FIX,
        item.FIX,
        kthvalue.FIX,
        nan_order.FIX,
        unfold.FIX,
        pool_indices.FIX,
        adaptive_average.FIX,
        adaptive_average.CONSTANT,
        adaptive_maximum.FIX,
        special.FIX,
        scatter_reduce.FIX,
        small_operators.FIX,
        pad.FIX,
        symbolic_shapes.FIX,
        matrix.FIX,
        counting.FIX,
        # operands of a kind that the converters below do not know
        bool_operands.FIX,
        zero_dimensions.FIX,
        empty.FIX,
        statistics.FIX,
        # resizing
        upsample.FIX,
        antialias.FIX,
        # complex tensors: outermost, nothing below knows them
        complex_numbers.FIX,
        fft.FIX,
        # the program as a whole, before it is translated
        inplace.FIX,
        decompose.FIX,
        keep.FIX,
        outputs.FIX,
        symbolic_output.FIX,
        cond.FIX,
        cond_dimensions.FIX,
        function_name.FIX,
        derived_dim.FIX,
        specialized_dim.FIX,
        # building
        compile_target.FIX,
        reshape_pattern.FIX,
        global_symbol.FIX,
        # Metal
        metal_matmul.FIX,
        metal_math.FIX,
        # legalizations
        instance_norm.FIX,
        group_norm.FIX,
        slice_scatter.FIX,
        nan_elementwise.FIX,
        nan_reductions.FIX,
        nan_pool.FIX,
        nan_comparison.FIX,
        transposed_dilation.FIX,
        full.FIX,
        logaddexp.FIX,
        zero_factor.FIX,
        # never needed here
        guards.LEAKY_RELU,
        guards.CAT,
    )
)
