"""Functions of each element whose gradient is one operator: its kernel beside theirs, and the rule between them."""

from collections.abc import Callable
from functools import wraps

from ..program import Operator
from .inference import elementwise
from .registry import Gradients, Kernel, RuleAnswer, lookup, op_gradient, operator, register_gradient


def elementwise_gradient(type: str, reads: str) -> Callable[[Kernel], Kernel]:
    """Define ``<type>Gradient`` around its kernel, and the rule of `type` that calls it.

    Its formula is the derivative that `type` states, and it takes the same arguments.

    Args:
        type: a defined type with one input x and one output y.
        reads: what the gradient reads, in order, of ``x``, ``y`` and ``dy``: ``"x, dy"``.
    """
    known = lookup(type)
    assert known is not None
    names = reads.split(", ")

    def define(kernel: Kernel) -> Kernel:
        operator(f"{type}Gradient", f"{reads} -> dx", formula=known.derivative, infer=elementwise, args=known.args)(
            kernel
        )

        @wraps(kernel)
        def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
            blobs = {"x": op.inputs[0], "y": op.outputs[0], "dy": g_output[0]}
            return op_gradient(op, [blobs[name] for name in names])

        register_gradient(type)(rule)
        return kernel

    return define
