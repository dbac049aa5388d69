"""Two arrays compared row by row: SquaredL2Distance, DotProduct, CosineSimilarity, L1Distance."""

import numpy as np

from ..program import Operator
from .gradients import Steps, gradient_of
from .inference import by_rows, like_forward, need_floats, same_shape
from .registry import Array, ArraySpec, Gradients, RuleAnswer, in_single, operator, register_gradient
from .sums import summed

FLOOR = 1e-12
"""Squared lengths below this count as this much, so that the angle with a vector of zeros is defined."""


def row_count(shape: tuple[int, ...]) -> int:
    """How many rows an array has; one where it is a scalar."""
    return shape[0] if shape else 1


def rows(x: Array) -> Array:
    """x as a matrix, one row for each element of its first dimension."""
    count = row_count(x.shape)
    return x.reshape(count, x.size // max(count, 1))


def inner(x: Array, y: Array) -> Array:
    """Inner product of each row of x with that of y, (n,)."""
    return summed(rows(x) * rows(y), 1)


def distance_spec(op: Operator, x: ArraySpec, y: ArraySpec) -> ArraySpec:
    need_floats(op, (x, y))
    return ArraySpec((row_count(x.shape),), same_shape(op, x, y).dtype)


@operator(
    "SquaredL2Distance",
    "x, y -> distance",
    "distanceᵢ = ½ Σⱼ (xᵢⱼ - yᵢⱼ)²",
    "dxᵢⱼ = ddistanceᵢ (xᵢⱼ - yᵢⱼ), dy = -dx",
    infer=distance_spec,
)
@in_single
def squared_l2_distance(op: Operator, x: Array, y: Array) -> Array:
    """Half the squared Euclidean distance of each row of x to that of y. x, y: (n, ...) -> (n,)."""
    difference = x - y
    return 0.5 * inner(difference, difference)


@gradient_of(
    "SquaredL2Distance",
    "x, y, ddistance -> dx, dy",
    "∂ddistanceᵢ = Σⱼ (∂dx - ∂dy)ᵢⱼ (x - y)ᵢⱼ, ∂xᵢⱼ = ddistanceᵢ (∂dx - ∂dy)ᵢⱼ, ∂y = -∂x",
)
def squared_l2_distance_gradient(op: Operator, x: Array, y: Array, ddistance: Array) -> tuple[Array, Array]:
    dx = (x - y) * by_rows(ddistance, x)
    return dx, -dx


@register_gradient("SquaredL2DistanceGradient")
def squared_l2_distance_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂x and ∂y come from SquaredL2DistanceGradient itself, of ∂dx and ∂dy in place of x and y."""
    do, (x, y, ddistance) = Steps(op), op.inputs
    g_dx, g_dy = do.or_zeros(g_output, [x, y])
    g_distance = do("DotProduct", do("Sub", g_dx, g_dy), do("Sub", x, y))
    return do.answer(*do.several(2, op.type, g_dx, g_dy, ddistance), g_distance)


@operator("DotProduct", "x, y -> z", "zᵢ = Σⱼ xᵢⱼ · yᵢⱼ", "dxᵢⱼ = dzᵢ · yᵢⱼ, dyᵢⱼ = dzᵢ · xᵢⱼ", infer=distance_spec)
@in_single
def dot_product(op: Operator, x: Array, y: Array) -> Array:
    """Inner product of each row of x with that of y. x, y: (n, ...) -> (n,)."""
    return inner(x, y)


@gradient_of(
    "DotProduct",
    "x, y, dz -> dx, dy",
    "∂xᵢⱼ = dzᵢ · ∂dyᵢⱼ, ∂yᵢⱼ = dzᵢ · ∂dxᵢⱼ, ∂dzᵢ = Σⱼ (∂dxᵢⱼ · yᵢⱼ + xᵢⱼ · ∂dyᵢⱼ)",
    infer=like_forward("dx: y dz; dy: x dz"),
)
def dot_product_gradient(op: Operator, x: Array, y: Array, dz: Array) -> tuple[Array, Array]:
    dz = by_rows(dz, x)
    return dz * y, dz * x


@operator(
    "CosineSimilarity",
    "x, y -> z",
    "zᵢ = xᵢ·yᵢ / (|xᵢ| |yᵢ|)",
    "dxᵢ = dzᵢ (yᵢ / (|xᵢ| |yᵢ|) - zᵢ xᵢ / |xᵢ|²), dy likewise; |xᵢ| < 10⁻⁶ counts as 10⁻⁶, a constant",
    infer=distance_spec,
)
@in_single
def cosine_similarity(op: Operator, x: Array, y: Array) -> Array:
    """Cosine of the angle between each row of x and that of y. x, y: (n, ...) -> (n,). 0 with a row of zeros."""
    (x, _), (y, _) = reduced(x), reduced(y)
    return inner(x, y) / (length(x) * length(y))


def reduced(x: Array) -> tuple[Array, Array]:
    """x with each row divided by the power of 2 below the mean size of its elements, (n,); and these powers, 1 or more.

    Angles stay as they are, and squares do not overflow.
    """
    x2 = rows(x)
    mean = summed(np.abs(x2) / max(x2.shape[1], 1), 1)
    power = np.exp2(np.floor(np.log2(np.maximum(mean, 1))))
    return x / by_rows(power, x), power


def length(x: Array) -> Array:
    """Length of each row of x, (n,); the root of `FLOOR` where it is less."""
    return np.sqrt(np.maximum(inner(x, x), FLOOR))


def inverse_square(x: Array) -> Array:
    """1 / |x|² for each row of x, (n,), as it enters derivatives of the length: 0 where that is held at the floor."""
    square = inner(x, x)
    return np.where(square < FLOOR, 0, 1 / np.maximum(square, FLOOR))


@gradient_of(
    "CosineSimilarity",
    "x, y, dz -> dx, dy",
    formula="dxᵢ = dzᵢ (yᵢ / (|xᵢ| |yᵢ|) - zᵢ xᵢ / |xᵢ|²), dy likewise, zᵢ = xᵢ·yᵢ / (|xᵢ| |yᵢ|); "
    "|xᵢ| < 10⁻⁶ counts as 10⁻⁶, a constant",
    derivative="∂dz = p - z (q + r), "
    "∂x = dz (c ∂dy - p x / |x|² - (c y - z x / |x|²) (q + r) - z (∂dx - 2 q x) / |x|²), "
    "∂y likewise, with z = <x, y> c, c = 1 / (|x| |y|), p = c <∂dx, y> + c <x, ∂dy>, "
    "q = <∂dx, x> / |x|², r = <∂dy, y> / |y|²; where |x| or |y| counts as a constant, 1 / |x|² or 1 / |y|² counts as 0",
)
@in_single
def cosine_similarity_gradient(op: Operator, x: Array, y: Array, dz: Array) -> tuple[Array, Array]:
    (x, x_power), (y, y_power) = reduced(x), reduced(y)
    x_length, y_length = length(x), length(y)
    z = inner(x, y) / (x_length * y_length)
    across = by_rows(dz / (x_length * y_length), x)
    dx = across * y - by_rows(dz * z * inverse_square(x), x) * x
    dy = across * x - by_rows(dz * z * inverse_square(y), x) * y
    return dx / by_rows(x_power, x), dy / by_rows(y_power, y)


@operator(
    "L1Distance", "x, y -> z", "zᵢ = Σⱼ |xᵢⱼ - yᵢⱼ|", "dxᵢⱼ = dzᵢ · sign(xᵢⱼ - yᵢⱼ), dy = -dx", infer=distance_spec
)
def l1_distance(op: Operator, x: Array, y: Array) -> Array:
    """Sum of the absolute differences of each row of x and that of y. x, y: (n, ...) -> (n,)."""
    return summed(np.abs(rows(x) - rows(y)), 1)


@gradient_of("L1Distance", "x, y, dz -> dx, dy", "∂dzᵢ = Σⱼ (∂dx - ∂dy)ᵢⱼ · sign(xᵢⱼ - yᵢⱼ)")
def l1_distance_gradient(op: Operator, x: Array, y: Array, dz: Array) -> tuple[Array, Array]:
    """Gradients of L1Distance; 0 where x and y are equal."""
    dx = np.sign(x - y) * by_rows(dz, x)
    return dx, -dx


@register_gradient("DotProductGradient")
def dot_product_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    """∂x and ∂y come from DotProductGradient itself, of ∂dx and ∂dy in place of x and y."""
    do, (x, y, dz) = Steps(op), op.inputs
    g_dx, g_dy = do.or_zeros(g_output, [x, y])
    g_dz = do("Sum", do("DotProduct", g_dx, y), do("DotProduct", x, g_dy))
    return do.answer(*do.several(2, op.type, g_dx, g_dy, dz), g_dz)


@register_gradient("L1DistanceGradient")
def l1_distance_gradient_rule(op: Operator, g_output: Gradients) -> RuleAnswer:
    do, (x, y, _) = Steps(op), op.inputs
    g_dx, g_dy = do.or_zeros(g_output, [x, y])
    signed = do("AbsGradient", do("Sub", x, y), do("Sub", g_dx, g_dy))
    return do.answer(None, None, do("DotProduct", signed, do.fill(x, 1.0)))


@gradient_of(
    "CosineSimilarityGradient",
    "x, y, dz, ∂dx, ∂dy -> ∂x, ∂y, ∂dz",
    infer=like_forward("∂x: x y dz ∂dx ∂dy; ∂y: x y dz ∂dx ∂dy; ∂dz: x y ∂dx ∂dy"),
)
@in_single
def cosine_similarity_gradient_gradient(
    op: Operator, x: Array, y: Array, dz: Array, g_dx: Array, g_dy: Array
) -> tuple[Array, Array, Array]:
    (x, x_power), (y, y_power) = reduced(x), reduced(y)
    g_dx, g_dy = g_dx / by_rows(x_power, x), g_dy / by_rows(y_power, y)
    c, by_x, by_y = 1 / (length(x) * length(y)), inverse_square(x), inverse_square(y)
    z, p = c * inner(x, y), c * (inner(g_dx, y) + inner(x, g_dy))
    q, r = inner(g_dx, x) * by_x, inner(g_dy, y) * by_y

    def side(a: Array, b: Array, g_da: Array, g_db: Array, by_square: Array, share: Array) -> Array:
        of_a = (2 * z * share + z * (q + r) - p) * by_square
        terms = (c, g_db), (of_a, a), (-c * (q + r), b), (-z * by_square, g_da)
        return sum(by_rows(dz * factor, a) * array for factor, array in terms)

    g_x, g_y = side(x, y, g_dx, g_dy, by_x, q), side(y, x, g_dy, g_dx, by_y, r)
    return g_x / by_rows(x_power, x), g_y / by_rows(y_power, y), p - z * (q + r)
