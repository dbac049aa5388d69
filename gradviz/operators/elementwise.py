"""Functions of each element whose gradient is one operator: its kernel beside theirs, and the rules between them.

Let y = f(x) and dx = dy · s, where the slope s is a function of x, of y, or of both. The gradients of dx are

    ∂dy = ∂dx · s,   ∂x = ∂dx · dy · ∂s/∂x,   ∂y = ∂dx · dy · ∂s/∂y

The first is the gradient operator itself, with ∂dx in place of dy. Of the others, each function tells its own.
"""

from collections.abc import Callable, Mapping
from functools import wraps

from ..program import Operator
from .inference import elementwise
from .registry import (
    Gradients,
    Kernel,
    RuleAnswer,
    gradient_name,
    gradient_operator,
    lookup,
    op_gradient,
    operator,
    register_gradient,
)
from .steps import Steps

Bend = Callable[..., Mapping[str, str]]
"""``bend(do, both, **blobs)``: of ``both`` = ∂dx · dy, the gradients of ``x`` and ``y`` where the slope reads them."""


def elementwise_gradient(type: str, reads: str, derivative: str) -> Callable[[Kernel], Kernel]:
    """Define ``<type>Gradient`` around its kernel, and the rule of `type` that calls it.

    Its formula is the derivative that `type` states, and it takes the same arguments.

    Args:
        type: a defined type with one input x and one output y.
        reads: what the gradient reads, in order, of ``x``, ``y`` and ``dy``: ``"x, dy"``.
        derivative: the gradient of what it reads, from that of dx, as plain text.
    """
    known = lookup(type)
    assert known is not None
    names = reads.split(", ")

    def define(kernel: Kernel) -> Kernel:
        operator(
            f"{type}Gradient",
            f"{reads} -> dx",
            formula=known.derivative,
            derivative=derivative,
            infer=elementwise,
            args=known.args,
        )(kernel)

        @wraps(kernel)
        def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
            blobs = {"x": op.inputs[0], "y": op.outputs[0], "dy": g_output[0]}
            return op_gradient(op, [blobs[name] for name in names])

        register_gradient(type)(rule)
        return kernel

    return define


def second_derivative(type: str) -> Callable[[Bend], Bend]:
    """Define the rule of ``<type>Gradient`` around the function that tells how the slope changes."""
    slots = gradient_slots(type)

    def define(bend: Bend) -> Bend:
        @wraps(bend)
        def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
            do, blobs = Steps(op), dict(zip(slots, op.inputs, strict=True))
            of_dy = do(op.type, *(blobs | {"dy": g_output[0]}).values(), **op.args)
            both = do("Mul", g_output[0], blobs.pop("dy"))
            gradients = {**bend(do, both, **blobs), "dy": of_dy}
            return do.answer(*(gradients.get(slot) for slot in slots))

        register_gradient(f"{type}Gradient")(rule)
        return bend

    return define


def straight_pieces(type: str) -> None:
    """Define the rule of ``<type>Gradient`` for a slope that stays the same along each piece of the function."""
    place = gradient_slots(type).index("dy")

    def piecewise_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        reads: Gradients = [*op.inputs]
        reads[place] = g_output[0]
        g_input: Gradients = [None] * len(reads)
        g_input[place] = made = gradient_name(op.inputs[place])
        return gradient_operator(op, op.type, reads, [made]), g_input

    register_gradient(f"{type}Gradient")(piecewise_rule)


def gradient_slots(type: str) -> tuple[str, ...]:
    """What the inputs of ``<type>Gradient`` are called."""
    known = lookup(f"{type}Gradient")
    assert known is not None
    assert known.inputs is not None
    return known.inputs.names
