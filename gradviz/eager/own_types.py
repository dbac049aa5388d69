"""Two operator types for what define-by-run code does and the table has no type for.

PythonFunction: a call of a `Function` with methods in Python. An argument cannot hold the function, for operators are
written to JSON; it holds the function's number, by which the function is found as long as anybody holds it.

NewData: a Variable whose data was replaced after something had read it. Its value is the new data; the gradient goes to
what the Variable was before, as it does when functions run backward one by one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ..operators import register_gradient, register_kernel
from ..operators.registry import Array, Gradients, RuleAnswer, gradient_name
from ..program import Operator, RunError
from ..runtime.devices import CPU, current, device_of

if TYPE_CHECKING:
    from .function import Function

_functions: "WeakValueDictionary[int, Function]" = WeakValueDictionary()


def python_operator(function: "Function", arrays: Sequence[Array], inputs: list[str], outputs: list[str]) -> Operator:
    """The operator that stands for a function with methods in Python, which read and returned `arrays`."""
    _functions[function.uid] = function
    device = device_of(arrays[-1]) if outputs else CPU
    args = {"function": function.label, "uid": function.uid}
    return Operator("PythonFunction", inputs, outputs, args, None if device == CPU else device)


def _function_of(op: Operator) -> "Function":
    function = _functions.get(op.arg("uid"))
    if function is None:
        raise RunError(
            f"The call of {op.arg('function')} that {op} stands for is gone.",
            kind="bad_value",
            ways_out=["Keep what it returned, or the expression that the operator comes from, while operators run."],
        )
    return function


@register_kernel("PythonFunction")
def python_function(op: Operator, *xs: Array) -> tuple[Array, ...]:
    """What the function's forward method returns."""
    return _function_of(op).run_again(xs).out_data


@register_gradient("PythonFunction")
def python_function_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    function = _function_of(op)
    wanted = [at for at in range(len(op.inputs)) if function.wanted >> at & 1]
    given = [at for at, gradient in enumerate(g_output) if gradient is not None]
    g_input: Gradients = [gradient_name(x) if at in wanted else None for at, x in enumerate(op.inputs)]
    reads: list[Any] = [*op.inputs, *[g_output[at] for at in given]]
    writes = [gradient_name(op.inputs[at]) for at in wanted]
    args = {**op.args, "wanted": wanted, "given": given}
    device = device_of(function.arrays[0]) if function.inputs else CPU
    return Operator(
        "PythonFunctionGradient", reads, writes, args, None if device == CPU else device, is_gradient=True
    ), g_input


@register_kernel("PythonFunctionGradient")
def python_function_gradient(op: Operator, *reads: Array) -> tuple[Array, ...]:
    """What the function's backward method returns; zeros where that is None."""
    function = _function_of(op)
    given, wanted = op.arg("given"), op.arg("wanted")
    xs = reads[: len(reads) - len(given)]
    if any(x is not own for x, own in zip(xs, function.in_data, strict=True)):
        function = function.run_again(xs)
    gys: list[Array | None] = [None] * function.count
    for at, gy in zip(given, reads[len(xs) :], strict=True):
        gys[at] = gy
    gxs: Sequence[Any] = function.input_gradients(gys, function.wanted)
    return tuple([_zeros_like(xs[at]) if gxs[at] is None else gxs[at] for at in wanted])


def _zeros_like(x: Array) -> Array:
    with current(device_of(x)):
        return np.zeros_like(x)


@register_kernel("NewData")
def new_data(op: Operator, x: Array, data: Array) -> Array:
    """The data that x was given."""
    return data


@register_gradient("NewData")
def new_data_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return [], [g_output[0], None]
