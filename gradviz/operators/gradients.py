"""Gradient operators: what their slots are called tells the rule that makes them.

Let X read x and make y. That XGradient is "x, dy -> dx" says that the rule of X hands it x and the gradient of y, and
gets the gradient of x. The gradient of a gradient is written with ∂: XGradientGradient reads ∂dx and makes ∂dy.

Where y = f(x) for each element, let dx = dy · s, where the slope s is a function of x, of y, or of both. Then

    ∂dy = ∂dx · s,   ∂x = ∂dx · dy · ∂s/∂x,   ∂y = ∂dx · dy · ∂s/∂y

The first is the gradient operator itself, with ∂dx in place of dy. Of the others, each function tells its own.
"""

from collections.abc import Callable, Mapping
from functools import cache, wraps
from typing import Any

from ..program import Operator
from .inference import elementwise
from .registry import (
    Gradients,
    Inference,
    Kernel,
    OperatorType,
    Rule,
    RuleAnswer,
    Slots,
    lookup,
    op_gradient,
    operator,
    register_gradient,
)
from .steps import Steps

Bend = Callable[..., Mapping[str, str]]
"""``bend(do, both, **blobs)``: of ``both`` = ∂dx · dy, the gradients of ``x`` and ``y`` where the slope reads them."""


def gradient_of(
    type: str,
    signature: str,
    *,
    derivative: str = "",
    formula: str = "",
    infer: Inference = elementwise,
    args: Mapping[str, Any] | None = None,
    rule: Rule | None = None,
) -> Callable[[Kernel], Kernel]:
    """Define ``<type>Gradient`` around its kernel, and the rule of `type` that makes it.

    Args:
        type: a defined type.
        signature: slots, as `operator` has them.
        derivative: the gradient of what it reads, as plain text.
        formula: what it computes; left out: the derivative that `type` states.
        infer: shape inference.
        args: arguments it takes; None: those of `type`.
        rule: None: the rule that the slots tell.
    """
    known = _defined(type)

    def define(kernel: Kernel) -> Kernel:
        operator(
            f"{type}Gradient",
            signature,
            formula=formula or known.derivative,
            derivative=derivative,
            infer=infer,
            args=known.args if args is None else args,
        )(kernel)
        register_gradient(type)(rule or wraps(kernel)(rule_by_slots(type)))
        return kernel

    return define


def rule_by_slots(type: str) -> Rule:
    """The rule of `type` that the slots of `type` and of ``<type>Gradient`` tell.

    Of a gradient of several outputs some may not be asked for: zeros stand in for what arrives at them.
    """
    (inputs, outputs), (reads, makes) = _slots(type), _slots(f"{type}Gradient")
    mark = "∂" if type.endswith("Gradient") else "d"

    @cache
    def places(input_count: int, output_count: int) -> tuple[list[int], list[int]]:
        """Which it reads of the inputs, outputs and gradients of outputs in a row; which inputs get a gradient."""
        xs, ys = inputs.filled(input_count), outputs.filled(output_count)
        row = [*xs, *ys, *[mark + y for y in ys]]
        return (
            [place for name in reads.names for place, there in enumerate(row) if there == name],
            [place for name in makes.names for place, x in enumerate(xs) if mark + x == name],
        )

    def rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        read, wanted = places(len(op.inputs), len(op.outputs))
        if mark == "∂" and None in g_output:
            do = Steps(op)
            xs, ys = dict(zip(inputs.filled(len(op.inputs)), op.inputs, strict=True)), outputs.filled(len(op.outputs))
            given = do.or_zeros(g_output, [xs.get(y[1:], made) for y, made in zip(ys, op.outputs, strict=True)])
            row: Gradients = [*op.inputs, *op.outputs, *given]
            made = do.several(len(wanted), f"{type}Gradient", *[row[place] for place in read], **op.args)
            return do.answer(*[made[wanted.index(at)] if at in wanted else None for at in range(len(op.inputs))])
        row = [*op.inputs, *op.outputs, *g_output]
        return op_gradient(op, [row[place] for place in read], wanted)

    return rule


def second_derivative(type: str) -> Callable[[Bend], Bend]:
    """Define the rule of ``<type>Gradient`` around the function that tells how the slope changes."""
    slots = _slots(f"{type}Gradient")[0].names

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
    place = _slots(f"{type}Gradient")[0].names.index("dy")

    def piecewise_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
        reads: Gradients = [*op.inputs]
        reads[place] = g_output[0]
        return op_gradient(op, reads, (place,), op.type)

    register_gradient(f"{type}Gradient")(piecewise_rule)


def _defined(type: str) -> OperatorType:
    known = lookup(type)
    assert known is not None
    return known


def _slots(type: str) -> tuple[Slots, Slots]:
    """What the inputs and the outputs of `type` are called."""
    known = _defined(type)
    assert known.inputs is not None
    assert known.outputs is not None
    return known.inputs, known.outputs
