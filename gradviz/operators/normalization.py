"""Rows brought to a common scale: LayerNorm, RMSNorm, Normalize.

With x̂ = (x - mean) / σ over the n elements of a row, and the rows of a gradient g seen the same way:

    x̂' g = (g - mean(g) - x̂ mean(g x̂)) / σ

Source: Ba, Kiros, Hinton, Layer Normalization (2016), arXiv:1607.06450.
"""

from math import prod
from typing import Any

import numpy as np

from ..program import Gradient, Operator
from .gradients import gradient_name, gradient_of, gradient_operator
from .inference import (
    as_matrix,
    canonical_axis,
    described,
    elementwise,
    like_forward,
    matrix_shape,
    misfit,
    need_floats,
    need_shape,
    result_dtype,
    slot,
)
from .registry import Array, Arrays, ArraySpec, Gradients, RuleAnswer, Specs, in_single, operator
from .sums import averaged, summed

ARGS: dict[str, Any] = {"axis": 1, "epsilon": 1e-5, "elementwise_affine": 0}
TINY = 1e-12
"""A row of a smaller norm is divided by this instead."""


def second_formula(standard: str, *, is_centred: bool = True) -> str:
    """The gradients of dx, dscale and dbias; `standard` says what r and x̂ are, and a mean is taken off or not."""

    def through(g: str) -> str:
        return f"r ({g} - {f'avg({g}) - ' if is_centred else ''}x̂ avg({g} x̂)"

    return (
        f"∂dy = scale ∂g + ∂dscale x̂ + ∂dbias, ∂scale = Σ dy ∂g, ∂g = {through('∂dx')}), "
        f"∂x = {through('h')} - x̂ avg(g ∂g)), h = ∂dscale dy - r (∂dx avg(g x̂) + g avg(∂dx x̂)), "
        f"g = dy scale, {standard}"
    )


def through_standardization(g: Array, standard: Array, sigma: Array, axis: Any) -> Array:
    """The gradient of x from that of x̂ = `standard`, both standardized along `axis` with deviation `sigma`."""
    return (g - averaged(g, axis, True) - standard * averaged(g * standard, axis, True)) / sigma


def affine_specs(op: Operator, x: ArraySpec, *affine: ArraySpec, first: int = 1) -> None:
    """Raise unless scale and bias, from input `first` on, have one number for each element of a row of x."""
    columns = matrix_shape(x.shape, op.args.get("axis", 1))[1]
    for position, spec in enumerate(affine, first):
        if prod(spec.shape) != columns or spec.dtype.kind != "f":
            raise misfit(
                f"{slot(op, position)} must be floating-point with {columns} elements, one for each element of a row "
                f"of x {x.shape}; got {described(spec)}."
            )
    if len({spec.shape for spec in affine}) > 1:  # their gradients have the shape of scale
        raise misfit(f"scale and bias must have one shape; got {' and '.join(map(described, affine))}.")


def layer_norm_spec(op: Operator, x: ArraySpec, *affine: ArraySpec) -> Specs:
    need_floats(op, (x,))
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    if op.args.get("elementwise_affine", 0):
        if len(affine) != 2:
            raise misfit("elementwise_affine=1 needs scale and bias as second and third input.")
        affine_specs(op, x, *affine)
        y = ArraySpec(x.shape, result_dtype(x, *affine))
    else:
        y = x
    statistic = ArraySpec((*x.shape[:axis], 1), x.dtype)
    return y, statistic, statistic


@operator(
    "LayerNorm",
    "x, scale?, bias? -> y, mean, std",
    "y = x̂, x̂ = (x - mean) / std, std = √(var(x) + epsilon), over each row; with elementwise_affine y = x̂ scale + bias",
    "dx = (g - avg(g) - x̂ avg(g x̂)) / std + dmean / n + dstd x̂ / n, g = dy scale; "
    "dscale = Σ dy x̂, dbias = Σ dy over rows",
    infer=layer_norm_spec,
    args=ARGS,
)
@in_single
def layer_norm(op: Operator, x: Array, *affine: Array) -> tuple[Array, Array, Array]:
    """Each row less its mean and divided by its standard deviation. x: (n, ...) -> y: like x, mean, std: (n, 1).

    x is seen as a matrix at `axis`. With elementwise_affine=1, scale and bias have one number for each element of a
    row; without it they are not read.
    """
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    x2 = as_matrix(x, axis)
    mean = averaged(x2, 1, keepdims=True)
    centred = x2 - mean
    std = np.sqrt(averaged(centred * centred, 1, keepdims=True) + op.args.get("epsilon", 1e-5))
    y = centred / std
    if op.args.get("elementwise_affine", 0):
        scale, bias = affine
        y = y * scale.reshape(-1) + bias.reshape(-1)
    shape = (*x.shape[:axis], 1)
    return y.reshape(x.shape), mean.reshape(shape), std.reshape(shape)


def standardized(op: Operator, x: Array, mean: Array, std: Array) -> tuple[Array, Array]:
    """x̂ as a matrix, and std as a column."""
    x2 = as_matrix(x, op.args.get("axis", 1))
    column = (x2.shape[0], 1)
    return (x2 - mean.reshape(column)) / std.reshape(column), std.reshape(column)


def need_statistics(op: Operator, x: ArraySpec, first: int, *statistics: ArraySpec) -> None:
    """Raise unless the inputs from number `first` on are one number a row of x, as LayerNorm makes them."""
    forward = Operator("LayerNorm", ["x"], ["y", "mean", "std"], {"axis": op.args.get("axis", 1)})
    wanted = layer_norm_spec(forward, x)[1].shape
    for position, spec in enumerate(statistics, first):
        need_shape(slot(op, position), spec, wanted)


def layer_norm_gradient_spec(
    op: Operator, dy: ArraySpec, y: ArraySpec, mean: ArraySpec, std: ArraySpec, x: ArraySpec, *scale: ArraySpec
) -> Specs:
    need_floats(op, (dy, y, mean, std, x))
    need_shape("dy", dy, x.shape, "of x")
    affine_specs(op, x, *scale, first=5)
    need_statistics(op, x, 2, mean, std)
    rows = ArraySpec(x.shape, result_dtype(dy, mean, std, x, *scale))
    dtypes = result_dtype(dy, mean, std, x), dy.dtype
    return rows, *(ArraySpec(spec.shape, dtype) for spec in scale for dtype in dtypes)


def layer_norm_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """Adds what arrives through y, through the mean and through the standard deviation.

    A gradient of y has to be there, as Caffe2 has it; zeros do.
    """
    x, y, mean, std = op.inputs[0], *op.outputs
    x_grad = gradient_name(x)
    affine = op.inputs[1:3] if op.args.get("elementwise_affine", 0) else []
    of_affine = [gradient_name(name) for name in affine]
    g_input: Gradients = [x_grad, *of_affine, *[None] * (len(op.inputs) - 1 - len(affine))]
    parts: list[tuple[str, list[Gradient | None], list[str]]] = [
        ("LayerNormGradient", [g_output[0], y, mean, std, x, *affine[:1]], of_affine)
    ]
    for name, gradient in zip(("Mean", "Std"), g_output[1:], strict=True):
        if gradient is not None:
            parts.append((f"LayerNorm{name}Gradient", [gradient, mean, std, x], []))
    if len(parts) == 1:
        type, reads, more = parts[0]
        return gradient_operator(op, type, reads, [x_grad, *more]), g_input
    names = [f"_{x_grad}_by_{type[9:-8].lower() or 'y'}" for type, _, _ in parts]
    summands = [
        gradient_operator(op, type, reads, [name, *more])
        for (type, reads, more), name in zip(parts, names, strict=True)
    ]
    return [*summands, gradient_operator(op, "Sum", names, [x_grad], {})], g_input


@gradient_of(
    "LayerNorm",
    "dy, y, mean, std, x, scale? -> dx, dscale?, dbias?",
    formula="dx = (g - avg(g) - x̂ avg(g x̂)) / std, g = dy scale; dscale = Σ dy x̂, dbias = Σ dy over rows, "
    "x̂ = (x - mean) / std",
    derivative=second_formula("r = 1 / std, x̂ = r (x - mean)"),
    infer=layer_norm_gradient_spec,
    rule=layer_norm_rule,
)
@in_single
def layer_norm_gradient(
    op: Operator, dy: Array, y: Array, mean: Array, std: Array, x: Array, *scale: Array
) -> Array | Arrays:
    """Gradient of LayerNorm's y. `scale` is there, and has a gradient, with elementwise_affine."""
    x_hat, sigma = standardized(op, x, mean, std)
    g = dy.reshape(x_hat.shape)
    if not scale:
        return through_standardization(g, x_hat, sigma, 1).reshape(x.shape)
    dx = through_standardization(g * scale[0].reshape(-1), x_hat, sigma, 1)
    shape = scale[0].shape
    return dx.reshape(x.shape), summed(g * x_hat, 0).reshape(shape), summed(g, 0).reshape(shape)


def statistics_gradient_spec(op: Operator, g: ArraySpec, mean: ArraySpec, std: ArraySpec, x: ArraySpec) -> ArraySpec:
    need_floats(op, (g, mean, std, x))
    need_statistics(op, x, 0, g, mean, std)
    meeting = (g, x) if op.type == "LayerNormMeanGradient" else (g, mean, std, x)
    return ArraySpec(x.shape, result_dtype(*meeting))


@operator(
    "LayerNormMeanGradient",
    "dmean, mean, std, x -> dx",
    "dx = dmean / n",
    "∂dmean = Σ ∂dx / n",
    infer=statistics_gradient_spec,
    args=ARGS,
)
@in_single
def layer_norm_mean_gradient(op: Operator, dmean: Array, mean: Array, std: Array, x: Array) -> Array:
    """Gradient of LayerNorm's mean: the same for each of the n elements of a row."""
    rows, columns = matrix_shape(x.shape, op.args.get("axis", 1))
    return (np.zeros_like(x, shape=(rows, columns)) + dmean.reshape((rows, 1)) / max(columns, 1)).reshape(x.shape)


@operator(
    "LayerNormStdGradient",
    "dstd, mean, std, x -> dx",
    "dx = dstd x̂ / n, x̂ = (x - mean) / std",
    "∂dstd = Σ ∂dx x̂ / n, ∂x = (h - avg(h) - x̂ avg(h x̂)) / std, h = dstd ∂dx / n",
    infer=statistics_gradient_spec,
    args=ARGS,
)
@in_single
def layer_norm_std_gradient(op: Operator, dstd: Array, mean: Array, std: Array, x: Array) -> Array:
    """Gradient of LayerNorm's standard deviation over the n elements of a row."""
    x_hat, _ = standardized(op, x, mean, std)
    return (dstd.reshape((-1, 1)) * x_hat / max(x_hat.shape[1], 1)).reshape(x.shape)


def normalize_spec(op: Operator, *xs: ArraySpec) -> ArraySpec:
    canonical_axis(op.args.get("axis", -1), xs[0].shape)
    return elementwise(op, *xs)


@operator(
    "Normalize",
    "x -> y",
    "y = x / max(|x|, 10⁻¹²), |x| the Euclidean norm along axis",
    "dx = (dy - y <y, dy>) / |x|; dx = dy 10¹² where |x| < 10⁻¹²",
    infer=normalize_spec,
    args={"axis": -1},
)
@in_single
def normalize(op: Operator, x: Array) -> Array:
    """x divided by its Euclidean norm along `axis` (default: the last)."""
    return x / np.maximum(norms(op, x), TINY)


def norms(op: Operator, x: Array) -> Array:
    """The Euclidean norms of x along the axis of `op`, which stays with size 1."""
    return np.sqrt(summed(x * x, canonical_axis(op.args.get("axis", -1), x.shape), keepdims=True))


@gradient_of(
    "Normalize",
    "x, dy -> dx",
    formula="dx = (dy - y <y, dy>) / |x|, y = x / |x|; dx = dy 10¹² where |x| < 10⁻¹²",
    derivative="∂dy = (∂dx - y <y, ∂dx>) / |x|, ∂x = (h - y <y, h> - y <dy, ∂dy>) / |x|, "
    "h = -(∂dx <dy, y> + dy <∂dx, y>) / |x|, y = x / |x|",
    infer=normalize_spec,
)
@in_single
def normalize_gradient(op: Operator, x: Array, dy: Array) -> Array:
    """Gradient of Normalize: the part of dy that is orthogonal to y."""
    norm = norms(op, x)
    divisor = np.maximum(norm, TINY)
    y = np.where(norm < TINY, 0, x / divisor)
    axis = canonical_axis(op.args.get("axis", -1), x.shape)
    return (dy - y * summed(y * dy, axis, keepdims=True)) / divisor


def rms_norm_spec(op: Operator, x: ArraySpec, *affine: ArraySpec) -> tuple[ArraySpec, ArraySpec]:
    need_floats(op, (x,))
    affine_specs(op, x, *affine)
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    return ArraySpec(x.shape, result_dtype(x, *affine)), ArraySpec(x.shape[:axis], x.dtype)


@operator(
    "RMSNorm",
    "x, scale, bias -> y, inv_rms",
    "y = x̂ scale + bias, x̂ = x inv_rms, inv_rms = 1 / √(avg(x²) + eps), over each row",
    "dx = inv_rms (g - x̂ avg(g x̂)), g = dy scale; dscale = Σ dy x̂, dbias = Σ dy over rows",
    infer=rms_norm_spec,
    args={"axis": 1, "eps": 0.0},
)
@in_single
def rms_norm(op: Operator, x: Array, scale: Array, bias: Array) -> tuple[Array, Array]:
    """Each row divided by the root of its mean square. x: (n, ...) -> y: like x, inv_rms: (n,).

    x is seen as a matrix at `axis`; scale and bias have one number for each element of a row. No gradient passes
    through inv_rms.
    Source: Zhang and Sennrich, Root Mean Square Layer Normalization (2019), arXiv:1910.07467.
    """
    axis = canonical_axis(op.args.get("axis", 1), x.shape)
    x2 = as_matrix(x, axis)
    inv_rms = 1 / np.sqrt(averaged(x2 * x2, 1) + op.args.get("eps", 0.0))
    y = x2 * inv_rms.reshape((-1, 1)) * scale.reshape(-1) + bias.reshape(-1)
    return y.reshape(x.shape), inv_rms.reshape(x.shape[:axis])


@gradient_of(
    "RMSNorm",
    "dy, x, scale, inv_rms -> dx, dscale, dbias",
    formula="dx = inv_rms (g - x̂ avg(g x̂)), g = dy scale; dscale = Σ dy x̂, dbias = Σ dy over rows, x̂ = x inv_rms",
    derivative=second_formula("r = inv_rms, x̂ = r x", is_centred=False),
    infer=like_forward("dx: x scale dy inv_rms; dscale: x dy inv_rms; dbias: dy", bias="scale"),
)
@in_single
def rms_norm_gradient(op: Operator, dy: Array, x: Array, scale: Array, inv_rms: Array) -> tuple[Array, Array, Array]:
    x2, column = as_matrix(x, op.args.get("axis", 1)), inv_rms.reshape((-1, 1))
    dy2, x_hat = dy.reshape(x2.shape), x2 * column
    g = dy2 * scale.reshape(-1)
    dx = column * (g - x_hat * averaged(g * x_hat, 1, keepdims=True))
    return dx.reshape(x.shape), summed(dy2 * x_hat, 0).reshape(scale.shape), summed(dy2, 0).reshape(scale.shape)
