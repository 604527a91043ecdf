"""The fixes, one a file, in the order in which they are laid over TVM (the last outermost)."""

from __future__ import annotations

from tvm_kokoro_ext._fix import FixRecord
from tvm_kokoro_ext._fixes import (
    alpha,
    antialias,
    atan2,
    bool_arithmetic,
    clamp,
    compile_target,
    complex_numbers,
    cond,
    convolution,
    creation,
    cumulative,
    decompose,
    derived_dim,
    division,
    dtype_promotion,
    elu,
    expand,
    fft,
    floordiv,
    function_name,
    global_symbol,
    group_norm,
    guards,
    index_put,
    inplace,
    instance_norm,
    kthvalue,
    layer_norm,
    lstm,
    mask_read,
    matmul,
    missing,
    negative_index,
    outputs,
    pool_indices,
    random,
    reductions,
    reshape,
    scalar_tensor,
    slice,
    slice_scatter,
    squeeze,
    std,
    sym_float,
    symbolic_scalar,
    unary,
    unfold,
    upsample1d,
    where,
)

RECORDS: tuple[FixRecord, ...] = tuple(
    FixRecord(fix)
    for fix in (
        # silently wrong
        clamp.FIX,
        index_put.FIX,
        matmul.FIX,
        convolution.FIX,
        squeeze.FIX,
        negative_index.FIX,
        mask_read.FIX,
        slice.FIX,
        random.FIX,
        # missing, or wrong in one case
        expand.FIX,
        reshape.FIX,
        atan2.FIX,
        layer_norm.FIX,
        elu.FIX,
        unary.FIX,
        reductions.FIX,
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
        kthvalue.FIX,
        unfold.FIX,
        pool_indices.FIX,
        # resizing
        upsample1d.FIX,
        antialias.FIX,
        # complex tensors: outermost, nothing below knows them
        complex_numbers.FIX,
        fft.FIX,
        # the program as a whole, before it is translated
        inplace.FIX,
        decompose.FIX,
        outputs.FIX,
        cond.FIX,
        function_name.FIX,
        derived_dim.FIX,
        # building
        compile_target.FIX,
        global_symbol.FIX,
        # legalizations
        instance_norm.FIX,
        group_norm.FIX,
        slice_scatter.FIX,
        # never needed here
        guards.LEAKY_RELU,
        guards.CAT,
    )
)
