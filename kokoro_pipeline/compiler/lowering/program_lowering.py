"""The traversal of one function that rewrites it to call the kernels of a backend.

The function is traversed once, binding by binding. A table of rules maps operators to kernels;
weights become derived parameters, packed for the kernel. An operator without a rule is kept and
gets its operands in PyTorch's layout, so a program that matches no rule still compiles.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import tvm
from tvm import relax, s_tir, tirx

from kokoro_pipeline.errors import InputError

from .backend import Backend, Extent, Kernel
from .channels_last import Value
from .custom_operators import operator_name
from .parameter_table import PARAMETER_NAMES, ParameterTable


@dataclass(frozen=True)
class Epilogue:
    """The terms that a kernel adds to its product.

    `bias` is the name of a parameter and `residual` a tensor; either may be None. `end` is the
    variable that holds the sum.
    """

    end: relax.Var
    bias: str | None
    residual: Value | None


def _is_shape(expression: relax.Expr, shape: list[int]) -> bool:
    extents = list(expression.ty.shape)
    constant = all(isinstance(extent, tirx.IntImm) for extent in extents)
    return constant and [int(extent) for extent in extents] == shape


def _same_tensor_type(one: relax.TensorType, other: relax.TensorType) -> bool:
    """Whether two tensors have equal dtypes and shapes; `1 + 2 * t` equals `t * 2 + 1`."""
    if str(one.dtype) != str(other.dtype) or one.ndim != other.ndim:
        return False
    if one.shape is None or other.shape is None:
        return False
    analyzer = tvm.sym.Analyzer()
    extents = zip(one.shape, other.shape, strict=True)
    return all(analyzer.can_prove_equal(a, b) for a, b in extents)


class KernelLibrary:
    """The kernels of a module; calls with equal static parameters share one kernel."""

    def __init__(self, builder: relax.BlockBuilder) -> None:
        self._builder = builder
        self._made: dict[tuple[Hashable, ...], tvm.ir.GlobalVar] = {}

    def get(self, kernel: Kernel) -> tvm.ir.GlobalVar:
        """The global variable of a kernel, which is added on first use."""
        key = (kernel.make, *kernel.static)
        if key not in self._made:
            function = under_root_block(kernel.make(*kernel.static))
            name = str(function.attrs["global_symbol"])
            self._made[key] = self._builder.add_func(function, name)
        return self._made[key]


class FunctionLowering:
    """Lowers one function to the kernels of a backend; the first rule that gives a value wins."""

    def __init__(
        self,
        builder: relax.BlockBuilder,
        library: KernelLibrary,
        function: relax.Function,
        parameters: ParameterTable,
        backend: Backend,
        rules: Mapping[str, Sequence[Rule]],
    ) -> None:
        self.builder = builder
        self.library = library
        self.function = function
        self.parameters = parameters
        self.backend = backend.for_function(str(function.attrs["global_symbol"]))
        self._rules = rules
        self._values: dict[relax.Var, Value] = {}
        self._bindings: dict[relax.Var, relax.Expr] = {}
        self._users: dict[relax.Var, list[relax.Var | None]] = {}
        self._names: dict[relax.Var, str] = {}
        self._arguments: dict[str, relax.Var] = {}

    def run(self) -> None:
        """Emit the lowered function into `builder` under its name, with the parameters it needs.

        Raises InputError for control flow inside the function.
        """
        attrs = self.function.attrs
        n_inputs = int(attrs["num_input"])
        inputs = list(self.function.params[:n_inputs])
        self._values = {variable: Value(first=variable) for variable in inputs}
        parameters = self.function.params[n_inputs:]
        self._names = {
            variable: str(name)
            for variable, name in zip(parameters, attrs[PARAMETER_NAMES], strict=True)
        }
        bindings = [binding for block in self.function.body.blocks for binding in block.bindings]
        self._collect(bindings)
        with self.builder.function(str(attrs["global_symbol"])):
            with self.builder.dataflow():
                for binding in bindings:
                    self._lower_binding(binding)
                output = self.builder.emit_output(self.original(self.function.body.body))
            arguments = [*inputs, *self._arguments.values()]
            new_attrs = {**dict(attrs), PARAMETER_NAMES: list(self._arguments)}
            self.builder.emit_func_output(output, params=arguments)
        global_var = self.builder.get().get_global_var(str(attrs["global_symbol"]))
        self.builder.update_func(global_var, self.builder.get()[global_var].with_attrs(new_attrs))

    # The traversal

    def _collect(self, bindings: list[relax.Binding]) -> None:
        for binding in bindings:
            bound = binding.value
            cast = isinstance(binding, relax.MatchCast) and not isinstance(
                bound, relax.Var | relax.ShapeExpr
            )
            if cast or isinstance(bound, relax.If | relax.Function | relax.SeqExpr):
                raise InputError(
                    f"{type(binding if cast else bound).__name__} of {binding.var.name}: kernels "
                    "are for straight-line programs; build with --opt 0"
                )
            self._bindings[binding.var] = bound
        for user, expression in [*self._bindings.items(), (None, self.function.body.body)]:
            for variable in relax.analysis.free_vars(expression):
                self._users.setdefault(variable, []).append(user)

    def _lower_binding(self, binding: relax.Binding) -> None:
        variable, expression = binding.var, binding.value
        if variable in self._values:
            # It was fused into a kernel as the epilogue of an earlier binding.
            return
        if isinstance(binding, relax.MatchCast):
            cast = self.builder.match_cast(self.original(expression), binding.ty)
            self._values[variable] = Value(first=cast)
            return
        value: Value | None = None
        if isinstance(expression, relax.Var):
            value = self.value(expression)
        for rule in self._rules.get(operator_name(expression) or "", ()):
            value = rule(self, variable, expression)
            if value is not None:
                break
        self._values[variable] = value or Value(first=self.builder.emit(self.original(expression)))

    def value(self, expression: relax.Expr) -> Value:
        """The lowered value of an expression of the original program."""
        if isinstance(expression, relax.Var):
            if expression in self._values:
                return self._values[expression]
            if expression in self._names:
                return Value(first=self.argument(self._names[expression]))
        return Value(first=expression)

    def original(self, expression: relax.Expr) -> relax.Expr:
        """The expression over lowered values, all of them in PyTorch's layout."""
        if isinstance(expression, relax.Var):
            return self.value(expression).in_first(self.builder)
        if isinstance(expression, relax.Tuple):
            return relax.Tuple([self.original(field) for field in expression.fields])
        if isinstance(expression, relax.TupleGetItem):
            return relax.TupleGetItem(self.original(expression.tuple_value), expression.index)
        if isinstance(expression, relax.Call):
            arguments = [self.original(argument) for argument in expression.args]
            return relax.Call(expression.op, arguments, expression.attrs, expression.ty_args)
        return expression

    @property
    def bindings(self) -> Mapping[relax.Var, relax.Expr]:
        """The expression that each variable of the original program is bound to."""
        return self._bindings

    def definition(self, expression: relax.Expr, operator: str) -> relax.Call | None:
        """The call of `operator` that defines a variable of the original program, or None."""
        call = self._bindings.get(expression) if isinstance(expression, relax.Var) else None
        return call if operator_name(call) == operator else None

    def users(self, variable: relax.Var) -> list[relax.Var]:
        """The variables of the original program whose definitions read `variable`."""
        return [user for user in self._users.get(variable, []) if user is not None]

    # Parameters

    def weight(self, expression: relax.Expr) -> str | None:
        """The name in the table of an unmodified parameter; None for any other expression."""
        return self._names.get(expression) if isinstance(expression, relax.Var) else None

    def vector(self, expression: relax.Expr, shape: list[int]) -> str | None:
        """The name in the table of a one-dimensional parameter reshaped to `shape`, or None."""
        if not _is_shape(expression, shape):
            return None
        while (reshape := self.definition(expression, "relax.reshape")) is not None:
            expression = reshape.args[0]
        name = self.weight(expression)
        return name if name is not None and self.parameters[name].ndim == 1 else None

    def weights(self, kernel: Kernel, name: str, bias: str | None = None) -> list[relax.Var]:
        """The arguments for a kernel's weight and bias, as the backend takes them."""
        if self.backend.packs_bias:
            return [self.packed(kernel, name, bias)]
        return [self.packed(kernel, name), *([] if bias is None else [self.argument(bias)])]

    def packed(self, kernel: Kernel, *names: str | None) -> relax.Var:
        """The argument that holds what a kernel packs of parameters; None among them is skipped.

        A kernel that packs nothing takes its only parameter as it is.
        """
        sources = tuple(name for name in names if name is not None)
        if kernel.pack is None:
            (name,) = sources
            return self.argument(name)
        return self.argument(self.parameters.derive(sources, kernel.recipe, kernel.pack))

    def argument(self, name: str) -> relax.Var:
        """The argument that holds a parameter of the table."""
        if name not in self._arguments:
            array = self.parameters[name]
            tensor = relax.TensorType(list(array.shape), str(array.dtype))
            # The name appears in generated code, where a slash would be a division.
            self._arguments[name] = relax.Var(re.sub(r"\W", "_", name), tensor)
        return self._arguments[name]

    # Helpers for the rules

    def emit(self, expression: relax.Expr) -> relax.Var:
        """Bind an expression in the new program."""
        return self.builder.emit(expression)

    def first(self, expression: relax.Expr) -> relax.Expr:
        """The lowered value of an operand in PyTorch's layout."""
        return self.value(expression).in_first(self.builder)

    def sequence(self, expression: relax.Expr) -> relax.Expr:
        """The lowered value of a sequence in the layout of the kernels."""
        return self.backend.arranged(self.value(expression), self.builder)

    def call(
        self,
        kernel: Kernel,
        arguments: list[relax.Expr],
        *shapes: list[Extent],
        dtype: str = "float32",
    ) -> relax.Var:
        """Bind the call of a kernel with one result of `dtype` per shape; several form a tuple."""
        # TVM's fusion knows equal extents again only where they are written alike.
        simplify = tvm.sym.Analyzer().simplify
        outputs = [
            relax.TensorType([e if isinstance(e, int) else simplify(e) for e in shape], dtype)
            for shape in shapes
        ]
        numbers = [relax.prim_value(tirx.IntImm("int64", number)) for number in kernel.numbers]
        return self.emit(
            relax.call_tir(
                self.library.get(kernel),
                [*arguments, *numbers],
                outputs[0] if len(outputs) == 1 else outputs,
            )
        )

    def epilogue(
        self, product: relax.Var, channels: int, *, column: bool, residual: bool = False
    ) -> Epilogue:
        """The terms that the program adds to a product: a bias [channels], then another tensor.

        A term is included only if nothing else reads the value it is added to. `column`: the bias
        has the shape [1, channels, 1], as for a convolution, instead of [channels]. `residual`:
        whether to include the tensor, which must already be computed and have the product's shape.
        """
        end, bias, other = product, None, None
        added = self._added_by_only_user(end)
        if added is not None:
            user, term = added
            name = self.vector(term, [1, channels, 1] if column else [channels])
            if name is not None:
                end, bias = user, name
                added = self._added_by_only_user(end)
        if residual and added is not None:
            user, term = added
            known = isinstance(term, relax.Var) and term in self._values
            if known and _same_tensor_type(term.ty, product.ty):
                end, other = user, self._values[term]
        return Epilogue(end, bias, other)

    def finish(self, epilogue: Epilogue, value: Value) -> Value:
        """Record `value` as the value of the epilogue's last variable, and return it."""
        self._values[epilogue.end] = value
        return value

    def _added_by_only_user(self, variable: relax.Var) -> tuple[relax.Var, relax.Expr] | None:
        """If the only user of a variable is an addition: that user and the other summand."""
        users = self._users.get(variable, [])
        if len(users) != 1 or users[0] is None:
            return None
        call = self.definition(users[0], "relax.add")
        if call is None:
            return None
        left, right = call.args
        return users[0], (right if left.same_as(variable) else left)


Rule = Callable[[FunctionLowering, relax.Var, relax.Call], "Value | None"]
"""(lowering, variable, call) -> the variable's value, or None where the rule does not apply."""


def under_root_block(kernel: tirx.PrimFunc) -> tirx.PrimFunc:
    """Wrap the kernel's body in a root block, which Relax's passes expect of every PrimFunc."""
    root = s_tir.SBlock([], [], [], "root", kernel.body)
    return kernel.with_body(s_tir.SBlockRealize([], True, root))
