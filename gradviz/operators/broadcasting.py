"""Arithmetic of two arrays that broadcast: Add, Sub, Mul, Div, and gradients summed back to each input's shape.

Shapes broadcast by numpy's rules. With the argument `broadcast` they broadcast by Caffe2's older ones: y is laid
along the axes of x that start at `axis` (its last ones by default) and stretched over the others.
"""

from typing import Any

import numpy as np

from ..program import Operator
from .arguments import bad_argument
from .gradients import Steps, gradient_of, op_gradient, shape_source
from .inference import AS_FLOAT, like_forward, misfit, need_floats, result_dtype
from .registry import Array, ArraySpec, Gradients, RuleAnswer, operator, register_gradient
from .sums import summed

ARGS: dict[str, Any] = {"broadcast": 0, "axis": -1, "axis_str": "", "order": "NCHW"}


def laid_along(op: Operator, x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """The shape in which y broadcasts against x by numpy's rules to what `op` means.

    Raises:
        RunError: ``bad_argument`` or ``shape_mismatch``, the legacy arguments do not say how y lies along x.
    """
    axis, letter = op.args.get("axis", -1), op.args.get("axis_str", "")
    if not op.args.get("broadcast", 0):
        if axis != -1 or letter:
            raise bad_argument(op, "axis" if axis != -1 else "axis_str", "means nothing without broadcast=1")
        return y
    if np.prod(y, dtype=int) == 1:
        return ()
    if letter:
        axis = op.args.get("order", "NCHW").find(letter)
    elif axis == -1:
        axis = len(x) - len(y)
    behind = len(x) - axis - len(y)
    if axis < 0 or behind < 0:
        raise misfit(
            f"y of shape {y} cannot be laid along x of shape {x} from axis {axis}.",
            "y needs as many dimensions as x, or fewer.",
        )
    return (*y, *[1] * behind)


def pair(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    """Inference of an operator of two arrays that broadcast; in place it must keep the shape."""
    dtype = result_dtype(x, y)
    if x.shape == y.shape and not op.args:
        return ArraySpec(x.shape, dtype)
    laid = laid_along(op, x.shape, y.shape)
    try:
        shape = np.broadcast_shapes(x.shape, laid)
    except ValueError:
        raise misfit(
            f"shapes {x.shape} and {laid} do not broadcast.",
            "Make the trailing dimensions equal, or 1 where they should stretch.",
        ) from None
    if op.args.get("broadcast", 0) and shape != x.shape:
        raise misfit(
            f"y of shape {y.shape} does not fit along x of shape {x.shape}.", "With broadcast=1 only y stretches."
        )
    for name, given in zip(op.inputs, (x, y), strict=True):
        if given.shape != shape and name == op.outputs[0]:
            raise misfit(
                f"in place it would change {name} from shape {given.shape} to {shape}.",
                "Write to a blob of another name.",
            )
    return ArraySpec(shape, dtype)


def quotient(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    """Inference of Div: like `pair`, floating-point only."""
    need_floats(op, (x, y))
    return pair(op, x, y)


def y_along(op: Operator, x: Array, y: Array) -> Array:
    """y in the shape in which it broadcasts against x."""
    return y.reshape(laid_along(op, x.shape, y.shape)) if op.args else y


def sum_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """`gradient` summed over the axes along which an array of `shape` was stretched."""
    if gradient.shape == shape:
        return gradient
    lead = gradient.ndim - len(shape)
    stretched = [lead + axis for axis, size in enumerate(shape) if size == 1]
    return summed(gradient, (*range(lead), *stretched)).reshape(shape)


def unlaid(op: Operator, gradient: Array, x: Array, y: Array) -> Array:
    """The gradient of y, in its own shape, from that of y laid along x."""
    if gradient.shape == y.shape:
        return gradient
    return sum_to(gradient, laid_along(op, x.shape, y.shape) if op.args else y.shape).reshape(y.shape)


@operator("Add", "x, y -> z", "z = x + y", "dx = dz, dy = dz", infer=pair, args=ARGS)
def add(op: Operator, x: Array, y: Array) -> Array:
    """Sum of two arrays that broadcast."""
    return x + y_along(op, x, y)


def sum_of_pair_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], shape_source(op, 0), shape_source(op, 1)], wanted=(0, 1))


@gradient_of(
    "Add", "dz, x, y -> dx, dy", "∂dz = ∂dx + ∂dy", infer=like_forward("dz", integers="dz x y"), rule=sum_of_pair_rule
)
def add_gradient(op: Operator, dz: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Gradients of Add; each summed over the axes along which its input was stretched."""
    return sum_to(dz, x.shape), unlaid(op, dz, x, y)


def difference(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    """Inference of Sub: like `pair`, but not of truth values alone."""
    spec = pair(op, x, y)
    if spec.dtype == np.bool_:
        raise misfit("truth values have no difference.", "Xor and NE tell where they differ.", AS_FLOAT)
    return spec


@operator("Sub", "x, y -> z", "z = x - y", "dx = dz, dy = -dz", infer=difference, args=ARGS)
def sub(op: Operator, x: Array, y: Array) -> Array:
    """Difference of two arrays that broadcast."""
    return x - y_along(op, x, y)


@gradient_of(
    "Sub", "dz, x, y -> dx, dy", "∂dz = ∂dx - ∂dy", infer=like_forward("dz", integers="dz x y"), rule=sum_of_pair_rule
)
def sub_gradient(op: Operator, dz: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Gradients of Sub; each summed over the axes along which its input was stretched."""
    return sum_to(dz, x.shape), -unlaid(op, dz, x, y)


@operator("Mul", "x, y -> z", "z = x · y", "dx = dz · y, dy = dz · x", infer=pair, args=ARGS)
def mul(op: Operator, x: Array, y: Array) -> Array:
    """Product of two arrays that broadcast, element by element."""
    return x * y_along(op, x, y)


@gradient_of(
    "Mul",
    "dz, x, y -> dx, dy",
    "∂dz = ∂dx · y + x · ∂dy, ∂x = dz · ∂dy, ∂y = dz · ∂dx",
    infer=like_forward("dx: dz y; dy: dz x", integers="dz x y"),
)
def mul_gradient(op: Operator, dz: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Gradients of Mul; each summed over the axes along which its input was stretched."""
    return sum_to(dz * y_along(op, x, y), x.shape), unlaid(op, dz * x, x, y)


@operator("Div", "x, y -> z", "z = x / y", "dx = dz / y, dy = -dz · z / y", infer=quotient, args=ARGS)
def div(op: Operator, x: Array, y: Array) -> Array:
    """Quotient of two arrays that broadcast, element by element."""
    return x / y_along(op, x, y)


def div_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    return op_gradient(op, [g_output[0], shape_source(op, 0), op.inputs[1], op.outputs[0]], wanted=(0, 1))


@gradient_of(
    "Div",
    "dz, x, y, z -> dx, dy",
    "∂dz = q, q = (∂dx - z · ∂dy) / y, ∂y = -dz · q / y, ∂z = -dz · ∂dy / y",
    infer=like_forward("dx: dz y; dy: dz y z"),
    rule=div_rule,
)
def div_gradient(op: Operator, dz: Array, x: Array, y: Array, z: Array) -> tuple[Array, Array]:
    """Gradients of Div; each summed over the axes along which its input was stretched."""
    along = y_along(op, x, y)
    return sum_to(dz / along, x.shape), unlaid(op, -dz * (z / along), x, y)


@register_gradient("AddGradient")
@register_gradient("SubGradient")
def sum_of_pair_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂dz is the sum or difference of what arrives at dx and dy, stretched as x and y were."""
    do = Steps(op)
    both = do.or_zeros(g_output, op.inputs[1:])
    return do.answer(do(op.type.removesuffix("Gradient"), *both, **op.args))


@register_gradient("MulGradient")
def product_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂x and ∂y come from the gradient of the product itself, which pairs dz with ∂dy and ∂dx where it had y and x."""
    do, (dz, x, y), (g_dx, g_dy), product = Steps(op), op.inputs, g_output, op.type.removesuffix("Gradient")
    g_dz = do.sum(
        None if g_dx is None else do(product, g_dx, y, **op.args),
        None if g_dy is None else do(product, x, g_dy, **op.args),
    )
    g_x, g_y = do.several(2, op.type, dz, g_dx or x, g_dy or y, **op.args)
    return do.answer(g_dz, g_x if g_dy else None, g_y if g_dx else None)


@register_gradient("DivGradient")
def div_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """DivGradient of dz, in which z stands for x and q for the quotient, is dz / y and -dz · q / y."""
    do, (dz, x, y, z), (g_dx, g_dy) = Steps(op), op.inputs, g_output
    dividend = g_dx or do.fill(x, 0.0)
    if g_dy is not None:
        dividend = do("Sub", dividend, do("Mul", z, g_dy, **op.args))
    q = do("Div", dividend, y, **op.args)
    quotient, g_y = do.several(2, "DivGradient", dz, z, y, q, **op.args)
    g_z = None if g_dy is None else do("Negative", do("Mul", quotient, g_dy, **op.args))
    return do.answer(q, None, g_y, g_z)
