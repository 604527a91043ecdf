"""Correct thread-bound kernels, as GPU schedules generate them; float32 unless stated otherwise."""

import tvm
from tvm import relax, tirx
from tvm.script import tirx as T  # noqa: N812


@T.prim_func(s_tir=True)
def scale(x: T.handle, y: T.handle, factor: T.float32):
    """y = factor x + 1 of any length, 64 to a block."""
    T.func_attr({"global_symbol": "scale", "tirx.noalias": True, "tirx.is_scheduled": True})
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    bx = T.launch_thread("blockIdx.x", (n + T.int64(63)) // T.int64(64))
    tx = T.launch_thread("threadIdx.x", 64)
    if bx * T.int64(64) + T.Cast("int64", tx) < n:
        Y[bx * T.int64(64) + T.Cast("int64", tx)] = X[
            bx * T.int64(64) + T.Cast("int64", tx)
        ] * factor + T.float32(1)


@T.prim_func(s_tir=True)
def functions(x: T.handle, y: T.handle):
    """Elementary functions whose names differ between CUDA and Metal."""
    T.func_attr({"global_symbol": "functions", "tirx.noalias": True, "tirx.is_scheduled": True})
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    bx = T.launch_thread("blockIdx.x", (n + T.int64(63)) // T.int64(64))
    tx = T.launch_thread("threadIdx.x", 64)
    i = T.alloc_buffer((1,), "int64", scope="local")
    i[0] = bx * T.int64(64) + T.Cast("int64", tx)
    if i[0] < n:
        Y[i[0]] = (
            T.exp(X[i[0]])
            + T.sin(X[i[0]])
            + T.tanh(X[i[0]])
            + T.sqrt(T.abs(X[i[0]]))
            + T.floor(X[i[0]])
            + T.pow(T.abs(X[i[0]]), T.float32(1.5))
            + T.max(T.min(X[i[0]], T.float32(0.5)), T.float32(-0.5))
        )


@T.prim_func(s_tir=True)
def halves(x: T.handle, y: T.handle):
    """float16 in vectors of four: y = 2 x + 0.5."""
    T.func_attr({"global_symbol": "halves", "tirx.noalias": True})
    X = T.match_buffer(x, (1024,), "float16")
    Y = T.match_buffer(y, (1024,), "float16")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            for v in T.vectorized(4):
                with T.sblock("element"):
                    i = T.axis.spatial(1024, b * 256 + t * 4 + v)
                    T.reads(X[i])
                    T.writes(Y[i])
                    Y[i] = X[i] * T.float16(2) + T.float16(0.5)


@T.prim_func(s_tir=True)
def matmul(a: T.handle, b: T.handle, c: T.handle):
    """C[m, n] = A[m, k] B[k, n] in tiles of 16 x 16 in shared memory; every size has a tail."""
    T.func_attr({"global_symbol": "matmul", "tirx.noalias": True, "tirx.is_scheduled": True})
    m, n, k = T.int64(), T.int64(), T.int64()
    A = T.match_buffer(a, (m, k), "float32")
    B = T.match_buffer(b, (k, n), "float32")
    C = T.match_buffer(c, (m, n), "float32")
    by = T.launch_thread("blockIdx.y", (m + T.int64(15)) // T.int64(16))
    bx = T.launch_thread("blockIdx.x", (n + T.int64(15)) // T.int64(16))
    ty = T.launch_thread("threadIdx.y", 16)
    tx = T.launch_thread("threadIdx.x", 16)
    left = T.alloc_buffer((16, 16), "float32", scope="shared")
    right = T.alloc_buffer((16, 16), "float32", scope="shared")
    total = T.alloc_buffer((1,), "float32", scope="local")
    total[0] = T.float32(0)
    for step in range((k + T.int64(15)) // T.int64(16)):
        T.tvm_storage_sync("shared")
        left[ty, tx] = T.if_then_else(
            by * T.int64(16) + T.Cast("int64", ty) < m
            and step * T.int64(16) + T.Cast("int64", tx) < k,
            A[by * T.int64(16) + T.Cast("int64", ty), step * T.int64(16) + T.Cast("int64", tx)],
            T.float32(0),
        )
        right[ty, tx] = T.if_then_else(
            step * T.int64(16) + T.Cast("int64", ty) < k
            and bx * T.int64(16) + T.Cast("int64", tx) < n,
            B[step * T.int64(16) + T.Cast("int64", ty), bx * T.int64(16) + T.Cast("int64", tx)],
            T.float32(0),
        )
        T.tvm_storage_sync("shared")
        for i in range(16):
            total[0] = total[0] + left[ty, i] * right[i, tx]
    if by * T.int64(16) + T.Cast("int64", ty) < m and bx * T.int64(16) + T.Cast("int64", tx) < n:
        C[by * T.int64(16) + T.Cast("int64", ty), bx * T.int64(16) + T.Cast("int64", tx)] = total[0]


@T.prim_func(s_tir=True)
def row_sum(x: T.handle, y: T.handle):
    """Sum of each row by 128 threads, halving over barriers."""
    T.func_attr({"global_symbol": "row_sum", "tirx.noalias": True, "tirx.is_scheduled": True})
    n = T.int64()
    X = T.match_buffer(x, (T.int64(5), n), "float32")
    Y = T.match_buffer(y, (T.int64(5),), "float32")
    bx = T.launch_thread("blockIdx.x", 5)
    tx = T.launch_thread("threadIdx.x", 128)
    part = T.alloc_buffer((128,), "float32", scope="shared")
    part[tx] = T.float32(0)
    for i in range((n + T.int64(127)) // T.int64(128)):
        if i * T.int64(128) + T.Cast("int64", tx) < n:
            part[tx] = part[tx] + X[bx, i * T.int64(128) + T.Cast("int64", tx)]
    for s in T.unroll(7):
        T.tvm_storage_sync("shared")
        if tx < T.shift_right(64, s):
            part[tx] = part[tx] + part[tx + T.shift_right(64, s)]
    if tx == 0:
        Y[bx] = part[0]


@T.prim_func(s_tir=True)
def shuffled_sum(x: T.handle, y: T.handle):
    """Sum of each row by TVM's own cross-thread reduction: warp shuffles, then shared memory."""
    T.func_attr({"global_symbol": "shuffled_sum", "tirx.noalias": True})
    n = T.int64()
    X = T.match_buffer(x, (n, T.int64(128)), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for b in T.thread_binding(n, thread="blockIdx.x"):
        for t in T.thread_binding(T.int64(128), thread="threadIdx.x"):
            with T.sblock("sum"):
                i, k = T.axis.remap("SR", [b, t])
                T.reads(X[i, k])
                T.writes(Y[i])
                with T.init():
                    Y[i] = T.float32(0)
                Y[i] = Y[i] + X[i, k]


@T.prim_func(s_tir=True)
def two_steps(x: T.handle, y: T.handle):
    """Two kernels with a global workspace of the host between them: y[i] = 2 x[i] + 2 x[n-1-i]."""
    T.func_attr({"global_symbol": "two_steps", "tirx.noalias": True})
    n = T.int64()
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    W = T.alloc_buffer((n,), "float32")
    for b in T.thread_binding(n, thread="blockIdx.x"):
        for _ in T.thread_binding(1, thread="threadIdx.x"):
            with T.sblock("double"):
                i = T.axis.spatial(n, b)
                W[i] = X[i] * T.float32(2)
    for b in T.thread_binding(n, thread="blockIdx.x"):
        for _ in T.thread_binding(1, thread="threadIdx.x"):
            with T.sblock("mirror"):
                i = T.axis.spatial(n, b)
                T.reads(W[0:n])
                T.writes(Y[i])
                Y[i] = W[i] + W[n - T.int64(1) - i]


@T.prim_func(s_tir=True)
def mirror_in_shared(x: T.handle, y: T.handle):
    """Dynamic shared memory with elements of two sizes (CUDA only)."""
    T.func_attr(
        {"global_symbol": "mirror_in_shared", "tirx.noalias": True, "tirx.is_scheduled": True}
    )
    n = T.int32()
    X = T.match_buffer(x, (n, 64), "float32")
    Y = T.match_buffer(y, (n, 64), "float32")
    bx = T.launch_thread("blockIdx.x", n)
    tx = T.launch_thread("threadIdx.x", 64)
    whole = T.alloc_buffer((64,), "float32", scope="shared.dyn")
    short = T.alloc_buffer((64,), "float16", scope="shared.dyn")
    whole[tx] = X[bx, tx]
    short[tx] = T.Cast("float16", X[bx, tx])
    T.tvm_storage_sync("shared.dyn")
    Y[bx, tx] = whole[63 - tx] + T.Cast("float32", short[63 - tx])


def network(with_operators: bool) -> tvm.IRModule:
    """Relax over symbolic n, main(x [n, 24], w [24, 40], v [40, 24]).

    `matmul` and an operator that TVM schedules, softmax(x w), or `matmul` twice, x w v.
    """
    builder = relax.BlockBuilder()
    n = tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 24), "float32"))
    w = relax.Var("w", relax.TensorType((24, 40), "float32"))
    v = relax.Var("v", relax.TensorType((40, 24), "float32"))
    opaque = 8
    kernel = builder.add_func(matmul.with_attr("op_pattern", opaque), "matmul")
    with builder.function("main", [x, w, v]):
        with builder.dataflow():
            h = builder.emit(relax.call_tir(kernel, [x, w], relax.TensorType((n, 40), "float32")))
            if with_operators:
                y = builder.emit(relax.op.nn.softmax(h, axis=-1))
            else:
                y = builder.emit(
                    relax.call_tir(kernel, [h, v], relax.TensorType((n, 24), "float32"))
                )
            result = builder.emit_output(y)
        builder.emit_func_output(result)
    return builder.get()
