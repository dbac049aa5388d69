"""Signs, magnitudes and whole parts: Abs, Negative, Sign, Floor, Ceil, Mod."""

from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import gradient_of, straight_pieces
from .inference import elementwise, like_first, misfit, need_integers
from .registry import Array, ArraySpec, Gradients, RuleAnswer, op_gradient, operator, register_gradient


def signed(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of functions of numbers with a sign."""
    if x.dtype.kind not in "fi":
        raise misfit(f"x must be of numbers with a sign, got {x.dtype}.", "Convert it: array.astype(np.float32).")
    return x


@operator("Abs", "x -> y", formula="y = |x|", derivative="dx = dy · sign x", infer=signed)
def abs_(op: Operator, x: Array) -> Array:
    """Magnitude of each element."""
    return np.abs(x)


@gradient_of("Abs", "x, dy -> dx", derivative="∂dy = ∂dx · sign x")
def abs_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Abs; 0 at the corner."""
    return dy * np.sign(x)


straight_pieces("Abs")


@operator("Negative", "x -> y", formula="y = -x", derivative="dx = -dy", infer=signed)
def negative(op: Operator, x: Array) -> Array:
    """Every element with the other sign."""
    return -x


@register_gradient("Negative")
def negative_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0]], type="Negative")


@operator("Sign", "x -> y", formula="y = -1, 0 or 1", infer=signed)
def sign(op: Operator, x: Array) -> Array:
    """Sign of each element, 0 for 0. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.sign(x)


@operator("Floor", "x -> y", formula="y = ⌊x⌋", infer=elementwise)
def floor(op: Operator, x: Array) -> Array:
    """The next whole number below each element. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.floor(x)


@operator("Ceil", "x -> y", formula="y = ⌈x⌉", infer=elementwise)
def ceil(op: Operator, x: Array) -> Array:
    """The next whole number above each element. It has no gradient rule: its slope is 0 wherever it has one."""
    return np.ceil(x)


MOD_ARGS: dict[str, Any] = {"divisor": 0, "sign_follow_divisor": 0}


def remainder(op: Operator, x: ArraySpec) -> ArraySpec:
    """Inference of Mod: integers, and a divisor that is not 0."""
    need_integers(op, x, 0, "x must be integers")
    if not op.args.get("divisor", 0):
        raise bad_argument(op, "divisor", "cannot divide", "Give an integer other than 0.")
    return like_first(op, x)


@operator("Mod", "x -> y", formula="y = x mod divisor", infer=remainder, args=MOD_ARGS)
def mod(op: Operator, x: Array) -> Array:
    """Remainder of each integer; it has the sign of x, or with `sign_follow_divisor` that of the divisor."""
    function = np.remainder if op.args.get("sign_follow_divisor", 0) else np.fmod
    return function(x, int(op.args["divisor"]))
